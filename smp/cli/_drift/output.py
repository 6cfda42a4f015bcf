"""The formats of ``smp drift``, each of which is complete wherever it ends."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from io import RawIOBase
from itertools import zip_longest
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from smp._values.findings import Severity
from smp._values.values import ABSENT, JSON
from smp.cli._drift.brief import ClusterCoverage, ExpiredRule, FleetBrief
from smp.cli._drift.comparing import DriftRow, SameCount, load_fleet
from smp.cli._drift.gaps import ReadingGaps
from smp.cli._drift.history import path_of
from smp.cli._drift.state import CHANGES
from smp.cli._errors import UsageError, printable
from smp.cli._outputs import write, write_bytes
from smp.errors import ApplyWarning
from smp.explain import CAUSES, Cause, Reason, Remedy
from smp.paths import Path
from smp.reports import (
    Brief,
    Failure,
    Finding,
    Format,
    Layout,
    ObjectReport,
    Place,
    Totals,
    Verdict,
    list_counts,
    printer_of,
)

REPORTS: Final[dict[str, Format]] = {"html": "html", "junit": "junit", "sarif": "sarif"}
# The columns of texts that a Parquet file has beside those of smp.fleet.
_OF_DRIFT: Final = ("desired_place", "live_place", "change", "since", "owner")
# Rows that a Parquet file has in one group.
_GROUP: Final = 10_000
# Lines of each table of a summary.
_MOST_LINES: Final = 20
# So many objects a summary names, of those that are not as they should be, and of
# those of which that is not known; and so many paths of each.
_MOST_NAMED: Final = 20
_MOST_PATHS: Final = 5
_ADDED: Final = "no manifest has the field: it was added by hand"
_HEALING: Final = Remedy("apply the manifest", (), ABSENT)
_VERDICTS: Final[dict[str, Verdict]] = {
    "same": "unchanged",
    "drift": "changed",
    "hazard": "changed",
    "missing": "new",
    "extra": "removed",
    "extra-fields": "changed",
    "unreadable": "failed",
}
_JUDGED: Final = frozenset({"drift", "hazard", "missing"})


class Output(Protocol):
    """What writes rows to standard output."""

    def add(self, row: DriftRow) -> None:
        """Write a row."""

    def end(self, clusters: list[ClusterCoverage]) -> None:
        """Write what is left, how much of each cluster was read, and expired rules."""


def output_of(name: str | None, totals: DriftTotals) -> Output:
    """Return the output of a format. Raises UsageError and ReportError."""
    if name == "parquet":
        return _Parquet(totals)
    if name == "ndjson":
        return _Written(Layout(_line_of), totals)
    if name in REPORTS:
        printer = printer_of(REPORTS[name], title="smp drift", brief=totals.words)
        layout: Layout[_Line] = Layout(
            lambda row: printer.piece(_report_of(row)), start=printer.begin
        )
        return _Written(layout, totals, has_complete=False)
    return _DriftSummary(totals)


# What a text is made of.
_Line: TypeAlias = DriftRow | ClusterCoverage | ExpiredRule


class DriftTotals(Totals):
    """How many rows there are of each verdict, and where."""

    def __init__(self, gaps: ReadingGaps, expired: Iterable[ExpiredRule] = ()) -> None:
        super().__init__(number_format=",")
        self.brief: FleetBrief = FleetBrief(expired)
        self.gaps: ReadingGaps = gaps
        # Of each cluster: the objects that are expected, read and unreadable.
        self._coverage: dict[str, tuple[int, int, int]] = {}
        self.reused: int = 0
        # Of which objects an apply was judged: apiVersion and kind.
        self.judged: dict[tuple[str, str], None] = {}
        self._by: dict[str, dict[str, Counter[str]]] = {
            "cluster": {},
            "namespace": {},
            "kind": {},
            "cause": {},
            "owner": {},
        }

    def add_row(self, row: DriftRow) -> None:
        """Count a row."""
        self.add(row.verdict)
        expected, read, unreadable = self._coverage.get(row.cluster, (0, 0, 0))
        self._coverage[row.cluster] = (
            expected + bool(row.desired_place),
            read + bool(row.live_place),
            unreadable + (row.verdict == "unreadable"),
        )
        if row.verdict == "same":
            return
        self.brief.add(row)
        if row.verdict in _JUDGED:
            self.judged[row.api_version, row.kind] = None
        kind = f"{row.kind}.{row.group}" if row.group else row.kind
        of_row = {
            "cluster": row.cluster,
            "namespace": row.namespace,
            "kind": kind,
            "owner": row.owner,
        }
        for name, value in of_row.items():
            self._by[name].setdefault(value, Counter())[row.verdict] += 1
        for cause in {*row.causes}:
            self._by["cause"].setdefault(cause, Counter())[row.verdict] += 1

    def add_same(self, cluster: str, same: SameCount) -> None:
        """Count objects of a cluster that are the same."""
        count, expected, read = same
        self.verdicts["same"] += count
        former = self._coverage.get(cluster, (0, 0, 0))
        self._coverage[cluster] = (former[0] + expected, former[1] + read, former[2])

    def words(self) -> Brief:
        """Return what was found in words."""
        return self.brief.words(self.verdicts.total(), self.clusters())

    def judge(self, row: DriftRow) -> DriftRow:
        """Return a row, unreadable where its verdict may come of a gap."""
        if row.verdict not in {"missing", "extra"}:
            return row
        reasons = self.gaps.reasons(row.cluster, is_desired=row.verdict == "extra")
        if not reasons:
            return row
        return msgspec.structs.replace(
            row,
            verdict="unreadable",
            patch=None,
            heals=None,
            managers=[],
            refusals=[],
            error=f"it is not known whether it is {row.verdict}: {reasons[0]}",
        )

    def clusters(self) -> list[ClusterCoverage]:
        """Return the clusters of all rows, and those of which objects may be lost."""
        names = {*self._coverage, *self.gaps.clusters}
        # A gap that may be of any cluster is of those that are known.
        if len(names) > 1 and "" not in self._coverage:
            names.discard("")
        found: list[ClusterCoverage] = []
        for name in sorted(names):
            expected, read, unreadable = self._coverage.get(name, (0, 0, 0))
            reasons = self.gaps.reasons(name, is_desired=True)
            # Where nothing is expected, nothing may be there.
            if expected or name in self.gaps.heard or name in self.gaps.clusters:
                reasons = [*self.gaps.reasons(name, is_desired=False), *reasons]
            reasons = [*reasons, *self.gaps.of_extra[name]]
            is_complete = not reasons and not unreadable
            found.append(
                ClusterCoverage(name, expected, read, unreadable, is_complete, reasons)
            )
        return found

    def line(self, skipped: int = 0) -> str:
        """Return ``1,000 objects: 990 same, 10 drift; 900 as before``."""
        text = super().line(skipped)
        if self.reused:
            text += f"; {self.reused:,} as before"
        changes = self.brief.changes
        if changes:
            counts = {str(name): changes[name] for name in CHANGES}
            text += f"; since the last run {list_counts(counts, ',')}"
        return text

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
        self._rows: Counter[bool] = Counter()

    def add(self, row: DriftRow) -> None:
        """Name an object, unless many were named before."""
        if row.verdict == "same":
            return
        # A cluster that cannot be read must not hide what has drifted in others.
        is_unreadable = row.verdict == "unreadable"
        self._rows[is_unreadable] += 1
        if self._rows[is_unreadable] <= _MOST_NAMED:
            write("".join(f"{printable(line)}\n" for line in _lines_of(row)))

    def end(self, clusters: list[ClusterCoverage]) -> None:
        left = sum(max(0, count - _MOST_NAMED) for count in self._rows.values())
        if left:
            write(f"... {left:,} more, which --format ndjson has\n")
        if self._rows:
            write("\n")
        write(f"{self._totals.line()}\n{self._totals.tables()}")
        incomplete = [each for each in clusters if not each.complete]
        if incomplete:
            write("\nnot read completely\n")
        for each in incomplete[:_MOST_LINES]:
            write(f"  {printable(_coverage_text(each))}\n")
        if len(incomplete) > _MOST_LINES:
            write(f"  ... {len(incomplete) - _MOST_LINES:,} more\n")
        for rule in self._totals.brief.expired:
            write(f"\n{printable(rule.text())}\n")


def _lines_of(row: DriftRow) -> list[str]:
    """Return an object for a reader: each path with its cause, manager and commit."""
    error = f": {row.error}" if row.error else ""
    since = f" ({row.change or 'first found'}, since {row.since})" if row.since else ""
    lines = [f"{row.label}: {row.verdict}{since}{error}"]
    # An extra object has managers, and no paths.
    owners = row.managers if row.paths else [", ".join(row.managers)]
    columns = zip_longest(row.paths, row.causes, owners, row.commits, fillvalue="")
    # Which paths are named of many must not depend on the order of an object's keys.
    for number, column in enumerate(sorted(columns)):
        if number == _MOST_PATHS:
            lines.append(f"  ... {len(row.paths) - number:,} more paths")
            break
        if found := [text for text in column if text]:
            lines.append(f"  {'  '.join(found)}")
    lines += [f"  {text}" for text in row.refusals[:_MOST_PATHS]]
    if len(row.refusals) > _MOST_PATHS:
        lines.append(f"  ... {len(row.refusals) - _MOST_PATHS:,} more")
    return lines


def _coverage_text(cluster: ClusterCoverage) -> str:
    """Return ``eu-1: 1 of 3 objects read, 2 unreadable: dump.json:1: not JSON``."""
    count = f"{cluster.read:,} read, {cluster.expected:,} expected"
    reasons = "; ".join(cluster.reasons)
    return (
        f"{cluster.cluster or '(no cluster)'}: {count}, "
        f"{cluster.unreadable:,} unreadable{reasons and f': {reasons}'}"
    )


class _Written:
    """A text that is made of those of the rows, and of the clusters."""

    def __init__(
        self, layout: Layout[_Line], totals: DriftTotals, *, has_complete: bool = True
    ) -> None:
        self._layout = layout
        self._totals = totals
        self._composition = layout.begin()
        # Whether the clusters that were read completely are in the text, too.
        self._has_complete = has_complete

    def add(self, row: _Line) -> None:
        for text in self._composition.add(self._layout.piece(row)):
            write(text)

    def end(self, clusters: list[ClusterCoverage]) -> None:
        for cluster in clusters:
            if cluster.reasons or self._has_complete:
                self.add(cluster)
        for rule in self._totals.brief.expired:
            self.add(rule)
        for text in self._composition.end():
            write(text)


class _Parquet:
    """A Parquet file; its end, which readers begin with, is written in any case."""

    def __init__(self, totals: DriftTotals) -> None:
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

        if os.isatty(1):
            raise UsageError("a Parquet file is not for a terminal: > drift.parquet")
        self._schema = pa.schema(
            [
                *load_fleet().OUTPUT_SCHEMA,
                pa.field("commits", pa.list_(pa.string())),
                *[pa.field(name, pa.string()) for name in _OF_DRIFT],
            ]
        )
        self._totals = totals
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

    def end(self, clusters: list[ClusterCoverage]) -> None:
        self._write()
        rows = msgspec.json.encode(clusters).decode()
        expired = msgspec.json.encode(self._totals.brief.expired).decode()
        self._writer.add_key_value_metadata(
            {"smp.clusters": rows, "smp.expired_rules": expired}
        )
        self._writer.close()

    def _write(self) -> None:
        if self._rows:
            self._writer.write_table(self._table.from_pylist(self._rows, self._schema))
            self._rows.clear()


class _Stream(RawIOBase):
    """Standard output as a file for Arrow, which asks where it is, and closes it."""

    def __init__(self) -> None:
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        write_bytes(bytes(data))
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position


def _line_of(row: _Line) -> str:
    return f"{msgspec.json.encode(row).decode()}\n"


def _report_of(row: _Line) -> ObjectReport:
    if isinstance(row, ExpiredRule):
        file, _, line = row.rule.rpartition(":")
        head = ("", "Rule", "", row.rule)
        place = Place(file, int(line))
        finding = Failure("expired", Path(), row.text(), place=place)
        return ObjectReport(
            *head, place, "checked", findings=(finding,), outcome="expired"
        )
    if isinstance(row, ClusterCoverage):
        head = ("", "Cluster", "", row.cluster)
        text = f"not read completely: {_coverage_text(row)}"
        report = ObjectReport.of_failure(text, "incomplete", Place(""), head)
        return msgspec.structs.replace(report, outcome="incomplete")
    file, _, line = (row.desired_place or row.live_place).rpartition(":")
    place = Place(file, int(line)) if line.isdecimal() else Place(row.live_place)
    facts = {"cluster": row.cluster, "owner": row.owner, "since": row.since}
    notes = [f"{name} {value}" for name, value in facts.items() if value]
    notes += [f"{path}: {commit}" for path, commit in _beside(row, row.commits)]
    notes += [f"{path}: {manager}" for path, manager in _beside(row, row.managers)]
    patch: JSON = None if row.patch is None else msgspec.json.decode(row.patch)
    return ObjectReport(
        row.api_version,
        row.kind,
        row.namespace,
        f"{row.name} ({row.cluster})" if row.cluster else row.name,
        place,
        _VERDICTS[row.verdict],
        patch=patch,
        findings=tuple(_findings(row)),
        notes=tuple(notes),
        error=row.error or "",
        outcome="" if row.verdict == "same" else row.verdict,
    )


def _beside(row: DriftRow, texts: list[str]) -> list[tuple[str, str]]:
    # An extra object has all of its managers, and no paths.
    if len(texts) != len(row.paths):
        return [("managers", text) for text in texts]
    return [pair for pair in zip(row.paths, texts, strict=True) if pair[1]]


def _findings(row: DriftRow) -> list[Finding]:
    if row.verdict == "unreadable":
        return [Failure("unreadable", Path(), row.error or "")]
    if row.verdict == "missing":
        text = "there is no live object: the next apply creates it"
        if not row.heals:
            text = "there is no live object"
        return [ApplyWarning("missing", Path(), text, "error"), *_refused(row, "error")]
    if row.verdict == "extra":
        text = "there is no manifest: no apply will change the object"
        return [ApplyWarning("extra", Path(), text)]
    severity: Severity = "error" if row.verdict == "hazard" else "warning"
    found: list[Finding] = []
    for path, code in zip(row.paths, row.causes, strict=True):
        if code == "extra-fields":
            found.append(ApplyWarning(code, path_of(path), _ADDED, severity))
            continue
        reason = CAUSES.get(code, Reason(code, ""))
        found.append(
            Cause(
                path_of(path),
                code,
                reason.sentence,
                ABSENT,
                ABSENT,
                reason.source,
                (),
                _HEALING if row.heals else None,
                severity=severity,
            )
        )
    return [*found, *_refused(row, severity)]


def _refused(row: DriftRow, severity: Severity) -> list[Finding]:
    return [ApplyWarning("refused", Path(), text, severity) for text in row.refusals]
