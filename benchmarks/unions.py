"""What unions add to an apply: normalizing and validating the patched object, beside
patching it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial

import smp
from benchmarks.inputs import Row, rows
from benchmarks.ours import schema_of
from benchmarks.report import Section, as_data, cell, table, times
from benchmarks.timing import Effort, Run, Sample, in_turns, timed


def section(effort: Effort) -> Section:
    """Time both on the rows that apply; the ratio is that of normalizing to patching."""
    measured = [
        (row.name, _measured(row, effort)) for row in rows() if row.operation == "apply"
    ]
    lines = table(
        ["case", "patch", "normalize", "of the patch", "validate"],
        ([name, *_cells(samples)] for name, samples in measured),
    )
    data = [
        {
            "name": name,
            "nanoseconds": {step: as_data(sample) for step, sample in samples.items()},
        }
        for name, samples in measured
    ]
    return Section("unions", "Unions; microseconds", lines, data)


def _measured(row: Row, effort: Effort) -> Mapping[str, Sample]:
    print(f"{row}: unions", file=sys.stderr)
    schema = schema_of(row)
    live, patch = row.story.live, row.story.patch
    patched = smp.apply_patch(live, patch, schema)
    steps: dict[str, Run] = {
        "patch": partial(smp.apply_patch, live, patch, schema),
        "normalize": partial(smp.normalize_unions, live, patched, schema, patch=patch),
        "validate": partial(smp.validate_unions, live, patched, schema),
    }
    return in_turns({name: timed(run) for name, run in steps.items()}, effort)


def _cells(samples: Mapping[str, Sample]) -> Iterator[str]:
    patching, normalizing = samples["patch"], samples["normalize"]
    yield from (
        cell(patching),
        cell(normalizing),
        times(normalizing.minimum / patching.minimum),
    )
    yield cell(samples["validate"])
