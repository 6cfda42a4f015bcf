"""One run of ``smp drift``: what is read, compared and written, and in which order.

Theory of operation. Files are read in shares, by several processes where that pays, and
each process writes the objects to files of its own, by their parts. When all is read,
the parts are compared one after the other, by any process. This one writes what comes
back. Live clusters and streams are read by this process.

With a state, and the same options as in the last run, the files that have changed are
read once more before that, for their sums (_drift_reading.py). Then the objects of the
granules that differ are read from all files that have some, and compared; of the others
the state has the findings.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from typing import Any, Final

import msgspec

from smp.cli._drift_clusters import LiveFleet, contexts_of
from smp.cli._drift_files import FleetInputs
from smp.cli._drift_gaps import ReadingGaps
from smp.cli._drift_history import History
from smp.cli._drift_live import LiveCluster
from smp.cli._drift_output import DriftTotals, Output
from smp.cli._drift_pairs import PairedPart, Parts, Skipped
from smp.cli._drift_reading import (
    FileContent,
    ReadResult,
    ReadShare,
    ShareReader,
    fail_unstarted,
    shares_of,
    side_files,
    size_of,
)
from smp.cli._drift_records import (
    FilePart,
    Granule,
    Record,
    RecordReader,
    SideFile,
    granule_of,
    require_sides,
)
from smp.cli._drift_run import LARGE, Comparer, DriftRow, Found, SameCount, load_fleet
from smp.cli._drift_state import DriftState, KnownFile, KnownFiles, KnownRun
from smp.cli._errors import CommandFailure, UsageError, printable, report
from smp.cli._exit_codes import Tally
from smp.cli._inputs import STDIN
from smp.cli._interrupts import Interruption
from smp.cli._live import CLUSTER, is_cluster
from smp.cli._options import CommandSettings, Schemas
from smp.cli._status_line import RunProgress
from smp.cli._workers import WorkerPool
from smp.errors import SmpError

# Manifests whose live objects are asked for at a time.
_ASKED: Final = 100
_DIGEST: Final = 16
_NO_PAIRS: Final = "no object found"
# So many objects are read before what takes no part is named.
_NAMED: Final = 1000


class DriftWorker:
    """Reads and compares, in this process or in another one."""

    def __init__(self, comparer: Comparer, inputs: FleetInputs, parts: Parts) -> None:
        self.comparer: Comparer = comparer
        self.parts: Parts = parts
        self.reader: ShareReader = ShareReader(inputs, parts)
        self._max_bytes = inputs.max_bytes
        # Where other processes write what they read.
        self.folder: str = ""

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to a process: what was read stays here."""
        kept = ("comparer", "_max_bytes", "folder")
        return {name: self.__dict__[name] for name in kept}

    def prepare(self) -> None:
        """Begin to work in another process."""
        load_fleet()
        self.parts = Parts(folder=self.folder)
        self.reader = ShareReader(FleetInputs(self._max_bytes), self.parts)

    def read(self, share: ReadShare) -> ReadResult:
        """Read a share to the files of this process. Raises DocumentError."""
        result = self.reader.read(share)
        self.parts.write()
        return result

    def compare(self, part: PairedPart) -> Found:
        """Compare the objects of a part."""
        return self.comparer.compare(part)


def may_fork() -> bool:
    """Tell whether a process that is forked has no locks of threads: those of Arrow."""
    is_alone = threading.active_count() == 1 and "pyarrow" not in sys.modules
    return sys.platform == "linux" and is_alone


class DriftSides(msgspec.Struct, frozen=True):
    """What a run reads: both sides, and how objects get their clusters."""

    paths: tuple[str, ...]
    live: str
    contexts: list[str]
    cluster: str
    by_folder: bool
    extra: bool

    @classmethod
    def of(
        cls,
        paths: tuple[str, ...],
        live: tuple[str, ...],
        globs: tuple[str, ...],
        cluster: str,
        *,
        by_folder: bool,
        extra: bool,
    ) -> DriftSides:
        """Return what options ask for. Raises UsageError and ConfigurationError."""
        contexts = contexts_of(live, globs)
        if not (live or contexts):
            raise UsageError("give manifests, -f FILE, and '--live'")
        # A live object says what was applied last to it.
        if not paths and (contexts or not is_cluster(live[0])):
            raise UsageError("give manifests: only --live cluster can be without")
        # Several contexts are read together, and named by their rows.
        side = CLUSTER if contexts else live[0]
        require_sides(paths, side)
        if extra and not is_cluster(side):
            raise UsageError("'--extra' is for '--live cluster': a file has all it has")
        return cls(paths, side, contexts, cluster, by_folder, extra)


class DriftRun:
    """One run: what is read, what is written, and what takes no part."""

    def __init__(
        self,
        inputs: FleetInputs,
        gaps: ReadingGaps,
        settings: CommandSettings,
        totals: DriftTotals,
        workers: WorkerPool[DriftWorker],
        interruption: Interruption,
    ) -> None:
        self._inputs = inputs
        self._gaps = gaps
        self._settings = settings
        self._totals = totals
        self._workers = workers
        self._parts = workers.worker.parts
        self._interruption = interruption
        self.history: History | None = None
        # What describes kinds, also those that a live cluster defines.
        self.schemas: Schemas | None = None
        # Processes get the definitions of a cluster, which are known at the end.
        self._is_live = False
        self.all_rows: bool = False
        # Whether what was applied is looked for in all namespaces.
        self.is_everywhere: bool = False
        self.state: DriftState | None = None
        self._counts: dict[str, int] = {}
        self._failed = 0
        self._skipped = 0
        # The objects of both sides that are to be compared, and that were, or that take
        # no part.
        self._kept = 0
        self._done = 0
        self._size = 0
        # What the state has, or will have.
        self._known = KnownRun()
        self._files: KnownFiles = {}
        self._looked_at: frozenset[Granule] | None = None
        self._is_known = False
        self.progress: RunProgress = RunProgress(is_wanted=not settings.quiet)

    def read(self, sides: DriftSides) -> None:
        """Read both sides. Raises DocumentError for one that cannot be read."""
        live, extra = sides.live, sides.extra
        desired = [
            file
            for path in sides.paths
            for file in side_files(
                self._inputs,
                path,
                sides.cluster,
                by_folder=sides.by_folder,
                is_desired=True,
            )
        ]
        if not (sides.contexts or is_cluster(live)):
            there = side_files(
                self._inputs,
                live,
                sides.cluster,
                by_folder=sides.by_folder,
                is_desired=False,
            )
            self._read_files([*desired, *there])
            return
        wanted = self._manifests(desired)
        # A cluster has many objects that no manifest is about.
        if sides.contexts:
            fleet = LiveFleet(sides.contexts, self._inputs, self._gaps, extra=extra)
            self._add(fleet.of_each(wanted), is_desired=True)
            with closing(fleet.records()) as found:
                self._add(found, is_desired=False)
            return
        # What is live is asked for where a manifest says that there is something.
        self._is_live = True
        source = LiveCluster(live, self._inputs, self._gaps, self._settings)
        if not sides.paths:
            selector = self._settings.selector
            for pair in source.applied(selector, is_everywhere=self.is_everywhere):
                for is_desired, record in zip((True, False), pair, strict=True):
                    self._add([record], is_desired=is_desired)
        while some := [*islice(wanted, _ASKED)]:
            self._add(source.of(some), is_desired=False)
            self._add(some, is_desired=True)
        if extra:
            self._add(source.others(), is_desired=False)
        self._take_definitions()

    def _take_definitions(self) -> None:
        """Judge by the definitions of the cluster, which were read with its objects."""
        comparer = self._workers.worker.comparer
        hashed = blake2b(self._known.salt, digest_size=_DIGEST)
        for entry in self._inputs.definitions:
            hashed.update(self._inputs.data_of(entry))
        comparer.salt = self._known.salt = hashed.digest()
        if self.schemas is not None:
            comparer.catalog = self.schemas.catalog_with_inputs
        self._is_live = False
        self._expect()

    def _manifests(self, files: Iterable[SideFile]) -> Iterator[Record]:
        for file in files:
            yield from RecordReader(self._inputs, self._gaps, FilePart(file)).records()

    def _add(self, records: Iterable[Record], *, is_desired: bool) -> None:
        """Add what this process reads of manifests and live clusters."""
        side = "desired" if is_desired else "live"
        for record in records:
            if self._interruption.is_requested:
                return
            self._parts.add(record, is_desired=is_desired)
            # It stands for an object that could not be read.
            if not record.place:
                continue
            if not is_desired:
                self._gaps.hear(record.cluster)
            self._kept += 1
            self._counts[side] = self._counts.get(side, 0) + 1
            self._size += len(record.text)
            # What is named at once takes no memory.
            if self._kept % _NAMED == 0:
                self._name_problems()
                self._expect()
            self.progress.count(self._kept, what="read")
        self._name_problems()
        self._expect()

    def _expect(self) -> None:
        """Start processes where what was read is worth them.

        They load what they need while this one still reads.
        """
        if self._size >= LARGE and not self._is_live:
            self._workers.start()

    def _read_files(self, files: list[SideFile]) -> None:
        """Read the files of both sides as far as they have to be."""
        state, contents = self.state, dict[SideFile, FileContent]()
        digests = None if state is None else self._digests(files)
        wanted: frozenset[Granule] | None = None
        if state is not None and digests is not None and not self.all_rows:
            former = state.files() if state.known.salt == self._known.salt else {}
            if former:
                changed = [
                    file for file in files if _is_changed(file, digests[file], former)
                ]
                is_changed = frozenset(changed)
                contents = {
                    file: former[file.key].content
                    for file in files
                    if file not in is_changed
                }
                contents |= self._contents(changed, wanted=frozenset(), tells=False)
                wanted = self._to_look_at(state, contents, changed, former)
        if wanted is None:
            has_sums = digests is not None
            contents = self._contents(files, has_sums=has_sums)
        else:
            # In the order of the sides: the last of several manifests counts.
            some = [
                file
                for file in files
                if not contents[file].is_sound
                or not wanted.isdisjoint(contents[file].granules())
            ]
            for content in self._contents(some, wanted=wanted).values():
                self._kept += content.kept
        self._looked_at = wanted
        if digests is not None:
            self._files = {
                file.key: KnownFile(digests[file], content)
                for file, content in contents.items()
            }
        self._count(contents)

    def _count(self, contents: dict[SideFile, FileContent]) -> None:
        """Count what the files have, and name what they begin without."""
        for file, content in contents.items():
            side = "desired" if file.is_desired else "live"
            self._counts[side] = self._counts.get(side, 0) + content.count
            if self._looked_at is None:
                self._kept += content.kept
            if not file.is_desired:
                for cluster in content.heard:
                    self._gaps.hear(cluster)
        for error in fail_unstarted(contents.values(), self._gaps):
            self._tell(CommandFailure(error).blocks, [])

    def _digests(self, files: Iterable[SideFile]) -> dict[SideFile, bytes] | None:
        """Return a hash of each file; None where one can be read only once."""
        found: dict[SideFile, bytes] = {}
        for file in files:
            if file.path == STDIN:
                return None
            try:
                found[file] = self._inputs.digest(file.path)
            except SmpError:
                # Where it is read, it is said why it cannot be.
                found[file] = b""
        return found

    def _to_look_at(
        self,
        state: DriftState,
        contents: dict[SideFile, FileContent],
        changed: list[SideFile],
        former: KnownFiles,
    ) -> frozenset[Granule]:
        """Return the granules of which the state does not know what they are now."""
        granules = {*state.known.again}
        nothing = KnownFile(b"", FileContent())
        for file in changed:
            content = contents[file]
            before = former.get(file.key, nothing).content
            if content.is_sound and before.is_sound:
                granules.update(content.changed(before))
            else:
                granules.update(content.granules(), before.granules())
        for key in former.keys() - {file.key for file in contents}:
            granules.update(former[key].content.granules())
        # Rows say at which lines of the files the objects are.
        paths = {file.path for file in changed}
        is_moved = state.known.head != self._known.head
        for row in state.findings():
            places = {
                place.rpartition(":")[0]
                for place in (row.desired_place, row.live_place)
            }
            if is_moved or not paths.isdisjoint(places):
                granules.add(_granule(row))
        is_same = not (changed or granules or is_moved)
        self._is_known = is_same and former.keys() == {file.key for file in contents}
        return frozenset(granules)

    def _contents(
        self,
        files: list[SideFile],
        *,
        wanted: frozenset[Granule] | None = None,
        has_sums: bool = True,
        tells: bool = True,
    ) -> dict[SideFile, FileContent]:
        """Read files, and return what was in each. Raises DocumentError."""
        if size_of(files) >= LARGE and self._workers.may_start:
            self._workers.worker.folder = self._parts.share()
            self._workers.start()
        shares = shares_of(
            files, splits=self._workers.is_started, wanted=wanted, has_sums=has_sums
        )
        found: dict[SideFile, FileContent] = {}
        with closing(self._results(shares, tells=tells)) as results:
            for share, result in results:
                for part, content in zip(share.parts, result.contents, strict=False):
                    if part.file in found:
                        found[part.file].merge(content)
                    else:
                        found[part.file] = content
                    self._size += content.size
                if tells:
                    self._take(result)
        for content in found.values():
            content.finish()
        self._expect()
        return found

    def _results(
        self, shares: Iterator[ReadShare], *, tells: bool
    ) -> Generator[tuple[ReadShare, ReadResult], None, None]:
        """Yield shares with what came of them."""
        count = 0
        if self._workers.is_started:
            issued: deque[ReadShare] = deque()

            def each() -> Iterator[list[ReadShare]]:
                for share in shares:
                    issued.append(share)
                    yield [share]

            with closing(self._workers.results(each(), DriftWorker.read)) as found:
                for result in found:
                    for content in result.contents:
                        count += content.count
                        self._parts.expect(content.kept, content.size)
                    self.progress.count(count, what="read")
                    yield issued.popleft(), result
                    if self._interruption.is_requested:
                        return
            return
        reader = self._workers.worker.reader
        for share in shares:
            result = ReadResult()
            for part in share.parts:
                with closing(reader.steps(share, part, result)) as steps:
                    for _ in steps:
                        count += 1
                        # What is named at once takes no memory.
                        if tells and count % _NAMED == 0:
                            self._take(result)
                        self.progress.count(count, what="read")
                        if self._interruption.is_requested:
                            break
            yield share, result
            if self._interruption.is_requested:
                return

    def _take(self, result: ReadResult) -> None:
        """Name what was wrong with a share, and remember what may be lost."""
        for is_desired, cluster, reason in result.gaps:
            self._gaps.add(cluster, reason, is_desired=is_desired)
        self._tell(result.problems, result.skipped)
        for found in (result.gaps, result.problems, result.skipped):
            found.clear()

    def compare(self, output: Output) -> None:
        """Compare what was read, and write it; see ``write``."""
        if self._interruption.is_requested:
            return
        if self.state is not None and self._looked_at is not None:
            self._write_known(self.state, self._looked_at, output)
        shares = ([part] for part in self._parts.finished())
        with closing(self._workers.results(shares, DriftWorker.compare)) as found:
            self.write(found, output)

    def write(self, found: Iterable[Found], output: Output) -> None:
        """Write the rows as they are found, and keep them."""
        self.progress.restart()
        for some in found:
            # Kept before it is printed: what is printed again costs nothing.
            if self.state is not None:
                self.state.add(some.kept)
            self._tell_skipped(some.skipped)
            self._totals.reused += some.reused
            self._done += len(some.skipped) + some.folded
            for granule, same in some.same.items():
                self._add_same(granule, same)
                self._done += same[1] + same[2]
            for row, part in zip(some.rows, some.parts, strict=True):
                self._done += 2 - (not row.desired_place or not row.live_place)
                row = self._totals.judge(row)  # noqa: PLW2901  # as far as it is known
                if self.history is not None and part is not None and row.paths:
                    commits = self.history.commits(part, row.paths)
                    row = msgspec.structs.replace(row, commits=commits)  # noqa: PLW2901  # the same row
                self._write_row(row, output)
            self.progress.count(self._done, self._kept, "compared")
            if self._interruption.is_requested:
                return
        if self.state is not None:
            self._end_state(self.state, output)

    def _write_row(self, row: DriftRow, output: Output) -> None:
        """Write a row with what has become of it, and count it."""
        if row.verdict == "unreadable":
            self._known.again.append(_granule(row))
        if row.verdict == "same":
            cluster, part = _granule(row)
            parts = self._known.same.setdefault(cluster, {})
            sides = bool(row.desired_place), bool(row.live_place)
            parts[part] = _sum(parts.get(part, _NONE), (1, *sides))
        if self.state is not None:
            row = self.state.compare(row)
        self._totals.add_row(row)
        if row.verdict != "same" or row.change or self.all_rows:
            output.add(row)

    def _add_same(self, granule: Granule, same: SameCount) -> None:
        cluster, part = granule
        self._totals.add_same(cluster, same)
        parts = self._known.same.setdefault(cluster, {})
        parts[part] = _sum(parts.get(part, _NONE), same)

    def _write_known(
        self, state: DriftState, looked_at: frozenset[Granule], output: Output
    ) -> None:
        """Write and count what is known of granules that nobody looks at."""
        for granule, same in state.known.granules():
            if granule not in looked_at:
                self._add_same(granule, same)
        for row in state.findings():
            if _granule(row) not in looked_at:
                bare = msgspec.structs.replace(row, since="", change="")
                self._write_row(self._totals.judge(bare), output)
        self._totals.reused = self._totals.verdicts.total()

    def _end_state(self, state: DriftState, output: Output) -> None:
        """Write what is gone, and keep what the run has found."""
        incomplete = {
            each.cluster for each in self._totals.clusters() if not each.complete
        }
        for row in state.find_gone(incomplete):
            if row.change:
                output.add(row)
            else:
                self._known.again.append(_granule(row))
        self._totals.changes = state.changes
        if not self._is_known:
            self._known.again = sorted({*self._known.again})
            state.end(self._known, self._files, self._looked_at)

    def know(self, state: DriftState, salt: bytes) -> None:
        """Begin with what a state has."""
        self.state = state
        comparer = self._workers.worker.comparer
        comparer.state, comparer.last, comparer.salt = state.path, state.last, salt
        self._known.salt = salt
        self._known.head = self.history.head if self.history is not None else ""

    def fail(self, error: SmpError) -> None:
        """Name what is wrong with something beside the objects."""
        self._tell(CommandFailure(error).blocks, [])

    def _tell_skipped(self, skipped: Iterable[Skipped]) -> None:
        """Name objects that take no part, and have them looked at by the next run."""
        found = [*skipped]
        self._known.again += [each.granule for each in found]
        self._tell([], [f"{each.place}: {each.label}: {each.reason}" for each in found])

    def _name_problems(self) -> None:
        """Name what this process could not read."""
        skipped = self._inputs.new_skipped()
        problems = self._inputs.new_problems()
        self._tell([block for each in problems for block in each.blocks], skipped)

    def _tell(self, problems: list[str], skipped: list[str]) -> None:
        """Name what could not be read, and what takes no part."""
        self._skipped += len(skipped)
        self._failed += len(problems)
        if problems or skipped:
            self.progress.clear()
        for block in problems:
            report(block)
        if not self._settings.quiet:
            for text in skipped:
                report(f"smp: skipped: {printable(text)}")

    def tell_interruption(self) -> None:
        """Say what a run that was interrupted has not compared of what it read."""
        if self._interruption.is_requested:
            left = f"{self._kept - self._done:,} of the objects that were read"
            report(f"smp: interrupted: {self._totals.line()}; {left} were not compared")

    def end(self) -> int:
        """Say how many objects there were; return the exit code."""
        self._name_problems()
        if not self._settings.quiet:
            read = sorted(self._counts.items())
            counts = [f"{count:,} {side}" for side, count in read if count]
            report(
                f"smp: read {', '.join(counts) or _NO_PAIRS}; "
                f"{self._skipped:,} skipped, {self._failed:,} could not be read"
            )
            if self._settings.report_format is not None:
                report(f"smp: {self._totals.line()}")
        verdicts = self._totals.verdicts
        incomplete = [each for each in self._totals.clusters() if not each.complete]
        failed = self._failed + len(incomplete)
        total = verdicts.total()
        found = total - verdicts["same"] + len(self._totals.expired)
        return Tally(total, failed, found=found).exit_code()


_NONE: Final[SameCount] = (0, 0, 0)


def _sum(left: SameCount, right: SameCount) -> SameCount:
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def _granule(row: DriftRow) -> Granule:
    return granule_of(row.cluster, row.group, row.kind, row.name)


def _is_changed(file: SideFile, digest: bytes, former: KnownFiles) -> bool:
    """Tell whether a file is another one, or has to be read by each run."""
    known = former.get(file.key)
    if known is None or not digest:
        return True
    return known.digest != digest or not known.content.is_sound
