"""An object without the fields of a set, and an object of nothing but these."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any

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
from smp.plain import over_json, require_object
from smp.schema.model import Schema
from smp.values import JSON, JSONArray, JSONObject, as_object, require_known


@over_json("the object", "obj")
def removed(obj: Mapping[str, Any], schema: Schema, fields: FieldSet) -> Any:
    """Return the object without the fields of a set, and without what is below them.

    An object or a list that is empty afterwards is null, as a server stores it (Go:
    typed.TypedValue.RemoveItems, without the structured-merge-diff of Kubernetes 1.36.0
    to 1.36.2). What does not change is shared. Raises what ``fieldset_of`` raises.
    """
    obj = require_object("obj", obj)
    return _bounded_items(obj, schema, fields, extract=False)


@over_json("the object", "obj")
def extracted(obj: Mapping[str, Any], schema: Schema, fields: FieldSet) -> Any:
    """Return what an object has at the fields of a set; null where that is nothing.

    Pass the ``leaves`` of a set, as Go does. Raises what ``fieldset_of`` raises (Go:
    typed.TypedValue.ExtractItems).
    """
    obj = require_object("obj", obj)
    return _bounded_items(obj, schema, fields, extract=True)


@bounded("the object")
def _bounded_items(
    obj: JSONObject, schema: Schema, fields: FieldSet, *, extract: bool
) -> JSON:
    return _items(obj, root_shape(schema, obj), fields, extract=extract)


def _items(value: JSON, shape: Shape, fields: FieldSet, *, extract: bool) -> JSON:
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
        return value if extract else None
    if isinstance(value, list):
        return _list_items(value, shape, fields, extract=extract) or None
    return _map_items(as_object(value), shape, fields, extract=extract) or None


def _list_items(
    values: JSONArray, shape: Shape, fields: FieldSet, *, extract: bool
) -> JSONArray:
    """Go: removingWalker.doList."""
    kept: JSONArray = []
    for value, element in zip(values, path_elements(shape, values), strict=True):
        is_member = element in fields.members
        subset = fields.children.get(element, EMPTY)
        if extract and not is_member and not subset:
            continue
        if is_member and not extract:
            continue
        item = value
        if subset:
            try:
                item = _items(value, shape.of_element(value), subset, extract=extract)
            except SmpError as error:
                raise error.within(step_of(element)) from None
        kept.append(item)
    if len(kept) == len(values) and all(map(is_, kept, values)):
        return values
    return kept


def _map_items(
    value: JSONObject, shape: Shape, fields: FieldSet, *, extract: bool
) -> JSONObject:
    """Go: removingWalker.doMap."""
    kept: JSONObject = {}
    for name, content in value.items():
        element = field_element(name)
        subset = fields.children.get(element, EMPTY)
        if element in fields.members:
            if not extract:
                continue
            # Go goes on with the set that has the member, not with what is below it.
            # So of a leaf that has grown since, as emptyDir: {}, nothing is extracted.
            subset = fields
        elif extract and not subset:
            continue
        item = content
        if subset:
            inner = shape.of_name(name, content)
            try:
                item = _items(content, inner, subset, extract=extract)
            except SmpError as error:
                raise error.within(name) from None
        kept[name] = item
    if len(kept) == len(value) and all(map(is_, kept.values(), value.values())):
        return value
    return kept
