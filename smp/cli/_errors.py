"""Errors as one readable block on standard error: what, where, hint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final, Protocol, TypeVar

import click

from smp.errors import ConflictError, DocumentError, SmpError
from smp.values import ABSENT, JSON, Absent
from smp.wire import encode

T = TypeVar("T")
R = TypeVar("R")

# The flags for the options that errors of the library name.
_FLAGS: Final[dict[tuple[str, str | bool], str]] = {
    ("overwrite", True): "--overwrite",
    ("unknown_fields", "merge"): "--unknown-fields merge",
}
# What the flags of a command can do about an error, by its code.
_MORE_HINTS: Final = {
    "unknown-field": "--kubernetes VERSION selects another version of the API",
    "unknown-kind": "--crd FILE or --openapi FILE describes more kinds",
}


class Place(Protocol):
    """A place in a text: a document, a case."""

    @property
    def source(self) -> str:
        """The name of the text."""

    @property
    def line(self) -> int:
        """The line on which it starts."""


class Failure(click.ClickException):
    """One error of the library or more, each with the document that it is about."""

    exit_code = 2

    def __init__(
        self, error: SmpError, document: Place | None = None, label: str = ""
    ) -> None:
        super().__init__(str(error))
        self.blocks = [_block(error, document, label)]

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the blocks."""
        for block in self.blocks:
            click.echo(block, file=file, err=file is None)


@contextmanager
def concerning(document: Place, label: str = "") -> Iterator[None]:
    """Say of an error which document it is about."""
    try:
        yield
    except SmpError as error:
        raise Failure(error, document, label) from None


def all_or_nothing(operation: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Run an operation on each item; if any fails, raise one Failure with what is wrong
    with all of them.
    """
    results: list[R] = []
    failures: list[Failure] = []
    for item in items:
        try:
            results.append(operation(item))
        except Failure as failure:
            failures.append(failure)
    if failures:
        failures[0].blocks = [block for failure in failures for block in failure.blocks]
        raise failures[0]
    return results


def printable(text: str) -> str:
    """Escape what a terminal would take for a command."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


def inline(value: JSON | Absent) -> str:
    """Show a value on one line, as JSON."""
    return "absent" if value is ABSENT else printable(encode(value).decode())


def _block(error: SmpError, document: Place | None, label: str) -> str:
    facts = [
        ("path", str(error.path)),
        ("file", _place(error, document)),
        ("object", label),
    ]
    facts += [("hint", hint) for hint in _hints(error)]
    lines = [
        f"smp: error: {printable(error.problem.partition(chr(10))[0])}",
        *_conflicts(error),
    ]
    lines += [f"  {name + ':':<8}{printable(text)}" for name, text in facts if text]
    return "\n".join(lines)


def _hints(error: SmpError) -> Iterator[str]:
    yield error.advice
    option = error.option
    if option is not None and (option.name, option.value) in _FLAGS:
        yield f"{_FLAGS[option.name, option.value]} {option.effect}"
    yield _MORE_HINTS.get(error.code, "")


def _place(error: SmpError, document: Place | None) -> str:
    if isinstance(error, DocumentError) and error.source:
        return ":".join(
            str(part)
            for part in (error.source, error.line, error.column)
            if part is not None
        )
    return f"{document.source}:{document.line}" if document else ""


def _conflicts(error: SmpError) -> Iterator[str]:
    for conflict in error.conflicts if isinstance(error, ConflictError) else ():
        yield f"  {printable(str(conflict.path))}"
        yield f"    last applied {inline(conflict.base)}, new {inline(conflict.ours)}, live {inline(conflict.theirs)}"
