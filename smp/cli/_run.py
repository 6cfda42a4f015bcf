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
from typing import Any, Final, Generic, TypeVar

import msgspec

from smp._values.findings import Finding
from smp.cli._errors import CommandFailure, printable, report, say
from smp.cli._exit_codes import Tally, describe, is_refusal
from smp.cli._inputs import Inputs
from smp.cli._interrupts import Interruption
from smp.cli._objects import Object, ObjectRow, PrintedOutcome
from smp.cli._options import CommandSettings
from smp.cli._outputs import write
from smp.cli._status_line import RunProgress
from smp.cli._workers import results_of
from smp.errors import DepthError, DocumentError
from smp.reports import Layout, ObjectReport, Place, Totals

_DIFFERENCES: Final = ("changed", "new", "removed", "renamed")


OutcomeT = TypeVar("OutcomeT", bound=PrintedOutcome)


class Result(msgspec.Struct, frozen=True):
    """What is printed for an object: text, and a block for standard error.

    ``messages`` are there for the exit code, and printed where ``text`` has none.
    """

    verdict: str
    text: str = ""
    block: str = ""
    messages: tuple[Finding, ...] = ()
    label: str = ""
    has_messages: bool = False
    kind_note: str = ""
    unchecked: str = ""
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
            return self._failed(row, row.problem)
        try:
            outcome = self.compute(row)
            if outcome is None:
                return Result("unselected")
            text = ""
            if self.layout.has_failures or not outcome.problem:
                text = self.layout.piece(outcome)
        except CommandFailure as failure:
            return self._failed(row, failure.block, failure.error.code)
        except RecursionError:
            error = DepthError("a document is nested too deeply")
            nested = CommandFailure(error, row.entry, row.entry.label)
            return self._failed(row, nested.block, error.code)
        return Result(
            outcome.verdict,
            text,
            outcome.problem,
            outcome.messages,
            outcome.label,
            has_messages=self.layout.has_warnings,
            kind_note="" if self.layout.has_warnings else outcome.kind_note,
            unchecked=outcome.unchecked,
            set_aside=outcome.counts_set_aside,
        )

    def _failed(
        self, row: ObjectRow, block: str, code: str = "ambiguous-object"
    ) -> Result:
        piece_of = self.layout.piece_of_failure
        if piece_of is None:
            return Result("failed", block=block)
        entry = row.entry
        place, head = Place(entry.source, entry.line), entry.identity.head
        failed = ObjectReport.of_failure(block, code, place, head)
        return Result("failed", piece_of(failed), block)


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
    rows: Iterable[ObjectRow],
    work: Work[Any],
    inputs: Inputs,
    settings: CommandSettings,
) -> int:
    """Compute and print all rows in their order, and return the exit code.

    An interrupt ends the output after an object, and then the process.
    """
    output = _RunOutput(work, inputs, settings)
    total = len(rows) if isinstance(rows, Sized) else None
    # A process that is forked must not share the position in an open file.
    inputs.close()
    listed = output.problems.found_in(rows)
    computed = closing(results_of(listed, work, Work.result, settings.jobs))
    with Interruption() as interruption, computed as results:
        for count, result in enumerate(results, start=1):
            output.progress.count(count, total)
            output.add(result)
            if interruption.is_requested:
                break
        output.end()
        if interruption.is_requested:
            say(f"interrupted: {output.totals.line(len(inputs.skipped))}")
    return output.finish()


class _RunOutput:
    def __init__(
        self, work: Work[Any], inputs: Inputs, settings: CommandSettings
    ) -> None:
        self._work = work
        self._inputs = inputs
        self._settings = settings
        self.totals = Totals()
        self._tally = Tally()
        self.problems = _Problems(inputs, self.totals)
        self.progress = RunProgress(is_wanted=not settings.quiet)
        self._composition = work.layout.begin()
        self._kind_notes: set[str] = set()
        self._unchecked: set[str] = set()

    def add(self, result: Result) -> None:
        """Print an object, with what is said of it."""
        self.problems.report_next()
        if result.verdict == "unselected":
            return
        self.totals.add(result.verdict, set_aside=result.set_aside)
        self._tally.add_messages(result.messages)
        blocks = self._blocks_of(result)
        if blocks:
            self.progress.clear()
            for block in blocks:
                report(block)
        _write_all(self._composition.add(result.text))

    def _blocks_of(self, result: Result) -> list[str]:
        """Return what is said of an object, and once of its kind and definition."""
        settings, messages = self._settings, [*result.messages]
        if settings.quiet:
            # What makes the exit code another one than 0 is said all the same.
            is_strict = settings.strict
            messages = [each for each in messages if is_strict or is_refusal(each)]
        elif result.has_messages:
            messages = []
        blocks = [result.block] if result.block else []
        for each in messages:
            severity = "error" if is_refusal(each) else "warning"
            line = f"smp: {severity}: {result.label}: {describe(each)}"
            blocks.append(printable(line))
        note, unchecked = result.kind_note, result.unchecked
        if note and note not in self._kind_notes and not settings.quiet:
            self._kind_notes.add(note)
            blocks.insert(0, printable(f"smp: note: {note}"))
        if unchecked and unchecked not in self._unchecked:
            self._unchecked.add(unchecked)
            if settings.strict or not settings.quiet:
                blocks.insert(0, printable(f"smp: warning: {unchecked}"))
        return blocks

    def end(self) -> None:
        self.progress.clear()
        self._inputs.close()
        # Documents that cannot be read are in the text too, after all objects.
        layout = self._work.layout
        if layout.piece_of_failure is not None:
            self.problems.report_rest()
            for failed in self.problems.reported:
                _write_all(self._composition.add(layout.piece_of_failure(failed)))
        _write_all(self._composition.end())

    def finish(self) -> int:
        """Say how many objects there were, and return the exit code."""
        tally, totals, settings = self._tally, self.totals, self._settings
        self.problems.report_rest()
        self._print_totals()
        selects = settings.selector or settings.include_kind
        if selects and not totals.verdicts and not self._work.nothing:
            # A gate that looks at nothing is not open.
            selectors = _selectors(settings)
            say(f"error: no object is selected by {selectors}")
            tally.failed += 1
            return tally.exit_code()
        tally.failed = totals.verdicts["failed"]
        tally.done = totals.verdicts.total() - tally.failed
        if settings.strict:
            tally.failed += len(self._unchecked)
        if self._work.is_comparison:
            tally.found = sum(totals.verdicts[verdict] for verdict in _DIFFERENCES)
        return tally.exit_code(is_strict=settings.strict)

    def _print_totals(self) -> None:
        totals, work, inputs = self.totals, self._work, self._inputs
        if not self._settings.quiet:
            inputs.report_skipped()
            summary = totals.line(len(inputs.skipped))
            if work.layout.has_summary:
                write(f"{summary}\n")
            elif totals.verdicts.total() > 1 or inputs.skipped or totals.set_aside:
                say(summary)
        if work.nothing and not totals.verdicts:
            say(f"note: {work.nothing}")


def _selectors(settings: CommandSettings) -> str:
    options = [f"--include-kind {kind}" for kind in settings.include_kind]
    if settings.selector:
        options.append(f"--selector {settings.selector}")
    return " ".join(options)


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
        self._of_rows: deque[list[CommandFailure]] = deque()
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

    def _report(self, failures: list[CommandFailure]) -> None:
        for failure in failures:
            self._totals.add("failed")
            failure.show()
            error = failure.error
            place = Place("")
            if isinstance(error, DocumentError):
                place = Place(error.source, error.line or 0)
            found = ObjectReport.of_failure(failure.block, error.code, place)
            self.reported.append(found)
