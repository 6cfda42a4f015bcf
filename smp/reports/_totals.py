"""How many objects of each verdict, and findings of each level, a report has."""

from __future__ import annotations

from collections import Counter

import msgspec

from smp.reports._findings import counted
from smp.reports._model import LEVELS, ObjectReport
from smp.reports._values import printable


class Summary(msgspec.Struct, frozen=True):
    """What a composition knows of one object."""

    label: str
    place: str
    verdict: str
    error: int = 0
    warning: int = 0
    note: int = 0

    @property
    def level(self) -> str:
        """The worst level of the findings; the verdict "failed" counts as an error."""
        if self.error or self.verdict == "failed":
            return "error"
        if self.warning:
            return "warning"
        return "note" if self.note else ""


def summary_of(report: ObjectReport) -> Summary:
    """Return what a composition needs to know of an object."""
    counts = {str(level): count for level, count in counted(report.findings).items()}
    label, place = printable(report.label), printable(str(report.place))
    return Summary(label, place, report.verdict, **counts)


class Totals:
    """The counts of all objects so far."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.levels: Counter[str] = Counter()

    def add(self, summary: Summary) -> None:
        """Count an object."""
        self.verdicts[summary.verdict] += 1
        self.levels["error"] += summary.error
        self.levels["warning"] += summary.warning
        self.levels["note"] += summary.note

    def __str__(self) -> str:
        """Return ``2 objects: 1 changed, 1 unchanged; 3 warnings``."""
        total = self.verdicts.total()
        text = number(total, "object")
        if total:
            counts = [f"{count} {word}" for word, count in self.verdicts.items()]
            text += f": {', '.join(counts)}"
        found = [
            number(self.levels[level], level) for level in LEVELS if self.levels[level]
        ]
        return f"{text}; {', '.join(found)}" if found else text


def number(count: int, noun: str) -> str:
    """Return a number with its noun, ``2 objects``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
