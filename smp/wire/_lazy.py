"""Decoding no more of a document than an operation looks at.

Theory of operation
===================

Decoding and encoding a large object takes longer than patching it, and the engine reads
only a small part of it: what the patch names, or what differs between two objects. So a
document is *split*. msgspec decodes an object into its members, and leaves each member
as bytes that were checked to be one JSON value (``smp._values.raw.RawJSON``). For the
engine such a value is a scalar, equal to another one with the same bytes. Encoding
copies it.

``decode_along`` is for applying a patch. Take a Pod with 100 containers and the patch

    {"spec": {"containers": [{"name": "app-50", "image": "i:2"}]}}

1. The Pod is split: apiVersion, kind, metadata, spec and status stay bytes.
2. The patch has an object for spec, so spec is split.
3. The patch has a list for containers, a merge list. So the list is split into its
   elements, and each element into its members. The merge keys are decoded, all in one
   call.
4. The patch has an element for app-50. It sets image, a scalar, which replaces the
   value of any type that live has. So nothing else is decoded.

``decode_together`` is for comparing two or three objects. Take the same Pod before and
after the change of the image. Both are split, and their members compared as bytes:

1. apiVersion, kind and metadata are equal. All sides get the same undecoded value, so
   that the diff recognizes it by identity.
2. spec differs, so it is split on all sides. containers differs, so the lists are
   split, and the elements are paired by their merge keys.
3. Equal elements are shared in the same way. app-50 differs, so its members are
   compared, and image is decoded.

Different bytes can be the same value, with another order of keys, with spaces, or with
another spelling of a number. Such values are decoded, and the engine compares them.

Giving up
---------

Decoding a whole *value* is always correct, and only slower. If a value does not have
the form that the schema declares (it is not a list, an element lacks its merge key, two
elements have one key), the function that splits it returns None, and its caller decodes
the whole value.

If a *document*, the patch or the schema is malformed, an exception of ``_MALFORMED``
ends the attempt, and the entry functions return None. They do so as well if splitting
does not pay. Their caller then decodes the whole documents, and the engine raises the
error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sized
from typing import Any, Final, TypeVar

import msgspec

from smp._strategic import read_object
from smp._values.raw import RawJSON
from smp._values.values import JSON, JSONArray, JSONObject, ScalarKey, scalar_key
from smp.errors import SmpError
from smp.schema.model import OPAQUE, Field, ObjectType, Schema, Type

Split = TypeVar("Split", bound=Sized)

# The thresholds from which splitting is faster, measured with the benchmark rows of
# benchmarks/inputs.py: splitting takes steps in Python, while msgspec decodes a whole
# value in C. They are not Final, as mypyc would compile Final numbers into the code,
# and the tests set them to 0.

# For applying: the length of the object, as a multiple of the length of the patch. A
# longer patch names most of the object.
_MIN_RATIO: int = 4
# For comparing: the length in bytes of the longest document. What differs is read
# twice, and shorter documents do not have enough equal parts to make up for it.
_MIN_DOCUMENT: int = 3 << 15
# The length in bytes from which two levels of a document are split in one call. That
# saves a second pass over spec, but splits metadata and status as well.
_MIN_TWO_LEVELS: int = 1 << 14
# The length in bytes of a value within a document.
_MIN_VALUE: int = 1 << 12
# The average length in bytes of the members, or elements, of a value. Many short ones
# are decoded faster than they are split.
_MIN_MEMBER: int = 1 << 8

# How many levels of a document are split. Deeper values are decoded whole, which also
# limits the depth of the recursion here.
_LEVELS: Final = 50

_NO_ELEMENTS: Final[JSONArray] = []

# The exceptions for a malformed document, patch or schema.
_MALFORMED: Final = (msgspec.MsgspecError, UnicodeError, RecursionError, SmpError)

# The first two characters of the names of all directives, the dollar and any second
# character perhaps escaped.
_DIRECTIVE_START: Final = re.compile(rb'"(?:\$|\\u0024)(?:[prsd]|\\u)')

# The decoders return JSON values that contain undecoded ones. They are declared to
# return Any, as the type checker cannot see that msgspec.Raw is RawJSON.
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


def decode_along(
    patch: JSONObject, data: bytes, schema: Schema, *, length: int
) -> JSONObject | None:
    """Decode the parts of an object that applying a patch reads.

    ``length`` is the length of the patch in bytes. Returns None if the caller has to
    decode the whole document.
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


def decode_together(documents: list[bytes], schema: Schema) -> list[JSONObject] | None:
    """Decode the parts of objects that differ; the modified one is the last document.

    Values that are equal in all objects that have them become one undecoded value.
    Returns None if the caller has to decode the whole documents.
    """
    if max(len(data) for data in documents) < _MIN_DOCUMENT:
        return None
    # The diff looks for fields that are named as directives, also in values that are
    # new as a whole, and would not see them in undecoded ones.
    for data in documents:
        # The first test is fast, and excludes almost all documents.
        has_dollar = b'"$' in data or b'"\\u0024' in data
        if has_dollar and _DIRECTIVE_START.search(data):
            return None
    # An object that consists of maps, such as a ConfigMap, is decoded whole: skipping
    # the strings of a map takes as long as decoding them.
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
    """Raise UnicodeError for text that is not UTF-8; splitting does not check it."""
    if not data.isascii():
        data.decode()


# --- Applying a patch ---


def _decode_object_along(
    patch: JSONObject, members: JSONObject, type_: Type, levels: int
) -> None:
    """Decode, in place, the members of a split object that applying a patch reads."""
    parts = read_object(patch)
    changes: JSONObject = {}
    # An order directive needs the merge keys, like a patch list without elements.
    for name in parts.orders:
        changes[name] = _NO_ELEMENTS
    for name, change in parts.fields.items():
        if isinstance(change, (dict, list)):
            changes[name] = change
    # $deleteFromPrimitiveList needs every value of its list.
    for name in parts.deletions:
        changes[name] = None
    for name, change in changes.items():
        if name in members:
            members[name] = _decode_along(
                change, members[name], type_.field(name), levels - 1
            )


def _decode_along(change: JSON, value: JSON, field: Field | None, levels: int) -> JSON:
    """Decode the parts of a value that applying a change to it reads."""
    if isinstance(change, dict):
        members: JSONObject | None = None
        if isinstance(value, dict):  # by _split_two_levels
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
        elements = _decode_elements_along(change, value, field, levels)
        if elements is not None:
            return elements
    # Everything else is decoded whole: a value, or the members of a split value.
    if isinstance(value, dict):
        return {name: _decode(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_decode(element) for element in value]
    return _decode(value)


def _decode_elements_along(
    patch: JSONArray, value: RawJSON, field: Field, levels: int
) -> JSONArray | None:
    """Decode the parts of a merge list that applying a patch list reads.

    Returns None if elements of the patch do not have unique merge keys, or elements of
    the list do not have merge keys.
    """
    changes: dict[ScalarKey, JSONObject] = {}
    for change in patch:
        if isinstance(change, dict):
            value_of_key = change.get(field.merge_key)
            if isinstance(value_of_key, (str, int)):
                changes[scalar_key(value_of_key)] = change
    # There are elements without a merge key, or several with one key.
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


# --- Comparing objects ---


def _decode_differing(sides: list[JSONObject], type_: Type, levels: int) -> None:
    """Decode, in place, the members of split objects that differ.

    The modified object is the last one. Members that are equal in all objects that have
    them are shared.
    """
    for name, value in sides[-1].items():
        having = [side for side in sides if name in side]
        values = [side[name] for side in having]
        if _all_equal(values):
            for side in having:
                side[name] = value
        else:
            decoded = _decode_what_differs(values, type_.field(name), levels - 1)
            for side, member in zip(having, decoded):
                side[name] = member


def _decode_what_differs(
    values: list[Any], field: Field | None, levels: int
) -> list[JSON]:
    """Decode the parts of undecoded values of one field that differ."""
    if field is None or not levels or max(len(value) for value in values) < _MIN_VALUE:
        return [_decode(value) for value in values]
    # The diff compares a value with the strategy replace as a whole. With retainKeys it
    # checks which members are null, which cannot be seen of undecoded ones.
    if field.replaces or field.retain_keys:
        return [_decode(value) for value in values]
    if field.merge_key:
        lists = _split_all(values, _split_elements)
        if lists is not None:
            merged = _decode_elements_differing(lists, field, levels)
            if merged is not None:
                return merged
    elif field.type.structured:
        objects = _split_all(values, _split_object)
        if objects is not None:
            _decode_differing(objects, field.type, levels)
            return [*objects]
    return [_decode(value) for value in values]


def _decode_elements_differing(
    lists: list[list[JSONObject]], field: Field, levels: int
) -> list[JSON] | None:
    """Decode the parts of merge lists that differ.

    Returns None if the elements of a list do not have unique merge keys.
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
    """Tell whether all undecoded, or split, values have the same bytes."""
    last = values[-1]
    for value in values:  # noqa: SIM110  # all() makes a generator, on a hot path
        if value != last:
            return False
    return True


def _split_all(
    values: list[Any], split: Callable[[RawJSON], Split | None]
) -> list[Split] | None:
    """Split values; None if one cannot be split, or has too short members."""
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
    """Decode, in place, the merge keys of split elements; return them as keys.

    Returns None if an element lacks its merge key, or has one that is not a scalar.
    """
    try:
        undecoded: list[Any] = [element[merge_key] for element in elements]
    except KeyError:
        return None
    # One call decodes all of them, as one list.
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
    """Decode an undecoded value; any other value is returned unchanged."""
    if not isinstance(value, RawJSON):
        return value
    decoded: JSON = _ANY_VALUE.decode(value)
    return decoded
