"""Values to KYAML (KEP-5295), byte for byte as ``kubectl get -o kyaml`` prints them.

Theory of operation. KYAML is YAML in flow style: objects in braces and lists in
brackets, each member on a line of its own with a comma behind it, strings in double
quotes, and no key that a reader could take for something else. Nothing depends on
indentation. A list of objects or lists alone has its brackets beside theirs. As in the
writer of block style a stack takes the place of recursion, so that only ``MAX_DEPTH``
limits the nesting. The rules are those of Go: sigs.k8s.io/yaml/kyaml, Encoder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any, Final

import msgspec

from smp._values.codec import print_double
from smp._values.steps import count_steps
from smp._values.values import JSON, type_name
from smp.documents._json import dump_json, not_json
from smp.documents._text import MAX_DEPTH
from smp.errors import DepthError

# Go: kyaml.isTypeAmbiguous. Forms with characters that a plain key cannot have (a plus,
# a colon, a dot at its start) are left out.
_WORDS: Final = frozenset(
    ("null", "true", "y", "yes", "on", "false", "n", "no", "off", "t", "f")
)
_NUMBER: Final = re.compile(
    r"""0[xX][0-9a-fA-F]+ | 0[bB][01]+ | 0[oO][0-7]+
    | [0-9]+ (?:\.[0-9]*)? (?:[eE][+-]?[0-9]+)?
    | 0[xX][0-9a-fA-F]+ (?:\.[0-9a-fA-F]*)? [pP]-?[0-9]+
    | (?i: inf | infinity | nan)""",
    re.VERBOSE,
)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_FOLD: Final = "\\\n"
# Go: kyaml.appendEscapedRune. All that unicode.IsPrint has is written as it is.
_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\0": "\\0",
    "\x1b": "\\e",
    "\x85": "\\N",
    "\xa0": "\\_",
    "\u2028": "\\L",
    "\u2029": "\\P",
}


def dump_kyaml(values: Iterable[Any]) -> str:
    """Write values as KYAML documents (KEP-5295), as ``kubectl get -o kyaml`` does.

    It is YAML in which nothing depends on indentation and no text can be taken for
    another value. Keys are in their order. Raises what ``dump_yaml`` raises.
    """
    parts: list[str] = []
    for value in values:
        # Also before the first one: it tells KYAML from JSON.
        parts.append("---\n")
        try:
            _write(value, parts)
        except UnicodeError as error:
            raise not_json(str(error)) from None
        parts.append("\n")
    return "".join(parts)


class _Collection(msgspec.Struct, frozen=True):
    """A list or object that is open, with what is still to be written of it."""

    rest: Iterator[Any]
    is_list: bool
    # Whether the brackets stand beside those of the elements.
    is_cuddled: bool
    # Of the members.
    indent: int


def _write(root: JSON, parts: list[str]) -> None:
    opened = [_Collection(iter([root]), is_list=True, is_cuddled=True, indent=0)]
    is_first = True
    while True:
        collection = opened[-1]
        indent = collection.indent
        try:
            item = next(collection.rest)
        except StopIteration:
            opened.pop()
            if not opened:
                return
            if not collection.is_cuddled:
                parts.append("  " * (indent - 1))
            parts.append("]" if collection.is_list else "}")
            _end(opened, parts)
            is_first = False
            continue
        count_steps(1)
        value = item if collection.is_list else item[1]
        if not collection.is_cuddled:
            parts.append("  " * indent)
        elif not is_first:
            parts.append(", ")
        if not collection.is_list:
            parts.append(f"{_key(item[0])}: ")
        is_first = isinstance(value, dict | list) and bool(value)
        if is_first:
            if len(opened) > MAX_DEPTH:
                problem = f"the value is nested more than {MAX_DEPTH} levels deep"
                raise DepthError(problem)
            opened.append(_open(value, indent, parts))
        else:
            parts.append(_scalar(value, indent))
            _end(opened, parts)


def _open(value: Any, indent: int, parts: list[str]) -> _Collection:
    if isinstance(value, dict):
        parts.append("{\n")
        members = iter(value.items())
        return _Collection(members, is_list=False, is_cuddled=False, indent=indent + 1)
    # Go: Encoder.renderSequence.
    is_cuddled = all(isinstance(element, dict | list) for element in value)
    parts.append("[" if is_cuddled else "[\n")
    inner = indent if is_cuddled else indent + 1
    return _Collection(iter(value), is_list=True, is_cuddled=is_cuddled, indent=inner)


def _end(opened: list[_Collection], parts: list[str]) -> None:
    if not opened[-1].is_cuddled:
        parts.append(",\n")


def _scalar(value: JSON, indent: int) -> str:
    if isinstance(value, str):
        return _text(value, "  " * (indent + 1))
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    if isinstance(value, float) and isfinite(value):
        return print_double(value)
    if value is None or isinstance(value, bool | int | float):
        return dump_json(value, indent=None)
    raise not_json(f"a {type_name(value)}")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise not_json(f"{type_name(key)} as a key")
    return key if _is_plain(key) else f'"{_escape(key)}"'


def _is_plain(key: str) -> bool:
    """Tell whether a key needs no quotes (Go: kyaml.needsQuotes)."""
    # A dash, a dot and a slash may only stand between others.
    if not key or key[0] in "-./" or key[-1] in "-./":
        return False
    if not all(each.isalnum() or each in "_-./" for each in key):
        return False
    return not _is_ambiguous(key)


def _is_ambiguous(key: str) -> bool:
    """Tell whether a reader of YAML may take a plain key for something else.

    Go leaves a number plain that it cannot hold (1e999), and a date that is none
    (2024-13-01), which other readers take for what they look like.
    """
    if key.lower() in _WORDS or _DATE.fullmatch(key):
        return True
    # A sign begins a number where underscores before it are nothing: _-1.
    return _NUMBER.fullmatch(key.replace("_", "").removeprefix("-")) is not None


def _text(text: str, spaces: str) -> str:
    """Write a string in double quotes, each of its lines on one (Go: renderString)."""
    if "\n" not in text:
        return f'"{_escape(text, keeps_tabs=True)}"'
    parts = [f'"{_FOLD}']
    *ended, last = text.split("\n")
    parts += [f"{_line(line, spaces)}\\n{_FOLD}" for line in ended]
    if last:
        parts.append(f"{_line(last, spaces)}{_FOLD}")
    parts.append(f'{spaces}"')
    return "".join(parts)


def _line(line: str, spaces: str) -> str:
    escaped = _escape(line, keeps_tabs=True)
    # White space at the start of a line is part of its indentation, unless the first of
    # it is escaped. Go escapes what has an escape already once more, which changes it.
    margin = "\\" if line.startswith((" ", "\t")) else " "
    return f"{spaces}{margin}{escaped}"


def _escape(text: str, *, keeps_tabs: bool = False) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    # What no text can have is an error, as it is in block style.
    text.encode()
    return "".join(
        each if keeps_tabs and each == "\t" else _escape_character(each)
        for each in text
    )


def _escape_character(character: str) -> str:
    escaped = _ESCAPES.get(character)
    if escaped is not None:
        return escaped
    if character.isprintable():
        return character
    if character.isascii():
        return f"\\x{ord(character):02x}"
    if character <= "\uffff":
        return f"\\u{ord(character):04x}"
    return f"\\U{ord(character):08x}"
