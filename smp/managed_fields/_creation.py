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

from smp._values.steps import count_steps
from smp._values.values import ABSENT, JSON, MAX_LEVELS, JSONArray, JSONObject, equal
from smp.errors import bounded
from smp.managed_fields._elements import field_element, in_order, sort_as_text
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._shapes import LIST, MAP, Shape, path_elements, root_shape
from smp.managed_fields._typed import require_types
from smp.schema.model import Schema

_SELF: Final = "."
_NOTHING: Final[JSONObject] = {}


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
    unowned = _Unowned(reset, never_owned)
    return _collect_beyond(obj, zero, shape, unowned, MAX_LEVELS)


class _Unowned:
    """What the manager does not own below a place.

    That is what is ``reset``, with all below it, and what is ``never`` owned.
    """

    __slots__ = ("never", "reset")

    def __init__(self, reset: FieldSet, never: FieldSet) -> None:
        self.reset: FieldSet = reset
        self.never: FieldSet = never

    def below(self, element: str) -> _Unowned | None:
        """Return the same below a path element; None where all is owned there."""
        reset = self.reset.children.get(element, EMPTY)
        never = self.never.children.get(element, EMPTY)
        return _Unowned(reset, never) if reset or never else None


_ALL_OWNED: Final = _Unowned(EMPTY, EMPTY)


def _collect_beyond(
    value: JSONObject, zero: JSONObject, shape: Shape, unowned: _Unowned, levels: int
) -> JSONObject:
    """Return what is owned below an object that is not owned as a whole.

    All parameters are those at its place; the zero value is empty if there is none.
    """
    document: JSONObject = {}
    for name in sort_as_text(value):
        count_steps(1)
        content = value[name]
        element = field_element(name)
        inner = shape.of_name(name, content)
        before = zero.get(name, ABSENT)
        unowned_below = unowned.below(element)
        is_whole = before is ABSENT and unowned_below is None
        if isinstance(content, dict) and inner.form == MAP and not is_whole:
            former = before if isinstance(before, dict) else {}
            below = _collect_beyond(
                content, former, inner, unowned_below or _ALL_OWNED, levels - 1
            )
        else:
            # The zero value of a list has no elements.
            below = _collect(content, inner, levels - 1)
        if element in unowned.reset.members:
            continue
        is_owned = True
        if before is not ABSENT:
            # What two values hold is compared, unless both are empty: null and empty
            # differ.
            is_tree = inner.form in (MAP, LIST) and bool(content or before)
            is_owned = not is_tree and not equal(before, content)
        if is_owned and element not in unowned.never.members:
            document[element] = _make_owned(below)
        elif below:
            document[element] = below
    return document


def _make_owned(below: JSONObject) -> JSONObject:
    """Return a node whose path is owned, with what is owned below it."""
    return {_SELF: {}, **below} if below else {}


def _collect(value: JSON, shape: Shape, levels: int) -> JSONObject:
    """Return all paths below a value, empty where it is owned as a whole.

    Raises UnknownFieldError, and ObjectError for values of other types.
    """
    if shape.is_text and isinstance(value, str):  # first, as most values are texts
        return _NOTHING
    if isinstance(value, dict) and shape.form == MAP:
        if not levels:
            raise RecursionError
        return _collect_map(value, shape, levels)
    if isinstance(value, list) and shape.form == LIST:
        if not levels:
            raise RecursionError
        return _collect_list(value, shape, levels)
    require_types(value, shape)
    return _NOTHING


def _collect_map(value: JSONObject, shape: Shape, levels: int) -> JSONObject:
    document: JSONObject = {}
    for name in sort_as_text(value):
        count_steps(1)
        content = value[name]
        below = _collect(content, shape.of_name(name, content), levels - 1)
        document[field_element(name)] = _make_owned(below)
    return document


def _collect_list(values: JSONArray, shape: Shape, levels: int) -> JSONObject:
    """Return the elements of a list of type set or map, and what is below them.

    Where elements are equal, nothing below them is owned (Go:
    compareWalker.visitListItems).
    """
    elements = path_elements(shape, values)
    contents: dict[str, JSONObject] = {}
    for index in range(len(values)):
        count_steps(1)
        value = values[index]
        element = elements[index]
        below = _collect(value, shape.of_element(value), levels - 1)
        contents[element] = _NOTHING if element in contents else below
    document: JSONObject = {}
    for element in in_order(contents):
        count_steps(1)
        below = contents[element]
        document[element] = _make_owned(below)
    return document
