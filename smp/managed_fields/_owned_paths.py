"""Paths of fields as managed fields name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smp.managed_fields._elements import field_element, step_of
from smp.managed_fields._shapes import LIST, MAP, root_shape
from smp.paths import Element, Path
from smp.plain import over_json, require_object
from smp.schema.model import Schema
from smp.values import JSON, JSONObject


@over_json("the object", "obj")
def owned_path(obj: Mapping[str, Any], schema: Schema, path: Path) -> Path:
    """Return the path by which a field of an object is owned.

    The path has indexes of elements, or their patch merge keys. What is in an atomic
    value is owned with that.
    """
    obj = require_object("obj", obj)
    elements = owned_elements(obj, schema, path)
    return Path(tuple([step_of(element) for element in elements]))


def owned_elements(obj: JSONObject, schema: Schema, path: Path) -> list[str]:
    """Return that path as the path elements of field sets."""
    value: JSON = obj
    shape = root_shape(schema, obj)
    elements: list[str] = []
    for step in path.steps:
        if isinstance(step, (int, Element)):
            if shape.form != LIST or not isinstance(value, list):
                break
            index = step if isinstance(step, int) else step.index
            value = value[index]
            elements.append(shape.element(value))
            shape = shape.of_element(value)
        elif isinstance(step, str):
            if shape.form != MAP or not isinstance(value, dict):
                break
            value = value.get(step)
            elements.append(field_element(step))
            shape = shape.of_name(step, value)
    return elements
