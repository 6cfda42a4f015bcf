"""The tables of rows and contenders: one for bytes in and bytes out, one for dicts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.contenders import Contender, Form
from benchmarks.inputs import Operation, Row
from benchmarks.report import Section, as_data, cell, table, times
from benchmarks.timing import Effort, Ratio, Sample, Turn, in_turns


@dataclass(frozen=True, slots=True)
class Result:
    """The samples of a row by contender, without those that have no such operation."""

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
        turns: dict[str, Turn] = {}
        for contender in contenders:
            turn = contender.prepare(row)
            if turn is not None:
                turns[contender.name] = turn
        size = sum(len(text) for text in row.texts)
        yield Result(row.name, row.operation, size, in_turns(turns, effort))


def as_section(
    form: Form, results: Sequence[Result], contenders: Sequence[Contender]
) -> Section:
    """Report results; the ratios are the first contender's to the others."""
    first, *others = [contender.name for contender in contenders]
    rows: list[list[str]] = []
    ratios: list[Ratio] = []
    for result in results:
        size = f"{result.input_bytes:,}"
        rows.append([str(result), size, *_cells(result, first, others)])
        ratios += _ratios(result, first, others)
    lines = table(["row", "input bytes", first, *others], rows)
    lines.append("")
    for contender in contenders:
        name = f"{contender.name} {contender.version}".strip()
        lines.append(f"- {name}: {contender.computes}")
    title = f"{form.capitalize()} in, {form} out; microseconds"
    data = [_as_data(result) for result in results]
    return Section(form, title, lines, data, ratios)


def _cells(result: Result, first: str, others: Sequence[str]) -> Iterator[str]:
    ours = result.samples[first]
    yield cell(ours)
    for name in others:
        theirs = result.samples.get(name)
        if theirs is None:
            yield "-"
        else:
            yield f"{cell(theirs)} {times(ours.minimum / theirs.minimum)}"


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
