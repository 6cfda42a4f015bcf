"""An object before and after as YAML text, compared line by line."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff
from itertools import zip_longest
from typing import Final

from smp.cli._errors import printable
from smp.cli._object_outcomes import ObjectOutcome
from smp.cli._report import Line, heading
from smp.codec import sort_members
from smp.documents import dump_yaml
from smp.values import JSON

# What diff prints where there is no file.
_NO_FILE: Final = "/dev/null"
# The lines around a difference, as in diff -u.
_CONTEXT: Final = 3
_STYLES: Final = {"-": "red", "+": "green", "@": "cyan"}
# The marks of diff --side-by-side, by what SequenceMatcher calls the lines.
_MARKS: Final = {"equal": " ", "replace": "|", "delete": "<", "insert": ">"}
# A mark with a space before and after it.
_GAP: Final = 3
_NARROWEST: Final = 10


def unified(outcome: ObjectOutcome) -> Iterator[Line]:
    """Yield the lines of a unified diff; none for an object that does not change."""
    if not outcome.differs:
        return
    label = printable(outcome.label)
    before = _NO_FILE if outcome.creates else printable(outcome.old_label)
    after = _NO_FILE if outcome.removes else label
    yield [(f"--- {before}", "bold")]
    yield [(f"+++ {after}", "bold")]
    difference = unified_diff(
        _lines(outcome.before), _lines(outcome.judged), lineterm="", n=_CONTEXT
    )
    # The first two lines name the files.
    for line in list(difference)[2:]:
        yield [(line, _STYLES.get(line[0], ""))]


def side_by_side(outcome: ObjectOutcome, width: int) -> Iterator[Line]:
    """Yield two columns: the object before and after, where they differ.

    ``width`` is that of both, in characters; a longer line is continued on the next.
    """
    if not outcome.differs:
        return
    yield heading(outcome)
    column = max(_NARROWEST, (width - _GAP) // 2)
    before, after = _lines(outcome.before), _lines(outcome.judged)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for number, hunk in enumerate(matcher.get_grouped_opcodes(_CONTEXT)):
        if number:
            yield [("...", "dim")]
        for tag, start, end, new_start, new_end in hunk:
            pairs = zip_longest(before[start:end], after[new_start:new_end])
            for left, right in pairs:
                yield from _row(left, right, tag, column)
    yield []


def _row(left: str | None, right: str | None, tag: str, column: int) -> Iterator[Line]:
    # Of lines that are replaced, one side may have more than the other.
    if tag == "replace" and (left is None or right is None):
        tag = "insert" if left is None else "delete"
    is_equal = tag == "equal"
    parts = zip_longest(_cut(left, column), _cut(right, column), fillvalue="")
    for left_part, right_part in parts:
        mark = f" {_MARKS[tag]} " if right_part else f" {_MARKS[tag]}"
        yield [
            (left_part.ljust(column), "" if is_equal else "red"),
            (mark, ""),
            (right_part, "" if is_equal else "green"),
        ]


def _cut(line: str | None, width: int) -> list[str]:
    if not line:
        return [""]
    return [line[start : start + width] for start in range(0, len(line), width)]


def _lines(value: JSON) -> list[str]:
    """Return a value as lines of YAML, with the names sorted as kubectl prints them."""
    if value is None:
        return []
    # Two objects may have their members in another order.
    text = dump_yaml([sort_members(value)])
    return [printable(line) for line in text.removesuffix("\n").split("\n")]
