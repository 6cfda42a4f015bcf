"""The rows of ``smp drift``: judged by all that was read, counted, and written."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

import msgspec

from smp.cli._drift.comparing import DriftRow, Found
from smp.cli._drift.history import History
from smp.cli._drift.increments import DriftRun
from smp.cli._drift.output import DriftTotals, Output
from smp.cli._drift.pairs import Skipped
from smp.cli._objects import TextPart


class RowWriter(msgspec.Struct, frozen=True):
    """Writes the rows of a run, and keeps them where it has a state."""

    run: DriftRun
    output: Output
    totals: DriftTotals
    history: History | None

    def _write_known(self) -> None:
        """Write and count what is known of granules that nobody looks at."""
        if self.run.increment is None:
            return
        for granule, same in self.run.increment.same_as_before():
            self.totals.add_same(granule[0], same)
            self.run.increment.add_same(granule, same)
        for row in self.run.increment.rows_as_before():
            self._write(self.totals.judge(row))
        self.totals.reused = self.totals.verdicts.total()

    def write(self, found: Generator[Found, None, None]) -> None:
        """Write what is known, the rows as they are found, and then what is gone."""
        self.run.notices.progress.restart()
        self._write_known()
        with closing(found):
            for some in found:
                self._write_some(some)
                if self.run.notices.is_interrupted:
                    return
        self._end()

    def _write_some(self, some: Found) -> None:
        notices, increment = self.run.notices, self.run.increment
        # Kept before it is printed: what is printed again costs nothing.
        if increment is not None:
            increment.keep(some.kept)
        self._skip(some.skipped)
        self.totals.reused += some.reused
        notices.done += len(some.skipped) + some.folded
        for granule, same in some.same.items():
            self.totals.add_same(granule[0], same)
            if increment is not None:
                increment.add_same(granule, same)
            notices.done += same[1] + same[2]
        for row, part in zip(some.rows, some.parts, strict=True):
            notices.done += 2 - (not row.desired_place or not row.live_place)
            self._write(self._with_commits(self.totals.judge(row), part))
        notices.progress.count(notices.done, notices.kept, "compared")

    def _with_commits(self, row: DriftRow, part: TextPart | None) -> DriftRow:
        if self.history is None or part is None or not row.paths:
            return row
        commits = self.history.commits(part, row.paths)
        return msgspec.structs.replace(row, commits=commits)

    def _write(self, row: DriftRow) -> None:
        """Write a row with what has become of it, and count it."""
        if self.run.increment is not None:
            row = self.run.increment.compare(row)
        self.totals.add_row(row)
        self.output.add(row)

    def _skip(self, skipped: list[Skipped]) -> None:
        """Name objects that take no part, and have them looked at by the next run."""
        if self.run.increment is not None:
            self.run.increment.look_again(each.granule for each in skipped)
        texts = [f"{each.place}: {each.label}: {each.reason}" for each in skipped]
        self.run.notices.tell([], texts)

    def _end(self) -> None:
        """Write what is gone, and keep what the run has found."""
        if self.run.increment is None:
            return
        clusters = self.totals.clusters()
        incomplete = {each.cluster for each in clusters if not each.complete}
        for row in self.run.increment.end(incomplete):
            self.output.add(row)
        self.totals.brief.changes = self.run.increment.changes
