"""Printing outcomes: as YAML, as JSON, or as a report with colours on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from smp.cli._errors import printable
from smp.cli._options import Settings
from smp.cli._outcomes import ObjectOutcome
from smp.documents import dump_json, dump_yaml
from smp.values import JSON

if TYPE_CHECKING:
    from smp.cli._report import Line


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output."""
    click.echo(data, nl=False)


def write(text: str) -> None:
    """Write text to standard output, as UTF-8 in every locale."""
    # kubectl writes UTF-8, and so do the files that the text may be redirected to.
    click.echo(text.encode(), nl=False)


def write_yaml(values: Iterable[tuple[str, JSON]]) -> None:
    """Write YAML documents, each under its comment where it has one."""
    texts = []
    for comment, value in values:
        heading = f"# {printable(comment)}\n" if comment else ""
        texts.append(heading + dump_yaml([value]))
    write("---\n".join(texts))


def write_json(values: Iterable[JSON]) -> None:
    """Write JSON texts, one after the other."""
    write("".join(f"{dump_json(value)}\n" for value in values))


def write_lines(lines: Iterable[Line], *, color: str) -> None:
    """Write styled lines, with their styles where colours are wanted."""
    if not _has_colours(color):
        write("".join("".join(text for text, _ in line) + "\n" for line in lines))
        return
    # rich takes longer to load than most commands take to run.
    from rich.console import Console  # noqa: PLC0415  # see above
    from rich.text import Text  # noqa: PLC0415  # see above

    # Lines keep their length: what is copied from a terminal has to stay one line.
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
    if color != "auto":
        return color == "always"
    # It is None where the caller closed it.
    if sys.stdout is None or not sys.stdout.isatty():
        return False
    # no-color.org: any content of NO_COLOR switches colours off, unless the command
    # line asks for them.
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write_patches(outcomes: list[ObjectOutcome], settings: Settings) -> None:
    """Write the patches of outcomes in the format that the settings ask for.

    A report contains the warnings; otherwise they go to standard error.
    """
    match settings.output:
        case "yaml":
            _write_yaml_patches(outcomes)
        case "json":
            write_json(outcome.patch for outcome in outcomes)
        case _:
            _write_differences(outcomes, settings)
    _write_warnings(outcomes, settings)


def write_objects(outcomes: list[ObjectOutcome], settings: Settings) -> None:
    """Write the objects of outcomes in the format that the settings ask for.

    A report contains the warnings; otherwise they go to standard error.
    """
    match settings.output:
        case "yaml":
            write_yaml(("", outcome.after) for outcome in outcomes)
        case "json":
            write_json(outcome.after for outcome in outcomes)
        case "patch":
            _write_yaml_patches(outcomes)
        case _:
            _write_differences(outcomes, settings)
    _write_warnings(outcomes, settings)


def _write_differences(outcomes: list[ObjectOutcome], settings: Settings) -> None:
    """Write the formats that show the same for a patch and for an object."""
    if settings.output == "jsonpatch":
        write_json(outcome.operations for outcome in outcomes)
        return
    # The report is the only format that compares texts by line.
    from smp.cli._report import report  # noqa: PLC0415  # loads difflib

    write_lines(report(outcomes), color=settings.color)


def _write_yaml_patches(outcomes: list[ObjectOutcome]) -> None:
    patches: list[tuple[str, JSON]] = []
    for outcome in outcomes:
        # Only a comment says whose patch it is, so an empty one would be noise.
        if outcome.differs:
            suffix = " (to be created)" if outcome.creates else ""
            patches.append((f"{outcome.label}{suffix}", outcome.patch))
    write_yaml(patches)


def _write_warnings(outcomes: list[ObjectOutcome], settings: Settings) -> None:
    if settings.output == "report":
        return
    for outcome in outcomes:
        for warning in outcome.warnings:
            click.echo(printable(f"smp: warning: {outcome.label}: {warning}"), err=True)
