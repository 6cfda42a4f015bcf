"""The walk along an object that finds its field set.

This module is compiled with mypyc (hatch_build.py). Its depth is that of the object,
which the caller checks.
"""

from __future__ import annotations

from collections import Counter

from smp.errors import SmpError
from smp.managed_fields._elements import field_element, step_of
from smp.managed_fields._field_set import FieldSet
from smp.managed_fields._shapes import LIST, MAP, Shape, is_empty, path_elements
from smp.steps import count_steps
from smp.values import JSON, JSONArray, JSONObject, as_list, as_object


def fields_below(value: JSON, shape: Shape) -> FieldSet | None:
    """Return the set below a value; None where the value is owned as a whole."""
    if shape.form == MAP:
        return _of_map(as_object(value), shape)
    if shape.form == LIST:
        return _of_list(as_list(value), shape)
    return None


def _of_map(value: JSONObject, shape: Shape) -> FieldSet:
    """Go: toFieldSetWalker.visitMapItems."""
    members: list[str] = []
    children: dict[str, FieldSet] = {}
    for name, content in value.items():
        count_steps(1)
        element = field_element(name)
        inner = shape.of_name(name, content)
        try:
            below = fields_below(content, inner)
        except SmpError as error:
            raise error.within(name) from None
        if below is None or is_empty(content) or not shape.declares(name):
            members.append(element)
        if below:
            children[element] = below
    return FieldSet(frozenset(members), children)


def _of_list(values: JSONArray, shape: Shape) -> FieldSet:
    """Go: toFieldSetWalker.visitListItems."""
    children: dict[str, FieldSet] = {}
    elements = path_elements(shape, values)
    counts = Counter(elements)
    for index, element in enumerate(elements):
        count_steps(1)
        if counts[element] > 1:
            continue
        content = values[index]
        try:
            below = fields_below(content, shape.of_element(content))
        except SmpError as error:
            raise error.within(step_of(element)) from None
        if below:
            children[element] = below
    return FieldSet(frozenset(elements), children)
