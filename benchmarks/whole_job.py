"""The whole job: an apply and a request, compared with their steps or JSON alone.

An apply is more than a patch: the result is normalized and validated, and compared with
what the configuration asks for. A request is more than an apply: its body is searched
for duplicate fields, and the new object is compared with its schema. A job is timed in
turns with what it is made of, so the ratio is the price of all the rest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import msgspec

import smp
from benchmarks.contenders import Go
from benchmarks.inputs import CASES, Case, Row
from benchmarks.ours import schema_of
from benchmarks.report import Section, as_data, cell, table, times
from benchmarks.timing import Effort, Ratio, Sample, Turn, in_turns, timed
from smp import handler
from smp._values.values import JSONObject, same

STEPS: Final = "three_way_patch + apply_patch"
WIRE_APPLY: Final = "wire.apply_patch"
JSON_ALONE: Final = "msgspec's decode + encode"
GO_STEPS: Final = "Go's CreateThreeWayMergePatch + StrategicMergePatch"
APPLY: Final = "apply_patch"
FEWER: Final = "200 elements"
WITHOUT_HAZARDS: Final = 'three_way_apply, hazards="ignore"'
DECODING: Final = "msgspec's decode"


class Inputs:
    """The documents of a case, for an apply and for a PATCH, and its schema."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.apply_row: Row = case.row("three_way")
        patch_row = case.row("apply")
        self.schema = schema_of(patch_row)
        self.live_text, self.patch_text = patch_row.texts
        # Parsed one by one, so that no two of them share a subtree.
        self.live = _parsed(self.live_text)
        self.patch = _parsed(self.patch_text)

    def require(self, *, correct: bool) -> None:
        """Raise RuntimeError where a job has another result than it should have."""
        if not correct:
            raise RuntimeError(f"{self.case.name}: a job has another result")


def _parsed(text: bytes) -> JSONObject:
    value: JSONObject = json.loads(text)
    return value


# The turns of a job, and of what it is compared with.
Turns: TypeAlias = tuple[Turn, Turn]


class Job(NamedTuple):
    """A job, what it is compared with, and the function that prepares both.

    The function checks the results, untimed, and raises RuntimeError where one is
    wrong. It returns None where the other is absent.
    """

    name: str
    against: str
    prepare: Callable[[Inputs], Turns | None]


class GrowingJob(NamedTuple):
    """A job whose time may grow by more than the elements of its list."""

    name: str
    against: str
    prepare: Callable[[int], Turn]


def _three_way_apply(inputs: Inputs) -> Turns:
    last_applied, modified, live = [_parsed(text) for text in inputs.apply_row.texts]
    schema = inputs.schema

    def steps() -> JSONObject:
        patch = smp.three_way_patch(last_applied, modified, live, schema)
        return smp.apply_patch(live, patch, schema)

    job = partial(smp.three_way_apply, last_applied, modified, live, schema)
    result = job()
    inputs.require(correct=result.converged)
    # The spec of a Pod is immutable, which does not change the work.
    codes = {violation.code for violation in result.violations}
    inputs.require(correct=codes <= {"field-immutable"})
    inputs.require(correct=not result.changes and same(result.object, steps()))
    return timed(job), timed(steps)


def _explain_apply(inputs: Inputs) -> Turns | None:
    objects = [_parsed(text) for text in inputs.apply_row.texts]
    schema = inputs.schema
    last_applied, modified, live = objects

    def steps() -> JSONObject:
        patch = smp.three_way_patch(last_applied, modified, live, schema)
        return smp.apply_patch(live, patch, schema)

    job = partial(smp.explain_apply, last_applied, modified, live, schema)
    inputs.require(correct="set" in {cause.code for cause in job()})
    return timed(job), timed(steps)


def _apply_reversed_tolerations(count: int) -> Turn:
    tolerations = [{"key": f"k{index}", "operator": "Exists"} for index in range(count)]
    before = _pod({"tolerations": tolerations})
    after = _pod({"tolerations": tolerations[::-1]})
    schema = smp.kubernetes().schema("v1", "Pod")
    return timed(partial(smp.three_way_apply, before, after, before, schema))


def _explain_renamed_variables(count: int) -> Turn:
    before, after = [
        _pod({"containers": [{"name": "app", "env": variables}]})
        for variables in (
            [{"name": f"{prefix}{index}", "value": "1"} for index in range(count)]
            for prefix in ("A", "B")
        )
    ]
    schema = smp.kubernetes().schema("v1", "Pod")
    return timed(partial(smp.explain_apply, before, after, before, schema))


def _pod(spec: object) -> dict[str, object]:
    names = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app"}}
    document: dict[str, object] = json.loads(json.dumps({**names, "spec": spec}))
    return document


def _hazards_of_an_apply(inputs: Inputs) -> Turns:
    last_applied, modified, live = [_parsed(text) for text in inputs.apply_row.texts]
    apply = partial(smp.three_way_apply, last_applied, modified, live, inputs.schema)
    without = partial(apply, hazards="ignore")
    inputs.require(correct=same(apply().object, without().object))
    inputs.require(correct=not without().hazards)
    return timed(partial(apply, hazards="warn")), timed(without)


def _patch_request(inputs: Inputs) -> Turns:
    live, patch, schema = inputs.live_text, inputs.patch_text, inputs.schema
    # The rows change Pods as no server would let them.
    options = handler.Options(immutable_fields=False)

    def job() -> bytes:
        return handler.patch(live, patch, handler.STRATEGIC, schema, options).body

    apply = partial(smp.wire.apply_patch, live, patch, schema)
    outcome = handler.patch(live, patch, handler.STRATEGIC, schema, options)
    inputs.require(correct=isinstance(outcome, handler.Accepted))
    inputs.require(correct=same(_parsed(outcome.body), _parsed(apply())))
    return timed(job), timed(apply)


def _create_request(inputs: Inputs) -> Turns:
    body, schema = inputs.live_text, inputs.schema

    def job() -> bytes:
        return handler.create(body, schema).body

    def json_alone() -> bytes:
        return msgspec.json.encode(msgspec.json.decode(body))

    outcome = handler.create(body, schema)
    inputs.require(correct=isinstance(outcome, handler.Accepted))
    inputs.require(correct=same(_parsed(outcome.body), inputs.live))
    return timed(job), timed(json_alone)


def _three_way_apply_of_bytes(inputs: Inputs) -> Turns | None:
    try:
        go = Go()
    except ImportError:
        return None
    row = inputs.apply_row
    last_applied, modified, live = row.texts
    apply = smp.wire.three_way_apply
    job = partial(apply, last_applied, modified, live, inputs.schema)
    result = job()
    inputs.require(correct=result.converged)
    # The spec of a Pod is immutable, which does not change the work.
    codes = {violation.code for violation in result.violations}
    inputs.require(correct=codes <= {"field-immutable"})
    inputs.require(correct=not result.changes)
    steps = go.prepare_operation("three_way_apply", row, _parsed(result.object))
    return timed(job), steps


def _unions_of_an_unchanged_object(inputs: Inputs) -> Turns:
    obj, schema = inputs.live, inputs.schema

    def job() -> tuple[smp.Normalization, Sequence[smp.Violation]]:
        normalization = smp.normalize_unions(obj, obj, schema)
        return normalization, smp.validate_unions(obj, obj, schema, ratchet=True)

    normalization, violations = job()
    inputs.require(correct=normalization.object is obj and not violations)
    return timed(job), timed(partial(smp.apply_patch, obj, inputs.patch, schema))


def _unions_and_enums_of_a_whole_object(inputs: Inputs) -> Turns:
    obj, schema = inputs.live, inputs.schema

    def job() -> tuple[smp.Violation, ...]:
        unions = smp.validate_unions(None, obj, schema)
        return unions + smp.validate_enums(obj, schema)

    inputs.require(correct=not job())
    return timed(job), timed(partial(msgspec.json.decode, inputs.live_text))


JOBS: Final = (
    Job("three_way_apply", STEPS, _three_way_apply),
    Job("explain_apply", STEPS, _explain_apply),
    Job("hazards of an apply", WITHOUT_HAZARDS, _hazards_of_an_apply),
    Job("handler.patch", WIRE_APPLY, _patch_request),
    Job("handler.create", JSON_ALONE, _create_request),
    Job("wire.three_way_apply", GO_STEPS, _three_way_apply_of_bytes),
    Job("unions, nothing changed", APPLY, _unions_of_an_unchanged_object),
    Job("unions and enums, all", DECODING, _unions_and_enums_of_a_whole_object),
)


# They are timed with four times as many elements.
GROWING: Final = (
    GrowingJob(
        "three_way_apply, reversed tolerations", FEWER, _apply_reversed_tolerations
    ),
    GrowingJob("explain_apply, renamed variables", FEWER, _explain_renamed_variables),
)


@dataclass(frozen=True, slots=True)
class Result:
    """The times of a job on a case, and of what it is compared with."""

    job: Job | GrowingJob
    case: str
    ours: Sample
    theirs: Sample

    @property
    def ratio(self) -> Ratio:
        """How many times as long the job takes."""
        what = f"whole job: {self.job.name}: {self.case}"
        return Ratio.of(what, self.job.against, self.ours, self.theirs)

    def cells(self) -> list[str]:
        """Print a line of the job's table."""
        ratio = self.ratio
        compared = f"{times(ratio.best)} ({times(ratio.typical)})"
        return [self.case, cell(self.ours), cell(self.theirs), compared]

    def as_data(self) -> dict[str, object]:
        """Return it as JSON."""
        nanoseconds = {
            self.job.name: as_data(self.ours),
            self.job.against: as_data(self.theirs),
        }
        return {"name": self.case, "job": self.job.name, "nanoseconds": nanoseconds}


def section(effort: Effort, cases: Sequence[Case] = CASES) -> Section:
    """Time the jobs on the cases; a job is left out where the other is absent."""
    results: list[Result] = []
    for case in cases:
        results += _measured(Inputs(case), effort)
    for growing in GROWING:
        turns = {"ours": growing.prepare(800), "theirs": growing.prepare(200)}
        samples = in_turns(turns, effort)
        ours, theirs = samples["ours"], samples["theirs"]
        results.append(Result(growing, "800 elements", ours, theirs))
    lines: list[str] = []
    for job in (*JOBS, *GROWING):
        rows = [result.cells() for result in results if result.job is job]
        if rows:
            lines += ["", *table(["row", job.name, job.against, "ratio"], rows)]
    return Section(
        "whole_job",
        "The whole job; microseconds",
        lines[1:],
        [result.as_data() for result in results],
        [result.ratio for result in results],
    )


def _measured(inputs: Inputs, effort: Effort) -> Iterator[Result]:
    for job in JOBS:
        print(f"whole job: {job.name}: {inputs.case.name}", file=sys.stderr)
        turns = job.prepare(inputs)
        if turns is not None:
            ours, theirs = turns
            samples = in_turns({"ours": ours, "theirs": theirs}, effort)
            yield Result(job, inputs.case.name, samples["ours"], samples["theirs"])
