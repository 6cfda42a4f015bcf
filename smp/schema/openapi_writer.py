"""Type documents written as OpenAPI v3 schemas: the way back from smp.schema.sources.

``smp.Catalog.from_openapi`` compiles OpenAPI schemas to type documents
(smp.schema.model); this module writes type documents as schemas that compile to the
same documents. A server publishes them at ``/openapi/v3``, where kubectl reads how
lists merge and ``kubectl explain`` reads the fields. Constraints are not written,
because type documents have none; descriptions are added by ``add_description``.

For example, the field ``{"is": {"items": "#Port", "list_type": "map", "map_keys":
["port"]}, "strategy": "merge", "key": "port"}`` becomes::

    {"type": "array", "items": {"$ref": "#/components/schemas/Port"},
     "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
     "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "port"}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.schema.enum_listing import listing
from smp.schema.model import Loader, TypeDocument

REFERENCE_PREFIX: Final = "#/components/schemas/"

_UNIONS: Final = "x-kubernetes-unions"
# The facets of a type or a field, and the keywords of a schema for them.
_FACETS: Final = {
    "default": "default",
    "enum": "enum",
    "embedded": "x-kubernetes-embedded-resource",
    "key": "x-kubernetes-patch-merge-key",
    "list_type": "x-kubernetes-list-type",
    "map_keys": "x-kubernetes-list-map-keys",
    "map_type": "x-kubernetes-map-type",
    "required": "required",
    "strategy": "x-kubernetes-patch-strategy",
    "unions": _UNIONS,
}
_FREE_FORM: Final = "x-kubernetes-preserve-unknown-fields"


def write_schemas(names: Iterable[str], load: Loader) -> dict[str, JSONObject]:
    """Return the schemas of named types, and of all types that they refer to.

    The result is sorted by name, as the value of ``components.schemas``. A name that
    ``load`` does not know is left out.
    """
    # Types refer to each other in circles: each is loaded once.
    documents: dict[str, TypeDocument] = {}
    pending = [*names]
    while pending:
        name = pending.pop()
        document = None if name in documents else load(name)
        if document is not None:
            documents[name] = document
            pending += _references(document)
    return {name: write_schema(documents[name]) for name in sorted(documents)}


def add_enums(
    schemas: Mapping[str, JSONObject], enums: Mapping[str, Mapping[str, str]]
) -> dict[str, JSONObject]:
    """Return schemas with the enums of places such as ``TYPE.FIELD``.

    Each enum has its values, and what they mean, which becomes the description of the
    field as an API server publishes it (KEP-2887). The places are those of
    ``smp.schema.catalog.read_published_enums``. A place that no schema has is skipped,
    and so is one that has an enum of its own with other values.
    """
    changed = {**schemas}
    for place, meanings in enums.items():
        path = place.rstrip("[]{}")
        steps = place[len(path) :]
        type_name, _, field = path.rpartition(".")
        fields = as_object(changed.get(type_name, {}).get("properties"))
        schema = fields.get(field)
        if not isinstance(schema, dict):
            continue
        schema = _add_enum(schema, steps, [*meanings])
        # Only the enum of the field itself is listed, not that of elements or values
        # (Go: kube-openapi's generateProperty).
        if not steps and schema.get("enum") == [*meanings]:
            schema = {**schema, "description": "\n".join(listing(meanings))}
        properties = {**fields, field: schema}
        changed[type_name] = {**changed[type_name], "properties": properties}
    return changed


def _add_enum(schema: JSONObject, steps: str, values: list[JSON]) -> JSONObject:
    if not steps:
        return {"enum": values, **schema}
    word = "items" if steps.startswith("[]") else "additionalProperties"
    inner = schema.get(word)
    if not isinstance(inner, dict):
        return schema
    return {**schema, word: _add_enum(inner, steps[2:], values)}


def add_description(schema: JSONObject, described: JSONObject) -> JSONObject:
    """Return the schema of a type with what another schema says to readers.

    That is its description, those of its fields, and which fields are required. The
    description of a field with an enum, which lists what the values mean, comes after.
    """
    merged = {**schema}
    # What the values of an enum mean comes after what the field is for.
    if "description" in described:
        texts = [described["description"], schema.get("description")]
        merged["description"] = "\n\n".join(str(text) for text in texts if text)
    if "required" in described and "properties" in schema:
        # A union whose discriminator is required is required itself (KEP-1027): that
        # is for the union to say.
        unions = [as_object(union) for union in as_list(schema.get(_UNIONS))]
        discriminators = [union.get("discriminator") for union in unions]
        merged["required"] = [
            name
            for name in as_list(described["required"])
            if name not in discriminators
        ]
    fields = as_object(schema.get("properties"))
    if fields:
        others = as_object(described.get("properties"))
        merged["properties"] = {
            name: _describe_field(as_object(field), as_object(others.get(name)))
            for name, field in fields.items()
        }
    for word in ("items", "additionalProperties"):
        inner = schema.get(word)
        if isinstance(inner, dict):
            merged[word] = _describe_field(inner, as_object(described.get(word)))
    return merged


def _describe_field(schema: JSONObject, described: JSONObject) -> JSONObject:
    if not described.keys() & {"description", "properties", "items"}:
        return schema
    if "$ref" in schema and "description" in described:
        # OpenAPI v3 ignores what stands beside a $ref (Go: builder3/util.WrapRefs).
        schema = {"allOf": [schema]}
    return add_description(schema, described)


def write_schema(document: JSON) -> JSONObject:
    """Return the schema of a type document, or of the document of a field."""
    if not isinstance(document, dict):
        return _simple_schema(str(document))
    if "or_any" in document:
        # A scalar of which only some JSON types have an enum.
        branches: list[JSON] = [{"type": name} for name in as_list(document["or_any"])]
        return {"anyOf": [*branches, {"enum": document["enum"]}]}
    # In the document of a field, the facets beside "is"; in that of a type, its own.
    facets: JSONObject = {}
    for name, value in document.items():
        if name in _FACETS:
            facets[_FACETS[name]] = value
    if "is" not in document:
        return {**_structure(document), **facets}
    type_schema = write_schema(document["is"])
    if "$ref" in type_schema:
        # OpenAPI v3 ignores what stands beside a $ref (Go: builder3/util.WrapRefs).
        type_schema = {"allOf": [type_schema]}
    return {**type_schema, **facets}


def _simple_schema(name: str) -> JSONObject:
    """Return the schema of a reference, of free-form data or of a scalar."""
    if name.startswith("#"):
        return {"$ref": REFERENCE_PREFIX + name[1:]}
    if name == "any":
        return {_FREE_FORM: True}
    if name == "int-or-string":
        # As kube-openapi publishes an IntOrString.
        branches: list[JSON] = [{"type": "integer"}, {"type": "string"}]
        return {"format": "int-or-string", "oneOf": branches}
    return {"type": name}


def _structure(document: JSONObject) -> JSONObject:
    """Return the schema of a list, of a scalar with an enum, or of an object."""
    if "items" in document:
        return {"type": "array", "items": write_schema(document["items"])}
    if "type" in document:
        return _simple_schema(str(document["type"]))
    schema: JSONObject = {"type": "object"}
    fields = as_object(document.get("fields"))
    if fields:
        schema["properties"] = {
            name: write_schema(field) for name, field in fields.items()
        }
    if "values" in document:
        schema["additionalProperties"] = write_schema(document["values"])
    if document.get("any"):
        schema[_FREE_FORM] = True
    return schema


def _references(document: JSON) -> list[str]:
    """Return the names of the types that a type document refers to."""
    if isinstance(document, str):
        return [document[1:]] if document.startswith("#") else []
    if not isinstance(document, dict):
        return []
    references = []
    for field in as_object(document.get("fields")).values():
        references += _references(field)
    for keyword in ("is", "items", "values"):
        references += _references(document.get(keyword))
    return references
