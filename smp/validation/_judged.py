"""An object that is judged by a row of the table, and what was found wrong with it.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_list, as_object
from smp.paths import Path, Step
from smp.validation._table import ValidationRow
from smp.violations import Reason, Violation, violation_of

Value: TypeAlias = "JSON | Absent"


class Judged:
    """An object that is judged by a row, and what was found wrong with it.

    ``value`` is that of the row's field. ``old`` is the object before the update.
    """

    __slots__ = ("found", "obj", "old", "row", "steps", "value")

    def __init__(
        self,
        row: ValidationRow,
        steps: tuple[Step, ...],
        obj: JSONObject,
        old: JSONObject,
    ) -> None:
        self.row = row
        self.steps = steps
        self.obj = obj
        self.old = old
        self.value: Value = ABSENT
        self.found: list[Violation] = []

    def add(
        self,
        reason: Reason,
        message: str,
        value: Value = ABSENT,
        below: tuple[Step, ...] = (),
    ) -> None:
        """Add a violation of the value, or of one below it (Go: field.Error)."""
        path = Path((*self.steps, *below))
        self.found.append(violation_of(reason, path, message, value))

    def invalid(self, value: Value, message: str, *below: Step) -> None:
        """Add a violation of a value that is not valid (Go: field.Invalid)."""
        is_forbidden = self.row.forbidden
        reason: Reason = "FieldValueForbidden" if is_forbidden else "FieldValueInvalid"
        self.add(reason, message, value, below)

    def required(self, message: str, *below: Step) -> None:
        """Add a violation of a value that is missing (Go: field.Required)."""
        self.add("FieldValueRequired", message, ABSENT, below)


Check: TypeAlias = "Callable[[Judged], None]"
# By name.
Checks: TypeAlias = "Mapping[str, Check]"


def at(value: Value, steps: tuple[str, ...]) -> Value:
    """Return the value at a path, or ABSENT."""
    for step in steps:
        if not isinstance(value, dict):
            return ABSENT
        value = value.get(step, ABSENT)
    return value


def is_missing(value: Value) -> bool:
    """Tell whether a value is what Go takes for unset; an empty struct is set."""
    if isinstance(value, Absent) or value is None or value is False:
        return True
    if isinstance(value, (str, list)):
        return not value
    return isinstance(value, int) and value == 0


def elements(judged: Judged) -> list[JSONObject]:
    """Return the elements of the value, which is a list of objects."""
    return [as_object(element) for element in as_list(judged.value)]
