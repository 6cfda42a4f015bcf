"""The columns that a CustomResourceDefinition gives to the table of its objects.

Source: "Extend the Kubernetes API with CustomResourceDefinitions" in the Kubernetes
documentation ("Additional printer columns").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Final

from smp import codec
from smp.server.objects.crds._spec import PrinterColumn
from smp.server.objects.crds.json_path import Find, JSONPathError, value_finder
from smp.server.objects.tables.columns import NAME, Column, time_since
from smp.values import ABSENT, JSON, Absent, JSONObject, printed

TYPES: Final = ("boolean", "date", "integer", "number", "string")
_AGE: Final = PrinterColumn(
    name="Age", type="date", json_path=".metadata.creationTimestamp"
)


def columns(defined: Iterable[PrinterColumn]) -> tuple[Column, ...]:
    """Return the columns of a table: the name, and those that are defined, by default
    the age.
    """
    return (NAME, *map(_column, tuple(defined) or (_AGE,)))


def is_supported(json_path: str) -> bool:
    """Tell whether a column can show what is at a path; one that cannot stays empty."""
    try:
        value_finder(json_path)
    except JSONPathError:
        return False
    return True


def _column(one: PrinterColumn) -> Column:
    find = value_finder(one.json_path) if is_supported(one.json_path) else _nothing
    description = (
        one.description
        or f"Custom resource definition column (in JSONPath format): {one.json_path}"
    )
    return Column(
        one.name,
        partial(_cell, find, one.type),
        one.type,
        one.priority,
        one.format,
        description,
    )


def _nothing(_value: JSON) -> Absent:
    return ABSENT


def _cell(find: Find, kind: str, obj: JSONObject, now: datetime) -> JSON:
    value = find(obj)
    if value is None or isinstance(value, Absent):
        return None
    return time_since(value, now) if kind == "date" else _SHOWN[kind](value)


def _text(value: JSON) -> JSON:
    return (
        codec.encode(value).decode()
        if isinstance(value, dict | list)
        else printed(value)
    )


def _integer(value: JSON) -> JSON:
    return (
        int(value)
        if isinstance(value, int | float) and not isinstance(value, bool)
        else None
    )


def _number(value: JSON) -> JSON:
    return (
        value
        if isinstance(value, int | float) and not isinstance(value, bool)
        else None
    )


def _boolean(value: JSON) -> JSON:
    return value if isinstance(value, bool) else None


_SHOWN: Final[dict[str, Callable[[JSON], JSON]]] = {
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "string": _text,
}
