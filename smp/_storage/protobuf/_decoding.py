"""Messages to JSON: one pass over the bytes, with the fields of each message.

A message that comes twice is merged, of a scalar the last value counts, and unknown
fields are skipped. Go: the methods Unmarshal in generated.pb.go of k8s.io/api.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import isfinite
from typing import Final

from smp._storage.protobuf._errors import ProtobufError, ProtobufTooLargeError
from smp._storage.protobuf._messages import (
    DOUBLE,
    EITHER,
    INLINE,
    INT_64,
    INT_OR_STRING,
    ITEMS,
    LENGTH,
    LIST,
    MAP,
    MICRO_TIME,
    OBJECT,
    QUANTITY,
    TIME,
    Message,
    MessageField,
)
from smp._storage.protobuf.wire import (
    LENGTH_64,
    double,
    int_32,
    integer,
    scalar,
    skip,
    span,
    varint,
)
from smp._storage.typed_storage import double as go_double
from smp._values import codec
from smp._values.quantities import parse_quantity
from smp._values.steps import count_steps
from smp._values.values import JSON, MAX_LEVELS, JSONObject, as_text
from smp.errors import DocumentError

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # in UTC
_ZERO_TIME: Final = datetime(1, 1, 1)  # noqa: DTZ001  # in UTC
_INT: Final = 0
_STRING: Final = 1


def finite(value: float) -> JSON:
    """Return a double. Raises ProtobufError for one that JSON does not have."""
    if not isfinite(value):
        raise ProtobufError(f"json: unsupported value: {value}")
    return go_double(value)


def printed(form: int, parts: JSONObject) -> JSON:
    """Return what is printed of a message of which some fields are there.

    Raises ProtobufError for what cannot be printed (Go: MarshalJSON of its type).
    """
    if form in (TIME, MICRO_TIME):
        return print_time(form, parts)
    if form == INT_OR_STRING:
        chosen = parts.get("type", _INT)
        if chosen not in (_INT, _STRING):
            raise ProtobufError("impossible IntOrString.Type")
        return parts.get("intVal", 0) if chosen == _INT else parts.get("strVal", "")
    if form == QUANTITY:
        # Go: Quantity.Unmarshal parses the text.
        quantity = parse_quantity(str(parts["string"]))
        if quantity is None:
            raise ProtobufError("unable to parse quantity's value")
        return quantity.text
    # RawExtension, JSON and FieldsV1 have JSON as bytes.
    try:
        return codec.decode(str(parts["raw"]))
    except DocumentError as error:
        raise ProtobufError(error.problem) from None


def print_time(form: int, parts: JSONObject) -> JSON:
    """Return a time in UTC (Go: Time and MicroTime have the fields of a Timestamp).

    The years of four digits that a Timestamp has are those of Python.
    """
    seconds = parts.get("seconds", 0)
    # Go: Time.Unmarshal does not look at them, MicroTime.Unmarshal truncates them.
    nanos = parts.get("nanos", 0) if form == MICRO_TIME else 0
    assert isinstance(seconds, int)  # noqa: S101  # the form of both
    assert isinstance(nanos, int)  # noqa: S101
    micros = nanos // 1000 if nanos >= 0 else -(-nanos // 1000)
    # Go prints years of five digits, which neither it nor others can read again.
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=micros)
    except OverflowError:
        raise ProtobufError("a time is outside of the years 1 to 9999") from None
    if moment == _ZERO_TIME:
        return None
    precision = "microseconds" if form == MICRO_TIME else "seconds"
    return f"{moment.isoformat(timespec=precision)}Z"


_WIRE_TYPE: Final = 7  # the bits of a tag
_END_GROUP: Final = 4
# A tag of one byte; longer ones have this bit.
_CONTINUES: Final = 0x80
# The number of the value in an entry of a map.
_VALUE: Final = 2
# What an element takes in JSON at least: a digit and a comma.
_ELEMENT: Final = 2
_TIMES: Final = frozenset({TIME, MICRO_TIME})


def decoded(data: bytes, start: int, end: int, message: Message, limit: int) -> JSON:
    """Return what is printed of the message between two offsets.

    Raises ProtobufError, RecursionError, and ProtobufTooLargeError for what has more
    bytes in JSON than the limit.
    """
    return Reader(data, limit).value(start, end, message, None)


class Reader:
    """Reads messages; ``left`` is how long the rest may be in JSON.

    ``levels`` is how many messages may still be in one another.
    """

    def __init__(self, data: bytes, left: int) -> None:
        self.data = data
        self.left = left
        self.levels = MAX_LEVELS

    def value(self, start: int, end: int, message: Message, before: JSON) -> JSON:
        """Return what is printed of a message; ``before`` is what it is merged with."""
        self.take(message.size)
        if message.form != OBJECT:
            return self.special(start, end, message, before)
        # Merged into what was read before. The zero value is shared: never change it.
        if isinstance(before, dict) and before is not message.zero:
            self.fields(start, end, message, before)
            return before
        if start == end:
            # Shared: of many empty elements there is one in memory.
            return message.zero
        obj: JSONObject = {}
        self.fields(start, end, message, obj)
        return obj

    def special(self, start: int, end: int, message: Message, before: JSON) -> JSON:
        """Return what Go prints by a method of its own (MarshalJSON)."""
        parts: JSONObject = {}
        self.fields(start, end, message, parts)
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

    def fields(self, start: int, end: int, message: Message, obj: JSONObject) -> None:
        """Read the fields of a message into an object."""
        if not self.levels:
            raise RecursionError
        self.levels -= 1
        # A field has at least two bytes.
        count_steps((end - start) // 2)
        data = self.data
        tags = message.tags
        at = start
        while at < end:
            # Fields up to number 15 have a tag of one byte.
            tag = data[at]
            at += 1
            if tag >= _CONTINUES:
                tag, at = varint(data, at - 1, end)
            field = tags.get(tag)
            if field is None:
                packed = _find_packed(message, tag)
                at = (
                    skip(data, at, end, tag & _WIRE_TYPE)
                    if packed is None
                    else self.read_packed(at, end, packed, obj)
                )
                continue
            value: JSON
            if field.form <= INT_64:
                number, at = varint(data, at, end)
                value = integer(number, field.form)
            elif field.form == DOUBLE:
                value = finite(double(data, at, end))
                at += LENGTH_64
            else:
                start, at = span(data, at, end)
                inner = field.message
                if inner is None:
                    value = scalar(data, start, at, field.form)
                elif field.count == MAP:
                    value = self.entry(start, at, inner, obj.get(field.name))
                elif field.count == INLINE:
                    self.fields(start, at, inner, obj)
                    continue
                else:
                    before = None if field.count == LIST else obj.get(field.name)
                    value = self.value(start, at, inner, before)
            if field.count == LIST:
                self.append(obj, field.name, value)
            # An encoder of gogo/protobuf writes zero values; Go drops them (omitempty).
            elif field.drops_zero and not value:
                obj.pop(field.name, None)
            else:
                obj[field.name] = value
        for name, zero in message.zeros:
            if name not in obj:
                obj[name] = zero
        self.levels += 1

    def take(self, size: int) -> None:
        """Count what is read. Raises ProtobufTooLargeError."""
        self.left -= size
        if self.left < 0:
            raise ProtobufTooLargeError("the object is too large")

    def append(self, obj: JSONObject, name: str, value: JSON) -> None:
        """Add an element to the list of a field, which may come in many pieces."""
        self.take(_ELEMENT)
        elements = obj.get(name)
        if isinstance(elements, list):
            elements.append(value)
        else:
            obj[name] = [value]

    def entry(self, start: int, end: int, message: Message, before: JSON) -> JSON:
        """Read an entry, a message with a key and a value, into a map."""
        self.take(_ELEMENT)
        pair: JSONObject = {}
        self.fields(start, end, message, pair)
        # Both may be absent (protobuf, Encoding: maps).
        if "value" not in pair:
            pair["value"] = message.numbers[_VALUE].zero()
        entries = before if isinstance(before, dict) else {}
        entries[as_text(pair["key"])] = pair["value"]
        return entries

    def read_packed(
        self, at: int, end: int, field: MessageField, obj: JSONObject
    ) -> int:
        """Read the integers of a list that come in one field; return where it ends."""
        at, stop = span(self.data, at, end)
        while at < stop:
            element, at = varint(self.data, at, stop)
            self.append(obj, field.name, integer(element, field.form))
        return stop


def _find_packed(message: Message, tag: int) -> MessageField | None:
    """Return the field of a tag that is not in the table; None where it is unknown.

    Repeated integers may come in one field (protobuf, Encoding: packed).
    """
    wire_type = tag & _WIRE_TYPE
    # Go: the number is an int32.
    number = int_32(tag >> 3)
    if wire_type == _END_GROUP:
        raise ProtobufError("proto: wiretype end group for non-group")
    if number <= 0:
        raise ProtobufError(f"proto: illegal tag {number} (wire type {wire_type})")
    field = message.numbers.get(number)
    if field is None:
        return None
    is_packed = field.count == LIST and field.form <= INT_64
    if not is_packed or wire_type != LENGTH:
        name = field.name
        raise ProtobufError(f"proto: wrong wireType = {wire_type} for field {name}")
    return field
