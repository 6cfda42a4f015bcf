"""Immutable fields of built-in kinds: what an update may not change.

The rules are data: smp/schema/bundled/immutable.json has them, each with the Go
function that it is from. A RULE is::

    {"kinds": ["apps Deployment"], "field": "spec.selector",
     "message": "field is immutable", "source": "Go: ..."}

``field`` is what may not change. ``except`` are paths in it that may (``*`` is any
element of a list), ``once`` those that may be set where they are empty, and ``kept``
those that stay as they were where they are left out. ``when`` and
``unless`` are values of the old object, by path, under which the rule holds or does not
hold, ``both`` those that the new object has to have as well; ``set`` and ``unset`` are
paths that the old object has to have, or to lack. A step into a list is the ``type`` of
a condition. ``reason`` and ``reported`` are the reason and the field of the cause where
they are others than FieldValueInvalid and ``field``. With ``length`` only the number of
elements may not change, and the rules that follow for this kind are not asked. With
``unordered`` a list is a set of texts, with ``pointer`` an empty object is another one
than none, with ``opaque`` the value is raw JSON, in which null and empty are values,
and ``struct`` is the Go type that is printed of the value. ``only`` is
"removal" where nothing but that is refused, and "change" where what is left out stays
as it was.

Objects are compared as they are stored, with their defaults; an empty list or map
equals an absent one, and quantities are equal by their amount (Go:
apiequality.Semantic.DeepEqual).
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, Literal, TypeAlias

import msgspec

from smp._storage.defaults import with_defaults
from smp._storage.semantic_equality import (
    Allowed,
    decode,
    is_changed,
    is_empty,
    read_at,
)
from smp._storage.typed_storage import stored
from smp._storage.update_rules import UPDATE_RULES, make_violation
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    as_text,
    same,
)
from smp.schema.bundle import read_bundled_table
from smp.schema.model import Schema
from smp.violations import Reason, Violation

Scalar: TypeAlias = str | int | bool


class ImmutableField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule of the table."""

    kinds: tuple[str, ...]
    source: str
    field: str
    message: str
    reason: Reason = "FieldValueInvalid"
    reported: str = ""
    excepted: tuple[str, ...] = msgspec.field(default=(), name="except")
    once: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    when: dict[str, Scalar] = {}
    unless: dict[str, Scalar] = {}
    both: dict[str, Scalar] = {}
    needed: tuple[str, ...] = msgspec.field(default=(), name="set")
    unset: tuple[str, ...] = ()
    length: bool = False
    unordered: bool = False
    pointer: bool = False
    opaque: bool = False
    struct: str = ""
    only: Literal["", "removal", "change"] = ""


class _ImmutableTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: tuple[ImmutableField, ...]


class _CompiledRule:
    """A rule with its paths split into steps."""

    __slots__ = ("allowed", "kept", "once", "rule", "steps")

    def __init__(self, rule: ImmutableField) -> None:
        self.rule = rule
        self.steps = tuple(rule.field.split("."))
        self.allowed: Allowed = {}
        for path in rule.excepted:
            self.allowed = _allow(self.allowed, path.split("."))
        self.once = [path.split(".") for path in rule.once]
        self.kept = [path.split(".") for path in rule.kept]

    def holds(self, old: JSONObject, new: JSONObject) -> bool:
        """Tell whether the objects meet the conditions of the rule."""
        for path in self.rule.needed:
            if is_empty(read_at(old, path.split("."))):
                return False
        for path in self.rule.unset:
            if not is_empty(read_at(old, path.split("."))):
                return False
        for path, value in {**self.rule.when, **self.rule.both}.items():
            if not same(read_at(old, path.split(".")), value):
                return False
        for path, value in self.rule.both.items():
            if not same(read_at(new, path.split(".")), value):
                return False
        for path, value in self.rule.unless.items():
            if same(read_at(old, path.split(".")), value):
                return False
        return True

    def violation(self, value: JSON | Absent) -> Violation:
        """Make the violation of the rule."""
        rule = self.rule
        steps = (rule.reported or rule.field).split(".")
        return make_violation(
            steps, value, rule.message, rule.reason, struct=rule.struct
        )


def _allow(allowed: Allowed, steps: Sequence[str]) -> Allowed:
    """Return what may change, and the value at a path."""
    if allowed is None or not steps:
        return None
    below = allowed.get(steps[0], {})
    return {**allowed, steps[0]: _allow(below, steps[1:])}


# Kinds of which a default depends on what may change: completions on parallelism.
_DEPENDING_DEFAULTS: Final = frozenset({("batch", "Job")})


@cache
def rules_by_kind() -> Mapping[tuple[str, str], tuple[_CompiledRule, ...]]:
    """Return the rules of the table by (group, kind)."""
    by_kind: dict[tuple[str, str], tuple[_CompiledRule, ...]] = {}
    for rule in read_bundled_table("immutable.json", _ImmutableTable).rules:
        compiled = _CompiledRule(rule)
        for name in rule.kinds:
            group, _, kind = name.rpartition(" ")
            by_kind[group, kind] = (*by_kind.get((group, kind), ()), compiled)
    return by_kind


def find_changed_immutable_fields(
    old: JSONObject, new: JSONObject, schema: Schema, *, is_stored: bool = False
) -> tuple[Violation, ...]:
    """Return a violation for each immutable field that an update changes.

    What the new object shares with the old one is not looked at. With ``is_stored`` it
    is as a server stores it, with its defaults. A kind that is not in the table has no
    immutable fields. Raises RecursionError.
    """
    kind = (schema.api_version.rpartition("/")[0], schema.kind)
    if kind == ("", "Secret") and "stringData" in new:
        # A server moves stringData into data first (Go: core/v1 conversion).
        data = {**as_object(read_at(new, ("data",)))}
        for name, text in as_object(read_at(new, ("stringData",))).items():
            # Half of a surrogate pair, which no request can have, changes data as well.
            encoded = as_text(text).encode(errors="surrogatepass")
            data[name] = b2a_base64(encoded, newline=False).decode()
        new = {**new, "data": data}
    if kind not in rules_by_kind() and kind not in UPDATE_RULES:
        return ()
    filled = new
    if kind in _DEPENDING_DEFAULTS and not is_stored:
        filled = with_defaults(stored(new, schema, old), schema, old=old)
    found = [*find_immutable_changes(kind, old, filled)]
    # What both have and differs in any spelling is among what differs at all.
    if not found:
        return ()
    if len([*find_immutable_changes(kind, old, filled, of_both=True)]) == len(found):
        return tuple(found)
    # What is written otherwise, or left out, may be the same as it is stored.
    before = with_defaults(stored(old, schema), schema)
    after = with_defaults(stored(new, schema), schema, old=before)
    # Values are shown as they were written.
    written = {each.path: each for each in find_immutable_changes(kind, old, new)}
    as_filled = find_immutable_changes(kind, before, after)
    return tuple(written.get(each.path, each) for each in as_filled)


def find_immutable_changes(
    kind: tuple[str, str], old: JSONObject, new: JSONObject, *, of_both: bool = False
) -> Iterator[Violation]:
    """Yield a violation for each immutable field that differs between two objects.

    They are compared as they are, without defaults. With ``of_both`` it is asked by
    table, and only in what both have.
    """
    for each in rules_by_kind().get(kind, ()):
        above, last = each.steps[:-1], each.steps[-1]
        before = as_object(read_at(old, above)).get(last, ABSENT)
        after = as_object(read_at(new, above)).get(last, ABSENT)
        if before is after or not each.holds(old, new):
            continue
        only = each.rule.only
        if only and is_empty(after) != (only == "removal"):
            continue
        if each.rule.length:
            lists = as_list(decode(before)), as_list(decode(after))
            if len(lists[0]) != len(lists[1]):
                if not of_both:
                    yield each.violation(after)
                return
            continue
        value = after
        if each.rule.opaque:
            # Raw JSON, in which null and empty are values (Go: runtime.RawExtension).
            if not same(decode(before), decode(after)):
                yield each.violation(value)
            continue
        if each.rule.unordered:
            before, after = _set_of(before), _set_of(after)
        if each.rule.pointer and not of_both and not _are_both_set(before, after):
            yield each.violation(value)
            continue
        allowed = each.allowed
        for side, paths in ((before, each.once), (after, each.kept)):
            for steps in paths:
                if is_empty(read_at(decode(side), steps)):
                    allowed = _allow(allowed, steps)
        if allowed is not None and is_changed(before, after, allowed, of_both=of_both):
            yield each.violation(value)
    if kind in UPDATE_RULES and not of_both:
        yield from UPDATE_RULES[kind](old, new)


def _are_both_set(before: JSON | Absent, after: JSON | Absent) -> bool:
    """Tell whether a pointer is nil in both of two objects, or in none."""
    return (decode(before) in (ABSENT, None)) == (decode(after) in (ABSENT, None))


def _set_of(value: JSON | Absent) -> JSON:
    """Return the texts of a list in order, each once."""
    return [*sorted({as_text(element) for element in as_list(decode(value))})]
