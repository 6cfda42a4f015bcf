"""The body of a request: the magic number, and the envelope of the object."""

from __future__ import annotations

from typing import Final

import msgspec

from smp.errors import bounded
from smp.protobuf._decoding import decoded
from smp.protobuf._errors import ProtobufError
from smp.protobuf._messages import MESSAGE, PLACE, STRING, Field, Message
from smp.protobuf._table import message_of
from smp.values import JSONObject, as_object

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
# What a Status shows of a body at most (Go: handlers/rest.go, summarizeData).
_SHOWN: Final = 30
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


def _unknown() -> Message:
    """Return the message runtime.Unknown."""
    identity = Message()
    identity.add(1, Field("apiVersion", STRING))
    identity.add(2, Field("kind", STRING))
    identity.always_print({"apiVersion": "", "kind": ""})
    type_meta = Field("typeMeta", MESSAGE)
    type_meta.message = identity
    unknown = Message()
    unknown.add(1, type_meta)
    unknown.add(2, Field("raw", PLACE))
    # A server looks at neither.
    unknown.add(3, Field("contentEncoding", STRING))
    unknown.add(4, Field("contentType", STRING))
    unknown.always_print({"typeMeta": identity.zero, "raw": [0, 0]})
    return unknown


_UNKNOWN: Final = _unknown()


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
        envelope = _opened(body)
    except ProtobufError as error:
        raise ProtobufError(
            f"the object provided is unrecognized (must be of type {kind}):"
            f" {error.problem} ({_summary(body)})"
        ) from None
    # Go: copyKindDefaults.
    found_version = envelope.type_meta.api_version or api_version
    found_kind = envelope.type_meta.kind or kind
    message = message_of(found_version, found_kind)
    start, end = envelope.raw
    try:
        if message is None:
            raise _unregistered(found_version, found_kind)
        value = decoded(body, start, end, message, limit)
    except ProtobufError as error:
        version = found_version.rpartition("/")[2]
        raise ProtobufError(
            f'{found_kind} in version "{version}" cannot be handled as a {kind}:'
            f" {error.problem}"
        ) from None
    return {"apiVersion": found_version, "kind": found_kind, **as_object(value)}


def _unregistered(api_version: str, kind: str) -> ProtobufError:
    return ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')


def _opened(body: bytes) -> _Envelope:
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


def _summary(body: bytes) -> str:
    """Return how a Status shows a body that is no object (Go: summarizeData)."""
    if not body:
        return "<empty>"
    begin = body[:_SHOWN]
    text = begin.decode(errors="replace") if body.startswith(b"{") else begin.hex()
    return text if len(body) <= _SHOWN else f"{text} ..."
