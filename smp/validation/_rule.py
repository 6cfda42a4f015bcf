"""The rule on the walk: it asks the rows of each type about its objects.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_object, same
from smp.paths import Element, Path, Step
from smp.schema.bundle import version_number
from smp.schema.model import ListType, ObjectType, Type
from smp.schema.plan import Interest, Interests
from smp.schema.walk import Place, Rule
from smp.validation._checks import CHECKS, JUDGE_ABSENT
from smp.validation._formats import FORMER, STRICT_SINCE
from smp.validation._judged import Check, Judged, at, is_missing
from smp.validation._table import Scalar, ValidationRow, rows_by_type
from smp.violations import Violation

# What stands for a field that the table does not order: it comes last.
_LAST: Final = 10**6


class _Asked:
    """A row with its paths split into steps, and the fields that it looks at."""

    def __init__(self, row: ValidationRow, check: Check) -> None:
        self.row = row
        self.check = check
        self.steps = _steps(row.field)
        self.reported: tuple[Step, ...] = (*self.steps,)
        if row.reported:
            # A number is the index of an element.
            named = _steps(row.reported)
            self.reported = tuple(
                [int(step) if step.isdecimal() else step for step in named]
            )
        names = [*self.steps[:1], *row.reads]
        for conditions in (row.when, row.unless):
            names += [_steps(path)[0] for path in conditions]
        if row.key and row.rule in ("greater", "not-less", "selects"):
            names.append(row.key)
        # Without a field the whole object counts.
        self.names = names if self.steps else []
        self.first = self.steps[0] if self.steps else ""
        self.when = _conditions(row.when)
        self.unless = _conditions(row.unless)
        # Most rows are about a value that is absent, or present, in most objects.
        self.ignores_absent = row.rule not in JUDGE_ABSENT and row.zero != "judged"
        self.needs_only_presence = row.rule == "required" and not (row.key or row.each)
        self.is_conditional = bool(row.when or row.unless or row.outside or row.same)

    def changed(self, old: JSONObject, new: JSONObject) -> bool:
        """Tell whether a field changed that the row looks at."""
        if not self.names:
            return True
        for name in self.names:
            value, former = new.get(name, ABSENT), old.get(name, ABSENT)
            if value is former:
                continue
            if isinstance(value, (dict, list)) or not same(value, former):
                return True
        return False

    def holds(self, obj: JSONObject) -> bool:
        """Tell whether an object meets ``when`` and ``unless``."""
        for steps, values in self.when:
            if not _is_any(at(obj, steps), values):
                return False
        return not any(_is_any(at(obj, steps), values) for steps, values in self.unless)

    def keeps_same(self, old: JSONObject, new: JSONObject) -> bool:
        """Tell whether an update leaves the fields in ``same`` as they were."""
        return all(
            same(old.get(name, ABSENT), new.get(name, ABSENT)) for name in self.row.same
        )

    def is_outside(self, place: Place) -> bool:
        """Tell whether no object above has a type that begins as ``outside`` says."""
        types = self.row.outside
        above = place.parent
        while types and above is not None:
            type_ = above.node.type
            if isinstance(type_, ObjectType) and type_.name.startswith(types):
                return False
            above = above.parent
        return True


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")) if path else ()


def _conditions(
    rows: dict[str, tuple[Scalar, ...]],
) -> list[tuple[tuple[str, ...], tuple[Scalar, ...]]]:
    return [(_steps(path), values) for path, values in rows.items()]


def _is_any(value: JSON | Absent, values: tuple[Scalar, ...]) -> bool:
    # An object without members is a pointer in Go, and set.
    if value is None or isinstance(value, Absent) or value == []:
        value = ""
    return any(same(value, listed) for listed in values)


def _in_version(row: ValidationRow, version: str) -> ValidationRow:
    """Return a row as it is in a minor version of Kubernetes; empty for the newest."""
    if row.since and _is_older(version, version_number(row.since)):
        return replace(row, rule="")
    if row.format in FORMER and _is_older(version, STRICT_SINCE):
        return replace(row, format=FORMER[row.format])
    return row


def _is_older(version: str, than: list[int]) -> bool:
    return bool(version) and version_number(version) < than


class TypeRows:
    """The rows of a type, and the position of each field among them."""

    def __init__(self, type_: ObjectType, rows: tuple[ValidationRow, ...]) -> None:
        self.asked: list[_Asked] = []
        self.positions: dict[str, int] = {}
        self.top = False
        for position, listed in enumerate(rows):
            row = _in_version(listed, type_.version)
            first = _steps(row.field)[:1]
            for name in first:
                self.positions.setdefault(name, position)
            self.top = self.top or row.top
            # A version of Kubernetes may lack the field.
            if row.rule and all(type_.declares(name) for name in first):
                self.asked.append(_Asked(row, CHECKS[row.rule]))


class ValidationInterest(Interest):
    """Object types that the table has."""

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002  # the interface's
        """Return the rows of a type."""
        if not isinstance(type_, ObjectType):
            return None
        rows = rows_by_type().get(type_.name)
        return None if rows is None else TypeRows(type_, rows)


INTERESTS: Final = Interests(ValidationInterest("validation"))


class ValidationRule(Rule):
    """Finds what a server refuses in the parts of an object that changed.

    An object is judged after what it holds.
    """

    def __init__(self, *, ratchet: bool, custom: bool) -> None:
        self.violations: list[Violation] = []
        self._ratchet = ratchet
        self._is_custom = custom

    def leave(self, place: Place, value: JSON, facts: object | None) -> JSON:
        """Ask the rows of an object."""
        new = place.new
        if not isinstance(facts, TypeRows) or not isinstance(new, dict):
            return value
        if self._ratchet and new is place.old:
            return value
        # The metadata of a template is judged by the rows of the template.
        above = place.parent
        if facts.top and (above is None or above.parent is not None):
            return value
        old = as_object(place.old)
        is_update = self._ratchet and isinstance(place.old, dict)
        for asked in facts.asked:
            if asked.ignores_absent and asked.first and asked.first not in new:
                continue
            judged_value = at(new, asked.steps)
            if asked.ignores_absent and judged_value is ABSENT:
                continue
            if self._is_custom and asked.row.core:
                continue
            if asked.needs_only_presence and not is_missing(judged_value):
                continue
            if is_update and not asked.changed(old, new):
                continue
            if asked.is_conditional:
                if not asked.holds(new) or not asked.is_outside(place):
                    continue
                # A server drops what depended on the former value (Go: core/service
                # strategy, dropTypeDependentFields).
                if is_update and not asked.keeps_same(old, new):
                    continue
            judged = Judged(asked.row, asked.reported, new, old)
            judged.value = judged_value
            asked.check(judged)
            if judged.found and not (self._ratchet and place.shared):
                path = place.path
                for violation in judged.found:
                    self.violations.append(violation.below(path))
        return value


def in_order(violations: tuple[Violation, ...], type_: Type) -> tuple[Violation, ...]:
    """Return violations of an object in the order in which a server finds them."""
    if len(violations) < 2:  # noqa: PLR2004  # one is in order
        return violations
    return tuple(
        sorted(violations, key=lambda violation: _positions(violation.path, type_))
    )


def _positions(path: Path, type_: Type) -> list[tuple[int, str]]:
    """Return where the table has each step of a path.

    What is wrong with an object as a whole is found after what is wrong in it.
    """
    positions: list[tuple[int, str]] = []
    current: Type | None = type_
    for step in path.steps:
        if isinstance(step, (int, Element)):
            index = step if isinstance(step, int) else step.index
            positions.append((index, ""))
            if isinstance(current, ListType):
                current = current.items
            continue
        name = str(step)
        position = _LAST
        if isinstance(current, ObjectType):
            rows = rows_by_type().get(current.name)
            if rows is not None:
                # The first row about a field says when it is judged.
                firsts = [row.field.partition(".")[0] for row in rows]
                position = firsts.index(name) if name in firsts else _LAST
            elif name == "metadata":
                # Go: each validation begins with ValidateObjectMeta.
                position = 0
            field = current.field(name)
            current = None if field is None else field.type
        positions.append((position, name))
    positions.append((_LAST + 1, ""))
    return positions
