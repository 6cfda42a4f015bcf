"""Printing outcomes: as YAML, as JSON, or as a report that has colours on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import click

from smp.cli._errors import printable
from smp.cli._outcome import Outcome
from smp.documents import dump_json, dump_yaml
from smp.values import JSON

if TYPE_CHECKING:
    from smp.cli._report import Line


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output."""
    click.echo(data, nl=False)


def write(text: str) -> None:
    """Write text to standard output, as UTF-8 whatever the locale."""
    click.echo(text.encode(), nl=False)


def write_yaml(values: Iterable[tuple[str, JSON]]) -> None:
    """Write YAML documents, each under its comment where it has one."""
    texts = (
        f"# {printable(comment)}\n{dump_yaml([v])}" if comment else dump_yaml([v])
        for comment, v in values
    )
    write("---\n".join(texts))


def write_json(values: Iterable[JSON]) -> None:
    """Write JSON texts, one after the other."""
    write("".join(f"{dump_json(value)}\n" for value in values))


def write_report(outcomes: Iterable[Outcome], *, color: str) -> None:
    """Write the report."""
    from smp.cli._report import report

    write_lines(report(outcomes), color=color)


def write_lines(lines: Iterable[Line], *, color: str) -> None:
    """Write styled lines, with their styles where that is wanted."""
    (_write_styled if _has_colours(color) else _write_plain)(lines)


def _write_plain(lines: Iterable[Line]) -> None:
    write("".join("".join(text for text, _ in line) + "\n" for line in lines))


def _write_styled(lines: Iterable[Line]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(
        file=sys.stdout,
        force_terminal=True,
        no_color=False,
        color_system="standard",
        soft_wrap=True,
    )
    for line in lines:
        console.print(Text.assemble(*line), highlight=False)


def _has_colours(color: str) -> bool:
    """See no-color.org: any content of NO_COLOR switches colours off, unless the
    command line asks for them.
    """
    if color != "auto":
        return color == "always"
    # it is None where the caller closed it
    is_terminal: bool = getattr(sys.stdout, "isatty", bool)()
    return (
        is_terminal
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def _patches_as_yaml(outcomes: list[Outcome]) -> None:
    changed = (each for each in outcomes if each.differs)
    write_yaml(
        (f"{each.label}{' (to be created)' if each.creates else ''}", each.patch)
        for each in changed
    )


def _operations_of(outcomes: list[Outcome]) -> None:
    write_json(each.operations for each in outcomes)


# What each output format makes of outcomes: those that print patches, and those that
# print objects.
PATCHES: Final[dict[str, Callable[[list[Outcome]], None]]] = {
    "yaml": _patches_as_yaml,
    "json": lambda outcomes: write_json(each.patch for each in outcomes),
    "jsonpatch": _operations_of,
}
OBJECTS: Final[dict[str, Callable[[list[Outcome]], None]]] = {
    "yaml": lambda outcomes: write_yaml(("", each.after) for each in outcomes),
    "json": lambda outcomes: write_json(each.after for each in outcomes),
    "jsonpatch": _operations_of,
    "patch": _patches_as_yaml,
}


def write_outcomes(
    outcomes: list[Outcome],
    writers: dict[str, Callable[[list[Outcome]], None]],
    *,
    output: str,
    color: str,
) -> None:
    """Write outcomes in a format; where that is no report, the warnings go to standard
    error.
    """
    if output == "report":
        write_report(outcomes, color=color)
        return
    writers[output](outcomes)
    for outcome in outcomes:
        for warning in outcome.warnings:
            click.echo(printable(f"smp: warning: {outcome.label}: {warning}"), err=True)
