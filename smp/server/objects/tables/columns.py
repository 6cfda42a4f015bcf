"""Columns of a table, and the parts of their cells: values, lists, conditions, ages.

A path is a string of field names with dots between them: ``spec.replicas``. The time is
an argument. Go: k8s.io/kubernetes, pkg/printers/internalversion
(translateTimestampSince) and k8s.io/apimachinery/pkg/util/duration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from smp._values.times import read_time
from smp._values.values import JSON, JSONObject, as_object
from smp.server.objects.fields import objects_in, strings_in, value_at
from smp.server.objects.metadata import metadata_of

# The value of a cell, from an object and the current time.
Cell: TypeAlias = Callable[[JSONObject, datetime], JSON]


class Column(msgspec.Struct, frozen=True):
    """A column: its name, its cells and its OpenAPI type.

    kubectl shows columns of a priority above 0 only with ``-o wide``.
    """

    name: str
    cell: Cell
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""

    def definition(self) -> JSONObject:
        """Return the column as a TableColumnDefinition."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def time_since(time: JSON, now: datetime) -> str:
    """Print how long ago a time was (Go: translateTimestampSince).

    Null gives ``<unknown>``, a value that is not a time ``<invalid>``.
    """
    if time is None:
        return "<unknown>"
    return time_until(time, now.timestamp())


def time_until(time: JSON, end: float) -> str:
    """Print how long a time was before another one, in seconds since 1970."""
    found = read_time(time)
    if found is None:
        return "<invalid>"
    seconds, nanoseconds = found
    return human_duration(end - seconds - nanoseconds / _SECOND)


_SECOND: Final = 1_000_000_000  # nanoseconds
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY


class _Scale(msgspec.Struct, frozen=True):
    """How durations below a bound are printed: in one unit, or in two.

    All durations are in seconds; a unit is its length and its letter.
    """

    bound: float
    unit: tuple[int, str]
    smaller_unit: tuple[int, str] | None = None


_SCALES: Final = (
    _Scale(2 * _MINUTE, (1, "s")),
    _Scale(10 * _MINUTE, (_MINUTE, "m"), (1, "s")),
    _Scale(3 * _HOUR, (_MINUTE, "m")),
    _Scale(8 * _HOUR, (_HOUR, "h"), (_MINUTE, "m")),
    _Scale(2 * _DAY, (_HOUR, "h")),
    _Scale(8 * _DAY, (_DAY, "d"), (_HOUR, "h")),
    _Scale(2 * _YEAR, (_DAY, "d")),
    _Scale(8 * _YEAR, (_YEAR, "y"), (_DAY, "d")),
    _Scale(float("inf"), (_YEAR, "y")),
)


def human_duration(seconds: float) -> str:
    """Print a duration in one or two units: ``5s``, ``3m20s``, ``4h``, ``2d3h``.

    Go: duration.HumanDuration.
    """
    # As in Go, parts of a second are cut off, towards 0.
    whole = int(seconds)
    # "Allow deviation no more than 2 seconds(excluded) to tolerate machine time
    # inconsistence" (HumanDuration): one second in the future is now.
    if whole == -1:
        return "0s"
    if whole < 0:
        return "<invalid>"
    scale = next(scale for scale in _SCALES if whole < scale.bound)
    length, letter = scale.unit
    count, rest = divmod(whole, length)
    text = f"{count}{letter}"
    if scale.smaller_unit:
        smaller_length, smaller_letter = scale.smaller_unit
        # A remainder of 0 is left out: "3m", not "3m0s".
        if remainder := rest // smaller_length:
            text += f"{remainder}{smaller_letter}"
    return text


def _name(obj: JSONObject, _now: datetime) -> JSON:
    name = metadata_of(obj).get("name")
    return name if isinstance(name, str) else None


def _age(obj: JSONObject, now: datetime) -> JSON:
    return time_since(metadata_of(obj).get("creationTimestamp"), now)


NAME: Final = Column(
    "Name",
    _name,
    format="name",
    description="The name of the object, unique within its namespace.",
)
AGE: Final = Column("Age", _age, description="How long ago the object was created.")


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
