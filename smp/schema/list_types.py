"""The list types and map types of a custom resource, as patch strategies.

A CustomResourceDefinition says how its lists and objects merge by list types
(``x-kubernetes-list-type``, ``-list-map-keys`` and ``-map-type``), built-in kinds by
patch strategies. What looks at both alike looks at a custom resource by the schema that
``by_list_types`` returns:

    a list of type map            strategy merge, the first map key as patch merge key
    a list of type set            strategy merge
    an atomic list                no strategy
    an atomic object              strategy replace

The strategies replace and retainKeys that a definition states itself stay.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    as_text,
)
from smp.schema.model import (
    ListType,
    ObjectType,
    Schema,
    Strategy,
    Type,
    TypeDocument,
    Types,
)

_NAME: Final = "by list types"


def by_list_types(schema: Schema) -> Schema:
    """Return the schema of a custom resource with list types as patch strategies.

    The types are kept with those of the schema.
    """
    types = schema.types.plans.get(_NAME)
    if not isinstance(types, Types):
        types = schema.types.rewritten(_change_type)
        schema.types.plans[_NAME] = types
    document = _change_type(schema.document)
    return msgspec.structs.replace(
        schema, document=document, types=types, subresources={}, at_rest=set()
    )


def _change_type(document: TypeDocument) -> TypeDocument:
    if not isinstance(document, dict):
        return document
    changed = dict(document)
    if "items" in document:
        changed["items"] = _change_type(_document(document["items"]))
    if "fields" in document:
        changed["fields"] = {
            name: _change_field(_document(field))
            for name, field in as_object(document["fields"]).items()
        }
    if "values" in document:
        changed["values"] = _change_field(_document(document["values"]))
    return changed


def _change_field(document: TypeDocument) -> TypeDocument:
    """Return the document of a field, with the strategy beside its type."""
    facets: JSONObject = {}
    if isinstance(document, dict) and "is" in document:
        facets = document
    type_ = _change_type(_document(facets.get("is", document)))
    # Built-in kinds, such as the metadata, state their strategies.
    if not isinstance(type_, dict):
        return {**facets, "is": type_} if facets else type_
    kept = {name: facets[name] for name in facets if name not in ("strategy", "key")}
    stated = Strategy.parse(as_text(facets.get("strategy")))
    keys = as_list(type_.get("map_keys"))
    list_type = type_.get("list_type")
    is_atomic = facets.get("map_type", type_.get("map_type")) == "atomic"
    parts: list[str] = []
    if stated.replace or ("items" not in type_ and is_atomic):
        parts.append("replace")
    elif list_type == "set" or (list_type == "map" and keys):
        parts.append("merge")
        if keys:
            kept["key"] = keys[0]
    elif list_type is None and stated.merge:
        # A strategy counts where no list type is stated.
        parts.append("merge")
        if "key" in facets:
            kept["key"] = facets["key"]
    if stated.retain_keys:
        parts.append("retainKeys")
    if parts:
        kept["strategy"] = ",".join(parts)
    return {**kept, "is": type_}


def _document(value: JSON) -> TypeDocument:
    return value if isinstance(value, str) else as_object(value)


def add_map_keys(value: JSON, type_: Type) -> JSON:
    """Return a value whose elements of lists have the map keys that have a default.

    What has all its keys is shared. Go: typed.keyedAssociativeListItemToPathElement.
    """
    if isinstance(value, dict):
        changed = value
        for name, member in value.items():
            if not isinstance(member, (dict, list)):
                continue
            field = type_.field(name)
            if field is None:
                continue
            keyed = add_map_keys(member, field.type)
            if keyed is not member:
                if changed is value:
                    changed = dict(value)
                changed[name] = keyed
        return changed
    if not isinstance(value, list) or not isinstance(type_, ListType):
        return value
    elements: list[JSON] = []
    is_changed = False
    for element in value:
        keyed = add_map_keys(element, type_.items)
        if isinstance(keyed, dict):
            defaults = _find_missing_keys(keyed, type_)
            keyed = {**defaults, **keyed} if defaults else keyed
        is_changed = is_changed or keyed is not element
        elements.append(keyed)
    return elements if is_changed else value


def _find_missing_keys(element: JSONObject, type_: ListType) -> JSONObject:
    """Return the map keys that an element lacks, with their defaults."""
    missing: JSONObject = {}
    items = type_.items
    for name in type_.map_keys:
        field = items.field(name) if isinstance(items, ObjectType) else None
        default: JSON | Absent = ABSENT if field is None else field.default
        if name not in element and not isinstance(default, Absent):
            missing[name] = default
    return missing
