"""The report: what happens to each object, for a human eye. Lines of styled spans;
nothing here prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from typing import Final, TypeAlias

from smp.cli._changes import Change, changes
from smp.cli._errors import inline, printable
from smp.cli._outcome import Outcome
from smp.documents import dump_yaml
from smp.paths import Path
from smp.three_way import LAST_APPLIED
from smp.values import ABSENT, JSON, Absent

Span: TypeAlias = tuple[str, str]
Line: TypeAlias = list[Span]

_HEADING: Final = "bold"
_NOTE: Final = "dim"
_WARNING: Final = "yellow"
_STYLES: Final = {"+": "green", "-": "red", "~": "cyan"}
_SHORT: Final = 100
_CONTEXT: Final = 2
_AT_THE_TOP: Final = ("@@ -1 ", "@@ -1,")
_BOOKKEEPING: Final = Path(("metadata", "annotations", LAST_APPLIED))


def report(outcomes: Iterable[Outcome]) -> Iterator[Line]:
    """Tell of each object what changes in it and what it rests on, and count the
    objects at the end.
    """
    verdicts: Counter[str] = Counter()
    for outcome in outcomes:
        verdict = _verdict(outcome)
        verdicts[verdict] += 1
        yield [(printable(outcome.label), _HEADING), (f": {verdict}", "")]
        yield from ([(f"  {printable(note)}", _NOTE)] for note in outcome.notes)
        yield from _changes(outcome)
        yield from (
            [(f"  warning: {printable(warning)}", _WARNING)]
            for warning in outcome.warnings
        )
        yield []
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    plural = "s" if verdicts.total() != 1 else ""
    yield [(f"{verdicts.total()} object{plural}: {counts}", "")]


def _verdict(outcome: Outcome) -> str:
    if outcome.creates:
        return "to be created"
    return "changed" if outcome.differs else "unchanged"


def _changes(outcome: Outcome) -> Iterator[Line]:
    if outcome.creates:
        yield from _block("+", outcome.after)
    elif isinstance(outcome.before, dict) and isinstance(outcome.after, dict):
        for change in changes(outcome.before, outcome.after, outcome.known):
            yield from _change(change, outcome.pruned)
    elif outcome.differs:
        yield from _change(
            Change(Path(), outcome.before, outcome.after), outcome.pruned
        )


def _change(change: Change, pruned: frozenset[str]) -> Iterator[Line]:
    sign = "+" if change.old is ABSENT else "-" if change.new is ABSENT else "~"
    style = _STYLES[sign]
    where = printable(str(change.path)) or "the whole document"
    note = (
        " (order)"
        if change.is_order
        else " (pruned)"
        if sign == "-" and str(change.path) in pruned
        else ""
    )
    head: Line = [(f"  {sign} ", style), (where, _HEADING), (note, _NOTE)]
    if change.path == _BOOKKEEPING and sign == "~":
        yield [*head, (": updated", _NOTE)]
    elif _is_short(change.old) and _is_short(change.new):
        yield [*head, (f": {_inline(change)}", style)]
    else:
        yield [*head, (":", "")]
        yield from (
            _block(sign, change.new if sign == "+" else change.old)
            if sign != "~"
            else _differing_lines(change)
        )


def _inline(change: Change) -> str:
    return " -> ".join(
        inline(value) for value in (change.old, change.new) if value is not ABSENT
    )


def _is_short(value: JSON | Absent) -> bool:
    if isinstance(value, str) and "\n" in value.rstrip("\n"):
        return False
    return not isinstance(value, dict | list) or not value or _is_short_list(value)


def _is_short_list(value: JSON) -> bool:
    scalars = isinstance(value, list) and not any(
        isinstance(element, dict | list) for element in value
    )
    return scalars and len(inline(value)) <= _SHORT


def _block(sign: str, value: JSON | Absent) -> Iterator[Line]:
    for line in _lines(value):
        yield [(f"      {sign} {line}", _STYLES[sign])]


def _differing_lines(change: Change) -> Iterator[Line]:
    old, new = _lines(change.old), _lines(change.new)
    for line in list(unified_diff(old, new, lineterm="", n=_CONTEXT))[2:]:
        if line.startswith("@@"):
            yield from [] if line.startswith(_AT_THE_TOP) else [[("      ...", _NOTE)]]
        else:
            yield [(f"      {line[:1]} {line[1:]}", _STYLES.get(line[:1], ""))]


def _lines(value: JSON | Absent) -> list[str]:
    if value is ABSENT:
        return []
    text = value if isinstance(value, str) and "\n" in value else dump_yaml([value])
    return [printable(line) for line in text.removesuffix("\n").split("\n")]
