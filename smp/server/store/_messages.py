"""The messages of etcd's gRPC interface that a store needs, as protobuf encodes them.

A message is a Struct whose annotations have the numbers of its fields, as in etcd's
api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto; fields that are not named here are
skipped. Protobuf in a few words: a message is a sequence of fields, each a tag
(``number << 3 | wire type``) and a value. Integers are varints: 7 bits in a byte, the
lowest first, and the high bit set in all but the last. Bytes, text and messages are a
length and so many bytes. What has its default value is left out, and an element of a
list is a field of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from smp._storage.protobuf import ProtobufError
from smp._storage.protobuf.wire import skip, span, varint

T = TypeVar("T", bound=msgspec.Struct)

# Wire types.
_VARINT: Final = 0
_BYTES: Final = 2


class Header(msgspec.Struct, frozen=True):
    """The revision of the whole store when it answered."""

    revision: Annotated[int, 3] = 0


class KeyValue(msgspec.Struct, frozen=True):
    """A key; ``version`` counts its writes since it was created."""

    key: Annotated[bytes, 1] = b""
    mod_revision: Annotated[int, 3] = 0
    version: Annotated[int, 4] = 0
    value: Annotated[bytes, 5] = b""


class RangeRequest(msgspec.Struct, frozen=True):
    """The keys from one to another; of a revision of 0 the newest."""

    key: Annotated[bytes, 1]
    range_end: Annotated[bytes, 2] = b""
    limit: Annotated[int, 3] = 0
    revision: Annotated[int, 4] = 0


class RangeResponse(msgspec.Struct, frozen=True):
    """Some of the keys of a range, and the number of all its keys."""

    header: Annotated[Header, 1] = Header()
    kvs: Annotated[Sequence[KeyValue], 2] = ()
    count: Annotated[int, 4] = 0


class PutRequest(msgspec.Struct, frozen=True):
    """A key to write."""

    key: Annotated[bytes, 1]
    value: Annotated[bytes, 2] = b""


class DeleteRangeRequest(msgspec.Struct, frozen=True):
    """A key to delete."""

    key: Annotated[bytes, 1]


class RequestOp(msgspec.Struct, frozen=True):
    """One operation of a transaction: one of these."""

    request_range: Annotated[RangeRequest | None, 1] = None
    request_put: Annotated[PutRequest | None, 2] = None
    request_delete_range: Annotated[DeleteRangeRequest | None, 3] = None


class ResponseOp(msgspec.Struct, frozen=True):
    """The response to a read in a transaction."""

    response_range: Annotated[RangeResponse | None, 1] = None


# Compare.CompareTarget
VERSION: Final = 0
MOD: Final = 2


class Compare(msgspec.Struct, frozen=True):
    """The condition of a transaction: a key was written last at a revision.

    With the target VERSION: it was written so often. The comparison is EQUAL, which is
    0 and therefore absent; what is compared is sent even where it is 0.
    """

    target: Annotated[int, 2]
    key: Annotated[bytes, 3]
    version: Annotated[int | None, 4] = None
    mod_revision: Annotated[int | None, 6] = None


class TxnRequest(msgspec.Struct, frozen=True):
    """What to do where all conditions hold, and where they do not."""

    compare: Annotated[Sequence[Compare], 1] = ()
    success: Annotated[Sequence[RequestOp], 2] = ()
    failure: Annotated[Sequence[RequestOp], 3] = ()


class TxnResponse(msgspec.Struct, frozen=True):
    """Whether the conditions held, and what the operations returned."""

    header: Annotated[Header, 1] = Header()
    succeeded: Annotated[bool, 2] = False
    responses: Annotated[Sequence[ResponseOp], 3] = ()


class CompactionRequest(msgspec.Struct, frozen=True):
    """Forget what was replaced before a revision."""

    revision: Annotated[int, 1]
    physical: Annotated[bool, 2] = False


class CompactionResponse(msgspec.Struct, frozen=True):
    """The history was compacted."""

    header: Annotated[Header, 1] = Header()


class AuthenticateRequest(msgspec.Struct, frozen=True):
    """A user of etcd."""

    name: Annotated[str, 1]
    password: Annotated[str, 2]


class AuthenticateResponse(msgspec.Struct, frozen=True):
    """What calls of the user send along."""

    token: Annotated[str, 2] = ""


class WatchCreateRequest(msgspec.Struct, frozen=True):
    """The range of keys to follow, from a revision on."""

    key: Annotated[bytes, 1]
    range_end: Annotated[bytes, 2] = b""
    start_revision: Annotated[int, 3] = 0
    prev_kv: Annotated[bool, 6] = False


class WatchRequest(msgspec.Struct, frozen=True):
    """The start of a watch."""

    create_request: Annotated[WatchCreateRequest, 1]


# Event.EventType; PUT is 0.
DELETE: Final = 1


class WatchEvent(msgspec.Struct, frozen=True):
    """A change.

    ``prev_kv`` is missing where the key did not exist, or where its history was
    compacted.
    """

    type: Annotated[int, 1] = 0
    kv: Annotated[KeyValue, 2] = KeyValue()
    prev_kv: Annotated[KeyValue | None, 3] = None


class WatchResponse(msgspec.Struct, frozen=True):
    """All changes of one or more revisions, or the start or the end of a watch."""

    header: Annotated[Header, 1] = Header()
    created: Annotated[bool, 3] = False
    canceled: Annotated[bool, 4] = False
    compact_revision: Annotated[int, 5] = 0
    cancel_reason: Annotated[str, 6] = ""
    events: Annotated[Sequence[WatchEvent], 11] = ()


# A value of a field: a class of msgspec.Struct is a message.
_FieldType: TypeAlias = Literal["bool", "bytes", "int", "text"] | type[msgspec.Struct]
_SCALARS: Final[dict[type, _FieldType]] = {
    bool: "bool",
    bytes: "bytes",
    int: "int",
    str: "text",
}


class _Field(msgspec.Struct, frozen=True):
    """A field of a message; ``has_presence``: its default is sent where it is set."""

    name: str
    number: int
    type: _FieldType
    is_list: bool
    has_presence: bool


@cache
def _fields(message: type[msgspec.Struct]) -> dict[int, _Field]:
    """Read the annotations of a message; the keys are the numbers."""
    fields: dict[int, _Field] = {}
    for name, hint in get_type_hints(message, include_extras=True).items():
        annotated, number = get_args(hint)
        is_list = get_origin(annotated) is Sequence
        arguments = get_args(annotated)
        has_presence = type(None) in arguments
        # Sequence[X] and X | None: X is the first argument.
        actual = arguments[0] if arguments else annotated
        type_ = _SCALARS.get(actual, actual)
        fields[number] = _Field(name, number, type_, is_list, has_presence)
    return fields


def encode(message: msgspec.Struct) -> bytes:
    """Encode a message."""
    out = bytearray()
    for field in _fields(type(message)).values():
        value = getattr(message, field.name)
        if field.is_list:
            for element in value:
                _append(out, field, element)
        elif value is not None and (value or field.has_presence):
            _append(out, field, value)
    return bytes(out)


def _append(out: bytearray, field: _Field, value: Any) -> None:
    if field.type in ("int", "bool"):
        out += _varint(field.number << 3 | _VARINT)
        out += _varint(int(value))
        return
    if field.type == "text":
        content = value.encode()
    elif field.type == "bytes":
        content = value
    else:
        content = encode(value)
    out += _varint(field.number << 3 | _BYTES)
    out += _varint(len(content))
    out += content


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def decode(message: type[T], data: bytes) -> T:
    """Decode a message. Raises ValueError."""
    try:
        return _decode(message, data, 0, len(data))
    except ProtobufError as error:
        raise ValueError(error.problem) from None


def _decode(message: type[T], data: bytes, at: int, end: int) -> T:
    """Decode the message between two positions. Raises ProtobufError and ValueError."""
    fields = _fields(message)
    values: dict[str, Any] = {}
    while at < end:
        tag, at = varint(data, at, end)
        wire_type = tag & 7
        field = fields.get(tag >> 3)
        if field is None:
            at = skip(data, at, end, wire_type)
            continue
        is_number = field.type in ("int", "bool")
        if wire_type != (_VARINT if is_number else _BYTES):
            raise ProtobufError(f"{field.name} has another wire type")
        value: Any
        if is_number:
            number, at = varint(data, at, end)
            value = number if field.type == "int" else bool(number)
        else:
            start, at = span(data, at, end)
            if field.type == "bytes":
                value = data[start:at]
            elif field.type == "text":
                value = data[start:at].decode()
            else:
                value = _decode(cast("type[T]", field.type), data, start, at)
        if field.is_list:
            values.setdefault(field.name, []).append(value)
        else:
            values[field.name] = value
    return message(**values)
