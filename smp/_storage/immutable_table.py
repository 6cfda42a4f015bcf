"""The table of immutable fields of built-in kinds.

smp/schema/bundled/immutable.json has the rules, each with the Go function that it is
from. A RULE is::

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
``unordered`` a list is a set of texts, with ``opaque`` the value is raw JSON, in which
null and empty are values, and ``struct`` is the Go type that is printed of the value.
``only`` is "removal" or "decrease" where nothing but that is refused, and "change"
where what is left out stays as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, TypeAlias

import msgspec

from smp._storage.semantic_equality import Allowed, is_empty, read_at
from smp._storage.update_rules import make_violation
from smp._values.values import JSON, Absent, JSONObject, same
from smp.schema.bundle import read_bundled_table
from smp.violations import Reason, Violation

Scalar: TypeAlias = str | int | bool


class ImmutableField(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename={"excepted": "except", "needed": "set"},
):
    """One rule of the table."""

    kinds: tuple[str, ...]
    source: str
    field: str
    message: str
    reason: Reason = "FieldValueInvalid"
    reported: str = ""
    excepted: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    when: dict[str, Scalar] = {}
    unless: dict[str, Scalar] = {}
    both: dict[str, Scalar] = {}
    needed: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()
    length: bool = False
    unordered: bool = False
    opaque: bool = False
    struct: str = ""
    only: Literal["", "removal", "decrease", "change"] = ""


class _ImmutableTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: tuple[ImmutableField, ...]


class ImmutableRule:
    """A rule with its paths split into steps."""

    __slots__ = ("allowed", "kept", "once", "rule", "steps")

    def __init__(self, rule: ImmutableField) -> None:
        self.rule = rule
        self.steps = tuple(rule.field.split("."))
        self.allowed: Allowed = {}
        for path in rule.excepted:
            self.allowed = allow(self.allowed, path.split("."))
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


def allow(allowed: Allowed, steps: Sequence[str]) -> Allowed:
    """Return what may change, and the value at a path."""
    if allowed is None or not steps:
        return None
    return {**allowed, steps[0]: allow(allowed.get(steps[0], {}), steps[1:])}


@cache
def rules_by_kind() -> Mapping[tuple[str, str], tuple[ImmutableRule, ...]]:
    """Return the rules of the table by (group, kind)."""
    by_kind: dict[tuple[str, str], tuple[ImmutableRule, ...]] = {}
    for rule in read_bundled_table("immutable.json", _ImmutableTable).rules:
        compiled = ImmutableRule(rule)
        for name in rule.kinds:
            group, _, kind = name.rpartition(" ")
            by_kind[group, kind] = (*by_kind.get((group, kind), ()), compiled)
    return by_kind
