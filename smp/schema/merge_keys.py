"""Merge keys that a user gives for lists of which no schema says how they merge."""

from __future__ import annotations

import msgspec

from smp._values.values import JSONObject, as_object
from smp.errors import SchemaError
from smp.schema.model import Schema, TypeDocument, Types

# After the name of a field: a list, where the schema does not say so.
_LIST = "[]"


def add_merge_key(schema: Schema, path: str, key: str) -> Schema:
    """Return the schema with a list that is merged by a key of its elements.

    ``path`` has the names of fields with dots between them. Raises SchemaError where
    the schema has something else than a list there.
    """
    document = _add_key(schema.document, path.split("."), key, schema.types)
    return msgspec.structs.replace(schema, document=document, at_rest=set())


def _add_key(
    document: TypeDocument, names: list[str], key: str, types: Types
) -> TypeDocument:
    """Return the document of a type with the list at a path below it."""
    members = _resolve_members(document, types)
    if "items" in members:
        items = _add_key(_require_document(members["items"]), names, key, types)
        return {**members, "items": items}
    name = names[0].removesuffix(_LIST)
    fields = as_object(members.get("fields"))
    if name not in fields and not members.get("any"):
        raise SchemaError(f"the schema has no field {name!r} to merge by {key!r}")
    field = _require_document(fields.get(name, "any"))
    facets: JSONObject = {}
    if isinstance(field, dict) and "is" in field:
        facets, field = field, _require_document(field["is"])
    of_list = _resolve_members(field, types)
    if "items" not in of_list:
        if not of_list.get("any") and (len(names) == 1 or names[0] != name):
            raise SchemaError(f"the field {name!r} is no list to merge by {key!r}")
        if len(names) == 1 or names[0] != name:
            of_list = {"items": "any"}
    if len(names) > 1:
        facets = {**facets, "is": _add_key(of_list, names[1:], key, types)}
    else:
        merged: JSONObject = {**of_list, "list_type": "map", "map_keys": [key]}
        facets = {**facets, "is": merged, "strategy": "merge", "key": key}
    return {**members, "fields": {**fields, name: facets}}


def _require_document(value: object) -> TypeDocument:
    return value if isinstance(value, (str, dict)) else "any"


def _resolve_members(document: TypeDocument, types: Types) -> JSONObject:
    """Return the document of a type as an object, and that of its reference."""
    if isinstance(document, str) and document.startswith("#"):
        document = types.resolve(document[1:])[1]
    if isinstance(document, str):
        return {"any": True} if document == "any" else {"type": document}
    return document
