"""An object without the fields of a set, and an object of nothing but these."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any, Final

from smp._values.plain import over_json, require_object
from smp._values.values import JSON, JSONArray, JSONObject, as_object, require_known
from smp.errors import SmpError, bounded
from smp.managed_fields._elements import field_element, step_of
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._shapes import (
    ATOMIC_LIST,
    ATOMIC_MAP,
    LIST,
    SCALAR,
    Shape,
    path_elements,
    root_shape,
)
from smp.schema.model import Schema

# What to make of an object. What loses all that it has is null, or stays empty.
_EXTRACT: Final = "extract"
_REMOVE: Final = "remove"
_KEEP_EMPTIED: Final = "remove, and keep what is emptied"


@over_json("the object", "obj")
def removed(
    obj: Mapping[str, Any],
    schema: Schema,
    fields: FieldSet,
    *,
    keeps_emptied: bool = False,
) -> Any:
    """Return the object without the fields of a set, and without what is below them.

    An object or a list that is empty afterwards is null, as a server stores it, unless
    it ``keeps_emptied`` ones (Go: typed.TypedValue.RemoveItems). What does not change
    is shared. Raises what ``fieldset_of`` raises.
    """
    obj = require_object("obj", obj)
    mode = _KEEP_EMPTIED if keeps_emptied else _REMOVE
    return _extract_items(obj, schema, fields, mode)


@over_json("the object", "obj")
def extracted(obj: Mapping[str, Any], schema: Schema, fields: FieldSet) -> Any:
    """Return what an object has at the fields of a set; null where that is nothing.

    Pass the ``leaves`` of a set, as Go does. Raises what ``fieldset_of`` raises (Go:
    typed.TypedValue.ExtractItems).
    """
    obj = require_object("obj", obj)
    return _extract_items(obj, schema, fields, _EXTRACT)


@bounded("the object")
def _extract_items(
    obj: JSONObject, schema: Schema, fields: FieldSet, mode: str
) -> JSON:
    return _items(obj, root_shape(schema, obj), fields, mode)


def _items(value: JSON, shape: Shape, fields: FieldSet, mode: str) -> JSON:
    """Go: typed.removeItemsWithSchema."""
    if shape.form == SCALAR:
        return value
    is_list = shape.form in (LIST, ATOMIC_LIST)
    if not isinstance(value, list if is_list else dict):
        require_known(value)
        return None
    # An atomic value is extracted as a whole, and removed as a whole. So is an empty
    # one: null and empty differ where a field is extracted.
    if not value or shape.form in (ATOMIC_LIST, ATOMIC_MAP):
        return value if mode == _EXTRACT else None
    left: JSON
    if isinstance(value, list):
        left = _list_items(value, shape, fields, mode)
    else:
        left = _map_items(as_object(value), shape, fields, mode)
    return left if left or mode == _KEEP_EMPTIED else None


def drop_emptied(before: JSON, after: JSON) -> JSON:
    """Leave out what ``removed`` made null because all that it had was removed."""
    if isinstance(before, list) and isinstance(after, list):
        # An element that is removed has no member that is emptied.
        if len(before) != len(after):
            return after
        pairs = zip(before, after, strict=True)
        return [drop_emptied(*pair) for pair in pairs]
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    kept: JSONObject = {}
    for name, value in after.items():
        was_emptied = value is None and before.get(name) is not None
        content = None if was_emptied else drop_emptied(before.get(name), value)
        if not was_emptied and (content != {} or value == {}):
            kept[name] = content
    return kept


def _list_items(
    values: JSONArray, shape: Shape, fields: FieldSet, mode: str
) -> JSONArray:
    """Go: removingWalker.doList."""
    kept: JSONArray = []
    for value, element in zip(values, path_elements(shape, values), strict=True):
        is_member = element in fields.members
        subset = fields.children.get(element, EMPTY)
        if mode == _EXTRACT and not is_member and not subset:
            continue
        if is_member and mode != _EXTRACT:
            continue
        item = value
        if subset:
            try:
                item = _items(value, shape.of_element(value), subset, mode)
            except SmpError as error:
                raise error.within(step_of(element)) from None
        kept.append(item)
    return values if len(kept) == len(values) and all(map(is_, kept, values)) else kept


def _map_items(
    value: JSONObject, shape: Shape, fields: FieldSet, mode: str
) -> JSONObject:
    """Go: removingWalker.doMap."""
    kept: JSONObject = {}
    for name, content in value.items():
        element = field_element(name)
        subset = fields.children.get(element, EMPTY)
        if element in fields.members:
            if mode != _EXTRACT:
                continue
            # Go goes on with the set that has the member, not with what is below it.
            # So of a leaf that has grown since, as emptyDir: {}, nothing is extracted.
            subset = fields
        elif mode == _EXTRACT and not subset:
            continue
        item = content
        if subset:
            inner = shape.of_name(name, content)
            try:
                item = _items(content, inner, subset, mode)
            except SmpError as error:
                raise error.within(name) from None
        kept[name] = item
    if len(kept) == len(value) and all(map(is_, kept.values(), value.values())):
        return value
    return kept
