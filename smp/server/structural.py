"""Structural schemas of custom resources: the defaults that they put into an object. Pure.

Source: "Extend the Kubernetes API with CustomResourceDefinitions" in the Kubernetes documentation ("Defaulting",
"Defaulting and Nullable").
"""

from __future__ import annotations

from copy import deepcopy

from smp.errors import DepthError
from smp.values import ABSENT, JSON, Absent, JSONObject


def defaulted(obj: JSONObject, schema: JSONObject) -> JSONObject:
    """Put the defaults of a schema where values are missing. Raises DepthError.

    A null is a missing value where the schema does not say that it is nullable.
    """
    try:
        return _filled_members(obj, schema)
    except RecursionError:
        raise DepthError("the object is nested too deeply") from None


def _filled(value: JSON | Absent, schema: JSON) -> JSON:
    if not isinstance(schema, dict):
        return None if isinstance(value, Absent) else value
    if isinstance(value, Absent) or _is_missing(value, schema):
        value = deepcopy(schema.get("default"))
    if isinstance(value, dict):
        return _filled_members(value, schema)
    if isinstance(value, list):
        return [_filled(element, schema.get("items")) for element in value]
    return value


def _filled_members(obj: JSONObject, schema: JSONObject) -> JSONObject:
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    known = properties if isinstance(properties, dict) else {}
    lacking = dict.fromkeys((name for name in known if name not in obj and _has_default(known[name])), ABSENT)
    filled = {name: _filled(value, known.get(name, others)) for name, value in {**obj, **lacking}.items()}
    return {name: value for name, value in filled.items() if not _is_missing(value, known.get(name, others))}


def _has_default(schema: JSON) -> bool:
    return isinstance(schema, dict) and "default" in schema


def _is_missing(value: JSON, schema: JSON) -> bool:
    return value is None and isinstance(schema, dict) and schema.get("nullable") is not True
