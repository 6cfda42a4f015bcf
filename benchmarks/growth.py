"""How the time grows with the number of elements, compared with linear growth.

Many elements need more memory than the processor's caches hold, and memory that the
operating system has to provide again for each run. That alone makes the growth of any
program more than linear, also that of parsing and printing JSON. So JSON alone
is measured with the same documents, in turns with the rest. And the calls of functions,
in Python and in C, are counted, which neither other load nor memory changes.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from types import FrameType
from typing import Final, NamedTuple

import msgspec

import smp
from benchmarks.inputs import Operation
from benchmarks.interpreted import source_environment
from benchmarks.manifests import compact
from benchmarks.ours import OVER_BYTES, OVER_DICTS
from benchmarks.report import Section, as_data, cell, table
from benchmarks.shapes import SHAPES, Shape, elements
from benchmarks.timing import Effort, Ratio, Run, Sample, Turn, in_turns, timed
from smp._values.values import COMPILED

LINEAR: Final = "linear"
LINEAR_IN_CALLS: Final = "linear, in calls"
JSON_ALONE: Final = "the growth of JSON alone"
SIZES: Final = (1_000, 100_000)
_COUNTED: Final = (1_000, 10_000)
_PATIENCE: Final = 0.6  # seconds for each of many cases, a run of which may take one
_FORMS: Final = ("bytes", "dicts")
_CHANGED: Final = ("one", "all")


class Case(NamedTuple):
    """An operation that changes one element of an object, or all of them."""

    shape: Shape
    changed: str
    operation: Operation

    def __str__(self) -> str:
        operation = self.operation.replace("_", "-")
        return f"{self.shape.name}, {self.changed} changed: {operation}"

    def documents(self, count: int) -> list[bytes]:
        """Return the inputs for so many elements."""

        def value(index: int) -> str:
            is_changed = self.changed == "all" or index == count // 2
            return "new" if is_changed else "old"

        before = self.shape.make_object(elements(count, lambda _: "old"))
        after = self.shape.make_object(elements(count, value))
        if self.operation == "apply":
            documents = [before, smp.two_way_patch(before, after, self.schema)]
        elif self.operation == "two_way":
            documents = [before, after]
        else:
            documents = [before, after, before]
        return [compact(document).encode() for document in documents]

    def runs(self, texts: Sequence[bytes]) -> dict[str, Run]:
        """Return the calls that are timed, by name."""
        documents = [json.loads(text) for text in texts]
        return {
            "bytes": partial(OVER_BYTES[self.operation], *texts, self.schema),
            "dicts": partial(OVER_DICTS[self.operation], *documents, self.schema),
            "JSON": partial(_json_alone, texts),
        }

    @property
    def schema(self) -> smp.Schema:
        """The schema of the object."""
        return smp.kubernetes().schema(self.shape.api_version, self.shape.kind)


def _json_alone(texts: Sequence[bytes]) -> bytes:
    documents = [msgspec.json.decode(text) for text in texts]
    return msgspec.json.encode(documents[0])


@dataclass(frozen=True, slots=True)
class Grown:
    """The samples with few elements and with many.

    ``of_linear`` is the ratio of their times, divided by that of the input bytes.
    """

    few: Sample
    many: Sample
    of_linear: Ratio

    @classmethod
    def of(cls, few: Sample, many: Sample, linear: float) -> Grown:
        """Compare with growth by a factor."""
        ratio = Ratio.of("", LINEAR, many, few)
        best = ratio.best / linear
        typical = ratio.typical / linear
        return cls(few, many, ratio._replace(best=best, typical=typical))


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth of a case in time, by the name of the call, and in calls by form."""

    case: Case
    times: Mapping[str, Grown]
    calls: Mapping[str, float]

    def ratios(self) -> Iterator[Ratio]:
        """Compare both forms with linear growth, in time and calls, and with JSON."""
        json_alone = self.times["JSON"].of_linear
        for form in _FORMS:
            what = f"growth: {self.case}, {form}"
            of_linear = self.times[form].of_linear
            yield of_linear._replace(what=what)
            best = of_linear.best / json_alone.best
            typical = of_linear.typical / json_alone.typical
            yield Ratio(what, JSON_ALONE, best, typical)
            yield Ratio(what, LINEAR_IN_CALLS, self.calls[form], self.calls[form])

    def cells(self) -> Iterator[str]:
        """Print a line of the table."""
        yield str(self.case)
        for grown in self.times.values():
            yield cell(grown.many)
            yield f"{grown.of_linear.best:.2f} ({grown.of_linear.typical:.2f})"
        yield f"{max(self.calls.values()):.2f}"

    def as_data(self) -> dict[str, object]:
        """Return it as JSON."""
        return {
            "operation": str(self.case),
            "nanoseconds": {
                name: {"few": as_data(grown.few), "many": as_data(grown.many)}
                for name, grown in self.times.items()
            },
            "of_linear": {
                name: grown.of_linear.best for name, grown in self.times.items()
            },
            "calls_of_linear": {**self.calls},
        }


def section(
    effort: Effort, sizes: tuple[int, int] = SIZES, counted: tuple[int, int] = _COUNTED
) -> Section:
    """Measure how the operations grow."""
    cases = _cases()
    calls_of_cases = _count_calls(cases, counted)
    rows: list[list[str]] = []
    data: list[object] = []
    ratios: list[Ratio] = []
    for case, calls_of_case in zip(cases, calls_of_cases, strict=True):
        growth = Growth(case, _in_time(case, effort, sizes), calls_of_case)
        rows.append([*growth.cells()])
        data.append(growth.as_data())
        ratios += growth.ratios()
    head = ["operation"]
    for form in (*_FORMS, "JSON alone"):
        head += [form, "of linear"]
    head.append("calls, of linear")
    title = f"{sizes[1]:,} elements; microseconds"
    return Section("growth", title, table(head, rows), data, ratios)


def _cases() -> list[Case]:
    combinations = product(SHAPES, _CHANGED, OVER_DICTS)
    return [
        Case(shape, changed, operation) for shape, changed, operation in combinations
    ]


def _count_calls(
    cases: Sequence[Case], sizes: tuple[int, int]
) -> list[Mapping[str, float]]:
    """Count the calls of all cases.

    A profiler does not see calls of compiled functions; where smp is compiled, another
    process counts those of the interpreted source.
    """
    if not COMPILED:
        return [_in_calls(case, sizes) for case in cases]
    few, many = sizes
    completed = subprocess.run(
        [sys.executable, "-m", __name__, str(few), str(many)],
        env=source_environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    counts: list[Mapping[str, float]] = json.loads(completed.stdout)
    return counts


def _in_time(case: Case, effort: Effort, sizes: tuple[int, int]) -> Mapping[str, Grown]:
    print(f"growth of {case}", file=sys.stderr)
    few = case.documents(sizes[0])
    many = case.documents(sizes[1])
    turns: dict[tuple[str, str], Turn] = {}
    for size, texts in (("few", few), ("many", many)):
        for name, run in case.runs(texts).items():
            turns[size, name] = timed(run)
    briefly = replace(
        effort, warm_up=min(effort.warm_up, 1), patience=min(effort.patience, _PATIENCE)
    )
    samples = in_turns(turns, briefly)
    linear = _ratio_of_sizes(few, many)
    return {
        name: Grown.of(samples["few", name], samples["many", name], linear)
        for name in (*_FORMS, "JSON")
    }


def _in_calls(case: Case, sizes: tuple[int, int]) -> Mapping[str, float]:
    few = case.documents(sizes[0])
    many = case.documents(sizes[1])
    runs_of_few = case.runs(few)
    runs_of_many = case.runs(many)
    linear = _ratio_of_sizes(few, many)
    growth: dict[str, float] = {}
    for form in _FORMS:
        growth[form] = calls(runs_of_many[form]) / calls(runs_of_few[form]) / linear
    return growth


def _ratio_of_sizes(few: Sequence[bytes], many: Sequence[bytes]) -> float:
    return sum(len(text) for text in many) / sum(len(text) for text in few)


def calls(run: Run) -> int:
    """Count the calls that a run makes."""
    run()  # not counted: types are linked when they are first used
    events: list[str] = []

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        events.append(event)

    # The finalizers of what a collection finds are calls as well.
    gc.disable()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return events.count("call") + events.count("c_call")


if __name__ == "__main__":
    print(json.dumps(_count_calls(_cases(), (int(sys.argv[1]), int(sys.argv[2])))))
