"""Comparing the pairs of ``smp drift``: in batches, by all cores, and what is known.

Each process pairs a part of the objects and compares it, so that no object goes from
one process to another; what comes back are the rows that are not the same, and counts
of the others. They are in the order of the parts, however many processes there are.

What earlier runs found out is kept by the content of the objects: a row is known by a
hash of both objects, of what identifies them, and of all that the answer depends on
beside them. So a run that was killed goes on where it was, and a later run looks only
at what has changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from hashlib import blake2b
from itertools import groupby
from types import ModuleType
from typing import Any, Final, TypeAlias

import msgspec

from smp._values.codec import decode
from smp._values.values import JSONObject, as_object
from smp.cli._drift.documents import read_only
from smp.cli._drift.pairs import ObjectPair, PairedPart, Skipped
from smp.cli._drift.records import Granule, Record
from smp.cli._objects import TextPart
from smp.cli._options import DriftSettings
from smp.cli._workers import by_size
from smp.comparison import Rules
from smp.custom_resources import unchecked
from smp.errors import SmpError, UnknownKindError
from smp.schema.catalog import Catalog

_DIGEST: Final = 16
_AT_ONCE: Final = 500


def digest_of(pair: ObjectPair, salt: bytes) -> bytes:
    """Return what a row is known by; ``salt`` is all that it depends on beside it."""
    hashed = blake2b(salt, digest_size=_DIGEST)
    record = pair.record
    texts: list[bytes | None] = [
        part.encode(errors="surrogatepass") for part in (record.cluster, *record.head)
    ]
    # Where an object was read does not change the answer.
    for side in (pair.desired, pair.live):
        if side is None:
            texts += [None, None, None]
        else:
            texts += [side.text, side.last_applied, side.error.encode()]
    for text in texts:
        # The length tells where each ends, and that there is none from an empty one.
        length = -1 if text is None else len(text)
        hashed.update(length.to_bytes(8, "big", signed=True))
        hashed.update(text or b"")
    return hashed.digest()


# The rows of earlier runs, and the keys of the findings of one.
_ROWS: Final = "SELECT digest, row FROM rows WHERE digest IN ({marks})"
_KEYS: Final = "SELECT key, run FROM findings WHERE key IN ({marks}) AND run = "


def _find(path: str, query: str, values: list[bytes]) -> Iterator[tuple[Any, Any]]:
    # What cannot be read of the state is found out again.
    with suppress(sqlite3.Error), closing(read_only(path)) as file:
        # SQLite limits the number of parameters of a query.
        for start in range(0, len(values), _AT_ONCE):
            some = values[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            yield from file.execute(query.format(marks=marks), some)


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
    refusals: list[str] = []
    commits: list[str] = []
    desired_place: str = ""
    live_place: str = ""
    # What has become of it since the last run, and when it was found first.
    change: str = ""
    since: str = ""
    # Who has to act, by the rules.
    owner: str = ""

    @property
    def api_version(self) -> str:
        """The group and the version, as an object has them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def label(self) -> str:
        """The object for a reader."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        label = f"{self.api_version} {self.kind} {name}"
        return f"{self.cluster}: {label}" if self.cluster else label

    def kept(self) -> bytes | None:
        """Return what the state keeps: what does not follow from the objects."""
        if self.verdict == "same" and self.patch is None:
            return None
        return _write({name: getattr(self, name) for name in _RESULT})


def key_of(row: DriftRow) -> bytes:
    """Return what a row is known by from run to run."""
    identity = (row.cluster, row.group, row.kind, row.namespace, row.name)
    return blake2b(msgspec.json.encode(identity), digest_size=_DIGEST).digest()


# How many objects are the same, and how many of them have a manifest, and are live.
SameCount: TypeAlias = tuple[int, int, int]


class Found(msgspec.Struct):
    """What came of a part: its rows in order, and what the state needs to keep.

    Of the rows that are the same there are only those that somebody asks for, and how
    many there are of the others. ``parts`` are the places of the manifests in their
    files, for those who ask what they say.
    """

    rows: list[DriftRow]
    parts: list[TextPart | None]
    skipped: list[Skipped]
    folded: int = 0
    reused: int = 0
    same: dict[Granule, SameCount] = {}
    kept: list[tuple[bytes, Granule, bytes | None]] = []

    def count_same(self, pair: ObjectPair) -> None:
        """Count a pair that is the same."""
        granule = pair.record.granule
        count, expected, read = self.same.get(granule, (0, 0, 0))
        self.same[granule] = (
            count + 1,
            expected + (pair.desired is not None),
            read + (pair.live is not None),
        )


class Comparer(msgspec.Struct):
    """Compares the objects of a part; it is sent to processes.

    ``state`` is the file of what is known, and ``last`` the run of its findings.
    """

    catalog: Catalog
    rules: Rules
    settings: DriftSettings
    state: str = ""
    last: int = 0
    salt: bytes = b""
    # The definitions of clusters as catalogs, and as hashes.
    catalogs: dict[str, tuple[Catalog, bytes]] = {}

    def define(self, cluster: str, catalog: Catalog, digest: bytes) -> None:
        """Judge the objects of a cluster by a catalog, which a hash stands for."""
        self.catalogs[cluster] = catalog, digest

    def _catalog_of(self, pair: ObjectPair) -> Catalog:
        return self.catalogs.get(pair.record.cluster, (self.catalog, b""))[0]

    def _salt_of(self, pair: ObjectPair) -> bytes:
        known = self.catalogs.get(pair.record.cluster)
        return self.salt if known is None else self.salt + known[1]

    def unchecked(self, kinds: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Yield what cannot be checked of the definitions of some kinds, in order."""
        catalogs = [self.catalog, *(each for each, _ in self.catalogs.values())]
        texts: dict[str, None] = {}
        for api_version, kind in sorted(kinds):
            for catalog in catalogs:
                with suppress(UnknownKindError):
                    schema = catalog.schema(api_version, kind)
                    missing = schema.structural and unchecked(schema.structural)
                    if missing:
                        texts[f"{api_version} {kind}: {missing}"] = None
        yield from texts

    def compare(self, part: PairedPart) -> Found:
        """Pair the objects of a part, and compare them."""
        joined = part.joined()
        found = Found([], [], joined.skipped, joined.folded)
        pairs = joined.pairs
        if self.state:
            rows = self._known_or_compared(pairs, found)
        else:
            # Most runs keep nothing, and need no hashes.
            rows = [*self._compared(pairs)]
        wanted = self._wanted(rows)
        for pair, row in zip(pairs, rows, strict=True):
            if row.verdict == "same" and not wanted(row):
                found.count_same(pair)
                continue
            found.rows.append(self._with_owner(row, pair))
            found.parts.append(pair.desired.part if pair.desired else None)
        return found

    def _known_or_compared(
        self, pairs: list[ObjectPair], found: Found
    ) -> list[DriftRow]:
        """Return the rows of pairs; what is known of one is not found out again."""
        digests = [digest_of(pair, self._salt_of(pair)) for pair in pairs]
        rows: list[DriftRow | None] = []
        known = dict(_find(self.state, _ROWS, digests))
        for pair, digest in zip(pairs, digests, strict=True):
            values = _known(known[digest]) if digest in known else None
            rows.append(None if values is None else _row(pair, values))
        found.reused = sum(row is not None for row in rows)
        new = [pair for pair, row in zip(pairs, rows, strict=True) if row is None]
        compared = iter(self._compared(new))
        whole = [next(compared) if row is None else row for row in rows]
        found.kept = [
            (digest, pair.record.granule, row.kept())
            for digest, pair, row in zip(digests, pairs, whole, strict=True)
        ]
        return whole

    def _wanted(self, rows: list[DriftRow]) -> Callable[[DriftRow], bool]:
        if self.settings.all_rows:
            return lambda _row: True
        if not self.state or not self.last:
            return lambda _row: False
        # What is the same again is mended.
        keys = [key_of(row) for row in rows if row.verdict == "same"]
        former = dict(_find(self.state, f"{_KEYS}{self.last:d}", keys))
        return lambda row: bool(former) and key_of(row) in former

    def _with_owner(self, row: DriftRow, pair: ObjectPair) -> DriftRow:
        if row.verdict == "same" or not self.rules.owners:
            return row
        obj = _identified(pair.record)
        owner = self.rules.owner_of(obj)
        return msgspec.structs.replace(row, owner=owner) if owner else row

    def _compared(self, pairs: list[ObjectPair]) -> Iterator[DriftRow]:
        for _, alike in groupby(pairs, key=lambda pair: id(self._catalog_of(pair))):
            for batch in by_size(alike, ObjectPair.size_of, _BATCH):
                yield from self._compared_batch(batch)

    def _compared_batch(self, batch: list[ObjectPair]) -> Iterator[DriftRow]:
        import pyarrow as pa  # noqa: PLC0415  # an extra

        columns: dict[str, list[Any]] = {
            "desired": [_text(pair, pair.desired) for pair in batch],
            "live": [_text(pair, pair.live) for pair in batch],
            "last_applied": [pair.last_applied for pair in batch],
        }
        types = dict.fromkeys(columns, pa.large_binary())
        for name in ("cluster", "group", "version", "kind", "namespace", "name"):
            # The rows of the output have them from the pairs.
            columns[name] = [None] * len(batch)
            types[name] = pa.string()
        # What has the name of its cluster in labels is known under any.
        columns["cluster"] = [pair.record.cluster for pair in batch]
        compared = load_fleet().compare(
            pa.RecordBatch.from_pydict(columns, pa.schema(types.items())),
            catalog=self._catalog_of(batch[0]),
            rules=self.rules,
            show_secrets=self.settings.show_secrets,
            additions=self.settings.additions,
        )
        for pair, values in zip(batch, compared.to_pylist(), strict=True):
            # Without both texts the row is unreadable.
            yield _row(
                pair, {**values, **({"error": pair.error} if pair.error else {})}
            )


class _KeptRow(msgspec.Struct):
    verdict: str
    paths: list[str]
    causes: list[str]
    patch: str | None
    heals: bool | None
    managers: list[str]
    error: str | None
    refusals: list[str]


_RESULT: Final = _KeptRow.__struct_fields__
_kept: Final = msgspec.json.Decoder(_KeptRow).decode
_write: Final = msgspec.json.Encoder().encode


def _known(text: bytes | None) -> dict[str, Any] | None:
    """Return what is known of a pair; None where the state has something else."""
    if text is None:
        return {"verdict": "same"}
    try:
        return msgspec.structs.asdict(_kept(text))
    except (msgspec.MsgspecError, UnicodeError, TypeError):
        return None


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


def _identified(record: Record) -> JSONObject:
    """Return what rules choose an object by; one that cannot be read has no labels."""
    metadata: JSONObject = {"name": record.name, "namespace": record.namespace}
    with suppress(SmpError):
        text = as_object(decode(record.text)) if record.text else {}
        labels = as_object(text.get("metadata")).get("labels")
        metadata["labels"] = as_object(labels)
    return {"apiVersion": record.api_version, "kind": record.kind, "metadata": metadata}


def _place(record: Record | None) -> str:
    return "" if record is None else record.place


def _text(pair: ObjectPair, side: Record | None) -> bytes | None:
    return None if side is None or pair.error else side.text
