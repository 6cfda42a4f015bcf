"""The texts of objects: decoded as far as it takes, and less what kubectl adds."""

from __future__ import annotations

from typing import Final

import msgspec

from smp.errors import ObjectError
from smp.last_applied import LAST_APPLIED
from smp.raw import RawJSON
from smp.values import JSONObject, as_object

SPLIT: Final = msgspec.json.Decoder(dict[str, RawJSON])
decode: Final = msgspec.json.Decoder().decode


def split(data: bytes, what: str) -> dict[str, RawJSON]:
    """Split the JSON of an object into its members. Raises ObjectError."""
    try:
        return SPLIT.decode(data)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ObjectError(
            f"{what} is not the JSON of an object: {error}", code="invalid-json"
        ) from None


def decoded(parts: dict[str, RawJSON], what: str) -> JSONObject:
    """Decode the members of an object. Raises ObjectError."""
    try:
        return {name: decode(part) for name, part in parts.items()}
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ObjectError(
            f"{what} is not the JSON of an object: {error}", code="invalid-json"
        ) from None


def annotations_of(obj: JSONObject) -> JSONObject:
    return as_object(as_object(obj.get("metadata")).get("annotations"))


def without_annotation(obj: JSONObject) -> JSONObject:
    """Return a manifest without the annotation in which kubectl keeps what it applied.

    A manifest has it where it was exported from a cluster.
    """
    annotations = annotations_of(obj)
    if LAST_APPLIED not in annotations:
        return obj
    kept = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
    metadata = {**as_object(obj["metadata"]), "annotations": kept}
    return {**obj, "metadata": metadata}


def bare(last_applied: JSONObject) -> JSONObject:
    """Return a last-applied configuration without what kubectl adds to a manifest.

    These are empty annotations (Go: k8s.io/kubectl, util.GetModifiedConfiguration) and
    the namespace of the context (Go: cli-runtime, resource.SetNamespace).
    """
    obj = without_annotation(last_applied)
    metadata = as_object(obj.get("metadata"))
    added = {"namespace"}
    if metadata.get("annotations") == {}:
        added.add("annotations")
    if not added & metadata.keys():
        return obj
    kept = {name: part for name, part in metadata.items() if name not in added}
    return {**obj, "metadata": kept}
