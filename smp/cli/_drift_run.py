"""Comparing the pairs of ``smp drift``: in batches, by all cores, and what is known.

Each process pairs a part of the objects and compares it, so that no object goes from
one process to another; what comes back are rows. They are in the order of the parts,
however many processes there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import msgspec

from smp.cli._drift_pairs import ObjectPair, PairedPart, Skipped, by_size
from smp.cli._drift_records import Record, RecordPart
from smp.cli._drift_state import digest_of, known_rows
from smp.comparison import Rules
from smp.schema.catalog import Catalog

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
                found.kept.append(_kept(row))
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


def _kept(row: DriftRow) -> bytes | None:
    """Return what the state keeps of a row: what does not follow from its objects."""
    if row.verdict == "same" and row.patch is None:
        return None
    return _write({name: getattr(row, name) for name in _RESULT})
