"""The texts of objects: decoded as far as it takes, and less what kubectl adds."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

import msgspec
from msgspec import UNSET

from smp._values.api_objects import annotations_of, metadata_of, set_metadata
from smp._values.last_applied import LAST_APPLIED
from smp._values.raw import RawJSON
from smp._values.values import ABSENT, JSONObject, as_object
from smp.errors import ObjectError
from smp.fleet._usual import Part

Members = dict[str, RawJSON]

_split: Final = msgspec.json.Decoder(dict[str, RawJSON]).decode
_LAST_APPLIED: Final = LAST_APPLIED.encode()
_HEAD: Final = frozenset({"apiVersion", "kind"})
decode: Final = msgspec.json.Decoder().decode


class ObjectText:
    """An object whose members, and those of its metadata, are not decoded.

    ``metadata`` is None where the object has none; its annotations are in
    ``annotations``, but for the one of kubectl, which is ``last_applied``. Where
    ``is_usual`` is false, they have another form, and only ``decoded`` says what the
    object has.
    """

    __slots__ = ("annotations", "is_usual", "last_applied", "members", "metadata")

    def __init__(self, data: bytes | str, what: str) -> None:
        """Split the JSON of an object. Raises ObjectError."""
        self.members: Members = {}
        self.metadata: Members | None = None
        self.annotations: JSONObject | RawJSON | None = None
        self.last_applied: str | None = None
        self.is_usual = True
        try:
            self.members = _split(data)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise not_an_object(what, error) from None
        metadata = self.members.get("metadata")
        if metadata is None:
            return
        try:
            members = _split(metadata)
            annotations = members.get("annotations")
            if annotations is not None:
                self.annotations = annotations
                if _LAST_APPLIED in bytes(annotations):
                    texts = as_object(decode(annotations))
                    applied = texts.pop(LAST_APPLIED, None)
                    self.last_applied = applied if isinstance(applied, str) else None
                    self.annotations = texts
            self.metadata = members
        except (msgspec.MsgspecError, UnicodeError):
            self.is_usual = False

    @property
    def managed_fields(self) -> Part:
        """The JSON of the managed fields; that of metadata that cannot be read."""
        if self.metadata is None:
            return self.members.get("metadata", UNSET)
        return self.metadata.get("managedFields", UNSET)

    def member(self, name: str) -> bytes:
        """Return the JSON of a member; b"" where there is none."""
        part = self.members.get(name)
        return b"" if part is None else bytes(part)

    def head(self, what: str) -> JSONObject:
        """Decode apiVersion and kind. Raises ObjectError."""
        return self.decoded(what, self.members.keys() - _HEAD)

    def decoded(self, what: str, leaves_out: Container[str] = ()) -> JSONObject:
        """Decode the object, but for the annotation of kubectl.

        ``leaves_out`` are members of the object, and of its metadata, that are not
        needed. Raises ObjectError.
        """
        try:
            obj: JSONObject = {}
            for name, part in self.members.items():
                if name in leaves_out:
                    continue
                if name == "metadata" and self.metadata is not None:
                    obj[name] = self._decode_metadata(self.metadata, leaves_out)
                else:
                    obj[name] = decode(part)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise not_an_object(what, error) from None
        return obj if self.is_usual else drop_annotation(obj)

    def _decode_metadata(
        self, parts: Members, leaves_out: Container[str]
    ) -> JSONObject:
        metadata: JSONObject = {}
        for name, part in parts.items():
            texts = self.annotations
            if name == "annotations" and isinstance(texts, dict):
                metadata[name] = {**texts}
            elif name not in leaves_out:
                metadata[name] = decode(part)
        return metadata


def not_an_object(what: str, error: Exception) -> ObjectError:
    return ObjectError(
        f"{what} is not the JSON of an object: {error}", code="invalid-json"
    )


def drop_annotation(obj: JSONObject) -> JSONObject:
    """Return a manifest without the annotation in which kubectl keeps what it applied.

    A manifest has it where it was exported from a cluster.
    """
    annotations = annotations_of(obj)
    if LAST_APPLIED not in annotations:
        return obj
    kept = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
    return set_metadata(obj, annotations=kept)


def bare(last_applied: JSONObject) -> JSONObject:
    """Return a last-applied configuration without what kubectl adds to a manifest.

    These are empty annotations (Go: k8s.io/kubectl, util.GetModifiedConfiguration) and
    the namespace of the context (Go: cli-runtime, resource.SetNamespace).
    """
    obj = drop_annotation(last_applied)
    metadata = metadata_of(obj)
    added = {"namespace"}
    if metadata.get("annotations") == {}:
        added.add("annotations")
    if not added & metadata.keys():
        return obj
    return set_metadata(obj, **dict.fromkeys(added, ABSENT))
