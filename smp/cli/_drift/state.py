"""What earlier runs of ``smp drift`` found out, kept in a file.

Theory of operation. The file has six things:

- ``rows``: what came of each pair, by a hash of both objects and of all that the answer
  depends on beside them. So a run that was killed goes on where it was.
- ``findings``: the rows of the last run that came to its end and are not the same, with
  the time when they were found first. What a run finds is new, changed or still there,
  compared with those; what it does not find any more is mended.
- ``files``: what was in each file that this run has read, see reading.py.
- ``documents``: what is known of each document of a file, see documents.py.
- ``pages``: what was read of a list of a cluster that was not read to its end, and how
  it goes on. That is forgotten when it has, or when no server keeps it any more.
- ``runs``: what it has counted of objects that are the same, by their granules, and of
  which granules it said more than a row can be asked for: that something is unreadable,
  or takes no part.

A run of the same options over files looks only at granules in which a file has changed.
Of the others it has the findings, and the counts.

All but ``rows`` and ``pages`` are of one run, by its number, and the last transaction
of a run makes that number the one that counts. So a run that ends in its middle, for
whatever reason, leaves the state of the one before it. While a run uses the file, it
holds the lock of another one beside it, which the system frees when the process ends.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

import msgspec

from smp._values.times import timestamp
from smp.cli._drift.comparing import DriftRow, SameCount, key_of
from smp.cli._drift.documents import DocumentTable, read_only
from smp.cli._drift.reading import FileContent
from smp.cli._drift.records import Granule, Record
from smp.errors import DocumentError

Change: TypeAlias = Literal["new", "mended", "changed", "still"]
CHANGES: Final[tuple[Change, ...]] = ("new", "changed", "mended", "still")
_TABLES: Final = (
    "rows (digest BLOB PRIMARY KEY, run INTEGER, granule INTEGER, row BLOB)",
    # The number is the place of a row among others.
    "findings (run INT, key BLOB, number INT, since, row, PRIMARY KEY (run, key))",
    "files (run INT, desired INT, path, content, PRIMARY KEY (run, desired, path))",
    "documents (run INT, desired INT, path, content, PRIMARY KEY (run, desired, path))",
    "pages (list BLOB, number INT, since, more, records, PRIMARY KEY (list, number))",
    "runs (run INTEGER PRIMARY KEY, kept BLOB)",
)
_FINDING: Final = "SELECT since, row FROM findings WHERE run = ? AND key = ?"
_UNSEEN: Final = (
    "SELECT since, row FROM findings WHERE run = ? AND key NOT IN"
    " (SELECT key FROM findings WHERE run = ?) AND key NOT IN (SELECT key FROM seen)"
)
# No server keeps a list for so many seconds (etcd compacts after 300).
_KEPT: Final = 3600
_COPY: Final = "put back a copy of it; without it, the next run is the first one"
_OF_RUNS: Final = ("findings", "files", "documents")
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(DriftRow).decode
_unpack_records: Final = msgspec.msgpack.Decoder(list[Record]).decode
_pack: Final = msgspec.msgpack.Encoder().encode


class KnownFile(msgspec.Struct):
    """A file as the last run has read it: a hash of it, and what was in it."""

    digest: bytes
    content: FileContent


class KeptList(msgspec.Struct):
    """What was read of a list: since when, and how it goes on."""

    since: str
    more: str
    records: list[Record]


# Files by whether they are of the desired side, and their paths.
KnownFiles: TypeAlias = dict[tuple[bool, str], KnownFile]


class KnownRun(msgspec.Struct):
    """What the last run that came to its end had counted.

    ``salt`` is all that its rows depend on beside the objects, and ``head`` the commit
    that was checked out. ``same`` are the objects that are the same, by granule.
    ``again`` are granules that have to be looked at by each run.
    """

    salt: bytes = b""
    head: str = ""
    same: dict[str, dict[int, SameCount]] = {}
    again: list[Granule] = []

    def granules(self) -> Iterator[tuple[Granule, SameCount]]:
        """Yield the counts."""
        for cluster, parts in self.same.items():
            for part, count in parts.items():
                yield (cluster, part), count


class DriftState:
    """The file of a state. To be closed. All raises DocumentError (invalid-state)."""

    def __init__(self, path: str) -> None:
        """Open a file, or make it."""
        self.path: str = path
        self._number = 0
        self.changes: Counter[Change] = Counter()
        self._now = _time()
        self._lock = self._locked()
        try:
            with self._checked():
                self._file = sqlite3.connect(path)
        except DocumentError:
            self._lock.close()
            raise
        try:
            with self._checked():
                self._require_own()
                self._prepare()
        except DocumentError:
            self.close()
            raise

    def _locked(self) -> sqlite3.Connection:
        """Return what keeps other runs from the file until it is closed."""
        with self._checked():
            lock = sqlite3.connect(f"{self.path}-lock", timeout=0)
        try:
            # Nothing is written to it (sqlite.org/lang_transaction.html).
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            lock.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise self._error(error) from None
            raise self._error("another run uses it", "wait for its end") from None
        return lock

    def _require_own(self) -> None:
        """Raise ValueError for a file of something else, before it is changed."""
        found = self._file.execute("SELECT name FROM sqlite_master")
        tables = {name for (name,) in found}
        if tables and not {"rows", "findings", "runs"} <= tables:
            raise ValueError("it is the database of another program")
        for (problem,) in self._file.execute("PRAGMA quick_check(1)"):
            if problem != "ok":
                raise ValueError(problem)

    def _prepare(self) -> None:
        # Other processes read while this one writes (sqlite.org/wal.html).
        self._file.execute("PRAGMA journal_mode=WAL")
        self._file.execute("PRAGMA synchronous=NORMAL")
        with self._file:
            self._file.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                self._file.execute(f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID")
        self._file.execute("CREATE TEMP TABLE seen (key BLOB PRIMARY KEY)")
        self._file.execute("CREATE TEMP TABLE looked_at (granule INTEGER PRIMARY KEY)")
        # The run whose findings count, and this one.
        self.last: int = self._latest("runs")
        self.run: int = max(self.last, self._latest("rows")) + 1
        with self._file:
            # What a run that was killed has left is found again.
            self._forget_others(self.last)
            self._file.execute("DELETE FROM pages WHERE since < ?", (_time(_KEPT),))
        query = "SELECT kept FROM runs WHERE run = ?"
        found = self._file.execute(query, (self.last,)).fetchone()
        [(pages,)] = self._file.execute("SELECT count(*) FROM pages")
        # Whether lists were interrupted in an earlier run.
        self.has_pages: bool = pages > 0
        self.known: KnownRun = KnownRun()
        if found is not None:
            self.known = msgspec.msgpack.decode(found[0], type=KnownRun)
        self.files: KnownFiles = self._read_files()
        # A row that cannot be read must not end a run in its middle.
        for _ in self.findings():
            continue

    def _forget_others(self, run: int) -> None:
        for table in _OF_RUNS:
            self._file.execute(f"DELETE FROM {table} WHERE run != ?", (run,))  # noqa: S608  # three names

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, msgspec.MsgspecError, ValueError, TypeError) as error:
            raise self._error(error) from None

    def _error(self, problem: object, hint: str = _COPY) -> DocumentError:
        return DocumentError(
            f"cannot use the file of the state: {problem}",
            code="invalid-state",
            source=self.path,
            hint=hint,
        )

    def _latest(self, table: Literal["runs", "rows"]) -> int:
        [(number,)] = self._file.execute(f"SELECT max(run) FROM {table}")  # noqa: S608  # two names
        return number or 0

    def _read_files(self) -> KnownFiles:
        query = "SELECT desired, path, content FROM files WHERE run = ?"
        return {
            (bool(is_desired), path): msgspec.msgpack.decode(text, type=KnownFile)
            for is_desired, path, text in self._file.execute(query, (self.last,))
        }

    def keep_table(self, key: tuple[bool, str], table: DocumentTable) -> None:
        """Keep what is known of the documents of a file; find_table reads it."""
        with self._checked(), self._file:
            self._file.execute(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)",
                (self.run, *key, _pack(table.pack())),
            )

    def keep_page(self, list_: bytes, page: KeptList, *, is_first: bool) -> None:
        """Keep a page of a list; the last one makes all of its pages obsolete."""
        with self._checked(), self._file:
            query = "SELECT count(*), min(since) FROM pages WHERE list = ?"
            [(number, since)] = self._file.execute(query, (list_,))
            if is_first or not page.more:
                self._file.execute("DELETE FROM pages WHERE list = ?", (list_,))
                number, since = 0, None
            if page.more:
                data = zlib.compress(_pack(page.records), 1)
                self._file.execute(
                    "INSERT INTO pages VALUES (?, ?, ?, ?, ?)",
                    (list_, number, since or self._now, page.more, data),
                )

    def add(self, rows: Iterable[tuple[bytes, Granule, bytes | None]]) -> None:
        """Keep answers; None is one that is the same. All or none of them are kept."""
        values = [
            (digest, self.run, _number_of(granule), row)
            for digest, granule, row in rows
        ]
        # One transaction: a run that is killed leaves whole parts.
        with self._checked(), self._file:
            self._file.executemany(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", values
            )

    def compare(self, row: DriftRow) -> DriftRow:
        """Return a row with what has changed since the last complete run, and keep it.

        Of an object that cannot be read nothing has changed. Raises DocumentError.
        """
        with self._checked():
            return self._compared(row, key_of(row))

    def _compared(self, row: DriftRow, key: bytes) -> DriftRow:
        former = self._file.execute(_FINDING, (self.last, key)).fetchone()
        if row.verdict == "same" and former is None:
            return row
        since = self._now
        change: Change | Literal[""] = "new"
        if former is not None:
            since, before = former[0], self._decoded(former[1])
            if row.verdict == "same":
                change = "mended"
            elif row.verdict == "unreadable" != before.verdict:
                # It may be what it was.
                self._keep(key, since, former[1])
                return row
            else:
                was_same = (before.verdict, before.paths) == (row.verdict, row.paths)
                change = "still" if was_same else "changed"
        elif not self.last:
            # There is no run to compare this one with.
            change = ""
        if change:
            self.changes[change] += 1
        row = msgspec.structs.replace(row, since=since, change=change)
        if change == "mended":
            self._file.execute("INSERT OR IGNORE INTO seen VALUES (?)", (key,))
        else:
            self._keep(key, since, _encode(row))
        return row

    def _keep(self, key: bytes, since: str, row: bytes) -> None:
        self._number += 1
        with self._checked():
            self._file.execute(
                "INSERT OR REPLACE INTO findings VALUES (?, ?, ?, ?, ?)",
                (self.run, key, self._number, since, row),
            )

    def find_gone(self, incomplete: Container[str]) -> Iterator[DriftRow]:
        """Yield what was found before, and is of no object any more: it is mended.

        Of the clusters that were not read completely that is not known: a row is kept,
        and has no change.
        """
        with self._checked():
            unseen = [*self._file.execute(_UNSEEN, (self.last, self.run))]
        for since, text in unseen:
            row = self._decoded(text)
            if row.cluster in incomplete:
                self._keep(key_of(row), since, text)
                yield msgspec.structs.replace(row, change="")
                continue
            self.changes["mended"] += 1
            yield DriftRow(
                row.cluster,
                row.group,
                row.version,
                row.kind,
                row.namespace,
                row.name,
                "same",
                since=since,
                change="mended",
            )

    def end(
        self,
        known: KnownRun,
        files: KnownFiles,
        unchanged: Iterable[tuple[bool, str]],
        looked_at: Collection[Granule] | None,
    ) -> None:
        """Forget what was looked at, and was not seen; None is all.

        ``files`` are all that were read; none where they could not be read again. What
        is known of the documents of ``unchanged`` files is kept.
        """
        with self._checked(), self._file:
            forget = "DELETE FROM rows WHERE run != ?"
            if looked_at is not None:
                numbers = {(_number_of(granule),) for granule in looked_at}
                self._file.executemany("INSERT INTO looked_at VALUES (?)", numbers)
                forget += " AND granule IN (SELECT granule FROM looked_at)"
            self._file.execute(forget, (self.run,))
            self._file.executemany(
                "UPDATE documents SET run = ?"
                " WHERE run = ? AND desired = ? AND path = ?",
                ((self.run, self.last, *key) for key in unchanged),
            )
            self._forget_others(self.run)
            self._file.execute("DELETE FROM runs")
            self._file.executemany(
                "INSERT INTO files VALUES (?, ?, ?, ?)",
                (
                    (self.run, is_desired, path, _pack(file))
                    for (is_desired, path), file in files.items()
                ),
            )
            self._file.execute(
                "INSERT INTO runs VALUES (?, ?)", (self.run, _pack(known))
            )

    def findings(self) -> Iterator[DriftRow]:
        """Yield the rows of the last run in the order in which it found them."""
        query = "SELECT since, row FROM findings WHERE run = ? ORDER BY number"
        with self._checked():
            found = self._file.execute(query, (self.last,))
        for since, text in found:
            if not isinstance(since, str):
                raise self._error("a finding has no time")
            yield self._decoded(text)

    def close(self) -> None:
        """Close the file, and let other runs use it."""
        # What is not committed yet is of a run that has not come to its end.
        self._file.close()
        self._lock.close()

    def _decoded(self, text: bytes) -> DriftRow:
        with self._checked():
            return _decode(text)


def _time(ago: int = 0) -> str:
    moment = datetime.now(UTC) - timedelta(seconds=ago)
    return timestamp(moment)


def _number_of(granule: Granule) -> int:
    """Return a number for a granule; that of others may be the same."""
    cluster, part = granule
    return zlib.crc32(f"{cluster}\0{part}".encode(errors="replace"))


def find_list(path: str, list_: bytes) -> KeptList | None:
    """Return what was read of a list that was interrupted; any thread may read it.

    None where nothing is kept that can be read.
    """
    query = "SELECT since, more, records FROM pages WHERE list = ? ORDER BY number"
    found: KeptList | None = None
    with suppress(sqlite3.Error, msgspec.MsgspecError, zlib.error):
        with closing(read_only(path)) as file:
            for since, more, data in file.execute(query, (list_,)):
                records = _unpack_records(zlib.decompress(data))
                found = found or KeptList(since, more, [])
                found.more = more
                found.records += records
        return found
    return None
