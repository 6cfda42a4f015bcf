"""The same fleet on every engine that is installed: the rows have to be the same.

Run ``python -m benchmarks.fleet_engines [ROWS] [ENGINE...]``. It prints the processor
time of each engine, with that of its processes; an engine that is not installed is
named. Heavy: Spark, Ray and Dask start processes of their own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.fleets import Rates, pairs
from smp.fleet import INPUT_COLUMNS, OUTPUT_SCHEMA, engines

_ROWS: Final = 5_000
_GROUP: Final = 1_000
_RATES: Final = Rates(drifted=100, missing=20, extra=20, identical=100)
_ORDER: Final = ["cluster", "kind", "name"]


def written(folder: str, rows: int) -> str:
    """Write a fleet as Parquet, and return the name of the file."""
    names = [name for name in INPUT_COLUMNS if name != "last_applied"]
    schema = pa.schema([pa.field(name, pa.string()) for name in names])
    file = str(Path(folder, "fleet.parquet"))
    source = pairs(rows, rates=_RATES)
    with pq.ParquetWriter(file, schema) as writer:
        # A million pairs do not fit into memory several times.
        while some := [*islice(source, _GROUP)]:
            found = [
                {name: _text(getattr(pair, name)) for name in names} for pair in some
            ]
            writer.write_table(pa.Table.from_pylist(found, schema))
    return file


def _text(value: str | bytes | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value


def plain(file: str) -> pa.Table:
    """Compare in this process."""
    batches = pq.ParquetFile(file).iter_batches(_GROUP)
    return pa.Table.from_batches(engines.compared(batches), OUTPUT_SCHEMA)


def on_duckdb(file: str) -> pa.Table:
    """Compare with DuckDB."""
    import duckdb  # noqa: PLC0415  # it may be absent

    connection = duckdb.connect()
    return engines.duckdb(connection.read_parquet(file)).read_all()


def on_polars(file: str) -> pa.Table:
    """Compare with Polars."""
    import polars as pl  # noqa: PLC0415  # it may be absent

    frame = engines.polars(pl.scan_parquet(file))
    return frame.collect(engine="streaming").to_arrow()


def on_daft(file: str) -> pa.Table:
    """Compare with Daft."""
    import daft  # noqa: PLC0415  # it may be absent

    return engines.daft(daft.read_parquet(file)).to_arrow()


def on_dask(file: str) -> pa.Table:
    """Compare with Dask, in two processes."""
    import dask.dataframe as dd  # noqa: PLC0415  # it may be absent

    frame = engines.dask(dd.read_parquet(file, split_row_groups=True))
    return pa.Table.from_pandas(
        frame.compute(scheduler="processes", num_workers=2), preserve_index=False
    )


def on_ray(file: str) -> pa.Table:
    """Compare with Ray Data."""
    import ray  # noqa: PLC0415  # it may be absent

    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=300 << 20)
    try:
        dataset = engines.ray(ray.data.read_parquet(file))
        return pa.concat_tables(ray.get(dataset.to_arrow_refs()))
    finally:
        ray.shutdown()


def on_pysail(file: str) -> pa.Table:
    """Compare with the Spark Connect server of pysail, which needs no JVM."""
    from pysail.spark import SparkConnectServer  # noqa: PLC0415  # it may be absent
    from pyspark.sql import SparkSession  # noqa: PLC0415  # it may be absent

    server = SparkConnectServer("127.0.0.1", 0)
    server.start()
    try:
        _, port = server.listening_address
        builder = SparkSession.builder.remote(f"sc://127.0.0.1:{port}")
        session = builder.getOrCreate()
        return engines.spark(session.read.parquet(file)).toArrow()
    finally:
        server.stop()


def on_spark(file: str) -> pa.Table:
    """Compare with Spark on a JVM of this machine, which pyspark starts."""
    # The client of Spark Connect has no such module.
    from pyspark.core.context import SparkContext  # noqa: PLC0415  # it may be absent
    from pyspark.sql import SparkSession  # noqa: PLC0415  # it may be absent

    session = SparkSession(SparkContext("local[2]"))
    try:
        return engines.spark(session.read.parquet(file)).toArrow()
    finally:
        session.stop()


ENGINES: Final[dict[str, Callable[[str], pa.Table]]] = {
    "duckdb": on_duckdb,
    "polars": on_polars,
    "daft": on_daft,
    "dask": on_dask,
    "ray": on_ray,
    "pysail": on_pysail,
    "spark": on_spark,
}


def in_order(table: pa.Table) -> pa.Table:
    """Return a table with types and an order that do not depend on the engine."""
    found = table.select(OUTPUT_SCHEMA.names).cast(OUTPUT_SCHEMA)
    return found.sort_by([(name, "ascending") for name in _ORDER])


def main(arguments: list[str]) -> int:
    """Compare on the engines, and return how many differ."""
    count = int(arguments[0]) if arguments else _ROWS
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        file = written(folder, count)
        began = process_time()
        expected = in_order(plain(file))
        used = process_time() - began
        print(f"plain: {len(expected)} rows, {used:.1f} s", flush=True)
        for name in arguments[1:] or ENGINES:
            before = sum(os.times()[:4])
            try:
                found = in_order(ENGINES[name](file))
            except ImportError as error:
                print(f"{name}: not installed ({error})")
                continue
            used = sum(os.times()[:4]) - before
            is_equal = found.equals(expected)
            failed += not is_equal
            verdict = "the same rows" if is_equal else "OTHER ROWS"
            print(f"{name}: {verdict}, {used:.1f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
