"""An object that is judged by a row of the table, and what was found wrong with it.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
)
from smp.paths import Path, Step
from smp.validation._table import ValidationRow
from smp.violations import Reason, Violation

Value: TypeAlias = "JSON | Absent"
_CODES: Final[Mapping[str, str]] = {
    "FieldValueDuplicate": "duplicate-value",
    "FieldValueForbidden": "forbidden-value",
    "FieldValueInvalid": "invalid-value",
    "FieldValueNotFound": "not-found-value",
    "FieldValueRequired": "required-value",
    "FieldValueTooLong": "too-long",
}
# Go: field.ErrorType.String.
_NAMES: Final[Mapping[str, str]] = {
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueTooLong": "Too long",
}
_WITH_VALUE: Final = (
    "FieldValueDuplicate",
    "FieldValueInvalid",
    "FieldValueNotFound",
)


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
        text = _NAMES[reason]
        if reason in _WITH_VALUE:
            text += f": {show(value)}"
        if message:
            text += f": {message}"
        path = Path((*self.steps, *below))
        self.found.append(Violation(_CODES[reason], path, reason, text, value))

    def invalid(self, value: Value, message: str, *below: Step) -> None:
        """Add a violation of a value that is not valid (Go: field.Invalid)."""
        is_forbidden = self.row.forbidden
        reason: Reason = "FieldValueForbidden" if is_forbidden else "FieldValueInvalid"
        self.add(reason, message, value, below)

    def required(self, message: str, *below: Step) -> None:
        """Add a violation of a value that is missing (Go: field.Required)."""
        self.add("FieldValueRequired", message, ABSENT, below)


def show(value: Value) -> str:
    """Return a value as the message of a cause has it (Go: field.Error.ErrorBody).

    The members of an object are sorted, whatever their order in the input.
    """
    if isinstance(value, Absent):
        return "null"
    import json  # noqa: PLC0415  # most objects have no violation to print

    # A value that holds itself is too deep (RecursionError), not a ValueError.
    return json.dumps(
        value,
        ensure_ascii=False,
        separators=(",", ":"),
        sort_keys=True,
        check_circular=False,
    )


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


def sort_members(labels: JSONObject) -> JSONObject:
    """Return an object as Go prints a map: in the order of its keys."""
    return {key: labels[key] for key in sorted(labels)}
