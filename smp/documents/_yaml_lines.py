"""The YAML that nearly all manifests are written in, read line by line.

Theory of operation. ``value_of_lines`` reads a subset of YAML: block style with the
usual indentation, keys and scalars on one line, literal blocks, lists of scalars in
brackets and objects of scalars in braces. At anything else it gives up and returns
None: the library then reads the text from its start. So it must return just what
``_yaml_reader`` would, and reports no errors: a line that does not fit may be wrong, or
only unusual. It takes a fraction of the time, and most commands need not load the
library at all.

A collection has the indentation of its first entry. Its entries stand at the same
indentation; a line with less ends it, and a line with more is unusual, because what an
entry holds was read with the entry. The rest of a line behind a dash is read as if it
were a line of its own, with spaces in place of the dash.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Final

import msgspec

from smp._values.steps import count_steps
from smp._values.values import JSON
from smp.documents._scalars import resolve
from smp.documents._text import has_unusual_character

# A library that reads deeply nested documents without recursion does it better.
_MAX_DEPTH: Final = 64
# Text that starts with a letter: no indicator, and no number (YAML 1.2, section 7.3.3).
# Its colons are followed by more text, or else it ends there.
_KEY: Final = re.compile(
    r"""([A-Za-z_][^ :#]*(?::[^ :#]+)*|"[^"\\]*"|'[^']*'):(?: +|\Z)"""
)
# Readers look for the colon of a key within 1024 characters (section 7.4.2).
_LONGEST_KEY: Final = 1000
# These patterns are compiled when they are first needed, as that takes time.
_DOUBLE_QUOTED: Final = r'("(?:[^"\\]|\\[\\"nrtbf])*") *(?: #.*)?\Z'
_SINGLE_QUOTED: Final = r"'((?:[^']|'')*)' *(?: #.*)?\Z"
# A list in brackets, or an object in braces, with elements that are quoted or begin
# with a letter or digit.
_ELEMENT: Final = r"""(?:"[^"\\]*"|'[^']*'|[A-Za-z0-9_./][^,\[\]{}:#"' ]*)"""
_FLOW_LIST: Final = rf"(\[ *{_ELEMENT}(?: *, *{_ELEMENT})* *\]) *(?: #.*)?\Z"
_MEMBER: Final = rf"""([A-Za-z_][^,\[\]{{}}:#"' ]*): +({_ELEMENT})"""
_FLOW_OBJECT: Final = rf"(\{{ *{_MEMBER}(?: *, *{_MEMBER})* *\}}) *(?: #.*)?\Z"
_INDICATORS: Final = frozenset("-?:,[]{}#&*!|>'\"%@`")
_LITERALS: Final = frozenset({"|", "|-", "|+"})


class _UnusualError(Exception):
    """The text has something that is left to the library."""


def value_of_lines(text: str) -> tuple[JSON, int] | None:
    """Return the value of a text with one document, and the line where it starts.

    None for a text that is left to the library.
    """
    # A literal block at the end would lack its line break.
    if "|" in text and not text.endswith("\n"):
        return None
    if has_unusual_character(text) or "\t" in text:
        return None
    reader = _Reader(text.split("\n"))
    try:
        return reader.document()
    except _UnusualError:
        return None


class _Reader:
    """The next line that is no comment, "" at the end, and its indentation."""

    __slots__ = ("content", "indent", "lines", "next_line")

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.next_line = 0
        self.content = ""
        self.indent = 0

    def document(self) -> tuple[JSON, int]:
        self.advance()
        if self.content.rstrip(" ") == "---" and not self.indent:
            self.advance()
        first_line = self.next_line
        if not self.content or self.content.startswith("%"):
            raise _UnusualError
        value = self.collection(0)
        if self.content:
            raise _UnusualError
        return value, first_line

    def advance(self) -> None:
        """Go to the next line that has content."""
        count_steps(1)
        lines = self.lines
        at = self.next_line
        while at < len(lines):
            line = lines[at]
            at += 1
            content = line.lstrip(" ")
            if content and content[0] != "#":
                self.next_line = at
                self.content = content
                self.indent = len(line) - len(content)
                return
        self.next_line = at
        self.content = ""
        self.indent = -1

    def collection(self, depth: int) -> JSON:
        """Read the list or object that begins at the current line."""
        if depth > _MAX_DEPTH:
            raise _UnusualError
        if self.content == "-" or self.content.startswith("- "):
            return self.list(depth)
        return self.object(depth)

    def list(self, depth: int) -> list[JSON]:
        """Read a list: elements with dashes at one indentation."""
        indent = self.indent
        elements: list[JSON] = []
        while self.indent == indent:
            content = self.content
            if content == "-":
                self.advance()
                if self.indent > indent:
                    elements.append(self.collection(depth + 1))
                else:
                    elements.append(None)
                continue
            # In an object, a member at the indentation of the list ends it.
            if not content.startswith("- "):
                return elements
            rest = content[1:].lstrip(" ")
            if not rest or rest[0] == "#":
                raise _UnusualError
            if rest == "-" or rest.startswith("- ") or _KEY.match(rest):
                self.indent = indent + len(content) - len(rest)
                self.content = rest
                elements.append(self.collection(depth + 1))
            else:
                elements.append(self.scalar(rest, indent))
        if self.indent > indent:
            raise _UnusualError
        return elements

    def object(self, depth: int) -> dict[str, JSON]:
        indent = self.indent
        members: dict[str, JSON] = {}
        while self.indent == indent:
            content = self.content
            match = _KEY.match(content)
            if match is None:
                raise _UnusualError
            key = match[1]
            if len(key) > _LONGEST_KEY:
                raise _UnusualError
            if key[0] in "\"'":
                key = key[1:-1]
            elif not isinstance(resolve(key), str):
                raise _UnusualError
            # A duplicate key is an error, which the library gives a place.
            if key in members:
                raise _UnusualError
            rest = content[match.end() :]
            if rest and rest[0] != "#":
                members[key] = self.scalar(rest, indent)
                continue
            self.advance()
            # A list in an object may stand at the indentation of its key.
            is_list_here = self.indent == indent and (
                self.content == "-" or self.content.startswith("- ")
            )
            if self.indent > indent or is_list_here:
                members[key] = self.collection(depth + 1)
            else:
                members[key] = None
        if self.indent > indent:
            raise _UnusualError
        return members

    def scalar(self, text: str, indent: int) -> JSON:
        """Read the rest of a line, and go to the next one.

        ``indent`` is the indentation of the collection that the scalar is in.
        """
        first = text[0]
        if first not in _INDICATORS:
            self.advance()
            return _plain(text)
        if first == "|":
            if text not in _LITERALS:
                raise _UnusualError
            return self.literal(text, indent)
        self.advance()
        if first in "\"'":
            end = text.find(first, 1)
            rest = text[end + 1 :]
            if end > 0 and "\\" not in text and _is_space_or_comment(rest):
                return text[1:end]
        if first == '"':
            quoted = re.match(_DOUBLE_QUOTED, text)
            if quoted is None:
                raise _UnusualError
            # These escapes are those of JSON.
            return msgspec.json.decode(quoted[1].encode(), type=str)
        if first == "'":
            quoted = re.match(_SINGLE_QUOTED, text)
            if quoted is None:
                raise _UnusualError
            return quoted[1].replace("''", "'")
        if first == "-" and text[1:2] not in ("", " "):
            return _plain(text)
        return _flow(text)

    def literal(self, header: str, indent: int) -> str:
        """Read a literal block: lines of more indentation than what it is in."""
        lines = self.lines
        start = at = self.next_line
        first_line = lines[at]
        inner = len(first_line) - len(first_line.lstrip(" "))
        # Empty lines before the text have rules of their own.
        if inner == len(first_line) or inner <= indent:
            raise _UnusualError
        margin = first_line[:inner]
        while at < len(lines) and (
            lines[at].startswith(margin) or not lines[at].strip(" ")
        ):
            at += 1
        self.next_line = at
        self.advance()
        # Less indentation than the block has and more than what it is in is an error.
        if self.indent > indent:
            raise _UnusualError
        text = "\n".join([line[inner:] for line in lines[start:at]])
        # Where the text ends, so does the last line: there is no line after it.
        if at < len(lines):
            text += "\n"
        # YAML 1.2, section 8.1.1.2: how many line breaks at the end belong to the text.
        if header == "|+":
            return text
        stripped = text.rstrip("\n")
        return stripped if header == "|-" else f"{stripped}\n"


def _flow(text: str) -> JSON:
    """Read a list in brackets or an object in braces, both on one line."""
    if text == "{}":
        return {}
    if text == "[]":
        return []
    flow_list = re.match(_FLOW_LIST, text)
    if flow_list is not None:
        return [_element(element) for element in re.findall(_ELEMENT, flow_list[1])]
    flow_object = re.match(_FLOW_OBJECT, text)
    if flow_object is None:
        raise _UnusualError
    members: dict[str, JSON] = {}
    for key, element in re.findall(_MEMBER, flow_object[1]):
        # A duplicate key is an error, which the library gives a place.
        if key in members or not isinstance(resolve(key), str):
            raise _UnusualError
        members[key] = _element(element)
    return members


def _element(text: str) -> JSON:
    return text[1:-1] if text[0] in "\"'" else _plain(text)


def _is_space_or_comment(rest: str) -> bool:
    """Tell whether the rest of a line behind a scalar says nothing."""
    return not rest or (rest[0] == " " and rest.lstrip(" ")[:1] in ("", "#"))


def _plain(text: str) -> JSON:
    text = text.partition(" #")[0].rstrip(" ")
    # It would be a key.
    if ": " in text or text[-1] == ":":
        raise _UnusualError
    try:
        value = resolve(text)
    except ValueError:
        raise _UnusualError from None
    if isinstance(value, float) and not isfinite(value):
        raise _UnusualError
    return value
