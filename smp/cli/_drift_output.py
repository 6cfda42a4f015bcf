"""The formats of ``smp drift``, each of which is complete wherever it ends."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, Final, Protocol

import msgspec

from smp.cli._drift_history import path_of
from smp.cli._drift_run import DriftRow, load_fleet
from smp.cli._errors import UsageError, printable
from smp.cli._outputs import write, write_bytes
from smp.explain import CAUSES
from smp.paths import Path
from smp.reports import (
    Finding,
    Format,
    Layout,
    Level,
    ObjectReport,
    Place,
    Totals,
    Verdict,
    list_counts,
    printer_of,
)
from smp.values import JSON

REPORTS: Final[dict[str, Format]] = {"html": "html", "junit": "junit", "sarif": "sarif"}
# Rows that a Parquet file has in one group.
_GROUP: Final = 10_000
# Lines of each table of a summary.
_MOST_LINES: Final = 20
DRIFTED: Final = ("drift", "hazard", "missing", "extra")
_VERDICTS: Final[dict[str, Verdict]] = {
    "same": "unchanged",
    "drift": "changed",
    "hazard": "changed",
    "missing": "new",
    "extra": "removed",
    "unreadable": "failed",
}


class Output(Protocol):
    """What writes rows to standard output."""

    def add(self, row: DriftRow) -> None:
        """Write a row."""

    def end(self) -> None:
        """Write what is left."""


def output_of(name: str, totals: DriftTotals) -> Output:
    """Return the output of a format. Raises UsageError and ReportError."""
    if name == "parquet":
        return _Parquet()
    if name == "ndjson":
        return _Written(Layout(lambda row: f"{msgspec.json.encode(row).decode()}\n"))
    if name in REPORTS:
        printer = printer_of(REPORTS[name], title="smp drift")
        return _Written(
            Layout(lambda row: printer.piece(_report_of(row)), start=printer.begin)
        )
    return _DriftSummary(totals)


class DriftTotals(Totals):
    """How many rows there are of each verdict, and where."""

    def __init__(self) -> None:
        super().__init__(number_format=",")
        self.reused = 0
        self._by: dict[str, dict[str, Counter[str]]] = {
            "cluster": {},
            "namespace": {},
            "kind": {},
            "cause": {},
        }

    def add_row(self, row: DriftRow) -> None:
        """Count a row."""
        self.add(row.verdict)
        if row.verdict == "same":
            return
        kind = f"{row.kind}.{row.group}" if row.group else row.kind
        of_row = {"cluster": row.cluster, "namespace": row.namespace, "kind": kind}
        for name, value in of_row.items():
            self._by[name].setdefault(value, Counter())[row.verdict] += 1
        for cause in {*row.causes}:
            self._by["cause"].setdefault(cause, Counter())[row.verdict] += 1

    def line(self, skipped: int = 0) -> str:
        """Return ``1,000 objects: 990 same, 10 drift; 900 as before``."""
        text = super().line(skipped)
        return f"{text}; {self.reused:,} as before" if self.reused else text

    def tables(self) -> str:
        """Return the counts by cluster, namespace, kind and cause."""
        lines: list[str] = []
        for name, rows in self._by.items():
            # One table of one nameless cluster says nothing.
            if not [value for value in rows if value]:
                continue
            lines.append(f"\nby {name}")
            ranked = sorted(rows.items(), key=lambda row: (-row[1].total(), row[0]))
            for value, counts in ranked[:_MOST_LINES]:
                listing = list_counts(dict(sorted(counts.items())), ",")
                lines.append(f"  {printable(value) or '(none)'}: {listing}")
            if len(ranked) > _MOST_LINES:
                lines.append(f"  ... {len(ranked) - _MOST_LINES:,} more")
        return "".join(f"{line}\n" for line in lines)


class _DriftSummary:
    def __init__(self, totals: DriftTotals) -> None:
        self._totals = totals

    def add(self, row: DriftRow) -> None:
        """Write nothing: the rows are counted."""

    def end(self) -> None:
        write(f"{self._totals.line()}\n{self._totals.tables()}")


class _Written:
    """A text that is made of those of the rows."""

    def __init__(self, layout: Layout[DriftRow]) -> None:
        self._layout = layout
        self._composition = layout.begin()

    def add(self, row: DriftRow) -> None:
        for text in self._composition.add(self._layout.piece(row)):
            write(text)

    def end(self) -> None:
        for text in self._composition.end():
            write(text)


class _Parquet:
    """A Parquet file; its end, which readers begin with, is written in any case."""

    def __init__(self) -> None:
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

        if os.isatty(1):
            raise UsageError("a Parquet file is not for a terminal: > drift.parquet")
        self._schema = pa.schema(
            [
                *load_fleet().OUTPUT_SCHEMA,
                pa.field("commits", pa.list_(pa.string())),
                pa.field("desired_place", pa.string()),
                pa.field("live_place", pa.string()),
            ]
        )
        self._table = pa.Table
        self._file = pa.PythonFile(_Stream(), mode="w")
        self._writer: Any = pq.ParquetWriter(self._file, self._schema)
        self._rows: list[dict[str, Any]] = []

    def add(self, row: DriftRow) -> None:
        values = {name: getattr(row, name) for name in self._schema.names}
        self._rows.append(values)
        # Readers skip groups, and a small one compresses badly.
        if len(self._rows) >= _GROUP:
            self._write()

    def end(self) -> None:
        self._write()
        self._writer.close()

    def _write(self) -> None:
        if self._rows:
            self._writer.write_table(self._table.from_pylist(self._rows, self._schema))
            self._rows.clear()


class _Stream:
    """Standard output as a file for Arrow, which asks where it is."""

    closed = False

    def __init__(self) -> None:
        self._position = 0

    def write(self, data: bytes) -> int:
        """Write all bytes."""
        write_bytes(bytes(data))
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._position

    def flush(self) -> None:
        """Do nothing: what is written is flushed."""

    def close(self) -> None:
        """Leave standard output open."""


def _report_of(row: DriftRow) -> ObjectReport:
    file, _, line = (row.desired_place or row.live_place).rpartition(":")
    place = Place(file, int(line)) if line.isdecimal() else Place(row.live_place)
    notes = [f"cluster {row.cluster}"] if row.cluster else []
    notes += [f"{path}: {commit}" for path, commit in _beside(row, row.commits)]
    notes += [f"{path}: {manager}" for path, manager in _beside(row, row.managers)]
    patch: JSON = None if row.patch is None else msgspec.json.decode(row.patch)
    return ObjectReport(
        f"{row.group}/{row.version}" if row.group else row.version,
        row.kind,
        row.namespace,
        f"{row.name} ({row.cluster})" if row.cluster else row.name,
        place,
        _VERDICTS[row.verdict],
        patch=patch,
        findings=tuple(_findings(row)),
        notes=tuple(notes),
        error=row.error or "",
    )


def _beside(row: DriftRow, texts: list[str]) -> list[tuple[str, str]]:
    # An extra object has all of its managers, and no paths.
    if len(texts) != len(row.paths):
        return [("managers", text) for text in texts]
    return [pair for pair in zip(row.paths, texts, strict=True) if pair[1]]


def _findings(row: DriftRow) -> list[Finding]:
    if row.verdict == "unreadable":
        return [Finding("unreadable", "failure", "error", Path(), row.error or "")]
    if row.verdict == "missing":
        text = "there is no live object: the next apply creates it"
        return [Finding("missing", "warning", "error", Path(), text)]
    if row.verdict == "extra":
        text = "there is no manifest: no apply will change the object"
        return [Finding("extra", "warning", "warning", Path(), text)]
    level: Level = "error" if row.verdict == "hazard" else "warning"
    found: list[Finding] = []
    for path, code in zip(row.paths, row.causes, strict=True):
        text = CAUSES[code].sentence if code in CAUSES else code
        remedy = "apply the manifest" if row.heals else ""
        rule = CAUSES[code].source if code in CAUSES else ""
        found.append(Finding(code, "cause", level, path_of(path), text, remedy, rule))
    return found
