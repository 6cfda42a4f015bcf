"""A store in a SQLite file, for one machine; several processes may use it at a time.

Every change is a row, also a delete; the current value of a key is its last row. A row
is deleted when the change that replaced it leaves the history, so every snapshot and
every watch within the history can be answered.

Example: with a history that starts at revision 4,

    revision  key  value  previous
    2         a    1                  kept: the value of a at 4
    4         b    1                  kept: the current value of b
    5         a    2      2
    6         a           5           a deleted

a snapshot at 4 is a=1, b=1, at 5 a=2, b=1, and at 6 b=1. When the history moves on to
start at 6, the rows 2 and 5 are deleted, which 5 and 6 replaced, and row 6 itself.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from smp.server.store.base import HISTORY, PROGRESS, Batch, Store, wait
from smp.server.store.model import (
    ChangedError,
    ClosedError,
    Event,
    Expired,
    OutcomeUnknownError,
    Page,
    Stored,
    StoreError,
    change_event,
    check_reached,
    decode,
    encode,
    following,
    key_range,
)

_BUSY: Final = 5.0  # seconds to wait for another process that opens the file
_PATIENCE: Final = 20.0  # seconds to wait for the transactions of other processes
_POLL: Final = 0.1  # seconds between looks at what other processes wrote
_EVENTS: Final = 100  # changes read at a time
_HISTORY_SIZE: Final = 64 << 20  # bytes of values in the history
_LARGEST: Final = (1 << 63) - 1  # of the integers of SQLite

_APPLICATION: Final = 0x736D7031  # identifies our files: application_id in the header
_OWNER: Final = """
SELECT application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id
"""
# FULL: a commit is on the disk when it is acknowledged. NORMAL could lose the last
# commits in a power failure.
_PREPARE: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA journal_size_limit = 67108864;
BEGIN IMMEDIATE;
PRAGMA application_id = 0x736D7031;
CREATE TABLE IF NOT EXISTS changes (
    revision INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    value BLOB,       -- NULL: deleted
    previous INTEGER  -- the revision that it replaced
);
CREATE INDEX IF NOT EXISTS changes_by_key ON changes (key);
CREATE TABLE IF NOT EXISTS history (start INTEGER NOT NULL);
INSERT INTO history SELECT 1 WHERE NOT EXISTS (SELECT * FROM history);
COMMIT;
"""
# 1 is the revision of a store that was never written (FIRST_REVISION).
_PRESENT: Final = "SELECT coalesce(max(revision), 1) FROM changes"
# A write and its conditions.
_INSERT: Final = """
INSERT INTO changes
SELECT (SELECT coalesce(max(revision), 1) + 1 FROM changes), ?, ?, ? WHERE
"""
# That a key was written last at a revision; 0: it does not exist.
_IS_AT: Final = """
coalesce((
    SELECT revision * (value IS NOT NULL) FROM changes WHERE key = ?
    ORDER BY revision DESC LIMIT 1
), 0) = ?
"""
_GET: Final = (
    "SELECT value, revision FROM changes WHERE key = ? ORDER BY revision DESC LIMIT 1"
)
# The groups come in the order of the keys, and CROSS JOIN keeps SQLite from choosing
# another order.
_LIST: Final = """
SELECT changes.key, changes.value, changes.revision
FROM (
    SELECT max(revision) AS last FROM changes
    WHERE key >= ? AND key < ? AND revision <= ? GROUP BY key
) AS latest
CROSS JOIN changes ON changes.revision = latest.last
WHERE changes.value IS NOT NULL LIMIT ?
"""
_COUNT: Final = """
SELECT count(changes.value)
FROM (
    SELECT max(revision) AS last FROM changes
    WHERE key >= ? AND key < ? AND revision <= ? GROUP BY key
) AS latest
CROSS JOIN changes ON changes.revision = latest.last
"""
_CHANGES: Final = """
SELECT changes.revision, changes.key, changes.value, changes.previous, before.value
FROM changes LEFT JOIN changes AS before ON before.revision = changes.previous
WHERE changes.revision > ? ORDER BY changes.revision LIMIT ?
"""
_START: Final = "SELECT start FROM history"
# The newest change such that it and those after it have more than so many bytes.
_TOO_OLD: Final = """
SELECT coalesce(max(revision), 0) FROM (
    SELECT revision, sum(length(value)) OVER (ORDER BY revision DESC) AS size
    FROM changes WHERE revision > (SELECT start FROM history)
) WHERE size > ?
"""
# Of the changes that leave the history: the rows that they replaced, and the deletes.
_COMPACT: Final = (
    """
DELETE FROM changes WHERE revision IN (
    SELECT previous FROM changes
    WHERE revision > (SELECT start FROM history) AND revision <= ?
)
""",
    """
DELETE FROM changes
WHERE revision > (SELECT start FROM history) AND revision <= ? AND value IS NULL
""",
    "UPDATE history SET start = max(start, ?)",
)


class SQLiteStore(Store):
    """A file with the last ``history`` changes, and the values that they need.

    The values of the history have at most ``size`` bytes. It is compacted in steps of a
    tenth, so it may be that much longer.
    """

    def __init__(
        self,
        path: str,
        *,
        history: int = HISTORY,
        size: int = _HISTORY_SIZE,
        progress: float = PROGRESS,
    ) -> None:
        super().__init__(history=history, progress=progress)
        # In WAL mode readers and the writer do not wait for each other, so that reads
        # take some microseconds: the event loop makes them, and a thread the writes,
        # which wait for the disk.
        self._writing = _open(path)
        self._reading = _open(path)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
        self._size = size
        self._growth = 0  # bytes that were written since the history was compacted
        self._written = asyncio.Event()  # set at the next write, and then replaced

    async def get(self, key: str) -> Stored | None:
        """Return the current value of a key."""
        with self._reads() as connection:
            return _get(connection, key=key)

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return a page of a snapshot."""
        start, end = key_range(prefix, after)
        with self._reads() as connection:
            if revision:
                _check_within_history(connection, revision)
            at = revision or _present(connection)
            # SQLite takes a limit of -1 for none.
            rows = connection.execute(_LIST, (start, end, at, limit or -1)).fetchall()
            items = tuple(Stored(decode(key), *rest) for key, *rest in rows)
            # A page that is not full is the last one: there is nothing to count.
            remaining = 0
            if items and len(items) == limit:
                behind = following(rows[-1][0])
                (remaining,) = connection.execute(_COUNT, (behind, end, at)).fetchone()
            return Page(items, at, remaining)

    async def revision(self) -> int:
        """Return the revision of the last write."""
        with self._reads() as connection:
            return _present(connection)

    async def close(self) -> None:
        """End the watches, finish the writes and close the file."""
        await super().close()
        await asyncio.to_thread(self._writer.shutdown)
        self._writing.close()
        self._reading.close()

    async def changes(self, since: int) -> AsyncGenerator[Batch, None]:
        """Follow every change: those of this process at once, others soon."""
        while True:
            # Taken before reading, so that a write in between is not missed.
            written = self._written
            with self._reads() as connection:
                batch = _changes(connection, since=since)
            if batch[1] > since:
                since = batch[1]
                yield batch
            else:
                await wait(written, _POLL)

    @contextmanager
    def _reads(self) -> Iterator[sqlite3.Connection]:
        """Read in one transaction. Raises StoreError."""
        connection = self._reading
        try:
            with _transaction(connection, "BEGIN"):
                yield connection
        except sqlite3.ProgrammingError:
            raise ClosedError from None

    async def _change(
        self, key: str, value: bytes | None, last: int, unchanged: Sequence[Stored]
    ) -> int | None:
        def write() -> int | None:
            with _transaction(self._writing, "BEGIN IMMEDIATE"):
                return self._write(key, value, last, unchanged)

        loop = asyncio.get_running_loop()
        try:
            revision = await loop.run_in_executor(self._writer, write)
        except RuntimeError:  # the executor was shut down
            raise ClosedError from None
        # Followers look at once.
        self._written.set()
        self._written = asyncio.Event()
        return revision

    def _write(
        self, key: str, value: bytes | None, last: int, unchanged: Sequence[Stored]
    ) -> int | None:
        """Write a row, in the thread of the writer, see ``Store._change``."""
        connection, name = self._writing, encode(key)
        # No key was written at a larger one.
        at = min(last, _LARGEST)
        parameters: list[object] = [name, value, at or None, name, at]
        for other in unchanged:
            parameters += [encode(other.key), other.revision]
        conditions = " AND ".join([_IS_AT] * (1 + len(unchanged)))
        written = connection.execute(_INSERT + conditions, parameters)
        if not written.rowcount:
            # The transaction began with BEGIN IMMEDIATE: no other process writes
            # between the statement and this.
            present = _get(connection, key=key)
            if (present.revision if present else 0) == last:
                raise ChangedError
            return None
        revision = written.lastrowid or 0
        # Compacting at every write would cost more than the longer history.
        self._growth += len(value or b"")
        is_large = self._growth > self._size // 10
        if is_large or revision % max(1, self._history // 10) == 0:
            self._growth = 0
            (old,) = connection.execute(_TOO_OLD, (self._size,)).fetchone()
            start = max(old, revision - self._history)
            for statement in _COMPACT:
                connection.execute(statement, (start,))
        return revision


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Run statements in a transaction; what is raised in it rolls it back.

    Raises StoreError, and OutcomeUnknownError where the commit fails. A connection that
    is closed raises sqlite3.ProgrammingError.
    """
    try:
        connection.execute(begin)
        yield
    except sqlite3.ProgrammingError:
        raise
    except (sqlite3.Error, MemoryError) as error:
        _roll_back(connection)
        raise StoreError(f"SQLite: {error}") from None
    except BaseException:
        _roll_back(connection)
        raise
    try:
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        # The changes may be in the file already, and only the answer was lost.
        _roll_back(connection)
        raise OutcomeUnknownError(f"SQLite: {error}") from None


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        connection.rollback()


def _is_busy(error: Exception) -> bool:
    """Tell whether an error says that another process holds a lock of the file."""
    # The low byte is the primary result code, the others extend it.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _open(path: str) -> sqlite3.Connection:
    """Open the file and create the tables. Raises StoreError.

    SQLite does not wait for another process that does the same: it is tried again.
    """
    deadline = monotonic() + _BUSY
    while True:
        try:
            # There may be Secrets in it: only the owner may read it. The files that
            # SQLite adds get the same mode.
            Path(path).touch(mode=0o600)
            connection = sqlite3.connect(
                path, timeout=_BUSY, isolation_level=None, check_same_thread=False
            )
            try:
                application, tables = connection.execute(_OWNER).fetchone()
                is_new = not application and not tables
                if application != _APPLICATION and not is_new:
                    raise sqlite3.DatabaseError("the database of another application")
                connection.executescript(_PREPARE)
                connection.execute(f"PRAGMA busy_timeout = {int(_PATIENCE * 1000)}")
            except sqlite3.Error:
                connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            if not _is_busy(error) or monotonic() > deadline:
                raise _unusable(path, error) from None
            sleep(_POLL)
        else:
            return connection


def _unusable(path: str, error: OSError | sqlite3.Error) -> StoreError:
    reason = str(error)
    if isinstance(error, OSError):
        reason = error.strerror or reason
    # SQLite says of both that it is unable to open the database file.
    if not Path(path).parent.is_dir():
        reason = f"there is no directory {Path(path).parent}"
    elif Path(path).is_dir():
        reason = "it is a directory"
    return StoreError(f"cannot use the store {path}: {reason}", code="unusable-store")


def _present(connection: sqlite3.Connection) -> int:
    revision: int = connection.execute(_PRESENT).fetchone()[0]
    return revision


def _get(connection: sqlite3.Connection, *, key: str) -> Stored | None:
    row = connection.execute(_GET, (encode(key),)).fetchone()
    if row is None or row[0] is None:  # never written, or deleted
        return None
    return Stored(key, *row)


def _changes(connection: sqlite3.Connection, *, since: int) -> Batch:
    _check_within_history(connection, since)
    rows = connection.execute(_CHANGES, (since, _EVENTS)).fetchall()
    events: list[Event] = []
    for revision, name, value, previous, old_value in rows:
        key = decode(name)
        before = Stored(key, old_value, previous) if previous else None
        events.append(change_event(key, value, revision, before))
    return events, events[-1].revision if events else _present(connection)


def _check_within_history(connection: sqlite3.Connection, revision: int) -> None:
    check_reached(revision, _present(connection))
    (start,) = connection.execute(_START).fetchone()
    if revision < start:
        raise Expired(revision)
