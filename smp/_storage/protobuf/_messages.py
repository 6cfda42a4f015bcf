"""What a message is: its fields by their numbers, and what is printed of it.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp._values.values import JSON, JSONObject

# The wire types of protobuf that fields have.
VARINT: Final = 0
FIXED_64: Final = 1
LENGTH: Final = 2

# What a value is.
BOOLEAN: Final = 0
INT_32: Final = 1
INT_64: Final = 2
DOUBLE: Final = 3
STRING: Final = 4
BYTES: Final = 5
MESSAGE: Final = 6
# Where the bytes are: a list of two offsets.
PLACE: Final = 7

# How a message is printed.
OBJECT: Final = 0
EITHER: Final = 1
QUANTITY: Final = 2
INT_OR_STRING: Final = 3
TIME: Final = 4
MICRO_TIME: Final = 5
RAW: Final = 6
ITEMS: Final = 7

# How many there are of it, and where it is printed.
SINGLE: Final = 0
LIST: Final = 1
MAP: Final = 2
INLINE: Final = 3

# What Go prints of a zero value.
_ZEROS: Final[dict[int, JSON]] = {
    BOOLEAN: False,
    INT_32: 0,
    INT_64: 0,
    DOUBLE: 0,
    STRING: "",
    BYTES: "",
}
# What a member takes in JSON at least, beside its name: quotes, colon, digit, comma.
_MEMBER: Final = 5


class MessageField:
    """One field of a message.

    ``drops_zero``: a zero value is not printed, even if it is there. ``message`` is
    that of a MESSAGE; that of a MAP has the key and the value of an entry.
    """

    def __init__(
        self, name: str, form: int, count: int = SINGLE, message: Message | None = None
    ) -> None:
        self.name = name
        self.form = form
        self.count = count
        self.drops_zero = False
        self.message = message

    def zero(self) -> JSON:
        """Return what Go prints of the zero value, of one that is always there."""
        if self.count != SINGLE:
            return None
        return _ZEROS[self.form] if self.message is None else self.message.zero


class Message:
    """The fields of a message, and how it is printed.

    ``tags`` are the fields by tag (number and wire type), ``numbers`` by number.
    ``zeros`` is what is always printed of an OBJECT, ``zero`` what is printed of an
    empty message. ``either`` are the names of the fields of which the first is printed.
    ``size`` is how long an empty message is in JSON at least.
    """

    def __init__(self, form: int = OBJECT, zero: JSON = None) -> None:
        self.form = form
        self.zero = zero
        self.tags: dict[int, MessageField] = {}
        self.numbers: dict[int, MessageField] = {}
        self.zeros: list[tuple[str, JSON]] = []
        self.either: list[str] = []
        self.size = 2

    def add(self, number: int, field: MessageField) -> None:
        """Add a field."""
        # Strings, bytes and messages begin with their length.
        wire_type = LENGTH
        if field.form <= INT_64:
            wire_type = VARINT
        elif field.form == DOUBLE:
            wire_type = FIXED_64
        self.tags[number << 3 | wire_type] = field
        self.numbers[number] = field

    def always_print(self, zeros: JSONObject) -> None:
        """Set the values of the fields that are always printed."""
        self.zeros = list(zeros.items())
        self.zero = zeros
        if self.form == EITHER:
            self.zero = self.first(zeros)
        for name in zeros:
            self.size += len(name) + _MEMBER

    def first(self, values: JSONObject) -> JSON:
        """Return the first value of an EITHER that is there, or null."""
        for name in self.either:
            if name in values:
                return values[name]
        return None
