"""The field set of an object: all that its author would own."""

from __future__ import annotations

from collections import Counter

from smp.errors import SmpError
from smp.managed_fields._elements import field_element, step_of
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._shapes import (
    Form,
    Shape,
    is_empty,
    path_elements,
    root_shape,
)
from smp.plain import over_json, require_objects
from smp.schema.model import Schema
from smp.values import JSON, JSONArray, JSONObject, as_list, as_object


@over_json("the object", "obj")
def fieldset_of(obj: JSONObject, schema: Schema) -> FieldSet:
    """Return the set of the fields that an object or an applied configuration has.

    A scalar and an atomic value are owned as a whole. An element of a list of type set
    or map and an entry of a map are owned, and so is what is in them; a struct is owned
    only where it is empty or null. Of elements that occur several times nothing but
    the element is owned. Raises UnknownFieldError for a field that the schema does not
    know, ObjectError (code no-path-element) for an element without its keys, and
    DepthError (Go: typed.TypedValue.ToFieldSet).
    """
    require_objects(obj=obj)
    # Go: no manager owns the entire object, so that a root that is atomic is left out.
    return _below(obj, root_shape(schema, obj)) or EMPTY


def _below(value: JSON, shape: Shape) -> FieldSet | None:
    """Return the set below a value; None where the value is owned as a whole."""
    if shape.form is Form.MAP:
        return _below_map(as_object(value), shape)
    if shape.form is Form.LIST:
        return _below_list(as_list(value), shape)
    return None


def _below_map(value: JSONObject, shape: Shape) -> FieldSet:
    """Go: toFieldSetWalker.visitMapItems."""
    members: list[str] = []
    children: dict[str, FieldSet] = {}
    for name, content in value.items():
        element = field_element(name)
        inner = shape.of_name(name, content)
        try:
            below = _below(content, inner)
        except SmpError as error:
            raise error.within(name) from None
        if below is None or is_empty(content) or not shape.declares(name):
            members.append(element)
        if below:
            children[element] = below
    return FieldSet(frozenset(members), children)


def _below_list(values: JSONArray, shape: Shape) -> FieldSet:
    """Go: toFieldSetWalker.visitListItems."""
    children: dict[str, FieldSet] = {}
    elements = path_elements(shape, values)
    counts = Counter(elements)
    for index, element in enumerate(elements):
        if counts[element] > 1:
            continue
        content = values[index]
        try:
            below = _below(content, shape.of_element(content))
        except SmpError as error:
            raise error.within(step_of(element)) from None
        if below:
            children[element] = below
    return FieldSet(frozenset(elements), children)
