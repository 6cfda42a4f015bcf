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

import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import closing
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import msgspec

from smp.cli._commands import DONE, ERROR, FOUND, PARTLY
from smp.cli._errors import Failure, printable, report
from smp.cli._formats import Format, Problem
from smp.cli._inputs import Inputs
from smp.cli._interrupts import Interruption, follow_parent
from smp.cli._object_outcomes import listing_of
from smp.cli._objects import Entry, Object, Pairing
from smp.cli._options import Settings
from smp.cli._outputs import write
from smp.errors import DepthError, DocumentError

if TYPE_CHECKING:
    from concurrent.futures import Future

_DIFFERENCES: Final = ("changed", "new", "removed", "renamed")

# From so many bytes on it pays to start processes; each gets so many at a time.
_LARGE: Final = 2**21
_SHARE: Final = 2**17
# So many shares wait for each process, so that none waits for the output.
_SHARES_AHEAD: Final = 3
# After so many seconds a terminal shows how far the run is, and then so often.
_PATIENCE: Final = 2.0
_INTERVAL: Final = 0.2


class Row(msgspec.Struct, frozen=True):
    """An object of the input that a command goes through, and where the others are.

    ``problem`` is why it cannot be computed, ``notes`` are what to warn of. A row that
    ``is_removed`` is of another input, and this one lacks it; one that ``is_renamed``
    has a partner of another name.
    """

    entry: Entry
    partners: tuple[Entry | None, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()
    is_removed: bool = False
    is_renamed: bool = False

    def in_namespace_of(self, live: Entry | None) -> Row:
        """Return the row with the namespace of a live object where it leaves it out.

        A manifest leaves it to the context of kubectl, which puts it into the object;
        no apply removes it.
        """
        if live is None:
            return self
        entry = self.entry.in_namespace(live.identity.namespace)
        return msgspec.structs.replace(self, entry=entry)


class Outcome(Protocol):
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


OutcomeT = TypeVar("OutcomeT", bound=Outcome)
RowT = TypeVar("RowT", bound=Row)
RowT_contra = TypeVar("RowT_contra", bound=Row, contravariant=True)
ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)


class ResultMaker(Protocol[RowT_contra, ResultT_co]):
    """What makes the result of a row, in this process or in another one."""

    def result(self, row: RowT_contra) -> ResultT_co:
        """Return the result of a row; an error is one, too."""


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

    There is no outcome for an object that is not selected.
    """

    compute: Callable[[Row], OutcomeT | None]
    format: Format[OutcomeT]

    def result(self, row: Row) -> Result:
        """Return what to print for a row; an error is a result, too."""
        if row.problem:
            return self._failed(row, (row.problem,))
        try:
            outcome = self.compute(row)
            if outcome is None:
                return Result("unselected")
            text = ""
            if self.format.has_failures or not outcome.problems:
                text = self.format.render(outcome)
        except Failure as failure:
            return self._failed(row, failure.blocks, failure.error.code)
        except RecursionError:
            error = DepthError("a document is nested too deeply")
            nested = Failure(error, row.entry, row.entry.label)
            return self._failed(row, nested.blocks, error.code)
        messages = [*outcome.problems]
        if not self.format.has_warnings:
            messages += [
                printable(f"smp: warning: {outcome.label}: {warning}")
                for warning in outcome.warnings
            ]
        return Result(
            outcome.verdict,
            text,
            tuple(messages),
            is_faulty=outcome.is_faulty,
            kind_note="" if self.format.has_warnings else outcome.kind_note,
            set_aside=outcome.counts_set_aside,
        )

    def _failed(
        self, row: Row, blocks: Iterable[str], code: str = "ambiguous-object"
    ) -> Result:
        """Return that an object could not be computed, as blocks for standard error."""
        messages = tuple(blocks)
        render = self.format.render_problem
        if render is None:
            return Result("failed", messages=messages)
        entry = row.entry
        problem = Problem(
            "\n".join(messages), code, entry.source, entry.line, entry.identity
        )
        return Result("failed", render(problem), messages)


class Totals:
    """How many objects there were of each verdict, and how many of them are faulty."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.set_aside: Counter[str] = Counter()
        self.faulty = 0

    @property
    def differs(self) -> bool:
        """Whether something changes."""
        return any(self.verdicts[verdict] for verdict in _DIFFERENCES)

    def is_failed_by(self, settings: Settings) -> bool:
        """Tell whether --strict takes the warnings for failures."""
        return settings.strict and self.faulty > 0

    def summary(self, skipped: int) -> str:
        """Return what happened as a line: ``2 objects: 1 changed, 1 unchanged``."""
        counts = [f"{count} {verdict}" for verdict, count in self.verdicts.items()]
        if skipped:
            counts.append(f"{skipped} skipped")
        total = self.verdicts.total()
        plural = "s" if total != 1 else ""
        what = f": {', '.join(counts)}" if counts else ""
        if self.set_aside:
            differences = self.set_aside.total()
            plural_aside = "s" if differences != 1 else ""
            what += f"; {differences} difference{plural_aside} set aside: "
            what += listing_of(self.set_aside)
        return f"{total} object{plural}{what}"

    def exit_code(self, *, found: bool) -> int:
        """Return the exit code; ``found`` tells that there is what a command reports.

        What failed counts more than what was found.
        """
        failed = self.verdicts["failed"]
        if failed:
            return ERROR if failed == self.verdicts.total() else PARTLY
        return FOUND if found else DONE


def rows_of(entries: Iterable[Entry], *pairings: Pairing) -> Iterator[Row]:
    """Find the partners of entries in other inputs, and what to warn of."""
    for entry in entries:
        try:
            partners = tuple([pairing.partner(entry) for pairing in pairings])
        except Failure as failure:
            yield Row(entry, problem="\n".join(failure.blocks))
        else:
            # kubectl applies documents of one object one after the other; here each is
            # applied to what is live.
            yield Row(entry, partners, notes=entry.notes)


def load_row(row: Row, inputs: Inputs) -> tuple[Object, Object | None, Object | None]:
    """Parse an entry and its two partners. Raises Failure."""
    first, second = row.partners
    return (
        inputs.load(row.entry),
        inputs.load(first) if first else None,
        inputs.load(second) if second else None,
    )


def run(
    rows: Iterable[Row], work: Work[Any], inputs: Inputs, settings: Settings
) -> Totals:
    """Compute and print all rows in their order, and return what happened.

    An interrupt ends the output after an object, and then the process.
    """
    totals = Totals()
    problems = _Problems(inputs, totals)
    format_ = work.format
    total = len(rows) if isinstance(rows, Sized) else None
    progress = _Progress(total, is_wanted=not settings.quiet)
    composition = format_.composition()
    kind_notes: set[str] = set()
    # A process that is forked must not share the position in an open file.
    inputs.close()
    computed = closing(results_of(problems.found_in(rows), work, settings.jobs))
    with Interruption() as interruption, computed as results:
        for result in results:
            progress.step()
            problems.report_next()
            if result.verdict == "unselected":
                continue
            totals.verdicts[result.verdict] += 1
            totals.faulty += result.is_faulty
            totals.set_aside.update(result.set_aside)
            messages = result.messages
            kind_note = result.kind_note
            if settings.quiet:
                kind_note = ""
                if result.verdict != "failed":
                    messages = ()
            # What concerns all objects of a kind is reported once.
            if kind_note and kind_note not in kind_notes:
                kind_notes.add(kind_note)
                messages = (printable(f"smp: note: {kind_note}"), *messages)
            if messages:
                progress.clear()
                for message in messages:
                    report(message)
            if result.text:
                _write_all(composition.add(result.text))
            if interruption.is_requested:
                break
        progress.clear()
        inputs.close()
        # Documents that cannot be read are in the text too, after all objects.
        if format_.render_problem is not None:
            problems.report_rest()
            for problem in problems.reported:
                _write_all(composition.add(format_.render_problem(problem)))
        _write_all(composition.end())
        if interruption.is_requested:
            report(f"smp: interrupted: {totals.summary(len(inputs.skipped))}")
    problems.report_rest()

    if settings.quiet:
        return totals
    inputs.report_skipped()
    summary = totals.summary(len(inputs.skipped))
    if format_.has_summary:
        write(f"{summary}\n")
    elif totals.verdicts.total() > 1 or inputs.skipped or totals.set_aside:
        report(f"smp: {summary}")
    return totals


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
        self.reported: list[Problem] = []
        # Those before each row that is listed and not printed.
        self._of_rows: deque[list[Failure]] = deque()
        self._report(inputs.new_problems())

    def found_in(self, rows: Iterable[Row]) -> Iterator[Row]:
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
            self._totals.verdicts["failed"] += 1
            failure.show()
            error = failure.error
            source, line = "", 0
            if isinstance(error, DocumentError):
                source, line = error.source, error.line or 0
            text = "\n".join(failure.blocks)
            self.reported.append(Problem(text, error.code, source, line))


def processes_for(jobs: int) -> int:
    """Return how many processes do the work; 0 jobs are one for each core."""
    if not jobs and hasattr(os, "sched_getaffinity"):
        # The cores that this process may use.
        jobs = len(os.sched_getaffinity(0))
    # Not every system tells that. Windows waits for 61 processes at most.
    return min(jobs or os.cpu_count() or 1, 61)


def results_of(
    rows: Iterable[RowT], work: ResultMaker[RowT, ResultT], jobs: int
) -> Generator[ResultT, None, None]:
    """Yield the result of each row, in order; many are computed by ``jobs`` processes.

    0 is a process for each core.
    """
    jobs = processes_for(jobs)
    remaining = iter(rows)
    first: list[RowT] = []
    # A process that is forked has all that was read so far; one that is started anew,
    # as on other systems, would have to read it again.
    if jobs > 1 and sys.platform == "linux":
        size = 0
        for row in remaining:
            first.append(row)
            size += _size(row)
            if size >= _LARGE:
                yield from _results_of_processes(chain(first, remaining), work, jobs)
                return
    for row in chain(first, remaining):
        yield work.result(row)


def _results_of_processes(
    rows: Iterable[RowT], work: ResultMaker[RowT, ResultT], jobs: int
) -> Iterator[ResultT]:
    # Small inputs need one process.
    import multiprocessing  # noqa: PLC0415  # see above
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415  # see above

    global _work  # noqa: PLW0603  # what a forked process inherits
    _work = work
    # Rows are listed, and results are kept, only some shares ahead of the output.
    pending: deque[Future[list[ResultT]]] = deque()
    executor = ProcessPoolExecutor(
        jobs,
        multiprocessing.get_context("fork"),
        initializer=follow_parent,
        initargs=(os.getpid(),),
    )
    try:
        for share in _shares(rows):
            pending.append(executor.submit(_results_of_share, share))
            if len(pending) > _SHARES_AHEAD * jobs:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    finally:
        # The output may end before all is computed.
        executor.shutdown(cancel_futures=True)


_work: ResultMaker[Any, Any]


def _results_of_share(rows: list[Any]) -> list[Any]:
    return [_work.result(row) for row in rows]


def _shares(rows: Iterable[RowT]) -> Iterator[list[RowT]]:
    """Divide rows into shares that take about as long each."""
    share: list[RowT] = []
    size = 0
    for row in rows:
        share.append(row)
        size += _size(row)
        if size >= _SHARE:
            yield share
            share, size = [], 0
    if share:
        yield share


def _size(row: Row) -> int:
    partners = [partner for partner in row.partners if partner is not None]
    return sum(entry.length for entry in (row.entry, *partners))


class _Progress:
    """How far a run is, on a terminal and only where it takes long."""

    def __init__(self, total: int | None, *, is_wanted: bool) -> None:
        self._total = total
        self._done = 0
        self._is_shown = False
        self._next = monotonic() + _PATIENCE
        # It is None where the caller closed it.
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._is_wanted = is_wanted and is_terminal

    def step(self) -> None:
        """Count an object."""
        self._done += 1
        if self._is_wanted and monotonic() >= self._next:
            self._next = monotonic() + _INTERVAL
            self._is_shown = True
            # What is listed while it is computed has no total yet.
            of_total = "" if self._total is None else f" of {self._total}"
            report(f"\rsmp: {self._done}{of_total} objects", end="")

    def clear(self) -> None:
        """Remove the line, so that others can be printed."""
        if self._is_shown:
            # ECMA-48, EL: erase the line.
            report("\r\x1b[K", end="")
            self._is_shown = False
