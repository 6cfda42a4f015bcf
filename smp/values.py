"""JSON values: their types, and an equality that never confuses them.

Python holds ``True == 1 == 1.0``; JSON, and a Kubernetes API server, do not.
"""

from __future__ import annotations

from enum import Enum
from itertools import compress
from operator import eq
from typing import Final, TypeAlias

import msgspec

from smp.raw import RawJSON

JSON: TypeAlias = (
    "dict[str, JSON] | list[JSON] | str | int | float | bool | RawJSON | None"
)
JSONObject: TypeAlias = dict[str, JSON]
JSONArray: TypeAlias = list[JSON]
ScalarKey: TypeAlias = "str | int | tuple[type, JSON]"


class Absent(Enum):
    """The type of ``ABSENT``: no value at all, which is neither null nor empty."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
COMPILED: Final[bool] = not __file__.endswith(".py")
# how deep compiled code goes, which has no limit of its own: as deep as the interpreter
# by its own
LEVELS: Final = 300

_TYPE_NAMES: Final[dict[type, str]] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def type_name(value: object) -> str:
    """Name the JSON type of a value: object, array, string, integer, number, boolean or
    null.
    """
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def same(left: JSON | Absent, right: JSON | Absent) -> bool:
    """Tell whether two JSON values are equal in type and content (order of keys aside).

    ``1``, ``1.0`` and ``True`` are three different values, as for Go's
    ``reflect.DeepEqual``. Raises RecursionError.
    """
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if COMPILED:
        return _alike(left, right, LEVELS)
    if left != right:
        return False
    return (
        not isinstance(left, (dict, list))
        or _print_alike(left, right)
        or _alike(left, right, LEVELS)
    )


def _alike(left: JSON | Absent, right: JSON | Absent, levels: int) -> bool:
    if left is right:
        return True
    if isinstance(left, str):
        return isinstance(right, str) and left == right
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and _members_alike(left, right, levels)
        )
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and _elements_alike(left, right, levels)
        )
    return type(left) is type(right) and left == right


def _members_alike(left: JSONObject, right: JSONObject, levels: int) -> bool:
    if not levels:
        raise RecursionError
    for name, value in left.items():
        if not _alike(value, right.get(name, ABSENT), levels - 1):
            return False
    return True


def _elements_alike(left: JSONArray, right: JSONArray, levels: int) -> bool:
    if not levels:
        raise RecursionError
    for value, other in zip(left, right):
        if not _alike(value, other, levels - 1):
            return False
    return True


_print: Final = msgspec.json.Encoder().encode


def _print_alike(left: object, right: object) -> bool:
    """Tell whether two equal values are the same to the letter: uncompiled, the
    cheapest proof that their types are.
    """
    try:
        return _print(left) == _print(right)
    except (TypeError, ValueError):  # not JSON; for msgspec to say why, elsewhere
        return False


def share_equal(values: list[JSON | Absent], others: JSONArray) -> list[JSON | Absent]:
    """Return values, each replaced by the one at its place among the others if the two
    are the same.
    """
    if COMPILED:
        return [
            other if same(value, other) else value
            for value, other in zip(values, others)
        ]
    equal = list(map(eq, values, others))
    if True not in equal:
        return values
    if not _print_alike([*compress(values, equal)], [*compress(others, equal)]):
        equal = list(map(same, values, others))
    return [
        other if as_well else value
        for value, other, as_well in zip(values, others, equal)
    ]


def check_depth(value: JSON) -> None:
    """Raise RecursionError for a value that is nested too deeply for compiled code,
    which has no such limit itself.
    """
    if COMPILED:
        _check_depth(value, LEVELS)


def _check_depth(value: JSON, levels: int) -> None:
    if not levels:
        raise RecursionError
    if isinstance(value, dict):
        for member in value.values():
            _check_depth(member, levels - 1)
    elif isinstance(value, list):
        for element in value:
            _check_depth(element, levels - 1)


def as_object(value: JSON | Absent) -> JSONObject:
    """Return an object as it is, and an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def as_list(value: JSON | Absent) -> JSONArray:
    """Return a list as it is, and an empty one for any other value."""
    return value if isinstance(value, list) else []


def as_text(value: JSON | Absent) -> str:
    """Return a string as it is, and the empty one for any other value."""
    return value if isinstance(value, str) else ""


def scalar_key(value: JSON) -> ScalarKey:
    """Make a scalar usable as a dictionary key that tells ``1`` from ``1.0`` and
    ``True``.
    """
    return (
        value if isinstance(value, str) or type(value) is int else (type(value), value)
    )


def printed(value: JSON) -> str:
    """Print a scalar as Go's ``%v`` does for the common cases; used only to order
    things.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
