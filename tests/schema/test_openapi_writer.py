"""Type documents written as OpenAPI schemas, and read back."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from smp._storage.enums import without_enums
from smp._values.values import JSON, JSONObject
from smp.schema.catalog import kubernetes, read_published_enums, versions
from smp.schema.model import TypeDocument
from smp.schema.openapi_writer import add_enums, write_schema, write_schemas
from smp.schema.sources.openapi import compile_documents
from tests.record.enum_answers import answers

PORT_LIST: JSON = {"items": "#Port", "list_type": "map", "map_keys": ["port"]}
UNIONS: JSON = [{"discriminator": "type", "fields-to-discriminateBy": {"a": "A"}}]
TYPES: dict[str, TypeDocument] = {
    "Service": {"fields": {"ports": {"is": PORT_LIST}, "next": "#Service"}},
    "Port": {"fields": {"names": {"items": "#Name"}}},
    "Name": "string",
    "Labels": {"fields": {}, "values": "#Name"},
    "Broken": {"fields": {"lost": "#Nowhere"}},
}


@pytest.mark.parametrize(
    ("document", "schema"),
    [
        ("string", {"type": "string"}),
        (
            "int-or-string",
            {
                "format": "int-or-string",
                "oneOf": [{"type": "integer"}, {"type": "string"}],
            },
        ),
        ("any", {"x-kubernetes-preserve-unknown-fields": True}),
        ("#Port", {"$ref": "#/components/schemas/Port"}),
        (
            {"type": "string", "enum": ["A", "B"]},
            {"type": "string", "enum": ["A", "B"]},
        ),
        (
            {"items": "#Port", "list_type": "map", "map_keys": ["port"]},
            {
                "type": "array",
                "items": {"$ref": "#/components/schemas/Port"},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port"],
            },
        ),
        ({"fields": {}}, {"type": "object"}),
        (
            {"fields": {}, "values": "string"},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        (
            {"fields": {"a": "string"}, "any": True},
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "x-kubernetes-preserve-unknown-fields": True,
            },
        ),
        (
            {
                "fields": {},
                "map_type": "atomic",
                "embedded": True,
                "unions": UNIONS,
            },
            {
                "type": "object",
                "x-kubernetes-map-type": "atomic",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-unions": UNIONS,
            },
        ),
        (
            {"fields": {"a": "string"}, "required": ["a"], "unions": UNIONS},
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
                "x-kubernetes-unions": UNIONS,
            },
        ),
        (
            {"type": "int-or-string", "enum": ["auto"], "or_any": ["integer"]},
            {"anyOf": [{"type": "integer"}, {"enum": ["auto"]}]},
        ),
        (
            {"is": {"items": "string"}, "strategy": "merge"},
            {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-patch-strategy": "merge",
            },
        ),
        (
            {"is": "#Strategy", "strategy": "retainKeys"},
            {
                "allOf": [{"$ref": "#/components/schemas/Strategy"}],
                "x-kubernetes-patch-strategy": "retainKeys",
            },
        ),
    ],
)
def test_a_type_document_is_written_as(document: JSON, schema: JSONObject) -> None:
    before = copy.deepcopy(document)
    assert write_schema(document) == schema
    assert document == before


def test_named_types_are_written_with_the_types_that_they_refer_to() -> None:
    schemas = write_schemas(["Service"], TYPES.get)
    assert list(schemas) == ["Name", "Port", "Service"]
    assert list(write_schemas(["Labels", "Name"], TYPES.get)) == ["Labels", "Name"]


def test_a_name_that_is_not_defined_is_left_out() -> None:
    schemas = write_schemas(["Broken", "Missing"], TYPES.get)
    assert schemas == {
        "Broken": {
            "type": "object",
            "properties": {"lost": {"$ref": "#/components/schemas/Nowhere"}},
        }
    }


@pytest.mark.parametrize("minor", [versions()[0], versions()[-1]])
def test_written_types_compile_to_the_same_types(minor: str) -> None:
    catalog = kubernetes(minor)
    documents = [catalog.schema(*kind).document for kind in catalog.kinds()]
    names = [str(document).removeprefix("#") for document in documents]
    schemas = write_schemas(names, catalog.load)
    compiled = compile_documents({"components": {"schemas": {**schemas}}})
    assert len(schemas) > 500
    assert compiled.types == {name: catalog.load(name) for name in schemas}


PROTOCOLS = {"TCP": "is TCP.", "UDP": ""}


def test_a_published_enum_is_listed_in_the_description_of_its_field() -> None:
    port: dict[str, TypeDocument] = {"Port": {"fields": {"protocol": "string"}}}
    schemas = write_schemas(["Port"], port.get)
    assert add_enums(schemas, {"Port.protocol": PROTOCOLS}) == {
        "Port": {
            "type": "object",
            "properties": {
                "protocol": {
                    "type": "string",
                    "enum": ["TCP", "UDP"],
                    "description": (
                        'Possible enum values:\n - `"TCP"` is TCP.\n - `"UDP"`'
                    ),
                }
            },
        }
    }
    listed = add_enums(schemas, {"Port.protocol": PROTOCOLS})
    assert without_enums({"definitions": {**listed}}) == {"definitions": schemas}


def test_a_published_enum_of_elements_and_of_values_is_not_listed() -> None:
    type_: TypeDocument = {"fields": {"a": {"items": {"values": "string"}}}}
    schemas = write_schemas(["T"], {"T": type_}.get)
    values: JSON = {"type": "string", "enum": ["TCP", "UDP"]}
    assert add_enums(schemas, {"T.a[]{}": PROTOCOLS})["T"]["properties"] == {
        "a": {
            "type": "array",
            "items": {"type": "object", "additionalProperties": values},
        }
    }


def test_a_published_enum_of_what_the_schemas_lack_is_skipped() -> None:
    own: TypeDocument = {"fields": {"a": {"type": "string", "enum": ["X"]}}}
    schemas = write_schemas(["T"], {"T": own}.get)
    places = ("T.a", "T.b", "T.a[]", "U.a")
    assert add_enums(schemas, dict.fromkeys(places, PROTOCOLS)) == schemas


def test_enums_are_published_as_an_api_server_does() -> None:
    """The enums and listings of all 122 places, in the words of the server."""
    catalog = kubernetes("1.36")
    names = {answer["place"].rpartition(".")[0] for answer in answers()}
    schemas = add_enums(
        write_schemas(names, catalog.load), read_published_enums(catalog.version)
    )
    assert len(answers()) == 122
    for answer in answers():
        type_name, _, field = answer["place"].rstrip("[]{}").rpartition(".")
        node: Any = schemas[type_name]["properties"]
        node = node[field]
        assert node.get("description", "") == answer["listing"]
        for step, word in (("[]", "items"), ("{}", "additionalProperties")):
            if answer["place"].endswith(step):
                node = node[word]
        assert node["enum"] == answer["values"], answer["place"]
