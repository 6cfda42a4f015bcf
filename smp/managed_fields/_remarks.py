"""What a server without unions makes of an apply, and how to get the same from it.

No server normalizes unions: one that is sent the same configuration refuses the object
with two members, or keeps both. A remark names its answer, and the smallest change with
which it does the same. Every such remedy was run before it is named, against all rules
of the kind.

The change that a manager can make alone is to ``take`` the former member: a JSON Patch
of managedFields makes the member one that this manager has applied, and takes it from
those who own it now. It changes no value, so that no state in between can be refused,
and the apply that follows, which lacks the member, removes it. (A merge patch that sets
the member to null is no such change. Where the discriminator stays, a server fills in
the member again; where the patch sets both, the manager owns the discriminator by an
update as well, and its later applies conflict with that.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from smp import json_patch, merge_patch
from smp._storage.immutable import find_changed_immutable_fields
from smp._storage.update import UpdateRequest, normalize_update
from smp._values.api_objects import drop_managed_fields, set_metadata
from smp._values.findings import Finding, Origin, Severity
from smp._values.values import JSON, JSONObject, as_object, as_text, same
from smp.errors import SmpError
from smp.managed_fields._entries import APPLY, Owner, Writer, entry_of
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._fields_below import fieldset_of
from smp.managed_fields._items import drop_emptied, removed
from smp.managed_fields._owners import extract, owners
from smp.managed_fields._track import track
from smp.paths import KeyedElement, Path
from smp.schema.model import Schema
from smp.validation import violations_of

APPLY_PATCH_TYPE: Final = "application/apply-patch+yaml"
JSON_PATCH_TYPE: Final = "application/json-patch+json"
MERGE_PATCH_TYPE: Final = "application/merge-patch+json"


class PatchRequest(msgspec.Struct, frozen=True):
    """A request that patches an object: ``body`` is JSON of the ``media_type``.

    ``path`` is that of the object on its server, ``query`` has pairs, in order.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    media_type: str
    body: Any

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.query)
        return f"{self.method} {self.path}?{query} ({self.media_type})"


def apply_request(
    path: str, configuration: dict[str, Any], manager: str, *, force: bool = False
) -> PatchRequest:
    """Return the request of a server-side apply."""
    query = (("fieldManager", manager), ("force", "true" if force else "false"))
    return PatchRequest("PATCH", path, query, APPLY_PATCH_TYPE, configuration)


Means: TypeAlias = Literal["apply", "drop", "take", "patch"]
# What a manager can do without another one.
ALONE: Final[tuple[Means, ...]] = ("take", "patch")
_ENTRIES: Final = "/metadata/managedFields"
_VERSION: Final = "/metadata/resourceVersion"


class Attempt(msgspec.Struct, frozen=True):
    """An apply on a server without unions."""

    live: JSONObject
    configuration: JSONObject
    manager: str
    force: bool = False


class NormalizedApply(msgspec.Struct, frozen=True):
    """What the same apply is where unions are normalized.

    ``object`` is what it led to, ``configuration`` the one with its discriminators, and
    ``changed`` is what the normalization changed in the object.
    """

    object: JSONObject
    configuration: JSONObject
    changed: tuple[Path, ...]


# Returns the object that an attempt leads to, or raises SmpError.
StockApply: TypeAlias = "Callable[[Attempt], JSONObject]"


class Remedy(msgspec.Struct, frozen=True):
    """A change with which a server without unions does the same; it was tried.

    ``means``: ``apply`` the configuration ``body``; let another ``manager`` ``drop``
    the member first, by applying ``body``; ``take`` the member from its ``owners``
    first, by the JSON Patch ``body``; or send the JSON merge ``patch`` first. After the
    last three, ``applier`` applies the configuration ``then``. With ``force``, that is
    forced: other managers own what it changes, or have applied what is taken. What the
    server has after it is ``object``.
    """

    means: Means
    manager: str
    body: Any
    then: dict[str, Any]
    applier: str
    force: bool = False
    owners: tuple[Owner, ...] = ()
    object: dict[str, Any] = {}

    def requests(self, path: str) -> tuple[PatchRequest, ...]:
        """Return the requests of the remedy, for an object at a path of a server."""
        last = apply_request(path, self.then, self.applier, force=self.force)
        if self.means == "apply":
            return (last,)
        if self.means == "drop":
            return apply_request(path, self.body, self.manager), last
        media_type = JSON_PATCH_TYPE if self.means == "take" else MERGE_PATCH_TYPE
        query = (("fieldManager", self.manager),)
        return PatchRequest("PATCH", path, query, media_type, self.body), last

    def __str__(self) -> str:
        force = " with force" if self.force else ""
        if self.means == "drop":
            return (
                f'it accepts the configuration{force} after "{self.manager}" has'
                " dropped the other member"
            )
        if self.means == "take":
            names = _names_of(self.owners)
            whose = f" from {names}" if names else ", which no manager owns"
            return (
                f"it accepts the configuration{force} after a JSON Patch that takes the"
                f" other member{whose}"
            )
        if self.means == "patch":
            return f"it accepts the configuration{force} after a JSON merge patch"
        return f"it accepts the configuration that has the discriminator{force}"


class Remark(Finding, frozen=True):
    """What a server without unions answers, and what would help; None: nothing found.

    ``path`` is the first field that the normalization of unions changed, or that the
    server refuses. ``refuses`` says that the answer is a refusal.
    """

    origin: ClassVar[Origin] = "warning"
    path: Path
    answer: str
    remedy: Remedy | None
    refuses: bool = True
    code: str = "union-remark"
    severity: Severity = "warning"

    @property
    def sentence(self) -> str:
        """What such a server answers."""
        return f"a server that does not normalize unions {self.answer}"

    def __str__(self) -> str:
        return f"{self.sentence}; {self.remedy}" if self.remedy else self.sentence


def stock_remark(
    attempt: Attempt,
    normalized: NormalizedApply,
    schema: Schema,
    *,
    apply: StockApply,
    means: tuple[Means, ...] = ("apply", "drop", *ALONE),
) -> Remark | None:
    """Return the remark on an apply, or None where such a server does the same.

    Remedies are looked for among ``means``.
    """
    live = attempt.live
    wanted = drop_managed_fields(normalized.object)

    def same_result(tried: Attempt) -> JSONObject | None:
        try:
            result = apply(tried)
        except SmpError:
            return None
        if refusals_of(tried.live, result, schema):
            return None
        return result if same(drop_managed_fields(result), wanted) else None

    if same_result(attempt) is not None:
        return None
    remark = _answer(attempt, schema, normalized.changed, apply)
    # Where the normalized object is refused as well, nothing here helps.
    if refusals_of(live, normalized.object, schema):
        means = ()
    for remedy in _remedies(attempt, normalized, schema):
        if remedy.means not in means:
            continue
        try:
            before = _apply_remedy(remedy, live, schema, apply)
        except SmpError:
            continue
        if refusals_of(live, before, schema):
            continue
        last = Attempt(before, remedy.then, attempt.manager, remedy.force)
        result = same_result(last)
        if result is not None:
            proved = msgspec.structs.replace(remedy, object=result)
            return msgspec.structs.replace(remark, remedy=proved)
    return remark


def _answer(
    attempt: Attempt, schema: Schema, changed: tuple[Path, ...], apply: StockApply
) -> Remark:
    """Return what the server answers, without a remedy."""
    path = [*changed, Path()][0]
    try:
        refusals = refusals_of(attempt.live, apply(attempt), schema)
    except SmpError as error:
        return Remark(path, f"refuses the apply: {error.problem}", None)
    if not refusals:
        return Remark(path, "stores the object without that", None, refuses=False)
    path = path if changed else next(iter(refusals.values()))
    return Remark(path, f"refuses the object: {'; '.join(refusals)}", None)


def _apply_remedy(
    remedy: Remedy, live: JSONObject, schema: Schema, apply: StockApply
) -> JSONObject:
    """Return the object after what a remedy does before the apply."""
    if remedy.means == "drop":
        return apply(Attempt(live, remedy.body, remedy.manager))
    if remedy.means == "take":
        return as_object(json_patch.apply(live, remedy.body))
    if remedy.means == "patch":
        patched = as_object(merge_patch.apply(live, remedy.body))
        return track(live, patched, schema, manager=remedy.manager)
    return live


def refusals_of(old: JSONObject, new: JSONObject, schema: Schema) -> dict[str, Path]:
    """Return what a server refuses in an object, by any rule of the kind.

    These are the texts of its causes, each with its path.
    """
    before = drop_managed_fields(old) if old else None
    after = drop_managed_fields(new)
    violations = [
        *normalize_update(
            before, after, schema, UpdateRequest(profile="validate-only")
        ).violations,
        *violations_of(before, after, schema, ratchet=True),
    ]
    if before is not None:
        violations += find_changed_immutable_fields(before, after, schema)
    found: dict[str, Path] = {}
    for violation in violations:
        cause = violation.cause
        found.setdefault(f"{cause['field']}: {cause['message']}", violation.path)
    return found


def _remedies(
    attempt: Attempt, normalized: NormalizedApply, schema: Schema
) -> Iterator[Remedy]:
    """Yield what might help: what needs no force first, then the smallest change."""
    live, manager = attempt.live, attempt.manager
    chosen, changed = normalized.configuration, normalized.changed
    found = [Remedy("apply", manager, chosen, chosen, manager)]
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
                body = as_object(drop_emptied(configuration, left_over))
                found.append(Remedy("drop", owner.manager, body, chosen, manager))
    taking = _find_taking(attempt, normalized, schema)
    if taking is not None:
        found.append(taking)
    forced = [msgspec.structs.replace(remedy, force=True) for remedy in found]
    yield from [remedy for remedy in found if not remedy.force]
    yield from forced
    try:
        wanted = drop_managed_fields(normalized.object)
        patch = as_object(merge_patch.diff(drop_managed_fields(live), wanted))
    except SmpError:
        # A merge patch cannot say all: it sets no null.
        return
    version = as_object(live.get("metadata")).get("resourceVersion")
    if version is not None:
        patch = set_metadata(patch, resourceVersion=version)
    # The manager then owns by an update what it applies, so this comes last.
    yield Remedy("patch", manager, patch, chosen, manager)
    yield Remedy("patch", manager, patch, chosen, manager, force=True)


def _find_taking(
    attempt: Attempt, normalized: NormalizedApply, schema: Schema
) -> Remedy | None:
    """Return the remedy that takes members from their owners; None where none does.

    As in the migration from client-side apply, what an applier owns alone and no longer
    applies is removed (Go: csaupgrade.UpgradeManagedFieldsPatch, Updater.prune).
    """
    live, manager = attempt.live, attempt.manager
    chosen = normalized.configuration
    members = FieldSet.of(*normalized.changed)
    present = fieldset_of(drop_managed_fields(live), schema)
    taken = present.difference(present.recursive_difference(members))
    # Where there are no entries, all belongs to before-first-apply, which is no owner
    # that could be named. What another version calls a field is no matter here.
    entries = owners(live)
    versions = {owner.api_version for owner in entries}
    if not taken or versions != {schema.api_version}:
        return None
    tests: list[JSONObject] = []
    changes: list[JSONObject] = []
    dropped: list[JSONObject] = []
    others: list[Owner] = []
    gained = taken
    for index, owner in enumerate(entries):
        place = f"{_ENTRIES}/{index}"
        is_own = (owner.manager, owner.operation) == (manager, APPLY)
        if is_own and not owner.subresource:
            left = owner.fields.union(taken)
            gained = EMPTY
        else:
            left = owner.fields.recursive_difference(members)
            if left is owner.fields:
                continue
            others.append(owner)
        # The request names whom it takes the member from.
        tests.append(_operation("test", f"{place}/manager", owner.manager))
        if left:
            changes.append(_operation("replace", f"{place}/fieldsV1", left.to_v1()))
        else:
            dropped.insert(0, {"op": "remove", "path": place})
    body = [*tests, *changes, *dropped]
    if gained:
        owner = Writer(manager, APPLY).write(chosen).owner(gained, "")
        body.append(_operation("add", f"{_ENTRIES}/-", entry_of(owner, gained.to_v1())))
    # A server answers 409 where the object was written since.
    version = as_text(as_object(live.get("metadata")).get("resourceVersion"))
    if version:
        body.append(_operation("replace", _VERSION, version))
    forced = any(owner.operation == APPLY for owner in others)
    return Remedy("take", manager, body, chosen, manager, forced, tuple(others))


def _operation(name: str, path: str, value: JSON) -> JSONObject:
    return {"op": name, "path": path, "value": value}


def _names_of(found: tuple[Owner, ...]) -> str:
    names = [
        f'"{owner.manager}" ({f"{owner.operation} {owner.subresource}".rstrip()})'
        for owner in found
    ]
    return ", ".join(names)
