from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from hypothesis import given

import smp
from smp._values.values import JSON, JSONObject
from smp.errors import DepthError, SchemaError, SmpError
from smp.schema.model import Type, TypeDocument
from smp.schema.sources.openapi import compile_documents, inline
from tests.support.errors import assert_reported, only_reported_errors
from tests.support.schema_documents import nested, schema_documents

WIDGET = "com.example.v1.Widget"
GROUP_VERSION_KIND: JSON = [
    {"group": "example.com", "version": "v1", "kind": "Widget"},
    {"group": "", "version": "v1", "kind": "Widget"},
]


def compiled(node: JSON) -> TypeDocument:
    return compile_documents({"definitions": {"T": node}}).types["T"]


@pytest.mark.parametrize(
    ("node", "document"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date-time"}, "string"),
        ({"type": ["integer", "null"], "format": "int32"}, "integer"),
        (
            {"type": "string", "enum": ["a", "b"]},
            {"type": "string", "enum": ["a", "b"]},
        ),
        ({"enum": ["a", None]}, {"type": "string", "enum": ["a", None]}),
        ({"type": "string", "format": "int-or-string"}, "int-or-string"),
        ({"type": ["string", "integer"]}, "int-or-string"),
        (
            {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "integer"}, {"type": "string"}],
            },
            "int-or-string",
        ),
        (
            {"oneOf": [{"type": ["string", "null"]}, {"type": ["integer", "null"]}]},
            "int-or-string",
        ),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, "int-or-string"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "number"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string"),
        ({"anyOf": [{"$ref": "#/$defs/Other"}, {"type": "null"}]}, "#Other"),
        ({"$ref": "#/definitions/a.b.C"}, "#a.b.C"),
        ({"$ref": "#/components/schemas/a~1b~0c"}, "#a/b~c"),
        ({"allOf": [{"$ref": "#/components/schemas/Other"}], "default": {}}, "#Other"),
        (
            {"type": "object", "allOf": [{"$ref": "#/components/schemas/Other"}]},
            "#Other",
        ),
        ({}, {"fields": {}}),
        ({"type": "object"}, {"fields": {}}),
        (
            {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"fields": {}},
        ),
        ({"properties": {"a": {"type": "string"}}}, {"fields": {"a": "string"}}),
        ({"properties": {"a": True}}, {"fields": {"a": {"fields": {}}}}),
        (
            {"type": "object", "properties": {"a": {"properties": {}}}},
            {"fields": {"a": {"fields": {}}}},
        ),
        ({"type": "object", "additionalProperties": False}, {"fields": {}}),
        ({"type": "object", "additionalProperties": True}, {"fields": {}, "any": True}),
        ({"type": "object", "additionalProperties": {}}, {"fields": {}, "any": True}),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"fields": {}, "values": "string"},
        ),
        ({"x-kubernetes-preserve-unknown-fields": True}, "any"),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "any"),
        (
            {
                "properties": {"a": {"type": "string"}},
                "x-kubernetes-preserve-unknown-fields": True,
            },
            {"fields": {"a": "string"}, "any": True},
        ),
        ({"type": "array", "items": {"type": "string"}}, {"items": "string"}),
        ({"type": "array"}, {"items": {"fields": {}}}),
        (
            {"items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            {"items": "string", "list_type": "set"},
        ),
        (
            {
                "type": "array",
                "items": {},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a", "b"],
            },
            {"items": {"fields": {}}, "list_type": "map", "map_keys": ["a", "b"]},
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "atomic"},
            {"fields": {}, "map_type": "atomic"},
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            {"fields": {}, "embedded": True},
        ),
        (
            {
                "type": "object",
                "x-kubernetes-unions": [{"fields-to-discriminateBy": {"a": "A"}}],
            },
            {"fields": {}, "unions": [{"fields-to-discriminateBy": {"a": "A"}}]},
        ),
        *(
            (
                {
                    "x-kubernetes-unions": [{"discriminator": "type"}],
                    "required": required,
                },
                {"fields": {}, "unions": [{"discriminator": "type", **requirement}]},
            )
            for required, requirement in (
                (["type", "a"], {"required": True}),
                (["a"], {}),
                ([None], {}),
                ("type", {}),
            )
        ),
        (
            {
                "x-kubernetes-unions": [{"discriminator": "type", "required": False}],
                "required": ["type"],
            },
            {"fields": {}, "unions": [{"discriminator": "type", "required": False}]},
        ),
        (
            {"x-kubernetes-unions": [{}], "required": [None]},
            {"fields": {}, "unions": [{}]},
        ),
        ({"type": "string", "x-kubernetes-list-type": "atomic"}, "string"),
    ],
)
def test_a_schema_compiles_to(node: JSON, document: TypeDocument) -> None:
    assert compiled(node) == document


@pytest.mark.parametrize(
    ("node", "field"),
    [
        (
            {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-patch-strategy": "merge",
            },
            {"is": {"items": "string"}, "strategy": "merge"},
        ),
        (
            {
                "items": {},
                "x-kubernetes-patch-strategy": "retainKeys|merge",
                "x-kubernetes-patch-merge-key": "name",
            },
            {
                "is": {"items": {"fields": {}}},
                "strategy": "merge,retainKeys",
                "key": "name",
            },
        ),
        (
            {
                "$ref": "#/definitions/Other",
                "x-kubernetes-patch-strategy": "retainKeys",
                "description": "words",
            },
            {"is": "#Other", "strategy": "retainKeys"},
        ),
        (
            {
                "allOf": [{"$ref": "#/components/schemas/Other"}],
                "x-kubernetes-patch-strategy": "replace",
            },
            {"is": "#Other", "strategy": "replace"},
        ),
        (
            {"$ref": "#/definitions/Other", "x-kubernetes-map-type": "atomic"},
            {"is": "#Other", "map_type": "atomic"},
        ),
        ({"allOf": [{"$ref": "#/definitions/Other"}], "default": {}}, "#Other"),
    ],
)
def test_a_property_keeps_the_facets_beside_its_type(
    node: JSON, field: TypeDocument
) -> None:
    assert compiled({"properties": {"a": node}}) == {"fields": {"a": field}}


def test_a_union_on_its_discriminator_moves_to_the_object() -> None:
    """KEP-1027 publishes a union on the discriminator's property; the object carries it
    with that name.
    """
    members: JSONObject = {
        "fieldMembers": {"RollingUpdate": {"name": "rollingUpdate"}, "Recreate": None}
    }
    forms: list[tuple[JSONObject, str]] = [
        ({"type": "string"}, "string"),
        ({"$ref": "#/definitions/Mode"}, "#Mode"),
    ]
    for discriminator, document in forms:
        node: JSON = {
            "properties": {"type": {**discriminator, "x-kubernetes-unions": members}}
        }
        assert compiled(node) == {
            "fields": {"type": document},
            "unions": [{"discriminator": "type", **members}],
        }


@pytest.mark.parametrize(
    ("node", "path", "code"),
    [
        ([], "", "invalid-schema"),
        ({"type": "strin"}, ".type", "invalid-schema"),
        ({"type": {"a": 1}}, ".type", "invalid-schema"),
        ({"properties": []}, "", "invalid-schema"),
        ({"properties": {"a": 1}}, ".properties.a", "invalid-schema"),
        ({"items": [{"type": "string"}]}, ".items", "invalid-schema"),
        ({"additionalProperties": "yes"}, ".additionalProperties", "invalid-schema"),
        ({"allOf": {}}, ".allOf", "invalid-schema"),
        ({"$ref": 1}, ".$ref", "invalid-reference"),
        ({"$ref": "other.json#/definitions/A"}, ".$ref", "invalid-reference"),
        ({"type": ["string", "object"]}, "", "unresolvable-combination"),
        ({"type": ["string", "boolean"]}, "", "unresolvable-combination"),
        (
            {"oneOf": [{"type": "string"}, {"type": "object"}]},
            "",
            "unresolvable-combination",
        ),
        (
            {"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]},
            "",
            "unresolvable-combination",
        ),
        (
            {"allOf": [{"$ref": "#/$defs/A"}], "properties": {"a": {}}},
            "",
            "unresolvable-combination",
        ),
        (
            {"x-kubernetes-list-type": "sorted"},
            ".x-kubernetes-list-type",
            "invalid-schema",
        ),
        (
            {"x-kubernetes-list-type": "map"},
            ".x-kubernetes-list-type",
            "invalid-schema",
        ),
        (
            {"x-kubernetes-list-map-keys": "name"},
            ".x-kubernetes-list-map-keys",
            "invalid-schema",
        ),
        (
            {"x-kubernetes-list-map-keys": [1]},
            ".x-kubernetes-list-map-keys",
            "invalid-schema",
        ),
        ({"x-kubernetes-map-type": 1}, ".x-kubernetes-map-type", "invalid-schema"),
        (
            {"x-kubernetes-patch-strategy": "merge,replace"},
            ".x-kubernetes-patch-strategy",
            "invalid-strategy",
        ),
        (
            {"x-kubernetes-patch-strategy": ["merge"]},
            ".x-kubernetes-patch-strategy",
            "invalid-schema",
        ),
        (
            {"x-kubernetes-patch-merge-key": 1},
            ".x-kubernetes-patch-merge-key",
            "invalid-schema",
        ),
        (
            {"x-kubernetes-patch-merge-key": ""},
            ".x-kubernetes-patch-merge-key",
            "invalid-schema",
        ),
        (
            {"x-kubernetes-int-or-string": 1},
            ".x-kubernetes-int-or-string",
            "invalid-schema",
        ),
        (
            {"x-kubernetes-preserve-unknown-fields": "true"},
            ".x-kubernetes-preserve-unknown-fields",
            "invalid-schema",
        ),
        ({"x-kubernetes-unions": ["type"]}, ".x-kubernetes-unions", "invalid-schema"),
        (
            {"type": "object", "x-kubernetes-unions": {"fieldMembers": {}}},
            ".x-kubernetes-unions",
            "invalid-schema",
        ),
        (
            {"type": "string", "anyOf": [{"enum": "A"}]},
            ".anyOf[0].enum",
            "invalid-schema",
        ),
        ({"enum": "a"}, ".enum", "invalid-schema"),
        (
            {"x-kubernetes-group-version-kind": {}},
            ".x-kubernetes-group-version-kind",
            "invalid-schema",
        ),
        (
            {"x-kubernetes-group-version-kind": [{"kind": "A"}]},
            ".x-kubernetes-group-version-kind",
            "invalid-schema",
        ),
    ],
)
def test_an_unusable_schema_is_an_error_with_its_path(
    node: JSON, path: str, code: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        compiled(node)
    assert caught.value.code == code
    assert str(caught.value.path).startswith(f"definitions.T{path}")


def test_the_path_of_an_error_leads_to_a_nested_schema() -> None:
    node: JSON = {
        "properties": {
            "a": {"items": {"additionalProperties": {"x-kubernetes-map-type": "deep"}}}
        }
    }
    with pytest.raises(SchemaError) as caught:
        compiled(node)
    assert caught.value.path.pointer == (
        "/definitions/T/properties/a/items/additionalProperties/x-kubernetes-map-type"
    )


@pytest.mark.parametrize(
    "wrap",
    [
        lambda schemas: {"swagger": "2.0", "definitions": schemas},
        lambda schemas: {"openapi": "3.0.0", "components": {"schemas": schemas}},
        lambda schemas: {"$schema": "http://json-schema.org/schema#", "$defs": schemas},
        lambda schemas: [{"paths": {}}, {"definitions": schemas}],
    ],
)
def test_kinds_are_found_in_every_form_of_document(
    wrap: Callable[[JSON], JSON],
) -> None:
    kind: JSON = {"type": "string", "enum": ["Widget"]}
    node: JSON = {
        "properties": {"kind": kind},
        "x-kubernetes-group-version-kind": GROUP_VERSION_KIND,
    }
    compiled = compile_documents(wrap({WIDGET: node}))
    assert compiled.kinds == {
        ("example.com/v1", "Widget"): WIDGET,
        ("v1", "Widget"): WIDGET,
    }
    assert compiled.types == {WIDGET: {"fields": {"kind": "string"}}}


@pytest.mark.parametrize(
    "document",
    [None, 1, "", [], {}, [{}], {"components": {}}, {"definitions": {}}, [None]],
)
def test_a_document_without_schemas_is_an_error(document: JSON) -> None:
    with pytest.raises(SchemaError):
        compile_documents(document)


def test_documents_are_not_changed() -> None:
    document: JSON = {
        "definitions": {
            "A": {"properties": {"kind": {"type": "string", "enum": ["A"]}}}
        }
    }
    before = copy.deepcopy(document)
    compile_documents(document)
    assert document == before


def test_deep_nesting_is_an_error_of_its_own() -> None:
    for read in (compiled, inline):
        with pytest.raises(DepthError):
            read(nested(100_000))


def test_an_inline_schema_may_have_definitions() -> None:
    schema = inline(
        {
            "type": "object",
            "properties": {"spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}]}},
            "components": {
                "schemas": {
                    "Spec": {
                        "properties": {
                            "items": {
                                "items": {"$ref": "#/components/schemas/Item"},
                                "x-kubernetes-patch-strategy": "merge",
                                "x-kubernetes-patch-merge-key": "id",
                            }
                        }
                    },
                    "Item": {
                        "properties": {
                            "children": {"$ref": "#/components/schemas/Spec"}
                        }
                    },
                }
            },
        }
    )
    assert schema.descend("spec", "items").merge_key == "id"
    assert schema.descend("spec", "items", "children", "items").merge_key == "id"


def test_an_inline_schema_may_be_one_reference() -> None:
    definitions: JSON = {
        "A": {"$ref": "#/definitions/B"},
        "B": {"properties": {"a": {"type": "string"}}},
    }
    assert (
        inline({"$ref": "#/definitions/A", "definitions": definitions})
        .descend("a")
        .name
        == "a"
    )


def test_references_in_a_circle_are_found_on_use() -> None:
    schema = inline(
        {
            "$ref": "#/$defs/A",
            "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
        }
    )
    with pytest.raises(SchemaError) as caught:
        _ = schema.type
    assert caught.value.code == "circular-reference"


@pytest.mark.parametrize("reference", ["#/definitions/Nowhere", "#/definitions/Alias"])
def test_a_dangling_reference_is_found_on_use(reference: str) -> None:
    definitions: JSON = {"Alias": {"$ref": "#/definitions/Nowhere"}}
    properties: JSON = {"a": {"$ref": reference}, "b": {"type": "string"}}
    schema = inline({"properties": properties, "definitions": definitions})
    assert schema.descend("b").merge_key == ""
    with pytest.raises(SchemaError) as caught:
        schema.descend("a")
    assert caught.value.code == "dangling-reference"


@given(schema_documents)
def test_any_json_is_compiled_or_an_error(document: JSON) -> None:
    documents: list[JSON] = [
        document,
        {"definitions": {"a": document}},
        {"$defs": document},
    ]
    for wrapped in documents:
        try:
            compiled = compile_documents(wrapped)
        except SmpError as error:
            assert_reported(error)
            continue
        assert set(compiled.kinds.values()) <= compiled.types.keys()


@given(schema_documents)
def test_any_json_is_an_inline_schema_or_an_error(document: JSON) -> None:
    with only_reported_errors():
        schema = inline(document)
        for name in ("a", "spec", "kind"):
            assert isinstance(schema.descend(name).type.items, Type)


def test_what_a_branch_of_all_of_says_of_fields_and_unions_holds() -> None:
    union: JSONObject = {
        "fields-to-discriminateBy": {"a": "A", "b": "B"},
        "discriminator": "type",
    }
    text: JSONObject = {"type": "string"}
    spec: JSONObject = {
        "type": "object",
        "properties": {"type": text, "a": text, "b": text, "color": text},
        "allOf": [
            {"properties": {"color": {"enum": ["red"]}}},
            {"x-kubernetes-unions": [union]},
        ],
    }
    names: JSONObject = {"group": "g", "version": "v1", "kind": "K"}
    document: JSONObject = {
        "components": {
            "schemas": {
                "K": {
                    "type": "object",
                    "properties": {"spec": spec},
                    "x-kubernetes-group-version-kind": [names],
                }
            }
        }
    }
    schema = smp.Catalog.from_openapi(document).schema("g/v1", "K")
    (wrong,) = smp.validate_enums({"spec": {"color": "blue"}}, schema)
    assert str(wrong.path) == "spec.color"
    both: JSONObject = {"spec": {"type": "A", "a": "1", "b": "2"}}
    (violation,) = smp.validate_unions(None, both, schema)
    assert str(violation.path) == "spec.b"


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("takes", [True, False])
def test_a_kind_whose_patch_takes_no_strategic_form_is_custom(
    version: int, takes: bool
) -> None:
    media_types = ["application/merge-patch+json", "application/apply-patch+yaml"]
    if takes:
        media_types.append("application/strategic-merge-patch+json")
    kind: JSON = {"group": "example.com", "version": "v1", "kind": "Widget"}
    widget: JSON = {
        "type": "object",
        "properties": {"size": {"type": "integer"}},
        "x-kubernetes-group-version-kind": [kind],
    }
    patch: JSONObject = {"x-kubernetes-group-version-kind": kind}
    document: JSONObject = {"paths": {"/widgets/{name}": {"patch": patch}}}
    if version == 2:
        patch["consumes"] = [*media_types]
        document["definitions"] = {WIDGET: widget}
    else:
        patch["requestBody"] = {"content": {each: {} for each in media_types}}
        document["components"] = {"schemas": {WIDGET: widget}}
    schema = smp.Catalog.from_openapi(document).schema("example.com/v1", "Widget")
    assert schema.is_custom is not takes
