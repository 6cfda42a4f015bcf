"""Arrow columns: what a batch has to have, and what comes out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from smp.errors import SmpError, listing

IDENTITY: Final = ("cluster", "group", "version", "kind", "namespace", "name")
INPUT_COLUMNS: Final = (*IDENTITY, "desired", "live", "last_applied")
_OPTIONAL: Final = "last_applied"

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
    if not _is_text(column.type):
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


def _is_text(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_null(type_)
        or pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
        or pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
        or pa.types.is_binary_view(type_)
    )


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
