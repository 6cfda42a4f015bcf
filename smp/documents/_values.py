"""The values of a text in either format, each with the line where it starts."""

from __future__ import annotations

import re
from typing import Final

from smp._values.values import JSON
from smp.documents._json import looks_like_json, parse_texts
from smp.documents._text import UTF8_MARK, Text
from smp.documents._yaml_lines import value_of_lines
from smp.errors import DocumentError

# What follows another end of a line (YAML 1.1, section 4.1.4) in a separator's comment.
_HIDDEN: Final = rb"^---[ \t]*#[^\n]*?(?:\r|\xc2\x85|\xe2\x80[\xa8\xa9])([^\n]+)"


def values_of(text: Text, *, keep_floats: bool = False) -> list[tuple[JSON, int]]:
    """Return the value of each document, with the line where it starts.

    A text that starts like JSON is read as JSON first and, where that fails, as YAML
    (Go: apimachinery util/yaml, YAMLOrJSONDecoder.Decode). ``keep_floats``: see
    ``smp.documents.read_one``. Raises DocumentError.
    """
    if not looks_like_json(text.data):
        return _yaml_values(text)
    try:
        return list(parse_texts(text, keep_floats=keep_floats))
    except DocumentError as error:
        # JSON that has a duplicate key or a number out of range is still JSON.
        if error.code != "invalid-json":
            raise
        json_error = error
    try:
        return _yaml_values(text)
    except DocumentError as yaml_error:
        # Neither format: the text starts like JSON, so its JSON error helps more.
        if yaml_error.code == "invalid-yaml":
            raise json_error from None
        raise yaml_error from None


def _yaml_values(text: Text) -> list[tuple[JSON, int]]:
    _drop_mark(text)
    _check_separators(text)
    _check_line_ends(text)
    read = value_of_lines(text.data.decode())
    if read is not None:
        return [read]
    # To load the yaml library takes longer than to read a usual document.
    from smp.documents import _yaml_reader  # noqa: PLC0415  # see above

    return _yaml_reader.parse_documents(text)


def _drop_mark(text: Text) -> None:
    """Drop the byte order mark of a document, as go-yaml does at the head of a text.

    To kubectl what follows a separator is a text by itself (Go: apimachinery util/yaml,
    YAMLReader); the first separator is a part of the text. Raises DocumentError for a
    mark at the head of another line, which go-yaml takes for a character and libyaml
    for none.
    """
    if UTF8_MARK not in text.data:
        return
    line, end, rest = text.data.partition(b"\n")
    if text.first_line > 1 and line.startswith(b"---"):
        text.data = line + end + rest.removeprefix(UTF8_MARK)
    at = text.data.find(b"\n" + UTF8_MARK)
    if at >= 0:
        raise text.error(
            "invalid-yaml",
            "a byte order mark in the middle of a document",
            at + 1,
            "remove it: kubectl takes it for a character of the line",
        )


def _check_separators(text: Text) -> None:
    """Raise DocumentError for content on the line of a separator.

    YAML allows it; kubectl allows only a comment, also without a space before it (Go:
    apimachinery util/yaml, YAMLReader).
    """
    data = text.data
    if not data.startswith(b"---") and b"\n---" not in data:
        return
    line = re.compile(rb"^---[^\S\n]*([^\s#][^\n]*)", re.MULTILINE).search(data)
    if line is not None:
        content = line[1].decode().rstrip()
        raise text.error(
            "invalid-yaml",
            f"invalid YAML document separator: {content}",
            line.start(1),
            "after --- only a comment may follow; put the content on the next line",
        )
    # To kubectl a line ends with a line feed; YAML 1.1 has other ends of lines, and
    # what stands behind one is content.
    hidden = re.compile(_HIDDEN, re.MULTILINE).search(data)
    if hidden is not None:
        raise text.error(
            "invalid-yaml",
            "a line that kubectl drops with the comment of the separator before it",
            hidden.start(1),
            "end the line of the separator with a line feed",
        )
    if b"---#" in data:
        text.data = re.compile(rb"^---#", re.MULTILINE).sub(b"--- #", data)


def _check_line_ends(text: Text) -> None:
    """Raise DocumentError for a carriage return before the one of a line end.

    It is a line of its own (YAML 1.2, section 5.4), which kubectl does not see (Go:
    bufio.Reader.ReadLine, of which LineReader makes lines that end with a line feed).
    """
    place = text.data.find(b"\r\r\n")
    if place >= 0:
        raise text.error(
            "invalid-yaml",
            "a line ends with two carriage returns, of which kubectl drops one",
            place,
            "end lines with a line feed, or with one carriage return before it",
        )
