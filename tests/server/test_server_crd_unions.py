"""Unions in CustomResourceDefinitions: what is accepted, and each problem of the rest.

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

SPEC: Final = "spec.versions[0].schema.openAPIV3Schema.properties[spec]"
TYPE: Final = f"{SPEC}.properties[type]"
ON_TYPE: Final = f"{TYPE}.x-kubernetes-unions"
ON_OTHER: Final = f"{SPEC}.properties[other].x-kubernetes-unions"
ON_OBJECT: Final = f"{SPEC}.x-kubernetes-unions"
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


NOT_FOUND: Final = "must be a property of the object"
ONE_UNION: Final = "must be in one union only"
PLACE: Final = (
    "Forbidden: must be on an object, or on the property that is the discriminator, a"
    " string"
)


def invalid(value: JSON, detail: str) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return f"Invalid value: {text}: {detail}"


# Each schema with all its problems: field, and message.
MALFORMED: Final[list[tuple[str, JSONObject, dict[str, str]]]] = [
    (
        "no members",
        spec_with(on_object=[{"discriminator": "type"}]),
        {
            f"{ON_OBJECT}[0]": "Required value: must name its members in one of "
            "fieldMembers, fields, members, fields-to-discriminateBy, "
            "fields-to-discriminator-value"
        },
    ),
    (
        "no field",
        spec_with({"fieldMembers": {"A": None}}),
        {f"{ON_TYPE}.fieldMembers": "Required value: must name at least one field"},
    ),
    (
        "a list without members",
        spec_with(on_object=[{"fields": []}]),
        {f"{ON_OBJECT}[0].fields": "Required value: must name at least one field"},
    ),
    (
        "members that are no objects",
        spec_with({"fieldMembers": {"A": "a", "B": ["b"], "C": {"name": "c"}}}),
        {
            f"{ON_TYPE}.fieldMembers[A]": invalid(
                "a", "must be of type object, not string"
            ),
            f"{ON_TYPE}.fieldMembers[B]": invalid(
                ["b"], "must be of type object, not array"
            ),
        },
    ),
    (
        "members without a name, and flags that are no booleans",
        spec_with({"fieldMembers": {"A": {}, "B": {"name": "b", "optional": "yes"}}}),
        {
            f"{ON_TYPE}.fieldMembers[A].name": "Required value",
            f"{ON_TYPE}.fieldMembers[B].optional": invalid(
                "yes", "must be of type boolean, not string"
            ),
        },
    ),
    (
        "members that are not declared",
        spec_with(on_object=[{"discriminator": "t", "members": {"x": "X", "y": "Y"}}]),
        {
            f"{ON_OBJECT}[0].discriminator": invalid("t", NOT_FOUND),
            f"{ON_OBJECT}[0].members[x]": invalid("x", NOT_FOUND),
            f"{ON_OBJECT}[0].members[y]": invalid("y", NOT_FOUND),
        },
    ),
    (
        "a required member, and one with a default",
        spec_with(
            FINAL, required=["a"], properties={"b": {"type": "object", "default": {}}}
        ),
        {
            f"{ON_TYPE}.fieldMembers[A].name": invalid(
                "a", "must not be a required property of the object"
            ),
            f"{ON_TYPE}.fieldMembers[B].name": invalid(
                "b", "must be a property without a default"
            ),
        },
    ),
    (
        "a discriminator that is no string",
        spec_with(
            properties={"type": {"type": "integer", "x-kubernetes-unions": FINAL}}
        ),
        {ON_TYPE: PLACE},
    ),
    (
        "a discriminator that is no string, named by the object",
        spec_with(on_object=[LISTS["2019"]], properties={"type": {"type": "boolean"}}),
        {f"{TYPE}.type": invalid("boolean", "must be string for a discriminator")},
    ),
    (
        "fieldMembers on an object without a discriminator",
        spec_with(on_object=[FINAL]),
        {
            f"{ON_OBJECT}[0].discriminator": "Required value: must be the field that "
            "has the values of fieldMembers"
        },
    ),
    (
        "another discriminator than the property",
        spec_with({"discriminator": "a", **FINAL}),
        {
            f"{ON_TYPE}.discriminator": invalid(
                "a", "must be the property that the union is attached to"
            )
        },
    ),
    (
        "values outside the enum, and twice",
        spec_with(
            on_object=[{"discriminator": "type", "members": {"a": "A", "b": "A"}}],
            properties={"type": {"type": "string", "enum": ["B", "C"]}},
        ),
        {
            f"{ON_OBJECT}[0].members[a]": 'Unsupported value: "A": supported values: '
            '"B", "C"',
            f"{ON_OBJECT}[0].members[b]": 'Unsupported value: "A": supported values: '
            '"B", "C"; Invalid value: "A": must select one member only',
        },
    ),
    (
        "a default that is not among the values",
        spec_with(
            properties={
                "type": {"type": "string", "default": "Z", "x-kubernetes-unions": FINAL}
            }
        ),
        {f"{TYPE}.default": 'Unsupported value: "Z": supported values: "A", "B"'},
    ),
    (
        "the discriminator as a member, and a member twice",
        spec_with(
            on_object=[
                {
                    "discriminator": "type",
                    "fields": [
                        {"fieldName": "type", "discriminatorValue": "T"},
                        {"fieldName": "a", "discriminatorValue": "A"},
                        {"fieldName": "a", "discriminatorValue": "B"},
                    ],
                }
            ]
        ),
        {
            f"{ON_OBJECT}[0].fields[0].fieldName": invalid(
                "type", "must not be the discriminator"
            ),
            f"{ON_OBJECT}[0].fields[2].fieldName": invalid(
                "a", "must be a member once"
            ),
        },
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
        {f"{ON_OTHER}.fieldMembers[X].name": invalid("b", ONE_UNION)},
    ),
    (
        "an unknown profile",
        spec_with(on_object=[{"members": {"a": {}}, "profile": "none"}]),
        {
            f"{ON_OBJECT}[0].profile": 'Unsupported value: "none": supported values: '
            '"kep1027", "kep1027-draft", "kep2019", "smd", "validate-only", "off"'
        },
    ),
    (
        "unions that are no list, and no object",
        spec_with("A", {"members": {"a": {}}}),
        {
            ON_TYPE: invalid("A", "must be of type object, not string"),
            ON_OBJECT: invalid({"members": {"a": {}}}, "must be a list on an object"),
        },
    ),
    (
        "unions in a condition",
        spec_with(anyOf=[{"x-kubernetes-unions": [FINAL]}]),
        {
            f"{SPEC}.anyOf[0].x-kubernetes-unions": "Forbidden: must be undefined to be"
            " structural"
        },
    ),
    (
        "unions on elements and values that are no objects",
        spec_with(
            properties={
                "list": {
                    "type": "array",
                    "items": {"type": "string", "x-kubernetes-unions": FINAL},
                },
                "map": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "string",
                        "x-kubernetes-unions": FINAL,
                    },
                },
            }
        ),
        {
            f"{SPEC}.properties[list].items.x-kubernetes-unions": PLACE,
            f"{SPEC}.properties[map].additionalProperties.x-kubernetes-unions": PLACE,
        },
    ),
]


@pytest.mark.parametrize(
    ("schema", "problems"),
    [pytest.param(*case, id=name) for name, *case in MALFORMED],
)
def test_malformed_unions_are_refused_with_a_cause_for_each_problem(
    schema: JSONObject, problems: dict[str, str]
) -> None:
    with pytest.raises(InvalidError) as caught:
        Definition.read(with_schema(schema))
    found: dict[str, str] = {}
    for violation in caught.value.violations:
        field = str(violation.cause["field"])
        message = str(violation.cause["message"])
        found[field] = f"{found[field]}; {message}" if field in found else message
    assert found == problems
    # With the feature off they are markers without effect, as they are in an object
    # that was stored meanwhile.
    off = Definition.read(with_schema(schema), SchemaSettings(unions=False))
    stored = Definition.stored(with_schema(schema))
    assert (off.ignored, len(stored.ignored)) == ((), len(caught.value.violations))
    spec: JSON = {"a": {}, "b": {}}
    if schema["type"] == "array":
        spec = [spec]
    for definition in (off, stored):
        assert isinstance(change(definition, None, spec), Accepted)
        (published, _) = definition.version("v1").components.values()
        assert as_object(published["properties"])["spec"] == schema


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
    except InvalidError as error:
        # Found by the rules, with its place, and not by the reader of schemas.
        for violation in error.violations:
            assert "x-kubernetes-unions" in str(violation.path) or "type" in str(
                violation.path
            )
        return
    outcome = change(definition, {"type": "A", "a": {}}, spec)
    assert outcome.code in {200, 422}
