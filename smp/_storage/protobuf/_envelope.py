"""The body of a request: the magic number, and the envelope of the object."""

from __future__ import annotations

from typing import Final

import msgspec

from smp._storage.protobuf._decoding import decoded
from smp._storage.protobuf._errors import ProtobufError, summarize
from smp._storage.protobuf._messages import (
    MESSAGE,
    PLACE,
    STRING,
    Message,
    MessageField,
)
from smp._storage.protobuf._table import message_of, require_message
from smp._values.values import JSONObject, as_object
from smp.errors import bounded

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
# The envelope has no lists: what is read of it is not longer than the body.
_UNLIMITED: Final = 2**62


class _TypeMeta(msgspec.Struct, frozen=True, rename="camel"):
    """The apiVersion and kind that a body states; empty where it states none."""

    api_version: str
    kind: str


class _Envelope(msgspec.Struct, frozen=True, rename="camel"):
    """What an envelope has: the identity of the object, and where its message is."""

    type_meta: _TypeMeta
    raw: tuple[int, int]


# The message TypeMeta, and runtime.Unknown with it.
_IDENTITY: Final = Message()
_IDENTITY.add(1, MessageField("apiVersion", STRING))
_IDENTITY.add(2, MessageField("kind", STRING))
_IDENTITY.always_print({"apiVersion": "", "kind": ""})
_UNKNOWN: Final = Message()
_UNKNOWN.add(1, MessageField("typeMeta", MESSAGE, message=_IDENTITY))
_UNKNOWN.add(2, MessageField("raw", PLACE))
# A server looks at neither.
_UNKNOWN.add(3, MessageField("contentEncoding", STRING))
_UNKNOWN.add(4, MessageField("contentType", STRING))
_UNKNOWN.always_print({"typeMeta": _IDENTITY.zero, "raw": [0, 0]})


def has_message(api_version: str, kind: str) -> bool:
    """Tell whether objects of a kind have a form in protobuf."""
    return message_of(api_version, kind) is not None


@bounded("the object")
def decode(body: bytes, api_version: str, kind: str, limit: int) -> JSONObject:
    """Return the object of a body, as Go prints it.

    ``api_version`` and ``kind`` are what is expected: they count where the body states
    none. Raises ProtobufError, DepthError, and ProtobufTooLargeError for an object that
    has more bytes in JSON than the limit. Go: protobuf.Serializer, Decode.
    """
    try:
        envelope = _open(body)
    except ProtobufError as error:
        raise ProtobufError(
            f"the object provided is unrecognized (must be of type {kind}):"
            f" {error.problem} ({summarize(body)})"
        ) from None
    # Go: copyKindDefaults.
    found_version = envelope.type_meta.api_version or api_version
    found_kind = envelope.type_meta.kind or kind
    start, end = envelope.raw
    try:
        message = require_message(found_version, found_kind)
        value = decoded(body, start, end, message, limit)
    except ProtobufError as error:
        version = found_version.rpartition("/")[2]
        raise ProtobufError(
            f'{found_kind} in version "{version}" cannot be handled as a {kind}:'
            f" {error.problem}"
        ) from None
    return {"apiVersion": found_version, "kind": found_kind, **as_object(value)}


def _open(body: bytes) -> _Envelope:
    """Return what the envelope has, and where its object is."""
    if not body:
        raise ProtobufError("empty data")
    if not body.startswith(_MAGIC):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix"
            f" [{' '.join(str(byte) for byte in _MAGIC)}]"
        )
    if len(body) == len(_MAGIC):
        raise ProtobufError("empty body")
    found = decoded(body, len(_MAGIC), len(body), _UNKNOWN, _UNLIMITED)
    return msgspec.convert(found, _Envelope)
