"""The objects of one side of ``smp drift``, one after the other, from any source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from smp.cli._errors import Failure, UsageError
from smp.cli._identity import ObjectIdentity, identity_at_a_glance, identity_of
from smp.cli._inputs import (
    FOR_ANOTHER_TOOL,
    NOT_AN_OBJECT,
    STDIN,
    Inputs,
    explained,
    is_of_another_tool,
    name_of,
)
from smp.cli._live import connect
from smp.cli._objects import is_object
from smp.codec import decode, encode
from smp.documents import Chunk, Document, flattened, parse
from smp.errors import DocumentError, SmpError
from smp.values import JSONObject, as_list, as_object

# A live cluster, and one of a context: cluster:CONTEXT.
CLUSTER: Final = "cluster"
_SUFFIXES: Final = frozenset(
    {".yaml", ".yml", ".json", ".ndjson", ".jsonl", ".parquet"}
)
_LINES: Final = (".ndjson", ".jsonl")
_PARQUET: Final = ".parquet"
# Rows of a Parquet file that are in memory at a time.
_ROWS: Final = 1024
_COLUMNS: Final = ("cluster", "group", "version", "kind", "namespace", "name")

# The file, offset, length, first line, list and index of a document: see RecordPart.
RecordPart: TypeAlias = tuple[str, int, int, int, tuple[str, str] | None, int]


class Record(msgspec.Struct, frozen=True, array_like=True):
    """An object of one side: what identifies it, its JSON, and where it was read."""

    cluster: str
    api_version: str
    kind: str
    namespace: str
    name: str
    text: bytes
    place: str
    last_applied: bytes | None = None
    part: RecordPart | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What two sides have in common, but for the namespace."""
        group, slash, _ = self.api_version.partition("/")
        return self.cluster, group if slash else "", self.kind, self.name

    @property
    def label(self) -> str:
        """The object for a reader."""
        own = ObjectIdentity(
            self.api_version, self.kind, self.namespace, self.name
        ).label
        return f"{self.cluster}: {own}" if self.cluster else own


class _Line(msgspec.Struct):
    """A line of NDJSON: an object, or one with the cluster that it is in."""

    cluster: str = ""
    object: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode_line: Final = msgspec.json.Decoder(_Line).decode


class RecordReader:
    """Reads the objects of one side.

    ``cluster`` is the cluster of objects that name none; with ``by_folder`` it is the
    folder of a directory that a file is in. What cannot be read, or is no object, is in
    ``problems`` and ``skipped`` of ``inputs``.
    """

    def __init__(self, inputs: Inputs, cluster: str, *, by_folder: bool) -> None:
        self._inputs = inputs
        self._cluster = cluster
        self._by_folder = by_folder
        self.count = 0

    def records(self, path: str) -> Iterator[Record]:
        """Yield the objects of a file, a directory or standard input.

        Raises DocumentError for a path that cannot be read.
        """
        for record in self._records(path):
            self.count += 1
            yield record

    def _records(self, path: str) -> Iterator[Record]:
        # In the order of the names, so that a second run reads the same.
        for file in self._inputs.files(path, _SUFFIXES):
            cluster = self._cluster
            if self._by_folder and file != path:
                folder, *below = Path(file).relative_to(path).parts
                cluster = folder if below else cluster
            if file.endswith(_PARQUET):
                yield from self._of_parquet(file, cluster)
            elif file.endswith(_LINES) or file == STDIN:
                yield from self._of_lines(file, cluster)
            else:
                for chunk, is_regular in self._inputs.chunks_of(file):
                    can_reread = is_regular and chunk.offset is not None
                    yield from self._of_chunk(chunk, cluster, can_reread=can_reread)

    def _of_lines(self, file: str, cluster: str) -> Iterator[Record]:
        """Yield the objects of NDJSON; of any other text on standard input, too."""
        for chunk in self._inputs.lines_of(file):
            try:
                line = _decode_line(chunk.data)
            except (msgspec.MsgspecError, UnicodeError) as error:
                if chunk.data.lstrip()[:1] == b"{":
                    problem = DocumentError(
                        f"not JSON: {error}",
                        code="invalid-json",
                        source=chunk.source,
                        line=chunk.line,
                    )
                    self._inputs.problems.append(Failure(problem))
                else:
                    # It is a document, or reading it as one says what is wrong.
                    yield from self._of_chunk(chunk, cluster, can_reread=False)
                continue
            # What the line says counts more than an option for all.
            of_line = line.cluster or cluster
            data = chunk.data
            if line.object is not msgspec.UNSET:
                data = bytes(line.object)
            part = Chunk(data, chunk.source, chunk.line)
            yield from self._of_chunk(part, of_line, can_reread=False)

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
            yield from self._of_object(identity, text, document, cluster, chunk, 0)
            return
        try:
            documents = parse(chunk)
        except DocumentError as error:
            self._inputs.problems.append(Failure(explained(error, chunk.data)))
            return
        number = 0
        # kubectl replaces a list of objects by its items.
        for document in documents:
            for value in flattened(document.value):
                if is_object(Document(value, chunk.source, document.line)):
                    yield from self._of_object(
                        identity_of(as_object(value)),
                        encode(value),
                        document,
                        cluster,
                        chunk if can_reread else None,
                        number,
                    )
                else:
                    self._inputs.skipped.append((document, NOT_AN_OBJECT))
                number += 1

    def _of_object(  # what is known of one object
        self,
        identity: ObjectIdentity,
        text: bytes,
        document: Document,
        cluster: str,
        chunk: Chunk | None,
        index: int,
    ) -> Iterator[Record]:
        if is_of_another_tool(identity):
            self._inputs.skipped.append((document, FOR_ANOTHER_TOOL))
            return
        # A server makes a new object of it each time, so it has no partner.
        if not identity.name:
            reason = f"{identity.label}: it has no name"
            self._inputs.skipped.append((document, reason))
            return
        part: RecordPart | None = None
        if chunk is not None:
            offset = chunk.offset or 0
            length = len(chunk.data)
            part = chunk.source, offset, length, chunk.line, chunk.list_of, index
        yield Record(
            cluster,
            identity.api_version,
            identity.kind,
            identity.namespace,
            identity.name,
            text,
            f"{document.source}:{document.line}",
            None,
            part,
        )

    def _of_parquet(self, file: str, cluster: str) -> Iterator[Record]:
        """Yield the rows of a file with a column of JSON, and what identifies them."""
        parquet = _parquet_file(file)
        names = set(parquet.schema_arrow.names)
        of_json = [name for name in ("object", "desired", "live") if name in names]
        if len(of_json) != 1:
            raise DocumentError(
                "a Parquet file has one column of objects: object, desired or live",
                code="invalid-columns",
                source=file,
            )
        columns = [name for name in (*_COLUMNS, "last_applied") if name in names]
        row = 0
        # A file is read in parts, however large its row groups are.
        for batch in parquet.iter_batches(_ROWS, columns=[*of_json, *columns]):
            for values in batch.to_pylist():
                row += 1
                place = Document(None, file, row)
                text = _bytes(values[of_json[0]])
                if text is None:
                    self._inputs.skipped.append(
                        (place, "there is no object in the row")
                    )
                    continue
                record = _record_of_row(values, text, cluster, f"{file}:{row}")
                if record is None:
                    self._inputs.skipped.append((place, NOT_AN_OBJECT))
                else:
                    yield record


def _record_of_row(
    values: dict[str, Any], text: bytes, cluster: str, place: str
) -> Record | None:
    """Make a record of a row; its columns count more than what is in the object."""
    identity = identity_at_a_glance(text) or ObjectIdentity()
    version = values.get("version") or ""
    group = values.get("group")
    api_version = f"{group}/{version}" if group else version
    record = Record(
        values.get("cluster") or cluster,
        api_version or identity.api_version,
        values.get("kind") or identity.kind,
        values.get("namespace") or identity.namespace,
        values.get("name") or identity.name,
        text,
        place,
        _bytes(values.get("last_applied")),
    )
    return record if record.kind and record.name else None


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _parquet_file(file: str) -> Any:
    import pyarrow as pa  # noqa: PLC0415  # an extra
    import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

    try:
        # It would keep what was read until the file is closed.
        return pq.ParquetFile(file, pre_buffer=False)
    except (OSError, pa.ArrowException) as error:
        raise DocumentError(
            f"cannot read the file: {error}", code="unreadable", source=name_of(file)
        ) from None


def is_cluster(path: str) -> bool:
    """Tell whether a side is a live cluster."""
    return path == CLUSTER or path.startswith(f"{CLUSTER}:")


class LiveCluster:
    """The live objects of a cluster: those of manifests, and others of their kinds."""

    def __init__(self, path: str, inputs: Inputs) -> None:
        self._path = path
        self._inputs = inputs
        self._cluster = connect(path.partition(":")[2] or None)
        # What extra objects are looked for among, and what is not extra.
        self._kinds: dict[tuple[str, str, str], str] = {}
        self._found: set[tuple[str, str, str, str, str]] = set()
        # The manifests of which it is not known whether there is a live object.
        self.unknown: list[Record] = []

    def of(self, desired: list[Record]) -> Iterator[Record]:
        """Read the live objects of manifests, as kubectl would find them.

        What cannot be read is a problem, and its manifest is in ``unknown``.
        """
        self.unknown.clear()
        manifests = [as_object(decode(record.text)) for record in desired]
        found: list[JSONObject | None] = []
        try:
            found = self._cluster.get_all(manifests)
        except SmpError:
            # One of them is of a kind that the cluster does not have, for example.
            for record, manifest in zip(desired, manifests, strict=True):
                try:
                    found.append(self._cluster.get(manifest))
                except SmpError as error:
                    found.append(None)
                    failure = Failure(error, None, record.label)
                    self._inputs.problems.append(failure)
                    self.unknown.append(record)
        for record, live in zip(desired, found, strict=True):
            _cluster, group, kind, _name = record.key
            # A manifest without a namespace is for that of the context.
            namespace = record.namespace or self._cluster.namespace
            self._kinds[group, kind, namespace] = record.cluster
            if live is not None:
                record_of_live = self._record(live, record.cluster)
                self._found.add((*record_of_live.key, record_of_live.namespace))
                yield record_of_live

    def others(self) -> Iterator[Record]:
        """List the kinds and namespaces of the manifests: what no manifest is about.

        What a controller made has no manifest, and is skipped.
        """
        for (group, kind, namespace), cluster in self._kinds.items():
            name = f"{kind.lower()}.{group}" if group else kind.lower()
            try:
                listed = self._cluster.list_objects(name, namespace=namespace)
            except SmpError as error:
                failure = Failure(error, None, f"list of {name} in {namespace}")
                self._inputs.problems.append(failure)
                continue
            for live in listed:
                record = self._record(live, cluster)
                key = (*record.key, record.namespace)
                if key in self._found:
                    continue
                # Those of the whole cluster are listed for each namespace.
                self._found.add(key)
                owners = as_object(live.get("metadata")).get("ownerReferences")
                # Go: metav1.GetControllerOf.
                if any(as_object(o).get("controller") is True for o in as_list(owners)):
                    document = Document(None, self._path, 0)
                    reason = f"{record.label}: a controller made it"
                    self._inputs.skipped.append((document, reason))
                    continue
                yield record

    def _record(self, live: JSONObject, cluster: str) -> Record:
        identity = identity_of(live)
        return Record(
            cluster,
            identity.api_version,
            identity.kind,
            identity.namespace,
            identity.name,
            encode(live),
            self._path,
        )


def require_sides(desired: str, live: str) -> None:
    """Raise UsageError for two sides that cannot be read together."""
    if is_cluster(desired):
        raise UsageError("'--desired' is what a cluster should have: files, or -")
    if desired == live == STDIN:
        raise UsageError("only one of '--desired' and '--live' can be -")
