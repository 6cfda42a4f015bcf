"""The marks of JSON texts, scanned token by token.

The library for YAML cannot be used: there is JSON that libyaml does not read, such as
an escaped surrogate pair or a key of more than 1024 characters.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from smp.documents._marks import Mark

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
