"""Server-side apply and managed fields, beside Go.

Go is k8s.io/apimachinery/pkg/util/managedfields on structured-merge-diff, with the same
schemas. A server has both objects as bytes and answers with bytes; the second table has
objects that are parsed already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple

import smp
from benchmarks.live_objects import DEPLOYMENT_STATUS
from benchmarks.manifests import compact
from benchmarks.report import Section, as_data, cell, table, times
from benchmarks.stories import Story, custom_resource_definition, deployment, pod
from benchmarks.timing import Effort, Ratio, Run, Sample, Turn, in_turns, timed
from smp._values import codec
from smp._values.values import JSON, JSONObject, as_list, as_object, same
from smp.schema.openapi_writer import write_schemas

GO: Final = "Go's managedfields"
BYTES: Final = "bytes"
PARSED: Final = "parsed"
_MANAGER: Final = "shop"
_EDITOR: Final = "kubectl-edit"
_EARLIER: Final = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


class Case(NamedTuple):
    """A story, and the kind of its objects."""

    name: str
    api_version: str
    kind: str
    make: Callable[[], Story]

    @property
    def schema(self) -> smp.Schema:
        """Return the schema of the kind."""
        return smp.kubernetes().schema(self.api_version, self.kind)


CASES: Final = (
    Case("Pod, 2.9 KB", "v1", "Pod", partial(pod, 1, 21)),
    Case("Deployment, 12 KB", "apps/v1", "Deployment", deployment),
    Case(
        "CustomResourceDefinition, 190 KB",
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        custom_resource_definition,
    ),
    Case("Pod, 963 KB", "v1", "Pod", partial(pod, variables=200)),
)


@dataclass(frozen=True)
class Situation:
    """A write of an object that a manager has applied before."""

    case: Case
    name: str
    # What the Go program calls it: "server_side_apply" or "track".
    operation: str
    live: JSONObject
    written: JSONObject

    @property
    def manager(self) -> str:
        """Return who writes."""
        return _MANAGER if self.operation == "server_side_apply" else _EDITOR

    def over_objects(self) -> JSONObject:
        """Write, and return the new object."""
        return self._write(self.live, self.written)

    def over_bytes(self, live: bytes, written: bytes) -> bytes:
        """Write bytes, and return the new object as bytes."""
        found = self._write(codec.decode_object(live), codec.decode_object(written))
        return codec.encode(found)

    def _write(self, live: JSONObject, written: JSONObject) -> JSONObject:
        schema = self.case.schema
        if self.operation == "track":
            return smp.managed_fields.track(live, written, schema, manager=_EDITOR)
        result = smp.server_side_apply(live, written, schema, manager=_MANAGER)
        return result.object


def situations(case: Case) -> Sequence[Situation]:
    """Return the three situations of a case.

    The live object is one that was applied, and has defaults and a status since.
    """
    story = case.make()
    schema = case.schema
    applied = smp.server_side_apply(
        None, story.last_applied, schema, manager=_MANAGER, now=_EARLIER
    ).object
    entries = as_object(applied["metadata"])["managedFields"]
    metadata = {**as_object(story.live["metadata"]), "managedFields": entries}
    stored = {**story.live, "metadata": metadata}
    live = stored
    if "status" in stored:
        live = smp.managed_fields.track(
            {**stored, "status": {}},
            {**stored, "status": DEPLOYMENT_STATUS},
            schema,
            manager="kube-controller-manager",
            subresource="status",
            now=_EARLIER,
        )
    patch = smp.three_way_patch(story.last_applied, story.modified, live, schema)
    edited = smp.apply_patch(live, patch, schema)
    return [
        Situation(case, "no change", "server_side_apply", live, story.last_applied),
        Situation(case, "one field", "server_side_apply", live, story.modified),
        Situation(case, "update", "track", live, edited),
    ]


class Go:
    """The reference program, which times itself."""

    def __init__(self) -> None:
        """Start it. Raises ImportError where it cannot be built."""
        reference = import_module("tests.support.reference").reference()
        if reference is None:
            raise ImportError("benchmarks/reference cannot be built")
        self._reference = reference

    def turn(self, situation: Situation, form: str) -> Turn:
        """Prepare a situation.

        Raises RuntimeError where the result differs from that of this library.
        """
        name = self._define(situation.case)
        operation = situation.operation
        request: JSONObject = {
            "definitions_name": name,
            "kind": f"{situation.case.api_version} {situation.case.kind}",
            "manager": situation.manager,
            "current": situation.live,
            "modified": situation.written,
        }
        answer = self._reference.ask(operation, **request)
        # This library stores and defaults the object as well, which changes no entry.
        ours = _entries(situation.over_objects())
        if not same(_entries(answer.get("result")), ours):
            raise RuntimeError(f"{situation.case.name}: Go has another result")
        suffix = "" if form == BYTES else "_parsed"

        def turn(runs: int) -> Sequence[int]:
            timed = self._reference.ask(f"{operation}{suffix}", time=runs, **request)
            nanoseconds: Sequence[int] = timed["nanoseconds"]
            return nanoseconds

        return turn

    def _define(self, case: Case) -> str:
        """Define the schemas of a case, and return the name of the definitions."""
        root = str(case.schema.document).removeprefix("#")
        schemas = write_schemas([root], smp.kubernetes().load)
        group, _, version = case.api_version.rpartition("/")
        names: JSONObject = {"group": group, "version": version, "kind": case.kind}
        schemas[root] = {
            **schemas[root],
            "x-kubernetes-group-version-kind": [names],
        }
        self._reference.define(f"managed {case.kind}", {**schemas})
        return f"managed {case.kind}"


def _entries(written: Any) -> JSON:
    """Return the managed fields of an object, without their times."""
    metadata = as_object(as_object(written).get("metadata"))
    return [
        {name: value for name, value in as_object(entry).items() if name != "time"}
        for entry in as_list(metadata.get("managedFields"))
    ]


@dataclass(frozen=True, slots=True)
class Result:
    """The times of a situation, by form and contender."""

    situation: Situation
    form: str
    ours: Sample
    theirs: Sample | None

    @property
    def name(self) -> str:
        """Return the name of the row."""
        return f"{self.situation.case.name}: {self.situation.name}"

    def ratios(self) -> list[Ratio]:
        """Return how many times as long as Go this library takes, where there is Go."""
        if self.theirs is None:
            return []
        what = f"server-side apply, {self.form}: {self.name}"
        return [Ratio.of(what, GO, self.ours, self.theirs)]

    def cells(self) -> list[str]:
        """Print a line of the table."""
        situation = self.situation
        size = len(compact(situation.live)) + len(compact(situation.written))
        line = [self.name, f"{size:,}", cell(self.ours)]
        if self.theirs is None:
            return [*line, "-", "-"]
        ratio = self.ratios()[0]
        compared = f"{times(ratio.best)} ({times(ratio.typical)})"
        return [*line, cell(self.theirs), compared]

    def as_data(self) -> dict[str, object]:
        """Return it as JSON."""
        nanoseconds = {"smp": as_data(self.ours)}
        if self.theirs is not None:
            nanoseconds[GO] = as_data(self.theirs)
        return {"name": self.name, "form": self.form, "nanoseconds": nanoseconds}


def section(effort: Effort, cases: Sequence[Case] = CASES) -> Section:
    """Time the situations of the cases; without Go, this library alone."""
    try:
        go = Go()
    except ImportError:
        go = None
    results: list[Result] = []
    for case in cases:
        for situation in situations(case):
            results += [
                _measured(situation, form, go, effort) for form in (BYTES, PARSED)
            ]
    lines: list[str] = []
    for form in (BYTES, PARSED):
        rows = [result.cells() for result in results if result.form == form]
        head = [f"row, {form}", "input bytes", "smp", GO, "ratio"]
        lines += ["", *table(head, rows)]
    ratios: list[Ratio] = []
    for result in results:
        ratios += result.ratios()
    return Section(
        "server_side",
        "Server-side apply; microseconds",
        lines[1:],
        [result.as_data() for result in results],
        ratios,
    )


def _measured(situation: Situation, form: str, go: Go | None, effort: Effort) -> Result:
    name = f"{situation.case.name}: {situation.name}: {form}"
    print(f"server-side apply: {name}", file=sys.stderr)
    # Parsed from bytes, so that the objects share no subtree.
    texts = [compact(obj).encode() for obj in (situation.live, situation.written)]
    run: Run
    if form == BYTES:
        run = partial(situation.over_bytes, *texts)
    else:
        live, written = [codec.decode_object(text) for text in texts]
        unshared = Situation(
            situation.case, situation.name, situation.operation, live, written
        )
        run = unshared.over_objects
    turns = {"smp": timed(run)}
    if go is not None:
        turns[GO] = go.turn(situation, form)
    samples = in_turns(turns, effort)
    return Result(situation, form, samples["smp"], samples.get(GO))
