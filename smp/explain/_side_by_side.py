"""The objects of an apply or a diff, one path under the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from smp._values.values import ABSENT, JSON, Absent, JSONObject, same
from smp.explain._sides import ROLES, below, is_merge_list, is_merge_object
from smp.paths import Path
from smp.schema.model import Type
from smp.schema.sides import BASE, LIVE, MANIFEST, RESULT, Sides

_SIDES: Final = {
    "live": LIVE,
    "manifest": MANIFEST,
    "last-applied": BASE,
    "result": RESULT,
}


class SideBySide(msgspec.Struct, frozen=True):
    """What several objects have at one path: values in the order of the objects.

    ``is_open`` tells that the paths below follow; otherwise the values are whole.
    """

    path: Path
    values: tuple[Any, ...]
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
    numbers = [_SIDES[name] for name, obj in objects.items() if obj is not None]
    values: list[JSON | Absent] = [ABSENT] * len(ROLES.order)
    for name, obj in objects.items():
        values[_SIDES[name]] = ABSENT if obj is None else obj
    yield from _go_along(Sides(values, type_, ROLES), numbers)


def _go_along(sides: Sides, numbers: list[int]) -> Iterator[SideBySide]:
    values = tuple([sides.values[number] for number in numbers])
    is_equal = all(same(value, values[0]) for value in values)
    present = [value for value in values if not isinstance(value, Absent)]
    # Where the others have nothing, there is one thing to say of the whole value.
    is_one = all(same(value, present[0]) for value in present)
    is_open = not is_one and (is_merge_object(sides) or is_merge_list(sides))
    # The root has no path: its members are what is shown.
    is_root = sides.parent is None
    if not is_root:
        yield SideBySide(sides.path, values, is_open, is_equal)
    if is_open or is_root:
        found = [*below(sides)]
        if not is_merge_list(sides):
            # Whatever the order of the keys.
            found.sort(key=lambda each: each.path.order)
        for each in found:
            yield from _go_along(each, numbers)
