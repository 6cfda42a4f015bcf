"""``smp drift``: what differs between the manifests and the live objects of a fleet."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from hashlib import blake2b
from importlib.util import find_spec
from itertools import islice
from typing import Final

import msgspec

from smp import __version__
from smp.cli._commands import Command, CommandOption, switch
from smp.cli._comparing import read_rule_files
from smp.cli._drift_history import History
from smp.cli._drift_output import DriftTotals, Output, output_of
from smp.cli._drift_pairs import PairedPart, Parts, Skipped
from smp.cli._drift_records import (
    LiveCluster,
    Record,
    RecordReader,
    is_cluster,
    require_sides,
)
from smp.cli._drift_run import LARGE, Comparer, DriftState, Found, load_fleet
from smp.cli._errors import UsageError, printable, report
from smp.cli._inputs import Inputs
from smp.cli._interrupts import Interruption
from smp.cli._options import (
    RULES_OPTION,
    SCHEMA_OPTIONS,
    Schemas,
    Settings,
    declared,
    output_option,
    shared_options,
)
from smp.cli._run import exit_code_of
from smp.cli._status_line import RunProgress
from smp.cli._workers import WorkerPool
from smp.comparison import Rules
from smp.errors import SmpError
from smp.extras import extra_hint

_FORMATS: Final = ("summary", "ndjson", "parquet", "html", "junit", "sarif")
# Manifests whose live objects are asked for at a time.
_ASKED: Final = 100
_NO_PAIRS: Final = "no object found"
# So many objects are read before what takes no part is named.
_NAMED: Final = 1000


def run_drift(  # noqa: PLR0913  # its options
    *,
    desired: str | None,
    live: str | None,
    cluster: str,
    by_folder: bool,
    extra: bool,
    state: str | None,
    git: str | None,
    all_rows: bool,
    settings: Settings,
) -> int:
    """Find out which live objects are not what their manifests ask for.

    Each side is a YAML, JSON, NDJSON or Parquet file, a directory of such files, - for
    standard input (NDJSON, or documents), and --live also `cluster` or
    `cluster:CONTEXT`: what kubectl would get there for each manifest; with --extra also
    the other objects of these kinds and namespaces. A line of NDJSON is an object, or
    {"cluster": NAME, "object": {..}}; a row of Parquet has a column object, and may
    have cluster, group, version, kind, namespace, name and last_applied.

    Objects are paired by cluster, group, kind, namespace and name, in any order and
    number: large inputs are paired on disk. An object is same, drift, hazard (drift,
    and the next apply would do harm), missing, extra or unreadable; docs/fleet.md has
    what is said of each. All formats but the summary have the objects that are not the
    same; with --all, all. With --state FILE a run that was ended goes on where it was,
    and the next one compares only what has changed. With --git each path has the
    commit that last set it in the manifest.
    """
    if desired is None or live is None:
        raise UsageError("give both '--desired' and '--live'")
    require_sides(desired, live)
    if extra and not is_cluster(live):
        raise UsageError("'--extra' is for '--live cluster': a file has all it has")
    if find_spec("pyarrow") is None:
        raise SmpError(
            "smp drift needs pyarrow", code="missing-package", hint=extra_hint("fleet")
        )
    inputs = Inputs(settings.max_bytes)
    rules = read_rule_files(settings, inputs)
    history = None if git is None else History(git, inputs)
    comparer = Comparer(
        Schemas(settings, inputs).catalog,
        Rules(tuple(rules)),
        show_secrets=settings.show_secrets,
        state=state or "",
        salt=_salt(settings, inputs) if state else b"",
    )
    totals = DriftTotals()
    with (
        Interruption() as interruption,
        closing(Parts()) as parts,
        # Arrow has threads, and a process that is forked may inherit their locks.
        closing(WorkerPool(comparer, settings.jobs, "spawn", load_fleet)) as workers,
    ):
        run = DriftRun(inputs, settings, totals, workers, history, all_rows=all_rows)
        output = output_of(settings.output, totals)
        kept = DriftState(state) if state else None
        try:
            run.read(
                parts,
                desired,
                live,
                cluster,
                interruption,
                by_folder=by_folder,
                extra=extra,
            )
            if not interruption.is_requested:
                shares = ([part] for part in parts.finished())
                with closing(workers.results(shares)) as found:
                    run.write(found, output, kept, interruption)
        finally:
            run.progress.clear()
            inputs.close()
            output.end()
            if kept is not None:
                kept.close()
        if interruption.is_requested:
            left = f"{run.left:,} of the objects that were read were not compared"
            report(f"smp: interrupted: {totals.line()}; {left}")
        # Where it was interrupted, the process ends here.
        return run.end()


COMMAND: Final[Command] = declared(
    run_drift,
    (
        CommandOption("--desired", "What should be: manifests.", kind="path"),
        CommandOption("--live", "What is: live objects, or `cluster`.", kind="path"),
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
        switch(
            "--all", "Print the objects that are the same, too.", parameter="all_rows"
        ),
        RULES_OPTION,
        output_option(*_FORMATS),
        *SCHEMA_OPTIONS,
        *shared_options("quiet", "show_secrets", "max_bytes", "jobs"),
    ),
    example="drift --desired new.yaml --live live.yaml",
    exit_codes="0 no drift, 1 drift, 2 an error, 3 something could not be\n"
    "read or compared, 130 an interrupt",
)


class DriftRun:
    """One run: what is read, what is written, and what takes no part."""

    def __init__(
        self,
        inputs: Inputs,
        settings: Settings,
        totals: DriftTotals,
        workers: WorkerPool[PairedPart, Found],
        history: History | None,
        *,
        all_rows: bool,
    ) -> None:
        self._inputs = inputs
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

    def read(
        self,
        parts: Parts,
        desired: str,
        live: str,
        cluster: str,
        interruption: Interruption,
        *,
        by_folder: bool,
        extra: bool,
    ) -> None:
        """Read both sides. Raises DocumentError for one that cannot be read."""
        reader = RecordReader(self._inputs, cluster, by_folder=by_folder)
        wanted = reader.records(desired)
        # A cluster has many objects that no manifest is about.
        if is_cluster(live):
            # What is live is asked for where a manifest says that there is something.
            source = LiveCluster(live, self._inputs)
            while some := [*islice(wanted, _ASKED)]:
                self._add(parts, source.of(some), interruption, is_desired=False)
                # Of others it is not known whether they are missing.
                known = [each for each in some if each not in source.unknown]
                self._add(parts, known, interruption, is_desired=True)
            if extra:
                self._add(parts, source.others(), interruption, is_desired=False)
        else:
            self._add(parts, wanted, interruption, is_desired=True)
            there = RecordReader(self._inputs, cluster, by_folder=by_folder).records(
                live
            )
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

    def write(
        self,
        found: Iterable[Found],
        output: Output,
        state: DriftState | None,
        interruption: Interruption,
    ) -> None:
        """Write the rows as they are found, and keep them."""
        self.progress.restart()
        for some in found:
            # Kept before it is printed: what is printed again costs nothing.
            if state is not None:
                state.add(some.digests, some.kept)
            self._name(some.skipped)
            self._totals.reused += some.reused
            self._done += len(some.skipped)
            for row, part in zip(some.rows, some.parts, strict=True):
                self._done += 2 - (not row.desired_place or not row.live_place)
                self._totals.add_row(row)
                if row.verdict == "same" and not self._all_rows:
                    continue
                if self._history is not None and part is not None and row.paths:
                    commits = self._history.commits(part, row.paths)
                    row = msgspec.structs.replace(row, commits=commits)  # noqa: PLW2901  # the same row
                output.add(row)
            self.progress.count(self._done, self._done + self.left, "compared")
            if interruption.is_requested:
                return
        if state is not None:
            state.end()

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
        good = verdicts.total() - verdicts["unreadable"]
        return exit_code_of(
            done=good,
            failed=self._failed + verdicts["unreadable"],
            found=good > verdicts["same"],
        )


def _salt(settings: Settings, inputs: Inputs) -> bytes:
    """Return all that the rows depend on beside the objects, as a hash."""
    hashed = blake2b(digest_size=16)
    facts = (__version__, settings.kubernetes, settings.show_secrets)
    hashed.update(msgspec.json.encode(facts))
    # The answers depend on what these files say, and not on their names.
    for path in (*settings.crd, *settings.openapi, *settings.rules):
        for file in inputs.files(path):
            hashed.update(inputs.data(file))
    return hashed.digest()
