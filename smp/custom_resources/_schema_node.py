"""The schema of a custom resource, read once: what its keywords ask of a value.

A node is read when a value comes to it, and kept: a definition may have thousands of
nodes, of which an object meets a few.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    as_text,
    value_key,
)
from smp.custom_resources._formats import FORMATS

_SIZES: Final = frozenset({"maxItems", "maxProperties", "minItems", "minProperties"})
_NUMBERS: Final = frozenset({"maximum", "minimum", "multipleOf"})
_TEXTS: Final = frozenset({"maxLength", "minLength", "pattern"})
_TEXT: Final[JSONObject] = {"type": "string"}
# Go: apiserver/pkg/cel/common, WithTypeAndObjectMeta.
_RESOURCE: Final[JSONObject] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": {
        "type": "object",
        "properties": {"name": _TEXT, "generateName": _TEXT},
    },
}


class SchemaNode:
    """A schema, with the schemas in it as they are needed.

    ``is_resource`` is true at the root and for an embedded resource: rules see its
    names. ``types`` are those that a value may have; none: any. ``others`` is the
    schema of members without a property of their own.
    """

    def __init__(self, schema: JSONObject, *, is_root: bool = False) -> None:
        self.schema = schema
        self.type: str = as_text(schema.get("type"))
        self.is_int_or_string = schema.get("x-kubernetes-int-or-string") is True
        self.types: tuple[str, ...] = (self.type,) if self.type else ()
        if self.is_int_or_string:
            # Go: ConvertJSONSchemaPropsWithPostProcess.
            self.types = ("integer", "string")
        self.format: str = as_text(schema.get("format"))
        self.is_nullable = schema.get("nullable") is True
        self.enum: JSONArray = as_list(schema.get("enum"))
        self.is_embedded = schema.get("x-kubernetes-embedded-resource") is True
        self.is_resource = is_root or self.is_embedded
        self.preserves = schema.get("x-kubernetes-preserve-unknown-fields") is True
        self.list_type: str = as_text(schema.get("x-kubernetes-list-type"))
        keys = as_list(schema.get("x-kubernetes-list-map-keys"))
        self.map_keys: tuple[str, ...] = tuple([str(key) for key in keys])
        self.properties: JSONObject = as_object(schema.get("properties"))
        self.allows_others = schema.get("additionalProperties") is not False
        self.validations: list[JSONObject] = [
            as_object(rule) for rule in as_list(schema.get("x-kubernetes-validations"))
        ]
        self.others: SchemaNode | None = _node(schema.get("additionalProperties"))
        self.items: SchemaNode | None = _node(schema.get("items"))
        self.any_of: list[SchemaNode] = _nodes(schema.get("anyOf"))
        self.all_of: list[SchemaNode] = _nodes(schema.get("allOf"))
        self.one_of: list[SchemaNode] = _nodes(schema.get("oneOf"))
        self.not_: SchemaNode | None = _node(schema.get("not"))
        self.has_branches = bool(
            self.any_of or self.all_of or self.one_of or self.not_ is not None
        )
        self.required: list[str] = [
            name for name in as_list(schema.get("required")) if isinstance(name, str)
        ]
        self.limits_size = not _SIZES.isdisjoint(schema)
        self.limits_numbers = not _NUMBERS.isdisjoint(schema)
        self.limits_strings = self.format in FORMATS or not _TEXTS.isdisjoint(schema)
        self._has_lists: bool | None = None
        self._members: dict[str, SchemaNode | None] = {}
        self._seen: dict[str, SchemaNode | None] = {}
        self._enum_keys: frozenset[object] | None = None

    def member(self, name: str) -> SchemaNode | None:
        """Return the schema of a member; None for one that is not declared."""
        property_ = self.declared(name)
        return self.others if property_ is None else property_

    def declared(self, name: str) -> SchemaNode | None:
        """Return the schema of a declared member."""
        if name not in self._members:
            self._members[name] = _node(self.properties.get(name))
        return self._members[name]

    def visible_member(self, name: str) -> SchemaNode | None:
        """Return the schema by which rules see a member; None: they do not see it.

        Of a resource they see its names, whatever is declared.
        """
        if name not in self._seen:
            seen = self.declared(name)
            if self.is_resource and name in _RESOURCE:
                seen = _node(_RESOURCE[name])
            self._seen[name] = seen if seen is not None and seen.is_seen else None
        return self._seen[name]

    @property
    def has_lists(self) -> bool:
        """Whether there is a set, or a list of type map, here or in the schemas in it.

        Where there is none, nothing can be there twice.
        """
        if self._has_lists is None:
            self._has_lists = self.list_type in {"map", "set"}
            for inner in self.inner():
                self._has_lists = self._has_lists or inner.has_lists
        return self._has_lists

    def allows(self, value: JSON) -> bool:
        """Tell whether a value is in the enum; of numbers the value counts."""
        if self._enum_keys is None:
            self._enum_keys = frozenset(_enum_key(allowed) for allowed in self.enum)
        return value is not None and _enum_key(value) in self._enum_keys

    @property
    def is_seen(self) -> bool:
        """Whether rules see values of the schema (Go: SchemaDeclType is not nil)."""
        if self.is_int_or_string:
            return True
        if self.type == "array":
            return self.items is not None and self.items.is_seen
        if self.type == "object" and self.others is not None:
            return self.others.is_seen
        return self.type in {"boolean", "integer", "number", "object", "string"}

    def inner(self) -> Iterator[SchemaNode]:
        """Yield the schemas that rules may be in."""
        for name in self.properties:
            property_ = self.declared(name)
            if property_ is not None:
                yield property_
        for node in (self.others, self.items, *self.all_of):
            if node is not None:
                yield node

    def within(self) -> Iterator[SchemaNode]:
        """Yield this schema and all in it, at any depth."""
        nodes = [self]
        while nodes:
            node = nodes.pop()
            yield node
            nodes += node.inner()
            nodes += node.any_of
            nodes += node.one_of
            if node.not_ is not None:
                nodes.append(node.not_)


def _enum_key(value: JSON) -> object:
    """Return what is equal for equal values; 1.0 is 1, and true is not."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return ("number", value) if is_number else value_key(value)


def _node(schema: JSON) -> SchemaNode | None:
    return SchemaNode(schema) if isinstance(schema, dict) else None


def _nodes(schemas: JSON) -> list[SchemaNode]:
    return [SchemaNode(as_object(schema)) for schema in as_list(schemas)]
