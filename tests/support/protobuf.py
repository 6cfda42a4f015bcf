"""Objects in protobuf, for tests: an encoder that goes by the table of the decoder."""

from __future__ import annotations

from base64 import b64decode
from datetime import datetime
from json import dumps
from struct import pack
from typing import Any, Final

from smp._storage.protobuf._messages import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    INLINE,
    INT_64,
    INT_OR_STRING,
    ITEMS,
    LIST,
    MAP,
    MICRO_TIME,
    OBJECT,
    QUANTITY,
    STRING,
    TIME,
    Message,
    MessageField,
)
from smp._storage.protobuf._table import message_of
from smp._values.values import JSONObject

MAGIC: Final = b"k8s\x00"


def varint(number: int) -> bytes:
    """Return an integer as protobuf writes it; a negative one has 64 bits."""
    number &= 2**64 - 1
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def nested(number: int, content: bytes) -> bytes:
    """Return a field with bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def enveloped(api_version: str, kind: str, content: bytes) -> bytes:
    """Return a body: the magic number, and the envelope of a message."""
    identity = nested(1, api_version.encode()) + nested(2, kind.encode())
    return MAGIC + nested(1, identity) + nested(2, content)


def encoded(obj: JSONObject) -> bytes:
    """Return an object of a built-in kind as the body of a request.

    The types of apiextensions that are printed as something else are not supported.
    """
    api_version, kind = str(obj["apiVersion"]), str(obj["kind"])
    message = message_of(api_version, kind)
    assert message is not None, kind
    return enveloped(api_version, kind, _fields(obj, message))


def _fields(obj: dict[str, Any], message: Message) -> bytes:
    written = b""
    for number, field in message.numbers.items():
        # What has no name in JSON is a message of its own in protobuf.
        if field.count == INLINE:
            assert field.message is not None
            written += nested(number, _fields(obj, field.message))
        value = obj.get(field.name)
        if value is None:
            continue
        if field.count == LIST:
            written += b"".join(_value(number, element, field) for element in value)
        elif field.count == MAP:
            entry = field.message
            assert entry is not None
            for name, content in value.items():
                pair = _value(1, name, entry.numbers[1])
                pair += _value(2, content, entry.numbers[2])
                written += nested(number, pair)
        else:
            written += _value(number, value, field)
    return written


def _value(number: int, value: Any, field: MessageField) -> bytes:
    if field.message is not None:
        return nested(number, _message(value, field.message))
    if field.form in (BYTES, STRING):
        content = b64decode(value) if field.form == BYTES else value.encode()
        return nested(number, content)
    if field.form == DOUBLE:
        return varint(number << 3 | 1) + pack("<d", value)
    assert BOOLEAN <= field.form <= INT_64
    return varint(number << 3) + varint(int(value))


def _message(value: Any, message: Message) -> bytes:
    if message.form == OBJECT:
        return _fields(value, message)
    if message.form == ITEMS:
        return b"".join(_value(1, item, message.numbers[1]) for item in value)
    if message.form == QUANTITY:
        return nested(1, str(value).encode())
    # Seconds and nanoseconds since 1970.
    if message.form in (TIME, MICRO_TIME):
        moment = datetime.fromisoformat(value)
        micros = varint(2 << 3) + varint(moment.microsecond * 1000)
        return varint(1 << 3) + varint(int(moment.timestamp())) + micros
    # The type of an integer is 0, which need not be written.
    if message.form == INT_OR_STRING and isinstance(value, int):
        return varint(2 << 3) + varint(value)
    if message.form == INT_OR_STRING:
        return varint(1 << 3) + varint(1) + nested(3, value.encode())
    return nested(1, dumps(value).encode())
