"""Which files the sides of ``smp drift`` have, and what was in each.

Theory of operation. The objects of a fleet fall into granules: those of a cluster whose
kind and name have one hash of ``PARTS``. All that may be one object is in one granule,
so each can be paired without the others. A file is read in parts, by any process. What
is known of it afterwards is small: of which clusters something was read, and a sum of
the hashes of its objects for each granule. Two contents of a file with one sum for a
granule have the same objects there. So a run that knows those sums of the last one
looks only at the granules in which a sum has changed. Of a file with many documents it
knows each, see documents.py.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from typing import Final

import msgspec

from smp.cli._drift.documents import (
    DocumentLog,
    DocumentTable,
    Sums,
    add_to_sums,
    find_table,
    hash_of,
)
from smp.cli._drift.files import (
    FleetInputs,
    cluster_in,
    folder_below,
    is_compressed,
    is_url,
)
from smp.cli._drift.gaps import ReadingGaps
from smp.cli._drift.pairs import Parts
from smp.cli._drift.parsing import (
    SUFFIXES,
    WITHOUT_START,
    RecordReader,
    WatchEvents,
    incomplete,
    is_splittable,
)
from smp.cli._drift.records import FilePart, Granule, Record, SideFile
from smp.cli._inputs import STDIN
from smp.cli._workers import by_size
from smp.documents import Document
from smp.errors import DocumentError

# What a process reads at a time, in bytes.
_SHARE: Final = 8 << 20
# A compressed text becomes about so many times as long.
_COMPRESSED: Final = 8


class FileContent(msgspec.Struct):
    """What was read of a file beside its objects.

    ``is_sound`` says that all of it are objects; ``unstarted`` are the places at which
    a watch of a cluster goes on without its beginning.
    """

    count: int = 0
    # The objects that are paired, and their bytes.
    kept: int = 0
    size: int = 0
    heard: set[str] = set()
    listed: set[str] = set()
    is_sound: bool = True
    sums: Sums = {}
    unstarted: list[tuple[str, str, int]] = []
    events: WatchEvents = msgspec.field(default_factory=WatchEvents)

    def merge(self, other: FileContent) -> None:
        """Add another part of the file."""
        self.count += other.count
        self.kept += other.kept
        self.size += other.size
        self.heard |= other.heard
        self.listed |= other.listed
        self.is_sound = self.is_sound and other.is_sound
        self.events.merge(other.events)
        self.add_sums(other.sums)

    def add_sums(self, sums: Sums) -> None:
        """Add the sums of other objects."""
        for cluster, of_cluster in sums.items():
            for part, value in of_cluster.items():
                add_to_sums(self.sums, (cluster, part), value)

    def finish(self) -> None:
        """Keep of the events only where a watch has no beginning."""
        self.unstarted = [*self.events.without_start()]
        self.events = WatchEvents()

    def granules(self) -> Iterator[Granule]:
        """Yield the granules of the objects."""
        for cluster, sums in self.sums.items():
            for part in sums:
                yield cluster, part

    def changed(self, former: FileContent) -> Iterator[Granule]:
        """Yield the granules in which another content of the file differs."""
        for cluster, part in {*self.granules(), *former.granules()}:
            mine, other = (each.sums.get(cluster, {}) for each in (self, former))
            if mine.get(part) != other.get(part):
                yield cluster, part


class ReadShare(msgspec.Struct, frozen=True):
    """Parts of files that one process reads.

    ``number`` is the place among others; ``wanted`` are the granules whose objects are
    kept, None for all; ``has_sums`` says that the sums are asked for.
    """

    number: int
    parts: list[FilePart]
    wanted: frozenset[Granule] | None = None
    has_sums: bool = False


class ReadResult(msgspec.Struct):
    """What came of a share: of each part what was read, and what is wrong with it."""

    contents: list[FileContent] = []
    tables: list[DocumentTable | None] = []
    problems: list[str] = []
    skipped: list[str] = []
    gaps: list[tuple[bool, str, str]] = []


def side_files(
    inputs: FleetInputs, path: str, cluster: str, *, by_folder: bool, is_desired: bool
) -> list[SideFile]:
    """List the files of a side in the order of their names. Raises DocumentError.

    ``cluster`` is that of objects that name none.
    """
    found: list[SideFile] = []
    for file in inputs.files(path, SUFFIXES):
        if file != path and inputs.skips(file):
            continue
        of_file = cluster_in(file)
        if not of_file and by_folder and file != path:
            of_file = folder_below(path, file)
        found.append(
            SideFile(file, of_file or cluster, is_desired, is_side=file == path)
        )
    return found


def size_of(files: Iterable[SideFile]) -> int:
    """Return about how many bytes local files have; others count nothing."""
    total = 0
    for file in files:
        if file.path != STDIN and not is_url(file.path):
            try:
                size = os.path.getsize(file.path)  # noqa: PTH202  # without pathlib
            except OSError:
                continue
            total += size * (_COMPRESSED if is_compressed(file.path) else 1)
    return total


def shares_of(
    parts: Iterable[FilePart],
    *,
    splits: bool,
    wanted: frozenset[Granule] | None = None,
    has_sums: bool = False,
) -> Iterator[ReadShare]:
    """Divide files into shares; with ``splits`` also one that has many lines."""
    # One process has no use for shares; it reports what it found, though.
    pieces = chain.from_iterable(map(_parts_of, parts)) if splits else parts
    for number, some in enumerate(by_size(pieces, _size_of_part, _SHARE)):
        yield ReadShare(number, some, wanted, has_sums)


def _size_of_part(part: FilePart) -> int:
    return (part.end - part.start) or size_of([part.file])


def _parts_of(whole: FilePart) -> Iterator[FilePart]:
    """Yield parts of a file of lines, each with whole lines; the whole of others."""
    file = whole.file
    if size_of([file]) < 2 * _SHARE or not is_splittable(file):
        yield whole
        return
    start, line = 0, 1
    with open(file.path, "rb") as stream:  # noqa: PTH123  # without pathlib
        while block := stream.read(_SHARE):
            rest = stream.readline()
            end = start + len(block) + len(rest)
            yield msgspec.structs.replace(whole, start=start, end=end, line=line)
            line += block.count(b"\n") + rest.count(b"\n")
            start = end


class ShareReader:
    """Reads shares, and gives their objects to ``parts``.

    ``state`` is the file with what is known of documents, "" for none.
    """

    def __init__(self, inputs: FleetInputs, parts: Parts, state: str = "") -> None:
        self._inputs = inputs
        self._parts = parts
        self.state: str = state
        # The table of a file that is read in parts.
        self._table: tuple[tuple[int, SideFile], DocumentTable | None] | None = None

    def read(self, share: ReadShare) -> ReadResult:
        """Read a share. Raises DocumentError for a side that cannot be read."""
        result = ReadResult()
        for part in share.parts:
            for _ in self.steps(share, part, result):
                continue
        return result

    def steps(
        self, share: ReadShare, part: FilePart, result: ReadResult
    ) -> Generator[Record, None, None]:
        """Read a part of a file, and yield what was read after each object."""
        inputs, gaps, content = self._inputs, ReadingGaps(), FileContent()
        log = self._log_of(share, part)
        result.contents.append(content)
        result.tables.append(None if log is None else log.table)
        reader = RecordReader(inputs, gaps, part, log)
        is_desired = part.file.is_desired
        try:
            for record in reader.records():
                self._parts.number = share.number
                content.count += 1
                if share.has_sums:
                    add_to_sums(content.sums, record.granule, hash_of(record))
                if share.wanted is None or record.granule in share.wanted:
                    content.kept += 1
                    content.size += len(record.text)
                    self._parts.add(record, is_desired=is_desired)
                yield record
                if inputs.skipped or inputs.problems:
                    self._take(result, content)
        finally:
            if log is not None:
                content.count += log.count
                content.add_sums(log.sums)
            content.heard = gaps.heard
            content.listed, content.events = reader.listed, reader.events
            self._take(result, content)
            for cluster in gaps.clusters:
                for reason in gaps.of(cluster, is_desired=is_desired):
                    result.gaps.append((is_desired, cluster, reason))

    def _log_of(self, share: ReadShare, part: FilePart) -> DocumentLog | None:
        """Return what is known of the documents of a part; None without a state."""
        if not self.state:
            return None
        table = None
        if part.table:
            key = part.table, part.file
            if self._table is None or self._table[0] != key:
                self._table = key, find_table(self.state, part.table, part.file.key)
            table = self._table[1]
        has_table = share.has_sums and not part.is_current
        return DocumentLog(table, share.wanted, part, has_table=has_table)

    def _take(self, result: ReadResult, content: FileContent) -> None:
        skipped, problems = self._inputs.new_skipped(), self._inputs.new_problems()
        content.is_sound = content.is_sound and not (skipped or problems)
        result.skipped += skipped
        result.problems += [problem.block for problem in problems]


def fail_unstarted(
    contents: Iterable[FileContent], gaps: ReadingGaps
) -> Iterator[DocumentError]:
    """Yield what is wrong with watches of clusters of which no list was read."""
    found = [*contents]
    listed = {cluster for content in found for cluster in content.listed}
    for content in found:
        for cluster, source, line in content.unstarted:
            if cluster not in listed:
                error = incomplete(Document(None, source, line), WITHOUT_START)
                gaps.add(cluster, str(error), is_desired=False)
                yield error
