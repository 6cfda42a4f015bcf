"""The parts of cells: values at a path, joined lists, conditions.

A path is a string of field names with dots between them: ``spec.replicas``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from smp.server.objects.fields import objects_in, strings_in, value_at
from smp.values import JSON, JSONObject, as_object

# The value of a cell that does not depend on the time.
Show: TypeAlias = Callable[[JSONObject], JSON]

# What kubectl prints for an empty list, an optional field and an unknown value.
NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"


def at(obj: JSON, path: str) -> JSON:
    """Return the value at a path, or null."""
    return value_at(obj, path.split("."))


def text_at(obj: JSON, path: str, absent: str = "") -> str:
    """Return the string or number at a path; the empty string counts as absent."""
    # In Go an empty string and an absent one are the same.
    value = at(obj, path)
    if value == "" or not isinstance(value, str | int | float):
        return absent
    return str(value)


def integer_at(obj: JSON, path: str, absent: int = 0) -> int:
    """Return the integer at a path."""
    value = at(obj, path)
    return value if isinstance(value, int) else absent


def object_at(obj: JSON, path: str) -> JSONObject:
    """Return the object at a path, or an empty one."""
    return as_object(at(obj, path))


def objects_at(obj: JSON, path: str) -> list[JSONObject]:
    """Return the objects in the list at a path."""
    return objects_in(at(obj, path))


def strings_at(obj: JSON, path: str) -> list[str]:
    """Return the strings in the list at a path."""
    return strings_in(at(obj, path))


def is_true(obj: JSON, condition_type: str) -> bool:
    """Tell whether a condition of the status is true."""
    return any(
        condition.get("type") == condition_type and condition.get("status") == "True"
        for condition in objects_at(obj, "status.conditions")
    )


def joined(texts: Iterable[str], absent: str = "", separator: str = ",") -> str:
    """Join texts without the empty ones."""
    return separator.join([text for text in texts if text]) or absent


def abridged(texts: list[str], count: int, separator: str = ",") -> str:
    """Join the first texts and print how many more there are."""
    # "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more..."
    first = separator.join(texts[:count]) or NONE
    more = len(texts) - count
    return f"{first} + {more} more..." if more > 0 else first


def text_of(path: str, absent: str = "") -> Show:
    """Make a cell of the string or number at a path."""

    def show(obj: JSONObject) -> JSON:
        return text_at(obj, path, absent)

    return show


def integer_of(path: str, absent: int = 0) -> Show:
    """Make a cell of the integer at a path."""

    def show(obj: JSONObject) -> JSON:
        return integer_at(obj, path, absent)

    return show


def boolean_of(path: str) -> Show:
    """Make a cell that shows whether the value at a path is true."""

    def show(obj: JSONObject) -> JSON:
        return at(obj, path) is True

    return show


def count_of(*paths: str) -> Show:
    """Make a cell of the number of fields and elements at some paths."""

    def show(obj: JSONObject) -> JSON:
        count = 0
        for path in paths:
            value = at(obj, path)
            if isinstance(value, dict | list):
                count += len(value)
        return count

    return show


def list_of(path: str) -> Show:
    """Make a cell of the strings in a list."""

    def show(obj: JSONObject) -> JSON:
        return ",".join(strings_at(obj, path))

    return show
