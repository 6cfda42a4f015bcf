"""Structural schemas of custom resources: the defaults that they put into an object.
Pure.

Source: "Extend the Kubernetes API with CustomResourceDefinitions" in the Kubernetes
documentation ("Defaulting", "Defaulting and Nullable").
"""

from __future__ import annotations

from copy import deepcopy
from typing import Final

from smp.errors import DepthError
from smp.handler import TooLargeError
from smp.values import ABSENT, JSON, Absent, JSONObject
from smp.wire import encode

# bytes, as much as a body may have: each element of a list gets all its defaults
MAX_ADDED: Final = 3 * 1024 * 1024


def with_schema_defaults(obj: JSONObject, schema: JSONObject) -> JSONObject:
    """Put the defaults of a schema where values are missing.

    A null is a missing value where the schema does not say that it is nullable. Raises
    DepthError, and TooLargeError where the defaults are more than MAX_ADDED bytes.
    """
    try:
        return _Filling().members(obj, schema)
    except RecursionError:
        raise DepthError("the object is nested too deeply") from None


class _Filling:
    """One walk, which counts what it adds."""

    def __init__(self) -> None:
        self._left = MAX_ADDED

    def value(self, value: JSON | Absent, schema: JSON) -> JSON:
        if not isinstance(schema, dict):
            return None if isinstance(value, Absent) else value
        if isinstance(value, Absent) or _is_missing(value, schema):
            value = self._default(schema)
        if isinstance(value, dict):
            return self.members(value, schema)
        if isinstance(value, list):
            return [self.value(element, schema.get("items")) for element in value]
        return value

    def members(self, obj: JSONObject, schema: JSONObject) -> JSONObject:
        properties, others = (
            schema.get("properties"),
            schema.get("additionalProperties"),
        )
        known = properties if isinstance(properties, dict) else {}
        lacking = dict.fromkeys(
            (name for name in known if name not in obj and _has_default(known[name])),
            ABSENT,
        )
        filled = {
            name: self.value(value, known.get(name, others))
            for name, value in {**obj, **lacking}.items()
        }
        return {
            name: value
            for name, value in filled.items()
            if not _is_missing(value, known.get(name, others))
        }

    def _default(self, schema: JSONObject) -> JSON:
        default = schema.get("default")
        self._left -= len(encode(default))
        if self._left < 0:
            raise TooLargeError(
                f"the defaults of its definition add more than {MAX_ADDED} bytes"
            )
        return deepcopy(default)


def _has_default(schema: JSON) -> bool:
    return isinstance(schema, dict) and "default" in schema


def _is_missing(value: JSON, schema: JSON) -> bool:
    return (
        value is None
        and isinstance(schema, dict)
        and schema.get("nullable") is not True
    )
