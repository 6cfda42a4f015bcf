"""One run of a command over many objects: each is computed and printed by itself.

Theory of operation. The inputs are listed and paired by the names of the objects alone
(``_inputs``, ``_identity``, ``_objects``), one row after the other while others are
computed; the other inputs only as far as partners are looked for. Here the objects are
parsed, computed and printed one after the other, so that the first is printed at once,
memory does not grow with their number, and one that fails leaves the others alone. A
large input is divided among processes, which return text; it is printed in the order of
the input, as if there were one process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import closing
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from smp.cli._commands import DONE, ERROR, FOUND, PARTLY
from smp.cli._errors import Failure, printable, report
from smp.cli._identity import ObjectIdentity
from smp.cli._inputs import Inputs
from smp.cli._interrupts import Interruption
from smp.cli._objects import Object, ObjectRow
from smp.cli._options import Settings
from smp.cli._outputs import write
from smp.cli._status_line import RunProgress
from smp.cli._workers import results_of
from smp.errors import DepthError, DocumentError
from smp.reports import Layout, ObjectReport, Place, Totals

_DIFFERENCES: Final = ("changed", "new", "removed", "renamed")


class PrintedOutcome(Protocol):
    """What a command finds out about one object."""

    @property
    def label(self) -> str:
        """The object for a reader."""

    @property
    def verdict(self) -> str:
        """What happens to the object, in the words of the summary."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should look at."""

    @property
    def is_faulty(self) -> bool:
        """Whether --strict takes the warnings for failures."""

    @property
    def kind_note(self) -> str:
        """What concerns all objects of the kind."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the operation failed, as blocks for standard error."""

    @property
    def counts_set_aside(self) -> dict[str, int]:
        """How many differences do not count, by the reason."""


OutcomeT = TypeVar("OutcomeT", bound=PrintedOutcome)


class Result(msgspec.Struct, frozen=True):
    """What is printed for an object: text, and messages for standard error."""

    verdict: str
    text: str = ""
    messages: tuple[str, ...] = ()
    is_faulty: bool = False
    kind_note: str = ""
    set_aside: dict[str, int] = {}


class Work(msgspec.Struct, Generic[OutcomeT], frozen=True):
    """What is done with each row: compute an outcome, and print it in a format.

    There is no outcome for an object that is not selected. ``is_comparison`` tells that
    differences are what the command looks for. ``nothing`` is said where there is no
    outcome.
    """

    compute: Callable[[ObjectRow], OutcomeT | None]
    layout: Layout[OutcomeT]
    is_comparison: bool = False
    nothing: str = ""

    def result(self, row: ObjectRow) -> Result:
        """Return what to print for a row; an error is a result, too."""
        if row.problem:
            return self._failed(row, (row.problem,))
        try:
            outcome = self.compute(row)
            if outcome is None:
                return Result("unselected")
            text = ""
            if self.layout.has_failures or not outcome.problems:
                text = self.layout.piece(outcome)
        except Failure as failure:
            return self._failed(row, failure.blocks, failure.error.code)
        except RecursionError:
            error = DepthError("a document is nested too deeply")
            nested = Failure(error, row.entry, row.entry.label)
            return self._failed(row, nested.blocks, error.code)
        messages = [*outcome.problems]
        if not self.layout.has_warnings:
            messages += [
                printable(f"smp: warning: {outcome.label}: {warning}")
                for warning in outcome.warnings
            ]
        return Result(
            outcome.verdict,
            text,
            tuple(messages),
            is_faulty=outcome.is_faulty,
            kind_note="" if self.layout.has_warnings else outcome.kind_note,
            set_aside=outcome.counts_set_aside,
        )

    def _failed(
        self, row: ObjectRow, blocks: Iterable[str], code: str = "ambiguous-object"
    ) -> Result:
        """Return that an object could not be computed, as blocks for standard error."""
        messages = tuple(blocks)
        piece_of = self.layout.piece_of_failure
        if piece_of is None:
            return Result("failed", messages=messages)
        entry = row.entry
        failed = failure_report(
            messages, code, Place(entry.source, entry.line), entry.identity
        )
        return Result("failed", piece_of(failed), messages)


def failure_report(
    blocks: Iterable[str],
    code: str,
    place: Place,
    identity: ObjectIdentity | None = None,
) -> ObjectReport:
    """Return the report of what failed with the blocks on standard error."""
    known = identity or ObjectIdentity()
    head = (known.api_version, known.kind, known.namespace, known.name)
    return ObjectReport.of_failure("\n".join(blocks), code, place, head)


def exit_code_of(*, done: int, failed: int, found: bool) -> int:
    """Return the exit code; ``found`` tells that there is what a command reports.

    What failed counts more than what was found.
    """
    if failed:
        return PARTLY if done else ERROR
    return FOUND if found else DONE


def load_row(
    row: ObjectRow, inputs: Inputs
) -> tuple[Object, Object | None, Object | None]:
    """Parse an entry and its two partners. Raises Failure."""
    first, second = row.partners
    return (
        inputs.load(row.entry),
        inputs.load(first) if first else None,
        inputs.load(second) if second else None,
    )


def run(
    rows: Iterable[ObjectRow], work: Work[Any], inputs: Inputs, settings: Settings
) -> int:
    """Compute and print all rows in their order, and return the exit code.

    An interrupt ends the output after an object, and then the process.
    """
    totals = Totals()
    faulty = 0
    problems = _Problems(inputs, totals)
    layout = work.layout
    total = len(rows) if isinstance(rows, Sized) else None
    progress = RunProgress(is_wanted=not settings.quiet)
    composition = layout.begin()
    kind_notes: set[str] = set()
    # A process that is forked must not share the position in an open file.
    inputs.close()
    computed = closing(results_of(problems.found_in(rows), work, settings.jobs))
    with Interruption() as interruption, computed as results:
        for count, result in enumerate(results, start=1):
            progress.count(count, total)
            problems.report_next()
            if result.verdict == "unselected":
                continue
            totals.add(result.verdict, set_aside=result.set_aside)
            faulty += result.is_faulty
            messages = _messages_of(result, kind_notes, is_quiet=settings.quiet)
            if messages:
                progress.clear()
                for message in messages:
                    report(message)
            _write_all(composition.add(result.text))
            if interruption.is_requested:
                break
        progress.clear()
        inputs.close()
        # Documents that cannot be read are in the text too, after all objects.
        if layout.piece_of_failure is not None:
            problems.report_rest()
            for failed in problems.reported:
                _write_all(composition.add(layout.piece_of_failure(failed)))
        _write_all(composition.end())
        if interruption.is_requested:
            report(f"smp: interrupted: {totals.line(len(inputs.skipped))}")
    problems.report_rest()
    _print_totals(totals, work, inputs, settings)
    failed_objects = totals.verdicts["failed"]
    differs = any(totals.verdicts[verdict] for verdict in _DIFFERENCES)
    return exit_code_of(
        done=totals.verdicts.total() - failed_objects,
        failed=failed_objects,
        found=(work.is_comparison and differs) or (settings.strict and faulty > 0),
    )


def _messages_of(
    result: Result, kind_notes: set[str], *, is_quiet: bool
) -> tuple[str, ...]:
    """Return what is said of an object; add the note on its kind to those that were."""
    if is_quiet:
        return result.messages if result.verdict == "failed" else ()
    # What concerns all objects of a kind is reported once.
    if not result.kind_note or result.kind_note in kind_notes:
        return result.messages
    kind_notes.add(result.kind_note)
    return (printable(f"smp: note: {result.kind_note}"), *result.messages)


def _print_totals(
    totals: Totals, work: Work[Any], inputs: Inputs, settings: Settings
) -> None:
    if not settings.quiet:
        inputs.report_skipped()
        summary = totals.line(len(inputs.skipped))
        if work.layout.has_summary:
            write(f"{summary}\n")
        elif totals.verdicts.total() > 1 or inputs.skipped or totals.set_aside:
            report(f"smp: {summary}")
    if work.nothing and not totals.verdicts:
        report(f"smp: note: {work.nothing}")


def _write_all(texts: Iterable[str]) -> None:
    for text in texts:
        write(text)


class _Problems:
    """What cannot be read of the inputs, reported before the object that is behind it.

    That is the same place for any number of processes, which read ahead. What is known
    before there are objects is reported at once.
    """

    def __init__(self, inputs: Inputs, totals: Totals) -> None:
        self._inputs = inputs
        self._totals = totals
        self.reported: list[ObjectReport] = []
        # Those before each row that is listed and not printed.
        self._of_rows: deque[list[Failure]] = deque()
        self._report(inputs.new_problems())

    def found_in(self, rows: Iterable[ObjectRow]) -> Iterator[ObjectRow]:
        """Yield the rows, and remember what was found while they were listed."""
        for row in rows:
            self._of_rows.append(self._inputs.new_problems())
            yield row

    def report_next(self) -> None:
        """Report what was found before the next row."""
        self._report(self._of_rows.popleft())

    def report_rest(self) -> None:
        """Report what was found up to the end of the inputs."""
        while self._of_rows:
            self.report_next()
        self._report(self._inputs.new_problems())

    def _report(self, failures: list[Failure]) -> None:
        for failure in failures:
            self._totals.add("failed")
            failure.show()
            error = failure.error
            place = Place("")
            if isinstance(error, DocumentError):
                place = Place(error.source, error.line or 0)
            self.reported.append(failure_report(failure.blocks, error.code, place))
