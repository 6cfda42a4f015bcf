"""The tables of rows and contenders: one for bytes in and bytes out, one for dicts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.contenders import Contender, Form
from benchmarks.inputs import Operation, Row
from benchmarks.report import Section, as_data, cell, table, times
from benchmarks.timing import Effort, Ratio, Sample, in_turns


@dataclass(frozen=True, slots=True)
class Result:
    """What the contenders needed for a row; a contender that does nothing comparable is
    not in it.
    """

    name: str
    operation: Operation
    input_bytes: int
    samples: Mapping[str, Sample]

    def __str__(self) -> str:
        return f"{self.name}: {self.operation.replace('_', '-')}"


def section(
    form: Form, selected: Iterable[Row], contenders: Sequence[Contender], effort: Effort
) -> Section:
    """Time the contenders of a form on the rows."""
    return as_section(form, [*_measured(selected, contenders, effort)], contenders)


def _measured(
    selected: Iterable[Row], contenders: Sequence[Contender], effort: Effort
) -> Iterator[Result]:
    for row in selected:
        print(row, file=sys.stderr)
        prepared = {one.name: one.prepare(row) for one in contenders}
        turns = {name: turn for name, turn in prepared.items() if turn is not None}
        yield Result(
            row.name, row.operation, sum(map(len, row.texts)), in_turns(turns, effort)
        )


def as_section(
    form: Form, results: Sequence[Result], contenders: Sequence[Contender]
) -> Section:
    """Report results; the ratios are the first contender's to the others."""
    first, *others = [one.name for one in contenders]
    head = ["row", "input bytes", first, *others]
    lines = table(
        head,
        (
            [str(one), f"{one.input_bytes:,}", *_cells(one, first, others)]
            for one in results
        ),
    )
    described = [
        f"- {f'{one.name} {one.version}'.strip()}: {one.computes}" for one in contenders
    ]
    ratios = [ratio for result in results for ratio in _ratios(result, first, others)]
    title = f"{form.capitalize()} in, {form} out; microseconds"
    return Section(
        form, title, [*lines, "", *described], [*map(_as_data, results)], ratios
    )


def _cells(result: Result, first: str, others: Sequence[str]) -> Iterator[str]:
    ours = result.samples[first]
    yield cell(ours)
    for name in others:
        theirs = result.samples.get(name)
        yield (
            "-"
            if theirs is None
            else f"{cell(theirs)} {times(ours.minimum / theirs.minimum)}"
        )


def _ratios(result: Result, first: str, others: Sequence[str]) -> Iterator[Ratio]:
    for name in others:
        if name in result.samples:
            yield Ratio.of(
                str(result), name, result.samples[first], result.samples[name]
            )


def _as_data(result: Result) -> dict[str, object]:
    return {
        "name": result.name,
        "operation": result.operation,
        "input_bytes": result.input_bytes,
        "nanoseconds": {
            name: as_data(sample) for name, sample in result.samples.items()
        },
    }
