"""A text cut into the parts that are parsed by themselves, as kubectl's reader cuts it.

Theory of operation. kubectl reads a YAML file line by line and parses what stands
between two lines ``---`` (Go: apimachinery util/yaml, YAMLReader). So does this module:
a file of any size needs the memory of one part, a part that is broken leaves the others
alone, and a part can be read again later, by its offset. For

    a: 1
    ---
    # nothing
    ---
    b: [

it yields two chunks, at the lines 1 and 2: the second starts with what has no content.
Parsing them gives a document and an error.

A text that starts like JSON is a row of JSON texts, each a chunk. A large list of
objects (``kubectl get -o json`` or ``-o yaml``) is cut into its items, where it is
written as kubectl writes it; otherwise the whole list is one chunk. A text in UTF-16 is
converted as a whole first, and has no offsets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from io import SEEK_END, BytesIO
from itertools import pairwise
from typing import BinaryIO, Final

import msgspec

from smp._values.values import as_object
from smp.documents._json import end_of_text, looks_like_json
from smp.documents._lists import kind_of_items
from smp.documents._text import UTF8_MARK, UTF16, Text, too_large
from smp.documents._values import values_of
from smp.errors import DocumentError

_BLOCK: Final = 2**18
# A list of objects that is shorter is parsed as a whole, with the same result.
_LARGE_LIST: Final = 2**20

# YAML 1.2, section 9.1.2: three dashes at the start of a line, and then white space or
# the end of the line, start a document. kubectl takes a comment right after them, too.
_SEPARATOR: Final = b"---"
_BEHIND_SEPARATOR: Final = b" \t\r\n#"
# More bytes than it takes to tell whether a line is a separator.
_MARGIN: Final = 8
# Separators, comments and directives such as %YAML belong to the document after them.
# Like others below, the pattern is compiled on use: most texts do not need it, and to
# compile it takes longer than to read a small one.
_NO_CONTENT: Final = (
    # A comment ends at each end of a line that YAML 1.1 has (section 4.1.4).
    rb"(?:(?:---)?[ \t]*(?:#(?:(?!\xc2\x85|\xe2\x80[\xa8\xa9])[^\r\n])*"
    rb"|%[A-Z]+(?:[ \t][^\n]*)?)?\r?\n)*(?:---)?\Z"
)
_BRACE: Final = ord("{")
_SPACE: Final = re.compile(rb"[ \t\r\n]*")

# How kubectl writes a list of objects: each item starts at the start of a line.
_YAML_LIST: Final = rb"(?:---\n)?apiVersion: [\w./]+\nitems:\n(?=- )"
_END_OF_ITEMS: Final = rb"^(?![- #\n])"
_ITEM: Final = rb"^- "
# An item may have an anchor that another item refers to.
_ANCHOR_OR_ALIAS: Final = rb"[ \[{,-][&*][\w-]"


class Chunk(msgspec.Struct, frozen=True):
    """A part of a text that is parsed by itself.

    ``line`` counts from one, ``offset`` counts bytes; it is None where the text was
    converted. ``list_of`` are the apiVersion and the kind that an item takes from the
    list it stands in.
    """

    data: bytes
    source: str
    line: int = 1
    offset: int | None = None
    list_of: tuple[str, str] | None = None


def chunks(file: BinaryIO, source: str, max_bytes: int) -> Iterator[Chunk]:
    """Yield the parts of a text, which may be broken each.

    Raises DocumentError for a text of more than ``max_bytes``, and for one in UTF-16
    that is invalid.
    """
    # Before the first part is used, where the size is known.
    if file.seekable():
        start = file.tell()
        if file.seek(0, SEEK_END) - start > max_bytes:
            raise too_large(source, max_bytes)
        file.seek(start)
    head = file.read(_BLOCK)
    if head[:2] in UTF16:
        # kubectl looks for separators in the bytes of UTF-8, so it finds none.
        yield Chunk(Text(_all(file, head, source, max_bytes), source).data, source)
        return
    # JSON has no separators to look for, so a row of JSON texts is read as a whole. To
    # kubectl a text that begins with a byte order mark is YAML (Go: IsJSONBuffer).
    if looks_like_json(head):
        yield from _json_chunks(_all(file, head, source, max_bytes), source)
        return
    yield from _yaml_chunks(file, head, source, max_bytes)


def _all(file: BinaryIO, head: bytes, source: str, max_bytes: int) -> bytes:
    # One byte more than allowed tells a text that is too large from one that is not.
    data = head + file.read(max(0, max_bytes - len(head)) + 1)
    if len(data) > max_bytes:
        raise too_large(source, max_bytes)
    return data


def _yaml_chunks(
    file: BinaryIO, head: bytes, source: str, max_bytes: int
) -> Iterator[Chunk]:
    buffer = bytearray(head.removeprefix(UTF8_MARK))
    # Where the buffer starts in the text.
    offset, line = len(head) - len(buffer), 1
    searched = 0
    is_complete = False
    while not is_complete:
        block = file.read(_BLOCK)
        is_complete = not block
        buffer += block
        if offset + len(buffer) > max_bytes:
            raise too_large(source, max_bytes)
        # Whether dashes at the end of what was read are a separator is not known yet.
        last = len(buffer) if is_complete else len(buffer) - _MARGIN
        start = 0
        while True:
            end = _next_separator(buffer, searched)
            if end < 0 or end > last:
                break
            searched = end + len(_SEPARATOR)
            if not _has_content(buffer, start, end):
                continue
            # Go: apimachinery util/yaml, LineReader, which returns whole lines.
            data = bytes(memoryview(buffer)[start:end])
            yield from _items_of_yaml(Chunk(data, source, line, offset + start))
            line += data.count(b"\n")
            start = end
        del buffer[:start]
        offset += start
        searched = max(searched - start, len(buffer) - _MARGIN, 0)
    if _has_content(buffer, 0, len(buffer)):
        yield from _items_of_yaml(Chunk(bytes(buffer), source, line, offset))


def _next_separator(buffer: bytearray, start: int) -> int:
    """Find the next separator from a place in a text that begins with a line; or -1."""
    # Finding bytes takes a fraction of the time of searching for a pattern.
    at = 0
    if start > 0 or not buffer.startswith(_SEPARATOR):
        at = buffer.find(b"\n" + _SEPARATOR, max(start - 1, 0)) + 1
        if at == 0:
            return -1
    behind = at + len(_SEPARATOR)
    if buffer[behind : behind + 1] in _BEHIND_SEPARATOR:
        return at
    return _next_separator(buffer, behind)


def _has_content(buffer: bytearray, start: int, end: int) -> bool:
    """Tell whether there is more between two places than separators and comments."""
    # Most documents begin with a word, under a separator that stands alone.
    line = start + len(b"---\n") if buffer.startswith(b"---\n", start) else start
    if line < end and buffer[line : line + 1].isalpha():
        return True
    return re.compile(_NO_CONTENT).match(buffer, start, end) is None


def _items_of_yaml(chunk: Chunk) -> Iterator[Chunk]:
    """Yield the items of a large list of objects that is written as kubectl does."""
    start = re.match(_YAML_LIST, chunk.data) if len(chunk.data) > _LARGE_LIST else None
    if start is None or re.search(_ANCHOR_OR_ALIAS, chunk.data):
        yield chunk
        return
    end_pattern = re.compile(_END_OF_ITEMS, re.MULTILINE)
    end_of_items = end_pattern.search(chunk.data, start.end())
    end = end_of_items.start() if end_of_items else len(chunk.data)
    list_of = _list_without_items(chunk, start.end(), end, b"- {}\n")
    if list_of is None:
        yield chunk
        return
    items = re.compile(_ITEM, re.MULTILINE).finditer(chunk.data, start.end(), end)
    starts = [item.start() for item in items]
    line = chunk.line + chunk.data.count(b"\n", 0, start.end())
    for item_start, item_end in pairwise([*starts, end]):
        data = chunk.data[item_start:item_end]
        yield Chunk(data, chunk.source, line, _move(chunk.offset, item_start), list_of)
        line += data.count(b"\n")


def _json_chunks(data: bytes, source: str) -> Iterator[Chunk]:
    """Cut a row of JSON texts; what is no JSON is cut as YAML."""
    start, line = 0, 1
    after_json = False
    while True:
        space = _SPACE.match(data, start)
        if space is not None:
            line += data.count(b"\n", start, space.end())
            start = space.end()
        if start == len(data):
            return
        # After a JSON text any value is one, a scalar as well (Go: json.Decoder).
        is_json = after_json or looks_like_json(data, start)
        end = end_of_text(data, start) if is_json else None
        # Go: apimachinery util/yaml, YAMLOrJSONDecoder.Decode, falls back to YAML.
        if end is None:
            for chunk in _yaml_chunks(BytesIO(data[start:]), b"", source, len(data)):
                yield msgspec.structs.replace(
                    chunk, line=chunk.line + line - 1, offset=_move(chunk.offset, start)
                )
            return
        yield from _items_of_json(Chunk(data[start:end], source, line, start))
        line += data.count(b"\n", start, end)
        start = end
        after_json = True


class _List(msgspec.Struct):
    """A list of objects, its items not parsed."""

    items: list[msgspec.Raw]


def _items_of_json(chunk: Chunk) -> Iterator[Chunk]:
    items: list[msgspec.Raw] = []
    if len(chunk.data) > _LARGE_LIST:
        # What is no list, or has an error, is parsed as a whole.
        with suppress(msgspec.DecodeError, RecursionError):
            items = msgspec.json.decode(chunk.data, type=_List).items
    places: list[tuple[int, int]] = []
    end = 0
    for item in items:
        text = bytes(item)
        # The items are found in their order, each after the one before.
        start = chunk.data.find(text, end)
        end = start + len(text)
        places.append((start, end))
    list_of = None
    if places and all(chunk.data[start] == _BRACE for start, _end in places):
        first, last = places[0][0], places[-1][1]
        list_of = _list_without_items(chunk, first, last, b"{}")
    if list_of is None:
        yield chunk
        return
    line = chunk.line
    counted = 0
    for start, end in places:
        line += chunk.data.count(b"\n", counted, start)
        counted = start
        data = chunk.data[start:end]
        yield Chunk(data, chunk.source, line, _move(chunk.offset, start), list_of)


def _move(offset: int | None, distance: int) -> int | None:
    return None if offset is None else offset + distance


def _list_without_items(
    chunk: Chunk, start: int, end: int, empty: bytes
) -> tuple[str, str] | None:
    """Return apiVersion and kind of the items of a list, or None where it is no list.

    What is left of a list without its items, but for an ``empty`` one, is small. It is
    also where a second ``items`` shows, which would hide the first from the parser.
    """
    envelope = chunk.data[:start] + empty + chunk.data[end:]
    try:
        [(value, _line)] = values_of(Text(envelope, chunk.source, chunk.line))
    except (DocumentError, ValueError):
        return None
    # That more follows shows in the whole list only (Go: metav1.ListMeta).
    metadata = as_object(as_object(value).get("metadata"))
    if metadata.get("continue") or metadata.get("remainingItemCount"):
        return None
    return kind_of_items(value)
