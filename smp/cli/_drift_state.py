"""What earlier runs of ``smp drift`` found out, kept in a file.

Theory of operation. The file has three things:

- ``rows``: what came of each pair, by a hash of both objects and of all that the answer
  depends on beside them. So a run that was killed goes on where it was, and a later run
  compares only what has changed.
- ``findings``: the rows of the last run that came to its end and are not the same, with
  the time when they were found first. What a run finds is new, changed or still there,
  compared with those; what it does not find any more is mended.
- ``runs``: a hash of all files that the last complete run has read, and what it counted
  of objects that are the same. A run over the same files prints the findings again.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final, Literal, TypeAlias

import msgspec

from smp.cli._drift_run import DriftRow
from smp.errors import DocumentError

Change: TypeAlias = Literal["new", "mended", "changed", "still"]
CHANGES: Final[tuple[Change, ...]] = ("new", "changed", "mended", "still")
_TABLES: Final = (
    "rows (digest BLOB PRIMARY KEY, run INTEGER, row BLOB)",
    # The number is the place of a row among others.
    "findings (run INT, key BLOB, number INT, since, row, PRIMARY KEY (run, key))",
    "runs (run INTEGER PRIMARY KEY, inputs BLOB, same BLOB)",
)
_FINDING: Final = "SELECT since, row FROM findings WHERE run = ? AND key = ?"
_UNSEEN: Final = (
    "SELECT since, row FROM findings WHERE run = ? AND key NOT IN"
    " (SELECT key FROM findings WHERE run = ?) AND key NOT IN (SELECT key FROM seen)"
)
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(DriftRow).decode


class SameObjects(msgspec.Struct):
    """What a run counted of objects that are the same.

    ``clusters`` has how many of them have a manifest, and a live object. ``read`` is
    what the run has read of each side, and ``heard`` of which clusters something.
    """

    count: int = 0
    clusters: dict[str, tuple[int, int]] = {}
    read: dict[str, int] = {}
    heard: list[str] = []


class DriftState:
    """The file of a state. To be closed."""

    def __init__(self, path: str) -> None:
        """Open a file, or make it. Raises DocumentError (invalid-state)."""
        self._path = path
        self._number = 0
        self.changes: Counter[Change] = Counter()
        self._now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        try:
            self._file = sqlite3.connect(path)
            try:
                # Other processes read while this one writes (sqlite.org/wal.html).
                self._file.execute("PRAGMA journal_mode=WAL")
                self._file.execute("PRAGMA synchronous=NORMAL")
                for table in _TABLES:
                    command = f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID"
                    self._file.execute(command)
                self._file.execute("CREATE TEMP TABLE seen (key BLOB PRIMARY KEY)")
                self._last = self._latest("runs")
                self._run = max(self._last, self._latest("rows")) + 1
                with self._file:
                    # What a run that was killed has left is found again.
                    self._file.execute(
                        "DELETE FROM findings WHERE run != ?", (self._last,)
                    )
            except sqlite3.Error:
                self._file.close()
                raise
        except sqlite3.Error as error:
            raise self._invalid(error) from None

    def _latest(self, table: Literal["runs", "rows"]) -> int:
        query = {
            "runs": "SELECT max(run) FROM runs",
            "rows": "SELECT max(run) FROM rows",
        }
        [(number,)] = self._file.execute(query[table])
        return number or 0

    def _invalid(self, error: Exception) -> DocumentError:
        return DocumentError(
            f"cannot use the file of the state: {error}",
            code="invalid-state",
            source=self._path,
        )

    def add(self, digests: Iterable[bytes], rows: Iterable[bytes | None]) -> None:
        """Keep answers; None is one that is the same. All or none of them are kept."""
        values = [
            (digest, self._run, row) for digest, row in zip(digests, rows, strict=True)
        ]
        # One transaction: a run that is killed leaves whole parts.
        with self._file:
            self._file.executemany(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", values
            )

    def compare(self, row: DriftRow) -> DriftRow:
        """Return a row with what has changed since the last complete run, and keep it.

        Of an object that cannot be read nothing has changed. Raises DocumentError.
        """
        key = _key_of(row)
        former = self._file.execute(_FINDING, (self._last, key)).fetchone()
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
        elif not self._last:
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
        self._file.execute(
            "INSERT OR REPLACE INTO findings VALUES (?, ?, ?, ?, ?)",
            (self._run, key, self._number, since, row),
        )

    def find_gone(self, incomplete: Container[str]) -> Iterator[DriftRow]:
        """Yield what was found before, and is of no object any more.

        Of the clusters that were not read completely that is not known.
        """
        unseen = [*self._file.execute(_UNSEEN, (self._last, self._run))]
        for since, text in unseen:
            row = self._decoded(text)
            if row.cluster in incomplete:
                self._keep(_key_of(row), since, text)
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

    def end(self, inputs: bytes, same: SameObjects) -> None:
        """Forget what this run, which looked at all rows, has not seen.

        ``inputs`` is a hash of all that it has read, b"" where that is not known.
        """
        with self._file:
            self._file.execute("DELETE FROM rows WHERE run != ?", (self._run,))
            self._file.execute("DELETE FROM findings WHERE run != ?", (self._run,))
            self._file.execute("DELETE FROM runs")
            self._file.execute(
                "INSERT INTO runs VALUES (?, ?, ?)", (self._run, inputs, _encode(same))
            )

    def find_run(self, inputs: bytes) -> SameObjects | None:
        """Return what the last run counted if it read the same; None for others.

        Raises DocumentError.
        """
        query = "SELECT same FROM runs WHERE inputs = ?"
        found = self._file.execute(query, (inputs,)).fetchone()
        if not inputs or found is None:
            return None
        try:
            return msgspec.json.decode(found[0], type=SameObjects)
        except msgspec.MsgspecError as error:
            raise self._invalid(error) from None

    def findings(self) -> Iterator[DriftRow]:
        """Yield the rows of the last run, which are still there. Raises DocumentError.

        They are in the order in which it found them.
        """
        query = "SELECT row FROM findings WHERE run = ? ORDER BY number"
        for (text,) in self._file.execute(query, (self._last,)):
            self.changes["still"] += 1
            yield msgspec.structs.replace(self._decoded(text), change="still")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _decoded(self, text: bytes) -> DriftRow:
        try:
            return _decode(text)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise self._invalid(error) from None


def _key_of(row: DriftRow) -> bytes:
    identity = (row.cluster, row.group, row.kind, row.namespace, row.name)
    return blake2b(_encode(identity), digest_size=16).digest()
