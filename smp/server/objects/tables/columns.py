"""Columns of a table, and the parts of their cells: values, lists, conditions, ages.

A path is a string of field names with dots between them: ``spec.replicas``. It leads
through all elements of lists; ``@Ready`` are those of a type, and ``@Ready!`` those
that have the status "True". The time is an argument. Go: k8s.io/kubernetes,
pkg/printers/internalversion (translateTimestampSince) and
k8s.io/apimachinery/pkg/util/duration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from smp._values.api_objects import metadata_of
from smp._values.times import read_time
from smp._values.values import JSON, JSONObject, objects_in, value_at

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
    found = read_time(time)
    if found is None:
        return "<invalid>"
    seconds, nanoseconds = found
    return human_duration(now.timestamp() - seconds - nanoseconds / _SECOND)


_SECOND: Final = 1_000_000_000  # nanoseconds
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY
# How durations below a bound are printed: in one unit, or in two. All are in seconds; a
# unit is its length and its letter.
_UNITS: Final[tuple[tuple[float, tuple[tuple[int, str], ...]], ...]] = (
    (2 * _MINUTE, ((1, "s"),)),
    (10 * _MINUTE, ((_MINUTE, "m"), (1, "s"))),
    (3 * _HOUR, ((_MINUTE, "m"),)),
    (8 * _HOUR, ((_HOUR, "h"), (_MINUTE, "m"))),
    (2 * _DAY, ((_HOUR, "h"),)),
    (8 * _DAY, ((_DAY, "d"), (_HOUR, "h"))),
    (2 * _YEAR, ((_DAY, "d"),)),
    (8 * _YEAR, ((_YEAR, "y"), (_DAY, "d"))),
    (float("inf"), ((_YEAR, "y"),)),
)


def human_duration(seconds: float) -> str:
    """Print a duration in one or two units: ``5s``, ``3m20s``, ``4h``, ``2d3h``.

    Go: duration.HumanDuration.
    """
    # As in Go, parts of a second are cut off, towards 0.
    rest = int(seconds)
    # "Allow deviation no more than 2 seconds(excluded) to tolerate machine time
    # inconsistence" (HumanDuration): one second in the future is now.
    if rest == -1:
        return "0s"
    if rest < 0:
        return "<invalid>"
    text = ""
    for length, letter in next(units for bound, units in _UNITS if rest < bound):
        count, rest = divmod(rest, length)
        # A remainder of 0 is left out: "3m", not "3m0s".
        if count or not text:
            text += f"{count}{letter}"
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


# What kubectl prints for an empty list or an optional field.
NONE: Final = "<none>"


def at(obj: JSON, path: str) -> JSON:
    """Return the value at a path of names, or null."""
    return value_at(obj, path.split("."))


def values_at(obj: JSON, path: str) -> Iterator[JSON]:
    """Yield the values at a path, of all elements where it leads through lists."""
    name, _, rest = path.partition(".")
    if isinstance(obj, list):
        if name.startswith("@"):
            for each in objects_in(obj):
                is_meant = not name.endswith("!") or each.get("status") == "True"
                if is_meant and each.get("type") == name[1:].removesuffix("!"):
                    yield from values_at(each, rest)
            return
        for element in obj:
            yield from values_at(element, path)
    elif not path:
        yield obj
    elif isinstance(obj, dict) and name in obj:
        yield from values_at(obj[name], rest)


def has(obj: JSON, path: str) -> bool:
    """Tell whether a value at a path is neither empty nor zero."""
    return any(values_at(obj, path))


def text_at(obj: JSON, path: str, absent: str = "") -> str:
    """Return the first string or number at a path; an empty string counts as absent."""
    # In Go an empty string and an absent one are the same.
    value = next(values_at(obj, path), None)
    return (str(value) if isinstance(value, str | int | float) else "") or absent


def integer_at(obj: JSON, path: str, absent: int = 0) -> int:
    """Return the integer at a path."""
    value = at(obj, path)
    return value if isinstance(value, int) else absent


def objects_at(obj: JSON, path: str) -> list[JSONObject]:
    """Return the objects in the list at a path."""
    return objects_in(at(obj, path))


def join(texts: Iterable[str], absent: str = "", separator: str = ",") -> str:
    """Join texts without the empty ones."""
    return separator.join([text for text in texts if text]) or absent


def abridge(texts: list[str], count: int, separator: str = ",") -> str:
    """Join the first texts and print how many more there are."""
    # "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more..."
    first = separator.join(texts[:count]) or NONE
    more = len(texts) - count
    return f"{first} + {more} more..." if more > 0 else first
