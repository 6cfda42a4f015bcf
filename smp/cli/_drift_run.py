"""Comparing the pairs of ``smp drift``: in batches, by all cores, and what is known.

Each process pairs a part of the objects and compares it, so that no object goes from
one process to another; what comes back are rows. They are in the order of the parts,
however many processes there are.

What earlier runs found out is kept by the content of the objects: a row is known by a
hash of both objects, of what identifies them, and of all that the answer depends on
beside them. So a run that was killed goes on where it was, and a later run looks only
at what has changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from types import ModuleType
from typing import Any, Final

import msgspec

from smp.cli._drift_pairs import ObjectPair, PairedPart, Skipped, by_size
from smp.cli._drift_records import Record, RecordPart
from smp.comparison import Rules
from smp.errors import DocumentError
from smp.schema.catalog import Catalog

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


# What is compared at a time, in bytes of JSON.
_BATCH: Final = 4 << 20
# So many bytes are compared before it pays to start processes.
LARGE: Final = 4 << 20


def load_fleet() -> ModuleType:
    """Import what compares batches, which needs an extra."""
    from smp import fleet  # noqa: PLC0415  # drift says what to install without it

    return fleet


class DriftRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row of the output: an object, and what is known of it."""

    cluster: str
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    verdict: str
    paths: list[str] = []
    causes: list[str] = []
    patch: str | None = None
    heals: bool | None = None
    managers: list[str] = []
    error: str | None = None
    commits: list[str] = []
    desired_place: str = ""
    live_place: str = ""

    @property
    def label(self) -> str:
        """The object for a reader."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        version = f"{self.group}/{self.version}" if self.group else self.version
        label = f"{version} {self.kind} {name}"
        return f"{self.cluster}: {label}" if self.cluster else label

    def kept(self) -> bytes | None:
        """Return what the state keeps: what does not follow from the objects."""
        if self.verdict == "same" and self.patch is None:
            return None
        return _write({name: getattr(self, name) for name in _RESULT})


class Found(msgspec.Struct):
    """What came of a part: its rows in order, and what the state needs to keep.

    ``parts`` are the places of the manifests in their files, for those who ask what
    they say.
    """

    rows: list[DriftRow]
    parts: list[RecordPart | None]
    skipped: list[Skipped]
    reused: int = 0
    digests: list[bytes] = []
    kept: list[bytes | None] = []


class Comparer:
    """Compares the objects of a part; it is sent to processes."""

    def __init__(
        self,
        catalog: Catalog,
        rules: Rules,
        *,
        show_secrets: bool,
        state: str = "",
        salt: bytes = b"",
    ) -> None:
        self._catalog = catalog
        self._rules = rules
        self._show_secrets = show_secrets
        self._state = state
        self._salt = salt

    def result(self, part: PairedPart) -> Found:
        """ObjectPair the objects of a part, and compare them."""
        joined = part.joined()
        found = Found([], [], joined.skipped)
        # Most runs keep nothing, and need no hashes.
        if self._state:
            found.digests = [digest_of(pair, self._salt) for pair in joined.pairs]
            known = known_rows(self._state, found.digests)
            found.reused = sum(digest in known for digest in found.digests)
            new = [
                pair
                for pair, digest in zip(joined.pairs, found.digests, strict=True)
                if digest not in known
            ]
            compared = iter(self._compared(new))
            for pair, digest in zip(joined.pairs, found.digests, strict=True):
                if digest in known:
                    kept = known[digest]
                    row = _row(
                        pair, {"verdict": "same"} if kept is None else _read(kept)
                    )
                else:
                    row = next(compared)
                found.rows.append(row)
                found.kept.append(row.kept())
        else:
            found.rows = [*self._compared(joined.pairs)]
        manifests = [pair.desired for pair in joined.pairs]
        found.parts = [record.part if record else None for record in manifests]
        return found

    def _compared(self, pairs: list[ObjectPair]) -> Iterator[DriftRow]:
        """Compare pairs in batches of about some bytes."""
        import pyarrow as pa  # noqa: PLC0415  # an extra

        for batch in by_size(pairs, _BATCH):
            columns: dict[str, list[Any]] = {
                "desired": [pair.desired and pair.desired.text for pair in batch],
                "live": [pair.live and pair.live.text for pair in batch],
                "last_applied": [pair.last_applied for pair in batch],
            }
            types = dict.fromkeys(columns, pa.large_binary())
            for name in ("cluster", "group", "version", "kind", "namespace", "name"):
                # The rows of the output have them from the pairs.
                columns[name] = [None] * len(batch)
                types[name] = pa.string()
            compared = load_fleet().compare(
                pa.RecordBatch.from_pydict(columns, pa.schema(types.items())),
                catalog=self._catalog,
                rules=self._rules,
                show_secrets=self._show_secrets,
            )
            for pair, values in zip(batch, compared.to_pylist(), strict=True):
                yield _row(pair, values)


_RESULT: Final = ("verdict", "paths", "causes", "patch", "heals", "managers", "error")
_read: Final = msgspec.json.Decoder(dict[str, Any]).decode
_write: Final = msgspec.json.Encoder().encode


def _row(pair: ObjectPair, values: dict[str, Any]) -> DriftRow:
    record = pair.record
    group, _, version = record.api_version.rpartition("/")
    return DriftRow(
        record.cluster,
        group,
        version,
        record.kind,
        record.namespace,
        record.name,
        desired_place=_place(pair.desired),
        live_place=_place(pair.live),
        **{name: values[name] for name in _RESULT if name in values},
    )


def _place(record: Record | None) -> str:
    return "" if record is None else record.place
