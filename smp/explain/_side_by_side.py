"""The objects of an apply or a diff, one path under the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from smp.explain._sides import NAMES, Sides
from smp.paths import Path
from smp.schema.model import Type
from smp.values import ABSENT, JSON, Absent, JSONObject, same


class SideBySide(msgspec.Struct, frozen=True):
    """What several objects have at one path: values in the order of the objects.

    ``is_open`` tells that the paths below follow; otherwise the values are whole.
    """

    path: Path
    values: tuple[JSON | Absent, ...]
    is_open: bool
    is_equal: bool


def side_by_side(
    objects: Mapping[str, JSONObject | None], type_: Type
) -> Iterator[SideBySide]:
    """Go along objects side by side, and yield what they have at each path.

    ``objects`` are by the names last-applied, manifest, live and result; one that is
    None takes no part. Elements of lists are found by their keys. What is equal in all
    objects that have it is yielded as a whole.
    """
    names = [name for name, obj in objects.items() if obj is not None]
    values: dict[str, JSON | Absent] = dict.fromkeys(NAMES, ABSENT)
    for name in names:
        values[name] = objects[name]
    yield from _below(Sides(values, type_, None, Path(), Path()), names)


def _below(sides: Sides, names: list[str]) -> Iterator[SideBySide]:
    values = tuple([sides.values[name] for name in names])
    is_equal = all(same(value, values[0]) for value in values)
    present = [value for value in values if not isinstance(value, Absent)]
    # Where the others have nothing, there is one thing to say of the whole value.
    is_one = all(same(value, present[0]) for value in present)
    is_open = not is_one and (sides.is_merge_object or sides.is_merge_list)
    # The root has no path: its members are what is shown.
    if sides.path.steps:
        yield SideBySide(sides.path, values, is_open, is_equal)
    if is_open or not sides.path.steps:
        for below in sides.below():
            yield from _below(below, names)
