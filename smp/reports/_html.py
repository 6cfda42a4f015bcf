"""A page for a browser that needs nothing beside it: no network, no script to read it.

Theory of operation. Each object is rendered to a section by itself, with a template
that escapes all that it inserts. The page begins with a summary and an index, which are
known after the last object, so the sections wait in a temporary file that is in memory
while it is small. Nothing in a page can be run but its own script: a policy in its head
names that by its hash (W3C Content Security Policy Level 3).

Every function works without the script (folding, the fields that are folded, the links
of the index), but for search and the keys.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path as FilePath
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

import msgspec

from smp._values.extras import extra_hint
from smp._values.findings import Finding
from smp._values.values import ABSENT, JSON, Absent, same
from smp.errors import SmpError
from smp.explain import Cause, SideBySide, side_by_side
from smp.paths import Path
from smp.reports._model import LEVELS, ObjectReport
from smp.reports._printing import Brief, Printer
from smp.reports._totals import Piece, Summary, Totals, number
from smp.reports._values import ANNOTATION, cut, printable, show, yaml_text

_TEMPLATES: Final = FilePath(__file__).with_name("templates")
# A page with more objects than this begins with all of them folded.
_MOST_OPEN: Final = 20
# So much is kept in memory before there is a file.
_IN_MEMORY: Final = 2**22
# What is longer than a line of this length is folded, and cut at the other one.
_SHORT: Final = 60
_LONGEST_VALUE: Final = 4_000
_MOST_ROWS: Final = 2_000
# The objects of a report by their headings.
_COLUMNS: Final = {
    "last-applied": "last_applied",
    "live": "live",
    "manifest": "desired",
    "result": "result",
}
_FACTS: Final = {"default": "in a new object"}
# Causes that say nothing of a change: what the server sets, and how a list is merged.
_AS_EXPECTED: Final = frozenset({"matched-by-key", "server-default", "server-set"})
# Of a comparison of two states there are these two alone.
_STATES: Final = {"live": "before", "result": "after"}


class _Value(msgspec.Struct, frozen=True):
    """A value of a cell: its text on a line, and as YAML where that is too long."""

    text: str
    block: str = ""
    lines: str = ""
    is_absent: bool = False
    is_new: bool = False


class _Why(msgspec.Struct, frozen=True):
    """A cause of a row: what it says on demand."""

    cause: Cause
    level: str
    edits: tuple[str, ...]
    evidence: tuple[str, ...]


class _Row(msgspec.Struct, frozen=True):
    path: str
    name: str
    depth: int
    values: tuple[_Value, ...]
    is_equal: bool
    is_open: bool
    is_changed: bool
    whys: tuple[_Why, ...]
    is_folded: bool = False


def make_printer(title: str, brief: Callable[[], Brief] = Brief) -> Printer:
    """Return the printer of objects as the sections of a page.

    Raises SmpError where Jinja2 is not installed.
    """
    environment()
    return Printer(_section, start=partial(_Page, title or "smp", brief))


def _section(report: ObjectReport) -> str:
    columns = _columns(report)
    rows = _fold([*islice(_rows(report, columns), _MOST_ROWS + 1)])

    def is_listed(finding: Finding) -> bool:
        # The table has the causes, and the error what failed.
        return finding.origin != "failure" and not (rows and finding.origin == "cause")

    html = (
        environment()
        .get_template("object.html")
        .render(
            report=report,
            columns=[*columns.values()],
            rows=rows[:_MOST_ROWS],
            is_cut=len(rows) > _MOST_ROWS,
            most=_MOST_ROWS,
            findings=[finding for finding in report.findings if is_listed(finding)],
            folded=sum(row.is_folded and not row.is_open for row in rows),
            patch=""
            if report.patch is None
            else cut(yaml_text(report.patch), 5 * _LONGEST_VALUE),
        )
    )
    return Piece.of(report, html).encoded()


class _Page:
    """The sections so far, and what the beginning of the page says of them."""

    def __init__(self, title: str, brief: Callable[[], Brief]) -> None:
        self._title = title
        self._brief = brief
        self._totals = Totals()
        self._summaries: list[Summary] = []
        self._sections: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # closed at the end
        self._sizes: list[int] = []

    def add(self, piece: str) -> Iterator[str]:
        decoded = msgspec.json.decode(piece, type=Piece)
        self._totals.add(decoded.summary.verdict, decoded.summary.levels)
        self._summaries.append(decoded.summary)
        self._sizes.append(self._sections.write(decoded.text.encode()))
        yield from ()

    def end(self) -> Iterator[str]:
        style = (_TEMPLATES / "page.css").read_text()
        script = (_TEMPLATES / "page.js").read_text()
        digest = hashlib.sha256(script.encode()).digest()
        template = environment().get_template("page.html").module
        yield str(
            template.opening(
                title=self._title,
                totals=self._totals.line(),
                brief=self._brief(),
                levels=[level for level in LEVELS if self._totals.levels[level]],
                verdicts=[*self._totals.verdicts],
                summaries=self._summaries,
                style=_trust(style),
                hash=base64.b64encode(digest).decode(),
            )
        )
        self._sections.seek(0)
        is_open = len(self._summaries) <= _MOST_OPEN
        for index, (summary, size) in enumerate(
            zip(self._summaries, self._sizes, strict=True), start=1
        ):
            yield str(template.section_opening(summary, index, is_open=is_open))
            yield self._sections.read(size).decode()
            yield "</details></article>\n"
        self._sections.close()
        yield str(template.closing(script=_trust(script)))


@cache
def environment() -> Any:
    """Return Jinja2 with the templates. Raises SmpError where it is not installed."""
    try:
        import jinja2  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise SmpError(
            f"an HTML report needs the package {error.name!r}",
            code="missing-extra",
            hint=extra_hint("report"),
        ) from None
    return jinja2.Environment(
        autoescape=True,
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _printable(value: Any) -> Any:
    """Return what a template inserts without control characters."""
    # What is HTML already, such as what a macro returned, is escaped already.
    return value if hasattr(value, "__html__") else printable(str(value))


def _trust(text: str) -> Any:
    """Return our own style or script as text that is not escaped."""
    from markupsafe import Markup  # noqa: PLC0415  # it comes with Jinja2

    return Markup(text)  # noqa: S704  # not of an input


def _columns(report: ObjectReport) -> dict[str, str]:
    objects = {name: getattr(report, field) for name, field in _COLUMNS.items()}
    present = [name for name, obj in objects.items() if obj is not None]
    if report.desired is None:
        return {name: _STATES[name] for name in present if name in _STATES}
    return {name: name for name in present}


def _rows(report: ObjectReport, columns: dict[str, str]) -> Iterator[_Row]:
    causes: dict[Path, list[Cause]] = {}
    for cause in report.causes:
        causes.setdefault(cause.path.by_index, []).append(cause)
    chosen = {name: getattr(report, _COLUMNS[name]) for name in columns}
    names = [*columns]
    # An object that no input has, such as one that failed, has no rows.
    if not any(obj is not None for obj in chosen.values()):
        return
    for side in side_by_side(chosen, report.type_):
        whys = tuple(_why(cause) for cause in causes.pop(side.path.by_index, []))
        yield _row(side, names, whys)
    # What is lost of a list is no path of the result: it is shown after all others.
    for left in causes.values():
        for cause in left:
            if same(cause.before, cause.after):
                # It is a part of what another row shows as one value.
                continue
            nothing = (ABSENT,) * len(names)
            side = SideBySide(cause.path, nothing, is_open=False, is_equal=False)
            yield _row(side, names, (_why(cause),))


def _fold(rows: list[_Row]) -> list[_Row]:
    """Return the rows, with those marked that are shown on demand alone.

    These are the fields that are equal, those that the server alone has set, and the
    objects and lists that have no others.
    """
    marked: list[_Row] = []
    above_shown: set[str] = set()
    for row in rows:
        as_expected = all(why.cause.code in _AS_EXPECTED for why in row.whys)
        if row.is_open:
            is_folded = as_expected
        else:
            is_unchanged = not row.is_changed and bool(row.whys)
            is_folded = row.is_equal or (is_unchanged and as_expected)
        if not is_folded:
            # Not all that is below an object stands behind it.
            ends = [at for at, char in enumerate(row.path) if char in ".["]
            above_shown.update(row.path[:end] for end in ends)
        marked.append(msgspec.structs.replace(row, is_folded=is_folded))
    return [
        msgspec.structs.replace(row, is_folded=False)
        if row.is_open and row.path in above_shown
        else row
        for row in marked
    ]


def _row(side: SideBySide, names: list[str], whys: tuple[_Why, ...]) -> _Row:
    of_name = dict(zip(names, side.values, strict=True))
    before = of_name.get("live", ABSENT)
    after = of_name.get("result", ABSENT)
    is_changed = not side.is_equal and not same(before, after)
    values = []
    if not side.is_open:
        for name, value in of_name.items():
            is_new = is_changed and name == "result"
            shown_value = _value(value, is_new=is_new)
            # The annotation repeats what another column shows.
            if side.path == ANNOTATION and isinstance(value, str):
                size = number(len(value), "character")
                short = value if len(value) <= _SHORT else size
                shown_value = _Value(short, is_new=is_new)
            values.append(shown_value)
    step = side.path.steps[-1] if side.path.steps else ""
    name = str(step)
    # An element as YAML has it: - name=app.
    if not isinstance(step, str):
        name = f"- {name.removeprefix('[').removesuffix(']')}"
    return _Row(
        str(side.path),
        name,
        len(side.path.steps) - 1,
        tuple(values[:1] if side.is_equal else values),
        side.is_equal,
        side.is_open,
        is_changed and not side.is_open,
        whys,
    )


def _value(value: JSON | Absent, *, is_new: bool) -> _Value:
    if value is ABSENT:
        return _Value("", is_absent=True, is_new=is_new)
    text = value if isinstance(value, str) and value else show(value, _LONGEST_VALUE)
    if len(text) <= _SHORT and "\n" not in text:
        return _Value(text, is_new=is_new)
    block = text if isinstance(value, str) else yaml_text(value).rstrip("\n")
    lines = number(block.count("\n") + 1, "line")
    return _Value(cut(text, _SHORT), cut(block, _LONGEST_VALUE), lines, is_new=is_new)


def _why(cause: Cause) -> _Why:
    edits: list[str] = []
    if cause.remedy is not None:
        for edit in cause.remedy.edits:
            value = "leave it out" if edit.value is ABSENT else show(edit.value)
            edits.append(f"{edit.input}: {edit.path}: {value}")
    # What the table has is not said again.
    evidence = [
        f"{_FACTS.get(fact.about, fact.about)}: {show(fact.value)}"
        for fact in cause.evidence
        if fact.about not in _COLUMNS and not same(fact.value, cause.after)
    ]
    level = "" if cause.severity == "none" else cause.severity
    return _Why(cause, level, tuple(edits), tuple(evidence))
