"""What a server without unions makes of an apply, and how to get the same from it.

No server normalizes unions: one that is sent the same configuration refuses the object
with two members, or keeps both. A remark names its answer, and the smallest change with
which it does the same. Every such remedy was run before it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import msgspec

from smp import merge_patch
from smp.api_objects import without_managed_fields
from smp.errors import SmpError
from smp.managed_fields._entries import APPLY
from smp.managed_fields._field_set import FieldSet
from smp.managed_fields._items import removed
from smp.managed_fields._owners import extract, owners
from smp.managed_fields._track import track
from smp.paths import KeyedElement, Path
from smp.schema.model import Schema
from smp.unions import validate_unions
from smp.values import JSON, JSONObject, as_object, same

Means: TypeAlias = Literal["apply", "force", "drop", "patch"]


class Attempt(msgspec.Struct, frozen=True):
    """An apply on a server without unions."""

    live: JSONObject
    configuration: JSONObject
    manager: str
    force: bool = False


# Returns the object that an attempt leads to, or raises SmpError.
StockApply: TypeAlias = "Callable[[Attempt], JSONObject]"


class Remedy(msgspec.Struct, frozen=True):
    """A change with which a server without unions does the same; it was tried.

    ``means``: ``apply`` the configuration ``body``, or do that with ``force``; let
    another ``manager`` ``drop`` the member first, by applying ``body``; or send the
    JSON merge ``patch`` first. After the last two the configuration is applied with
    ``then``.
    """

    means: Means
    manager: str
    body: dict[str, Any]
    then: dict[str, Any]
    force: bool = False

    def __str__(self) -> str:
        force = ", with force" if self.force else ""
        if self.means == "drop":
            return (
                f'it accepts the configuration{force} after "{self.manager}" has'
                " dropped the other member"
            )
        if self.means == "patch":
            return f"it accepts the configuration{force} after a JSON merge patch"
        return f"it accepts the configuration with the discriminator{force}"


class Remark(msgspec.Struct, frozen=True):
    """What a server without unions answers, and what would help; None: nothing found.

    ``path`` is the first field that the normalization of unions changed.
    """

    path: Path
    answer: str
    remedy: Remedy | None

    def __str__(self) -> str:
        text = f"a server that does not normalize unions {self.answer}"
        return text if self.remedy is None else f"{text}; {self.remedy}"


def stock_remark(
    attempt: Attempt,
    normalized: JSONObject,
    schema: Schema,
    *,
    chosen: JSONObject,
    changed: tuple[Path, ...],
    apply: StockApply,
) -> Remark | None:
    """Return the remark on an apply, or None where such a server does the same.

    ``normalized`` is the object that the apply led to, ``chosen`` the configuration
    with its discriminators, ``changed`` what the normalization changed.
    """
    live = attempt.live

    def does_the_same(tried: Attempt) -> bool:
        try:
            result = apply(tried)
        except SmpError:
            return False
        if _refusals(tried.live, result, schema):
            return False
        return same(without_managed_fields(result), without_managed_fields(normalized))

    if does_the_same(attempt):
        return None
    try:
        refusals = _refusals(live, apply(attempt), schema)
    except SmpError as error:
        answer = f"refuses the apply: {error.problem}"
    else:
        answer = "stores the object without that"
        if refusals:
            answer = f"refuses the object: {'; '.join(refusals)}"
    manager = attempt.manager
    for remedy in _remedies(attempt, normalized, schema, chosen, changed):
        before = live
        if remedy.means == "drop":
            try:
                before = apply(Attempt(live, remedy.body, remedy.manager))
            except SmpError:
                continue
        elif remedy.means == "patch":
            patched = as_object(merge_patch.apply(live, remedy.body))
            before = track(live, patched, schema, manager=manager)
        if _refusals(live, before, schema):
            continue
        if does_the_same(Attempt(before, remedy.then, manager, remedy.force)):
            return Remark(changed[0], answer, remedy)
    return Remark(changed[0], answer, None)


def _refusals(old: JSONObject, new: JSONObject, schema: Schema) -> list[str]:
    """Return why a server refuses the unions of an object."""
    before = without_managed_fields(old) if old else None
    return [
        str(violation)
        for violation in validate_unions(
            before, without_managed_fields(new), schema, ratchet=True
        )
    ]


def _remedies(
    attempt: Attempt,
    normalized: JSONObject,
    schema: Schema,
    chosen: JSONObject,
    changed: tuple[Path, ...],
) -> Iterator[Remedy]:
    """Yield what might help, the smallest change first."""
    live, manager = attempt.live, attempt.manager
    yield Remedy("apply", manager, chosen, chosen)
    yield Remedy("force", manager, chosen, chosen, force=True)
    # A member alone, or the whole element of a list that has it: without a member, a
    # server may fill the former one in again.
    elements = [
        Path(path.steps[:-1])
        for path in changed
        if len(path.steps) > 1 and isinstance(path.steps[-2], KeyedElement)
    ]
    for fields in (FieldSet.of(*changed), FieldSet.of(*elements)):
        for owner in owners(live):
            applies = owner.operation == APPLY and owner.manager != manager
            # Also where what the manager owns is in the member.
            left = owner.fields.recursive_difference(fields)
            if applies and left is not owner.fields:
                configuration = extract(live, schema, owner.manager, owner.subresource)
                left_over = removed(configuration, schema, fields)
                body = as_object(_without_emptied(configuration, left_over))
                yield Remedy("drop", owner.manager, body, chosen)
                yield Remedy("drop", owner.manager, body, chosen, force=True)
    try:
        body = as_object(
            merge_patch.diff(
                without_managed_fields(live), without_managed_fields(normalized)
            )
        )
    except SmpError:
        # A merge patch cannot say all: it sets no null.
        return
    yield Remedy("patch", manager, body, chosen)
    yield Remedy("patch", manager, body, chosen, force=True)


def _without_emptied(before: JSON, after: JSON) -> JSON:
    """Leave out what is null because all that it had was removed."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    kept: JSONObject = {}
    for name, value in after.items():
        was_emptied = value is None and before.get(name) is not None
        content = None if was_emptied else _without_emptied(before.get(name), value)
        if not was_emptied and (content != {} or value == {}):
            kept[name] = content
    return kept
