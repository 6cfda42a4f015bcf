"""The words that cells are made of: values at a path, lists joined, conditions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smp.values import JSON, JSONObject, as_list

NONE: Final = "<none>"
UNSET: Final = "<unset>"


def at(obj: JSON, path: str) -> JSON:
    """Return the value at a path of members, or null."""
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def text_at(obj: JSON, path: str, absent: str = "") -> str:
    """Return the string or number at a path; an empty string is absent."""
    found = at(obj, path)
    return (
        str(found) if isinstance(found, str | int | float) and found != "" else absent
    )


def integer_at(obj: JSON, path: str, absent: int = 0) -> int:
    """Return the integer at a path."""
    found = at(obj, path)
    return found if isinstance(found, int) else absent


def members_at(obj: JSON, path: str) -> JSONObject:
    """Return the object at a path; none is empty."""
    found = at(obj, path)
    return found if isinstance(found, dict) else {}


def each(obj: JSON, path: str) -> list[JSONObject]:
    """Return the objects in the list at a path."""
    return [element for element in as_list(at(obj, path)) if isinstance(element, dict)]


def texts_at(obj: JSON, path: str) -> list[str]:
    """Return the strings in the list at a path."""
    return [element for element in as_list(at(obj, path)) if isinstance(element, str)]


def is_true(obj: JSON, condition: str) -> bool:
    """Tell whether a condition of the status is true."""
    return any(
        one.get("type") == condition and one.get("status") == "True"
        for one in each(obj, "status.conditions")
    )


def joined(texts: Iterable[str], absent: str = "", separator: str = ",") -> str:
    """Join texts, those that are not empty."""
    return separator.join(filter(None, texts)) or absent


def abridged(texts: list[str], count: int, separator: str = ",") -> str:
    """Join the first texts, and say how many more there are."""
    more = f" + {len(texts) - count} more..." if len(texts) > count else ""
    return (separator.join(texts[:count]) or NONE) + more
