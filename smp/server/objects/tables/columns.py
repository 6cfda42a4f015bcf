"""A column of a table, the columns Name and Age, and how ages are printed.

The time is an argument. Go: k8s.io/kubernetes, pkg/printers/internalversion
(translateTimestampSince) and k8s.io/apimachinery/pkg/util/duration.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from smp._values.times import read_time
from smp._values.values import JSON, JSONObject
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
