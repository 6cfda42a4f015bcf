"""A patch of one field takes the same time however large the rest of the object is.

The result shares the rest of the object and does not copy it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import smp
from benchmarks.report import Section, as_data, cell, table
from benchmarks.shapes import SHAPES, Shape, elements
from benchmarks.timing import Effort, Ratio, Run, Sample, in_turns, timed
from smp._values.values import JSONObject

SIZES: Final = (10, 1_000, 100_000)
_PATCH: Final[JSONObject] = {"metadata": {"name": "shop"}}


def section(effort: Effort, sizes: Sequence[int] = SIZES) -> Section:
    """Time the patch on objects with few and with many elements elsewhere."""
    head = ["elsewhere in the object", *(f"{size:,} elements" for size in sizes)]
    rows: list[list[str]] = []
    data: list[object] = []
    ratios: list[Ratio] = []
    for shape in SHAPES:
        turns = {size: timed(_apply(shape, size)) for size in sizes}
        samples = in_turns(turns, effort)
        ratio = _ratio(shape, samples)
        ratios.append(ratio)
        cells = [cell(sample) for sample in samples.values()]
        rows.append([shape.name, *cells, f"{ratio.best:.2f} ({ratio.typical:.2f})"])
        times = {str(size): as_data(sample) for size, sample in samples.items()}
        data.append({"shape": shape.name, "nanoseconds": times})
    title = "A patch of one field, over dicts; microseconds"
    return Section("elsewhere", title, table([*head, "ratio"], rows), data, ratios)


def _apply(shape: Shape, size: int) -> Run:
    schema = smp.kubernetes().schema(shape.api_version, shape.kind)
    obj = shape.make_object(elements(size, lambda _: "old"))
    return partial(smp.apply_patch, obj, _PATCH, schema)


def _ratio(shape: Shape, samples: Mapping[int, Sample]) -> Ratio:
    few, *_, many = samples
    return Ratio.of(
        f"elsewhere: {shape.name}", f"{few} elements", samples[many], samples[few]
    )
