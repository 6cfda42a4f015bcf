"""The engine over bytes: JSON in, JSON out, as a client and a server exchange it.

JSON is read as an API server reads it: UTF-8, the last of two equal keys wins, integers of any size
stay integers; NaN, Infinity and numbers beyond a double are refused.

What a small patch does not touch is checked, but neither decoded nor printed anew: it goes from input to output
byte by byte, with its spaces and the spelling of its numbers, and a number in it may be beyond a double.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, TypeVar, cast

import msgspec

from smp import strategic
from smp.errors import DepthError, DocumentError, ObjectError, SmpError
from smp.schema.model import OPAQUE, Field, ObjectType, Schema, Type
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, ScalarKey, scalar_key, type_name

K = TypeVar("K")
V = TypeVar("V")

_LONG: Final = 1 << 15  # bytes, from which on it pays to decode documents bit by bit in order to compare them
_SHORT: Final = 1 << 12  # bytes of a value, below which it is decoded as a whole
_PIECE: Final = 1 << 8  # bytes that members have on average, from which on it pays to leave them undecoded
_NOTHING: Final[JSONArray] = []
_LARGE: Final = 4  # times as long as its patch an object has to be for it to pay to decode it bit by bit


def decode(data: bytes | str) -> JSON:
    """Parse JSON. Raises DocumentError for anything else, DepthError for nesting beyond the interpreter's stack."""
    try:
        value: JSON = msgspec.json.decode(data)
    except RecursionError:
        raise DepthError("the document is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise DocumentError(f"not JSON: {error}", code="invalid-json") from None
    return value


def encode(value: JSON) -> bytes:
    """Print a value as compact JSON, keys in their order. Raises DocumentError for what JSON cannot say."""
    try:
        return msgspec.json.encode(value)
    except RecursionError:
        raise DepthError("the value is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise DocumentError(f"not expressible in JSON: {error}", code="not-json") from None


def two_way_patch(original: bytes, modified: bytes, schema: Schema) -> bytes:
    """Compute a two-way patch; see smp.two_way_patch."""
    before, after = _decoded_together([original, modified], schema)
    return encode(strategic.two_way_patch(before, after, schema))


def three_way_patch(
    last_applied: bytes | None, modified: bytes, live: bytes, schema: Schema, *, overwrite: bool = True
) -> bytes:
    """Compute a three-way patch; see smp.three_way_patch."""
    documents = [live, modified] if last_applied is None else [last_applied, live, modified]
    *base, now, after = _decoded_together(documents, schema) if overwrite else map(_object, documents)
    return encode(strategic.three_way_patch(base[0] if base else None, after, now, schema, overwrite=overwrite))


def apply_patch(original: bytes, patch: bytes, schema: Schema) -> bytes:
    """Apply a strategic merge patch; see smp.apply_patch."""
    change = _object(patch)
    live = _decoded_along(change, original, schema) if len(original) > _LARGE * len(patch) else _object(original)
    return encode(strategic.apply_patch(live, change, schema))


def _object(data: bytes) -> JSONObject:
    value = decode(data)
    if isinstance(value, dict):
        return value
    raise ObjectError(f"an object is expected, not {type_name(value)}", code="not-an-object")


# --- decoding no more than the engine looks at ------------------------------------------------------------------------

# To the engine an undecoded value is a scalar: equal to one of the same bytes, and printed as it is.
_value: Final = cast("Callable[[JSON], JSON]", msgspec.json.Decoder().decode)
_members: Final = cast("Callable[[JSON | bytes], JSONObject]", msgspec.json.Decoder(dict[str, msgspec.Raw]).decode)
_elements: Final = cast("Callable[[JSON], list[JSONObject]]", msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode)
_pieces: Final = cast("Callable[[JSON], list[JSON]]", msgspec.json.Decoder(list[msgspec.Raw]).decode)
_length: Final = cast("Callable[[JSON], int]", len)
# What is wrong or unusual in a document: all of it is decoded then, for the engine to say what.
_UNUSUAL: Final = (msgspec.MsgspecError, UnicodeError, RecursionError, SmpError, KeyError, TypeError)


def _decoded_along(patch: JSONObject, data: bytes, schema: Schema) -> JSONObject:
    """Decode an object along a patch."""
    with suppress(*_UNUSUAL):
        data.decode()  # nobody else looks at the encoding of what stays bytes
        return _opened(_members(data), patch, schema.type)
    return _object(data)


def _opened(members: JSONObject, patch: JSONObject, schema: Type) -> JSONObject:
    asked = strategic.read_object(patch)
    whole: dict[str, Absent] = dict.fromkeys(asked.deletions, ABSENT)
    for name, value in {**dict.fromkeys(asked.orders, _NOTHING), **asked.fields, **whole}.items():
        if name in members and (value is ABSENT or isinstance(value, dict | list)):
            members[name] = _along(value, members[name], schema.field(name))
    return members


def _along(patch: JSON | Absent, value: JSON, field: Field | None) -> JSON:
    if _length(value) < _SHORT:
        return _value(value)
    if isinstance(patch, dict):
        return _opened(_members(value), patch, OPAQUE if field is None else field.type)
    if isinstance(patch, list) and field is not None and field.merge_key:
        patches = {scalar_key(element[field.merge_key]): element for element in patch if isinstance(element, dict)}
        if len(patches) < len(patch):
            raise KeyError(field.merge_key)  # twins, which are applied one after the other
        elements = _with_keys(_elements(value), field.merge_key)
        for key, element in elements:
            if key in patches:
                _opened(element, patches[key], field.type.items)
        return [element for _, element in elements]
    return _value(value)


def _with_keys(elements: list[JSONObject], merge_key: str) -> list[tuple[ScalarKey, JSONObject]]:
    for element in elements:
        element[merge_key] = _value(element[merge_key])
    return [(scalar_key(element[merge_key]), element) for element in elements]


def _decoded_together(documents: list[bytes], schema: Schema) -> list[JSONObject]:
    """Decode objects that are to be compared, the modified one last.

    What is equal in all that have it becomes one undecoded value, which the walk passes over.
    """
    if max(map(len, documents)) >= _LONG:
        with suppress(*_UNUSUAL):
            for data in documents:
                data.decode()
            return _met([*map(_members, documents)], schema.type)
    return [*map(_object, documents)]


def _met(sides: list[JSONObject], schema: Type) -> list[JSONObject]:
    return _shared(sides, lambda name, values: _compared(values, schema.field(name)))


def _shared(sides: list[dict[K, V]], decoded: Callable[[K, list[V]], Iterable[V]]) -> list[dict[K, V]]:
    """Make one value of what is equal in all sides that have it, and decode what is not."""
    for key, value in sides[-1].items():
        having = [side for side in sides if key in side]
        found = [side[key] for side in having]
        same = all(one == value for one in found)
        for side, one in zip(having, [value] * len(having) if same else decoded(key, found), strict=True):
            side[key] = one
    return sides


def _compared(values: list[JSON], field: Field | None) -> list[JSON]:
    short = max(map(_length, values)) < _SHORT
    if short or field is None or field.replaces or field.retain_keys or _is_map(field):
        return [*map(_value, values)]
    try:
        split = cast("Callable[[JSON], JSON]", _pieces if field.merge_key else _members)
        parts = [*map(split, values)]
        if sum(map(_length, values)) < _PIECE * sum(map(_length, parts)):
            return [*map(_value, values)]
        if field.merge_key:
            return [*_met_elements([*map(_elements, values)], field)]
        return [*_met(cast("list[JSONObject]", parts), field.type)]
    except msgspec.ValidationError:  # of another type than the schema says
        return [*map(_value, values)]


def _is_map(field: Field) -> bool:
    """Tell whether the names in a field are the user's own, as in labels: skipping strings costs as much as reading."""
    return isinstance(field.type, ObjectType) and not field.merge_key and next(iter(field.type), None) is None


def _met_elements(lists: list[list[JSONObject]], field: Field) -> list[JSONArray]:
    sides = [dict(_with_keys(elements, field.merge_key)) for elements in lists]
    if [*map(len, sides)] != [*map(len, lists)]:
        raise KeyError(field.merge_key)  # twins, which pair up by occurrence
    return [[*side.values()] for side in _shared(sides, lambda _key, elements: _met(elements, field.type.items))]
