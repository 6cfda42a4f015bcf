"""Type documents (smp.schema.model) as OpenAPI v3 schemas: what
``smp.Catalog.from_openapi`` reads, written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from smp.schema.model import Loader, TypeDocument
from smp.values import JSON, JSONObject

REFERENCE_PREFIX: Final = "#/components/schemas/"
_WORDS: Final = {
    "enum": "enum",
    "embedded": "x-kubernetes-embedded-resource",
    "key": "x-kubernetes-patch-merge-key",
    "list_type": "x-kubernetes-list-type",
    "map_keys": "x-kubernetes-list-map-keys",
    "map_type": "x-kubernetes-map-type",
    "strategy": "x-kubernetes-patch-strategy",
    "unions": "x-kubernetes-unions",
}
_NAMED: Final[dict[str, JSONObject]] = {
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "int-or-string": {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}


def write_schemas(names: Iterable[str], load: Loader) -> dict[str, JSONObject]:
    """Return the schemas of named types and of all that they refer to, sorted by name."""
    found: dict[str, TypeDocument] = {}
    missing = [*names]
    while missing:
        name = missing.pop()
        document = load(name)
        if name not in found and document is not None:
            found[name] = document
            missing += _references(document)
    return {name: write_schema(found[name]) for name in sorted(found)}


def write_schema(document: JSON) -> JSONObject:
    """Return the schema of a type document, or of a field: what is the field's own
    stands beside its type.
    """
    if not isinstance(document, dict):
        return _of_word(str(document))
    beside: JSONObject = {
        _WORDS[word]: value for word, value in document.items() if word in _WORDS
    }
    if "is" not in document:
        return {**_structure(document), **beside}
    inner = write_schema(document["is"])
    return {**({"allOf": [inner]} if "$ref" in inner else inner), **beside}


def _of_word(word: str) -> JSONObject:
    if word[:1] == "#":
        return {"$ref": REFERENCE_PREFIX + word[1:]}
    return _NAMED.get(word) or {"type": word}


def _structure(document: JSONObject) -> JSONObject:
    if "items" in document:
        return {"type": "array", "items": write_schema(document["items"])}
    if "type" in document:
        return _of_word(str(document["type"]))
    fields = document.get("fields")
    parts: JSONObject = {"type": "object"}
    if isinstance(fields, dict) and fields:
        parts["properties"] = {
            name: write_schema(field) for name, field in fields.items()
        }
    if "values" in document:
        parts["additionalProperties"] = write_schema(document["values"])
    return {**parts, **_NAMED["any"]} if document.get("any") else parts


def _references(document: JSON) -> Iterator[str]:
    if isinstance(document, str) and document[:1] == "#":
        yield document[1:]
    if isinstance(document, dict):
        fields = document.get("fields")
        below = [*fields.values()] if isinstance(fields, dict) else []
        for inner in (
            *below,
            *(document.get(word) for word in ("is", "items", "values")),
        ):
            yield from _references(inner)
