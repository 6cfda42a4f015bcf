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
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from smp.server.store._keys import decode, encode, following, key_range
from smp.server.store.cache import Cache
from smp.server.store.errors import (
    ChangedError,
    ClosedError,
    Expired,
    StoreError,
    check_reached,
)
from smp.server.store.history import HISTORY, PROGRESS, Batch, wait
from smp.server.store.model import Event, Page, Stored, Writes, change_event
from smp.server.store.worker import Worker, is_busy

_BUSY: Final = 5.0  # seconds to wait for the transaction of another process
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
# A write and its conditions are one statement: Python takes its lock again after each,
# and the event loop may have it for long.
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


class SQLiteStore(Writes):
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
        # In WAL mode readers and the writer do not wait for each other.
        # The worker itself waits for other writers.
        writing = _open(path, busy=0)
        reading = _open(path)
        # Only asked for the revision, by the event loop itself.
        self._asking = _open(path, busy=0)
        self._history = history
        self._size = size
        self._growth = 0  # bytes that were written since the history was compacted
        self._writer = Worker(writing, "BEGIN IMMEDIATE")
        self._reader = Worker(reading, "BEGIN")
        self._cache = Cache(self, history=history, progress=progress)
        self._written = asyncio.Event()  # set at the next write, and then replaced

    async def get(self, key: str, *, not_older: int | None = None) -> Stored | None:
        """Return the current value of a key."""
        return await self._cache.get(key, not_older)

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return a page of a snapshot."""
        return await self._cache.list(
            prefix, limit=limit, after=after, revision=revision
        )

    async def read(self, key: str) -> Stored | None:
        """Return the current value of a key, from the file."""
        return await self._reader.run(partial(_get, key=key))

    async def read_page(
        self, prefix: str, *, limit: int, after: str, revision: int
    ) -> Page:
        """Return a page of a snapshot, from the file."""
        start, end = key_range(prefix, after)

        def read(connection: sqlite3.Connection) -> Page:
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

        return await self._reader.run(read)

    async def revision(self) -> int:
        """Return the revision of the last write."""
        try:
            # This takes some microseconds, as a reader waits for nothing in WAL mode
            # and the system has the pages in memory; a thread would take longer.
            revision = _present(self._asking)
        except sqlite3.OperationalError:  # busy: the file is being recovered
            revision = await self._reader.run(_present)
        except sqlite3.ProgrammingError:
            raise ClosedError from None
        # Another process has written.
        if revision > self._cache.revision:
            self._wake()
        return revision

    async def advance(self) -> None:
        """Look at once for what other processes wrote."""
        self._wake()

    def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix."""
        return self._cache.watch(prefix, since)

    async def maintain(self) -> None:
        """Return at once: writes compact the history."""

    async def close(self) -> None:
        """End the watches, finish the writes and close the file."""
        await self._cache.close()
        await self._writer.close()
        await self._reader.close()
        self._asking.close()

    async def _change(
        self,
        key: str,
        value: bytes | None,
        last: int,
        unchanged: Sequence[Stored] = (),
    ) -> int | None:
        def write(connection: sqlite3.Connection) -> int | None:
            name = encode(key)
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

        revision = await self._writer.run(write)
        if revision is not None:
            self._cache.add(key, value, revision)
            # Another process wrote before.
            if self._cache.revision < revision:
                self._wake()
        return revision

    def _wake(self) -> None:
        """Let ``changes`` look at once."""
        self._written.set()
        self._written = asyncio.Event()

    async def changes(
        self, since: int, known: Callable[[], int] | None = None
    ) -> AsyncGenerator[Batch, None]:
        """Follow every change: those of this process at once, others soon."""
        while True:
            # Taken before reading, so that a write in between is not missed.
            written = self._written
            if known:
                since = max(since, known())
            batch = await self._reader.run(partial(_changes, since=since))
            if batch[1] > since:
                since = batch[1]
                yield batch
            else:
                await wait(written, _POLL)


def _open(path: str, *, busy: float = _BUSY) -> sqlite3.Connection:
    """Open the file and create the tables. Raises StoreError.

    Later the connection waits ``busy`` seconds for others. SQLite does not
    wait for another process that does the same: it is tried again.
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
                connection.execute(f"PRAGMA busy_timeout = {int(busy * 1000)}")
            except sqlite3.Error:
                connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            if not is_busy(error) or monotonic() > deadline:
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


# What follows runs in the threads of the workers.


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
    """Raise FutureRevisionError or Expired."""
    check_reached(revision, _present(connection))
    (start,) = connection.execute(_START).fetchone()
    if revision < start:
        raise Expired(revision)
