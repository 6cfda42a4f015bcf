"""Reports: tables in Markdown, the same numbers as data, and the ratios for goals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.timing import Ratio, Sample

_PRECISE: Final = 100  # microseconds; smaller times are printed with tenths


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report.

    ``name`` is its key in the JSON and its mark in the documentation. ``lines`` are
    Markdown, ``data`` is the same as JSON.
    """

    name: str
    title: str
    lines: Sequence[str]
    data: object
    ratios: Sequence[Ratio] = field(default=())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; all columns but the first are numbers."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]


def cell(sample: Sample) -> str:
    """Print the best time and, in parentheses, the median, in microseconds."""
    return f"{_microseconds(sample.minimum)} ({_microseconds(sample.median)})"


def _microseconds(nanoseconds: int) -> str:
    microseconds = nanoseconds / 1_000
    if microseconds < _PRECISE:
        return f"{microseconds:,.1f}"
    return f"{microseconds:,.0f}"


def times(ratio: float) -> str:
    """Print a ratio."""
    return f"{ratio:.3g}x"


def as_data(sample: Sample) -> dict[str, object]:
    """Return a sample as JSON, in nanoseconds."""
    return {
        "minimum": sample.minimum,
        "median": sample.median,
        "runs": sample.runs,
        "rounds": [*sample.rounds],
    }


def written_into(text: str, sections: Iterable[Section]) -> str:
    """Put sections between their marks, ``<!-- name -->`` and ``<!-- /name -->``.

    Raises ValueError unless the text has each mark once.
    """
    for section in sections:
        start = f"<!-- {section.name} -->\n"
        end = f"<!-- /{section.name} -->\n"
        if text.count(start) != 1 or text.count(end) != 1:
            raise ValueError(f"the text must have the marks {start}and\n{end}once each")
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = "\n".join([f"{before}{start}", *section.lines, "", f"{end}{after}"])
    return text
