"""What can be said of one path from what all objects of an apply have there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from smp._values.values import ABSENT, JSON, Absent, JSONObject, same
from smp.paths import Element, KeyedElement, Path
from smp.schema.list_types import by_list_types
from smp.schema.model import Schema, Type
from smp.schema.sides import BASE, DEFAULT, LIVE, MANIFEST, RESULT, Roles, Sides

# In this order, the index of an element is that of the first object that has it.
_ORDER: Final = (RESULT, LIVE, MANIFEST, BASE, DEFAULT)
_INDEXED: Final = (RESULT, MANIFEST)
_COMPARED: Final = (LIVE, MANIFEST, BASE, RESULT)
ROLES: Final = Roles(_ORDER, _INDEXED)
_BY_LIST_TYPES: Final = Roles(_ORDER, _INDEXED, by_map_keys=True)


def sides_of(values: list[JSON | Absent], schema: Schema) -> Sides:
    """Return the root of the objects of an apply.

    Lists of custom resources are merged by their list types.
    """
    if schema.is_custom:
        return Sides(values, by_list_types(schema).type, _BY_LIST_TYPES)
    return Sides(values, schema.type, ROLES)


def key_of(path: Path) -> str:
    """Return the key of an element, as ``name=app``; empty for all else."""
    step = path.steps[-1] if path.steps else ""
    if isinstance(step, (Element, KeyedElement)):
        return str(step)[1:-1]
    return ""


def is_unremarkable(sides: Sides) -> bool:
    """Tell whether all objects have the same here, or none has anything."""
    return (
        same(sides.live, sides.result)
        and same(sides.manifest, sides.result)
        and same(sides.last_applied, sides.result)
    )


def is_one(sides: Sides, former: Callable[[Sides], JSON | Absent]) -> bool:
    """Tell whether there is one thing to say of the whole value, not of its parts.

    ``former`` returns what a server made of the last-applied configuration there.
    """
    # Where what a server sets is beside what users set, there are several.
    if sides.is_at(()) or sides.is_at(("metadata",)):
        return False
    if sides.is_at(("metadata", "annotations")):
        return False
    if sides.manifest is ABSENT and sides.last_applied is ABSENT:
        # Only live has it, and it stays or goes as a whole.
        return same(sides.live, sides.result) or sides.result is ABSENT
    if sides.live is ABSENT:
        # Only the manifest has it.
        return same(sides.manifest, sides.result) or sides.result is ABSENT
    if sides.manifest is not ABSENT and sides.result is ABSENT:
        # It goes although it is in the manifest.
        return True
    if sides.manifest is ABSENT and sides.result is ABSENT:
        # All that live has was applied, beside defaults, and it goes.
        return same(sides.live, sides.last_applied) or same(sides.live, former(sides))
    return False


def is_merge_list(sides: Sides) -> bool:
    """Tell whether the value is a list whose elements are merged."""
    return sides.field.merges and _are(sides, list)


def is_merge_object(sides: Sides) -> bool:
    """Tell whether the value is an object whose members are merged."""
    return not sides.field.replaces and _are(sides, dict)


def _are(sides: Sides, json_type: type) -> bool:
    """Tell whether all objects that have a value have one of that type."""
    is_there = False
    for side in _COMPARED:
        value = sides.values[side]
        if value is not ABSENT and value is not None:
            if type(value) is not json_type:
                return False
            is_there = True
    return is_there


def below(sides: Sides) -> list[Sides]:
    """Return the members of an object, or the elements of a merge list."""
    if is_merge_object(sides):
        return [sides.member(name) for name in sides.names()]
    if is_merge_list(sides):
        return sides.elements(sides.pair())
    return []


def differing(sides: Sides) -> list[Sides]:
    """Return those below at which the objects differ: ``below`` without the rest."""
    # Most members are alike: this is what most of the time goes to.
    if is_merge_object(sides):
        names = [name for name in sides.names() if sides.differs(name, _COMPARED)]
        return [sides.member(name) for name in names]
    return [element for element in below(sides) if not is_unremarkable(element)]


def retains(sides: Sides) -> bool:
    """Tell whether $retainKeys clears a member of an object (retainKeys proposal)."""
    parent = sides.parent
    if parent is None or sides.indexes or not isinstance(parent.manifest, dict):
        return False
    # The strategy of a list is that of its elements.
    holder = parent.parent if parent.indexes else parent
    return holder is not None and holder.field.retain_keys


def is_pruned(sides: Sides) -> bool:
    """Tell whether a value, or one that it is in, is removed as it was applied."""
    place: Sides | None = sides
    while place is not None:
        is_gone = place.result is ABSENT and place.manifest is ABSENT
        if is_gone and place.last_applied is not ABSENT:
            return True
        place = place.parent
    return False


def keeps_order(sides: Sides) -> bool:
    """Tell whether a merge list has the order of both live and the manifest."""
    keys = sides.pair().keys
    result = keys[RESULT]
    for side in (LIVE, MANIFEST):
        kept = {*keys[side]} & {*result}
        order = [key for key in keys[side] if key in kept]
        if order != [key for key in result if key in kept]:
            return False
    return True


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
