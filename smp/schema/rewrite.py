"""One walk over the schemas of an OpenAPI document, to rewrite them.

The schemas inside a schema are rewritten before the schema itself. Nothing is mutated:
what a change leaves alone is shared with the document, so a change must return the very
node that it got unless it has something to change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from smp._values.values import JSON, JSONArray, JSONObject, type_name
from smp.errors import SchemaError, SmpError

SchemaChange: TypeAlias = Callable[[JSONObject], JSONObject]
Part: TypeAlias = Callable[[JSON, SchemaChange], JSON]


def rewrite_named(document: JSONObject, change: SchemaChange) -> JSONObject:
    """Rewrite the schemas that a document names.

    These are in ``definitions`` (OpenAPI v2), ``components.schemas`` (v3) and ``$defs``
    (JSON Schema). Raises SchemaError, with the path, for what is not a schema.
    """
    return _rewrite_parts(document, _DOCUMENT_PARTS, change)


def rewrite(node: JSON, change: SchemaChange) -> JSON:
    """Rewrite one schema and those inside it.

    Raises SchemaError, with the path, for what is not a schema.
    """
    # JSON Schema: true and false are schemas, of every value and of none.
    if isinstance(node, bool):
        return node
    return change(_rewrite_parts(schema_object(node), _SCHEMA_PARTS, change))


def _rewrite_parts(
    node: JSONObject, parts: Mapping[str, Part], change: SchemaChange
) -> JSONObject:
    rewritten: JSONObject = {}
    for keyword, value in node.items():
        # Go decodes a keyword that is null as absent.
        if keyword in parts and value is not None:
            rewritten[keyword] = _rewrite_at(keyword, parts[keyword], value, change)
    return _share(node, rewritten)


def _schemas_by_name(value: JSON, change: SchemaChange) -> JSON:
    # The names are free: a property may be called allOf, and is not a list of schemas.
    members = schema_object(value)
    rewritten: JSONObject = {}
    for name, node in members.items():
        rewritten[name] = _rewrite_at(name, rewrite, node, change)
    return _share(members, rewritten)


def _schema_list(value: JSON, change: SchemaChange) -> JSON:
    if not isinstance(value, list):
        raise SchemaError(f"a list of schemas is expected, not {type_name(value)}")
    rewritten: JSONArray = []
    changed = False
    for index, node in enumerate(value):
        result = _rewrite_at(index, rewrite, node, change)
        rewritten.append(result)
        changed = changed or result is not node
    return rewritten if changed else value


def _items(value: JSON, change: SchemaChange) -> JSON:
    # JSON Schema before 2020-12: a list has a schema for each position.
    if isinstance(value, list):
        return _schema_list(value, change)
    return rewrite(value, change)


def _dependencies(value: JSON, change: SchemaChange) -> JSON:
    # JSON Schema: a dependency is a schema, or a list of names, which stays.
    members = schema_object(value)
    rewritten: JSONObject = {}
    for name, node in members.items():
        if isinstance(node, dict):
            rewritten[name] = _rewrite_at(name, rewrite, node, change)
    return _share(members, rewritten)


def _components(value: JSON, change: SchemaChange) -> JSON:
    return _rewrite_parts(schema_object(value), {"schemas": _schemas_by_name}, change)


_DOCUMENT_PARTS: Final[dict[str, Part]] = {
    "definitions": _schemas_by_name,
    "components": _components,
    "$defs": _schemas_by_name,
}
_SCHEMA_PARTS: Final[dict[str, Part]] = {
    "properties": _schemas_by_name,
    "patternProperties": _schemas_by_name,
    "definitions": _schemas_by_name,
    "$defs": _schemas_by_name,
    "dependencies": _dependencies,
    "allOf": _schema_list,
    "anyOf": _schema_list,
    "oneOf": _schema_list,
    "not": rewrite,
    "items": _items,
    "additionalItems": rewrite,
    "additionalProperties": rewrite,
}


def _rewrite_at(step: str | int, part: Part, value: JSON, change: SchemaChange) -> JSON:
    """Rewrite a part, with its place in the path of an error."""
    try:
        return part(value, change)
    except SmpError as error:
        raise error.within(step) from None


def _share(node: JSONObject, rewritten: JSONObject) -> JSONObject:
    """Return the node with its rewritten members; itself where none is another one."""
    for name, member in rewritten.items():
        if member is not node[name]:
            return {**node, **rewritten}
    return node


def schema_object(value: JSON, what: str = "a schema") -> JSONObject:
    """Return an object of a schema. Raises SchemaError for any other value."""
    if not isinstance(value, dict):
        raise SchemaError(f"{what} is an object, not {type_name(value)}")
    return value
