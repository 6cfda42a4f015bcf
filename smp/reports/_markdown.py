"""Markdown for a comment on a pull request, no longer than GitHub takes one.

What a user should look at comes first: objects that failed or have errors, then those
with warnings, then the other ones that change. Each is folded. Unchanged objects are
counted. Where there is no more room, the objects that are left out are counted too.

Theory of operation. A piece is JSON: a summary and the text of the object, which has a
limit of its own. The composition keeps pieces by rank, and of each rank no more than
fit into the whole text, so that its memory has a bound. At the end it writes the ranks
one after the other, as long as there is room.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from smp._values.findings import Finding
from smp._values.values import same
from smp.explain import ABOUT_LISTS
from smp.reports._model import LEVELS, ObjectReport
from smp.reports._printing import Printer
from smp.reports._totals import Piece, Summary, Totals, number
from smp.reports._values import ANNOTATION, cut, printable, show_change, yaml_text

if TYPE_CHECKING:
    from smp.explain import Cause

# The longest body of a comment that GitHub takes, in characters.
LIMIT: Final = 65_536
# So much of it is for the heading, and for what says how much was left out.
_RESERVE: Final = 1_000
_LONGEST_OBJECT: Final = 12_000
_LONGEST_LINE: Final = 400
# In the order in which ranks are written.
_RANKS: Final = ("error", "warning", "note", "")
_SYMBOLS: Final = {
    "error": ":x: ",
    "warning": ":warning: ",
    "note": ":information_source: ",
}
# What begins markup, also within a line (CommonMark 0.31, section 6; GitHub Flavored
# Markdown, sections 4.10 and 6.9; GitHub's formulas).
_MARKUP: Final = frozenset("\\`*_{}[]<>|~@#&$")
# What GitHub makes a link of without any markup (section 6.9).
_LINKS: Final = (("://", "&#58;//"), ("www.", "www&#46;"))
# Between these and what follows, GitHub sees no mention of a user or of an issue.
_ZERO_WIDTH_SPACE: Final = "\u200b"


def make_printer(title: str) -> Printer:
    """Return the printer of objects as folded sections."""

    def piece(report: ObjectReport) -> str:
        made = Piece.of(report, "")
        if made.summary.level or report.verdict not in ("unchanged", "checked"):
            made = Piece(made.summary, _section(report, made.summary))
        return made.encoded()

    return Printer(piece, start=partial(_Comment, title or "smp"))


class _Comment:
    """The sections so far, by rank, and what was counted."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._totals = Totals()
        self._sections: dict[str, list[str]] = {rank: [] for rank in _RANKS}
        self._room = dict.fromkeys(_RANKS, LIMIT - _RESERVE)
        self._left_out = 0

    def add(self, piece: str) -> Iterator[str]:
        """Keep a section, as far as it can still be written."""
        decoded = msgspec.json.decode(piece, type=Piece)
        summary = decoded.summary
        self._totals.add(summary.verdict, summary.levels)
        # The text of one object never gets in the way of others of a worse level.
        if decoded.text:
            rank = summary.level
            self._room[rank] -= length(decoded.text)
            if self._room[rank] >= 0:
                self._sections[rank].append(decoded.text)
            else:
                self._left_out += 1
        yield from ()

    def end(self) -> Iterator[str]:
        """Write the heading, and sections until there is no more room."""
        title = cut(_escape(self._title), _RESERVE // 4)
        room = LIMIT - _RESERVE
        yield f"### {title}\n\n{self._totals.line()}\n"
        for rank in _RANKS:
            for text in self._sections[rank]:
                room -= length(text)
                if room >= 0:
                    yield text
                else:
                    self._left_out += 1
        if self._left_out:
            objects = number(self._left_out, "object")
            yield f"\n{objects} left out: a comment has at most {LIMIT} characters.\n"


def length(text: str) -> int:
    """Return the length of a text as JavaScript counts it, the longest count there is.

    GitHub says characters, and not which. A character beyond 16 bits counts as two.
    """
    return len(text) + sum(char > "\uffff" for char in text)


def _section(report: ObjectReport, summary: Summary) -> str:
    """Return an object as a folded section, cut at whole lines where it is long."""
    levels = summary.levels
    counts = [number(levels[level], level) for level in LEVELS if level in levels]
    about = ", ".join([report.verdict, *counts])
    label = _html(cut(printable(report.label), _LONGEST_LINE))
    symbol = _SYMBOLS.get(summary.level, "")
    opening = f"\n<details><summary>{symbol}<code>{label}</code>: {about}</summary>\n\n"
    closing = "\n</details>\n"
    room = _LONGEST_OBJECT - length(opening) - length(closing)
    lines: list[str] = []
    left_out = 0
    for line in _lines(report):
        room -= length(line) + 1
        # What stands behind a line that has no room is left out as well.
        if room >= 0 and not left_out:
            lines.append(line)
        else:
            left_out += 1
    if left_out:
        lines += ["", f"{number(left_out, 'more line')} left out."]
    return opening + "\n".join(lines) + "\n" + closing


def _lines(report: ObjectReport) -> Iterator[str]:
    place = printable(str(report.place))
    yield f"{_code(place)}"
    yield ""
    for line in report.error.splitlines():
        yield f"> {_code(printable(line))}  "
    if report.error:
        yield ""
    for finding in report.findings:
        if finding.origin != "failure":
            yield _print_finding(finding)
    # What stays as it is needs no review, and the annotation repeats the manifest.
    changes = [
        cause
        for cause in report.causes
        if not same(cause.before, cause.after)
        and cause.code not in ABOUT_LISTS
        and cause.path != ANNOTATION
    ]
    if changes:
        yield ""
        yield "| path | live | result | why |"
        yield "|---|---|---|---|"
        yield from (_row(cause) for cause in changes)
    if not report.causes and report.verdict in ("new", "changed", "renamed"):
        yield from _fence(yaml_text(report.patch))
    for note in report.notes:
        yield ""
        yield _escape(cut(printable(note), _LONGEST_LINE))


def _fence(text: str) -> Iterator[str]:
    """Yield a text as a block of code, in which no line ends the block."""
    lines = printable(text).splitlines()
    ticks = "```"
    while any(ticks in line for line in lines):
        ticks += "`"
    yield ""
    yield f"{ticks}yaml"
    yield from lines
    yield ticks


def _row(cause: Cause) -> str:
    before, after = show_change(cause.before, cause.after)
    cells = [
        _code(str(cause.path) or "the whole object"),
        _code(before),
        _code(after),
        _escape(cut(printable(cause.sentence), _LONGEST_LINE)),
    ]
    return f"| {' | '.join(cells)} |"


def _print_finding(finding: Finding) -> str:
    where = f"{_code(str(finding.path))}: " if finding.path.steps else ""
    sentence = _escape(cut(printable(finding.sentence), _LONGEST_LINE))
    text = (
        f"- {_SYMBOLS.get(finding.severity, '')}{where}{sentence} {_code(finding.code)}"
    )
    if finding.remedy:
        remedy = _escape(cut(printable(str(finding.remedy)), _LONGEST_LINE))
        text += f"<br>Remedy: {remedy}"
    return text


def _code(text: str) -> str:
    """Return a text as code, in HTML: between backticks a bar ends a cell, too."""
    text = cut(printable(text), _LONGEST_LINE).replace("\n", "↵")
    return f"<code>{_html(text)}</code>"


def _html(text: str) -> str:
    """Escape a text within HTML tags, where Markdown is still read."""
    escaped = "".join(f"&#{ord(char)};" if char in _MARKUP else char for char in text)
    for link, harmless in _LINKS:
        escaped = escaped.replace(link, harmless)
    return escaped.replace("\n", "&#10;")


def _escape(text: str) -> str:
    text = text.replace("\n", " ")
    for sign in "@#":
        text = text.replace(sign, sign + _ZERO_WIDTH_SPACE)
    return _html(text)
