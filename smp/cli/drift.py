"""``smp drift``: what differs between the manifests and the live objects of a fleet."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing
from datetime import date
from hashlib import blake2b
from importlib.util import find_spec
from typing import Final

import msgspec

from smp import __version__, custom_resources
from smp._values.extras import extra_hint
from smp.cli._commands import (
    Command,
    CommandOption,
    path_options,
    repeatable,
    switch,
    text_option,
)
from smp.cli._comparing import read_rule_files
from smp.cli._drift.brief import ExpiredRule, write_whole
from smp.cli._drift.comparing import Comparer, DriftRow, Found
from smp.cli._drift.files import FleetInputs
from smp.cli._drift.gaps import ReadingGaps
from smp.cli._drift.history import History
from smp.cli._drift.increments import DriftRun, Increment
from smp.cli._drift.output import DriftTotals, Output, output_of
from smp.cli._drift.pairs import Parts, Skipped
from smp.cli._drift.sides import DriftWorker, FleetReader, clients_of, worker_pool
from smp.cli._drift.state import KnownRun
from smp.cli._drift.telling import RunNotices
from smp.cli._errors import UsageError
from smp.cli._inputs import Inputs
from smp.cli._interrupts import Interruption
from smp.cli._objects import TextPart
from smp.cli._options import (
    ALL_NAMESPACES,
    CONNECTION_OPTIONS,
    DEEP_OPTION,
    FILENAME_OPTION,
    NAMESPACE_OPTION,
    PATHS,
    RULES_OPTION,
    SCHEMA_OPTIONS,
    DriftSettings,
    Schemas,
    format_option,
    share_options,
)
from smp.errors import DocumentError, SmpError

_FORMATS: Final = ("ndjson", "parquet", "html", "junit", "sarif")


def run_drift(settings: DriftSettings) -> int:
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
    --format has the objects that are not the same; with --all, all.
    With --additions one that is the same but for fields that no manifest has, and that
    neither an applier nor a part of Kubernetes has set, is extra-fields. With --state
    FILE a run that was ended goes on where it was, and the next one compares only what
    has changed, and says what is new. --contexts reads the clusters of several contexts
    in one run. Without manifests, --live cluster compares each live object of the
    namespace with what was applied last to it. With --git each path has the commit that
    last set it in the manifest.
    """
    _require_pyarrow()
    clients = clients_of(settings)
    if settings.paths and (settings.selector or settings.all_namespaces):
        raise UsageError("-l and -A choose live objects where no manifests are given")
    inputs = FleetInputs(settings.max_bytes, settings.exclude)
    rules = read_rule_files(settings, inputs)
    today = date.today()  # noqa: DTZ011  # that of the reader
    expired = [ExpiredRule.of(rule) for rule in rules.expired(today)]
    schemas = Schemas(settings, inputs)
    comparer = Comparer(schemas.catalog, rules.at(today), settings)
    gaps = ReadingGaps()
    totals = DriftTotals(gaps, expired)
    output = output_of(settings.report_format, totals)
    with (
        Interruption() as interruption,
        closing(Parts()) as parts,
        closing(worker_pool(comparer, inputs, parts, settings.jobs)) as workers,
    ):
        notices = RunNotices(inputs, totals, settings, interruption)
        history = None if settings.git is None else History(settings.git, inputs)
        increment = None
        if settings.state is not None:
            head = "" if history is None else history.head
            known = KnownRun(_salt(settings, inputs, expired), head)
            # A run goes on without a state that is broken.
            try:
                increment = Increment(
                    settings.state, known, notices, reads_all=settings.all_rows
                )
            except DocumentError as error:
                notices.fail(error)
        drift_run = DriftRun(inputs, gaps, notices, increment)
        try:
            FleetReader(drift_run, workers).read(settings, clients, schemas)
            if not interruption.is_requested:
                writer = RowWriter(drift_run, output, totals, history)
                shares = ([part] for part in parts.finished())
                writer.write(workers.results(shares, DriftWorker.compare))
        finally:
            notices.progress.clear()
            inputs.close()
            if interruption.is_requested:
                gaps.add("", "the run was interrupted", is_desired=False)
            output.end(totals.clusters())
            if settings.metrics is not None:
                write_whole(settings.metrics, totals.brief.metrics(totals.clusters()))
            if increment is not None:
                increment.state.close()
        notices.tell_interruption()
        unchecked = comparer.unchecked(totals.judged)
        notices.say(f"warning: {text}" for text in unchecked)
        # Where it was interrupted, the process ends here.
        return notices.end()


def _require_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise SmpError(
            "smp drift needs pyarrow", code="missing-package", hint=extra_hint("fleet")
        )
    # Its own allocator keeps 50 MB that it does not use. Processes inherit it.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


COMMAND: Final = Command(
    run_drift,
    settings=DriftSettings,
    options=(
        FILENAME_OPTION,
        DEEP_OPTION,
        path_options(
            "--live",
            "What is: live objects, or `cluster`. Repeatable: `cluster:CONTEXT`.",
        ),
        *CONNECTION_OPTIONS,
        NAMESPACE_OPTION,
        ALL_NAMESPACES,
        repeatable(
            "--contexts",
            "Contexts of kubectl, each a cluster: `prod-*`. Repeatable.",
            metavar="GLOB",
        ),
        text_option(
            "--cluster",
            "The name of the cluster of objects that name none.",
            metavar="NAME",
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
        format_option(*_FORMATS),
        *SCHEMA_OPTIONS,
        *share_options(
            "quiet", "show_secrets", "exclude", "max_bytes", "jobs", "selector"
        ),
    ),
    arguments=(PATHS,),
    example="drift -f new.yaml --live live.yaml",
    exit_codes="0 no drift, 1 drift, 2 an error, 3 incomplete: something could\n"
    "not be read or compared, 130 an interrupt",
)


def _salt(settings: DriftSettings, inputs: Inputs, expired: list[ExpiredRule]) -> bytes:
    hashed = blake2b(digest_size=16)
    has_cel = custom_resources.is_installed()
    facts = (settings.additions, settings.cluster, settings.by_folder, has_cel)
    options = (settings.kubernetes, settings.show_secrets)
    names = [rule.rule for rule in expired]
    hashed.update(msgspec.json.encode((__version__, *options, facts, names)))
    # The answers depend on what these files say, and not on their names.
    for path in (*settings.crd, *settings.openapi, *settings.rules):
        for file in inputs.files(path):
            hashed.update(inputs.data(file))
    return hashed.digest()


class RowWriter(msgspec.Struct, frozen=True):
    """Writes the rows of a run, and keeps them where it has a state."""

    run: DriftRun
    output: Output
    totals: DriftTotals
    history: History | None

    def _write_known(self) -> None:
        """Write and count what is known of granules that nobody looks at."""
        if self.run.increment is None:
            return
        for granule, same in self.run.increment.same_as_before():
            self.totals.add_same(granule[0], same)
            self.run.increment.add_same(granule, same)
        for row in self.run.increment.rows_as_before():
            self._write(self.totals.judge(row))
        self.totals.reused = self.totals.verdicts.total()

    def write(self, found: Generator[Found, None, None]) -> None:
        """Write what is known, the rows as they are found, and then what is gone."""
        self.run.notices.progress.restart()
        self._write_known()
        with closing(found):
            for some in found:
                self._write_some(some)
                if self.run.notices.is_interrupted:
                    return
        self._end()

    def _write_some(self, some: Found) -> None:
        notices, increment = self.run.notices, self.run.increment
        # Kept before it is printed: what is printed again costs nothing.
        if increment is not None:
            increment.keep(some.kept)
        self._skip(some.skipped)
        self.totals.reused += some.reused
        notices.done += len(some.skipped) + some.folded
        for granule, same in some.same.items():
            self.totals.add_same(granule[0], same)
            if increment is not None:
                increment.add_same(granule, same)
            notices.done += same[1] + same[2]
        for row, part in zip(some.rows, some.parts, strict=True):
            notices.done += 2 - (not row.desired_place or not row.live_place)
            self._write(self._with_commits(self.totals.judge(row), part))
        notices.progress.count(notices.done, notices.kept, "compared")

    def _with_commits(self, row: DriftRow, part: TextPart | None) -> DriftRow:
        if self.history is None or part is None or not row.paths:
            return row
        commits = self.history.commits(part, row.paths)
        return msgspec.structs.replace(row, commits=commits)

    def _write(self, row: DriftRow) -> None:
        if self.run.increment is not None:
            row = self.run.increment.compare(row)
        self.totals.add_row(row)
        self.output.add(row)

    def _skip(self, skipped: list[Skipped]) -> None:
        if self.run.increment is not None:
            self.run.increment.look_again(each.granule for each in skipped)
        texts = [f"{each.place}: {each.label}: {each.reason}" for each in skipped]
        self.run.notices.tell([], texts)

    def _end(self) -> None:
        if self.run.increment is None:
            return
        clusters = self.totals.clusters()
        incomplete = {each.cluster for each in clusters if not each.complete}
        for row in self.run.increment.end(incomplete):
            self.output.add(row)
        self.totals.brief.changes = self.run.increment.changes
