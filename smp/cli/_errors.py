"""Errors as one readable block on standard error: what, where, hint."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from smp._values.codec import encode
from smp._values.values import ABSENT, JSON, Absent
from smp.errors import ConflictError, DocumentError, SmpError

# The flags for the options that errors of the library name.
_FLAGS: Final[dict[tuple[str, str | bool], str]] = {
    ("force", True): "--force-conflicts",
    ("hazards", "warn"): "--hazards warn",
    ("overwrite", True): "--overwrite",
    ("unknown_fields", "merge"): "--validate keep",
}
# What the flags of a command can do about an error, by its code.
_MORE_HINTS: Final = {
    # In the words of kubectl these are three ways, see k8s.io/kubectl, pkg/cmd/apply.
    "apply-conflict": "a field that the configuration leaves out keeps its managers; "
    "one with the live value gets one more",
    "unknown-field": "--kubernetes VERSION selects another version of the API",
    "too-large": "--max-bytes raises the limit",
    "unknown-kind": "--crd FILE or --openapi FILE describes more kinds",
}


class Located(Protocol):
    """A part of a text: a document, a case."""

    @property
    def source(self) -> str:
        """The name of the text."""

    @property
    def line(self) -> int:
        """The line on which the part starts."""


class UsageError(Exception):
    """A command line that cannot be run, for a reason that its form does not show."""


class CommandFailure(Exception):  # noqa: N818  # it has the errors
    """An error of the library, with the document that caused it, as a block of text."""

    def __init__(
        self, error: SmpError, document: Located | None = None, label: str = ""
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.block = _block(error, document, label)

    def show(self) -> None:
        """Print the block."""
        report(self.block)


class OutputError(Exception):
    """Standard output does not take all that is written to it."""


def report(text: str, end: str = "\n") -> None:
    """Write to standard error."""
    # It is None where the caller closed it.
    if sys.stderr is not None:
        sys.stderr.write(text + end)
        sys.stderr.flush()


def say(text: str) -> None:
    """Write a line of this program to standard error."""
    report(f"smp: {printable(text)}")


@contextmanager
def concerning(document: Located, label: str = "") -> Iterator[None]:
    """Add to an error the document, and the object in it, that it is about."""
    try:
        yield
    except SmpError as error:
        raise CommandFailure(error, document, label) from None


def printable(text: str) -> str:
    """Escape what a terminal would take for a command."""
    # A name in a document may contain an escape sequence, which could rewrite what the
    # terminal shows.
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


def inline(value: JSON | Absent) -> str:
    """Show a value on one line, as JSON."""
    return "absent" if value is ABSENT else printable(encode(value).decode())


def _block(error: SmpError, document: Located | None, label: str) -> str:
    # A problem of several lines has one for each of several problems.
    headline, *details = error.problem.split("\n")
    lines = [f"smp: error: {printable(headline)}"]

    # A conflict has three sides, which the command calls as its options do.
    if not isinstance(error, ConflictError):
        lines += [f"  {printable(detail.strip())}" for detail in details]
    else:
        for conflict in error.conflicts:
            sides = {
                "last-applied": conflict.base,
                "manifest": conflict.ours,
                "live": conflict.theirs,
            }
            shown = [f"{name} {inline(value)}" for name, value in sides.items()]
            lines.append(f"  {printable(str(conflict.path))}")
            lines.append(f"    {', '.join(shown)}")

    file = f"{document.source}:{document.line}" if document else ""
    # The error of a text knows the column, and which of several texts it is.
    if isinstance(error, DocumentError) and error.source:
        file = error.place

    facts = [("path", str(error.path)), ("file", file), ("object", label)]
    facts.append(("hint", error.advice))
    # An option of the library helps only where the command has a flag for it.
    option = error.option
    if option is not None and (option.name, option.value) in _FLAGS:
        flag = _FLAGS[option.name, option.value]
        facts.append(("hint", f"{flag} {option.effect}"))
    facts.append(("hint", _MORE_HINTS.get(error.code, "")))
    lines += [f"  {name + ':':<8}{printable(text)}" for name, text in facts if text]
    return "\n".join(lines)
