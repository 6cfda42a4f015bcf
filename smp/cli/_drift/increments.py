"""What a run of ``smp drift`` with a state looks at, and what it leaves to the next.

A state that cannot be written any more, as on a disk that is full, ends no run: it
stays as it was, and the run goes on without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

import msgspec

from smp.cli._drift.comparing import DriftRow, SameCount
from smp.cli._drift.documents import FEWEST, DocumentTable, find_table
from smp.cli._drift.files import FleetInputs
from smp.cli._drift.gaps import ReadingGaps
from smp.cli._drift.reading import FileContent
from smp.cli._drift.records import FilePart, Granule, SideFile, granule_of
from smp.cli._drift.state import (
    Change,
    DriftState,
    KeptList,
    KnownFile,
    KnownFiles,
    KnownRun,
    find_list,
)
from smp.cli._drift.telling import RunNotices
from smp.errors import DocumentError

_NONE: Final[SameCount] = (0, 0, 0)
_NOTHING: Final = KnownFile(b"", FileContent())
# So many files have their tables in memory, where places of rows are looked for.
_TABLES: Final = 4


class DriftRun(msgspec.Struct, frozen=True):
    """What the steps of a run share: what is read, and missed, and said, and kept."""

    inputs: FleetInputs
    gaps: ReadingGaps
    notices: RunNotices
    # None without a state.
    increment: Increment | None


class Increment:
    """What has changed since the last run, and what is known after this one.

    ``known`` is what is known of this run at its beginning.
    """

    def __init__(
        self, path: str, known: KnownRun, notices: RunNotices, *, reads_all: bool
    ) -> None:
        """Open the state of a file. Raises DocumentError."""
        self.state: DriftState = DriftState(path)
        self._notices = notices
        self.known: KnownRun = known
        # The files of the last run with the same options.
        is_alike = self.state.known.salt == known.salt and not reads_all
        self._former: KnownFiles = self.state.files if is_alike else {}
        self._files: KnownFiles = {}
        # The files that are as they were.
        self._unchanged: list[tuple[bool, str]] = []
        # All of them, if None.
        self._looked_at: frozenset[Granule] | None = None
        self._moved: dict[str, str] = {}
        self._is_same = False
        self._is_lost = False

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write to the state; where that fails, the run goes on without it."""
        try:
            yield
        except DocumentError as error:
            self._is_lost = True
            self._notices.fail(error)

    def changed(self, digests: dict[SideFile, bytes]) -> list[SideFile] | None:
        """Return the files that are not as they were; None where that is not known."""
        if not self._former:
            return None
        found: list[SideFile] = []
        for file, digest in digests.items():
            known = self._former.get(file.key, _NOTHING)
            # What could not be read is read by each run.
            if not digest or known.digest != digest or not known.content.is_sound:
                found.append(file)
        return found

    def look_at(
        self, files: Iterable[SideFile], changed: dict[SideFile, FileContent]
    ) -> frozenset[Granule]:
        """Return the granules of which the state does not know what they are now.

        ``changed`` has what is now in the files that have changed.
        """
        granules = {*self.state.known.again}
        for file, content in changed.items():
            before = self._former.get(file.key, _NOTHING).content
            if content.is_sound and before.is_sound:
                granules.update(content.changed(before))
            else:
                granules.update(content.granules(), before.granules())
        keys = {file.key for file in files}
        for key in self._former.keys() - keys:
            granules.update(self._former[key].content.granules())
        is_moved = self.state.known.head != self.known.head
        line_of = self._line_finder()
        for row in self.state.findings():
            if is_moved or not self._finds_places(row, changed, line_of):
                granules.add(_granule(row))
        is_same = not (changed or granules or is_moved)
        self._is_same = is_same and self._former.keys() == keys
        self._looked_at = frozenset(granules)
        return self._looked_at

    def _finds_places(
        self,
        row: DriftRow,
        changed: Collection[SideFile],
        line_of: Callable[[bool, str, int], int | None],
    ) -> bool:
        """Tell whether it is known at which lines the objects of a row are now."""
        paths = {file.key for file in changed}
        for is_desired, place in ((True, row.desired_place), (False, row.live_place)):
            path, _, line = place.rpartition(":")
            if (is_desired, path) not in paths:
                continue
            # Git says of lines who has set them.
            if self.known.head:
                return False
            found = line_of(is_desired, path, int(line))
            if found is None:
                return False
            self._moved[place] = f"{path}:{found}"
        return True

    def _line_finder(self) -> Callable[[bool, str, int], int | None]:
        @lru_cache(_TABLES)
        def tables(key: tuple[bool, str]) -> tuple[DocumentTable | None, ...]:
            runs = (self.state.last, self.state.run)
            return tuple(find_table(self.state.path, run, key) for run in runs)

        def line_of(is_desired: bool, path: str, line: int) -> int | None:  # noqa: FBT001  # a key
            before, now = tables((is_desired, path))
            return None if before is None or now is None else before.line_in(now, line)

        return line_of

    def content(self, file: SideFile) -> FileContent:
        """Return what a file had that is as it was."""
        self._unchanged.append(file.key)
        return self._former[file.key].content

    def part(self, file: SideFile, *, is_current: bool = False) -> FilePart:
        """Return a file with what is known of its documents."""
        is_unchanged = file.key in self._unchanged
        run = self.state.run if is_current and not is_unchanged else self.state.last
        return FilePart(file, table=run, is_current=is_current)

    def keep_table(self, file: SideFile, table: DocumentTable) -> None:
        """Keep what is known of the documents of a file that has many."""
        if len(table) >= FEWEST and not self._is_lost:
            with self._writing():
                self.state.keep_table(file.key, table)

    def kept_list(self, list_: bytes) -> KeptList | None:
        """Return what was read of a list that was interrupted; None for others."""
        state = self.state
        return find_list(state.path, list_) if state.has_pages else None

    def keep_page(self, list_: bytes, page: KeptList, *, is_first: bool) -> None:
        """Keep a page of a list, so that a later run goes on behind it."""
        if not self._is_lost:
            with self._writing():
                self.state.keep_page(list_, page, is_first=is_first)

    def keep_files(
        self, digests: dict[SideFile, bytes], contents: dict[SideFile, FileContent]
    ) -> None:
        """Keep what all files have."""
        self._files = {
            file.key: KnownFile(digests[file], content)
            for file, content in contents.items()
        }

    def same_as_before(self) -> Iterator[tuple[Granule, SameCount]]:
        """Yield the counts of granules that nobody looks at."""
        if self._looked_at is not None:
            for granule, same in self.state.known.granules():
                if granule not in self._looked_at:
                    yield granule, same

    def rows_as_before(self) -> Iterator[DriftRow]:
        """Yield the rows of granules that nobody looks at."""
        if self._looked_at is None:
            return
        for row in self.state.findings():
            if _granule(row) not in self._looked_at:
                yield msgspec.structs.replace(
                    row,
                    since="",
                    change="",
                    desired_place=self._moved.get(row.desired_place, row.desired_place),
                    live_place=self._moved.get(row.live_place, row.live_place),
                )

    def keep(self, rows: list[tuple[bytes, Granule, bytes | None]]) -> None:
        """Keep answers."""
        if not self._is_lost:
            with self._writing():
                self.state.add(rows)

    def add_same(self, granule: Granule, same: SameCount) -> None:
        """Count objects that are the same."""
        cluster, part = granule
        parts = self.known.same.setdefault(cluster, {})
        found = parts.get(part, _NONE)
        parts[part] = found[0] + same[0], found[1] + same[1], found[2] + same[2]

    def look_again(self, granules: Iterable[Granule]) -> None:
        """Have granules looked at by the next run."""
        self.known.again += granules

    def compare(self, row: DriftRow) -> DriftRow:
        """Return a row with what has become of it since the last run, and keep it."""
        if row.verdict == "unreadable":
            self.look_again([_granule(row)])
        if row.verdict == "same":
            sides = bool(row.desired_place), bool(row.live_place)
            self.add_same(_granule(row), (1, *sides))
        if not self._is_lost:
            with self._writing():
                return self.state.compare(row)
        return row

    def end(self, incomplete: set[str]) -> Iterator[DriftRow]:
        """Yield what is gone, and keep what the run has found.

        Of the clusters ``incomplete`` it is not known what is gone.
        """
        if self._is_lost:
            return
        with self._writing():
            for row in self.state.find_gone(incomplete):
                if row.change:
                    yield row
                else:
                    self.look_again([_granule(row)])
            if not self._is_same:
                self.known.again = sorted({*self.known.again})
                looked_at = self._looked_at
                self.state.end(self.known, self._files, self._unchanged, looked_at)

    @property
    def changes(self) -> Counter[Change]:
        """What has become of the findings of the last run; nothing without a state."""
        return Counter() if self._is_lost else self.state.changes


def _granule(row: DriftRow) -> Granule:
    return granule_of(row.cluster, row.group, row.kind, row.name)
