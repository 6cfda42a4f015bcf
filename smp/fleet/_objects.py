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


def bare(obj: JSONObject) -> JSONObject:
    """Return a configuration without empty annotations, which kubectl adds to it.

    Go: k8s.io/kubectl, util.GetModifiedConfiguration.
    """
    obj = without_annotation(obj)
    metadata = as_object(obj.get("metadata"))
    if metadata.get("annotations") != {}:
        return obj
    kept = {name: part for name, part in metadata.items() if name != "annotations"}
    return {**obj, "metadata": kept}
