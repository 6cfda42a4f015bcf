"""Which documents of a file are known, so that nobody parses them again.

Theory of operation. What a large file has is kept from run to run as a table: of each
document, in their order, a hash of its text, and the granule of the object that it is.
A file that has changed is cut into documents once more, and only those with a text that
the table does not have are parsed. Where the table is that of the file as it is, the
places of documents say which are of the granules that are asked for.

A Parquet file has rows in the place of documents, and its row groups are known, too: a
group that is stored as it was is not decoded.

A document that is not one object alone, that was named as a problem or skipped, or that
is an event of a watch, has no granule in the table, and is parsed each time.
"""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cached_property
from hashlib import blake2b
from typing import Final, TypeAlias
from urllib.parse import quote

import msgspec

from smp.cli._drift.records import FilePart, Granule, Record
from smp.documents import Chunk

_HASH: Final = 8
# The number of the granule of a document that has none.
_UNKNOWN: Final = (1 << 32) - 1
# A file of fewer documents is read as a whole: it has no table.
FEWEST: Final = 16
# The sums of the objects of a file by cluster and part.
Sums: TypeAlias = dict[str, dict[int, int]]
_MASK: Final = (1 << 64) - 1
_encode: Final = msgspec.msgpack.Encoder().encode


def add_to_sums(sums: Sums, granule: Granule, value: int) -> None:
    """Add the hash of an object, or of several."""
    cluster, part = granule
    parts = sums.setdefault(cluster, {})
    parts[part] = (parts.get(part, 0) + value) & _MASK


class PackedTable(msgspec.Struct):
    """A table as it is kept."""

    texts: bytes
    objects: bytes
    granules: bytes
    lines: bytes
    names: list[Granule]
    blocks: list[tuple[bytes, int, int]] = []


_decode: Final = msgspec.msgpack.Decoder(PackedTable).decode


class DocumentTable:
    """The documents of a file: hashes of text and object, granule, and first line."""

    def __init__(self) -> None:
        self.texts: array[int] = array("Q")
        self.objects: array[int] = array("Q")
        self.granules: array[int] = array("I")
        self.lines: array[int] = array("I")
        self.names: list[Granule] = []
        # Where documents begin that are stored together, by their hash and number.
        self.blocks: dict[tuple[bytes, int], int] = {}
        self._numbers: dict[Granule, int] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def pack(self) -> PackedTable:
        """Return what is kept."""
        return PackedTable(
            self.texts.tobytes(),
            self.objects.tobytes(),
            self.granules.tobytes(),
            self.lines.tobytes(),
            self.names,
            [(*block, start) for block, start in self.blocks.items()],
        )

    @classmethod
    def unpack(cls, packed: PackedTable) -> DocumentTable:
        """Return a table that was kept. Raises ValueError for something else."""
        table = cls()
        table.texts.frombytes(packed.texts)
        table.objects.frombytes(packed.objects)
        table.granules.frombytes(packed.granules)
        table.lines.frombytes(packed.lines)
        columns = (table.objects, table.granules, table.lines)
        if any(len(column) != len(table) for column in columns):
            raise ValueError("the columns of a table have other lengths")
        table.names = packed.names
        for digest, count, start in packed.blocks:
            if not 0 <= start <= len(table) - count:
                raise ValueError("a block of a table is not in it")
            table.blocks[digest, count] = start
        return table

    def add(self, text: int, line: int, record: Record | None) -> None:
        """Add a document; without a record one that has to be parsed each time."""
        number, of_object = _UNKNOWN, 0
        if record is not None:
            number, of_object = self._number(record.granule), hash_of(record)
        self._append(text, of_object, number, line)

    def add_known(self, other: DocumentTable, place: int, line: int) -> None:
        """Add a document of another table."""
        number = other.granules[place]
        if number != _UNKNOWN:
            number = self._number(other.names[number])
        self._append(other.texts[place], other.objects[place], number, line)

    def merge(self, other: DocumentTable) -> None:
        """Add a later part of the file."""
        for place, line in enumerate(other.lines):
            self.add_known(other, place, line)

    def _number(self, granule: Granule) -> int:
        number = self._numbers.get(granule)
        if number is None:
            number = self._numbers[granule] = len(self.names)
            self.names.append(granule)
        return number

    def _append(self, text: int, of_object: int, number: int, line: int) -> None:
        self.texts.append(text)
        self.objects.append(of_object)
        self.granules.append(number)
        self.lines.append(line)

    def granule(self, place: int) -> Granule | None:
        """Return the granule of a document; None where it has to be parsed."""
        number = self.granules[place]
        return None if number == _UNKNOWN else self.names[number]

    def find(self, text: int, place: int) -> int | None:
        """Return where a text is, which is likely at a place; None where it is not."""
        if place < len(self.texts) and self.texts[place] == text:
            return place
        texts, places = self._sorted
        found = bisect_left(texts, text)
        if found < len(texts) and texts[found] == text:
            return places[found]
        return None

    @cached_property
    def _sorted(self) -> tuple[array[int], array[int]]:
        """The texts in their order, and where they are."""
        order = sorted(range(len(self)), key=self.texts.__getitem__)
        return array("Q", map(self.texts.__getitem__, order)), array("I", order)

    def line_in(self, other: DocumentTable, line: int) -> int | None:
        """Return the line that another table has for the document at a line.

        None where that is not one, or not there any more.
        """
        first = bisect_left(self.lines, line)
        if bisect_right(self.lines, line) - first != 1:
            return None
        place = other.find(self.texts[first], first)
        return None if place is None else other.lines[place]


class DocumentLog:
    """The documents of a part of a file while they are read.

    ``former`` is a table of the file: as it is where the part is current, or as it was.
    Only objects of the granules ``wanted`` are asked for; of all, if None. ``table`` is
    the one of what is read, None where nobody asks for it.
    """

    def __init__(
        self,
        former: DocumentTable | None,
        wanted: frozenset[Granule] | None,
        part: FilePart,
        *,
        has_table: bool,
    ) -> None:
        self._former = None if wanted is None else former
        self._wanted = wanted or frozenset()
        self._is_current = part.is_current
        self.table: DocumentTable | None = DocumentTable() if has_table else None
        # Where the next document is in the former table, as far as nothing has changed.
        self._next = 0
        if self._former is not None and part.line > 1:
            self._next = bisect_left(self._former.lines, part.line)
        self._size = 0 if self._former is None else len(self._former)
        self._text = 0
        # What is known of the documents that are not parsed: the sums of a file that is
        # as it was are known, too.
        self.count: int = 0
        self.sums: Sums = {}

    def skip(self, chunk: Chunk) -> Granule | None:
        """Return the granule of a document that need not be parsed; None for others."""
        former, place = self._former, self._next
        if former is None or not self._is_current:
            if former is None and self.table is None:
                return None
            self._text = _hash_of_text(chunk)
        self._next += 1
        if former is None:
            return None
        if not self._is_current:
            found = former.find(self._text, place)
            if found is None:
                # One has come; or it was replaced, and the next one is found by search.
                self._next = place
                return None
            place, self._next = found, found + 1
        granule = former.granule(place) if place < self._size else None
        if granule is None or granule in self._wanted:
            return None
        self.count += 1
        if not self._is_current:
            add_to_sums(self.sums, granule, former.objects[place])
        if self.table is not None:
            self.table.add_known(former, place, chunk.line)
        return granule

    def skip_many(self, count: int) -> set[str] | None:
        """Skip documents of a file that is as it was, where nobody asks for one.

        Returns their clusters, and None where some of them have to be parsed.
        """
        if self._former is None or not self._is_current:
            return None
        return self._skip_from(self._former, self._next, count)

    def skip_same(
        self, digest: Callable[[], bytes], count: int, line: int
    ) -> set[str] | None:
        """Skip documents that are stored together as they were; see skip_many.

        ``line`` is that of the first one.
        """
        if self.table is None:
            return None
        block = digest(), count
        self.table.blocks[block] = len(self.table)
        former = self._former
        start = None if former is None else former.blocks.get(block)
        if former is None or start is None:
            return None
        clusters = self._skip_from(former, start, count)
        if clusters is not None:
            for number in range(count):
                place = start + number
                granule = former.names[former.granules[place]]
                add_to_sums(self.sums, granule, former.objects[place])
                self.table.add_known(former, place, line + number)
        return clusters

    def _skip_from(
        self, former: DocumentTable, start: int, count: int
    ) -> set[str] | None:
        numbers = {*former.granules[start : start + count]}
        if start + count > self._size or _UNKNOWN in numbers:
            return None
        granules = {former.names[number] for number in numbers}
        if not self._wanted.isdisjoint(granules):
            return None
        self._next = start + count
        self.count += count
        return {cluster for cluster, _part in granules}

    def add(self, chunk: Chunk, record: Record | None) -> None:
        """Remember a document that was parsed, and the object that it is alone."""
        if self.table is not None:
            self.table.add(self._text, chunk.line, record)


def _hash_of_text(chunk: Chunk) -> int:
    """Return a hash of a document and of what it takes from the list it stands in."""
    hashed = blake2b(chunk.data, digest_size=_HASH)
    if chunk.list_of is not None:
        hashed.update(_encode(chunk.list_of))
    return int.from_bytes(hashed.digest())


def hash_of(record: Record) -> int:
    """Return a hash of an object and of all that is known of it, but for its place."""
    facts = (*record.head, record.text, record.last_applied, record.error, record.event)
    return int.from_bytes(blake2b(_encode(facts), digest_size=_HASH).digest())


def find_table(path: str, run: int, key: tuple[bool, str]) -> DocumentTable | None:
    """Return the table of a file that a run has kept; any process may read it.

    None where there is none that can be read: then the file is read as a whole.
    """
    query = "SELECT content FROM documents WHERE run = ? AND desired = ? AND path = ?"
    with suppress(sqlite3.Error, msgspec.MsgspecError, ValueError):
        with closing(read_only(path)) as file:
            found = file.execute(query, (run, *key)).fetchone()
        if found is not None:
            return DocumentTable.unpack(_decode(found[0]))
    return None


def read_only(path: str) -> sqlite3.Connection:
    """Open the file of a state to read it."""
    return sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
