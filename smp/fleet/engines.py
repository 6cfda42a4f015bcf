"""``compare`` on engines for more rows than one machine takes, in a few lines each.

Each function takes what the engine calls a table with the columns of INPUT_COLUMNS, and
returns one with those of OUTPUT_SCHEMA. The keywords are those of ``compare``. The
engine schedules, retries and spills; here is only how it hands over batches. Rows are
compared in batches of about ``BATCH`` bytes, whatever batches the engine makes.

No engine is imported before it is used; each is an extra of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final, TypedDict, Unpack

import pyarrow as pa

from smp.comparison import Rules
from smp.fleet._compare import INPUT_COLUMNS, OUTPUT_SCHEMA, by_bytes, compare
from smp.schema.catalog import Catalog

BATCH: Final = 8 << 20

# What Spark calls the types of OUTPUT_SCHEMA.
_SPARK_TYPES: Final = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.list_(pa.string()): "array<string>",
}


class CompareKeywords(TypedDict, total=False):
    """The keywords of ``compare``."""

    catalog: Catalog | None
    rules: Rules
    show_secrets: bool
    additions: bool


def compared(
    batches: Iterable[pa.RecordBatch], **keywords: Unpack[CompareKeywords]
) -> Iterator[pa.RecordBatch]:
    """Compare batches as they come: for every engine that hands over an iterator."""
    for batch in by_bytes(batches, BATCH):
        yield compare(batch, **keywords)


def compare_table(table: pa.Table, **keywords: Unpack[CompareKeywords]) -> pa.Table:
    """Compare the rows of a table."""
    found = compared(table.to_batches(), **keywords)
    return pa.Table.from_batches(found, OUTPUT_SCHEMA)


def spark(frame: Any, **keywords: Unpack[CompareKeywords]) -> Any:
    """Compare a DataFrame of Spark, or of a server that speaks Spark Connect."""
    types = [f"{field.name} {_SPARK_TYPES[field.type]}" for field in OUTPUT_SCHEMA]
    return frame.mapInArrow(partial(compared, **keywords), ", ".join(types))


def ray(dataset: Any, **keywords: Unpack[CompareKeywords]) -> Any:
    """Compare a Dataset of Ray Data."""
    function = partial(compare_table, **keywords)
    # None: the blocks of Ray, which have a size in bytes, and not in rows.
    return dataset.map_batches(function, batch_format="pyarrow", batch_size=None)


def dask(frame: Any, **keywords: Unpack[CompareKeywords]) -> Any:
    """Compare a DataFrame of Dask."""
    empty = _read_pandas(OUTPUT_SCHEMA.empty_table())
    return frame.map_partitions(partial(_compare_frame, **keywords), meta=empty)


def _compare_frame(frame: Any, **keywords: Unpack[CompareKeywords]) -> Any:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return _read_pandas(compare_table(table, **keywords))


def _read_pandas(table: pa.Table) -> Any:
    import pandas as pd  # noqa: PLC0415  # it comes with Dask

    # Lists and nulls stay what they are in types of Arrow.
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def daft(frame: Any, **keywords: Unpack[CompareKeywords]) -> Any:
    """Compare a DataFrame of Daft, on one machine or on Ray."""
    from daft import DataType, col, udf  # noqa: PLC0415  # an extra

    names = [name for name in INPUT_COLUMNS if name in frame.column_names]

    def rows(*columns: Any) -> Any:
        arrays = [column.to_arrow() for column in columns]
        found = compare_table(pa.Table.from_arrays(arrays, names), **keywords)
        return found.to_struct_array().combine_chunks()

    type_ = DataType.from_arrow_type(pa.struct(list(OUTPUT_SCHEMA)))
    row = udf(return_dtype=type_)(rows)(*[col(name) for name in names])
    return frame.select(row.alias("row")).select(col("row").unnest())


def duckdb(relation: Any, **keywords: Unpack[CompareKeywords]) -> pa.RecordBatchReader:
    """Compare a relation of DuckDB; another connection may read the result."""
    batches = relation.to_arrow_reader(10_000)
    return pa.RecordBatchReader.from_batches(
        OUTPUT_SCHEMA, compared(batches, **keywords)
    )


def polars(frame: Any, **keywords: Unpack[CompareKeywords]) -> Any:
    """Compare a LazyFrame of Polars; its streaming engine hands over parts."""
    import polars as pl  # noqa: PLC0415  # an extra

    def rows(part: Any) -> Any:
        return pl.from_arrow(compare_table(part.to_arrow(), **keywords))

    empty: Any = pl.from_arrow(OUTPUT_SCHEMA.empty_table())
    return frame.map_batches(rows, schema=empty.schema, streamable=True)
