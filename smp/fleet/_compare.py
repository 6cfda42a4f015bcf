"""The comparison of a batch: equality of bytes in Arrow, the rest row by row."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from smp.comparison import NO_RULES, Rules
from smp.errors import SmpError, listing
from smp.fleet._rows import SAME, Outcome, Rows
from smp.schema.catalog import Catalog, kubernetes

IDENTITY: Final = ("cluster", "group", "version", "kind", "namespace", "name")
INPUT_COLUMNS: Final = (*IDENTITY, "desired", "live", "last_applied")
_OPTIONAL: Final = "last_applied"
# What a column of texts may be.
_TEXTS: Final = (
    *(pa.types.is_null, pa.types.is_string, pa.types.is_large_string),
    *(pa.types.is_string_view, pa.types.is_binary, pa.types.is_large_binary),
    pa.types.is_binary_view,
)

OUTPUT_SCHEMA: Final = pa.schema(
    [
        *[pa.field(name, pa.string()) for name in IDENTITY],
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("paths", pa.list_(pa.string()), nullable=False),
        pa.field("causes", pa.list_(pa.string()), nullable=False),
        pa.field("patch", pa.string()),
        pa.field("heals", pa.bool_()),
        pa.field("managers", pa.list_(pa.string()), nullable=False),
        pa.field("error", pa.string()),
        pa.field("refusals", pa.list_(pa.string()), nullable=False),
    ]
)


def require_columns(batch: pa.RecordBatch) -> None:
    """Raise SmpError (missing-column) for a batch that lacks a column."""
    names = set(batch.schema.names)
    missing = [
        name for name in INPUT_COLUMNS if name not in names and name != _OPTIONAL
    ]
    if missing:
        raise SmpError(
            f"the batch has no column {missing[0]!r}",
            code="missing-column",
            hint=listing("the columns are", INPUT_COLUMNS),
        )


def text_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return a column of an identity as strings. Raises SmpError (invalid-column)."""
    return _cast(batch, name, pa.string())


def json_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return a column of JSON as binary, nulls for one that is left out.

    Raises SmpError (invalid-column).
    """
    if name not in batch.schema.names:
        return pa.nulls(batch.num_rows, pa.large_binary())
    return _cast(batch, name, pa.large_binary())


def _cast(batch: pa.RecordBatch, name: str, type_: pa.DataType) -> pa.Array:
    column: Any = batch.column(name)
    # The type of JSON columns in Arrow is an extension of string.
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not any(is_text(column.type) for is_text in _TEXTS):
        raise SmpError(
            f"the column {name!r} is of type {column.type}",
            code="invalid-column",
            hint="string or binary, also large, views and dictionaries of them",
        )
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), type_)
    # There is no direct way from a view of one to the other.
    if pa.types.is_string_view(column.type):
        column = pc.cast(column, pa.large_string())
    elif pa.types.is_binary_view(column.type):
        column = pc.cast(column, pa.large_binary())
    try:
        return pc.cast(column, type_)
    except pa.ArrowInvalid as error:
        raise SmpError(
            f"the column {name!r} is not text: {error}", code="invalid-column"
        ) from None


def by_bytes(
    batches: Iterable[pa.RecordBatch], size: int = 8 << 20
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of batches in batches of about some bytes, in their order.

    Objects are of very different sizes, so that a number of rows says little about the
    memory that they take. No row is divided, and there is no empty batch.
    """
    for batch in batches:
        rows = batch.num_rows
        if not rows:
            continue
        parts = max(1, -(-batch.nbytes // size))
        step = max(1, -(-rows // parts))
        for start in range(0, rows, step):
            yield batch.slice(start, step)


# Most processes use one catalog and one set of rules.
_recent: Final[deque[Rows]] = deque(maxlen=8)


def compare(
    batch: pa.RecordBatch,
    *,
    catalog: Catalog | None = None,
    rules: Rules = NO_RULES,
    show_secrets: bool = False,
    additions: bool = False,
) -> pa.RecordBatch:
    """Compare the pairs of objects of a batch, and return a row for each, in order.

    The columns are ``cluster``, ``group``, ``version``, ``kind``, ``namespace``,
    ``name``, ``desired``, ``live`` and, if it is there, ``last_applied``; the last
    three are JSON, null where there is no such object. Without a last-applied
    configuration that of live's annotation counts. The result has the columns of
    OUTPUT_SCHEMA; see Outcome. A row that cannot be read is "unreadable" and leaves the
    others alone. ``catalog`` is by default the newest bundled Kubernetes; a kind that
    it does not have is compared by RFC 7396. The values of Secrets are masked in
    patches, unless ``show_secrets``. With ``additions`` an object that is the same but
    for fields that no manifest has, and that a manager has set who neither applies
    manifests nor is a part of Kubernetes, is "extra-fields". Raises SmpError for a
    batch without these columns.
    """
    require_columns(batch)
    known = kubernetes() if catalog is None else catalog
    rows = _rows_for(known, rules, show_secrets=show_secrets, additions=additions)
    columns = [text_column(batch, name) for name in IDENTITY]
    desired, live = json_column(batch, "desired"), json_column(batch, "live")
    # Rows with the same bytes on both sides never become Python objects; where one is
    # null, the equality is null.
    is_same = pc.fill_null(pc.equal(desired, live), fill_value=False)
    others = pc.indices_nonzero(pc.invert(is_same))
    outcomes: list[Outcome] = [SAME] * batch.num_rows
    sides = [
        column.take(others).to_pylist()
        for column in (desired, live, json_column(batch, "last_applied"))
    ]
    clusters = pc.fill_null(columns[0], "").take(others).to_pylist()
    for index, cluster, *texts in zip(
        others.to_pylist(), clusters, *sides, strict=True
    ):
        outcomes[index] = rows.outcome(*texts, cluster=cluster)
    for name in OUTPUT_SCHEMA.names[len(IDENTITY) :]:
        type_ = OUTPUT_SCHEMA.field(name).type
        values = [getattr(outcome, name) for outcome in outcomes]
        columns.append(pa.array(values, type_))
    return pa.RecordBatch.from_arrays(columns, schema=OUTPUT_SCHEMA)


def _rows_for(
    catalog: Catalog, rules: Rules, *, show_secrets: bool, additions: bool
) -> Rows:
    for rows in [*_recent]:
        if rows.is_for(catalog, rules, show_secrets=show_secrets, additions=additions):
            return rows
    rows = Rows(catalog, rules, show_secrets=show_secrets, additions=additions)
    # An engine may call this in several threads.
    _recent.append(rows)
    return rows
