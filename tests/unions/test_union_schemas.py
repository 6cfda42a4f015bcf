"""Unions in schemas: the shapes in which they are published, and contradictions."""

from __future__ import annotations

import pytest

from smp import (
    SchemaError,
    normalize_unions,
    validate_unions,
)
from smp._values.values import JSON, JSONObject
from smp.schema.model import ObjectType, Schema
from smp.schema.sources.openapi import inline
from smp.schema.union_groups import Member, read_unions
from tests.support.union_schemas import (
    AS_SMD,
    D2019,
    FIELDS,
    MAP,
    PLAIN,
    STRING,
    read,
    schema_with,
    struct,
)

MEMBERS = (Member("a", "A"), Member("b", "B"))
LENIENT = (Member("a", "A"), Member("b", "B", optional=True))


@pytest.mark.parametrize(
    ("union", "members"),
    [
        (D2019, MEMBERS),
        ({"discriminator": "d", "fields-to-discriminator-value": MAP}, MEMBERS),
        (
            {
                "discriminator": "d",
                "fields-to-discriminateBy": {
                    "a": {"discriminatorValue": "A"},
                    "b": {"discriminatorValue": "B", "optional": True},
                },
            },
            LENIENT,
        ),
        (
            {
                "discriminator": "d",
                "fieldMembers": {
                    "A": {"name": "a"},
                    "B": {"name": "b", "optional": True},
                },
            },
            LENIENT,
        ),
        (AS_SMD, MEMBERS),
        (
            {
                "discriminator": "d",
                "members": {"a": "A", "b": {"value": "B", "optional": True}},
            },
            LENIENT,
        ),
    ],
    ids=["2019", "alias", "draft", "kep1027", "smd", "overlay"],
)
def test_every_published_shape_is_read(
    union: JSONObject, members: tuple[Member, ...]
) -> None:
    group = read(union)
    assert group.discriminator == "d"
    assert group.members == members


def test_a_value_that_is_not_stated_is_the_name_of_the_field() -> None:
    assert read({"discriminator": "d", "fields": [{"fieldName": "a"}]}).members == (
        Member("a", "a"),
    )


def test_a_union_without_discriminator_is_read() -> None:
    group = read(PLAIN)
    assert (group.discriminator, group.members, group.allowed, group.required) == (
        "",
        MEMBERS,
        None,
        False,
    )


@pytest.mark.parametrize(
    "word",
    [
        "deduceInvalidDiscriminator",
        "deduce-invalid-discriminator",
        "deduce-discriminator",
        "deduce",
    ],
)
def test_deduction_has_several_spellings(word: str) -> None:
    assert read({**D2019, word: True}).deduce
    assert not read({**D2019, word: False}).deduce


def test_a_discriminator_is_the_property_that_carries_the_union() -> None:
    members: JSONObject = {"A": {"name": "a"}, "": None, "Recreate": None}
    d: JSONObject = {**STRING, "x-kubernetes-unions": {"fieldMembers": members}}
    type_ = inline({"type": "object", "properties": {"a": STRING, "d": d}}).type
    assert isinstance(type_, ObjectType)
    (group,) = type_.unions
    assert (group.discriminator, group.members) == ("d", (Member("a", "A"),))
    assert (set(group.empty), set(group.none)) == ({"Recreate"}, {""})
    assert group.allowed == frozenset({"A", "", "Recreate"})


@pytest.mark.parametrize(
    ("union", "enum", "empty", "none", "closed", "required"),
    [
        (D2019, [], set(), set(), False, False),
        (D2019, ["A", "B"], set(), set(), True, True),
        (D2019, ["A", "B", "E"], {"E"}, set(), True, True),
        (D2019, ["A", "B", "E", ""], {"E"}, {""}, True, False),
        ({**D2019, "exactly_one": True}, [], set(), set(), False, True),
        ({**D2019, "exactly_one": False}, ["A", "B"], set(), set(), True, False),
        (
            {"discriminator": "d", "members": MAP, "empty": ["E"]},
            [],
            {"E"},
            set(),
            True,
            True,
        ),
        (
            {"discriminator": "d", "members": MAP, "empty": ["E"], "none": ["N"]},
            [],
            {"E"},
            {"N"},
            True,
            False,
        ),
        (
            {"discriminator": "d", "members": MAP, "none": ["E"]},
            ["A", "B", "E"],
            set(),
            {"E"},
            True,
            False,
        ),
        ({**PLAIN, "exactly_one": True}, [], set(), set(), False, True),
    ],
)
def test_what_the_values_mean_follows_from_the_enum(
    union: JSONObject,
    enum: list[JSON],
    empty: set[str],
    none: set[str],
    closed: bool,
    required: bool,
) -> None:
    group = read(union, d=enum)
    assert (set(group.empty), set(group.none), group.closed, group.required) == (
        empty,
        none,
        closed,
        required,
    )


@pytest.mark.parametrize(
    ("unions", "complaint"),
    [
        ({}, "a list, not object"),
        ([1], "an object, not integer"),
        ([{}], "names its members"),
        ([{"discriminator": "d"}], "names its members"),
        ([{"discriminator": 1, **PLAIN}], "a name is expected, not integer"),
        ([{"fields-to-discriminateBy": {"a": 1}}], "a name is expected, not integer"),
        ([{"fields-to-discriminateBy": []}], "an object is expected, not array"),
        ([{"fieldMembers": {"A": {}}}], "a name is expected, not null"),
        ([{"fields": {}}], "fields are a list, not object"),
        ([{"fields": [1]}], "an object is expected, not integer"),
        ([{"members": MAP, "empty": "E"}], "a list of values is expected, not string"),
        ([{**D2019, "discriminator": "a"}], "the discriminator 'a' is a member"),
        (
            [{"discriminator": "d", "members": {"a": "A", "b": "A"}}],
            "the value 'A' selects two members",
        ),
        (
            [{"fields": [{"fieldName": "a"}, {"fieldName": "a"}]}],
            "'a' is a member twice",
        ),
        (
            [D2019, {"discriminator": "e", "members": {"b": "B"}}],
            "'b' belongs to two unions",
        ),
        (
            [D2019, {"discriminator": "d", "members": {"c": "C"}}],
            "'d' belongs to two unions",
        ),
        *(
            ([union], "'Optional' is not known of a member")
            for union in (
                {"discriminator": "d", "members": {"c": {"Optional": True}}},
                {"discriminator": "d", "fieldMembers": {"C": {"Optional": True}}},
                {
                    "discriminator": "d",
                    "fields-to-discriminateBy": {
                        "c": {"discriminatorValue": "C", "Optional": True}
                    },
                },
            )
        ),
    ],
)
def test_a_malformed_union_is_an_error_with_its_path(
    unions: JSON, complaint: str
) -> None:
    with pytest.raises(SchemaError, match=complaint) as caught:
        read_unions(unions, FIELDS)
    assert caught.value.code == "invalid-union"
    assert str(caught.value.path) in ("x-kubernetes-unions", "")


def test_all_contradictions_are_reported_at_once() -> None:
    unions: JSON = [
        {"discriminator": "a", "members": {"a": "A", "b": "A"}},
        {"discriminator": "e", "members": {"b": "B"}},
    ]
    with pytest.raises(SchemaError) as caught:
        read_unions(unions, FIELDS)
    for problem in (
        "selects two members",
        "discriminator 'a' is a member",
        "'b' belongs to two unions",
    ):
        assert problem in str(caught.value)


def test_two_unions_without_discriminators_may_share_a_member() -> None:
    unions: list[JSON] = [
        {"members": {"a": "A", "b": "B"}},
        {"members": {"a": "A", "c": "C"}},
    ]
    schema = Schema.inline(struct(unions, "c"))
    assert validate_unions(None, {"b": "1", "c": "1"}, schema) == ()
    assert [
        violation.code
        for violation in validate_unions(None, {"a": "1", "b": "1", "c": "1"}, schema)
    ] == ["union-several"] * 2


STRING_TYPE: JSONObject = {"type": "string"}
ON_DISCRIMINATOR: JSONObject = {"fieldMembers": {"A": {"name": "a"}, "B": None}}


@pytest.mark.parametrize(
    ("discriminator", "more", "problem"),
    [
        (
            {"type": "string", "x-kubernetes-unions": {"fieldMembers": {"A": "a"}}},
            {},
            (
                "fieldMembers: the member of 'A' is an object with a name, or null,"
                " not string"
            ),
        ),
        (
            {
                "type": "string",
                "x-kubernetes-unions": {
                    "fieldMembers": {"A": {"name": "a", "optional": "yes"}}
                },
            },
            {},
            "optional of a member is true or false, not string",
        ),
        (
            {"type": "string", "x-kubernetes-unions": [{"fieldMembers": {"A": {}}}]},
            {},
            "a name is expected, not null",
        ),
        (
            {"type": "integer", "x-kubernetes-unions": ON_DISCRIMINATOR},
            {},
            "the discriminator 'd' is of type integer, not string",
        ),
        (
            {"type": "string", "x-kubernetes-unions": ON_DISCRIMINATOR},
            {"required": ["d", "a"]},
            "the member 'a' is a required field",
        ),
        (
            {
                "type": "string",
                "default": "Z",
                "x-kubernetes-unions": ON_DISCRIMINATOR,
            },
            {},
            "the default 'Z' is not a value of 'd'",
        ),
    ],
)
@pytest.mark.parametrize("is_in_list", [False, True])
def test_a_published_union_that_cannot_work_is_an_error_where_it_is_used(
    discriminator: JSONObject, more: JSONObject, problem: str, *, is_in_list: bool
) -> None:
    union: JSONObject = {
        "type": "object",
        "properties": {"d": discriminator, "a": STRING_TYPE},
        **more,
    }
    spec: JSONObject = {"type": "array", "items": union} if is_in_list else union
    schema = inline({"properties": {"spec": spec, "other": STRING_TYPE}})
    assert validate_unions(None, {"other": "1"}, schema) == ()
    obj: JSONObject = {"spec": [{"d": "A"}] if is_in_list else {"d": "A"}}
    with pytest.raises(SchemaError) as caught:
        validate_unions(None, obj, schema)
    assert caught.value.code == "invalid-union"
    assert caught.value.problem == problem
    assert str(caught.value.path) == "spec.x-kubernetes-unions"


def test_a_contradictory_union_is_an_error_when_it_is_used() -> None:
    broken = schema_with(child=struct({**D2019, "discriminator": "a"}))
    for operation in (normalize_unions, validate_unions):
        with pytest.raises(SchemaError) as caught:
            operation(None, {"child": {}}, broken)
        assert caught.value.code == "invalid-union"
