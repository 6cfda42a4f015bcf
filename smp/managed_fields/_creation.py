"""What the manager that creates an object owns, written as fieldsV1 in one walk.

A new object has no other managers, so no sets are subtracted from one another. Its
manager owns what the object has beyond the zero value of its kind, which is what a
server decodes from ``{}``. A field that the zero value lacks is owned with all below
it. Of an object or a list that the zero value has, only what is in it is owned, and
a scalar if it differs. So does ``_compare`` compare these two objects (Go:
typed.TypedValue.Compare, merge.Updater.Update).

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp.errors import ObjectError, bounded
from smp.managed_fields._compare import equal
from smp.managed_fields._elements import field_element, in_order, in_pieces
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._shapes import Form, Shape, path_elements, root_shape
from smp.managed_fields._typed import listing, problems_of
from smp.schema.model import Schema
from smp.steps import count_steps
from smp.values import ABSENT, JSON, MAX_LEVELS, Absent, JSONArray, JSONObject

_SELF: Final = "."


@bounded("the object")
def fields_of_creation(
    obj: JSONObject,
    zero: JSONObject,
    schema: Schema,
    reset: FieldSet,
    never_owned: FieldSet,
) -> JSONObject:
    """Return the fieldsV1 of the manager that creates an object, empty if it owns none.

    ``zero`` is the zero value of the kind. Not owned are the fields that are ``reset``,
    with all below them, and those that are ``never_owned``. Raises UnknownFieldError
    and ObjectError for an object that is not of the types of the schema, and
    DepthError.
    """
    shape = root_shape(schema, obj)
    return _of_map(obj, zero, shape, reset, never_owned, MAX_LEVELS)


def _of_map(
    value: JSONObject,
    zero: JSONObject,
    shape: Shape,
    reset: FieldSet,
    never_owned: FieldSet,
    levels: int,
) -> JSONObject:
    """Return what is owned below an object; the parameters are those at its place."""
    count_steps(len(value))
    not_owned = reset.members
    never_itself = never_owned.members
    document: JSONObject = {}
    for name in in_pieces(value):
        content = value[name]
        before = zero.get(name, ABSENT)
        element = field_element(name)
        inner = shape.of_name(name, content)
        below = _below(
            content,
            before,
            inner,
            reset.children.get(element, EMPTY),
            never_owned.children.get(element, EMPTY),
            levels - 1,
        )
        if element in not_owned:
            continue
        is_owned = before is ABSENT or (
            not _is_tree(content, before, inner) and not equal(before, content)
        )
        if is_owned and element not in never_itself:
            document[element] = {_SELF: {}, **below} if below else {}
        elif below:
            document[element] = below
    return document


def _is_tree(value: JSON, zero: JSON, shape: Shape) -> bool:
    """Tell whether two values are compared by what is in them.

    Two empty ones are not: null and empty differ.
    """
    return shape.form in (Form.MAP, Form.LIST) and bool(value or zero)


def _below(
    value: JSON,
    zero: JSON | Absent,
    shape: Shape,
    reset: FieldSet,
    never_owned: FieldSet,
    levels: int,
) -> JSONObject:
    """Return what is owned below a value; the zero value is absent or may be null.

    Raises ObjectError for a value of another type.
    """
    if not levels:
        raise RecursionError
    if shape.form is Form.MAP and isinstance(value, dict):
        before = zero if isinstance(zero, dict) else {}
        return _of_map(value, before, shape, reset, never_owned, levels)
    if shape.form is Form.LIST and isinstance(value, list):
        # The zero value of a list has no elements.
        return _of_list(value, shape, levels)
    problems = problems_of(value, shape)
    if problems:
        raise ObjectError(listing(problems), code="invalid-applied")
    return {}


def _of_list(values: JSONArray, shape: Shape, levels: int) -> JSONObject:
    """Return what is owned below a list of type set or map.

    Of elements that occur several times nothing is owned but the elements themselves
    (Go: compareWalker.visitListItems).
    """
    count_steps(len(values))
    contents: dict[str, JSONObject] = {}
    elements = path_elements(shape, values)
    for index in range(len(values)):
        value = values[index]
        element = elements[index]
        is_repeated = element in contents
        inner = shape.of_element(value)
        below = _below(value, ABSENT, inner, EMPTY, EMPTY, levels - 1)
        contents[element] = {} if is_repeated else below
    document: JSONObject = {}
    for element in in_order(contents):
        below = contents[element]
        document[element] = {_SELF: {}, **below} if below else {}
    return document
