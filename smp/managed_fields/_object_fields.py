"""The field set of an object: all that its author would own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smp._values.plain import over_json, require_object
from smp._values.values import check_depth
from smp.managed_fields._field_set import FieldSet
from smp.managed_fields._fields_below import fields_below
from smp.managed_fields._shapes import root_shape
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
