"""What an API server cannot decode into the Go structs of a built-in kind.

A schema calls a quantity a string, and a port a number or a string. Their decoders look
closer. Values of another JSON type than that of the schema are not looked for here.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import re
from typing import Final

from smp.errors import bounded
from smp.schema.model import Schema
from smp.typed_storage._plan import (
    EITHER,
    INT_OR_STRING,
    LIST,
    MAP,
    QUANTITY,
    STRUCT,
    GoType,
    Struct,
    storage_plan,
)
from smp.typed_storage._scalars import is_quantity
from smp.values import ABSENT, JSON, MAX_LEVELS, Absent, JSONObject, printed, type_name

# Go: resource.splitREString and the errors of ParseQuantity.
_PATTERN: Final = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_LOOKED_AT: Final = frozenset({STRUCT, LIST, MAP, EITHER, QUANTITY, INT_OR_STRING})
_QUANTITY: Final = re.compile(_PATTERN.removeprefix("^").removesuffix("$"))


@bounded("the object")
def decoding_problem(
    obj: JSONObject, schema: Schema, old: JSONObject | None = None
) -> str:
    """Return what a server says of the first value that it cannot decode, or "".

    What the object shares with ``old``, which was stored before, is not visited. Raises
    DepthError (Go: Quantity.UnmarshalJSON, IntOrString.UnmarshalJSON).
    """
    struct = storage_plan(schema.types).root(schema.type).struct
    if struct is None:
        return ""
    return _of_struct(obj, ABSENT if old is None else old, struct, MAX_LEVELS)


def _of_struct(
    value: JSONObject, old: JSON | Absent, struct: Struct, levels: int
) -> str:
    if not levels:
        raise RecursionError
    for name, content in value.items():
        was = old.get(name, ABSENT) if isinstance(old, dict) else ABSENT
        if content is was:
            continue
        member = struct.members.get(name) or struct.member(name)
        if member is not None and member.type.form in _LOOKED_AT:
            problem = _of_value(content, was, member.type, levels - 1)
            if problem:
                return problem
    return ""


def _of_value(value: JSON, old: JSON | Absent, type_: GoType, levels: int) -> str:
    if not levels:
        raise RecursionError
    form = type_.form
    if form == QUANTITY:
        return _of_quantity(value)
    if form == INT_OR_STRING:
        return _of_int_or_string(value)
    if isinstance(value, dict):
        if type_.struct is not None:
            return _of_struct(value, old, type_.struct, levels)
        contents = [*value.values()]
    elif isinstance(value, list):
        contents = value
    else:
        return ""
    # An element of a list may be at another place than before.
    shared = {id(content) for content in old} if isinstance(old, list) else set()
    if type_.inner is not None:
        for content in contents:
            if id(content) in shared:
                continue
            problem = _of_value(content, ABSENT, type_.inner, levels - 1)
            if problem:
                return problem
    return ""


def _of_quantity(value: JSON) -> str:
    if value is None or type(value) is int or type(value) is float:
        return ""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value.strip()):
        return f"quantities must match the regular expression '{_PATTERN}'"
    return "" if is_quantity(value) else "unable to parse quantity's suffix"


def _of_int_or_string(value: JSON) -> str:
    """Go: json.UnmarshalTypeError."""
    if value is None or isinstance(value, str) or type(value) is int:
        return ""
    what = type_name(value)
    if isinstance(value, bool):
        what = "bool"
    elif isinstance(value, float):
        what = f"number {printed(value)}"
    return f"json: cannot unmarshal {what} into Go value of type int32"
