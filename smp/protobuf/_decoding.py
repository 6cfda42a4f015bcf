"""Messages to JSON: one pass over the bytes, with the fields of each message.

A message that comes twice is merged, of a scalar the last value counts, and unknown
fields are skipped. Go: the methods Unmarshal in generated.pb.go of k8s.io/api.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import codecs
import struct
from binascii import b2a_base64
from typing import Final

from smp.protobuf._errors import ProtobufError, ProtobufTooLargeError, truncated
from smp.protobuf._messages import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    EITHER,
    FIXED_64,
    INLINE,
    INT_32,
    INT_64,
    ITEMS,
    LENGTH,
    LIST,
    MAP,
    MICRO_TIME,
    OBJECT,
    PLACE,
    TIME,
    VARINT,
    Message,
)
from smp.protobuf._printing import finite, printed
from smp.values import JSON, MAX_LEVELS, JSONObject, as_text

_START_GROUP: Final = 3
_END_GROUP: Final = 4
_FIXED_32: Final = 5
_CONTINUES: Final = 0x80
_MAX_SHIFT: Final = 64
_UINT_64: Final = 2**64 - 1
_UINT_32: Final = 2**32 - 1
_INT_64: Final = 2**63 - 1
_INT_32: Final = 2**31 - 1
# The number of the value in an entry of a map.
_VALUE: Final = 2
_LENGTH_64: Final = 8
_LENGTH_32: Final = 4
# What an element takes in JSON at least: a digit and a comma.
_ELEMENT: Final = 2
_TIMES: Final = frozenset({TIME, MICRO_TIME})
_FLOAT: Final = struct.Struct("<d")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    # Go: encoding/json prints U+FFFD for each byte that is not part of UTF-8.
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101  # of bytes.decode
    return "\ufffd" * (error.end - error.start), error.end


_REPLACE: Final = "smp.protobuf"
codecs.register_error(_REPLACE, _replaced)


def decoded(data: bytes, start: int, end: int, message: Message, limit: int) -> JSON:
    """Return what is printed of the message between two offsets.

    Raises ProtobufError, RecursionError, and ProtobufTooLargeError for what has more
    bytes in JSON than the limit.
    """
    reader = Reader(data, limit)
    return reader.value(start, end, message, None, MAX_LEVELS)


class Reader:
    """Reads messages; ``left`` is how long the rest may be in JSON."""

    def __init__(self, data: bytes, left: int) -> None:
        self.data = data
        self.left = left

    def value(
        self, start: int, end: int, message: Message, before: JSON, levels: int
    ) -> JSON:
        """Return what is printed of a message; ``before`` is what it is merged with."""
        self._take(message.size)
        if message.form != OBJECT:
            return self._special(start, end, message, before, levels)
        # Merged into what was read before. The zero value is shared: never change it.
        if isinstance(before, dict) and before is not message.zero:
            self.fields(start, end, message, before, levels)
            return before
        if start == end:
            # Shared: of many empty elements there is one in memory.
            return message.zero
        obj: JSONObject = {}
        self.fields(start, end, message, obj, levels)
        return obj

    def _special(
        self, start: int, end: int, message: Message, before: JSON, levels: int
    ) -> JSON:
        """Return what Go prints by a method of its own (MarshalJSON)."""
        parts: JSONObject = {}
        self.fields(start, end, message, parts, levels)
        if message.form == EITHER:
            return message.first(parts)
        if message.form == ITEMS:
            return parts.get("items", [])
        # Go: Time.Unmarshal sets the zero time only where there are no bytes at all.
        if parts or (message.form in _TIMES and start < end):
            return printed(message.form, parts)
        # Go: the methods Unmarshal of the others do not reset what was read before.
        if before is None or message.form in _TIMES:
            return message.zero
        return before

    def fields(
        self, start: int, end: int, message: Message, obj: JSONObject, levels: int
    ) -> None:
        """Read the fields of a message into an object."""
        if not levels:
            raise RecursionError
        data = self.data
        tags = message.tags
        at = start
        while at < end:
            # Fields up to number 15 have a tag of one byte.
            tag = data[at]
            at += 1
            if tag >= _CONTINUES:
                tag, at = _varint(data, at - 1, end)
            field = tags.get(tag)
            if field is None:
                at = self._other(tag, at, end, message, obj)
                continue
            value: JSON
            if field.form <= INT_64:
                number, at = _varint(data, at, end)
                value = _integer(number, field.form)
            elif field.form == DOUBLE:
                value = _double(data, at, end)
                at += _LENGTH_64
            else:
                length, at = _length(data, at, end)
                start = at
                at += length
                inner = field.message
                if inner is None:
                    value = _scalar(data, start, at, field.form)
                elif field.count == MAP:
                    self._entry(start, at, field.name, inner, obj, levels)
                    continue
                elif field.count == INLINE:
                    self.fields(start, at, inner, obj, levels - 1)
                    continue
                else:
                    before = None if field.count == LIST else obj.get(field.name)
                    value = self.value(start, at, inner, before, levels - 1)
            if field.count == LIST:
                self._append(obj, field.name, value)
            # An encoder of gogo/protobuf writes zero values; Go drops them (omitempty).
            elif field.drops_zero and not value:
                obj.pop(field.name, None)
            else:
                obj[field.name] = value
        for name, zero in message.zeros:
            if name not in obj:
                obj[name] = zero

    def _take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise ProtobufTooLargeError("the object is too large")

    def _append(self, obj: JSONObject, name: str, value: JSON) -> None:
        self._take(_ELEMENT)
        elements = obj.get(name)
        if isinstance(elements, list):
            elements.append(value)
        else:
            obj[name] = [value]

    def _entry(
        self,
        start: int,
        end: int,
        name: str,
        message: Message,
        obj: JSONObject,
        levels: int,
    ) -> None:
        """Read an entry of a map: a message with a key and a value."""
        self._take(_ELEMENT)
        pair: JSONObject = {}
        self.fields(start, end, message, pair, levels - 1)
        entries = obj.get(name)
        if not isinstance(entries, dict):
            entries = {}
            obj[name] = entries
        # Both may be absent (protobuf, Encoding: maps).
        if "value" not in pair:
            pair["value"] = message.numbers[_VALUE].zero()
        entries[as_text(pair["key"])] = pair["value"]

    def _other(
        self, tag: int, at: int, end: int, message: Message, obj: JSONObject
    ) -> int:
        """Read a field with a tag that is not in the table; return where it ends."""
        wire_type = tag & 7
        # Go: the number is an int32.
        number = _signed(tag >> 3, _INT_32, _UINT_32)
        if wire_type == _END_GROUP:
            raise ProtobufError("proto: wiretype end group for non-group")
        if number <= 0:
            raise ProtobufError(f"proto: illegal tag {number} (wire type {wire_type})")
        field = message.numbers.get(number)
        if field is None:
            return _skipped(self.data, at, end, wire_type)
        # Repeated integers may come in one field (protobuf, Encoding: packed).
        is_packed = field.count == LIST and field.form <= INT_64
        if not is_packed or wire_type != LENGTH:
            name = field.name
            raise ProtobufError(f"proto: wrong wireType = {wire_type} for field {name}")
        length, at = _length(self.data, at, end)
        stop = at + length
        while at < stop:
            element, at = _varint(self.data, at, stop)
            self._append(obj, field.name, _integer(element, field.form))
        return stop


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read an integer; return it and where it ends."""
    if at < end and data[at] < _CONTINUES:
        # Most are small.
        return data[at], at + 1
    value = 0
    shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < _CONTINUES:
            return value & _UINT_64, at
        shift += 7
        if shift >= _MAX_SHIFT:
            raise ProtobufError("proto: integer overflow")
    raise truncated()


def _length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read the length of what follows; return it and where that begins."""
    if at < end and data[at] < min(_CONTINUES, end - at):
        # Most are short.
        return data[at], at + 1
    length, at = _varint(data, at, end)
    if length > _INT_64:
        raise ProtobufError("proto: negative length found during unmarshaling")
    if length > end - at:
        raise truncated()
    return length, at


def _signed(value: int, most: int, mask: int) -> int:
    """Return an integer of so many bits; higher ones are cut off, as in Go."""
    value &= mask
    return value if value <= most else value - mask - 1


def _integer(value: int, form: int) -> JSON:
    if form == BOOLEAN:
        return value != 0
    if form == INT_32:
        return _signed(value, _INT_32, _UINT_32)
    return _signed(value, _INT_64, _UINT_64)


def _double(data: bytes, at: int, end: int) -> JSON:
    if end - at < _LENGTH_64:
        raise truncated()
    return finite(_FLOAT.unpack_from(data, at)[0])


def _scalar(data: bytes, start: int, end: int, form: int) -> JSON:
    if form == PLACE:
        return [start, end]
    value = data[start:end]
    if form == BYTES:
        return b2a_base64(value, newline=False).decode()
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode(errors=_REPLACE)


def _skipped(data: bytes, at: int, end: int, wire_type: int) -> int:
    """Return where an unknown field ends. Go: skipGenerated."""
    # Counted, not nested calls: a group may contain as many groups as a body has bytes.
    groups = 0
    while True:
        if wire_type == VARINT:
            _, at = _varint(data, at, end)
        elif wire_type == FIXED_64:
            at += _LENGTH_64
        elif wire_type == LENGTH:
            length, at = _length(data, at, end)
            at += length
        elif wire_type == _START_GROUP:
            groups += 1
        elif wire_type == _END_GROUP:
            groups -= 1
        elif wire_type == _FIXED_32:
            at += _LENGTH_32
        else:
            raise ProtobufError(f"proto: illegal wireType {wire_type}")
        if at > end:
            raise truncated()
        if not groups:
            return at
        # Within a group Go does not compare the numbers of its start and its end.
        tag, at = _varint(data, at, end)
        wire_type = tag & 7
