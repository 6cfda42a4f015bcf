"""The columns of tables of custom resources, each found by a JSONPath."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from smp._values import codec
from smp._values.json_path import JSONPathError, value_finder
from smp._values.values import JSON, Absent, JSONObject, as_text, printed
from smp.server.objects.tables.columns import NAME, Column, time_since

# A definition without columns gets this one after the name.
_AGE: Final[JSONObject] = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
}


def columns(defined: Iterable[JSONObject]) -> tuple[Column, ...]:
    """Return the columns of a table: the name and the defined ones."""
    # The name is always the first column.
    shown = tuple(defined) or (_AGE,)
    return (NAME, *[_column(column) for column in shown])


def is_supported(json_path: str) -> bool:
    """Tell whether a path is supported; a column with another one stays empty."""
    try:
        value_finder(json_path)
    except JSONPathError:
        return False
    return True


def _column(column: JSONObject) -> Column:
    json_path = as_text(column.get("jsonPath"))
    type_, priority = as_text(column.get("type")), column.get("priority")
    # An unsupported path gives a warning where the definition is read.
    find = value_finder(json_path) if is_supported(json_path) else None

    def cell(obj: JSONObject, now: datetime) -> JSON:
        value = find(obj) if find else None
        # A path that leads to no value leaves the cell empty, as null does.
        if value is None or isinstance(value, Absent):
            return None
        return _cell_value(value, type_, now)

    return Column(
        name=as_text(column.get("name")),
        cell=cell,
        type=type_,
        priority=priority if isinstance(priority, int) else 0,
        format=as_text(column.get("format")),
        description=as_text(column.get("description"))
        or f"Custom resource definition column (in JSONPath format): {json_path}",
    )


def _cell_value(value: JSON, json_type: str, now: datetime) -> JSON:
    """Return a value as a column of a type shows it, or None if it cannot."""
    # As the difference to the current time, like the column Age.
    if json_type == "date":
        return time_since(value, now)
    # Objects and lists are shown as JSON, in this type of column only.
    if json_type == "string":
        is_scalar = not isinstance(value, dict | list)
        return printed(value) if is_scalar else codec.encode(value).decode()
    # In Python a boolean is a number, too.
    if isinstance(value, bool):
        return value if json_type == "boolean" else None
    if isinstance(value, int | float) and json_type == "number":
        return value
    if isinstance(value, int | float) and json_type == "integer":
        return int(value)
    return None
