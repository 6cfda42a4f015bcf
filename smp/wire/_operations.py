"""The engine over bytes: JSON in, JSON out, as a client and a server exchange it.

JSON is read as an API server reads it: UTF-8, the last of two equal keys wins, integers
of any size stay integers; NaN, Infinity and numbers beyond a double are errors.

What a small patch does not touch is checked, but not decoded and printed again: it
goes from input to output with the spelling of its numbers, which may be beyond a
double, and, below the members of spec and the like, byte by byte.
"""

from __future__ import annotations

from smp import strategic
from smp.codec import decode_object, encode
from smp.schema.model import Schema
from smp.values import JSONObject
from smp.wire._lazy import decoded_along, decoded_together


def two_way_patch(original: bytes, modified: bytes, schema: Schema) -> bytes:
    """Compute a two-way patch; see smp.two_way_patch."""
    before, after = _objects([original, modified], schema)
    patch = strategic.two_way_patch(before, after, schema)
    return encode(patch)


def three_way_patch(
    last_applied: bytes | None,
    modified: bytes,
    live: bytes,
    schema: Schema,
    *,
    overwrite: bool = True,
) -> bytes:
    """Compute a three-way patch; see smp.three_way_patch."""
    documents = [live, modified]
    if last_applied is not None:
        documents = [last_applied, live, modified]
    if overwrite:
        objects = _objects(documents, schema)
    else:
        # A conflict carries the values of all sides, so all of them are decoded.
        objects = [decode_object(data) for data in documents]
    base = None if last_applied is None else objects[0]
    patch = strategic.three_way_patch(
        base, objects[-1], objects[-2], schema, overwrite=overwrite
    )
    return encode(patch)


def apply_patch(original: bytes, patch: bytes, schema: Schema) -> bytes:
    """Apply a strategic merge patch; see smp.apply_patch."""
    change = decode_object(patch)
    live = decoded_along(change, original, schema, length=len(patch))
    if live is None:
        live = decode_object(original)
    return encode(strategic.apply_patch(live, change, schema))


def _objects(documents: list[bytes], schema: Schema) -> list[JSONObject]:
    """Decode objects to be compared, the modified one last."""
    objects = decoded_together(documents, schema)
    if objects is None:
        objects = [decode_object(data) for data in documents]
    return objects
