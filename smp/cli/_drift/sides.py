"""The sides of ``smp drift``: what each is, and how all of it is read.

Theory of operation. Files are read in shares, by several processes where that pays, and
each process writes the objects to files of its own, by their parts. When all is read,
the parts are compared one after the other, by any process. Live clusters and streams
are read by this process.

With a state, and the same options as in the last run, the files that have changed are
read once more before that, for their sums (reading.py). Then the objects of the
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
from typing import TYPE_CHECKING, Any, Final

import msgspec

from smp._values.values import JSONObject
from smp.cli._drift.comparing import LARGE, Comparer, Found, load_fleet
from smp.cli._drift.documents import DocumentTable
from smp.cli._drift.files import FleetInputs
from smp.cli._drift.increments import DriftRun, Increment
from smp.cli._drift.pairs import PairedPart, Parts
from smp.cli._drift.parsing import RecordReader
from smp.cli._drift.reading import (
    FileContent,
    ReadResult,
    ReadShare,
    ShareReader,
    fail_unstarted,
    shares_of,
    side_files,
    size_of,
)
from smp.cli._drift.records import FilePart, Granule, Record, SideFile
from smp.cli._errors import UsageError, printable
from smp.cli._inputs import STDIN
from smp.cli._live import is_cluster
from smp.cli._options import DriftSettings, Schemas
from smp.cli._workers import WorkerPool
from smp.errors import DocumentError, SmpError
from smp.schema.catalog import Catalog

if TYPE_CHECKING:
    from smp.cli._drift.clusters import ContextClients

_DIGEST: Final = 16
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
        inputs = FleetInputs(self._max_bytes)
        self.reader = ShareReader(inputs, self.parts, self.comparer.state)

    def read(self, share: ReadShare) -> ReadResult:
        """Read a share to the files of this process. Raises DocumentError."""
        result = self.reader.read(share)
        self.parts.write()
        return result

    def compare(self, part: PairedPart) -> Found:
        """Compare the objects of a part."""
        return self.comparer.compare(part)


def worker_pool(
    comparer: Comparer, inputs: FleetInputs, parts: Parts, jobs: int
) -> WorkerPool[DriftWorker]:
    """Return what reads and compares: ``jobs`` processes, or this one."""
    worker = DriftWorker(comparer, inputs, parts)
    return WorkerPool(worker, jobs, _may_fork, DriftWorker.prepare)


def _may_fork() -> bool:
    """Tell whether a process that is forked has no locks of threads: those of Arrow."""
    is_alone = threading.active_count() == 1 and "pyarrow" not in sys.modules
    return sys.platform == "linux" and is_alone


def clients_of(settings: DriftSettings) -> ContextClients | None:
    """Connect to a live cluster, or to several ones; None where a file is live.

    Raises UsageError and ConfigurationError.
    """
    live, globs = settings.live, settings.contexts
    if not (live or globs):
        raise UsageError("give manifests, -f FILE, and '--live'")
    is_fleet = bool(globs) or len(live) > 1
    # A live object says what was applied last to it.
    if not settings.paths and (is_fleet or not is_cluster(live[0])):
        raise UsageError("give manifests: only --live cluster can be without")
    if any(map(is_cluster, settings.paths)):
        raise UsageError("manifests are what a cluster should have: files, or -")
    if is_fleet or is_cluster(live[0]):
        from smp.cli._drift.clusters import ContextClients  # noqa: PLC0415  # 150 ms; most runs read files

        return ContextClients(live, globs, settings)
    if live[0] == STDIN and STDIN in settings.paths:
        raise UsageError("only one of the manifests and '--live' can be -")
    if settings.extra:
        raise UsageError("'--extra' is for '--live cluster': a file has all it has")
    return None


class FleetReader:
    """Reads both sides into the parts of a worker."""

    def __init__(self, run: DriftRun, workers: WorkerPool[DriftWorker]) -> None:
        self._run = run
        self._inputs = run.inputs
        self._gaps = run.gaps
        self._workers = workers
        self._parts = workers.worker.parts
        self._notices = run.notices
        self._increment = increment = run.increment
        self._size = 0
        if increment is not None:
            state, comparer = increment.state, workers.worker.comparer
            comparer.state, comparer.last = state.path, state.last
            comparer.salt = increment.known.salt
            workers.worker.reader.state = state.path
        self._may_start = True

    def read(
        self, settings: DriftSettings, clients: ContextClients | None, schemas: Schemas
    ) -> None:
        """Read both sides. Raises DocumentError for one that cannot be read."""
        desired = [
            file
            for path in settings.paths
            for file in self._files(settings, path, is_desired=True)
        ]
        if clients is None:
            live = self._files(settings, settings.live[0], is_desired=False)
            self._read_files([*desired, *live])
            return
        # Processes get the definitions of clusters, which are known at the end.
        self._may_start = False
        fleet = clients.fleet(self._run, extra=settings.extra)
        if settings.paths:
            self._add(fleet.of_each(self._manifests(desired)), is_desired=True)
            with closing(fleet.records()) as found:
                self._add(found, is_desired=False)
        else:
            for pair in fleet.applied(
                settings.selector, is_everywhere=settings.all_namespaces
            ):
                for is_desired, record in zip((True, False), pair, strict=True):
                    self._add([record], is_desired=is_desired)
        # Clusters answer in any order.
        self._notices.say(sorted(fleet.notices))
        self._take_definitions(fleet.definitions, schemas)

    def _take_definitions(
        self, definitions: dict[str, list[JSONObject]], schemas: Schemas
    ) -> None:
        """Judge the objects of each cluster by the definitions that it has."""
        comparer = self._workers.worker.comparer
        catalogs: dict[bytes, Catalog] = {}
        hashed = blake2b(comparer.salt, digest_size=_DIGEST)
        for cluster, found in sorted(definitions.items()):
            if not found:
                continue
            digest = blake2b(msgspec.json.encode(found), digest_size=_DIGEST).digest()
            # Most clusters of a fleet have the same ones.
            if digest not in catalogs:
                catalogs[digest] = schemas.catalog_with(found)
            comparer.define(cluster, catalogs[digest], digest)
            hashed.update(msgspec.json.encode(cluster) + digest)
        if self._increment is not None:
            self._increment.known.salt = hashed.digest()
        self._may_start = True
        self._expect()

    def _files(
        self, settings: DriftSettings, path: str, *, is_desired: bool
    ) -> list[SideFile]:
        found = side_files(
            self._inputs,
            path,
            settings.cluster,
            by_folder=settings.by_folder,
            is_desired=is_desired,
        )
        for file in found:
            if not _is_text(file):
                # Rows have the names of files, and so has the state.
                reason = "the name of the file is not Unicode text"
                error = DocumentError(reason, code="unreadable", source=file.path)
                self._notices.fail(error)
                self._gaps.add("", printable(str(error)), is_desired=is_desired)
        return [file for file in found if _is_text(file)]

    def _manifests(self, files: Iterable[SideFile]) -> Iterator[Record]:
        for file in files:
            yield from RecordReader(self._inputs, self._gaps, FilePart(file)).records()

    def _add(self, records: Iterable[Record], *, is_desired: bool) -> None:
        side, notices = "desired" if is_desired else "live", self._notices
        for record in records:
            if notices.is_interrupted:
                return
            self._parts.add(record, is_desired=is_desired)
            # It stands for an object that could not be read.
            if not record.place:
                continue
            if not is_desired:
                self._gaps.heard.add(record.cluster)
            notices.kept += 1
            notices.read[side] += 1
            self._size += len(record.text)
            # What is named at once takes no memory.
            if notices.kept % _NAMED == 0:
                notices.tell_new()
                self._expect()
            notices.progress.count(notices.kept, what="read")
        notices.tell_new()
        self._expect()

    def _expect(self) -> None:
        """Start processes where it pays; they load while this one still reads."""
        if self._size >= LARGE and self._may_start:
            self._workers.start()

    def _read_files(self, files: list[SideFile]) -> None:
        increment, changed = self._increment, None
        digests = None if increment is None else self._digests(files)
        if increment is not None and digests is not None:
            changed = increment.changed(digests)
        if increment is None or changed is None:
            has_sums = digests is not None
            contents = self._contents(map(FilePart, files), has_sums=has_sums)
            self._notices.kept += sum(content.kept for content in contents.values())
        else:
            contents = self._changed_contents(increment, files, changed)
        if increment is not None and digests is not None:
            increment.keep_files(digests, contents)
        for file, content in contents.items():
            side = "desired" if file.is_desired else "live"
            self._notices.read[side] += content.count
            if not file.is_desired:
                self._gaps.heard |= content.heard
        for error in fail_unstarted(contents.values(), self._gaps):
            self._notices.fail(error)

    def _changed_contents(
        self, increment: Increment, files: list[SideFile], changed: list[SideFile]
    ) -> dict[SideFile, FileContent]:
        is_changed = frozenset(changed)
        found = self._contents(
            map(increment.part, changed), wanted=frozenset(), tells=False
        )
        contents = {
            file: found[file] if file in is_changed else increment.content(file)
            for file in files
        }
        wanted = increment.look_at(files, found)
        # In the order of the sides: the last of several manifests counts.
        some = [
            increment.part(file, is_current=True)
            for file in files
            if not contents[file].is_sound
            or not wanted.isdisjoint(contents[file].granules())
        ]
        again = self._contents(some, wanted=wanted, has_sums=False)
        self._notices.kept += sum(content.kept for content in again.values())
        return contents

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

    def _contents(
        self,
        parts: Iterable[FilePart],
        *,
        wanted: frozenset[Granule] | None = None,
        has_sums: bool = True,
        tells: bool = True,
    ) -> dict[SideFile, FileContent]:
        parts = [*parts]
        if size_of(part.file for part in parts) >= LARGE and self._workers.may_start:
            self._workers.worker.folder = self._parts.share()
            self._workers.start()
        shares = shares_of(
            parts, splits=self._workers.is_started, wanted=wanted, has_sums=has_sums
        )
        contents: dict[SideFile, FileContent] = {}
        tables: dict[SideFile, DocumentTable] = {}
        with closing(self._results(shares, tells=tells)) as results:
            for share, result in results:
                found = zip(share.parts, result.contents, result.tables, strict=False)
                for part, content, table in found:
                    self._size += content.size
                    if part.file in contents:
                        contents[part.file].merge(content)
                    else:
                        contents[part.file] = content
                    if table is not None and part.file in tables:
                        tables[part.file].merge(table)
                    elif table is not None:
                        tables[part.file] = table
                if tells:
                    self._take(result)
        for content in contents.values():
            content.finish()
        if self._increment is not None:
            for file, table in tables.items():
                self._increment.keep_table(file, table)
        self._expect()
        return contents

    def _results(
        self, shares: Iterator[ReadShare], *, tells: bool
    ) -> Generator[tuple[ReadShare, ReadResult], None, None]:
        if self._workers.is_started:
            yield from self._results_of_workers(shares)
            return
        count, notices = 0, self._notices
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
                        notices.progress.count(count, what="read")
                        if notices.is_interrupted:
                            break
            yield share, result
            if notices.is_interrupted:
                return

    def _results_of_workers(
        self, shares: Iterator[ReadShare]
    ) -> Generator[tuple[ReadShare, ReadResult], None, None]:
        count, issued = 0, deque[ReadShare]()

        def each() -> Iterator[list[ReadShare]]:
            for share in shares:
                issued.append(share)
                yield [share]

        with closing(self._workers.results(each(), DriftWorker.read)) as found:
            for result in found:
                for content in result.contents:
                    count += content.count
                    self._parts.expect(content.kept, content.size)
                self._notices.progress.count(count, what="read")
                yield issued.popleft(), result
                if self._notices.is_interrupted:
                    return

    def _take(self, result: ReadResult) -> None:
        for is_desired, cluster, reason in result.gaps:
            self._gaps.add(cluster, reason, is_desired=is_desired)
        self._notices.tell(result.problems, result.skipped)
        for found in (result.gaps, result.problems, result.skipped):
            found.clear()


def _is_text(file: SideFile) -> bool:
    try:
        file.path.encode()
    except UnicodeError:
        return False
    return True
