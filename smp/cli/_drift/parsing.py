"""The objects of a file of ``smp drift``, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Any, Final

import msgspec

from smp._values.codec import decode, encode
from smp._values.values import ABSENT, JSON, as_object, as_text
from smp.cli._drift.documents import DocumentLog
from smp.cli._drift.files import DamagedFileError, is_compressed, is_url, plain_name
from smp.cli._drift.gaps import ReadingGaps
from smp.cli._drift.parquet import ParquetBatch, ParquetRows, ParquetTable
from smp.cli._drift.records import DELETED, FilePart, Record, SideFile, number_of
from smp.cli._errors import CommandFailure
from smp.cli._identity import ObjectIdentity, identity_at_a_glance, identity_of
from smp.cli._inputs import (
    FOR_ANOTHER_TOOL,
    NOT_AN_OBJECT,
    STDIN,
    Inputs,
    Lines,
    explain,
    is_of_another_tool,
    name_of,
)
from smp.cli._objects import TextPart, is_object
from smp.documents import Chunk, Document, flatten_lists, parse
from smp.errors import DocumentError, SmpError, too_deep

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json", ".ndjson", ".jsonl", ".parquet"})
_LINES: Final = (".ndjson", ".jsonl")
_PARQUET: Final = ".parquet"
_EVENT: Final = {"type", "object"}
_EVENTS: Final = ("ADDED", "MODIFIED", DELETED)
_EMPTY: Final = "the file is empty; a list without objects has items: []"
_WITHOUT_END: Final = "a list of objects without a kind: its end is missing"
_A_PAGE: Final = "the list is one page, and more follows"
_NOT_JSON: Final = "not the JSON of an object"
WITHOUT_START: Final = (
    "the watch does not begin with what was there: put the list before its events"
)


class _Line(msgspec.Struct):
    """A line of NDJSON: an object, one with the cluster that it is in, or an event."""

    cluster: str = ""
    object: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    type: Any = msgspec.UNSET


_encode_row: Final = msgspec.msgpack.Encoder().encode
_decode_line: Final = msgspec.json.Decoder(_Line).decode


class RecordReader:
    """Reads the objects of a file, or of a part of it.

    What cannot be read, or is no object, is in ``problems`` and ``skipped`` of
    ``inputs``, and what may be lost with it in ``gaps``. ``listed`` are the clusters of
    which a list, or the beginning of a watch, was read, ``events`` those of watches.
    What ``log`` knows is not parsed.
    """

    def __init__(
        self,
        inputs: Inputs,
        gaps: ReadingGaps,
        part: FilePart,
        log: DocumentLog | None = None,
    ) -> None:
        self._inputs = inputs
        self._gaps = gaps
        self._part = part
        self._log = log
        self._has_some = False
        # How much was named as a problem, or skipped.
        self._told = 0
        self._is_desired = part.file.is_desired
        # Whether the file names clusters beside the one that its place says.
        line = _first_line(part.file.path) if part.start else None
        self._names_clusters = line is not None and bool(line.cluster)
        self.events = WatchEvents()
        self.listed: set[str] = set()

    def records(self) -> Iterator[Record]:
        """Yield the objects. Raises DocumentError for a side that cannot be read."""
        file = self._part.file
        try:
            for record in self._of_file(file.path, file.cluster):
                self._hear(record.cluster, is_listed=not record.event)
                self._has_some = True
                yield record
        except DocumentError as error:
            # A file that is named has to be there; of a directory the others are read.
            is_there = self._has_some or isinstance(error, DamagedFileError)
            if file.is_side and not is_there:
                raise
            self._fail(error, self._any_of(file.cluster))

    def _of_file(self, file: str, cluster: str) -> Iterator[Record]:
        name = plain_name(file)
        if name.endswith(_PARQUET):
            yield from self._of_parquet(file, cluster)
        elif name.endswith(_LINES) or file == STDIN:
            yield from self._of_lines(file, cluster)
        else:
            is_empty = True
            for chunk, is_regular in self._inputs.chunks_of(file):
                is_empty = False
                can_reread = is_regular and chunk.offset is not None
                found = self._of_chunk(chunk, cluster, can_reread=can_reread)
                yield from self._unknown(chunk, found)
            if is_empty:
                self._fail_as_empty(file, cluster)

    def _unknown(self, chunk: Chunk, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the objects of a document, unless it is known that nobody asks."""
        if self._log is None:
            yield from records
            return
        granule = self._log.skip(chunk)
        if granule is not None:
            self._hear_known(granule[0])
            return
        told, count, last = self._told, 0, None
        for record in records:
            count, last = count + 1, record
            yield record
        is_alone = last is not None and count == 1 and not last.event
        self._log.add(chunk, last if is_alone and told == self._told else None)

    def _hear_known(self, cluster: str) -> None:
        """Remember of which cluster an object is that is known."""
        self._has_some = True
        self._names_clusters |= cluster != self._part.file.cluster
        self._hear(cluster)

    def _hear(self, cluster: str, *, is_listed: bool = True) -> None:
        """Remember that something was read of a live cluster, which a list may be."""
        if not self._is_desired:
            self._gaps.heard.add(cluster)
            if is_listed:
                self.listed.add(cluster)

    def _fail_as_empty(self, file: str, cluster: str) -> None:
        """Remember a dump of nothing, which kubectl leaves where it fails."""
        if not self._is_desired:
            self._fail(incomplete(Document(None, file, 1), _EMPTY), cluster)

    def _fail(self, error: DocumentError, cluster: str, data: bytes = b"") -> None:
        """Remember what is wrong, and that objects of the cluster may be lost."""
        self._told += 1
        self._inputs.problems.append(CommandFailure(explain(error, data)))
        self._gaps.add(cluster, str(error), is_desired=self._is_desired)

    def _any_of(self, cluster: str) -> str:
        """Return the cluster of what is lost in a file; "" where it may be any."""
        return "" if self._names_clusters else cluster

    def _of_lines(self, file: str, cluster: str) -> Iterator[Record]:
        is_empty = True
        start, end = self._part.start, self._part.end
        lines = Lines(start, end, self._part.line) if end else None
        for chunk in self._inputs.lines_of(file, lines):
            is_empty = False
            yield from self._unknown(chunk, self._of_line(chunk, cluster))
        if is_empty:
            self._fail_as_empty(file, cluster)

    def _of_line(self, chunk: Chunk, cluster: str) -> Iterator[Record]:
        try:
            line = _decode_line(chunk.data)
        except RecursionError:
            self._fail(_located(too_deep("the line"), chunk), self._any_of(cluster))
            return
        except (msgspec.MsgspecError, UnicodeError) as error:
            if chunk.data.lstrip()[:1] == b"{":
                problem = DocumentError(f"not JSON: {error}", code="invalid-json")
                self._fail(_located(problem, chunk), self._any_of(cluster))
            else:
                # It is a document, or reading it as one says what is wrong.
                yield from self._of_chunk(chunk, cluster, can_reread=False)
            return
        # What the line says counts more than an option for all.
        of_line = line.cluster or cluster
        self._names_clusters = self._names_clusters or bool(line.cluster)
        if line.object is not msgspec.UNSET and line.type is msgspec.UNSET:
            data, offset = bytes(line.object), chunk.offset
            if offset is not None:
                # Mostly it is the last member, and then this is the fast direction.
                offset += chunk.data.rindex(data)
            chunk = Chunk(data, chunk.source, chunk.line, offset)
        can_reread = chunk.offset is not None
        yield from self._of_chunk(chunk, of_line, can_reread=can_reread)

    def _of_chunk(
        self, chunk: Chunk, cluster: str, *, can_reread: bool
    ) -> Iterator[Record]:
        identity = None
        # JSON stays as it is: to decode and print it takes longer than to compare it.
        if chunk.list_of is None and chunk.data.lstrip()[:1] == b"{":
            identity = identity_at_a_glance(chunk.data)
        if identity is not None:
            document = Document(None, chunk.source, chunk.line)
            text = chunk.data.strip()
            part = TextPart.of(chunk, 0) if can_reread else None
            yield from self._of_object(identity, text, document, cluster, part)
            return
        try:
            # What a list says of itself counts, too.
            documents = parse(chunk, keeps_lists=True)
        except SmpError as error:
            self._fail(_located(error, chunk), cluster, chunk.data)
            return
        if chunk.data.strip() == b"null":
            # Empty documents are none; a dump that says null has lost something.
            document = Document(None, chunk.source, chunk.line)
            self._set_aside(document, NOT_AN_OBJECT, cluster)
        number = 0
        for document in documents:
            # An event of a watch is no object.
            members = as_object(document.value)
            is_event = members.keys() - {"cluster"} == _EVENT
            if is_event and isinstance(members["object"], dict):
                yield from self._of_event(document, cluster)
                continue
            for value in self._items_of(document, cluster):
                if is_object(value):
                    yield from self._of_object(
                        identity_of(as_object(value)),
                        encode(value),
                        document,
                        cluster,
                        TextPart.of(chunk, number) if can_reread else None,
                    )
                else:
                    self._set_aside(document, NOT_AN_OBJECT, cluster)
                number += 1

    def _items_of(self, document: Document, cluster: str) -> Iterator[JSON]:
        """Yield the objects of lists, and of lists in these, as kubectl does."""
        remaining = [document.value]
        while remaining:
            value = remaining.pop()
            self._look_at_list(value, document, cluster)
            items = flatten_lists(value)
            if len(items) == 1 and items[0] is value:
                yield value
            else:
                remaining += reversed(items)

    def _set_aside(self, document: Document, reason: str, cluster: str) -> None:
        """Remember what is no object.

        Beside manifests are the files of other tools. A dump has objects and nothing
        else, so what is none stands in the place of some that are lost.
        """
        if self._is_desired:
            self._skip(document, reason)
        else:
            self._fail(incomplete(document, reason), cluster)

    def _skip(self, document: Document, reason: str) -> None:
        self._told += 1
        self._inputs.skipped.append((document, reason))

    def _look_at_list(self, of_list: JSON, document: Document, cluster: str) -> None:
        """Remember what a list of objects says of itself: that it is not all."""
        value = as_object(of_list)
        # Go prints a list without items as null (encoding/json: a nil slice).
        has_items = isinstance(value.get("items", ABSENT), list | NoneType)
        if not has_items or "apiVersion" not in value:
            return
        if not as_text(value.get("kind")):
            # kubectl writes kind behind the items.
            self._fail(incomplete(document, _WITHOUT_END), cluster)
            return
        self._hear(cluster)
        # Go: metav1.ListMeta; a server that lists in pages sets both, or the first.
        metadata = as_object(value.get("metadata"))
        remaining = number_of(metadata.get("remainingItemCount"))
        if metadata.get("continue") or remaining:
            left = f", {remaining:,} objects" if remaining else ""
            self._fail(incomplete(document, f"{_A_PAGE}{left}"), cluster)

    def _of_event(self, document: Document, cluster: str) -> Iterator[Record]:
        """Yield the object of an event of a watch (Go: metav1.WatchEvent)."""
        event = as_object(document.value)
        value = as_object(event.get("object"))
        metadata = as_object(value.get("metadata"))
        type_ = event.get("type")
        if type_ == "BOOKMARK":
            # KEP-3157: all that was there has come by now.
            annotations = as_object(metadata.get("annotations"))
            if annotations.get("k8s.io/initial-events-end") == "true":
                self._gaps.heard.add(cluster)
                self.listed.add(cluster)
            return
        reason = ""
        identity = identity_of(value)
        if self._is_desired:
            reason = "an event of a watch is no manifest"
        elif type_ == "ERROR":
            reason = f"the watch ended: {value.get('message')}"
        elif type_ not in _EVENTS:
            reason = f"no event of a watch: {type_}"
        elif not identity.kind or not identity.name:
            reason = "the event has no object with kind and name"
        elif number_of(metadata.get("resourceVersion")) is None:
            reason = "the object of the event has no resourceVersion that is a number"
        if reason:
            self._fail(incomplete(document, reason), cluster)
            return
        self.events.add(cluster, as_text(type_), identity, document)
        text = encode(value)
        for record in self._of_object(identity, text, document, cluster, None):
            yield msgspec.structs.replace(record, event=as_text(type_))

    def _of_object(  # what is known of one object
        self,
        identity: ObjectIdentity,
        text: bytes,
        document: Document,
        cluster: str,
        part: TextPart | None,
    ) -> Iterator[Record]:
        if is_of_another_tool(identity):
            self._skip(document, FOR_ANOTHER_TOOL)
            return
        # Of a manifest the row says what is missing.
        has_kind = bool(identity.api_version and identity.kind)
        if not has_kind and not self._is_desired:
            self._set_aside(document, NOT_AN_OBJECT, cluster)
            return
        # A server makes a new object of it each time, so it has no partner.
        if not identity.name:
            reason = f"{identity.label}: it has no name"
            self._set_aside(document, reason, cluster)
            return
        yield Record(
            cluster,
            *identity.head,
            text,
            f"{document.source}:{document.line}",
            None,
            part,
        )

    def _of_parquet(self, file: str, cluster: str) -> Iterator[Record]:
        table, row = ParquetTable(file), 1
        self._names_clusters = "cluster" in table.columns
        for group in table.groups():
            if self._is_known(group, row):
                row += group.count
                continue
            for batch in group.batches():
                if not self._is_known(batch, row):
                    yield from self._of_batch(batch, cluster, row)
                row += batch.count

    def _is_known(self, rows: ParquetRows, row: int) -> bool:
        """Tell whether nobody asks for the next rows, which are skipped then."""
        if self._log is None:
            return False
        known = self._log.skip_many(rows.count)
        if known is None and rows.digest is not None:
            known = self._log.skip_same(rows.digest, rows.count, row)
        for name in known or ():
            self._hear_known(name)
        return known is not None

    def _of_batch(
        self, batch: ParquetBatch, cluster: str, row: int
    ) -> Iterator[Record]:
        file = self._part.file.path
        for number, values in enumerate(batch.rows(), row):
            found = self._of_row(values, cluster, Document(None, file, number))
            if self._log is not None:
                # What a row says beside its object counts, too.
                chunk = Chunk(_encode_row(values), file, number)
                found = self._unknown(chunk, found)
            yield from found

    def _of_row(
        self, values: dict[str, Any], cluster: str, place: Document
    ) -> Iterator[Record]:
        text, cluster = values["object"], values.get("cluster") or cluster
        # A table of both sides has a null where one of them has no object.
        if text is None:
            reason = "there is no object in the row"
            if values.get("name"):
                self._skip(place, reason)
            else:
                self._set_aside(place, reason, cluster)
            return
        record = _record_of_row(values, text, cluster, f"{place.source}:{place.line}")
        if record is not None:
            yield record
            return
        if _is_json(text):
            self._set_aside(place, NOT_AN_OBJECT, cluster)
        else:
            self._fail(incomplete(place, _NOT_JSON), cluster)


def _record_of_row(
    values: dict[str, Any], text: bytes, cluster: str, place: str
) -> Record | None:
    """Make a record of a row; its columns count more than what is in the object."""
    identity = identity_at_a_glance(text) or ObjectIdentity()
    version = values.get("version") or ""
    group = values.get("group")
    api_version = f"{group}/{version}" if group else version
    record = Record(
        cluster,
        api_version or identity.api_version,
        values.get("kind") or identity.kind,
        values.get("namespace") or identity.namespace,
        values.get("name") or identity.name,
        text,
        place,
        values.get("last_applied"),
    )
    return record if record.kind and record.name else None


def incomplete(place: Document, reason: str) -> DocumentError:
    """Return what is wrong with a document as an error."""
    return DocumentError(
        reason, code="incomplete", source=name_of(place.source), line=place.line
    )


def _located(error: SmpError, chunk: Chunk) -> DocumentError:
    if isinstance(error, DocumentError) and error.source:
        return error
    return DocumentError(
        error.problem, code=error.code, source=chunk.source, line=chunk.line
    )


def _is_json(text: bytes) -> bool:
    try:
        decode(text)
    except SmpError:
        return False
    return True


class WatchEvents(msgspec.Struct):
    """The events of one file: whether they begin with all that was there.

    A watch from now on says nothing of what does not change. One that begins with what
    is there has an event ADDED of each object before others (API concepts, "Get State
    and Start"). So a stream with a change of an object that it has not added has no
    beginning, unless it follows a list of the cluster.
    """

    added: set[tuple[str, ObjectIdentity]] = set()
    changed: dict[tuple[str, ObjectIdentity], tuple[str, int]] = {}

    def add(
        self, cluster: str, type_: str, identity: ObjectIdentity, place: Document
    ) -> None:
        """Add an event."""
        key = cluster, identity
        if type_ == "ADDED":
            self.added.add(key)
        else:
            self.changed.setdefault(key, (place.source, place.line))

    def merge(self, other: WatchEvents) -> None:
        """Add the events of a later part of the file."""
        self.added |= other.added
        self.changed = {**other.changed, **self.changed}

    def without_start(self) -> Iterator[tuple[str, str, int]]:
        """Yield each cluster whose events have no beginning, and the place."""
        found: set[str] = set()
        for (cluster, identity), place in self.changed.items():
            if (cluster, identity) not in self.added and cluster not in found:
                found.add(cluster)
                yield cluster, *place


def is_splittable(file: SideFile) -> bool:
    """Tell whether parts of a file can be read: one of lines, as it is on a disk."""
    path = file.path
    if is_url(path) or is_compressed(path) or not plain_name(path).endswith(_LINES):
        return False
    return _first_line(path) is not None


def _first_line(path: str) -> _Line | None:
    """Return the first line of a file of lines; None where it is something else."""
    try:
        with open(path, "rb") as stream:  # noqa: PTH123  # without pathlib
            return _decode_line(stream.readline())
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
