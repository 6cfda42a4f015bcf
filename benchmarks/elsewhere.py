"""A patch of one field takes the same time whatever else the object holds: the result
shares it, uncopied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import smp
from benchmarks.report import Section, as_data, cell, table
from benchmarks.shapes import SHAPES, Shape, elements
from benchmarks.timing import Effort, Ratio, Run, Sample, in_turns, timed
from smp.values import JSONObject

SIZES: Final = (10, 1_000, 100_000)
_PATCH: Final[JSONObject] = {"metadata": {"name": "shop"}}


def section(effort: Effort, sizes: Sequence[int] = SIZES) -> Section:
    """Time the patch on objects with few and with many elements elsewhere."""
    measured = [
        (shape, in_turns({size: timed(_apply(shape, size)) for size in sizes}, effort))
        for shape in SHAPES
    ]
    ratios = [_ratio(shape, samples) for shape, samples in measured]
    lines = table(
        ["elsewhere in the object", *(f"{size:,} elements" for size in sizes), "ratio"],
        (
            [
                shape.name,
                *map(cell, samples.values()),
                f"{ratio.best:.2f} ({ratio.typical:.2f})",
            ]
            for (shape, samples), ratio in zip(measured, ratios, strict=True)
        ),
    )
    data = [
        {
            "shape": shape.name,
            "nanoseconds": {
                str(size): as_data(sample) for size, sample in samples.items()
            },
        }
        for shape, samples in measured
    ]
    return Section(
        "elsewhere",
        "A patch of one field, over dicts; microseconds",
        lines,
        data,
        ratios,
    )


def _apply(shape: Shape, size: int) -> Run:
    schema = smp.kubernetes().schema(shape.api_version, shape.kind)
    return partial(
        smp.apply_patch, shape.holding(elements(size, lambda _: "old")), _PATCH, schema
    )


def _ratio(shape: Shape, samples: Mapping[int, Sample]) -> Ratio:
    few, *_, many = samples
    return Ratio.of(
        f"elsewhere: {shape.name}", f"{few} elements", samples[many], samples[few]
    )
