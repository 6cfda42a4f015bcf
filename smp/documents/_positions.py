"""Where the values of a document stand in its text: lines and columns.

A document is read without positions, which few readers ask for and which take longer to
find than the values. Here the text is gone through again, by a scanner for each format,
and only for the documents whose positions are asked for.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Final

import msgspec

from smp._values.values import JSON, as_list, as_object
from smp.documents._chunks import Chunk
from smp.documents._json import looks_like_json, parse_texts
from smp.documents._lists import flatten_lists
from smp.documents._marks import Mark
from smp.documents._text import Text
from smp.documents._values import values_of
from smp.errors import DocumentError
from smp.paths import Path, index_of


class Position(msgspec.Struct, frozen=True):
    """A place in a text: line and column count from one, columns in characters."""

    line: int
    column: int


class Positions:
    """The positions of the values of one document."""

    __slots__ = ("_first_line", "_root", "_value")

    def __init__(self, value: Any, root: Mark, first_line: int) -> None:
        self._value = value
        self._root = root
        self._first_line = first_line

    def __repr__(self) -> str:
        return f"Positions(first_line={self._first_line})"

    def of(self, path: Path) -> Position:
        """Return where the key of a field stands, or an element of a list begins.

        Elements are found by their keys, whatever their index. What a merge key or an
        alias inserts stands where its anchor is. Of a path that leads to nothing, it is
        the position of the innermost value around it.
        """
        mark = self._root
        value = self._value
        for step in path.steps:
            if isinstance(step, str):
                found = (mark.members or {}).get(step)
                value = as_object(value).get(step)
            else:
                elements = as_list(value)
                index = index_of(step, elements)
                marks = mark.elements or []
                is_there = 0 <= index < min(len(marks), len(elements))
                found = marks[index] if is_there else None
                value = elements[index] if is_there else None
            # What a List gives to its items, such as their kind, is in no text.
            if found is None:
                break
            mark = found
        return Position(mark.line + self._first_line, mark.column + 1)


def positions(chunk: Chunk) -> list[Positions]:
    """Return the positions in each document that ``parse`` returns, in its order.

    Raises DocumentError.
    """
    text = Text(chunk.data, chunk.source, chunk.line)
    if not text.data.endswith(b"\n"):
        text.data += b"\n"
    found: list[Positions] = []
    for value, root in _mark_values(text):
        items = [value]
        marks = [root]
        if chunk.list_of is not None:
            # In YAML the item of a large list is an element with its dash.
            if isinstance(value, list):
                items, marks = value, root.elements or []
        else:
            flat = flatten_lists(value)
            # Of a list of objects each item is a document.
            if len(flat) != 1 or flat[0] is not value:
                items = flat
                marks = (root.members or {}).get("items", root).elements or []
        pairs = zip(items, marks, strict=True)
        found += [Positions(item, mark, chunk.line) for item, mark in pairs]
    return found


def _mark_values(text: Text) -> list[tuple[JSON, Mark]]:
    """Return each value of a text in either format with its marks."""
    if looks_like_json(text.data):
        # As the reader of values does, what is no JSON is read as YAML.
        with suppress(DocumentError):
            values = [value for value, _line in parse_texts(text)]
            return list(zip(values, marks_of(text.data.decode()), strict=True))
    from smp.documents import _yaml_marks  # noqa: PLC0415  # see above

    values = [value for value, _line in values_of(text)]
    return list(zip(values, _yaml_marks.marks_of(text.data), strict=True))


# The library for YAML cannot be used: there is JSON that libyaml does not read, such as
# an escaped surrogate pair or a key of more than 1024 characters.
_LEXEMES: Final = r'("[^"\\]*(?:\\.[^"\\]*)*")|[{}\[\]:,]|[^\s{}\[\]:,"]+'


def marks_of(text: str) -> list[Mark]:
    """Return the marks of each of several JSON texts in a row, which are valid."""
    roots: list[Mark] = []
    # The lists and objects that are open, and for each object the key before a value.
    open_: list[Mark] = []
    keys: list[tuple[str, Mark] | None] = []
    line = start_of_line = end = 0
    for token in re.compile(_LEXEMES, re.DOTALL).finditer(text):
        start = token.start()
        breaks = text.count("\n", end, start)
        if breaks:
            line += breaks
            start_of_line = text.rfind("\n", end, start) + 1
        end = token.end()
        first = text[start]
        # What a colon or a comma separates is known from the object or list around it.
        if first in ":,":
            continue
        if first in "]}":
            open_.pop()
            keys.pop()
            continue
        mark = Mark(line, start - start_of_line)
        parent = open_[-1] if open_ else None
        if parent is None:
            roots.append(mark)
        elif parent.elements is not None:
            parent.elements.append(mark)
        elif parent.members is not None:
            # In an object, keys and values take turns.
            key = keys[-1]
            if key is None:
                keys[-1] = msgspec.json.decode(token[1], type=str), mark
                continue
            name, mark_of_key = key
            mark = mark_of_key
            parent.members[name] = mark
            keys[-1] = None
        if first == "{":
            mark.members = {}
        elif first == "[":
            mark.elements = []
        if first in "{[":
            open_.append(mark)
            keys.append(None)
    return roots
