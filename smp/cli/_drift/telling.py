"""What a run of ``smp drift`` says on standard error, and its exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from smp.cli._drift.output import DriftTotals
from smp.cli._errors import CommandFailure, report, say
from smp.cli._exit_codes import Tally
from smp.cli._inputs import Inputs
from smp.cli._interrupts import Interruption
from smp.cli._options import CommandSettings
from smp.cli._status_line import RunProgress
from smp.errors import SmpError

_NO_PAIRS: Final = "no object found"


class RunNotices:
    """Names what could not be read or takes no part, and counts what is done."""

    def __init__(
        self,
        inputs: Inputs,
        totals: DriftTotals,
        settings: CommandSettings,
        interruption: Interruption,
    ) -> None:
        self._inputs = inputs
        self._totals = totals
        self._settings = settings
        self._interruption = interruption
        self.progress: RunProgress = RunProgress(is_wanted=not settings.quiet)
        # The objects of each side that were read.
        self.read: Counter[str] = Counter()
        # The objects of both sides that are to be compared, and that were, or that take
        # no part.
        self.kept: int = 0
        self.done: int = 0
        self._failed = 0
        self._skipped = 0

    @property
    def is_interrupted(self) -> bool:
        """Whether the run is to end after what it does now."""
        return self._interruption.is_requested

    def tell(self, problems: list[str], skipped: list[str]) -> None:
        """Name what could not be read, and what takes no part."""
        self._skipped += len(skipped)
        self._failed += len(problems)
        if problems or skipped:
            self.progress.clear()
        for block in problems:
            report(block)
        if not self._settings.quiet:
            for text in skipped:
                say(f"skipped: {text}")

    def tell_new(self) -> None:
        """Name what this process could not read since the last time."""
        skipped = self._inputs.new_skipped()
        problems = self._inputs.new_problems()
        self.tell([each.block for each in problems], skipped)

    def fail(self, error: SmpError) -> None:
        """Name what is wrong with something beside the objects."""
        self.tell([CommandFailure(error).block], [])

    def say(self, texts: Iterable[str]) -> None:
        """Say what may matter to a reader of the rows."""
        if not self._settings.quiet:
            self.progress.clear()
            for text in texts:
                say(text)

    def tell_interruption(self) -> None:
        """Say what a run that was interrupted has not compared of what it read."""
        if self.is_interrupted:
            left = f"{self.kept - self.done:,} of the objects that were read"
            say(f"interrupted: {self._totals.line()}; {left} were not compared")

    def end(self) -> int:
        """Say how many objects there were; return the exit code."""
        self.tell_new()
        if not self._settings.quiet:
            read = sorted(self.read.items())
            counts = [f"{count:,} {side}" for side, count in read if count]
            say(
                f"read {', '.join(counts) or _NO_PAIRS}; "
                f"{self._skipped:,} skipped, {self._failed:,} could not be read"
            )
            if self._settings.report_format is not None:
                say(self._totals.line())
        verdicts = self._totals.verdicts
        incomplete = [each for each in self._totals.clusters() if not each.complete]
        failed = self._failed + len(incomplete)
        total = verdicts.total()
        found = total - verdicts["same"] + len(self._totals.brief.expired)
        return Tally(total, failed, found=found).exit_code()
