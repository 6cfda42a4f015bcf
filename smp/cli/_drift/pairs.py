"""Pairing the objects of two sides of any size and order: a hash join on disk.

Theory of operation. Each object goes to one of ``PARTS`` parts, by a hash of its
cluster, group, kind and name. While all of them are small, the parts stay in memory.
From ``_MOST_BYTES`` on, what was collected is appended to a file for each part, and so
on. Then the parts are paired one after the other, each in memory; one of more than
``_LARGEST`` bytes is divided in the same way before, by another hash. So a fleet of any
size takes the memory of one part, and the disk space of its compressed JSON. The order
of the pairs does not depend on that of the sides, so that a second run gives the same
output.

Several processes may read: each has a folder for its files. A block of a file has the
number of what was read then, so that the objects of a part are paired in the order of
the sides, whoever has read them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from struct import Struct
from typing import Any, Final, TypeAlias

import msgspec

from smp._values.codec import decode
from smp._values.values import same
from smp.cli._drift.records import DELETED, PARTS, Granule, Record, hash_of_key
from smp.cli._workers import by_size
from smp.errors import DocumentError, SmpError

_MOST_BYTES: Final = 16 << 20
# A part of more bytes is divided; so often at most, as what belongs together stays so.
_LARGEST: Final = 8 << 20
_DIVISIONS: Final = 3
# What a process gets at a time of those in memory.
_SHARE: Final = 1 << 20
# What a record takes beside its text.
_OVERHEAD: Final = 200
_PREFIX: Final = "smp-drift-"
# The number of a block, and its size as it is written and as it is.
_HEADER: Final = Struct(">3Q")
_AMBIGUOUS: Final = "several objects match without a namespace; set metadata.namespace"
_REPEATED: Final = "the same object comes again; the last one counts"


class ObjectPair(msgspec.Struct, frozen=True, array_like=True):
    """An object of both sides, or of one."""

    desired: Record | None
    live: Record | None

    @property
    def record(self) -> Record:
        """The one that names the object: that with a namespace."""
        found = [side for side in (self.desired, self.live) if side is not None]
        return next((side for side in found if side.namespace), found[0])

    @property
    def last_applied(self) -> bytes | None:
        """The last-applied configuration of a row of Parquet, on either side."""
        sides = [side for side in (self.live, self.desired) if side is not None]
        texts = [side.last_applied for side in sides]
        return next((text for text in texts if text is not None), None)

    @property
    def error(self) -> str:
        """Why a side is not known; "" where both are."""
        errors = [side.error for side in (self.live, self.desired) if side is not None]
        return next(filter(None, errors), "")

    def size_of(self) -> int:
        """Return how many bytes of JSON both sides have."""
        return sum(len(side.text) for side in (self.desired, self.live) if side)

    @property
    def order(self) -> tuple[str, ...]:
        """Where the pair is among others."""
        record = self.record
        group = record.api_version.rpartition("/")[0]
        return record.cluster, record.namespace, group, record.kind, record.name


class Skipped(msgspec.Struct, frozen=True, array_like=True):
    """An object that takes no part, and why."""

    place: str
    label: str
    reason: str
    granule: Granule

    @classmethod
    def of(cls, record: Record, reason: str) -> Skipped:
        """Return an object as one that takes no part."""
        return cls(record.place, record.label, reason, record.granule)


class JoinedPairs(msgspec.Struct):
    """The pairs of a part, and what takes no part.

    ``folded`` is how many events a later one has made obsolete.
    """

    pairs: list[ObjectPair]
    skipped: list[Skipped]
    folded: int = 0


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[tuple[bool, Record]]).decode
# An object, and whether it is of the desired side.
_Sided: TypeAlias = tuple[bool, Record]
# The objects of a side by their keys, and by their namespaces.
_ByKey: TypeAlias = dict[tuple[str, ...], dict[str, Record]]


class Parts:
    """The objects of both sides, by their parts. To be closed.

    ``folder`` is where the folder of the files is made; that of the system, if "".
    """

    def __init__(
        self,
        most_bytes: int = _MOST_BYTES,
        largest: int = _LARGEST,
        *,
        folder: str = "",
        divisions: int = 0,
    ) -> None:
        self._most_bytes = most_bytes
        self._largest = largest
        self._above = folder
        # How often what comes here was divided before.
        self._divisions = divisions
        self._size = 0
        self._records: list[list[_Sided]] = [[] for _ in range(PARTS)]
        self._folder = ""
        # Where other processes write files of the same names.
        self._shared = ""
        self._elsewhere = 0
        # The place of what is added now among what all processes read.
        self.number: int = 0

    def add(self, record: Record, *, is_desired: bool) -> None:
        """Add an object of a side."""
        # Each division looks at other bits of the hash.
        number = (hash_of_key(record.key) >> (8 * self._divisions)) % PARTS
        self._records[number].append((is_desired, record))
        self._size += len(record.text) + _OVERHEAD
        if self._size > self._most_bytes:
            self.write()

    def share(self) -> str:
        """Return a folder in which other processes make theirs."""
        if not self._shared:
            self._shared = tempfile.mkdtemp(prefix=_PREFIX, dir=self._above or None)
        return self._shared

    def expect(self, count: int, size: int) -> None:
        """Count objects, of some bytes, that another process has written."""
        self._elsewhere += size + count * _OVERHEAD

    def finished(self) -> Iterator[PairedPart]:
        """Yield the parts when all objects are added.

        Where all are small, they are paired here, and divided in the order of all.
        """
        if self._folder or self._elsewhere > self._most_bytes:
            self.write()
            for number in range(PARTS):
                yield from self._divided(number)
            return
        # So few are sorted as one, which is what a reader expects.
        here = [each for part in self._records for each in part]
        for number in range(PARTS) if self._elsewhere else ():
            here += _read(self._files(number))
        joined = pair(here)
        rest = JoinedPairs([], joined.skipped, joined.folded)
        for pairs in by_size(joined.pairs, ObjectPair.size_of, _SHARE):
            rest.pairs = pairs
            yield PairedPart(whole=rest)
            rest = JoinedPairs([], [])
        if rest.skipped or rest.folded:
            yield PairedPart(whole=rest)

    def close(self) -> None:
        """Remove the files."""
        for folder in (self._folder, self._shared):
            if folder:
                shutil.rmtree(folder, ignore_errors=True)

    def _divided(self, number: int) -> Iterator[PairedPart]:
        """Yield a part; if it is too large, the parts of it."""
        files = self._files(number)
        size = sum(block.size for block in _blocks_of(files))
        if not size:
            return
        if size <= self._largest or self._divisions == _DIVISIONS:
            yield PairedPart(files=files)
            return
        # Its files are read by other processes, so they stay until all is done.
        parts = Parts(
            self._largest,
            self._largest,
            folder=self._shared or self._folder,
            divisions=self._divisions + 1,
        )
        for is_desired, record in _read(files):
            parts.add(record, is_desired=is_desired)
        for file in files:
            os.unlink(file)  # noqa: PTH108  # without pathlib
        yield from parts.finished()

    def write(self) -> None:
        """Append what was collected to the files. Raises DocumentError."""
        try:
            self._write()
        except OSError as error:
            raise DocumentError(
                f"cannot write what was read: {error.strerror or error}",
                code="unwritable",
                source=self._folder or self._above or tempfile.gettempdir(),
                hint="TMPDIR is the folder for large inputs; it needs more room",
            ) from None

    def _write(self) -> None:
        import pyarrow as pa  # noqa: PLC0415  # only large inputs need it

        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix=_PREFIX, dir=self._above or None)
        for part, records in enumerate(self._records):
            if not records:
                continue
            # JSON of one cluster is much alike: it takes a tenth of its size.
            data = _encode(records)
            packed = pa.compress(data, codec="zstd", asbytes=True)
            with open(os.path.join(self._folder, f"{part:03}"), "ab") as file:  # noqa: PTH118, PTH123  # without pathlib
                file.write(_HEADER.pack(self.number, len(packed), len(data)))
                file.write(packed)
            records.clear()
        self._size = 0

    def _files(self, number: int) -> list[str]:
        """Return the files of a part, by whatever process they were written."""
        folders = [self._folder] if self._folder else []
        if self._shared:
            folders += [entry.path for entry in os.scandir(self._shared)]
        files = [os.path.join(folder, f"{number:03}") for folder in folders]  # noqa: PTH118  # as above
        return [file for file in files if os.path.exists(file)]  # noqa: PTH110  # as above


class PairedPart(msgspec.Struct, frozen=True):
    """Some objects of both sides, with all that may be pairs.

    They are in files, or already paired.
    """

    files: list[str] = []
    whole: JoinedPairs | None = None

    def joined(self) -> JoinedPairs:
        """Pair the objects."""
        if self.whole is not None:
            return self.whole
        return pair(_read(self.files))


class _Block(msgspec.Struct, frozen=True):
    number: int
    file: str
    offset: int
    packed: int
    size: int


def _blocks_of(files: Iterable[str]) -> list[_Block]:
    """Return the blocks of files in the order in which the sides have them."""
    found: list[_Block] = []
    for name in files:
        with open(name, "rb") as file:  # noqa: PTH123  # without pathlib
            while header := file.read(_HEADER.size):
                number, packed, size = _HEADER.unpack(header)
                found.append(_Block(number, name, file.tell(), packed, size))
                file.seek(packed, os.SEEK_CUR)
    # What one process wrote of one number is in its order.
    return sorted(found, key=lambda block: block.number)


def _read(files: Iterable[str]) -> Iterator[_Sided]:
    import pyarrow as pa  # noqa: PLC0415  # an extra

    for block in _blocks_of(files):
        with open(block.file, "rb") as file:  # noqa: PTH123  # without pathlib
            file.seek(block.offset)
            packed = file.read(block.packed)
        data: Any = pa.decompress(packed, block.size, codec="zstd", asbytes=True)
        yield from _decode(data)


def pair(records: Iterable[_Sided]) -> JoinedPairs:
    """Pair objects by cluster, group, kind and name, and by namespace.

    A manifest may leave the namespace to the context of kubectl: then it is that of the
    only live object that no other manifest is about. Of several manifests of one object
    the last one counts, as where all are applied; of several events of one the latest.
    Which of several other live objects counts nobody knows.
    """
    skipped: list[Skipped] = []
    folded = 0
    sides: tuple[_ByKey, _ByKey] = ({}, {})
    for is_desired, record in records:
        by_namespace = sides[not is_desired].setdefault(record.key, {})
        former = by_namespace.get(record.namespace)
        found = record
        if former is not None and (former.event or record.event):
            folded += 1
            found = _later(former, record)
        elif former is not None:
            skipped.append(Skipped.of(former, _REPEATED))
            if not is_desired:
                found = _of_both(former, record)
        by_namespace[record.namespace] = found
    desired_side, live_side = sides
    for there in live_side.values():
        for namespace, record in [*there.items()]:
            if record.event == DELETED:
                folded += 1
                del there[namespace]
    pairs = _match(desired_side, live_side, skipped)
    # The order of the sides must not matter to a second run.
    pairs.sort(key=lambda pair: pair.order)
    return JoinedPairs(pairs, skipped, folded)


def _match(
    desired_side: _ByKey, live_side: _ByKey, skipped: list[Skipped]
) -> list[ObjectPair]:
    """Return the pairs of both sides, which are used up; add what may be of several."""
    pairs: list[ObjectPair] = []
    for key, wanted in desired_side.items():
        there = live_side.pop(key, {})
        unmatched: list[Record] = []
        for namespace, record in wanted.items():
            live = there.pop(namespace, None)
            if live is None:
                unmatched.append(record)
            else:
                pairs.append(ObjectPair(record, live))
        for record in unmatched:
            # What one of them leaves out may be anything.
            possible = [name for name in there if not record.namespace or not name]
            if len(possible) > 1:
                skipped.append(Skipped.of(record, _AMBIGUOUS))
                continue
            pairs.append(
                ObjectPair(record, there.pop(possible[0]) if possible else None)
            )
        pairs += [ObjectPair(None, record) for record in there.values()]
    # No manifest is about these.
    for there in live_side.values():
        pairs += [ObjectPair(None, record) for record in there.values()]
    return pairs


def _later(former: Record, record: Record) -> Record:
    """Return what came last, by resource versions, which are numbers (KEP-5504)."""
    if record.version == former.version:
        # A list may have what the watch that goes on from it begins with.
        return former if record.event != DELETED else record
    return record if record.version > former.version else former


def _of_both(former: Record, record: Record) -> Record:
    """Return a live object that came twice, unknown where the contents differ."""
    if former.error or record.error:
        return former if former.error else record
    if former.text == record.text:
        return record
    with suppress(SmpError):
        if same(decode(former.text), decode(record.text)):
            return record
    error = f"{former.place} and {record.place} have it with other content"
    return msgspec.structs.replace(record, error=error)
