"""The field set of an object: all that its author would own.

This module is compiled with mypyc (hatch_build.py). Its depth is that of the object,
which ``fieldset_of`` checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from smp._values.plain import over_json, require_object
from smp._values.steps import count_steps
from smp._values.values import JSON, JSONArray, JSONObject, check_depth, require_known
from smp.errors import SmpError
from smp.managed_fields._elements import field_element, step_of
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._shapes import (
    LIST,
    MAP,
    Shape,
    is_empty,
    path_elements,
    root_shape,
)
from smp.schema.model import Schema


@over_json("the object", "obj")
def fieldset_of(obj: Mapping[str, Any], schema: Schema) -> FieldSet:
    """Return the set of the fields that an object or an applied configuration has.

    A scalar and an atomic value are owned as a whole. An element of a list of type set
    or map and an entry of a map are owned, and so is what is in them; a struct is owned
    only where it is empty or null. Of elements that occur several times nothing but
    the element is owned. Raises UnknownFieldError for a field that the schema does not
    know, ObjectError (code no-path-element) for an element without its keys, and
    DepthError (Go: typed.TypedValue.ToFieldSet).
    """
    obj = require_object("obj", obj)
    check_depth(obj)
    # Go: no manager owns the entire object, so that a root that is atomic is left out.
    return fields_below(obj, root_shape(schema, obj), structs=False)


def fields_below(value: JSON, shape: Shape, *, structs: bool) -> FieldSet:
    """Return the paths below a value; ``EMPTY`` itself where there are none.

    An object or a list that a struct declares is among them only where it is null or an
    object without members, unless all ``structs`` are asked for.
    """
    # Most values are owned as a whole.
    if shape.form == MAP and isinstance(value, dict):
        return _collect_map(value, shape, structs=structs)
    if shape.form == LIST and isinstance(value, list):
        return _collect_list(value, shape, structs=structs)
    require_known(value)
    return EMPTY


def fields_at(element: str, value: JSON, shape: Shape, *, structs: bool) -> FieldSet:
    """Return the paths below the value of a path element."""
    if shape.form not in (MAP, LIST):
        return EMPTY
    try:
        return fields_below(value, shape, structs=structs)
    except SmpError as error:
        raise error.within(step_of(element)) from None


def _collect_map(value: JSONObject, shape: Shape, *, structs: bool) -> FieldSet:
    """Go: toFieldSetWalker.visitMapItems."""
    members: list[str] = []
    children: dict[str, FieldSet] = {}
    for name, content in value.items():
        count_steps(1)
        element = field_element(name)
        inner = shape.of_name(name, content)
        below = fields_at(element, content, inner, structs=structs)
        if below is not EMPTY:
            children[element] = below
        is_tree = inner.form in (MAP, LIST) and not is_empty(content)
        if structs or not is_tree or not shape.declares(name):
            members.append(element)
    if not members and not children:
        return EMPTY
    return FieldSet(frozenset(members), children)


def _collect_list(values: JSONArray, shape: Shape, *, structs: bool) -> FieldSet:
    """Go: toFieldSetWalker.visitListItems."""
    if not values:
        return EMPTY
    children: dict[str, FieldSet] = {}
    elements = path_elements(shape, values)
    counts = Counter(elements)
    for index, element in enumerate(elements):
        count_steps(1)
        content = values[index]
        # Of duplicates nothing but the element is owned.
        if counts[element] == 1:
            inner = shape.of_element(content)
            below = fields_at(element, content, inner, structs=structs)
            if below is not EMPTY:
                children[element] = below
    return FieldSet(frozenset(elements), children)
