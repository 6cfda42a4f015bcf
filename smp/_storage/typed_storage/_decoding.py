"""What an API server cannot decode into the Go structs of a built-in kind.

A schema calls a quantity, a time or bytes a string, and a port a number or a string.
Their decoders look closer. Values of another JSON type than that of the schema are not
looked for here.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from typing import Final

from smp._storage.typed_storage._plan import (
    BYTES,
    EITHER,
    INT_OR_STRING,
    LIST,
    MAP,
    MICRO_TIME,
    QUANTITY,
    STRUCT,
    TIME,
    GoType,
    Struct,
    storage_plan,
)
from smp._values.quantities import quantity_problem
from smp._values.steps import count_steps
from smp._values.times import micro_time_problem, time_problem
from smp._values.values import (
    ABSENT,
    JSON,
    MAX_LEVELS,
    Absent,
    JSONObject,
    printed,
    type_name,
)
from smp.errors import bounded
from smp.schema.model import Schema

_LOOKED_AT: Final = frozenset(
    {STRUCT, LIST, MAP, EITHER, QUANTITY, INT_OR_STRING, TIME, MICRO_TIME, BYTES}
)
_BASE64: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)
_QUANTUM: Final = 4


@bounded("the object")
def find_decoding_problem(
    obj: JSONObject, schema: Schema, old: JSONObject | None = None
) -> str:
    """Return what a server says of the first value that it cannot decode, or "".

    What the object shares with ``old``, which was stored before, is not visited. Raises
    DepthError (Go: Quantity.UnmarshalJSON, IntOrString.UnmarshalJSON,
    Time.UnmarshalJSON, []byte).
    """
    struct = storage_plan(schema.types).root(schema.type).struct
    if struct is None:
        return ""
    return _check_struct(obj, ABSENT if old is None else old, struct, MAX_LEVELS)


def _check_struct(
    value: JSONObject, old: JSON | Absent, struct: Struct, levels: int
) -> str:
    if not levels:
        raise RecursionError
    count_steps(len(value))
    for name, content in value.items():
        was = old.get(name, ABSENT) if isinstance(old, dict) else ABSENT
        if content is was:
            continue
        member = struct.members.get(name) or struct.member(name)
        if member is not None and member.type.form in _LOOKED_AT:
            problem = _check_value(content, was, member.type, levels - 1)
            if problem:
                return problem
    return ""


def _check_value(value: JSON, old: JSON | Absent, type_: GoType, levels: int) -> str:
    if not levels:
        raise RecursionError
    form = type_.form
    if form == QUANTITY:
        return quantity_problem(value)
    if form == INT_OR_STRING:
        return _check_int_or_string(value)
    if form == TIME:
        return time_problem(value)
    if form == MICRO_TIME:
        return micro_time_problem(value)
    if form == BYTES:
        return bytes_problem(value)
    if isinstance(value, dict):
        if type_.struct is not None:
            return _check_struct(value, old, type_.struct, levels)
        contents = [*value.values()]
    elif isinstance(value, list):
        contents = value
    else:
        return ""
    count_steps(len(contents))
    # An element of a list may be at another place than before.
    shared = {id(content) for content in old} if isinstance(old, list) else set()
    if type_.inner is not None:
        for content in contents:
            if id(content) in shared:
                continue
            problem = _check_value(content, ABSENT, type_.inner, levels - 1)
            if problem:
                return problem
    return ""


def _check_int_or_string(value: JSON) -> str:
    """Go: json.UnmarshalTypeError."""
    if value is None or isinstance(value, str) or type(value) is int:
        return ""
    what = type_name(value)
    if isinstance(value, bool):
        what = "bool"
    elif isinstance(value, float):
        what = f"number {printed(value)}"
    return f"json: cannot unmarshal {what} into Go value of type int32"


def bytes_problem(value: JSON) -> str:
    """Return why Go cannot read base64 (Go: StdEncoding, decodeQuantum), or ""."""
    if not isinstance(value, str):
        return ""
    try:
        a2b_base64(value.replace("\n", "").replace("\r", ""), strict_mode=True)
    except (Base64Error, ValueError):
        position = illegal_byte(value)
        if position >= 0:
            return f"illegal base64 data at input byte {position}"
    return ""


def illegal_byte(text: str) -> int:
    """Return where Go finds that a text is not base64; -1 where it reads it."""
    # Where the characters are that count: line ends are skipped.
    places = [place for place, char in enumerate(text) if char not in "\r\n"]
    for count, place in enumerate(places):
        char = text[place]
        if char in _BASE64:
            continue
        in_quantum = count % _QUANTUM
        if char != "=" or in_quantum < 2:  # noqa: PLR2004  # characters before padding
            return place
        following = places[count + 1 :]
        if in_quantum == 2:  # noqa: PLR2004  # a second character of padding follows
            if not following:
                return len(text)
            if text[following[0]] != "=":
                return following[0]
            following = following[1:]
        return following[0] if following else -1
    left = len(places) % _QUANTUM
    return places[-left] if left else -1
