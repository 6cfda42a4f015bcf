"""Comparing the pairs of ``smp drift``: in batches, by all cores, and what is known.

Each process pairs a part of the objects and compares it, so that no object goes from
one process to another; what comes back are rows. They are in the order of the parts,
however many processes there are.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec

from smp.cli._drift_pairs import Pair, Part, Skipped, by_size
from smp.cli._drift_records import Part as Place
from smp.cli._drift_records import Record
from smp.cli._drift_state import digest_of, known_rows
from smp.cli._interrupts import follow_parent
from smp.cli._run import processes_for
from smp.cli._status_line import StatusLine
from smp.comparison import Rules
from smp.schema.catalog import Catalog

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

# What is compared at a time, in bytes of JSON.
_BATCH: Final = 4 << 20
# So many bytes are compared before it pays to start processes.
_LARGE: Final = 4 << 20
_AHEAD: Final = 2
_PATIENCE: Final = 1.0
_INTERVAL: Final = 0.5
_MINUTE: Final = 60
_HOUR: Final = 3600


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
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

    rows: list[Row]
    parts: list[Place | None]
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

    def found(self, part: Part) -> Found:
        """Pair the objects of a part, and compare them."""
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

    def _compared(self, pairs: list[Pair]) -> Iterator[Row]:
        """Compare pairs in batches of about some bytes."""
        import pyarrow as pa  # noqa: PLC0415  # an extra

        from smp.fleet import compare  # noqa: PLC0415  # see above

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
            compared = compare(
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


def _row(pair: Pair, values: dict[str, Any]) -> Row:
    record = pair.record
    group, _, version = record.api_version.rpartition("/")
    return Row(
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


def _kept(row: Row) -> bytes | None:
    """Return what the state keeps of a row: what does not follow from its objects."""
    if row.verdict == "same" and row.patch is None:
        return None
    return _write({name: getattr(row, name) for name in _RESULT})


class Workers:
    """Compares parts in ``jobs`` processes, or here where the input is small.

    0 is a process for each core. To be closed.
    """

    def __init__(self, comparer: Comparer, jobs: int) -> None:
        self._jobs = processes_for(jobs)
        self._comparer = comparer
        self._executor: ProcessPoolExecutor | None = None

    def expect(self, size: int) -> None:
        """Start the processes where an input of so many bytes is worth them.

        They load what they need while this process still reads.
        """
        if self._executor is not None or self._jobs == 1 or size < _LARGE:
            return
        # Small inputs need one process.
        import multiprocessing  # noqa: PLC0415  # see above
        from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415  # see above

        self._executor = ProcessPoolExecutor(
            self._jobs,
            # Arrow has threads, and a process that is forked may inherit their locks.
            multiprocessing.get_context("spawn"),
            initializer=_start,
            initargs=(os.getpid(), self._comparer),
        )
        # The first call starts all processes.
        self._executor.submit(os.getpid)

    def found(self, parts: Iterable[Part]) -> Generator[Found, None, None]:
        """Yield what is found in each part, in order."""
        executor = self._executor
        if executor is None:
            for part in parts:
                yield self._comparer.found(part)
            return
        pending: deque[Future[Found]] = deque()
        for part in parts:
            pending.append(executor.submit(_found, part))
            # Results are kept only some parts ahead of the output.
            if len(pending) > _AHEAD * self._jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def close(self) -> None:
        """End the processes; the output may end before all is computed."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)


_comparer: Comparer


def _start(parent: int, comparer: Comparer) -> None:
    global _comparer  # noqa: PLW0603  # what each process of the pool has
    if sys.platform == "linux":
        follow_parent(parent)
    import smp.fleet  # noqa: F401, PLC0415  # to have it when there is something to do

    _comparer = comparer


def _found(part: Part) -> Found:
    return _comparer.found(part)


class Progress:
    """How far a run is, with its rate and what remains, on a terminal."""

    def __init__(self, *, is_wanted: bool) -> None:
        self._start = self._next = monotonic()
        self._next += _PATIENCE
        self._status = StatusLine()
        self._is_wanted = is_wanted and self._status.is_terminal

    def show(self, what: str, done: int, total: int | None = None) -> None:
        """Show a number of objects, if it is time for that."""
        now = monotonic()
        if not self._is_wanted or now < self._next:
            return
        self._next = now + _INTERVAL
        rate = done / (now - self._start)
        text = f"smp: {what} {done:,}"
        if total is not None:
            text += f" of {total:,}"
        text += f" objects, {rate:,.0f} a second"
        if total is not None and rate:
            text += f", {_duration((total - done) / rate)} left"
        self._status.show(text)

    def restart(self) -> None:
        """Begin another part of the run, with a rate of its own."""
        self.clear()
        self._start = monotonic()

    def clear(self) -> None:
        """Remove the line, so that others can be printed."""
        self._status.clear()


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
