"""The wire format of protobuf: integers, lengths, scalars, and what is skipped.

Go: gogo/protobuf generates the same code for every message of k8s.io/api.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import codecs
import struct
from binascii import b2a_base64
from typing import Final

from smp._storage.protobuf._errors import ProtobufError, make_truncation_error
from smp._storage.protobuf._messages import (
    BOOLEAN,
    BYTES,
    FIXED_64,
    INT_32,
    LENGTH,
    PLACE,
    VARINT,
)
from smp._values.values import JSON

# The wire types that no field of a kind has.
_START_GROUP: Final = 3
_END_GROUP: Final = 4
_FIXED_32: Final = 5
# The bit of a byte after which the integer goes on, and the bits of an integer.
_CONTINUES: Final = 0x80
_MAX_SHIFT: Final = 64
_UINT_64: Final = 2**64 - 1
_UINT_32: Final = 2**32 - 1
_INT_64: Final = 2**63 - 1
_INT_32: Final = 2**31 - 1
# The bytes of a number of a fixed length.
LENGTH_64: Final = 8
_LENGTH_32: Final = 4
# Little-endian (protobuf, Encoding).
_FLOAT: Final = struct.Struct("<d")
_REPLACE: Final = "smp._storage.protobuf"


def _replace(error: UnicodeError) -> tuple[str, int]:
    # Go: encoding/json prints U+FFFD for each byte that is not part of UTF-8.
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101  # of bytes.decode
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error(_REPLACE, _replace)


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read an integer; return it and where it ends."""
    # Most are small.
    if at < end and data[at] < _CONTINUES:
        return data[at], at + 1
    # Seven bits a byte, the lowest first.
    value = 0
    shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < _CONTINUES:
            # Go: bits above the 64th are lost.
            return value & _UINT_64, at
        shift += 7
        if shift >= _MAX_SHIFT:
            raise ProtobufError("proto: integer overflow")
    raise make_truncation_error()


def span(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read the length of what follows; return where that begins and ends."""
    length, start = varint(data, at, end)
    # Go: as an int64 it would be negative.
    if length > _INT_64:
        raise ProtobufError("proto: negative length found during unmarshaling")
    # Compared before anything is copied: a length costs the sender nothing.
    if length > end - start:
        raise make_truncation_error()
    return start, start + length


def int_32(value: int) -> int:
    """Return the lower 32 bits as a signed integer, as Go's int32 does."""
    value &= _UINT_32
    return value if value <= _INT_32 else value - _UINT_32 - 1


def integer(value: int, form: int) -> JSON:
    """Return an integer or a boolean."""
    if form == BOOLEAN:
        return value != 0
    if form == INT_32:
        return int_32(value)
    return value if value <= _INT_64 else value - _UINT_64 - 1


def double(data: bytes, at: int, end: int) -> float:
    """Return the double at an offset."""
    if end - at < LENGTH_64:
        raise make_truncation_error()
    value: float = _FLOAT.unpack_from(data, at)[0]
    return value


def scalar(data: bytes, start: int, end: int, form: int) -> JSON:
    """Return a string, bytes as base64, or where they are."""
    if form == PLACE:
        return [start, end]
    value = data[start:end]
    if form == BYTES:
        return b2a_base64(value, newline=False).decode()
    # Go does not check the UTF-8 of a string that it reads.
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode(errors=_REPLACE)


def skip(data: bytes, at: int, end: int, wire_type: int) -> int:
    """Return where an unknown field ends. Go: skipGenerated."""
    # Counted, not nested calls: a group may contain as many groups as a body has bytes.
    groups = 0
    while True:
        if wire_type == VARINT:
            _, at = varint(data, at, end)
        elif wire_type == FIXED_64:
            at += LENGTH_64
        elif wire_type == LENGTH:
            _, at = span(data, at, end)
        elif wire_type == _START_GROUP:
            groups += 1
        elif wire_type == _END_GROUP:
            groups -= 1
        elif wire_type == _FIXED_32:
            at += _LENGTH_32
        else:
            raise ProtobufError(f"proto: illegal wireType {wire_type}")
        if at > end:
            raise make_truncation_error()
        if not groups:
            return at
        # Within a group Go does not compare the numbers of its start and its end.
        tag, at = varint(data, at, end)
        wire_type = tag & 7
