"""The rows of a Parquet file of ``smp drift``, by groups and batches.

A group is read in parts, however large it is. Its digest is one of how it is stored: a
group with the digest of another one has the same rows, and need not be decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b
from typing import Any, Final

import msgspec

from smp.cli._drift.files import DamagedFileError, arrow_file
from smp.cli._inputs import unreadable
from smp.errors import DocumentError, SmpError

# Rows that are in memory at a time.
_ROWS: Final = 1024
# Bytes of a stored column that are in memory at a time.
_BLOCK: Final = 1 << 20
_DIGEST: Final = 16
_OF_JSON: Final = ("object", "desired", "live")
_COLUMNS: Final = ("cluster", "group", "version", "kind", "namespace", "name")


class ParquetRows(msgspec.Struct):
    """Some rows that follow each other; ``digest`` hashes them as they are stored."""

    table: ParquetTable
    count: int
    digest: Callable[[], bytes] | None = None


class ParquetBatch(ParquetRows):
    """Rows that were read."""

    batch: Any = None

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows; their JSON is the member "object".

        Raises DocumentError for columns of other types.
        """
        from smp.fleet import json_column, text_column  # noqa: PLC0415  # an extra

        names = [name for name in _COLUMNS if name in self.table.columns]
        batch = self.batch
        try:
            found: dict[str, list[Any]] = {
                name: text_column(batch, name).to_pylist() for name in names
            }
            found["object"] = json_column(batch, self.table.of_json).to_pylist()
            found["last_applied"] = json_column(batch, "last_applied").to_pylist()
        except SmpError as error:
            raise DocumentError(
                error.problem, code=error.code, source=self.table.file, hint=error.hint
            ) from None
        for row in zip(*found.values(), strict=True):
            yield dict(zip(found, row, strict=True))


class ParquetGroup(ParquetRows):
    """A row group of a file."""

    number: int = 0

    def batches(self) -> Iterator[ParquetBatch]:
        """Yield the rows as they are read. Raises DocumentError."""
        for batch in self.table.batches(self.number):
            yield ParquetBatch(self.table, batch.num_rows, batch=batch)


class ParquetTable:
    """A file with a column of JSON, ``of_json``, and ``columns`` that identify it."""

    def __init__(self, file: str) -> None:
        """Raise DocumentError."""
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

        self.file = file
        self._failures = (OSError, pa.ArrowException)
        system, place = arrow_file(file)
        try:
            self._source = system.open_input_file(place)
        except self._failures as error:
            raise unreadable(file, error) from None
        try:
            # It would keep what was read until the file is closed.
            self._parquet = pq.ParquetFile(self._source, pre_buffer=False)
        except self._failures as error:
            raise unreadable(file, error, DamagedFileError) from None
        found = self._parquet.schema_arrow.names
        of_json = [name for name in found if name in _OF_JSON]
        self.columns: list[str] = [
            name for name in found if name in {*_COLUMNS, "last_applied"}
        ]
        if len(of_json) != 1 or len({*self.columns}) != len(self.columns):
            raise DocumentError(
                "a Parquet file has one column of objects: object, desired or live, and"
                " no column twice",
                code="invalid-columns",
                source=file,
            )
        self.of_json: str = of_json[0]

    def groups(self) -> Iterator[ParquetGroup]:
        """Yield the row groups."""
        for number in range(self._parquet.num_row_groups):
            group = self._parquet.metadata.row_group(number)
            yield ParquetGroup(
                self, group.num_rows, partial(self._digest, group), number
            )

    def _digest(self, group: Any) -> bytes:
        hashed = blake2b(digest_size=_DIGEST)
        # The columns are named by the file, and not by the group.
        hashed.update(self._parquet.schema.to_arrow_schema().serialize())
        for number in range(group.num_columns):
            column = group.column(number)
            start = column.dictionary_page_offset or column.data_page_offset
            end = start + column.total_compressed_size
            hashed.update((end - start).to_bytes(8))
            for offset in range(start, end, _BLOCK):
                size = min(_BLOCK, end - offset)
                try:
                    hashed.update(self._source.read_at(size, offset))
                except self._failures as error:
                    raise unreadable(self.file, error, DamagedFileError) from None
        return hashed.digest()

    def batches(self, group: int) -> Iterator[Any]:
        """Yield the rows of a group. Raises DocumentError."""
        columns = [self.of_json, *self.columns]
        found = self._parquet.iter_batches(_ROWS, row_groups=[group], columns=columns)
        try:
            yield from found
        except self._failures as error:
            raise unreadable(self.file, error, DamagedFileError) from None
