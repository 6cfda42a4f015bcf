"""JSON values: their types, and an equality that never confuses them.

Python holds ``True == 1 == 1.0``; JSON, and a Kubernetes API server, do not.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"
JSONObject: TypeAlias = dict[str, JSON]
JSONArray: TypeAlias = list[JSON]
ScalarKey: TypeAlias = "str | tuple[type, JSON]"


class Absent(Enum):
    """The type of ``ABSENT``: no value at all, which is neither null nor empty."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT

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
    """Name the JSON type of a value: object, array, string, integer, number, boolean or null."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def same(left: JSON | Absent, right: JSON | Absent) -> bool:
    """Tell whether two JSON values are equal in type and content (order of keys aside).

    ``1``, ``1.0`` and ``True`` are three different values, as for Go's ``reflect.DeepEqual``.
    """
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return _same_members(left, right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def _same_members(left: JSONObject, right: JSONObject) -> bool:
    if len(left) != len(right):
        return False
    for name, value in left.items():  # noqa: SIM110  (a generator would double the depth of the stack)
        if not same(value, right.get(name, ABSENT)):
            return False
    return True


def listed(value: JSON | Absent) -> JSONArray:
    """Return a list as it is, and for anything else an empty one."""
    return value if isinstance(value, list) else []


def scalar_key(value: JSON) -> ScalarKey:
    """Make a scalar usable as a dictionary key that tells ``1`` from ``1.0`` and ``True``."""
    return value if isinstance(value, str) else (type(value), value)


def printed(value: JSON) -> str:
    """Print a scalar as Go's ``%v`` does for the common cases; used only to order things."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
