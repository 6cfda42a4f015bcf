"""How texts of objects become one text, and which printer has which name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
)

import msgspec
from msgspec.structs import replace

from smp._values.options import require_choice
from smp._values.plain import plain
from smp._values.values import ABSENT, JSON, Absent, NotPlainError
from smp.errors import bounded
from smp.reports._model import ObjectReport

if TYPE_CHECKING:
    from smp.explain import Cause

ItemT = TypeVar("ItemT")
Format: TypeAlias = Literal[
    "text", "json", "sarif", "junit", "gitlab", "markdown", "html"
]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
# What of a report is JSON.
_VALUES: Final = ("last_applied", "live", "desired", "result", "patch")


class Composition(Protocol):
    """The text of one report, made of what a printer returned for each object."""

    def add(self, piece: str) -> Iterator[str]:
        """Take the piece of the next object, and yield what can be written now."""

    def end(self) -> Iterator[str]:
        """Yield the rest of the text."""


class Layout(msgspec.Struct, Generic[ItemT], frozen=True):
    """How what a run does to each object becomes one text.

    ``piece`` returns what the text needs to know of an object; it looks at one only, so
    that those of a run can be printed by several processes. ``begin`` starts the text
    that the pieces are put together to: by ``start``, or one after the other, where
    the empty piece is left out.
    """

    piece: Callable[[ItemT], str]
    opening: str = ""
    separator: str = ""
    closing: str = ""
    # The whole text where there is no piece.
    empty: str = ""
    start: Callable[[], Composition] | None = None
    # Warnings are part of the text; otherwise they go to standard error.
    has_warnings: bool = False
    has_summary: bool = False
    # An outcome that failed is part of the text; otherwise it is only an error.
    has_failures: bool = False
    # Returns the piece of an object that could not be read or computed.
    piece_of_failure: Callable[[ObjectReport], str] | None = None

    def begin(self) -> Composition:
        """Return a text without any object."""
        return _Joined(self) if self.start is None else self.start()


class BriefTable(msgspec.Struct, frozen=True):
    """A table at the beginning of a report."""

    heading: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


class Brief(msgspec.Struct, frozen=True):
    """What a report begins with: a run in a few sentences, and tables."""

    sentences: list[str] = []
    tables: list[BriefTable] = []


# What prints reports in a format.
Printer: TypeAlias = Layout[ObjectReport]


class _Joined:
    def __init__(self, layout: Layout[Any]) -> None:
        self._layout = layout
        self._has_piece = False

    def add(self, piece: str) -> Iterator[str]:
        """Write a piece; the empty one is left out."""
        if piece:
            layout = self._layout
            yield (layout.separator if self._has_piece else layout.opening) + piece
            self._has_piece = True

    def end(self) -> Iterator[str]:
        """Write the end, or the text without any piece."""
        yield self._layout.closing if self._has_piece else self._layout.empty


def printed(
    reports: Iterable[ObjectReport], format_: Format, *, title: str = ""
) -> Iterator[str]:
    """Yield the text of a report on objects, in parts.

    ``title`` is the heading of the formats that have one. JSON, SARIF, JUnit, GitLab's
    list and text are written object by object; Markdown and HTML begin with a summary,
    so they wait for the last object. Raises SmpError for a format that is not one of
    FORMATS (code invalid-option), or whose packages are not installed; ObjectError and
    DepthError for an object of a report that is not JSON, or too deep.
    """
    printer = printer_of(format_, title=title)
    composition = printer.begin()
    for report in reports:
        yield from composition.add(_piece_of(report, printer))
    yield from composition.end()


@bounded("the object")
def _piece_of(report: ObjectReport, printer: Printer) -> str:
    try:
        return printer.piece(report)
    except (AttributeError, NotPlainError, TypeError, ValueError):
        # Its objects may be of other types, see smp._values.plain, or have numbers that
        # Python does not print.
        values: dict[str, Any] = {
            name: plain(getattr(report, name)) for name in _VALUES
        }
        values["causes"] = tuple(map(_make_plain, report.causes))
        return printer.piece(replace(report, **values))


def _make_plain(cause: Cause) -> Cause:
    """Return a cause whose values are of Python's own types."""
    evidence = [
        replace(fact, value=_plain_or_absent(fact.value)) for fact in cause.evidence
    ]
    return replace(
        cause,
        before=_plain_or_absent(cause.before),
        after=_plain_or_absent(cause.after),
        evidence=tuple(evidence),
    )


def _plain_or_absent(value: object) -> JSON | Absent:
    return ABSENT if value is ABSENT else plain(value)


def printer_of(
    format_: Format, *, title: str = "", brief: Callable[[], Brief] | None = None
) -> Printer:
    """Return the printer of a format. Raises what ``printed`` raises.

    ``brief`` is asked behind the last object; the page of HTML begins with it.
    """
    require_choice("format", format_, FORMATS)
    # The module of a format is loaded when it is printed.
    module = import_module(f"smp.reports._{format_}")
    options = {"brief": brief} if brief is not None and format_ == "html" else {}
    printer: Printer = module.make_printer(title, **options)
    return printer
