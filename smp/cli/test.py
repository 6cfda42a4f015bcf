"""``smp test``: golden cases, run and corrected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
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
    epilog="\b\nExit codes: 0 all passed, 1 some failed, 2 an error.\n\n"
    "\b\nExample:\n  smp test cases.yaml"
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
    files = _attempt(partial(_case_files, inputs), paths, errors)
    # A file may be named twice, or be in a directory that is named as well.
    names = dict.fromkeys(name for listed in files for name in listed)
    parsed = _attempt(partial(_cases, inputs), names, errors)
    cases = [case for parsed_file in parsed for case in parsed_file]
    outcomes = _attempt(run, cases, errors)

    failed = [outcome for outcome in outcomes if not outcome.passed]
    write("".join(_shown(outcome) for outcome in failed))
    if update:
        by_source: dict[str, list[Outcome]] = {}
        for outcome in failed:
            by_source.setdefault(outcome.case.source, []).append(outcome)
        _attempt(_update, by_source.items(), errors)
    verb = "updated" if update else "failed"
    write(f"{len(outcomes) - len(failed)} passed, {len(failed)} {verb}\n")

    for error in errors:
        error.show()
    if errors:
        ctx.exit(2)
    ctx.exit(1 if failed and not update else 0)


def _attempt(
    operation: Callable[[T], R], items: Iterable[T], errors: list[Failure]
) -> list[R]:
    """Run an operation on each item; add the errors to those that there are."""
    results: list[R] = []
    for item in items:
        try:
            results.append(operation(item))
        except SmpError as error:
            case = item if isinstance(item, SpecCase) else None
            errors.append(Failure(error, case))
    return results


def _case_files(inputs: Inputs, path: str) -> list[str]:
    files = inputs.files(path, SUFFIXES)
    # The schema of the format may be in the directory that it describes.
    return [name for name in files if Path(name).name != SCHEMA_NAME]


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
    differences = "\n".join(difference.text for difference in outcome.differences)
    lines = [f"{case.source}:{case.line}: {case.description}"]
    lines += differences.split("\n")
    return "\n    ".join(printable(line) for line in lines) + "\n"


def _update(failed: tuple[str, list[Outcome]]) -> None:
    source, outcomes = failed
    text = _text(Inputs(), source)
    changes = {outcome.case.index: corrected(outcome) for outcome in outcomes}
    Path(source).write_text(
        updated_text(text, changes, source=source), encoding="utf-8"
    )
