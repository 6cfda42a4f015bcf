"""Which printer has which name, and what a printer is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Final, Literal, Protocol, TypeAlias, get_args

from smp.reports._model import ObjectReport

Format: TypeAlias = Literal[
    "text", "json", "sarif", "junit", "gitlab", "markdown", "html"
]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

# Each module has make_printer(title); it is loaded when its format is printed.
_MODULES: Final[dict[str, str]] = {
    "text": "_text",
    "json": "_json",
    "sarif": "_sarif",
    "junit": "_junit",
    "gitlab": "_gitlab",
    "markdown": "_markdown",
    "html": "_html",
}


class Composition(Protocol):
    """The text of one report, made of what a printer returned for each object."""

    def add(self, piece: str) -> Iterator[str]:
        """Take the piece of the next object, and yield what can be written now."""

    def end(self) -> Iterator[str]:
        """Yield the rest of the text."""


class Joined:
    """A composition of pieces that are written as they come."""

    def __init__(
        self, opening: str = "", separator: str = "", closing: str = "", empty: str = ""
    ) -> None:
        self._before = opening
        self._separator = separator
        self._closing = closing
        self._empty = empty
        self._has_piece = False

    def add(self, piece: str) -> Iterator[str]:
        """Write a piece; the empty one is left out."""
        if piece:
            yield self._before + piece
            self._before = self._separator
            self._has_piece = True

    def end(self) -> Iterator[str]:
        """Write the end, or the text without any piece."""
        yield self._closing if self._has_piece else self._empty


class Printer(Protocol):
    """A format.

    ``piece`` looks at one object only, so that the objects of a report can be printed
    by several processes; ``begin`` starts the text that the pieces are put together to.
    """

    def piece(self, report: ObjectReport) -> str:
        """Return what the text needs to know of an object."""

    def begin(self) -> Composition:
        """Return a text without any object."""


def printed(
    reports: Iterable[ObjectReport], format_: Format, *, title: str = ""
) -> Iterator[str]:
    """Yield the text of a report on objects, in parts.

    ``title`` is the heading of the formats that have one. JSON, SARIF, JUnit, GitLab's
    list and text are written object by object; Markdown and HTML begin with a summary,
    so they wait for the last object. Raises ValueError for a format that is not one of
    FORMATS, and ReportError where the packages of the format are not installed.
    """
    printer = printer_of(format_, title=title)
    composition = printer.begin()
    for report in reports:
        yield from composition.add(printer.piece(report))
    yield from composition.end()


def printer_of(format_: Format, *, title: str = "") -> Printer:
    """Return the printer of a format. Raises what ``printed`` raises."""
    if format_ not in FORMATS:
        names = ", ".join(FORMATS)
        raise ValueError(f"the formats are {names}, not {format_!r}")
    module = import_module(f"smp.reports.{_MODULES[format_]}")
    printer: Printer = module.make_printer(title)
    return printer
