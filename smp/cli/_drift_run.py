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
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from types import ModuleType
from typing import Any, Final

import msgspec

from smp._values.codec import decode
from smp._values.values import JSONObject, as_object
from smp.cli._drift_pairs import ObjectPair, PairedPart, Skipped, by_size
from smp.cli._drift_records import Record, RecordPart
from smp.comparison import Rules
from smp.errors import SmpError
from smp.schema.catalog import Catalog

_DIGEST: Final = 16
_AT_ONCE: Final = 500


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


def find_known_rows(path: str, digests: list[bytes]) -> dict[bytes, bytes | None]:
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
    # What has become of it since the last run, and when it was found first.
    change: str = ""
    since: str = ""
    # Who has to act, by the rules.
    owner: str = ""

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
    folded: int = 0
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
        additions: bool = False,
        state: str = "",
        salt: bytes = b"",
    ) -> None:
        self._catalog = catalog
        self._rules = rules
        self._show_secrets = show_secrets
        self._additions = additions
        self._state = state
        self._salt = salt

    def result(self, part: PairedPart) -> Found:
        """ObjectPair the objects of a part, and compare them."""
        joined = part.joined()
        found = Found([], [], joined.skipped, joined.folded)
        # Most runs keep nothing, and need no hashes.
        if self._state:
            found.digests = [digest_of(pair, self._salt) for pair in joined.pairs]
            known = find_known_rows(self._state, found.digests)
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
        if self._rules.owners:
            found.rows = [
                self._with_owner(row, pair)
                for row, pair in zip(found.rows, joined.pairs, strict=True)
            ]
        found.parts = [record.part if record else None for record in manifests]
        return found

    def _with_owner(self, row: DriftRow, pair: ObjectPair) -> DriftRow:
        """Return a row with the owner of its object, unless that is the same."""
        if row.verdict == "same":
            return row
        obj = _identified(pair.record)
        owner = self._rules.owner_of(obj)
        return msgspec.structs.replace(row, owner=owner) if owner else row

    def _compared(self, pairs: list[ObjectPair]) -> Iterator[DriftRow]:
        """Compare pairs in batches of about some bytes."""
        import pyarrow as pa  # noqa: PLC0415  # an extra

        for batch in by_size(pairs, _BATCH):
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
                catalog=self._catalog,
                rules=self._rules,
                show_secrets=self._show_secrets,
                additions=self._additions,
            )
            for pair, values in zip(batch, compared.to_pylist(), strict=True):
                # Without both texts the row is unreadable.
                yield _row(
                    pair, {**values, **({"error": pair.error} if pair.error else {})}
                )


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


def _identified(record: Record) -> JSONObject:
    """Return what rules choose an object by; one that cannot be read has no labels."""
    metadata: JSONObject = {"name": record.name, "namespace": record.namespace}
    with suppress(SmpError):
        text = as_object(decode(record.text)) if record.text else {}
        labels = as_object(text.get("metadata")).get("labels")
        metadata["labels"] = as_object(labels)
    return {
        "apiVersion": record.api_version,
        "kind": record.kind,
        "metadata": metadata,
    }


def _place(record: Record | None) -> str:
    return "" if record is None else record.place


def _text(pair: ObjectPair, side: Record | None) -> bytes | None:
    return None if side is None or pair.error else side.text
