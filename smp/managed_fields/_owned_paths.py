"""Paths of fields as managed fields name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smp._values.plain import over_json, require_object
from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_list, as_object
from smp.managed_fields._elements import element_of, field_element, step_of
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._shapes import LIST, MAP, Shape, root_shape
from smp.paths import Element, Path, Step, index_of, value_at
from smp.schema.model import Schema


class OwnedPlace:
    """A place of an object, and what some field sets have there or below it.

    What is in an atomic value is owned with that, at its place. ``element`` is the path
    element of the place, and ``reached`` tells of each set whether it has the path of
    the place, or one below it.
    """

    __slots__ = ("_shape", "_subsets", "element", "reached")

    def __init__(
        self,
        shape: Shape,
        subsets: list[FieldSet],
        element: str = "",
        reached: list[bool] | None = None,
    ) -> None:
        self.element: str = element
        self.reached: list[bool] = [] if reached is None else reached
        self._shape: Shape = shape
        self._subsets: list[FieldSet] = subsets

    def member(self, name: str, value: JSON) -> OwnedPlace:
        """Return the place of a member, or this one if it is in an atomic value."""
        if self._shape.form != MAP:
            return self
        return self._step_below(field_element(name), self._shape.of_name(name, value))

    def item(self, value: JSON) -> OwnedPlace:
        """Return the place of an element, or this one if it is in an atomic value."""
        if self._shape.form != LIST:
            return self
        return self._step_below(
            self._shape.element(value), self._shape.of_element(value)
        )

    def _step_below(self, element: str, shape: Shape) -> OwnedPlace:
        subsets: list[FieldSet] = []
        reached: list[bool] = []
        for each in self._subsets:
            below = each.children.get(element)
            subsets.append(EMPTY if below is None else below)
            reached.append(below is not None or element in each.members)
        return OwnedPlace(shape, subsets, element, reached)


def owned_root(obj: JSONObject, schema: Schema, sets: list[FieldSet]) -> OwnedPlace:
    """Return the root of an object, to go on to what field sets have below it."""
    return OwnedPlace(root_shape(schema, obj), sets, "", [bool(each) for each in sets])


@over_json("the object", "obj")
def owned_path(obj: Mapping[str, Any], schema: Schema, path: Path) -> Path:
    """Return the path by which a field of an object is owned.

    An element counts by its index; without one, by its keys. What is in an atomic value
    is owned with that.
    """
    value: JSON = require_object("obj", obj)
    place = owned_root(as_object(value), schema, [])
    steps: list[Step] = []
    for step in path.steps:
        below = place
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
            below = place.member(step, value)
        elif not isinstance(step, str) and isinstance(value, list):
            at = step.index if isinstance(step, Element) else index_of(step, value)
            if at < len(value):
                value = value[at]
                below = place.item(value)
        if below is place:
            break
        steps.append(step_of(below.element))
        place = below
    return Path(tuple(steps))


@over_json("the object", "obj")
def indexed_path(obj: Mapping[str, Any], schema: Schema, path: Path) -> Path | None:
    """Return a path of managed fields with the indexes of an object.

    None where the object has no such element. Keys may be those of defaults.
    """
    value: JSON = require_object("obj", obj)
    shape = root_shape(schema, value)
    steps: list[Step] = []
    for step in path.steps:
        if isinstance(step, str):
            content = as_object(value).get(step)
            steps.append(step)
            value, shape = content, shape.of_name(step, content)
            continue
        wanted = element_of(step)
        for index, each in enumerate(as_list(value)):
            if shape.element(each) == wanted:
                steps.append(index)
                value, shape = each, shape.of_element(each)
                break
        else:
            return None
    return Path(tuple(steps))


def owned_value(obj: JSONObject, schema: Schema, path: Path) -> JSON | Absent:
    """Return the value at a path of managed fields."""
    place = indexed_path(obj, schema, path)
    return ABSENT if place is None else value_at(obj, place)
