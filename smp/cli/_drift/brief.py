"""What a run of ``smp drift`` found, for those who must act: in words, and for alerts.

The words are those of the HTML report: which clusters, how many objects, since when,
what first. The alerts are a text file for Prometheus (prometheus.io/docs/instrumenting/
exposition_formats), as its node exporter collects them.
"""

from __future__ import annotations

import os
import tempfile
import time
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from smp.cli._drift.comparing import DriftRow
from smp.cli._drift.state import Change
from smp.comparison import Rule
from smp.errors import DocumentError
from smp.reports import Brief, BriefTable

# So many objects, and so many clusters and owners, a report names.
_MOST_FIRST: Final = 10
_MOST_LINES: Final = 100
# What is worst comes first.
_FIRST: Final = (
    ("hazard", "the next apply would do harm beside what it is asked for"),
    ("extra-fields", "somebody has added something by hand"),
    ("drift", "it is not what its manifest says, and no apply mends it"),
    ("missing", "it is not there"),
    ("drift", "it is not what its manifest says"),
    ("extra", "it has no manifest"),
)
_NOBODY: Final = "(nobody)"
_NAMELESS: Final = {"cluster": "(no name)", "owner": _NOBODY}


# The labels of a number, and the number.
_Sample: TypeAlias = tuple[dict[str, str], int]


class ExpiredRule(msgspec.Struct, frozen=True):
    """A rule that sets nothing aside any more: its last day is over."""

    rule: str
    expired: str
    owner: str
    ticket: str
    reason: str

    @classmethod
    def of(cls, rule: Rule) -> ExpiredRule:
        """Return what is said of a rule that has expired."""
        expires = "" if rule.expires is None else rule.expires.isoformat()
        place = f"{rule.source}:{rule.line}"
        return cls(place, expires, rule.owner, rule.ticket, rule.reason)

    def text(self) -> str:
        """Return the rule for a reader."""
        parts = [self.reason, self.owner, self.ticket]
        what = ", ".join(part for part in parts if part)
        return (
            f"{self.rule}: the rule expired after {self.expired}{what and f': {what}'}"
        )


class ClusterCoverage(msgspec.Struct, frozen=True):
    """How much of a cluster was read.

    ``expected`` are the objects with a manifest, ``read`` those with a live object,
    ``unreadable`` those of which it is not known what they are. ``reasons`` says why
    the cluster was not read completely.
    """

    cluster: str
    expected: int
    read: int
    unreadable: int
    complete: bool
    reasons: list[str]


class _FindingCounts(msgspec.Struct):
    """What was found in a cluster, or of an owner."""

    verdicts: Counter[str] = msgspec.field(default_factory=Counter)
    new: int = 0
    since: str = ""

    @property
    def found(self) -> int:
        """How many objects are not what they should be, as far as that is known."""
        return self.verdicts.total() - self.verdicts["unreadable"]

    def add(self, row: DriftRow) -> None:
        self.verdicts[row.verdict] += 1
        self.new += row.change == "new"
        if row.since and (not self.since or row.since < self.since):
            self.since = row.since


class FleetBrief:
    """What was found, by cluster and owner, and what should be looked at first.

    ``changes`` is what has become of findings since the last run.
    """

    def __init__(self, expired: Iterable[ExpiredRule]) -> None:
        self.expired: list[ExpiredRule] = [*expired]
        self.changes: Counter[Change] = Counter()
        self._clusters: dict[str, _FindingCounts] = {}
        self._owners: dict[str, _FindingCounts] = {}
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._all = _FindingCounts()
        self._first: list[tuple[int, str, tuple[str, ...]]] = []

    def add(self, row: DriftRow) -> None:
        """Count a row that is not the same."""
        self._counts[row.cluster, row.owner, row.verdict] += 1
        self._all.add(row)
        self._clusters.setdefault(row.cluster, _FindingCounts()).add(row)
        self._owners.setdefault(row.owner, _FindingCounts()).add(row)
        ranks = [
            rank for rank, (verdict, _) in enumerate(_FIRST) if verdict == row.verdict
        ]
        if ranks:
            rank = ranks[-1 if row.heals else 0]
            what = _FIRST[rank][1]
            if row.paths:
                what += f": {min(row.paths)}"
            line = (row.label, what, row.owner or _NOBODY, _day(row.since))
            insort(self._first, (rank, row.since, line))
            del self._first[_MOST_FIRST:]

    def words(self, objects: int, clusters: list[ClusterCoverage]) -> Brief:
        """Return the words of a report."""
        changes = self.changes
        incomplete = {
            each.cluster: each.reasons or ["some objects are unreadable"]
            for each in clusters
            if not each.complete
        }
        bad = [name for name, group in self._clusters.items() if group.found]
        found = f"{self._all.found:,} of {objects:,} objects"
        where = f"{len(bad):,} of {len(clusters):,} clusters"
        sentences = [f"{found} are not what they should be, in {where}."]
        if changes:
            counts = f"{changes['new']:,} new, {changes['mended']:,} mended"
            sentences.append(f"Since the last run: {counts}.")
        if self._all.since:
            sentences.append(f"The oldest was found first on {_day(self._all.since)}.")
        unknown = self._all.verdicts["unreadable"]
        if incomplete:
            sentences.append(
                f"{len(incomplete):,} clusters were not read completely: of"
                f" {unknown:,} objects nothing is known."
            )
        sentences += [f"{rule.text()}." for rule in self.expired]
        tables = [
            BriefTable(
                "What first",
                ("object", "what is wrong", "owner", "since"),
                [line for _rank, _since, line in self._first],
            ),
            _table("Clusters", "cluster", self._clusters, incomplete),
        ]
        if [owner for owner in self._owners if owner]:
            tables.append(_table("Owners", "owner", self._owners, {}))
        return Brief(sentences, [table for table in tables if table.rows])

    def metrics(self, clusters: list[ClusterCoverage]) -> str:
        """Return the text for Prometheus."""
        drifted: list[_Sample] = []
        for (cluster, owner, verdict), count in sorted(self._counts.items()):
            labels = {"cluster": cluster, "owner": owner, "verdict": verdict}
            drifted.append((labels, count))
        oldest: list[_Sample] = []
        for cluster, group in sorted(self._clusters.items()):
            if group.since:
                moment = datetime.fromisoformat(group.since).timestamp()
                oldest.append(({"cluster": cluster}, int(moment)))
        families: list[tuple[str, str, list[_Sample]]] = [
            ("objects", "Objects that are not what they should be.", drifted),
            (
                "cluster_complete",
                "Whether all of a cluster was read.",
                [({"cluster": each.cluster}, int(each.complete)) for each in clusters],
            ),
            (
                "changes",
                "What has become of findings since the last run.",
                [({"change": name}, n) for name, n in sorted(self.changes.items())],
            ),
            ("oldest_timestamp_seconds", "When the oldest was found.", oldest),
            ("expired_rules", "Rules that have expired.", [({}, len(self.expired))]),
            ("run_timestamp_seconds", "When the run ended.", [({}, int(time.time()))]),
        ]
        return "".join(line for family in families for line in _lines_of(*family))


def _table(
    heading: str,
    name: str,
    groups: dict[str, _FindingCounts],
    incomplete: dict[str, list[str]],
) -> BriefTable:
    ranked = sorted(groups.items(), key=lambda item: (-item[1].found, item[0]))
    rows: list[tuple[str, ...]] = []
    for value, group in ranked[:_MOST_LINES]:
        found, new = f"{group.found:,}", f"{group.new:,}"
        unknown = f"{group.verdicts['unreadable']:,}"
        reasons = "; ".join(incomplete.get(value, ()))
        since = _day(group.since) if group.found else ""
        rows.append((value or _NAMELESS[name], found, new, since, unknown, reasons))
    columns = (name, "not as they should be", "new", "since", "not known", "why")
    # Where all was read, nothing is unknown; of owners it is not known why.
    used = 6 if incomplete else 5 if any(row[4] != "0" for row in rows) else 4
    return BriefTable(heading, columns[:used], [row[:used] for row in rows])


def _day(time_: str) -> str:
    return time_[:10]


def _lines_of(name: str, text: str, samples: list[_Sample]) -> Iterator[str]:
    yield f"# HELP smp_drift_{name} {text}\n# TYPE smp_drift_{name} gauge\n"
    for labels, value in samples:
        pairs = ",".join(f'{label}="{_escape(of)}"' for label, of in labels.items())
        yield f"smp_drift_{name}{pairs and f'{{{pairs}}}'} {value}\n"


def _escape(value: str) -> str:
    escaped = value.replace("\\", r"\\").replace('"', r"\"")
    return escaped.replace("\n", r"\n")


def write_whole(path: str, text: str) -> None:
    """Write a file that a reader sees as it was, or as it is. Raises DocumentError."""
    folder = os.path.dirname(path) or "."  # noqa: PTH120  # without pathlib
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=".smp-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # A collector is another user.
        os.chmod(name, 0o644)  # noqa: PTH101  # as above
        os.replace(name, path)  # noqa: PTH105  # as above
    except OSError as error:
        raise DocumentError(
            f"cannot write the file: {error}", code="unwritable", source=path
        ) from None
