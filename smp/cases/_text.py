"""The text of a case file: the lines of each case, and members rewritten in place.

An update must leave all other lines as they are written, comments too, which no YAML
library does. So a file is edited by lines, provided that the list of cases and their
members are in block style:

    cases:
      - description: a        # an item: ``_ITEM``
        live: {}              # a member of the case: ``_MEMBER``

Values are written in flow style where they fit into a line, since most of a case is
small, nested data.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import Final

from smp._values.values import JSON
from smp.documents import dump_json, resolve

_WIDTH: Final = 120
# Strings that may be written without quotes, if they resolve to themselves.
_PLAIN: Final = re.compile(r"[A-Za-z$/][\w$./-]*", re.ASCII)
_CASES: Final = re.compile(r"cases:\s*(#.*)?$")
_TOP_LEVEL: Final = re.compile(r"[^\s#-]")
_ITEM: Final = re.compile(r"( *)- +(?=\S)")
_MEMBER: Final = re.compile(r"( *)(?:- +)?(\w+):(?: |$)")
_EMPTY_OR_COMMENT: Final = re.compile(r"\s*(#.*)?$")


def spans(lines: list[str]) -> list[tuple[int, int]]:
    """Find the lines of each case, as half-open ranges.

    There are none where cases are not written in block style. Comments and empty lines
    at the end of a case belong to what follows.
    """
    # The list of cases: from the line after ``cases:`` to the next member of the file.
    top = len(lines)
    for number, line in enumerate(lines):
        if _CASES.match(line):
            top = number + 1
            break
    end = top
    while end < len(lines) and not _TOP_LEVEL.match(lines[end]):
        end += 1
    # The cases are the items with the indentation of the first one; items with more
    # belong to lists inside of them.
    starts: list[int] = []
    indent: str | None = None
    for number in range(top, end):
        item = _ITEM.match(lines[number])
        if item is None:
            continue
        if indent is None:
            indent = item[1]
        if item[1] == indent:
            starts.append(number)
    return [
        (start, _end_of_content(lines, start, stop))
        for start, stop in pairwise([*starts, end])
    ]


def add_member(case: list[str], name: str, value: JSON) -> list[str]:
    """Return the lines of a case with one member set; None removes it.

    The member is written in its place, or at the end if the case does not have it.
    """
    item = _ITEM.match(case[0])
    indent = item.end() if item else 0
    starts: list[int] = []
    for number, line in enumerate(case):
        member = _MEMBER.match(line)
        # The first member stands behind the dash; a deeper one is not of the case.
        if member and (number == 0 or len(member[1]) == indent):
            starts.append(number)
    written = [] if value is None else block(name, value, indent)
    for start, stop in pairwise([*starts, len(case)]):
        if case[start][indent:].startswith(f"{name}:"):
            if written:
                # What stands before the member stays: a dash, if it is the first one.
                written[0] = case[start][:indent] + written[0][indent:]
            after = case[_end_of_content(case, start, stop) :]
            return [*case[:start], *written, *after]
    return [*case, *written]


def _end_of_content(lines: list[str], start: int, stop: int) -> int:
    while stop > start + 1 and _EMPTY_OR_COMMENT.match(lines[stop - 1]):
        stop -= 1
    return stop


def block(name: str, value: JSON, indent: int) -> list[str]:
    """Write a member on one line where it fits, else each of its parts on its own."""
    margin = " " * indent
    line = f"{margin}{_scalar_text(name)}: {flow(value)}"
    if len(line) <= _WIDTH or not isinstance(value, dict | list) or not value:
        return [line]
    lines = [f"{margin}{_scalar_text(name)}:"]
    if isinstance(value, dict):
        for member, member_value in value.items():
            lines += block(member, member_value, indent + 2)
    else:
        for element in value:
            line = f"{margin}  - {flow(element)}"
            if len(line) <= _WIDTH or not isinstance(element, dict) or not element:
                lines.append(line)
                continue
            # The first member stands behind the dash, the others below it.
            members = [
                block(member, member_value, indent + 4)
                for member, member_value in element.items()
            ]
            first, *others = chain.from_iterable(members)
            lines += [f"{margin}  - {first.lstrip()}", *others]
    return lines


def flow(value: JSON) -> str:
    """Write a value on one line, in YAML's flow style."""
    if isinstance(value, dict):
        members = [
            f"{_scalar_text(name)}: {flow(member)}" for name, member in value.items()
        ]
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(element) for element in value) + "]"
    if isinstance(value, str):
        return _scalar_text(value)
    # Numbers, booleans and null are written in the same way in YAML and JSON.
    return dump_json(value, indent=None)


def _scalar_text(text: str) -> str:
    """Write a string, quoted if without quotes it could be of another type."""
    if _PLAIN.fullmatch(text) and isinstance(resolve(text), str):
        return text
    return dump_json(text, indent=None)
