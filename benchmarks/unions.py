"""What unions add to an apply: normalizing and validating the patched object."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial

import smp
from benchmarks.inputs import Row, rows
from benchmarks.ours import schema_of
from benchmarks.report import Section, as_data, cell, table, times
from benchmarks.timing import Effort, Run, Sample, in_turns, timed


def section(effort: Effort) -> Section:
    """Time the steps on the rows that apply, and compare normalizing with patching."""
    cells: list[list[str]] = []
    data: list[object] = []
    for row in rows():
        if row.operation == "apply":
            samples = _measured(row, effort)
            cells.append([row.name, *_cells(samples)])
            nanoseconds = {step: as_data(sample) for step, sample in samples.items()}
            data.append({"name": row.name, "nanoseconds": nanoseconds})
    lines = table(["case", "patch", "normalize", "of the patch", "validate"], cells)
    return Section("unions", "Unions; microseconds", lines, data)


def _measured(row: Row, effort: Effort) -> Mapping[str, Sample]:
    print(f"{row}: unions", file=sys.stderr)
    schema = schema_of(row)
    live = row.story.live
    patch = row.story.patch
    patched = smp.apply_patch(live, patch, schema)
    steps: dict[str, Run] = {
        "patch": partial(smp.apply_patch, live, patch, schema),
        "normalize": partial(smp.normalize_unions, live, patched, schema, patch=patch),
        "validate": partial(smp.validate_unions, live, patched, schema),
    }
    return in_turns({name: timed(run) for name, run in steps.items()}, effort)


def _cells(samples: Mapping[str, Sample]) -> list[str]:
    patch = samples["patch"]
    normalize = samples["normalize"]
    ratio = times(normalize.minimum / patch.minimum)
    return [cell(patch), cell(normalize), ratio, cell(samples["validate"])]
