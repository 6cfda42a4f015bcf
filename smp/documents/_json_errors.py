"""What is wrong with a JSON text, and where; used only once parsing has failed.

The patterns are compiled on use, since most texts have no error.
"""

from __future__ import annotations

import re
from contextlib import suppress
from math import isinf
from typing import Final

import msgspec

from smp.documents._text import QUOTE_IT, Text
from smp.errors import DocumentError

TRAILING_CHARACTERS: Final = "trailing characters"
_NOT_A_NUMBER: Final = rb"NaN|Infinity"
_STRING: Final = rb'("[^"\\]*(?:\\.[^"\\]*)*")'
_STRING_OR_NUMBER: Final = _STRING + rb"|(-?[0-9][0-9.eE+-]*)"
# A string, followed by a colon if it is a key; or a brace.
_KEY_OR_BRACE: Final = _STRING + rb"[ \t\r\n]*(:?)|[{}]"


def report(error: msgspec.DecodeError) -> tuple[str, int | None]:
    """Split a report such as ``JSON is malformed: invalid character (byte 7)``.

    Returns the problem and the offset of the byte, None where the report has none.
    """
    message = str(error).removeprefix("JSON is malformed: ").removesuffix(")")
    problem, _, byte = message.partition(" (byte ")
    if not byte:
        return problem, None
    # msgspec counts trailing characters from one, everything else from zero.
    return problem, int(byte) - (problem == TRAILING_CHARACTERS)


def syntax_error(
    error: msgspec.DecodeError, text: Text, start: int, end: int
) -> DocumentError:
    """Make the error about a text that is not JSON."""
    problem, offset = report(error)
    place = end if offset is None else start + offset
    # RFC 8259, section 6: numeric values such as Infinity and NaN are not permitted.
    # Many programs write them nevertheless.
    constant = re.compile(_NOT_A_NUMBER).match(text.data, place)
    if constant:
        problem = f"{constant[0].decode()} is not valid JSON"
        return text.error("not-a-number", problem, place, QUOTE_IT)
    return text.error("invalid-json", f"not JSON: {problem}", place)


def number_error(text: Text, start: int, end: int) -> DocumentError:
    """Make the error about a number out of range, at the first one of the text."""
    place = start
    # Strings are matched as well, so that digits inside of them do not count.
    for token in re.compile(_STRING_OR_NUMBER).finditer(text.data, start, end):
        number = token[2]
        if not number:
            continue
        if _is_out_of_range(number):
            place = token.start()
            break
    return text.error("invalid-number", "a number is out of range", place, QUOTE_IT)


def _is_out_of_range(number: bytes) -> bool:
    """Tell whether Python does not convert a number, or what begins as one."""
    try:
        int(number)
    except ValueError:
        # Either an integer with more digits than Python converts, or a float.
        with suppress(ValueError):
            return number.lstrip(b"-").isdigit() or isinf(float(number))
        return True
    return False


def duplicate_key_error(text: Text, start: int, end: int) -> DocumentError:
    """Make the error about the first key that an object of the text has twice."""
    keys_of_open_objects: list[set[str]] = []
    for token in re.compile(_KEY_OR_BRACE).finditer(text.data, start, end):
        string, colon = token[1], token[2]
        if token[0] == b"{":
            keys_of_open_objects.append(set())
        elif token[0] == b"}":
            keys_of_open_objects.pop()
        elif colon:
            # Decoded, because "a" and "\u0061" are the same key.
            key = msgspec.json.decode(string, type=str)
            if key in keys_of_open_objects[-1]:
                problem = f"duplicate key {key!r}"
                return text.error("duplicate-key", problem, token.start())
            keys_of_open_objects[-1].add(key)
    raise LookupError("duplicate key not found")
