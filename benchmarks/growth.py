"""How the time grows with the number of elements, beside how it would grow in
proportion to the input.

Many elements need more memory than the processor's caches hold, and memory that the
operating system has to hand out anew for each run. That alone makes any program slower
than in proportion: parsing and printing JSON, too. What JSON alone does with the same
documents is measured in turns with the rest. And the calls are counted, of Python's
functions and of those in C, which neither noise nor memory changes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import Final, NamedTuple

import msgspec

import smp
from benchmarks.inputs import Operation, compact
from benchmarks.interpreted import of_source
from benchmarks.ours import OVER_BYTES, OVER_DICTS
from benchmarks.report import Section, as_data, cell, table
from benchmarks.shapes import SHAPES, Shape, elements
from benchmarks.timing import Effort, Ratio, Run, Sample, in_turns, timed
from smp.values import COMPILED, JSONObject

LINEAR: Final = "linear"
LINEAR_IN_CALLS: Final = "linear, in calls"
JSON_ALONE: Final = "the growth of JSON alone"
SIZES: Final = (1_000, 100_000)
_COUNTED: Final = (1_000, 10_000)
_PATIENCE: Final = 0.6  # seconds for each; there are many, and a run may take one
_FORMS: Final = ("bytes", "dicts")
_CHANGED: Final[dict[str, Callable[[int, int], bool]]] = {
    "one": lambda at, count: at == count // 2,
    "all": lambda _at, _count: True,
}


class Case(NamedTuple):
    """An operation after which one element of an object, or all, are others."""

    shape: Shape
    changed: str
    operation: Operation

    def __str__(self) -> str:
        return f"{self.shape.name}, {self.changed} changed: {self.operation.replace('_', '-')}"

    def documents(self, count: int) -> list[bytes]:
        """Return the inputs for so many elements."""
        changes = _CHANGED[self.changed]
        before = self.shape.holding(elements(count, lambda _: "old"))
        after = self.shape.holding(
            elements(count, lambda at: "new" if changes(at, count) else "old")
        )
        chosen: dict[Operation, Callable[[], list[JSONObject]]] = {
            "apply": lambda: [before, smp.two_way_patch(before, after, self.schema)],
            "two_way": lambda: [before, after],
            "three_way": lambda: [before, after, before],
        }
        return [compact(document).encode() for document in chosen[self.operation]()]

    def runs(self, texts: Sequence[bytes]) -> dict[str, Run]:
        """Return what is timed, by name."""
        return {
            "bytes": partial(OVER_BYTES[self.operation], *texts, self.schema),
            "dicts": partial(
                OVER_DICTS[self.operation], *map(json.loads, texts), self.schema
            ),
            "JSON": partial(_json_alone, texts),
        }

    @property
    def schema(self) -> smp.Schema:
        """The schema of the object."""
        return smp.kubernetes().schema(self.shape.api_version, self.shape.kind)


def _json_alone(texts: Sequence[bytes]) -> bytes:
    first, *_ = [msgspec.json.decode(text) for text in texts]
    return msgspec.json.encode(first)


@dataclass(frozen=True, slots=True)
class Grown:
    """The samples with few elements and with many, and their ratio over that of the
    input bytes.
    """

    few: Sample
    many: Sample
    of_linear: Ratio

    @classmethod
    def of(cls, few: Sample, many: Sample, linear: float) -> Grown:
        """Compare with growth by a factor."""
        ratio = Ratio.of("", LINEAR, many, few)
        return cls(
            few,
            many,
            ratio._replace(best=ratio.best / linear, typical=ratio.typical / linear),
        )


@dataclass(frozen=True, slots=True)
class Growth:
    """How a case grew in time, by what was timed; and in calls, of linear."""

    case: Case
    times: Mapping[str, Grown]
    calls: Mapping[str, float]

    def ratios(self) -> Iterator[Ratio]:
        """Compare both forms with growth in proportion, in time and in calls, and with
        JSON alone.
        """
        json_alone = self.times["JSON"].of_linear
        for form in _FORMS:
            of_linear = self.times[form].of_linear._replace(
                what=f"growth: {self.case}, {form}"
            )
            yield of_linear
            yield Ratio(
                of_linear.what,
                JSON_ALONE,
                of_linear.best / json_alone.best,
                of_linear.typical / json_alone.typical,
            )
            yield Ratio(
                of_linear.what, LINEAR_IN_CALLS, self.calls[form], self.calls[form]
            )

    def cells(self) -> Iterator[str]:
        """Print a line of the table."""
        yield str(self.case)
        for grown in self.times.values():
            yield from (
                cell(grown.many),
                f"{grown.of_linear.best:.2f} ({grown.of_linear.typical:.2f})",
            )
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
    called = _called(cases, counted)
    measured = [
        Growth(case, _in_time(case, effort, sizes), found)
        for case, found in zip(cases, called, strict=True)
    ]
    head = [
        "operation",
        *(column for form in (*_FORMS, "JSON alone") for column in (form, "of linear")),
    ]
    lines = table([*head, "calls, of linear"], ([*one.cells()] for one in measured))
    ratios = [ratio for one in measured for ratio in one.ratios()]
    return Section(
        "growth",
        f"{sizes[1]:,} elements; microseconds",
        lines,
        [one.as_data() for one in measured],
        ratios,
    )


def _cases() -> list[Case]:
    return [
        Case(shape, changed, operation)
        for shape in SHAPES
        for changed in _CHANGED
        for operation in OVER_DICTS
    ]


def _called(cases: Sequence[Case], sizes: tuple[int, int]) -> list[Mapping[str, float]]:
    """Count the calls of all cases: those of compiled functions go unseen, and so the
    source is interpreted for it.
    """
    if not COMPILED:
        return [_in_calls(case, sizes) for case in cases]
    command = [sys.executable, "-m", __name__, *map(str, sizes)]
    counted = subprocess.run(
        command, env=of_source(), stdout=subprocess.PIPE, check=True
    )
    found: list[Mapping[str, float]] = json.loads(counted.stdout)
    return found


def _in_time(case: Case, effort: Effort, sizes: tuple[int, int]) -> Mapping[str, Grown]:
    print(f"growth of {case}", file=sys.stderr)
    few, many = map(case.documents, sizes)
    turns = {
        (size, name): timed(run)
        for size, texts in (("few", few), ("many", many))
        for name, run in case.runs(texts).items()
    }
    briefly = replace(
        effort, warm_up=min(effort.warm_up, 1), patience=min(effort.patience, _PATIENCE)
    )
    samples = in_turns(turns, briefly)
    return {
        name: Grown.of(
            samples["few", name], samples["many", name], _ratio_of_sizes(few, many)
        )
        for name in (*_FORMS, "JSON")
    }


def _in_calls(case: Case, sizes: tuple[int, int]) -> Mapping[str, float]:
    few, many = map(case.documents, sizes)
    linear = _ratio_of_sizes(few, many)
    fewer, more = case.runs(few), case.runs(many)
    return {form: calls(more[form]) / calls(fewer[form]) / linear for form in _FORMS}


def _ratio_of_sizes(few: Sequence[bytes], many: Sequence[bytes]) -> float:
    return sum(map(len, many)) / sum(map(len, few))


def calls(run: Run) -> int:
    """Count the calls that a run makes."""
    run()  # types are linked when they are first used
    events: list[str] = []

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        events.append(event)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return events.count("call") + events.count("c_call")


if __name__ == "__main__":
    few, many = map(int, sys.argv[1:])
    print(json.dumps(_called(_cases(), (few, many))))
