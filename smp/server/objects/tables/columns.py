"""A column of a table, and the two that nearly every table has: the name and the age.

Ages are printed as kubectl prints them. Pure: the time is an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from smp.server.objects.metadata import metadata_of
from smp.values import JSON, JSONObject

Cell: TypeAlias = Callable[[JSONObject, datetime], JSON]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, what it shows of an object at a time, and its type; kubectl
    hides a priority from 1.
    """

    name: str
    cell: Cell
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""

    def definition(self) -> JSONObject:
        """Return the column as a table declares it."""
        about: JSONObject = {
            "name": self.name,
            "type": self.type,
            "format": self.format,
        }
        return {**about, "description": self.description, "priority": self.priority}


def time_since(time: JSON, now: datetime) -> str:
    """Print how long ago a time was, as kubectl does; ``<unknown>`` without one,
    ``<invalid>`` for what is none.
    """
    if time is None:
        return "<unknown>"
    then = parse_time(time)
    return human_duration((now - then).total_seconds()) if then else "<invalid>"


def parse_time(time: JSON) -> datetime | None:
    """Read a time as metadata has it, in UTC where it does not say otherwise; None for
    what is none.
    """
    try:
        read = datetime.fromisoformat(time) if isinstance(time, str) else None
    except ValueError:
        return None
    return read.replace(tzinfo=UTC) if read and not read.tzinfo else read


_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY
_SCALES: Final = (
    # below, in units of, and what is left in units of
    (2 * _MINUTE, (1, "s"), None),
    (10 * _MINUTE, (_MINUTE, "m"), (1, "s")),
    (3 * _HOUR, (_MINUTE, "m"), None),
    (8 * _HOUR, (_HOUR, "h"), (_MINUTE, "m")),
    (2 * _DAY, (_HOUR, "h"), None),
    (8 * _DAY, (_DAY, "d"), (_HOUR, "h")),
    (2 * _YEAR, (_DAY, "d"), None),
    (8 * _YEAR, (_YEAR, "y"), (_DAY, "d")),
    (float("inf"), (_YEAR, "y"), None),
)


def human_duration(seconds: float) -> str:
    """Print a duration to two or three figures: ``5s``, ``3m20s``, ``4h``, ``2d3h``
    (Go: duration.HumanDuration).
    """
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole == -1 else "<invalid>"
    unit, rest = next((unit, rest) for bound, unit, rest in _SCALES if whole < bound)
    count, left = divmod(whole, unit[0])
    remainder = left // rest[0] if rest else 0
    return f"{count}{unit[1]}" + (f"{remainder}{rest[1]}" if rest and remainder else "")


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
