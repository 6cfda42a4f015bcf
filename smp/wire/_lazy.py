"""Decoding no more of a document than an operation looks at.

Theory of operation
===================

To decode and print a large object takes longer than to patch it. Most of it is only
carried along: applying a patch looks at what the patch names, comparing objects at
what differs. So a document is *split*: msgspec decodes an object into its members and
leaves each of them as bytes that it has checked to be one JSON value
(``smp.raw.RawJSON``). To the engine such a value is a scalar, equal to one of the same
bytes; printing copies it.

``decoded_along`` is for applying. Take a Pod of 100 containers and the patch

    {"spec": {"containers": [{"name": "app-50", "image": "i:2"}]}}

1. The Pod is split: apiVersion, kind, metadata, spec and status are bytes.
2. The patch names spec, an object: spec is split, the rest stays as it is.
3. The patch names containers in it, a merge list: the list is split into its elements,
   and each element into its members. The merge keys are decoded, all at one go.
4. Only app-50 is in the patch. Of its members the patch names image, a scalar. A
   scalar replaces whatever stands there, so nothing more is decoded.

``decoded_together`` is for comparing, two objects or three. Both Pods are split in the
same way, and member by member the bytes are compared:

1. apiVersion and kind are the same on all sides that have them, so all sides get one
   and the same undecoded value, which the diff passes over.
2. spec differs, so it is split on all sides; its containers differ, so the lists are
   split, and the elements are paired by merge key.
3. Elements of the same bytes become one value again. In app-50, the members are
   compared, and what differs is decoded.

Bytes that differ may still mean the same value: the order of keys, spaces, ``1e2``.
Those are decoded, and the engine finds them equal.

When it does not work
---------------------

To decode a *value* as a whole is always right, only slower. Wherever a value is not
what the schema makes it (no list, an element without its merge key, two elements with
one key), the function that splits it returns None, and its caller decodes the value as
a whole, for the engine to say what is wrong, if anything is.

Where a *document*, the patch or the schema is malformed, the exception ends the
attempt: both entry functions return None for ``_MALFORMED``, and for documents that it
does not pay to split. The caller then decodes the documents as wholes, and the error,
if there is one, comes from the same place as always.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any, Final, TypeVar

import msgspec

from smp.errors import SmpError
from smp.raw import RawJSON
from smp.schema.model import OPAQUE, Field, ObjectType, Schema, Type
from smp.strategic import read_object
from smp.values import JSON, JSONArray, JSONObject, ScalarKey, scalar_key

Split = TypeVar("Split", bound=Sized)

# From which sizes on splitting pays, as measured over benchmarks/inputs.py: each split
# is a step in Python, while msgspec decodes a value as a whole in C. All in bytes but
# for the first. They are not Final, as mypyc would write their values into the code,
# and the tests set all of them to 0.

# How many times as long as its patch an object is: a long patch touches most of it.
_MIN_RATIO: int = 4
# The longest of the documents to be compared. Where much of them differs, they are
# read twice, and only in long ones is enough equal.
_MIN_DOCUMENT: int = 3 << 15
# A document that is split into two levels at one go. It saves a second pass over spec,
# but makes an object of every member of metadata and status as well.
_MIN_TWO_LEVELS: int = 1 << 14
# A value within a document.
_MIN_VALUE: int = 1 << 12
# The members, or elements, of a value, on average: to keep shorter ones apart takes
# longer than to decode them.
_MIN_MEMBER: int = 1 << 8

# How many levels of a document are split. Deeper values are decoded as wholes, so that
# the recursion here needs no other limit.
_LEVELS: Final = 50

_NO_ELEMENTS: Final[JSONArray] = []

# What a malformed document, patch or schema leads to.
_MALFORMED: Final = (msgspec.MsgspecError, UnicodeError, RecursionError, SmpError)

# The decoders are declared to return Any, as msgspec's types do not know RawJSON. What
# they make are JSON values with undecoded ones inside.
_ANY_VALUE: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder()
_OBJECT: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST_OF_OBJECTS: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(
    list[dict[str, msgspec.Raw]]
)
_TWO_LEVELS: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(
    dict[
        str,
        dict[str, msgspec.Raw] | list[msgspec.Raw] | str | int | float | bool | None,
    ]
)


def decoded_along(
    patch: JSONObject, data: bytes, schema: Schema, *, length: int
) -> JSONObject | None:
    """Decode of an object what applying a patch looks at; the rest stays undecoded.

    ``length`` is that of the patch in bytes. Returns None where the whole document is
    to be decoded.
    """
    if len(data) <= _MIN_RATIO * length:
        return None
    try:
        _check_encoding(data)
        members: JSONObject | None = None
        if len(data) >= _MIN_TWO_LEVELS:
            members = _split_two_levels(data)
        if members is None:
            members = _split_object(data)
        if members is not None:
            _decode_object_along(patch, members, schema.type, _LEVELS)
    except _MALFORMED:
        return None
    return members


def decoded_together(documents: list[bytes], schema: Schema) -> list[JSONObject] | None:
    """Decode of objects what differs between them; the rest stays undecoded.

    The modified object is the last document. What is equal in all that have it becomes
    one value, which the diff passes over. Returns None where the whole documents are to
    be decoded.
    """
    if max(len(data) for data in documents) < _MIN_DOCUMENT:
        return None
    # An object of maps alone, such as a ConfigMap, is not worth it: to skip the strings
    # of a map costs as much as to read them.
    type_ = schema.type
    if not isinstance(type_, ObjectType):
        return None
    fields = [field for field in type_ if field.name != "metadata"]
    if not any(field.type.structured or field.merge_key for field in fields):
        return None
    try:
        sides: list[JSONObject] = []
        for data in documents:
            _check_encoding(data)
            members = _split_object(data)
            if members is None:
                return None
            sides.append(members)
        _decode_differing(sides, type_, _LEVELS)
    except _MALFORMED:
        return None
    return sides


def _check_encoding(data: bytes) -> None:
    """Raise UnicodeError for text that is not UTF-8; splitting does not look for it."""
    if not data.isascii():
        data.decode()


# --- What applying a patch looks at ---


def _decode_object_along(
    patch: JSONObject, members: JSONObject, type_: Type, levels: int
) -> None:
    """Decode, in place, those members of an object that a patch looks into."""
    parts = read_object(patch)
    changes: JSONObject = {}
    # An order directive looks at merge keys, as a list without elements does.
    for name in parts.orders:
        changes[name] = _NO_ELEMENTS
    for name, change in parts.fields.items():
        if isinstance(change, (dict, list)):
            changes[name] = change
    # Deletions look at every value of a list.
    for name in parts.deletions:
        changes[name] = None
    for name, change in changes.items():
        if name in members:
            members[name] = _decoded_along(
                change, members[name], type_.field(name), levels - 1
            )


def _decoded_along(change: JSON, value: JSON, field: Field | None, levels: int) -> JSON:
    """Return a value, decoded as far as the change to it looks into it."""
    if isinstance(change, dict):
        members: JSONObject | None = None
        if isinstance(value, dict):  # was split with the document
            members = value
        elif isinstance(value, RawJSON) and levels and len(value) >= _MIN_VALUE:
            members = _split_object(value)
        if members is not None:
            type_ = OPAQUE if field is None else field.type
            _decode_object_along(change, members, type_, levels)
            return members
    if (
        isinstance(change, list)
        and isinstance(value, RawJSON)
        and field is not None
        and field.merge_key
        and levels
        and len(value) >= _MIN_VALUE
    ):
        elements = _decoded_elements_along(change, value, field, levels)
        if elements is not None:
            return elements
    # Everything else is decoded as a whole, the members of what was split one by one.
    if isinstance(value, dict):
        return {name: _decode(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_decode(element) for element in value]
    return _decode(value)


def _decoded_elements_along(
    patch: JSONArray, value: RawJSON, field: Field, levels: int
) -> JSONArray | None:
    """Return a merge list, decoded as far as a patch of it looks into it.

    None where merge keys do not tell its elements, or those of the patch, apart.
    """
    changes: dict[ScalarKey, JSONObject] = {}
    for change in patch:
        if isinstance(change, dict):
            value_of_key = change.get(field.merge_key)
            if isinstance(value_of_key, (str, int)):
                changes[scalar_key(value_of_key)] = change
    # Elements without a key, and several of one key: the engine takes those in turn.
    if len(changes) < len(patch):
        return None
    elements = _split_elements(value)
    keys = None if elements is None else _decode_keys(elements, field.merge_key)
    if elements is None or keys is None:
        return None
    type_ = field.type.items
    for element, key in zip(elements, keys):
        if key in changes:
            _decode_object_along(changes[key], element, type_, levels)
    return [*elements]


# --- What comparing objects looks at ---


def _decode_differing(sides: list[JSONObject], type_: Type, levels: int) -> None:
    """Decode, in place, what differs between split objects, the modified one last.

    What is equal in all that have it becomes one value.
    """
    for name, value in sides[-1].items():
        having = [side for side in sides if name in side]
        values = [side[name] for side in having]
        if _all_equal(values):
            for side in having:
                side[name] = value
        else:
            decoded = _decoded_differing(values, type_.field(name), levels - 1)
            for side, member in zip(having, decoded):
                side[name] = member


def _decoded_differing(
    values: list[Any], field: Field | None, levels: int
) -> list[JSON]:
    """Return undecoded values of one field, decoded as far as they differ."""
    if field is None or not levels or max(len(value) for value in values) < _MIN_VALUE:
        return [_decode(value) for value in values]
    # The diff takes a value with the strategy replace as a whole. With retainKeys it
    # has to know which members are null, and one that is not decoded never is.
    if field.replaces or field.retain_keys:
        return [_decode(value) for value in values]
    if field.merge_key:
        lists = _split_all(values, _split_elements)
        if lists is not None:
            merged = _decoded_elements_differing(lists, field, levels)
            if merged is not None:
                return merged
    elif field.type.structured:
        objects = _split_all(values, _split_object)
        if objects is not None:
            _decode_differing(objects, field.type, levels)
            return [*objects]
    return [_decode(value) for value in values]


def _decoded_elements_differing(
    lists: list[list[JSONObject]], field: Field, levels: int
) -> list[JSON] | None:
    """Return merge lists, decoded as far as they differ.

    None where merge keys do not tell the elements of each apart.
    """
    sides: list[dict[ScalarKey, JSONObject]] = []
    for elements in lists:
        keys = _decode_keys(elements, field.merge_key)
        if keys is None:
            return None
        by_key = dict(zip(keys, elements))
        if len(by_key) < len(elements):
            return None
        sides.append(by_key)
    type_ = field.type.items
    for key, element in sides[-1].items():
        having = [side for side in sides if key in side]
        paired = [side[key] for side in having]
        if _all_equal(paired):
            for side in having:
                side[key] = element
        else:
            _decode_differing(paired, type_, levels)
    return [[*side.values()] for side in sides]


def _all_equal(values: list[Any]) -> bool:
    """Tell whether split or undecoded values have the same bytes."""
    last = values[-1]
    for value in values:  # noqa: SIM110  # all() makes a generator, on a hot path
        if value != last:
            return False
    return True


def _split_all(
    values: list[Any], split: Callable[[RawJSON], Split | None]
) -> list[Split] | None:
    """Split values; None where one cannot be, or where its members are too short."""
    modified = split(values[-1])
    if modified is None or len(values[-1]) < _MIN_MEMBER * len(modified):
        return None
    all_split: list[Split] = []
    for value in values[:-1]:
        members = split(value)
        if members is None:
            return None
        all_split.append(members)
    all_split.append(modified)
    return all_split


# --- Splitting and decoding ---


def _split_two_levels(data: bytes) -> JSONObject | None:
    """Split an object, and its members as well; None for another value.

    None, too, for an object with a float among its members, which would be printed in
    another spelling.
    """
    try:
        members: JSONObject = _TWO_LEVELS.decode(data)
    except msgspec.ValidationError:
        return None
    if any(isinstance(member, float) for member in members.values()):
        return None
    return members


def _split_object(data: bytes | RawJSON) -> JSONObject | None:
    """Split an object into its members; None for another value."""
    try:
        members: JSONObject = _OBJECT.decode(data)
    except msgspec.ValidationError:
        return None
    return members


def _split_elements(data: RawJSON) -> list[JSONObject] | None:
    """Split a list of objects into the members of each; None for another value."""
    try:
        elements: list[JSONObject] = _LIST_OF_OBJECTS.decode(data)
    except msgspec.ValidationError:
        return None
    return elements


def _decode_keys(elements: list[JSONObject], merge_key: str) -> list[ScalarKey] | None:
    """Decode the merge keys of split elements, in place, and return them.

    None where an element has none, or one that is no scalar.
    """
    try:
        undecoded: list[Any] = [element[merge_key] for element in elements]
    except KeyError:
        return None
    # All of them in one call: as one list.
    values: JSONArray = _ANY_VALUE.decode(b"[%b]" % b",".join(undecoded))
    keys: list[ScalarKey] = []
    for element, value in zip(elements, values):
        element[merge_key] = value
        if isinstance(value, str):
            keys.append(value)
        elif isinstance(value, (dict, list)):
            return None
        else:
            keys.append(scalar_key(value))
    return keys


def _decode(value: JSON) -> JSON:
    """Decode an undecoded value as a whole; any other one is returned as it is."""
    if not isinstance(value, RawJSON):
        return value
    decoded: JSON = _ANY_VALUE.decode(value)
    return decoded
