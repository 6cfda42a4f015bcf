"""A document that is decoded only where a patch goes, for those who look at it there.

The engine alone can do with less: to it, an undecoded value is a scalar. Rules that
look at an object want to see all its scalars, so here the short members of every
object on the way of the patch are decoded, too.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp._values.codec import encode
from smp._values.raw import RawJSON
from smp._values.values import JSON, Absent, JSONArray, JSONObject
from smp.schema.model import Schema, Type
from smp.wire._lazy import decode_along

# Bytes. A scalar of a schema with a rule is much shorter: a discriminator, an enum.
_SHORT: Final = 1 << 12

_decode: Final = msgspec.json.Decoder().decode


def decode_for(
    patch: JSONObject, document: bytes, schema: Schema, *, length: int
) -> JSONObject | None:
    """Return a document decoded along a strategic merge patch of a length in bytes.

    What stays ``RawJSON`` is long, or is not on the way of the patch. None where it
    does not pay, or where the document is not plain: decode the whole of it then.
    """
    tree = decode_along(patch, document, schema, length=length)
    if tree is None:
        return None
    try:
        _decode_members(tree, patch, schema.type)
    except _AmbiguousKeyError:
        return None
    return tree


def decode(value: JSON | Absent) -> JSON | Absent:
    """Return a value without undecoded parts."""
    if isinstance(value, RawJSON):
        whole: JSON = _decode(value)
        return whole
    if isinstance(value, (dict, list)):
        parts: JSON = _decode(encode(value))
        return parts
    return value


class _AmbiguousKeyError(Exception):
    """Several elements of a list have one key: it takes all of them to pair them."""


def _decode_members(members: JSONObject, patch: JSONObject, type_: Type) -> None:
    """Decode the short members of an object; the object is this module's own."""
    for name, value in members.items():
        if isinstance(value, RawJSON):
            # What the patch sets is compared with the value that was there.
            if len(value) < _SHORT or name in patch:
                members[name] = _decode(value)
            continue
        change = patch.get(name)
        field = type_.field(name)
        if isinstance(value, dict) and isinstance(change, dict):
            below = type_ if field is None else field.type
            _decode_members(value, change, below)
        elif field is None or not field.merge_key:
            continue
        elif isinstance(value, list) and isinstance(change, list):
            _decode_elements(value, change, field.merge_key, field.type.items)


def _decode_elements(
    elements: JSONArray, patch: JSONArray, merge_key: str, type_: Type
) -> None:
    """Decode the short members of the elements that a patch names by their key."""
    changes: dict[JSON, JSONObject] = {}
    for change in patch:
        if isinstance(change, dict) and isinstance(change.get(merge_key), (str, int)):
            changes[change[merge_key]] = change
    seen: set[JSON] = set()
    for element in elements:
        if isinstance(element, dict):
            key = element.get(merge_key)
            if isinstance(key, (str, int)):
                if key in seen:
                    raise _AmbiguousKeyError
                seen.add(key)
                if key in changes:
                    _decode_members(element, changes[key], type_)
