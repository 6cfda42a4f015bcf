"""Reading the fields of objects whose types have not been checked.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from smp._values.values import JSON, Absent, JSONObject, as_list


def value_at(value: JSON, names: Iterable[str]) -> JSON:
    """Return the value at a path of field names, or None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def objects_in(value: JSON | Absent) -> list[JSONObject]:
    """Return the objects in a list; other elements and other values are skipped."""
    return [element for element in as_list(value) if isinstance(element, dict)]


def strings_in(value: JSON | Absent) -> list[str]:
    """Return the strings in a list; other elements and other values are skipped."""
    return [element for element in as_list(value) if isinstance(element, str)]
