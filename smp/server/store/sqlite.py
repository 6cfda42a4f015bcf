"""A store in a SQLite file, for one machine: several processes may use it at a time.

Every change is a row, a delete too; the present value of a key is its last row. A row
is dropped when the change that replaced it leaves the history, so every snapshot and
every watch within the history can be answered.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from smp.server.store._keys import decoded, encoded, following, key_range
from smp.server.store.errors import Expired, StoreError
from smp.server.store.feed import HISTORY, PROGRESS, Batch, Feed, check_present, wait
from smp.server.store.model import Event, Page, Stored, Writes, changed
from smp.server.store.worker import Worker

_BUSY: Final = 5.0  # seconds to wait for the transaction of another process
_POLL: Final = 0.1  # seconds between looks at what other processes wrote
_EVENTS: Final = 100  # changes read at a time

_APPLICATION: Final = 0x736D7031  # what the header of the file says that it is
_WHOSE: Final = "SELECT application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id"
# FULL: a commit is on the disk when it is acknowledged. NORMAL would lose the last ones
# with the power.
_PREPARE: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
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
# 1 is the revision of a store that was never written.
_PRESENT: Final = "SELECT coalesce(max(revision), 1) FROM changes"
_INSERT: Final = (
    "INSERT INTO changes SELECT coalesce(max(revision), 1) + 1, ?, ?, ? FROM changes"
)
_GET: Final = (
    "SELECT value, revision FROM changes WHERE key = ? ORDER BY revision DESC LIMIT 1"
)
# In the order of the keys, in which the groups come: CROSS JOIN keeps SQLite from
# looking for another.
_LIST: Final = """
SELECT changes.key, changes.value, changes.revision
FROM (SELECT max(revision) AS last FROM changes WHERE key >= ? AND key < ? AND revision <= ? GROUP BY key) AS latest
CROSS JOIN changes ON changes.revision = latest.last
WHERE changes.value IS NOT NULL LIMIT ?
"""
_COUNT: Final = """
SELECT count(changes.value)
FROM (SELECT max(revision) AS last FROM changes WHERE key >= ? AND key < ? AND revision <= ? GROUP BY key) AS latest
CROSS JOIN changes ON changes.revision = latest.last
"""
_CHANGES: Final = """
SELECT changes.revision, changes.key, changes.value, changes.previous, before.value
FROM changes LEFT JOIN changes AS before ON before.revision = changes.previous
WHERE changes.revision > ? ORDER BY changes.revision LIMIT ?
"""
_START: Final = "SELECT start FROM history"
# Of the changes that leave the history: what they replaced, and the deletes among them.
_COMPACT: Final = (
    """DELETE FROM changes WHERE revision IN
       (SELECT previous FROM changes WHERE revision > (SELECT start FROM history) AND revision <= ?)""",
    "DELETE FROM changes WHERE revision > (SELECT start FROM history) AND revision <= ? AND value IS NULL",
    "UPDATE history SET start = max(start, ?)",
)


class SQLiteStore(Writes):
    """A file with the last ``history`` changes, or a tenth more, and the values that
    they need.
    """

    def __init__(
        self, path: str, *, history: int = HISTORY, progress: float = PROGRESS
    ) -> None:
        writing, reading = _open(path), _open(path)
        self._history = history
        self._writer = Worker(writing, "BEGIN IMMEDIATE")
        self._reader = Worker(reading, "BEGIN")
        self._feed = Feed(self, history=history, progress=progress)
        self._written = asyncio.Event()

    async def get(self, key: str) -> Stored | None:
        """Return the present value of a key."""
        return await self._reader.run(partial(_get, key=key))

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return a page of a snapshot."""
        return await self._reader.run(
            partial(
                _page, keys=key_range(prefix, after), limit=limit, revision=revision
            )
        )

    async def revision(self) -> int:
        """Return the revision of the last write."""
        return await self._reader.run(_present)

    def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix."""
        return self._feed.watch(prefix, since)

    async def close(self) -> None:
        """End the watches, finish the writes and close the file."""
        await self._feed.close()
        await self._writer.close()
        await self._reader.close()

    async def _change(self, key: str, value: bytes | None, last: int) -> int | None:
        job = partial(_change, key=key, value=value, last=last, history=self._history)
        revision = await self._writer.run(job)
        written, self._written = self._written, asyncio.Event()
        written.set()
        return revision

    origin = revision

    async def changes(self, since: int) -> AsyncGenerator[Batch, None]:
        """Follow every change after a revision: one's own at once, those of other
        processes soon.
        """
        while True:
            written = self._written
            batch = await self._reader.run(partial(_changes, since=since))
            if batch[1] > since:
                since = batch[1]
                yield batch
            else:
                await wait(written, _POLL)


def _open(path: str) -> sqlite3.Connection:
    """Open the file and make it ready; again where others are just doing so, which
    SQLite does not wait for.
    """
    deadline = monotonic() + _BUSY
    while True:
        try:
            # there may be Secrets in it; the files that SQLite adds get the same mode
            Path(path).touch(mode=0o600)
            return _prepared(
                sqlite3.connect(
                    path, timeout=_BUSY, isolation_level=None, check_same_thread=False
                )
            )
        except (OSError, sqlite3.Error) as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or monotonic() > deadline:
                raise StoreError(f"{path}: {error}", code="unusable-store") from None
            sleep(_POLL)


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        application, tables = connection.execute(_WHOSE).fetchone()
        if application != _APPLICATION and (application or tables):
            raise sqlite3.DatabaseError("the database of another application")
        connection.executescript(_PREPARE)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _present(connection: sqlite3.Connection) -> int:
    revision: int = connection.execute(_PRESENT).fetchone()[0]
    return revision


def _get(connection: sqlite3.Connection, *, key: str) -> Stored | None:
    row = connection.execute(_GET, (encoded(key),)).fetchone()
    return Stored(key, *row) if row and row[0] is not None else None


def _page(
    connection: sqlite3.Connection,
    *,
    keys: tuple[bytes, bytes],
    limit: int,
    revision: int,
) -> Page:
    start, end = keys
    revision = (
        _within_history(connection, revision) if revision else _present(connection)
    )
    rows = connection.execute(_LIST, (start, end, revision, limit or -1)).fetchall()
    items = tuple(Stored(decoded(key), value, written) for key, value, written in rows)
    if not items or len(items) != limit:
        return Page(items, revision)
    (remaining,) = connection.execute(
        _COUNT, (following(rows[-1][0]), end, revision)
    ).fetchone()
    return Page(items, revision, remaining)


def _change(
    connection: sqlite3.Connection,
    *,
    key: str,
    value: bytes | None,
    last: int,
    history: int,
) -> int | None:
    present = _get(connection, key=key)
    if (present.revision if present else 0) != last:
        return None
    revision = (
        connection.execute(_INSERT, (encoded(key), value, last or None)).lastrowid or 0
    )
    if revision % max(1, history // 10) == 0:
        for statement in _COMPACT:
            connection.execute(statement, (revision - history,))
    return revision


def _changes(connection: sqlite3.Connection, *, since: int) -> Batch:
    _within_history(connection, since)
    rows = connection.execute(_CHANGES, (since, _EVENTS)).fetchall()
    events = [_event(*row) for row in rows]
    return events, events[-1].revision if events else _present(connection)


def _event(
    revision: int, key: bytes, value: bytes | None, previous: int | None, held: bytes
) -> Event:
    name = decoded(key)
    return changed(
        name, value, revision, Stored(name, held, previous) if previous else None
    )


def _within_history(connection: sqlite3.Connection, revision: int) -> int:
    """Return the revision itself. Raises FutureRevisionError and Expired."""
    check_present(revision, _present(connection))
    (start,) = connection.execute(_START).fetchone()
    if revision < start:
        raise Expired(revision)
    return revision
