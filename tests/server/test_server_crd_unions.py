"""Unions in CustomResourceDefinitions: what is accepted, and what is wrong with others.

The shapes are those of the documents that proposed them: the KEP-1027 text of 2019, its
first draft and its final text, and structured-merge-diff.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp import handler
from smp._values.values import JSON, JSONObject, as_object
from smp.handler import Accepted, Options, Refused
from smp.server.errors import InvalidError
from smp.server.objects.crds import Definition, SchemaSettings
from tests.support.server_definitions import with_schema
from tests.support.strategies import json_values

MEMBER: Final[JSONObject] = {"type": "object", "properties": {"x": {"type": "integer"}}}

# KEP-1027, final text: on the property that is the discriminator.
FINAL: Final[JSONObject] = {
    "fieldMembers": {"A": {"name": "a"}, "B": {"name": "b", "optional": True}}
}
# KEP-1027 of 2019, its first draft, and structured-merge-diff: on the object.
LISTS: Final[dict[str, JSONObject]] = {
    "2019": {
        "discriminator": "type",
        "fields-to-discriminateBy": {"a": "A", "b": "B"},
    },
    "draft": {
        "discriminator": "type",
        "fields-to-discriminateBy": {
            "a": {"discriminatorValue": "A"},
            "b": {"discriminatorValue": "B", "optional": True},
        },
    },
    "structured-merge-diff": {
        "discriminator": "type",
        "fields": [
            {"fieldName": "a", "discriminatorValue": "A"},
            {"fieldName": "b", "discriminatorValue": "B"},
        ],
    },
    "final": {"discriminator": "type", **FINAL},
    "overlay": {
        "discriminator": "type",
        "members": {"a": "A", "b": {"value": "B", "optional": True}},
        "empty": ["C"],
        "profile": "kep1027",
    },
}


def spec_with(
    on_type: JSON = None,
    on_object: JSON = None,
    *,
    properties: JSONObject | None = None,
    **keywords: JSON,
) -> JSONObject:
    """Return the schema of an object with a type, a, b and c, and its unions."""
    type_: JSONObject = {"type": "string"}
    if on_type is not None:
        type_["x-kubernetes-unions"] = on_type
    schema: JSONObject = {
        "type": "object",
        "properties": {
            "type": type_,
            "a": MEMBER,
            "b": MEMBER,
            "c": MEMBER,
            **(properties or {}),
        },
        **keywords,
    }
    if on_object is not None:
        schema["x-kubernetes-unions"] = on_object
    return schema


def change(definition: Definition, old: JSON, new: JSON) -> handler.Outcome:
    """Replace the spec of a thing."""
    schema = definition.catalog.schema("example.com/v1", "Thing")
    stored, body = thing(old), json.dumps(thing(new)).encode()
    return handler.replace(stored, body, schema, Options(custom=True))


def thing(spec: JSON) -> JSONObject:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": spec,
    }


SHAPES: Final = [
    pytest.param(spec_with(FINAL), id="on-the-discriminator"),
    pytest.param(spec_with([FINAL]), id="in-a-list-on-the-discriminator"),
    pytest.param(
        spec_with(
            on_object=[
                {**LISTS["structured-merge-diff"], "deduceInvalidDiscriminator": True}
            ]
        ),
        id="deduced",
    ),
    *[
        pytest.param(spec_with(on_object=[union]), id=f"on-the-object-{name}")
        for name, union in LISTS.items()
    ],
]


@pytest.mark.parametrize("schema", SHAPES)
def test_every_shape_is_normalized_and_validated(schema: JSONObject) -> None:
    definition = Definition.read(with_schema(schema))
    assert definition.warnings == ()
    switched = change(
        definition, {"type": "A", "a": {}}, {"type": "B", "a": {}, "b": {}}
    )
    assert isinstance(switched, Accepted)
    assert switched.object["spec"] == {"type": "B", "b": {}}
    several = change(
        definition, {"type": "A", "a": {}}, {"type": "A", "a": {}, "b": {}}
    )
    assert isinstance(several, Refused)
    assert several.code == 422
    # The extension is published as it was written.
    (published, _) = definition.version("v1").components.values()
    assert as_object(published["properties"])["spec"] == schema


def test_unions_are_also_read_in_lists_maps_and_nested_objects() -> None:
    union = spec_with(FINAL)
    schema: JSONObject = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": union},
            "map": {"type": "object", "additionalProperties": union},
            "object": {"type": "object", "properties": {"inner": union}},
        },
    }
    definition = Definition.read(with_schema(schema))
    both: JSONObject = {"type": "A", "a": {}, "b": {}}
    specs: list[JSON] = [
        {"list": [both]},
        {"map": {"k": both}},
        {"object": {"inner": both}},
    ]
    for spec in specs:
        refused = change(definition, {}, spec)
        assert isinstance(refused, Refused)
        assert refused.code == 422


# Each schema, and what is wrong with it.
MALFORMED: Final[list[tuple[str, JSONObject, str]]] = [
    (
        "no members",
        spec_with(on_object=[{"discriminator": "type"}]),
        "spec.x-kubernetes-unions: a union names its members",
    ),
    (
        "members that are no objects",
        spec_with({"fieldMembers": {"A": "a", "C": {"name": "c"}}}),
        "the member of 'A' is an object with a name, or null, not string",
    ),
    (
        "members without a name",
        spec_with({"fieldMembers": {"A": {}}}),
        "a name is expected, not null",
    ),
    (
        "a flag that is no boolean",
        spec_with({"fieldMembers": {"B": {"name": "b", "optional": "yes"}}}),
        "optional of a member is true or false, not string",
    ),
    (
        "members that are not declared",
        spec_with(on_object=[{"discriminator": "t", "members": {"x": "X", "y": "Y"}}]),
        "field 't' not found; field 'x' not found; field 'y' not found",
    ),
    (
        "a required member",
        spec_with(FINAL, required=["a"]),
        "the member 'a' is a required field",
    ),
    (
        "a discriminator that is no string",
        spec_with(
            properties={"type": {"type": "integer", "x-kubernetes-unions": FINAL}}
        ),
        "the discriminator 'type' is of type integer, not string",
    ),
    (
        "another discriminator than the property",
        spec_with({"discriminator": "a", **FINAL}),
        "the discriminator 'a' is a member",
    ),
    (
        "values outside the enum, and twice",
        spec_with(
            on_object=[{"discriminator": "type", "members": {"a": "A", "b": "A"}}],
            properties={"type": {"type": "string", "enum": ["B", "C"]}},
        ),
        "the value 'A' selects two members; the value 'A' is not in the enum of 'type'",
    ),
    (
        "a default that is not among the values",
        spec_with(
            properties={
                "type": {"type": "string", "default": "Z", "x-kubernetes-unions": FINAL}
            }
        ),
        "the default 'Z' is not a value of 'type'",
    ),
    (
        "a field in two unions",
        spec_with(
            FINAL,
            properties={
                "other": {
                    "type": "string",
                    "x-kubernetes-unions": {"fieldMembers": {"X": {"name": "b"}}},
                }
            },
        ),
        "'b' belongs to two unions",
    ),
    (
        "an unknown profile",
        spec_with(on_object=[{"members": {"a": {}}, "profile": "none"}]),
        "unknown union profile 'none'",
    ),
    (
        "unions on an object that are no list",
        spec_with(on_object={"members": {"a": {}}}),
        "the unions of an object are a list",
    ),
]


def test_malformed_unions_are_refused_and_were_stored_without_effect() -> None:
    for name, schema, problem in MALFORMED:
        with pytest.raises(InvalidError) as caught:
            Definition.read(with_schema(schema))
        (violation,) = caught.value.violations
        message = str(violation.cause["message"])
        assert problem in message, name
        # With the profile "off" they are markers without effect, as they are in an
        # object that was stored meanwhile.
        off = Definition.read(with_schema(schema), SchemaSettings(unions=False))
        stored = Definition.stored(with_schema(schema))
        assert (off.ignored, len(stored.ignored)) == ((), 1), name
        for definition in (off, stored):
            spec: JSON = {"a": {}, "b": {}}
            assert isinstance(change(definition, None, spec), Accepted), name
            (published, _) = definition.version("v1").components.values()
            assert as_object(published["properties"])["spec"] == schema, name


def test_two_unions_without_discriminators_may_share_a_member() -> None:
    """Kubernetes' NetworkPolicyPeer: ipBlock excludes either selector."""
    unions: JSON = [{"members": {"a": {}, "b": {}}}, {"members": {"a": {}, "c": {}}}]
    definition = Definition.read(with_schema(spec_with(on_object=unions)))
    assert isinstance(change(definition, {}, {"b": {}, "c": {}}), Accepted)
    assert isinstance(change(definition, {}, {"a": {}, "c": {}}), Refused)


def replaced(document: Any, value: JSON, chance: Any) -> Any:
    """Return a document with another value somewhere."""
    if isinstance(document, dict) and document and chance.random() < 0.8:
        name = chance.choice(sorted(document))
        return {**document, name: replaced(document[name], value, chance)}
    if isinstance(document, list) and document and chance.random() < 0.8:
        return [replaced(document[0], value, chance), *document[1:]]
    return value


@given(
    shape=st.sampled_from([FINAL, *LISTS.values()]),
    value=st.one_of(
        json_values(), st.sampled_from(["a", "b", "type", "A", "B", "kep2019", ""])
    ),
    spec=st.dictionaries(
        st.sampled_from(["type", "a", "b", "c"]), st.sampled_from(["A", "B", "", {}])
    ),
    chance=st.randoms(use_true_random=False),
)
def test_what_a_definition_may_declare_never_fails_a_request_for_its_objects(
    shape: JSONObject, value: JSON, spec: JSONObject, chance: Any
) -> None:
    union = replaced(shape, value, chance)
    schema = spec_with(on_object=[union])
    if shape is FINAL:
        schema = spec_with(union)
    try:
        definition = Definition.read(with_schema(schema))
    except InvalidError:
        return
    outcome = change(definition, {"type": "A", "a": {}}, spec)
    assert outcome.code in {200, 422}
