"""JSON values: their types, and an equality that never confuses them.

Python holds ``True == 1 == 1.0``; JSON, and a Kubernetes API server, do not.

Two algorithms here compare values, because this module runs in two ways. In a wheel it
is compiled with mypyc; in a checkout, an editable installation, or a wheel built
without a C compiler it is interpreted (``COMPILED`` tells which).

- Compiled, both values are walked in parallel. The walk is machine code and stops at
  the first difference.
- Interpreted, such a walk takes many times as long as Python's own ``==``, which is
  written in C. So ``==`` goes first. If it is false, the values differ. If it is true,
  the types may still differ (``1 == 1.0``). The cheapest proof that they do not is to
  print both values as JSON with msgspec, which is written in C as well: equal text
  means equal types. If the texts differ (``1`` and ``1.0``, or just the order of keys),
  the walk decides.

Both give the same answers, and the tests run over both. Each is the slower one where
the other is used.

Compiled code needs a limit of depth, too. The interpreter stops a deep recursion with
RecursionError; compiled code continues until the stack overflows and the process
crashes. So each recursive function that is compiled counts its levels and raises
RecursionError after ``MAX_LEVELS`` of them. ``smp.errors.bounded`` turns either
RecursionError into a DepthError.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from itertools import compress
from math import isfinite
from operator import eq
from typing import Final, TypeAlias, cast

import msgspec

from smp._values.raw import RawJSON
from smp._values.steps import count_steps

JSON: TypeAlias = (
    "dict[str, JSON] | list[JSON] | str | int | float | bool | RawJSON | None"
)
JSONObject: TypeAlias = dict[str, JSON]
JSONArray: TypeAlias = list[JSON]
# What a dictionary knows a scalar by, see scalar_key; or several of them.
ScalarKey: TypeAlias = "str | int | tuple[object, ...]"


class Absent(Enum):
    """The type of ``ABSENT``: no value at all, which is neither null nor empty."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
# mypyc makes a shared library of this file; ``__file__`` names what was imported.
COMPILED: Final[bool] = not __file__.endswith(".py")
# The maximum nesting of objects and lists. Compiled code has no recursion limit of its
# own; 300 is about what the interpreter reaches with its limit of 1,000 calls.
MAX_LEVELS: Final = 300

# The types of decoded JSON. The engine goes by exact types, not by subclasses.
SCALAR_TYPES: Final[frozenset[type]] = frozenset({str, int, float, bool, type(None)})
PLAIN_TYPES: Final[frozenset[type]] = SCALAR_TYPES | {dict, list, Absent}
# The same, and what ``smp.wire`` leaves undecoded.
_KNOWN_TYPES: Final[frozenset[type]] = PLAIN_TYPES | {RawJSON}

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


class NotPlainError(Exception):
    """A value at which the engine looked, and which is not of a type of JSON.

    It does not reach callers: ``smp._values.plain.over_json`` converts the arguments
    then.
    """


def require_plain(value: object) -> None:
    """Raise NotPlainError for a value that is not of one of the PLAIN_TYPES.

    It is called where a value does not have the type that was looked for, before it
    counts as one of another type.
    """
    if type(value) not in PLAIN_TYPES:
        raise NotPlainError


def require_known(value: object) -> None:
    """Raise NotPlainError as ``require_plain`` does, but not for an undecoded value."""
    if type(value) not in _KNOWN_TYPES:
        raise NotPlainError


def same(left: JSON | Absent, right: JSON | Absent) -> bool:
    """Tell whether two JSON values are equal in type and content (order of keys aside).

    ``1``, ``1.0`` and ``True`` are three different values, as for Go's
    ``reflect.DeepEqual``. Raises RecursionError. The docstring of this module explains
    the two algorithms.
    """
    if left is right:
        return True
    if type(left) is not type(right):
        return _same_across_types(left, right)
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
        count_steps(len(left))
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
        count_steps(len(left))
        for value, other in zip(left, right):
            if not _same_by_walking(value, other, levels - 1):
                return False
        return True
    return _same_scalars(left, right)


def _same_scalars(left: JSON | Absent, right: JSON | Absent) -> bool:
    if type(left) is type(right):
        return left == right
    return _same_across_types(left, right)


def _same_across_types(left: JSON | Absent, right: JSON | Absent) -> bool:
    """Return False for two values of different types.

    Raises NotPlainError where one may be equal all the same: an OrderedDict to a dict.
    An undecoded value is not compared with others.
    """
    if left is not ABSENT and right is not ABSENT:
        require_known(left)
        require_known(right)
    return False


_print: Final = msgspec.json.Encoder().encode


def _same_text(left: object, right: object) -> bool:
    """Tell whether two values that Python holds equal have the same JSON text."""
    try:
        return _print(left) == _print(right)
    except (TypeError, ValueError):
        # Not JSON, for example a set. Encoding the result fails later, with a message
        # that names the type.
        return False


def equal(left: JSON, right: JSON) -> bool:
    """Tell whether values are equal, numbers by value: 1 and 1.0, but not 1 and true.

    Null and empty differ (RFC 6902, section 4.6; Go: value.Equals of
    structured-merge-diff).
    """
    if left is right:
        return True
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    if isinstance(left, dict) and isinstance(right, dict):
        count_steps(len(left))
        return left.keys() == right.keys() and all(
            equal(content, right[name]) for name, content in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        count_steps(len(left))
        return len(left) == len(right) and all(map(equal, left, right))
    return type(left) is type(right) and left == right


def share_equal(values: list[JSON | Absent], others: JSONArray) -> list[JSON | Absent]:
    """Return values, each replaced by its counterpart if the two are the same.

    The counterpart is the other value at the same index. Afterwards ``is`` gives the
    answer of ``same`` without a second comparison.
    """
    if COMPILED:
        shared: list[JSON | Absent] = []
        for value, other in zip(values, others):
            shared.append(other if same(value, other) else value)
        return shared
    # As in ``same``: first all comparisons in C, then one proof for all equal pairs
    # together, and pair by pair only if that proof fails.
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

    Called before a recursion that does not count its levels itself.
    """
    if COMPILED:
        _check_levels(value, MAX_LEVELS)


def _check_levels(value: JSON, levels: int) -> None:
    if not levels:
        raise RecursionError
    if isinstance(value, dict):
        count_steps(len(value))
        for member in value.values():
            _check_levels(member, levels - 1)
    elif isinstance(value, list):
        count_steps(len(value))
        for element in value:
            _check_levels(element, levels - 1)


def as_object(value: JSON | Absent) -> JSONObject:
    """Return an object as it is, and an empty one for any other value."""
    if isinstance(value, dict):
        return value
    # What is absent is known, and the usual other value.
    if value is not ABSENT and value is not None:
        require_known(value)
    return {}


def as_list(value: JSON | Absent) -> JSONArray:
    """Return a list as it is, and an empty one for any other value."""
    if isinstance(value, list):
        return value
    if value is not ABSENT and value is not None:
        require_known(value)
    return []


def as_text(value: JSON | Absent) -> str:
    """Return a string as it is, and the empty one for any other value."""
    return value if isinstance(value, str) else ""


def scalar_key(value: JSON) -> ScalarKey:
    """Make a dictionary key of a scalar that tells ``1`` from ``1.0`` and ``True``.

    Strings and integers, which almost all keys are, are returned unchanged; other
    scalars are paired with their type.
    """
    if type(value) is str or type(value) is int:
        return value
    require_known(value)
    return (type(value), value)


def value_key(value: JSON, levels: int = MAX_LEVELS) -> object:
    """Make a dictionary key of any value: equal for values that are ``same``.

    Raises RecursionError.
    """
    if isinstance(value, (dict, list)):
        if not levels:
            raise RecursionError
        count_steps(len(value))
    if isinstance(value, dict):
        members = [(name, value_key(value[name], levels - 1)) for name in value]
        return (dict, frozenset(members))
    if isinstance(value, list):
        return (list, tuple([value_key(element, levels - 1) for element in value]))
    return scalar_key(value)


def value_keys(lists: Iterable[JSON | Absent]) -> set[object]:
    """Return what the elements of several lists are, as value_key tells it."""
    return {value_key(element) for elements in lists for element in as_list(elements)}


# The powers of ten of numbers without an exponent.
_LEAST_POWER: Final = -4
_FIRST_POWER: Final = 6


def printed(value: object) -> str:
    """Print a scalar as Go's ``%v`` does for the common cases."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "<nil>"
    if isinstance(value, float) and isfinite(value):
        return _print_float(value)
    return number_text(value) if isinstance(value, int) else str(value)


def _print_float(value: float) -> str:
    """Go: strconv.FormatFloat(value, 'g', -1, 64): 1.0 is 1, and 1e6 is 1e+06."""
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        sign = "-" if mantissa.startswith("-") else ""
        whole, _, fraction = mantissa.removeprefix("-").partition(".")
        power = len(whole) - 1
        digits = (whole + fraction).rstrip("0")
        if whole == "0":
            power = len(fraction.lstrip("0")) - len(fraction) - 1
            digits = digits.lstrip("0")
        if not digits or _LEAST_POWER <= power < _FIRST_POWER:
            return mantissa.removesuffix(".0")
        mantissa = f"{sign}{digits[0]}.{digits[1:]}".removesuffix(".")
    else:
        power = int(exponent)
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02}"


# Go: strconv.Quote: what is escaped by a letter.
_ESCAPES: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        '"': '\\"',
        "\\": "\\\\",
    }
)


def quote(text: str) -> str:
    """Print a text as Go's ``%q`` does: what cannot be printed is escaped."""
    escaped = text.translate(_ESCAPES)
    if not escaped.isprintable():
        escaped = "".join([_escape(character) for character in escaped])
    return f'"{escaped}"'


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    # Go: strconv.appendEscapedRune.
    if code < 0x80:  # noqa: PLR2004  (the first character that is not ASCII)
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004


def drop_absent(members: dict[str, JSON | Absent]) -> JSONObject:
    """Return the members of an object that are there."""
    found: JSONObject = {}
    for name, value in members.items():
        if not isinstance(value, Absent):
            found[name] = value
    return found


def drop_nulls(value: JSON) -> JSON:
    """Return a value without members that are null, at any depth; elements stay.

    Go: k8s.io/kubectl, pkg/cmd/apply, pruneNulls; jsonpatch.pruneNulls.
    """
    if isinstance(value, dict):
        return {
            name: drop_nulls(content)
            for name, content in value.items()
            if content is not None
        }
    if isinstance(value, list):
        return [drop_nulls(element) for element in value]
    return value


# Longer texts are not read as numbers, and not remembered. Python refuses to read more
# than 4,300 digits, and takes long for as many.
LONGEST_NUMBER: Final = 1000  # characters


def number_text(value: int) -> str:
    """Print an integer of any size, in hexadecimal where Python limits decimals.

    The limit is ``sys.get_int_max_str_digits()``.
    """
    try:
        return str(value)
    except ValueError:
        return hex(value)


def sort_members(value: JSON, levels: int = MAX_LEVELS) -> JSON:
    """Return a value with the members of each object in the order of their names.

    Raises RecursionError.
    """
    if not levels:
        raise RecursionError
    if isinstance(value, dict):
        return {name: sort_members(value[name], levels - 1) for name in sorted(value)}
    if isinstance(value, list):
        return [sort_members(element, levels - 1) for element in value]
    return value


def show(value: object) -> str:
    """Return the ``repr`` of a value for a message; deep ones and long integers too.

    It is the same for any order of members.
    """
    try:
        with suppress(TypeError):  # names that are no texts
            value = sort_members(cast("JSON", value))
        return repr(value)
    except (RecursionError, ValueError):
        return f"an {type_name(value)} that cannot be printed"


def value_at(value: JSON, names: Iterable[str]) -> JSON:
    """Return the value at a path of field names, or None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def objects_in(value: JSON | Absent) -> list[JSONObject]:
    """Return the objects in a list; other elements and other values are skipped."""
    return [element for element in as_list(value) if isinstance(element, dict)]


def strings_in(value: JSON | Absent) -> list[str]:
    """Return the strings in a list; other elements and other values are skipped."""
    return [element for element in as_list(value) if isinstance(element, str)]
