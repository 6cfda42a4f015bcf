"""``smp test``: golden cases, run and corrected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import click

from smp.cases import (
    SCHEMA_NAME,
    SUFFIXES,
    Outcome,
    SpecCase,
    corrected,
    parse,
    run,
    updated_text,
)
from smp.cli._errors import Failure, printable
from smp.cli._inputs import Inputs, name_of
from smp.cli._options import FILE
from smp.cli._outputs import write
from smp.errors import DocumentError, SmpError

T = TypeVar("T")
R = TypeVar("R")


@click.command(
    epilog="\b\nExit codes: 0 all passed, 1 some failed, 2 an error.\n\n\b\nExample:\n  smp test cases.yaml"
)
@click.argument("paths", metavar="PATH...", type=FILE, nargs=-1, required=True)
@click.option(
    "--update",
    is_flag=True,
    help="Make failing cases expect what happens; review that before you commit it.",
)
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...], *, update: bool) -> None:
    """Run golden cases.

    Each PATH is a file of cases or a directory with such files. All cases run, whatever
    fails. A failing one is shown with what it expects and what happened; one that
    cannot be run, or a file that holds none, is an error.
    """
    errors: list[Failure] = []
    inputs = Inputs()
    files = _attempted(lambda path: inputs.files(path, SUFFIXES), paths, errors)
    names = dict.fromkeys(
        name for names in files for name in names if Path(name).name != SCHEMA_NAME
    )
    cases = _attempted(lambda name: _cases(inputs, name), names, errors)
    outcomes = _attempted(run, [case for file in cases for case in file], errors)
    failed = [outcome for outcome in outcomes if not outcome.passed]
    write("".join(map(_shown, failed)))
    if update:
        _attempted(
            lambda group: _update(*group),
            groupby(failed, lambda each: each.case.source),
            errors,
        )
    write(
        f"{len(outcomes) - len(failed)} passed, {len(failed)} {'updated' if update else 'failed'}\n"
    )
    for error in errors:
        error.show()
    ctx.exit(2 if errors else int(bool(failed) and not update))


def _attempted(
    operation: Callable[[T], R], items: Iterable[T], errors: list[Failure]
) -> list[R]:
    """Run an operation on each item and set the errors aside."""
    results: list[R] = []
    for item in items:
        try:
            results.append(operation(item))
        except SmpError as error:
            errors.append(Failure(error, item if isinstance(item, SpecCase) else None))
    return results


def _cases(inputs: Inputs, name: str) -> list[SpecCase]:
    return parse(_text(inputs, name), source=name_of(name))


def _text(inputs: Inputs, name: str) -> str:
    try:
        return inputs.data(name).decode()
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"it is not UTF-8: {error.reason}",
            code="invalid-encoding",
            source=name_of(name),
        ) from None


def _shown(outcome: Outcome) -> str:
    case = outcome.case
    lines = [
        f"{case.source}:{case.line}: {case.description}",
        *("\n".join(d.text for d in outcome.differences)).split("\n"),
    ]
    return "\n    ".join(map(printable, lines)) + "\n"


def _update(source: str, outcomes: Iterable[Outcome]) -> None:
    text = _text(Inputs(), source)
    changes = {outcome.case.index: corrected(outcome) for outcome in outcomes}
    Path(source).write_text(
        updated_text(text, changes, source=source), encoding="utf-8"
    )
