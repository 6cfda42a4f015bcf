"""JSON texts (RFC 8259), parsed and written with msgspec.

msgspec is fast and strict, with two exceptions that this module makes up for: it keeps
the last of several equal keys, and it writes NaN and infinity as null. The slow checks
for these run only where a fast one finds that they may be needed. What is wrong with a
text, and where, is looked for once parsing has failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from math import isfinite, isinf
from typing import Any, Final

import msgspec

from smp._values.stack import require_stack_to_parse
from smp._values.values import JSON
from smp.documents._scalars import as_go_prints
from smp.documents._text import QUOTE_IT, Text
from smp.errors import DocumentError, bounded

# Patterns that most texts do not need are compiled on use, as that takes time.
_START: Final = rb'\s*[{\[]\s*(?:["{}\[\]0-9-]|true\b|false\b|null\b|$)'
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_SPACE_OR_BRACKET: Final = b" \t\r\n\f\v{["
_USUAL_STARTS: Final = frozenset((b'{"', b"{}", b"[]", b"[{"))


def _float(text: str) -> int | float:
    number = float(text)
    if not isfinite(number):
        raise msgspec.ValidationError
    return as_go_prints(number)


# As kubectl reads numbers, and as they are written.
_DECODER_OF_KUBECTL: Final = msgspec.json.Decoder(float_hook=_float)
_DECODER: Final = msgspec.json.Decoder()


class _DuplicateKeyError(Exception):
    """An object has a key twice."""


def looks_like_json(data: bytes, start: int = 0) -> bool:
    """Tell whether a text begins as a JSON object or list does."""
    if data[start : start + 1] not in _SPACE_OR_BRACKET:
        return False
    if data[start : start + 2] in _USUAL_STARTS:
        return True
    return re.compile(_START).match(data, start) is not None


def parse_texts(text: Text, *, keep_floats: bool = False) -> Iterator[tuple[JSON, int]]:
    """Yield each of several JSON texts in a row, and the line where it starts.

    ``keep_floats``: see ``smp.documents.read_one``. Raises DocumentError.
    """
    decoder = _DECODER if keep_floats else _DECODER_OF_KUBECTL
    try:
        require_stack_to_parse(text.data)
    except RecursionError:
        raise _too_deep(text) from None
    line = 1
    end = 0
    while True:
        space = _SPACE.match(text.data, end)
        start = space.end() if space else end
        if start == len(text.data):
            return
        line += text.data.count(b"\n", end, start)
        end = end_of_text(text.data, start) or len(text.data)
        yield _parse(text, start, end, decoder), line
        line += text.data.count(b"\n", start, end)


@bounded()
def dump_json(value: Any, *, indent: int | None = 2) -> str:
    """Write a value as JSON, keys in their order.

    ``indent=None`` writes one line without spaces. Raises DocumentError for a value
    that JSON does not have (NaN, a lone surrogate), and DepthError.
    """
    try:
        encoded = msgspec.json.encode(value)
        # NaN and infinity are written as null: without a null the value had neither.
        if b"null" in encoded:
            import json  # noqa: PLC0415  # 1.4 ms, for what has a null

            json.dumps(value, allow_nan=False)
        if indent is not None:
            encoded = msgspec.json.format(encoded, indent=indent)
        return encoded.decode()
    except (TypeError, ValueError) as error:
        raise not_json(str(error)) from None


def not_json(problem: str) -> DocumentError:
    """Make the error about a value that JSON does not have."""
    return DocumentError(f"not a JSON value: {problem}", code="not-json")


def end_of_text(data: bytes, start: int) -> int | None:
    """Find the end of the JSON text that starts at an offset; None where it is none.

    msgspec parses one text only and reports where another one follows.
    """
    try:
        msgspec.json.decode(memoryview(data)[start:], type=msgspec.Raw)
    except msgspec.DecodeError as error:
        problem, offset = report(error)
        if problem == TRAILING_CHARACTERS and offset is not None:
            return start + offset
        return None
    except RecursionError:
        pass  # The parser of the values raises the error.
    return len(data)


def _parse(
    text: Text, start: int, end: int, decoder: msgspec.json.Decoder[JSON]
) -> JSON:
    data = text.data[start:end]
    try:
        value = decoder.decode(data)
        # A value that is written back as it was read has not lost a key. Other reasons
        # for a difference are 1.0 or an escape, so the slow parser decides.
        if msgspec.json.encode(value) != msgspec.json.format(data, indent=-1):
            import json  # noqa: PLC0415  # as in dump_json

            json.loads(data, object_pairs_hook=_reject_duplicate_keys)
    except _DuplicateKeyError:
        raise duplicate_key_error(text, start, end) from None
    except msgspec.ValidationError:
        # Without a type to validate against, only numbers can be invalid.
        raise number_error(text, start, end) from None
    except msgspec.DecodeError as error:
        raise syntax_error(error, text, start, end) from None
    except RecursionError:
        raise _too_deep(text) from None
    return value


def _too_deep(text: Text) -> DocumentError:
    return text.error("too-deep", "the document is nested too deeply")


def _reject_duplicate_keys(members: list[tuple[str, JSON]]) -> None:
    if len(dict(members)) != len(members):
        raise _DuplicateKeyError


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
