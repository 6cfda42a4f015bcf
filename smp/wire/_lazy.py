"""Decoding no more of a document than an operation looks at; the rest stays bytes that
are known to be JSON.

Both functions return None where it does not pay, or where a document has something
wrong or unusual: the whole of it is to be decoded then, for the engine to say what.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from contextlib import suppress
from typing import Final, TypeVar, cast

import msgspec

from smp.errors import SmpError
from smp.raw import RawJSON
from smp.schema.model import OPAQUE, Field, ObjectType, Schema, Type
from smp.strategic import read_object
from smp.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    scalar_key,
)

K = TypeVar("K")
V = TypeVar("V")
Split = TypeVar("Split", bound=Sized)

# What it pays to do; not Final, which a compiler writes out wherever it stands, as the
# tests turn all of it on.
# times as long as its patch an object has to be for it to pay to decode it bit by bit
_LARGE: int = 4
# bytes, from which on it pays to decode documents bit by bit in order to compare them
_LONG: int = 3 << 15
# bytes of a document, from which on it pays to split two levels of it at one go
_DEEP: int = 1 << 14
_SHORT: int = 1 << 12  # bytes of a value, below which it is decoded as a whole
# bytes that members have on average, from which on it pays to leave them undecoded
_PIECE: int = 1 << 8

_NOTHING: Final[JSONArray] = []
_LEVELS: Final = 50  # of a document that are decoded bit by bit

# To the engine an undecoded value is a scalar: equal to one of the same bytes, and
# printed as it is.
_value: Final = cast("Callable[[JSON | bytes], JSON]", msgspec.json.Decoder().decode)
_members: Final = cast(
    "Callable[[JSON | bytes], JSONObject]",
    msgspec.json.Decoder(dict[str, msgspec.Raw]).decode,
)
_TwoLevels = dict[
    str, dict[str, msgspec.Raw] | list[msgspec.Raw] | str | int | float | bool | None
]
_two_levels: Final = cast(
    "Callable[[bytes], JSONObject]", msgspec.json.Decoder(_TwoLevels).decode
)
_elements: Final = cast(
    "Callable[[JSON], list[JSONObject]]",
    msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode,
)
_length: Final = cast("Callable[[JSON], int]", len)
_joined: Final = cast("Callable[[list[JSON]], bytes]", b",".join)
_UNUSUAL: Final = (
    msgspec.MsgspecError,
    UnicodeError,
    RecursionError,
    SmpError,
    KeyError,
    TypeError,
)


def decoded_along(
    patch: JSONObject, data: bytes, schema: Schema, *, length: int
) -> JSONObject | None:
    """Decode an object along a patch of a length in bytes."""
    if len(data) <= _LARGE * length:
        return None
    try:
        return _opened(_split(_checked(data)), patch, schema.type, _LEVELS)
    except _UNUSUAL:
        return None


def _split(data: bytes) -> JSONObject:
    """Split an object, and where it is long what it holds at the same go; its own
    numbers stay as they are spelled.
    """
    if len(data) >= _DEEP:
        with suppress(msgspec.MsgspecError):
            members = _two_levels(data)
            if float not in map(type, members.values()):
                return members
    return _members(data)


def _opened(
    members: JSONObject, patch: JSONObject, schema: Type, levels: int
) -> JSONObject:
    asked = read_object(patch)
    whole: dict[str, Absent] = dict.fromkeys(asked.deletions, ABSENT)
    for name, value in {
        **dict.fromkeys(asked.orders, _NOTHING),
        **asked.fields,
        **whole,
    }.items():
        if name in members and (value is ABSENT or isinstance(value, (dict, list))):
            members[name] = _along(value, members[name], schema.field(name), levels - 1)
    return members


def _along(patch: JSON | Absent, value: JSON, field: Field | None, levels: int) -> JSON:
    if not isinstance(value, RawJSON):
        return _along_split(
            patch, value, OPAQUE if field is None else field.type, levels
        )
    if not levels or _length(value) < _SHORT:
        return _value(value)
    if isinstance(patch, dict):
        return _opened(
            _members(value), patch, OPAQUE if field is None else field.type, levels
        )
    if isinstance(patch, list) and field is not None and field.merge_key:
        return _elements_along(patch, value, field, levels)
    return _value(value)


def _along_split(patch: JSON | Absent, value: JSON, schema: Type, levels: int) -> JSON:
    if isinstance(value, dict):
        if isinstance(patch, dict):
            return _opened(value, patch, schema, levels)
        return {name: _value(member) for name, member in value.items()}
    return [_value(element) for element in value] if isinstance(value, list) else value


def _elements_along(
    patch: JSONArray, value: JSON, field: Field, levels: int
) -> JSONArray:
    merge_key, known = field.merge_key, field.type.items
    patches = {
        scalar_key(element[merge_key]): element
        for element in patch
        if isinstance(element, dict)
    }
    if len(patches) < len(patch):
        raise KeyError(merge_key)  # twins, which are applied one after the other
    elements = _elements(value)
    for element, key in zip(elements, _keyed(elements, merge_key)):
        change = patches.get(key)
        if change is not None:
            _opened(element, change, known, levels)
    return cast("JSONArray", elements)


def _checked(data: bytes) -> bytes:
    """Check the encoding of what stays bytes: nobody else looks at it."""
    if not data.isascii():
        data.decode()
    return data


def decoded_together(documents: list[bytes], schema: Schema) -> list[JSONObject] | None:
    """Decode objects that are to be compared, the modified one last.

    What is equal in all that have it becomes one undecoded value, which the walk passes
    over.
    """
    if max(map(len, documents)) < _LONG or not _has_structure(schema.type):
        return None
    try:
        return _met(
            [_members(_checked(data)) for data in documents], schema.type, _LEVELS
        )
    except _UNUSUAL:
        return None


def _has_structure(schema: Type) -> bool:
    """Tell whether there is more to an object than maps: to skip the strings of a map
    costs as much as to read them.
    """
    fields = schema if isinstance(schema, ObjectType) else ()
    return any(
        field.type.structured or field.merge_key
        for field in fields
        if field.name != "metadata"
    )


def _met(sides: list[JSONObject], schema: Type, levels: int) -> list[JSONObject]:
    return _shared(
        sides, lambda name, values: _compared(values, schema.field(name), levels - 1)
    )


def _shared(
    sides: list[dict[K, V]], decoded: Callable[[K, list[V]], list[V]]
) -> list[dict[K, V]]:
    """Make one value of what is equal in all sides that have it, and decode what is
    not.
    """
    for key, value in sides[-1].items():
        having = [side for side in sides if key in side]
        found = [side[key] for side in having]
        if all(one == value for one in found):
            for side in having:
                side[key] = value
        else:
            for side, one in zip(having, decoded(key, found)):
                side[key] = one
    return sides


def _compared(values: list[JSON], field: Field | None, levels: int) -> list[JSON]:
    if (
        field is not None
        and levels
        and max(map(_length, values)) >= _SHORT
        and _has_known_members(field)
    ):
        with suppress(msgspec.ValidationError):  # of another type than the schema says
            if field.merge_key and (lists := _split_alike(values, _elements)):
                return [*_met_elements(lists, field, levels)]
            if not field.merge_key and (objects := _split_alike(values, _members)):
                return [*_met(objects, field.type, levels)]
    return [*map(_value, values)]


def _has_known_members(field: Field) -> bool:
    return bool(field.merge_key or field.type.structured) and not (
        field.replaces or field.retain_keys
    )


def _split_alike(values: list[JSON], split: Callable[[JSON], Split]) -> list[Split]:
    """Split values; none where the members are so short that it is not worth it."""
    modified = split(values[-1])
    if _length(values[-1]) < _PIECE * len(modified):
        return []
    return [*map(split, values[:-1]), modified]


def _met_elements(
    lists: list[list[JSONObject]], field: Field, levels: int
) -> list[JSONArray]:
    sides = [_by_key(elements, field.merge_key) for elements in lists]
    shared = _shared(
        sides, lambda _key, elements: _met(elements, field.type.items, levels)
    )
    return [[*side.values()] for side in shared]


def _by_key(elements: list[JSONObject], merge_key: str) -> dict[ScalarKey, JSONObject]:
    found = dict(zip(_keyed(elements, merge_key), elements))
    if len(found) < len(elements):
        raise KeyError(merge_key)  # twins, which pair up by occurrence
    return found


def _keyed(elements: list[JSONObject], merge_key: str) -> list[ScalarKey]:
    """Decode the merge keys of elements, all at once, and return them."""
    keys = _value(b"[%b]" % _joined([element[merge_key] for element in elements]))
    for element, key in zip(elements, as_list(keys)):
        element[merge_key] = key
    return [scalar_key(key) for key in as_list(keys)]
