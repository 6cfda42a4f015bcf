"""The engine over bytes: JSON in, JSON out, as a client and a server exchange it.

JSON is read as an API server reads it: UTF-8, the last of two equal keys wins, integers
of any size stay integers; NaN, Infinity and numbers beyond a double are errors.

A document may be text, bytes, or a buffer of bytes.

What a small patch does not touch is checked, but not decoded and printed again: it
goes from input to output with the spelling of its numbers, which may be beyond a
double, and, below the members of spec and the like, byte by byte.
"""

from __future__ import annotations

from typing import Any

import msgspec

from smp import _strategic as strategic
from smp import three_way
from smp._values import codec
from smp._values.codec import Text, as_bytes, decode_object, encode
from smp.custom_resources import Guard
from smp.errors import ApplyWarning, SmpError, bounded
from smp.hazards import Hazard, Policy
from smp.paths import Path
from smp.schema.model import Schema, UnknownFields
from smp.unions import Change
from smp.violations import Violation
from smp.wire._lazy import decode_along, decode_together

# To the engine an undecoded value is a scalar of no JSON type. So where it raises an
# error over documents that are not wholly decoded, they are decoded, and the engine
# raises the error that it raises over objects.


@bounded("the object")
def two_way_patch(original: Text, modified: Text, schema: Schema) -> bytes:
    """Compute a two-way patch; see smp.two_way_patch."""
    documents = [as_bytes(original), as_bytes(modified)]
    objects = decode_together(documents, schema)
    if objects is not None:
        try:
            patch = strategic.two_way_patch(objects[0], objects[1], schema)
            return encode(patch)
        except SmpError:
            pass  # it is raised again below
    before, after = [decode_object(data) for data in documents]
    return encode(strategic.two_way_patch(before, after, schema))


@bounded("the object")
def three_way_patch(
    last_applied: Text | None,
    modified: Text,
    live: Text,
    schema: Schema,
    *,
    overwrite: bool = True,
) -> bytes:
    """Compute a three-way patch; see smp.three_way_patch."""
    documents = [as_bytes(live), as_bytes(modified)]
    if last_applied is not None:
        documents = [as_bytes(last_applied), *documents]
    # A conflict carries the values of all sides, so all of them are decoded.
    objects = decode_together(documents, schema) if overwrite else None
    if objects is not None:
        base = None if last_applied is None else objects[0]
        try:
            patch = strategic.three_way_patch(base, objects[-1], objects[-2], schema)
            return encode(patch)
        except SmpError:
            pass  # it is raised again below
    objects = [decode_object(data) for data in documents]
    base = None if last_applied is None else objects[0]
    patch = strategic.three_way_patch(
        base, objects[-1], objects[-2], schema, overwrite=overwrite
    )
    return encode(patch)


@bounded("the object")
def apply_patch(original: Text, patch: Text, schema: Schema) -> bytes:
    """Apply a strategic merge patch; see smp.apply_patch."""
    document, change_document = as_bytes(original), as_bytes(patch)
    change = decode_object(change_document)
    live = decode_along(change, document, schema, length=len(change_document))
    if live is not None:
        try:
            return encode(strategic.apply_patch(live, change, schema))
        except SmpError:
            pass  # it is raised again below
    return encode(strategic.apply_patch(decode_object(document), change, schema))


def decode(data: Text) -> Any:
    """Parse JSON, as an API server reads it.

    Raises DocumentError for what is not JSON or not UTF-8, and DepthError.
    """
    return codec.decode(data)


class ApplyResult(msgspec.Struct, frozen=True):
    """What a three-way apply led to; the object and the patches are JSON.

    The other attributes are those of smp.ApplyResult.
    """

    object: bytes
    patch: bytes
    kubectl_patch: bytes
    changes: tuple[Change, ...]
    warnings: tuple[ApplyWarning, ...]
    violations: tuple[Violation, ...]
    unmet: tuple[Path, ...]
    media_type: str
    reason: str
    guard: Guard
    hazards: tuple[Hazard, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the object is all that the manifest asks for."""
        return not self.unmet


def three_way_apply(  # noqa: PLR0913  # keyword arguments are options
    last_applied: Text | None,
    modified: Text,
    live: Text,
    schema: Schema,
    *,
    profile: str = "kep1027",
    overwrite: bool = True,
    ratchet: bool = True,
    unknown_fields: UnknownFields = "error",
    defaults: bool = False,
    hazards: Policy = "warn",
) -> ApplyResult:
    """Bring a live object to the manifest; see smp.three_way_apply.

    Raises what that raises, DocumentError for what is not JSON, and DepthError.
    """
    result = three_way.three_way_apply(
        None if last_applied is None else decode_object(last_applied),
        decode_object(modified),
        decode_object(live),
        schema,
        profile=profile,
        overwrite=overwrite,
        ratchet=ratchet,
        unknown_fields=unknown_fields,
        defaults=defaults,
        hazards=hazards,
    )
    patch = encode(result.patch)
    kubectl_patch = patch
    if result.kubectl_patch is not result.patch:
        kubectl_patch = encode(result.kubectl_patch)
    fields = msgspec.structs.asdict(result)
    fields |= {
        "object": encode(result.object),
        "patch": patch,
        "kubectl_patch": kubectl_patch,
    }
    return ApplyResult(**fields)
