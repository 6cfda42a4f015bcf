"""The parts of cells: values at a path, joined lists, conditions.

A path is a string of field names with dots between them: ``spec.replicas``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from smp._values.values import JSON, JSONObject, as_object
from smp.server.objects.fields import objects_in, strings_in, value_at
from smp.server.objects.metadata import metadata_of

# What kubectl prints for an empty list, an optional field and an unknown value.
NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"


def at(obj: JSON, path: str) -> JSON:
    """Return the value at a path, or null."""
    return value_at(obj, path.split("."))


def values_at(obj: JSON, path: str) -> Iterator[JSON]:
    """Yield the values at a path, of all elements where it leads through lists."""
    if isinstance(obj, list):
        for element in obj:
            yield from values_at(element, path)
    elif not path:
        yield obj
    elif isinstance(obj, dict):
        name, _, rest = path.partition(".")
        if name in obj:
            yield from values_at(obj[name], rest)


def text_of(value: JSON) -> str:
    """Return a string or a number as text; another value counts as absent."""
    # In Go an empty string and an absent one are the same.
    return str(value) if isinstance(value, str | int | float) else ""


def text_at(obj: JSON, path: str, absent: str = "") -> str:
    """Return the string or number at a path; the empty string counts as absent."""
    return text_of(at(obj, path)) or absent


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


def is_deleted(obj: JSONObject) -> bool:
    """Tell whether the deletion of an object has begun."""
    return "deletionTimestamp" in metadata_of(obj)


def condition_of(
    obj: JSON, condition_type: str, path: str = "status.conditions"
) -> JSONObject | None:
    """Return the first condition of a type, or None."""
    found = (
        each for each in objects_at(obj, path) if each.get("type") == condition_type
    )
    return next(found, None)


def is_true(obj: JSON, condition_type: str) -> bool:
    """Tell whether a condition of the status is true."""
    return any(
        condition.get("type") == condition_type and condition.get("status") == "True"
        for condition in objects_at(obj, "status.conditions")
    )


def join(texts: Iterable[str], absent: str = "", separator: str = ",") -> str:
    """Join texts without the empty ones."""
    return separator.join([text for text in texts if text]) or absent


def abridge(texts: list[str], count: int, separator: str = ",") -> str:
    """Join the first texts and print how many more there are."""
    # "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more..."
    first = separator.join(texts[:count]) or NONE
    more = len(texts) - count
    return f"{first} + {more} more..." if more > 0 else first
