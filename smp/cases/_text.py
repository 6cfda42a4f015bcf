"""The text of a case file: which lines are a case, and a member of one written or
rewritten in place.

Values are written in flow style where they fit into a line, since most of a case is
small, nested data.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import Final

from smp.documents import dump_json, resolve
from smp.values import JSON

_WIDTH: Final = 120
_PLAIN: Final = re.compile(r"[A-Za-z$/][\w$./-]*", re.ASCII)
_CASES: Final = re.compile(r"cases:\s*(#.*)?$")
_ITEM: Final = re.compile(r"( *)- +(?=\S)")
_MEMBER: Final = re.compile(r"( *)(?:- +)?(\w+):(?: |$)")
_IDLE: Final = re.compile(r"\s*(#.*)?$")


def spans(lines: list[str]) -> list[tuple[int, int]]:
    """Find the lines of each case, as half-open ranges; none where cases are not
    written in block style.

    Comments and empty lines at the end of a case belong to what follows.
    """
    top = next(
        (at for at, line in enumerate(lines, 1) if _CASES.match(line)), len(lines)
    )
    end = next(
        (at for at in range(top, len(lines)) if re.match(r"[^\s#-]", lines[at])),
        len(lines),
    )
    items = [(at, item) for at in range(top, end) if (item := _ITEM.match(lines[at]))]
    starts = [at for at, item in items if item[1] == items[0][1][1]]
    return [
        (start, _trimmed(lines, start, stop))
        for start, stop in pairwise([*starts, end])
    ]


def with_member(case: list[str], name: str, value: JSON) -> list[str]:
    """Return the lines of a case with one member set, in its place or at the end; None
    removes it.
    """
    item = _ITEM.match(case[0])
    indent = item.end() if item else 0
    members = [
        (at, found) for at, line in enumerate(case) if (found := _MEMBER.match(line))
    ]
    starts = [at for at, found in members if at == 0 or len(found[1]) == indent]
    written = [] if value is None else block(name, value, indent)
    for start, stop in pairwise([*starts, len(case)]):
        if case[start][indent:].startswith(f"{name}:"):
            written[:1] = [case[start][:indent] + line[indent:] for line in written[:1]]
            return [*case[:start], *written, *case[_trimmed(case, start, stop) :]]
    return [*case, *written]


def _trimmed(lines: list[str], start: int, stop: int) -> int:
    while stop > start + 1 and _IDLE.match(lines[stop - 1]):
        stop -= 1
    return stop


def block(name: str, value: JSON, indent: int) -> list[str]:
    """Write a member: on one line where it fits, else its own members or elements on
    lines of their own.
    """
    margin = " " * indent
    line = f"{margin}{_word(name)}: {flow(value)}"
    if len(line) <= _WIDTH or not isinstance(value, dict | list) or not value:
        return [line]
    if isinstance(value, dict):
        inner = [block(*member, indent + 2) for member in value.items()]
    else:
        inner = [_element(element, indent + 2) for element in value]
    return [f"{margin}{_word(name)}:", *chain.from_iterable(inner)]


def _element(value: JSON, indent: int) -> list[str]:
    line = f"{' ' * indent}- {flow(value)}"
    if len(line) <= _WIDTH or not isinstance(value, dict) or not value:
        return [line]
    first, *others = chain.from_iterable(
        block(*member, indent + 2) for member in value.items()
    )
    return [f"{' ' * indent}- {first.lstrip()}", *others]


def flow(value: JSON) -> str:
    """Write a value on one line, in YAML's flow style."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{_word(name)}: {flow(member)}" for name, member in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return _word(value) if isinstance(value, str) else dump_json(value, indent=None)


def _word(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and isinstance(resolve(text), str)
    return text if plain else dump_json(text, indent=None)
