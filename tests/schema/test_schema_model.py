from __future__ import annotations

import pytest

from smp._values.values import JSON, JSONObject
from smp.errors import SchemaError, UnknownFieldError
from smp.schema.model import (
    OPAQUE,
    ListType,
    ObjectType,
    ScalarType,
    Schema,
    Strategy,
    TypeDocument,
)

PORTS: JSON = {"items": "#Port", "list_type": "map", "map_keys": ["port"]}
CONTAINER: JSONObject = {
    "fields": {
        "name": "string",
        "image": "string",
        "ports": {"is": PORTS, "strategy": "merge", "key": "port"},
        "args": {"items": "string", "list_type": "atomic"},
        "labels": {"fields": {}, "values": "string"},
        "config": "any",
        "raw": {"fields": {}},
        "policy": {"type": "string", "enum": ["Always", "Never"]},
        "next": "#Container",
        "lost": "#Nowhere",
    },
    "map_type": "atomic",
    "unions": [
        {"discriminator": "policy", "fields-to-discriminateBy": {"config": "Always"}}
    ],
}
PORT: JSONObject = {"fields": {"port": "integer", "target": "int-or-string"}}


@pytest.fixture
def schema() -> Schema:
    return Schema.inline("#Container", {"Container": CONTAINER, "Port": PORT})


@pytest.mark.parametrize(
    ("text", "merge", "replace", "retain_keys", "canonical"),
    [
        ("", False, False, False, ""),
        ("merge", True, False, False, "merge"),
        ("replace", False, True, False, "replace"),
        ("retainKeys", False, False, True, "retainKeys"),
        ("merge,retainKeys", True, False, True, "merge,retainKeys"),
        ("retainKeys,merge", True, False, True, "merge,retainKeys"),
        ("merge|retainKeys", True, False, True, "merge,retainKeys"),
        ("retainKeys,replace", False, True, True, "replace,retainKeys"),
    ],
)
def test_strategies_parse_and_print(
    text: str, merge: bool, replace: bool, retain_keys: bool, canonical: str
) -> None:
    strategy = Strategy.parse(text)
    assert (strategy.merge, strategy.replace, strategy.retain_keys) == (
        merge,
        replace,
        retain_keys,
    )
    assert str(strategy) == canonical
    assert Strategy.parse(canonical) == strategy


@pytest.mark.parametrize(
    "text",
    [
        "merge,replace",
        "merge,merge",
        "Merge",
        "merge, retainKeys",
        ",",
        "merge,",
        "none",
    ],
)
def test_other_combinations_of_strategies_are_an_error(text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Strategy.parse(text)
    assert caught.value.code == "invalid-strategy"


def test_a_field_has_strategy_key_and_list_facets(schema: Schema) -> None:
    ports = schema.descend("ports")
    assert (ports.merges, ports.replaces, ports.retain_keys, ports.merge_key) == (
        True,
        False,
        False,
        "port",
    )
    assert isinstance(ports.type, ListType)
    assert (ports.type.list_type, ports.type.map_keys) == ("map", ("port",))


def test_a_list_is_descended_through_to_its_elements(schema: Schema) -> None:
    target = schema.descend("ports", "target").type
    assert isinstance(target, ScalarType)
    assert target.name == "int-or-string"


def test_a_named_type_is_linked_once(schema: Schema) -> None:
    assert schema.descend("next", "next").type is schema.type
    assert schema.descend("next").reference == "Container"
    assert schema.descend("image").reference == ""


def test_an_object_has_its_facets(schema: Schema) -> None:
    root = schema.type
    assert isinstance(root, ObjectType)
    assert (root.map_type, root.embedded) == ("atomic", False)
    (union,) = root.unions
    assert (union.discriminator, union.names, union.empty) == (
        "policy",
        ("config",),
        frozenset({"Never"}),
    )
    assert union.allowed == frozenset({"Always", "Never"})
    assert isinstance(union.allowed, frozenset)
    assert [field.name for field in root] == sorted(field.name for field in root)
    assert root.declares("labels")
    assert not root.declares("app")


def test_additional_properties_have_every_name(schema: Schema) -> None:
    labels = schema.descend("labels").type
    assert isinstance(labels, ObjectType)
    assert not labels.declares("app")
    assert isinstance(schema.descend("labels", "app").type, ScalarType)


def test_a_scalar_has_its_enum(schema: Schema) -> None:
    policy = schema.descend("policy").type
    assert isinstance(policy, ScalarType)
    assert policy.enum == ("Always", "Never")


def test_free_form_data_has_every_name_at_any_depth(schema: Schema) -> None:
    config = schema.descend("config")
    assert schema.descend("config", "a", "b", "c").type is config.type
    assert config.type.items is config.type


@pytest.mark.parametrize(
    "path",
    [("missing",), ("ports", "missing"), ("raw", "missing"), ("image", "missing")],
)
def test_an_unknown_field_is_an_error_with_its_path(
    schema: Schema, path: tuple[str, ...]
) -> None:
    with pytest.raises(UnknownFieldError) as caught:
        schema.descend(*path)
    assert caught.value.path.steps == path


def test_the_merge_policy_makes_unknown_fields_free_form(schema: Schema) -> None:
    tolerant = schema.with_unknown_fields("merge")
    assert (
        tolerant.descend("raw", "anything", "below").type
        is schema.descend("config").type
    )
    assert tolerant.descend("ports").merge_key == "port"
    assert tolerant.with_unknown_fields("error").type.field("missing") is None


def test_a_dangling_reference_is_found_on_use(schema: Schema) -> None:
    with pytest.raises(SchemaError) as caught:
        schema.descend("lost")
    assert caught.value.code == "dangling-reference"


@pytest.mark.parametrize(
    "document", ["strin", {"type": "strin"}, {"items": 5}, {"values": 5}]
)
def test_a_malformed_type_document_is_a_schema_error(document: TypeDocument) -> None:
    with pytest.raises(SchemaError):
        _ = Schema.inline(document).type


def test_types_and_fields_have_a_useful_repr(schema: Schema) -> None:
    assert repr(schema) == "<Schema source='inline'>"
    assert repr(schema.type) == "<ObjectType name='Container' fields=10>"
    assert repr(schema.descend("ports")) == (
        "<Field name='ports' type='list of Port' strategy='merge' merge_key='port'>"
    )
    assert repr(schema.descend("ports").type) == (
        "<ListType items='Port' list_type='map' map_keys=('port',)>"
    )
    assert repr(schema.descend("image")) == "<Field name='image' type='string'>"
    assert repr(schema.descend("image").type) == "<ScalarType name='string'>"
    assert repr(schema.descend("policy").type) == (
        "<ScalarType name='string' enum=('Always', 'Never')>"
    )
    assert repr(schema.descend("labels")) == "<Field name='labels' type='object'>"
    assert repr(schema.descend("labels").type) == (
        "<ObjectType fields=0 values='string'>"
    )
    assert repr(schema.descend("config").type) == "<AnyType>"
    assert repr(OPAQUE) == "<Type>"


def test_a_repr_links_no_type(schema: Schema) -> None:
    lost = schema.type.field("lost")
    assert repr(lost) == "<Field name='lost' type='Nowhere'>"


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"items": {"items": "#A"}}, "list of list of A"),
        ({"type": "string", "enum": ["a"]}, "string"),
        ({"items": 5}, "list of 5"),
        ("any", "any"),
    ],
)
def test_a_repr_describes_the_type_of_a_field(
    document: TypeDocument, text: str
) -> None:
    schema = Schema.inline({"fields": {"a": document}})
    assert repr(schema.type.field("a")) == f"<Field name='a' type={text!r}>"
