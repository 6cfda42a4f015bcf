"""Time what unions add to an apply: normalizing and validating the patched object, beside patching it.

    python benchmarks/unions.py            every case; --quick for a rough picture

Prints the best time in microseconds, in parentheses the median, and how many times as long as the patch
alone the normalization takes. A type that no union can be reached from costs one look-up.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import smp
from benchmarks.inputs import Row, rows
from benchmarks.timing import FULL, QUICK, Effort, Sample, measure


def table(effort: Effort) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| case | patch | normalize | of the patch | validate |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for row in rows():
        if row.operation == "apply":
            yield _line(row, effort)


def _line(row: Row, effort: Effort) -> str:
    schema = smp.kubernetes().schema(row.api_version, row.kind)
    live, patch = row.story.live, row.story.patch
    patched = smp.apply_patch(live, patch, schema)
    patching = measure(lambda: smp.apply_patch(live, patch, schema), effort)
    normalizing = measure(lambda: smp.normalize_unions(live, patched, schema, patch=patch), effort)
    validating = measure(lambda: smp.validate_unions(live, patched, schema), effort)
    share = f"{normalizing.minimum / patching.minimum:.2g}x"
    return f"| {row.name} | {_cell(patching)} | {_cell(normalizing)} | {share} | {_cell(validating)} |"


def _cell(sample: Sample) -> str:
    return f"{sample.minimum / 1000:,.1f} ({sample.median / 1000:,.1f})"


if __name__ == "__main__":
    print("\n".join(table(QUICK if "--quick" in sys.argv[1:] else FULL)))
