"""What a structural schema of a custom resource adds to an object and removes from it.

Source: "Extend the Kubernetes API with CustomResourceDefinitions" in the Kubernetes
documentation ("Defaulting", "Defaulting and Nullable"). Go: Default and
PruneNonNullableNullsWithoutDefaults in k8s.io/apiextensions-apiserver,
pkg/apiserver/schema/defaulting.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Final

from smp._values.codec import encode
from smp._values.steps import count_steps
from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_object
from smp.errors import ObjectError, bounded

# In bytes, as many as the body of a request may have. The defaults of the elements of a
# list are added to each of them, so a small object could become a very large one.
MAX_ADDED: Final = 3 * 1024 * 1024
_NAMES: Final = frozenset({"apiVersion", "kind", "metadata"})
# Integers below it are exact in a double.
_EXACT: Final = 2**53
# Of a member of an object: two quotes, a colon and a comma.
_PUNCTUATION: Final = 4


class TooLargeDefaultsError(ObjectError):
    """The defaults of a schema make an object larger than a request may be."""

    default_code = "too-large"
    status = 413


@bounded("the object")
def add_schema_defaults(obj: JSONObject, schema: JSONObject) -> JSONObject:
    """Return an object with the defaults of a schema where values are missing.

    What does not change is shared with the object. A null counts as missing where the
    schema is not nullable: an API server prunes such nulls before defaulting, and keeps
    the others. Raises DepthError, and TooLargeDefaultsError where the defaults are more
    than MAX_ADDED bytes.
    """
    return _Defaulting().object(obj, schema)


class _Defaulting:
    """One walk along an object and its schema, which counts the bytes that it adds."""

    __slots__ = ("_bytes_left",)

    def __init__(self) -> None:
        self._bytes_left = MAX_ADDED

    def object(self, obj: JSONObject, schema: JSONObject) -> JSONObject:
        properties = as_object(schema.get("properties"))
        others = schema.get("additionalProperties")

        # Most objects of a real one have all: a copy is made where one is not so.
        filled = obj
        for name, value in obj.items():
            field_schema = properties.get(name, others)
            filled_value = self._value(value, field_schema)
            is_removed = _is_unwanted_null(filled_value, field_schema)
            if (is_removed or filled_value is not value) and filled is obj:
                filled = {**obj}
            # Nulls that no default has replaced are removed.
            if is_removed:
                del filled[name]
            elif filled is not obj:
                filled[name] = filled_value
        # A field is added if it has a default, so that the default of a field in a
        # missing object has no effect.
        for name, field_schema in properties.items():
            if name in obj or "default" not in as_object(field_schema):
                continue
            self._bytes_left -= len(name) + _PUNCTUATION
            default = self._value(ABSENT, field_schema)
            if not _is_unwanted_null(default, field_schema):
                filled = {**obj} if filled is obj else filled
                filled[name] = default
        return filled

    def _value(self, value: JSON | Absent, schema: JSON) -> JSON:
        # Below unknown fields there are no schemas, so there are no defaults.
        if not isinstance(schema, dict):
            return None if isinstance(value, Absent) else value
        if isinstance(value, Absent) or _is_unwanted_null(value, schema):
            default = schema.get("default")
            self._bytes_left -= len(encode(default))
            if self._bytes_left < 0:
                raise TooLargeDefaultsError(
                    f"the defaults of the schema add more than {MAX_ADDED} bytes"
                )
            # The object gets a default of its own: the schema stays as it is.
            value = deepcopy(default)
        # A default may have fields with defaults of their own.
        if isinstance(value, dict):
            return self.object(value, schema)
        if isinstance(value, list):
            elements = [self._value(element, schema.get("items")) for element in value]
            for before, after in zip(value, elements, strict=True):
                if after is not before:
                    return elements
        return value


@bounded("the object")
def prune(obj: JSONObject, schema: JSONObject) -> JSONObject:
    """Return an object without the fields that a structural schema does not know.

    Nor has it nulls that the schema does not allow, but where a default comes in their
    place. What does not change is shared with the object. Source: "Field pruning" in
    the same documentation; Go: apiextensions-apiserver, pkg/apiserver,
    unstructuredSchemaCoercer. Raises DepthError.
    """
    # The root has apiVersion, kind and metadata, declared or not.
    return _prune_object(obj, schema, is_resource=True, drops_nulls=True)


def _prune_object(
    obj: JSONObject, schema: JSONObject, *, is_resource: bool, drops_nulls: bool
) -> JSONObject:
    properties = as_object(schema.get("properties"))
    others = schema.get("additionalProperties")
    preserves = schema.get("x-kubernetes-preserve-unknown-fields") is True
    # Most objects are kept as they are: a copy is made where one is not.
    kept = obj
    for name, value in obj.items():
        if is_resource and name in _NAMES:
            continue
        inner = properties.get(name, others)
        is_known = name in properties or others is not None
        # Go: PruneNonNullableNullsWithoutDefaults.
        is_dropped = drops_nulls and _is_unwanted_null(value, inner)
        if (is_dropped and "default" not in as_object(inner)) or not (
            is_known or preserves
        ):
            kept = {**obj} if kept is obj else kept
            del kept[name]
        elif is_known:
            pruned = prune_value(value, inner, drops_nulls=drops_nulls)
            if pruned is not value:
                kept = {**obj} if kept is obj else kept
                kept[name] = pruned
    return kept


def prune_value(value: JSON, schema: JSON, *, drops_nulls: bool = False) -> JSON:
    """Return a value of any type without the fields that its schema does not know."""
    # "additionalProperties: true" has no schema.
    if not isinstance(schema, dict):
        return value
    if isinstance(value, dict):
        is_resource = schema.get("x-kubernetes-embedded-resource") is True
        return _prune_object(
            value, schema, is_resource=is_resource, drops_nulls=drops_nulls
        )
    if isinstance(value, list):
        preserves = schema.get("x-kubernetes-preserve-unknown-fields") is True
        # Of a list that is none by its schema, nothing in the elements is known.
        items = schema.get("items", None if preserves else {})
        elements = [
            prune_value(element, items, drops_nulls=drops_nulls) for element in value
        ]
        for before, after in zip(value, elements, strict=True):
            if after is not before:
                return elements
    return value


def _is_unwanted_null(value: JSON, schema: JSON) -> bool:
    if value is not None or not isinstance(schema, dict):
        return False
    return schema.get("nullable") is not True


def make_numbers_whole(value: JSON) -> JSON:
    """Return a value whose numbers without a fraction are integers: 1.0 is 1.

    That is how a server prints a custom resource, whose schema may ask for an integer
    (Go: encoding/json, and IsFloat64AJSONInteger in go-openapi/swag).
    """
    if isinstance(value, float):
        if abs(value) < _EXACT and value.is_integer():
            return int(value)
    elif isinstance(value, dict):
        count_steps(len(value))
        members: JSONObject = {}
        is_same = True
        for name, member in value.items():
            members[name] = make_numbers_whole(member)
            is_same = is_same and members[name] is member
        return value if is_same else members
    elif isinstance(value, list):
        count_steps(len(value))
        elements = [make_numbers_whole(element) for element in value]
        for index, element in enumerate(value):
            if elements[index] is not element:
                return elements
    return value
