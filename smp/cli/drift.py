"""``smp drift``: what differs between the manifests and the live objects of a fleet."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from datetime import date
from hashlib import blake2b
from importlib.util import find_spec
from itertools import islice
from typing import Final

import msgspec

from smp import __version__
from smp._values.extras import extra_hint
from smp.cli._commands import Command, CommandOption, switch
from smp.cli._comparing import read_rule_files
from smp.cli._drift_brief import ExpiredRule, write_whole
from smp.cli._drift_clusters import LiveFleet, contexts_of
from smp.cli._drift_files import FleetInputs
from smp.cli._drift_gaps import ReadingGaps
from smp.cli._drift_history import History
from smp.cli._drift_output import DriftTotals, Output, output_of
from smp.cli._drift_pairs import PairedPart, Parts, Skipped
from smp.cli._drift_records import (
    CLUSTER,
    SUFFIXES,
    LiveCluster,
    Record,
    RecordReader,
    is_cluster,
    require_sides,
)
from smp.cli._drift_run import LARGE, Comparer, Found, load_fleet
from smp.cli._drift_state import DriftState
from smp.cli._errors import UsageError, printable, report
from smp.cli._exit_codes import Tally
from smp.cli._inputs import Inputs
from smp.cli._interrupts import Interruption
from smp.cli._options import (
    RULES_OPTION,
    SCHEMA_OPTIONS,
    CommandSettings,
    Schemas,
    declare,
    output_option,
    share_options,
)
from smp.cli._status_line import RunProgress
from smp.cli._workers import WorkerPool
from smp.errors import SmpError

_FORMATS: Final = ("summary", "ndjson", "parquet", "html", "junit", "sarif")
# Manifests whose live objects are asked for at a time.
_ASKED: Final = 100
_NO_PAIRS: Final = "no object found"
# So many objects are read before what takes no part is named.
_NAMED: Final = 1000


def run_drift(  # noqa: PLR0913  # its options
    *,
    desired: str | None,
    live: tuple[str, ...],
    contexts: tuple[str, ...],
    cluster: str,
    by_folder: bool,
    extra: bool,
    additions: bool,
    state: str | None,
    git: str | None,
    metrics: str | None,
    all_rows: bool,
    settings: CommandSettings,
) -> int:
    """Find out which live objects are not what their manifests ask for.

    Each side is a YAML, JSON, NDJSON or Parquet file, also .gz, .zst and by a URL such
    as s3://BUCKET/KEY, a directory of such files, - for standard input (NDJSON, or
    documents), and --live also `cluster` or `cluster:CONTEXT`: what kubectl would get
    there for each manifest; with --extra also the other objects of these kinds and
    namespaces. A line of NDJSON is an object, {"cluster": NAME, "object": {..}}, or an
    event of a watch; a row of Parquet has a column object, and may have cluster, group,
    version, kind, namespace, name and last_applied. A folder cluster=NAME names the
    cluster of what is in it.

    Objects are paired by cluster, group, kind, namespace and name, in any order and
    number: large inputs are paired on disk. An object is same, drift, hazard (drift,
    and the next apply would do harm), missing, extra or unreadable; docs/fleet.md has
    what is said of each. Nothing is missing of a cluster that was not read completely.
    All formats but the summary have the objects that are not the same; with --all, all.
    With --additions one that is the same but for fields that no manifest has, and that
    neither an applier nor a part of Kubernetes has set, is extra-fields. With --state
    FILE a run that was ended goes on where it was, and the next one compares only what
    has changed, and says what is new. --contexts reads the clusters of several contexts
    in one run. With --git each path has the commit that last set it in the manifest.
    """
    sides = DriftSides.of(
        desired, live, contexts, cluster, by_folder=by_folder, extra=extra
    )
    if find_spec("pyarrow") is None:
        raise SmpError(
            "smp drift needs pyarrow", code="missing-package", hint=extra_hint("fleet")
        )
    inputs = FleetInputs(settings.max_bytes)
    rules = read_rule_files(settings, inputs)
    today = date.today()  # noqa: DTZ011  # that of the reader
    expired = [ExpiredRule.of(rule) for rule in rules.expired(today)]
    history = None if git is None else History(git, inputs)
    kept = DriftState(state) if state else None
    salt = b""
    if kept is not None:
        salt = _salt(settings, inputs, expired, additions=additions)
    comparer = Comparer(
        Schemas(settings, inputs).catalog,
        rules.at(today),
        show_secrets=settings.show_secrets,
        additions=additions,
        state=state or "",
        salt=salt,
    )
    gaps = ReadingGaps()
    totals = DriftTotals(gaps, expired)
    with (
        Interruption() as interruption,
        closing(Parts()) as parts,
        # Arrow has threads, and a process that is forked may inherit their locks.
        closing(WorkerPool(comparer, settings.jobs, "spawn", load_fleet)) as workers,
    ):
        run = DriftRun(
            inputs, gaps, settings, totals, workers, history, all_rows=all_rows
        )
        output = output_of(settings.output, totals)
        try:
            read = b""
            if kept is not None:
                head = history.head if history is not None else ""
                read = _fingerprint(inputs, sides, (salt, head))
            if kept is None or all_rows or not run.write_known(read, kept, output):
                run.read(parts, sides, interruption)
                run.compare(parts, output, kept, interruption, read)
        finally:
            run.progress.clear()
            inputs.close()
            if interruption.is_requested:
                gaps.add("", "the run was interrupted", is_desired=False)
            output.end(totals.clusters())
            if metrics is not None:
                write_whole(metrics, totals.metrics())
            if kept is not None:
                kept.close()
        if interruption.is_requested:
            left = f"{run.left:,} of the objects that were read were not compared"
            report(f"smp: interrupted: {totals.line()}; {left}")
        # Where it was interrupted, the process ends here.
        return run.end()


COMMAND: Final[Command] = declare(
    run_drift,
    (
        CommandOption("--desired", "What should be: manifests.", kind="path"),
        CommandOption(
            "--live",
            "What is: live objects, or `cluster`. Repeatable: `cluster:CONTEXT`.",
            kind="path",
            is_repeatable=True,
        ),
        CommandOption(
            "--contexts",
            "Contexts of kubectl, each a cluster: `prod-*`. Repeatable.",
            metavar="GLOB",
            is_repeatable=True,
        ),
        CommandOption(
            "--cluster",
            "The name of the cluster of objects that name none.",
            metavar="NAME",
            default="",
        ),
        switch(
            "--by-folder", "The folders of a directory are called after the clusters."
        ),
        switch("--extra", "List a live cluster, to find objects without a manifest."),
        switch("--additions", "Find fields that were added by hand to live objects."),
        CommandOption(
            "--state",
            "File that keeps what is known, so that only changes are compared.",
            kind="path",
        ),
        CommandOption(
            "--git",
            "Repository with the manifests: the commit that last set each path.",
            kind="path",
        ),
        CommandOption(
            "--metrics",
            "File for Prometheus with what was found, written at the end.",
            kind="path",
        ),
        switch(
            "--all", "Print the objects that are the same, too.", parameter="all_rows"
        ),
        RULES_OPTION,
        output_option(*_FORMATS),
        *SCHEMA_OPTIONS,
        *share_options("quiet", "show_secrets", "max_bytes", "jobs"),
    ),
    example="drift --desired new.yaml --live live.yaml",
    exit_codes="0 no drift, 1 drift, 2 an error, 3 incomplete: something could\n"
    "not be read or compared, 130 an interrupt",
)


class DriftSides(msgspec.Struct, frozen=True):
    """What a run reads: both sides, and how objects get their clusters."""

    desired: str
    live: str
    contexts: list[str]
    cluster: str
    by_folder: bool
    extra: bool

    @classmethod
    def of(
        cls,
        desired: str | None,
        live: tuple[str, ...],
        globs: tuple[str, ...],
        cluster: str,
        *,
        by_folder: bool,
        extra: bool,
    ) -> DriftSides:
        """Return what options ask for. Raises UsageError and ConfigurationError."""
        contexts = contexts_of(live, globs)
        if desired is None or not (live or contexts):
            raise UsageError("give both '--desired' and '--live'")
        # Several contexts are read together, and named by their rows.
        side = CLUSTER if contexts else live[0]
        require_sides(desired, side)
        if extra and not is_cluster(side):
            raise UsageError("'--extra' is for '--live cluster': a file has all it has")
        return cls(desired, side, contexts, cluster, by_folder, extra)


class DriftRun:
    """One run: what is read, what is written, and what takes no part."""

    def __init__(
        self,
        inputs: Inputs,
        gaps: ReadingGaps,
        settings: CommandSettings,
        totals: DriftTotals,
        workers: WorkerPool[PairedPart, Found],
        history: History | None,
        *,
        all_rows: bool,
    ) -> None:
        self._inputs = inputs
        self._gaps = gaps
        self._settings = settings
        self._totals = totals
        self._workers = workers
        self._history = history
        self._all_rows = all_rows
        self._counts: dict[str, int] = {}
        self._failed = 0
        self._skipped = 0
        # The objects of both sides that were compared, or take no part.
        self._done = 0
        self._size = 0
        self.progress: RunProgress = RunProgress(is_wanted=not settings.quiet)

    @property
    def left(self) -> int:
        """How many of the objects that were read are not compared yet."""
        return sum(self._counts.values()) - self._done

    def read(self, parts: Parts, sides: DriftSides, interruption: Interruption) -> None:
        """Read both sides. Raises DocumentError for one that cannot be read."""

        def reader(*, is_desired: bool) -> RecordReader:
            return RecordReader(
                self._inputs,
                self._gaps,
                sides.cluster,
                by_folder=sides.by_folder,
                is_desired=is_desired,
            )

        live, extra = sides.live, sides.extra
        wanted = reader(is_desired=True).records(sides.desired)
        # A cluster has many objects that no manifest is about.
        if sides.contexts:
            fleet = LiveFleet(sides.contexts, self._inputs, self._gaps, extra=extra)
            self._add(parts, fleet.of_each(wanted), interruption, is_desired=True)
            with closing(fleet.records()) as found:
                self._add(parts, found, interruption, is_desired=False)
        elif is_cluster(live):
            # What is live is asked for where a manifest says that there is something.
            source = LiveCluster(live, self._inputs, self._gaps)
            while some := [*islice(wanted, _ASKED)]:
                self._add(parts, source.of(some), interruption, is_desired=False)
                self._add(parts, some, interruption, is_desired=True)
            if extra:
                self._add(parts, source.others(), interruption, is_desired=False)
        else:
            self._add(parts, wanted, interruption, is_desired=True)
            there = reader(is_desired=False).records(live)
            self._add(parts, there, interruption, is_desired=False)

    def _add(
        self,
        parts: Parts,
        records: Iterable[Record],
        interruption: Interruption,
        *,
        is_desired: bool,
    ) -> None:
        side = "desired" if is_desired else "live"
        for record in records:
            if interruption.is_requested:
                return
            parts.add(record, is_desired=is_desired)
            # It stands for an object that could not be read.
            if not record.place:
                continue
            if not is_desired:
                self._gaps.hear(record.cluster)
            self._size += len(record.text)
            count = self._counts[side] = self._counts.get(side, 0) + 1
            # What is named at once takes no memory.
            if count % _NAMED == 0:
                self._name([])
                self._expect()
            self.progress.count(sum(self._counts.values()), what="read")
        self._name([])
        self._expect()

    def _expect(self) -> None:
        """Start processes where what was read is worth them.

        They load what they need while this one still reads.
        """
        if self._size >= LARGE:
            self._workers.start()

    def compare(
        self,
        parts: Parts,
        output: Output,
        state: DriftState | None,
        interruption: Interruption,
        inputs: bytes,
    ) -> None:
        """Compare what was read, and write it; see ``write``."""
        if interruption.is_requested:
            return
        shares = ([part] for part in parts.finished())
        with closing(self._workers.results(shares)) as found:
            self.write(found, output, state, interruption, inputs)

    def write(
        self,
        found: Iterable[Found],
        output: Output,
        state: DriftState | None,
        interruption: Interruption,
        inputs: bytes,
    ) -> None:
        """Write the rows as they are found, and keep them.

        ``inputs`` is a hash of all that was read, b"" where that is not known.
        """
        self.progress.restart()
        for some in found:
            # Kept before it is printed: what is printed again costs nothing.
            if state is not None:
                state.add(some.digests, some.kept)
            self._name(some.skipped)
            self._totals.reused += some.reused
            self._done += len(some.skipped) + some.folded
            for row, part in zip(some.rows, some.parts, strict=True):
                self._done += 2 - (not row.desired_place or not row.live_place)
                row = self._totals.judge(row)  # noqa: PLW2901  # as far as it is known
                if self._history is not None and part is not None and row.paths:
                    commits = self._history.commits(part, row.paths)
                    row = msgspec.structs.replace(row, commits=commits)  # noqa: PLW2901  # the same row
                if state is not None:
                    row = state.compare(row)  # noqa: PLW2901  # the same row
                self._totals.add_row(row)
                if row.verdict != "same" or row.change or self._all_rows:
                    output.add(row)
            self.progress.count(self._done, self._done + self.left, "compared")
            if interruption.is_requested:
                return
        if state is not None:
            self._end_state(state, output, inputs)

    def _end_state(self, state: DriftState, output: Output, inputs: bytes) -> None:
        """Write what is gone, and keep what the run has found."""
        incomplete = {
            each.cluster for each in self._totals.clusters() if not each.complete
        }
        for row in state.find_gone(incomplete):
            output.add(row)
        self._totals.changes = state.changes
        self._name([])
        same = self._totals.same
        same.read, same.heard = self._counts, self._gaps.heard
        # What was left out is named by each run.
        is_whole = not (incomplete or self._failed or self._skipped)
        state.end(inputs if is_whole else b"", same)

    def write_known(self, inputs: bytes, state: DriftState, output: Output) -> bool:
        """Write the rows of the last run, if it has read the same; tell whether."""
        same = state.find_run(inputs)
        if same is None:
            return False
        self._totals.add_known(same)
        self._counts = {**same.read}
        for row in state.findings():
            self._totals.add_row(row)
            output.add(row)
        self._totals.reused = self._totals.verdicts.total()
        self._totals.changes = state.changes
        return True

    def _name(self, skipped: Iterable[Skipped]) -> None:
        """Name what could not be read, and what takes no part."""
        texts = [
            f"{document.source}:{document.line}: {reason}"
            for document, reason in self._inputs.skipped
        ]
        self._inputs.skipped.clear()
        texts += [f"{each.place}: {each.label}: {each.reason}" for each in skipped]
        self._skipped += len(texts)
        failures = self._inputs.new_problems()
        self._failed += len(failures)
        if texts or failures:
            self.progress.clear()
        for failure in failures:
            failure.show()
        if not self._settings.quiet:
            for text in texts:
                report(f"smp: skipped: {printable(text)}")

    def end(self) -> int:
        """Say how many objects there were; return the exit code."""
        self._name([])
        if not self._settings.quiet:
            read = sorted(self._counts.items())
            counts = [f"{count:,} {side}" for side, count in read]
            report(
                f"smp: read {', '.join(counts) or _NO_PAIRS}; "
                f"{self._skipped:,} skipped, {self._failed:,} could not be read"
            )
            if self._settings.output != "summary":
                report(f"smp: {self._totals.line()}")
        verdicts = self._totals.verdicts
        incomplete = [each for each in self._totals.clusters() if not each.complete]
        failed = self._failed + len(incomplete)
        total = verdicts.total()
        found = total - verdicts["same"] + len(self._totals.expired)
        return Tally(total, failed, found=found).exit_code()


def _fingerprint(
    inputs: FleetInputs, sides: DriftSides, facts: tuple[object, ...]
) -> bytes:
    """Return a hash of all that a run depends on; b"" where that is not known."""
    if is_cluster(sides.live):
        return b""
    try:
        found = [
            inputs.fingerprint(side, SUFFIXES) for side in (sides.desired, sides.live)
        ]
    except SmpError:
        # The run will say what cannot be read.
        return b""
    facts = (*facts, sides.cluster, sides.by_folder)
    if not all(found):
        return b""
    return blake2b(msgspec.msgpack.encode((facts, found)), digest_size=16).digest()


def _salt(
    settings: CommandSettings,
    inputs: Inputs,
    expired: list[ExpiredRule],
    *,
    additions: bool,
) -> bytes:
    """Return all that the rows depend on beside the objects, as a hash."""
    hashed = blake2b(digest_size=16)
    options = (settings.kubernetes, settings.show_secrets, additions)
    facts = (__version__, *options, [rule.rule for rule in expired])
    hashed.update(msgspec.json.encode(facts))
    # The answers depend on what these files say, and not on their names.
    for path in (*settings.crd, *settings.openapi, *settings.rules):
        for file in inputs.files(path):
            hashed.update(inputs.data(file))
    return hashed.digest()
