"""How many objects of each verdict, and findings of each level, a run has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from smp.reports._model import LEVELS, ObjectReport
from smp.reports._values import printable


class Summary(msgspec.Struct, frozen=True):
    """What a composition knows of one object, beside its text."""

    label: str
    place: str
    verdict: str
    levels: dict[str, int]

    @property
    def level(self) -> str:
        """The worst level of the findings; the verdict "failed" counts as an error."""
        if self.verdict == "failed":
            return "error"
        return next((level for level in LEVELS if level in self.levels), "")


class Piece(msgspec.Struct, frozen=True):
    """What a composition that begins with a summary needs to know of an object."""

    summary: Summary
    text: str

    @classmethod
    def of(cls, report: ObjectReport, text: str) -> Piece:
        """Return the piece of an object with its text."""
        levels = Counter[str](finding.severity for finding in report.findings)
        label, place = printable(report.label), printable(str(report.place))
        verdict = report.outcome or report.verdict
        return cls(Summary(label, place, verdict, {**levels}), text)

    def encoded(self) -> str:
        """Return the piece as a text, which another process may have made."""
        return msgspec.json.encode(self).decode()


class Totals:
    """The counts of all objects so far.

    ``set_aside`` are the differences that do not count, by the reason.
    """

    def __init__(self, number_format: str = "") -> None:
        self._format = number_format
        self.verdicts: Counter[str] = Counter()
        self.levels: Counter[str] = Counter()
        self.set_aside: Counter[str] = Counter()

    def add(
        self,
        verdict: str,
        levels: Mapping[str, int] | None = None,
        set_aside: Mapping[str, int] | None = None,
    ) -> None:
        """Count an object."""
        self.verdicts[verdict] += 1
        self.levels.update(levels or {})
        self.set_aside.update(set_aside or {})

    def line(self, skipped: int = 0) -> str:
        """Return ``2 objects: 1 changed, 1 unchanged; 3 warnings``."""
        total = self.verdicts.total()
        counts = {**self.verdicts, **({"skipped": skipped} if skipped else {})}
        text = number(total, "object", self._format)
        if counts:
            text += f": {list_counts(counts, self._format)}"
        levels = [name for name in LEVELS if self.levels[name]]
        if levels:
            text += f"; {', '.join(number(self.levels[name], name) for name in levels)}"
        if self.set_aside:
            differences = number(self.set_aside.total(), "difference")
            text += (
                f"; {differences} set aside: {list_counts(sort_counts(self.set_aside))}"
            )
        return text


def list_counts(counts: Mapping[str, int], number_format: str = "") -> str:
    """Return how many there are of each name: ``1 changed, 2 unchanged``."""
    return printable(
        ", ".join(f"{count:{number_format}} {name}" for name, count in counts.items())
    )


def sort_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts with the largest first, and equal ones by their names.

    The objects that were counted have no order of members that could decide.
    """
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def number(count: int, noun: str, number_format: str = "") -> str:
    """Return a number with its noun, ``2 objects``."""
    ending = "es" if noun.lower().endswith("patch") else "s"
    return f"{count:{number_format}} {noun}{'' if count == 1 else ending}"
