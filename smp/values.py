"""JSON values: their types, and an equality that never confuses them.

Python holds ``True == 1 == 1.0``; JSON, and a Kubernetes API server, do not.

There are two ways here to find out whether two values are the same, because this module
runs in two ways. A wheel has it compiled with mypyc; a checkout, an editable
installation or a wheel built without a C compiler has it interpreted (``COMPILED`` says
which).

- Compiled, the values are walked side by side. The walk is machine code, and it stops
  at the first difference.
- Interpreted, such a walk costs many times as much as Python's own ``==``, which is
  written in C. So ``==`` answers first. Where it says "different", they are. Where
  it says "equal", the types may still differ (``1 == 1.0``), and the cheapest proof
  that they do not is to print both sides as JSON with msgspec, in C as well: equal
  text means equal types. Where the texts differ (``1`` beside ``1.0``, or only the
  order of keys), the walk decides here, too.

Both ways answer alike, and each is the slower one in the place of the other. The tests
run over both.

A limit of depth comes with it. The interpreter stops a deep recursion with
RecursionError, compiled code runs on until the stack overflows and the process dies.
So whatever recurses in compiled code counts its levels and raises RecursionError after
``MAX_LEVELS`` of them; ``smp.errors.bounded`` turns it into a DepthError either way.
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
# mypyc makes a shared library of this file; ``__file__`` names what was imported.
COMPILED: Final[bool] = not __file__.endswith(".py")
# The maximum nesting of objects and lists. Compiled code has no recursion limit of its
# own; 300 is about what the interpreter's limit of 1,000 calls comes to.
MAX_LEVELS: Final = 300

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
    """Name the JSON type of a value.

    That is object, array, string, integer, number, boolean or null.
    """
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def same(left: JSON | Absent, right: JSON | Absent) -> bool:
    """Tell whether two JSON values are equal in type and content (order of keys aside).

    ``1``, ``1.0`` and ``True`` are three different values, as for Go's
    ``reflect.DeepEqual``. Raises RecursionError. The head of this module says why there
    are two ways.
    """
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if COMPILED:
        return _same_by_walking(left, right, MAX_LEVELS)
    if left != right:
        return False
    if not isinstance(left, (dict, list)):
        return True
    return _same_text(left, right) or _same_by_walking(left, right, MAX_LEVELS)


def _same_by_walking(left: JSON | Absent, right: JSON | Absent, levels: int) -> bool:
    if left is right:
        return True
    if isinstance(left, str):  # first, as most values are strings
        return isinstance(right, str) and left == right
    if isinstance(left, dict):
        if not isinstance(right, dict) or len(left) != len(right):
            return False
        if not levels:
            raise RecursionError
        # A plain loop, here and below: all() makes a generator, which costs more.
        for name, value in left.items():
            if not _same_by_walking(value, right.get(name, ABSENT), levels - 1):
                return False
        return True
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        if not levels:
            raise RecursionError
        for value, other in zip(left, right):
            if not _same_by_walking(value, other, levels - 1):
                return False
        return True
    return type(left) is type(right) and left == right


_print: Final = msgspec.json.Encoder().encode


def _same_text(left: object, right: object) -> bool:
    """Tell whether two values that Python holds equal have the same JSON text."""
    try:
        return _print(left) == _print(right)
    except (TypeError, ValueError):
        # No JSON, such as a set. The operation fails where it prints its result, with
        # a better message than there could be here.
        return False


def share_equal(values: list[JSON | Absent], others: JSONArray) -> list[JSON | Absent]:
    """Return values, each replaced by its counterpart if the two are the same.

    The counterpart is the one at the same place among the others. After that ``is``
    tells what ``same`` would, without a second comparison.
    """
    if COMPILED:
        shared: list[JSON | Absent] = []
        for value, other in zip(values, others):
            shared.append(other if same(value, other) else value)
        return shared
    # As in ``same``: all comparisons at one go in C, one proof for all that are equal,
    # and one by one only where that proof fails.
    equal = list(map(eq, values, others))
    if True not in equal:
        return values
    if not _same_text([*compress(values, equal)], [*compress(others, equal)]):
        equal = list(map(same, values, others))
    return [
        other if as_well else value
        for value, other, as_well in zip(values, others, equal)
    ]


def check_depth(value: JSON) -> None:
    """Raise RecursionError for a value too deeply nested for compiled code.

    For values that a recursion without a count of its own is about to enter.
    """
    if COMPILED:
        _check_levels(value, MAX_LEVELS)


def _check_levels(value: JSON, levels: int) -> None:
    if not levels:
        raise RecursionError
    if isinstance(value, dict):
        for member in value.values():
            _check_levels(member, levels - 1)
    elif isinstance(value, list):
        for element in value:
            _check_levels(element, levels - 1)


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
    """Make a dictionary key of a scalar that tells ``1`` from ``1.0`` and ``True``.

    Strings and integers, almost all there are, stay as they are; the others get their
    type beside them.
    """
    if isinstance(value, str) or type(value) is int:
        return value
    return (type(value), value)


def printed(value: JSON) -> str:
    """Print a scalar as Go's ``%v`` does for the common cases."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "<nil>"
    return str(value)
