"""JSON texts, parsed and written. What msgspec would lose (a duplicate key, NaN) is
looked for only where it may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isinf
from typing import Final

import msgspec

from smp.documents._text import QUOTE_IT, Text
from smp.errors import DepthError, DocumentError
from smp.values import JSON

_START: Final = re.compile(rb'\s*[{\[]\s*(?:["{}\[\]0-9-]|true\b|false\b|null\b|$)')
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_STRING: Final = rb'("[^"\\]*(?:\\.[^"\\]*)*")'
_TRAILING: Final = "trailing characters"
# For errors only, and compiled by them.
_NOT_A_NUMBER: Final = rb"NaN|Infinity"
_STRING_OR_NUMBER: Final = _STRING + rb"|(-?[0-9][0-9.eE+-]*)"
_KEY_OR_BRACE: Final = _STRING + rb"[ \t\r\n]*(:?)|[{}]"


def looks_like_json(text: Text) -> bool:
    """Tell whether the text begins as a JSON object or list does."""
    return _START.match(text.data) is not None


def parse_texts(text: Text) -> Iterator[tuple[JSON, int]]:
    """Yield each of several JSON texts in a row, and the line on which it starts.
    Raises DocumentError.
    """
    end, line = 0, 1
    while (start := _after_space(text.data, end)) < len(text.data):
        line += text.data.count(b"\n", end, start)
        end = _end_of_text(text.data, start)
        yield parse_text(text, start, end), line
        line += text.data.count(b"\n", start, end)


def parse_text(text: Text, start: int, end: int) -> JSON:
    """Parse the only JSON text between two offsets. Raises DocumentError."""
    data = text.data[start:end]
    try:
        value: JSON = msgspec.json.decode(data)
        # What is written back as it was read has not lost a key.
        if msgspec.json.encode(value) != msgspec.json.format(
            data, indent=-1
        ) and _repeats_a_key(data):
            raise _duplicate_key_error(text, start, end)
    except msgspec.ValidationError:
        raise _number_error(text, start, end) from None
    except msgspec.DecodeError as error:
        raise _syntax_error(error, text, start, end) from None
    except RecursionError:
        raise text.error("too-deep", "it is nested too deep") from None
    return value


def dump_json(value: JSON, *, indent: int | None = 2) -> str:
    """Write a value as JSON, keys in their order; ``indent=None`` writes one line
    without spaces.

    Raises DocumentError for what JSON cannot say (NaN, a lone surrogate), and
    DepthError.
    """
    try:
        encoded = msgspec.json.encode(value)
        # NaN and infinity would be written as null: only then is a closer look needed.
        if b"null" in encoded:
            import json

            json.dumps(value, allow_nan=False)
        return (
            encoded if indent is None else msgspec.json.format(encoded, indent=indent)
        ).decode()
    except RecursionError:
        raise DepthError("the value is nested too deep to be written") from None
    except (TypeError, ValueError) as error:
        raise not_json(str(error)) from None


def not_json(problem: str) -> DocumentError:
    """Make the error about a value that JSON does not have."""
    return DocumentError(f"not a JSON value: {problem}", code="not-json")


# --- where a text ends ---


def _after_space(data: bytes, start: int) -> int:
    found = _SPACE.match(data, start)
    return found.end() if found else start


def _end_of_text(data: bytes, start: int) -> int:
    try:
        msgspec.json.decode(memoryview(data)[start:], type=msgspec.Raw)
    except msgspec.DecodeError as error:
        problem, offset = _reported(error)
        if problem == _TRAILING and offset is not None:
            return start + offset
    except RecursionError:
        pass  # said when it is parsed
    return len(data)


# --- what is wrong, and where ---


def _syntax_error(
    error: msgspec.DecodeError, text: Text, start: int, end: int
) -> DocumentError:
    problem, offset = _reported(error)
    place = end if offset is None else start + offset
    if constant := re.compile(_NOT_A_NUMBER).match(text.data, place):
        return text.error(
            "not-a-number", f"JSON has no {constant[0].decode()}", place, QUOTE_IT
        )
    return text.error("invalid-json", f"not JSON: {problem}", place)


def _reported(error: msgspec.DecodeError) -> tuple[str, int | None]:
    """Take a report such as ``JSON is malformed: invalid character (byte 7)`` apart."""
    problem, _, offset = (
        str(error)
        .removeprefix("JSON is malformed: ")
        .removesuffix(")")
        .partition(" (byte ")
    )
    # Trailing characters are counted from one, everything else from zero.
    return problem, int(offset) - (problem == _TRAILING) if offset else None


def _number_error(text: Text, start: int, end: int) -> DocumentError:
    numbers = (
        found
        for found in re.compile(_STRING_OR_NUMBER).finditer(text.data, start, end)
        if found[2]
    )
    place = next((found.start() for found in numbers if _out_of_range(found[2])), start)
    return text.error("invalid-number", "a number is out of range", place, QUOTE_IT)


def _out_of_range(number: bytes) -> bool:
    try:
        int(number)
    except ValueError:  # also for more digits than Python converts
        return number.lstrip(b"-").isdigit() or isinf(float(number))
    return False


def _repeats_a_key(data: bytes) -> bool:
    import json

    repeats = False

    def look(members: list[tuple[str, JSON]]) -> None:
        nonlocal repeats
        repeats = repeats or len(dict(members)) != len(members)

    json.loads(data, object_pairs_hook=look)
    return repeats


def _duplicate_key_error(text: Text, start: int, end: int) -> DocumentError:
    place, key = next(_repeated_keys(text.data, start, end))
    return text.error("duplicate-key", f"the key {key!r} is there twice", place)


def _repeated_keys(data: bytes, start: int, end: int) -> Iterator[tuple[int, str]]:
    objects: list[set[str]] = []
    for token in re.compile(_KEY_OR_BRACE).finditer(data, start, end):
        if token[0] == b"{":
            objects.append(set())
        elif token[0] == b"}":
            objects.pop()
        elif token[2]:
            key = msgspec.json.decode(token[1], type=str)
            if key in objects[-1]:
                yield token.start(), key
            objects[-1].add(key)
