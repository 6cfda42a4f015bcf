"""``smp test``: golden cases, run and corrected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from smp.cases import (
    SCHEMA_NAME,
    SUFFIXES,
    CaseOutcome,
    SpecCase,
    corrected,
    parse,
    run,
    updated_text,
)
from smp.cli._commands import DONE, ERROR, FOUND, Argument, Command, switch
from smp.cli._errors import CommandFailure, printable
from smp.cli._inputs import Inputs, name_of
from smp.cli._options import EXCLUDE_OPTION
from smp.cli._outputs import write
from smp.errors import DocumentError, SmpError


def run_test(*, paths: tuple[str, ...], update: bool, exclude: tuple[str, ...]) -> int:
    """Run golden cases.

    Each PATH is a file of cases or a directory with such files. All cases run, also
    after a failure. A failing one is shown with what it expects and what happened;
    one that cannot be run, or a file that holds none, is an error.
    """
    errors: list[CommandFailure] = []
    inputs = Inputs(exclude=exclude)

    # A file may be named twice, or be in a directory that is named as well.
    files: dict[str, None] = {}
    for path in paths:
        with _collect(errors):
            files |= dict.fromkeys(inputs.files(path, SUFFIXES))
    cases: list[SpecCase] = []
    for file in files:
        # The schema of the format may be in the directory that it describes.
        if Path(file).name != SCHEMA_NAME:
            with _collect(errors):
                cases += parse(_text(inputs, file), source=name_of(file))

    outcomes: list[CaseOutcome] = []
    for case in cases:
        with _collect(errors, case):
            outcomes.append(run(case))
    failed = [outcome for outcome in outcomes if not outcome.passed]
    for outcome in failed:
        case = outcome.case
        differences = "\n".join(difference.text for difference in outcome.differences)
        lines = [f"{case.source}:{case.line}: {case.description}"]
        lines += differences.split("\n")
        write("\n    ".join(printable(line) for line in lines) + "\n")
    if update:
        _update(failed, errors)
    verb = "updated" if update else "failed"
    write(f"{len(outcomes) - len(failed)} passed, {len(failed)} {verb}\n")

    # Errors come last, where a long list of failed cases does not hide them.
    for error in errors:
        error.show()
    if errors:
        return ERROR
    return FOUND if failed and not update else DONE


COMMAND: Final = Command(
    run_test,
    example="test cases.yaml",
    exit_codes="0 all passed, 1 some failed, 2 an error",
    options=(
        switch(
            "--update",
            "Make failing cases expect what happens; review that before you commit it.",
        ),
        EXCLUDE_OPTION,
    ),
    arguments=(Argument("paths", metavar="PATH...", is_repeatable=True),),
)


@contextmanager
def _collect(
    errors: list[CommandFailure], case: SpecCase | None = None
) -> Iterator[None]:
    try:
        yield
    except SmpError as error:
        errors.append(CommandFailure(error, case))


def _text(inputs: Inputs, name: str) -> str:
    try:
        return inputs.data(name).decode()
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"the file is not UTF-8: {error.reason}",
            code="invalid-encoding",
            source=name_of(name),
        ) from None


def _update(failed: list[CaseOutcome], errors: list[CommandFailure]) -> None:
    by_source: dict[str, list[CaseOutcome]] = {}
    for outcome in failed:
        by_source.setdefault(outcome.case.source, []).append(outcome)
    # All cases of a file are changed in one text, as each change moves the lines below.
    for source, outcomes in by_source.items():
        with _collect(errors):
            changes = {outcome.case.index: corrected(outcome) for outcome in outcomes}
            text = updated_text(_text(Inputs(), source), changes, source=source)
            Path(source).write_text(text, encoding="utf-8")
