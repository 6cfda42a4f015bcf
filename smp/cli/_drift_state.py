"""What earlier runs of ``smp drift`` found out, by the content of the objects.

A row is known by a hash of both objects, of what identifies them, and of all that the
answer depends on beside them. So a run that was killed goes on where it was, and a
later run looks only at what has changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from smp.cli._drift_pairs import ObjectPair
from smp.errors import DocumentError

_DIGEST: Final = 16
_AT_ONCE: Final = 500
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS rows (digest BLOB PRIMARY KEY, run INTEGER, row BLOB)"
    " WITHOUT ROWID"
)


def digest_of(pair: ObjectPair, salt: bytes) -> bytes:
    """Return what a row is known by; ``salt`` is all that it depends on beside it."""
    hashed = blake2b(salt, digest_size=_DIGEST)
    record = pair.record
    texts: list[bytes | None] = [
        part.encode(errors="surrogatepass")
        for part in (
            record.cluster,
            record.api_version,
            record.kind,
            record.namespace,
            record.name,
        )
    ]
    # Where an object was read does not change the answer.
    for side in (pair.desired, pair.live):
        texts += [None, None] if side is None else [side.text, side.last_applied]
    for text in texts:
        # The length tells where each ends, and that there is none from an empty one.
        length = -1 if text is None else len(text)
        hashed.update(length.to_bytes(8, "big", signed=True))
        hashed.update(text or b"")
    return hashed.digest()


class DriftState:
    """A file with the rows of earlier runs. To be closed."""

    def __init__(self, path: str) -> None:
        try:
            self._file = sqlite3.connect(path)
            try:
                # Other processes read while this one writes (sqlite.org/wal.html).
                self._file.execute("PRAGMA journal_mode=WAL")
                self._file.execute("PRAGMA synchronous=NORMAL")
                self._file.execute(_TABLE)
                [(last,)] = self._file.execute("SELECT max(run) FROM rows")
            except sqlite3.Error:
                self._file.close()
                raise
        except sqlite3.Error as error:
            raise DocumentError(
                f"cannot use the file of the state: {error}",
                code="invalid-state",
                source=path,
            ) from None
        self._run = (last or 0) + 1

    def add(self, digests: Iterable[bytes], rows: Iterable[bytes | None]) -> None:
        """Keep rows; None is one that is the same. All or none of them are kept."""
        values = [
            (digest, self._run, row) for digest, row in zip(digests, rows, strict=True)
        ]
        # One transaction: a run that is killed leaves whole parts.
        with self._file:
            self._file.executemany(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", values
            )

    def end(self) -> None:
        """Forget what this run, which looked at all rows, has not seen."""
        with self._file:
            self._file.execute("DELETE FROM rows WHERE run != ?", (self._run,))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def known_rows(path: str, digests: list[bytes]) -> dict[bytes, bytes | None]:
    """Return the rows of earlier runs; a process of its own may read them."""
    file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found: dict[bytes, bytes | None] = {}
    try:
        # SQLite limits the number of parameters of a query.
        for start in range(0, len(digests), _AT_ONCE):
            some = digests[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            query = f"SELECT digest, row FROM rows WHERE digest IN ({marks})"  # noqa: S608  # only question marks
            found.update(dict(file.execute(query, some)))
    finally:
        file.close()
    return found
