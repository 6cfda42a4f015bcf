"""Unions: how schemas publish them, which profile they follow, where they are found,
and what a patch intends.

The rows of the decision tables are spec cases (spec_cases/unions).
"""

from __future__ import annotations

import pytest

from smp import (
    ABSENT,
    DepthError,
    ObjectError,
    SchemaError,
    UnionConflictError,
    UnionError,
    normalize_unions,
    validate_unions,
)
from smp.schema.catalog import kubernetes
from smp.schema.model import ObjectType, Schema
from smp.schema.sources.openapi import inline
from smp.schema.union_groups import Member, UnionGroup, read_unions
from smp.unions import PROFILES
from smp.values import JSON, JSONObject

MAP: JSONObject = {"a": "A", "b": "B"}
STRING: JSONObject = {"type": "string"}
# and the enum of each
FIELDS: dict[str, list[JSON]] = {name: [] for name in ("a", "b", "c", "d", "e")}
D2019: JSONObject = {"discriminator": "d", "fields-to-discriminateBy": MAP}
PLAIN: JSONObject = {"fields-to-discriminateBy": MAP}
AS_SMD: JSONObject = {
    "discriminator": "d",
    "deduceInvalidDiscriminator": True,
    "fields": [
        {"fieldName": "a", "discriminatorValue": "A"},
        {"fieldName": "b", "discriminatorValue": "B"},
    ],
}


def struct(
    union: JSONObject | list[JSON] = D2019, *names: str, enum: tuple[str, ...] = ()
) -> JSONObject:
    """Describe an object with the members a and b, the discriminator d, and some names."""
    fields: JSONObject = dict.fromkeys(("a", "b", *names), "string")
    d: JSON = {"type": "string", "enum": [*enum]} if enum else "string"
    return {
        "fields": {"d": d, **fields},
        "unions": union if isinstance(union, list) else [union],
    }


def schema(**fields: JSON) -> Schema:
    return Schema.inline({"fields": fields})


def read(union: JSONObject, **enums: list[JSON]) -> UnionGroup:
    (group,) = read_unions([union], {**FIELDS, **enums})
    return group


# Published shapes

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
    known = inline({"type": "object", "properties": {"a": STRING, "d": d}}).type
    assert isinstance(known, ObjectType)
    (group,) = known.unions
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


# Schemas that contradict themselves


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
    ],
)
def test_a_union_that_makes_no_sense_is_an_error_with_its_place(
    unions: JSON, complaint: str
) -> None:
    with pytest.raises(SchemaError, match=complaint) as caught:
        read_unions(unions, FIELDS)
    assert caught.value.code == "invalid-union"
    assert str(caught.value.path) in ("x-kubernetes-unions", "")


def test_all_contradictions_are_told_at_once() -> None:
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
    found = Schema.inline(struct(unions, "c"))
    assert validate_unions(None, {"b": "1", "c": "1"}, found) == ()
    assert [
        each.code
        for each in validate_unions(None, {"a": "1", "b": "1", "c": "1"}, found)
    ] == ["union-several"] * 2


def test_a_contradictory_schema_is_heard_of_when_its_unions_are_needed() -> None:
    broken = schema(child=struct({**D2019, "discriminator": "a"}))
    for operation in (normalize_unions, validate_unions):
        with pytest.raises(SchemaError) as caught:
            operation(None, {"child": {}}, broken)
        assert caught.value.code == "invalid-union"


# Which profile


def outcome(found: Schema, profile: str) -> JSON:
    old: JSONObject = {"d": "A", "a": "1"}
    try:
        return normalize_unions(
            old, {"d": "A", "a": "1", "b": "1"}, found, profile=profile
        ).object
    except UnionError as error:
        return error.code


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("kep1027", {"d": "A", "a": "1", "b": "1"}),
        ("kep1027-draft", {"d": "A", "a": "1"}),
        ("kep2019", {"d": "B", "b": "1"}),
        ("smd", "union-refused"),
        ("validate-only", {"d": "A", "a": "1", "b": "1"}),
        ("off", {"d": "A", "a": "1", "b": "1"}),
    ],
)
def test_profiles_differ(profile: str, expected: JSON) -> None:
    assert outcome(Schema.inline(struct()), profile) == expected


def test_the_profile_of_a_union_precedes_the_one_that_is_asked_for() -> None:
    found = Schema.inline(struct({**D2019, "profile": "kep2019"}))
    assert (
        outcome(found, "kep1027")
        == outcome(found, "kep1027-draft")
        == {"d": "B", "b": "1"}
    )


@pytest.mark.parametrize("gate", ["validate-only", "off"])
def test_where_nothing_is_to_be_normalized_no_union_is(gate: str) -> None:
    assert outcome(Schema.inline(struct({**D2019, "profile": "kep2019"})), gate) == {
        "d": "A",
        "a": "1",
        "b": "1",
    }


def test_a_union_of_structured_merge_diff_follows_it_unless_told_otherwise() -> None:
    found = Schema.inline(struct(AS_SMD))
    assert outcome(found, "kep1027") == "union-refused"
    assert outcome(found, "kep2019") == {"d": "B", "b": "1"}
    assert outcome(
        Schema.inline(struct({**AS_SMD, "profile": "kep1027"})), "kep1027"
    ) == outcome(found, "off")


def test_a_profile_that_there_is_not_is_an_error() -> None:
    for operation in (normalize_unions, validate_unions):
        with pytest.raises(UnionError, match="'kep9'") as caught:
            operation(None, {}, schema(), profile="kep9")
        assert caught.value.code == "unknown-profile"
        assert all(profile in caught.value.hint for profile in PROFILES)


def test_off_finds_nothing_wrong() -> None:
    found = Schema.inline(struct(PLAIN))
    assert validate_unions(None, {"a": "1", "b": "1"}, found, profile="off") == ()
    assert (
        len(validate_unions(None, {"a": "1", "b": "1"}, found, profile="validate-only"))
        == 1
    )


# Where unions are: every profile walks alike, so the one that clears most shows it


def cleared(
    old: JSONObject | None, new: JSONObject, found: Schema, profile: str = "kep1027"
) -> list[str]:
    return [
        str(change.path)
        for change in normalize_unions(old, new, found, profile=profile).changes
    ]


A: JSONObject = {"d": "A", "a": "1"}
SWITCHED: JSONObject = {"d": "B", "a": "1", "b": "1"}


def test_unions_are_found_in_objects_in_objects() -> None:
    found = schema(outer={"fields": {"inner": struct()}})
    assert cleared({"outer": {"inner": A}}, {"outer": {"inner": SWITCHED}}, found) == [
        "outer.inner.a"
    ]


def test_unions_are_found_in_the_values_of_a_map() -> None:
    found = schema(map={"values": struct()})
    old: JSONObject = {"map": {"x": A, "y": SWITCHED}}
    assert cleared(
        old, {"map": {"x": SWITCHED, "y": SWITCHED, "z": SWITCHED}}, found
    ) == ["map.x.a"]


def test_unions_are_found_inside_members_and_before_the_union_outside() -> None:
    inside = struct()
    outside: JSONObject = {
        "fields": {"kind": "string", "x": inside, "y": "string"},
        "unions": [
            {"discriminator": "kind", "fields-to-discriminateBy": {"x": "X", "y": "Y"}}
        ],
    }
    old: JSONObject = {"kind": "X", "x": A}
    result = normalize_unions(old, {"kind": "X", "x": SWITCHED}, Schema.inline(outside))
    assert result.object == {"kind": "X", "x": {"d": "B", "b": "1"}}
    assert cleared(
        old, {"kind": "Y", "x": SWITCHED, "y": "1"}, Schema.inline(outside)
    ) == ["x.a", "x"]


def test_unions_inside_an_atomic_object_are_left_alone_by_structured_merge_diff_only() -> (
    None
):
    found = schema(child={**struct(), "map_type": "atomic"})
    old: JSONObject = {"child": A}
    new: JSONObject = {"child": {**A, "d": "B"}}
    assert cleared(old, new, found, "smd") == []
    assert cleared(old, new, found) == ["child.a"]
    of_its_own = schema(
        child={**struct(AS_SMD), "map_type": "atomic"}, list={"items": struct(AS_SMD)}
    )
    assert (
        cleared({**old, "list": [A]}, {**new, "list": [{"a": "1"}]}, of_its_own) == []
    )


def test_unknown_fields_are_no_unions() -> None:
    found = schema(child=struct()).with_unknown_fields("merge")
    assert cleared({}, {"other": SWITCHED, "child": 1}, found) == []


def test_several_unions_of_one_object_stand_each_for_itself() -> None:
    both = struct(
        [D2019, {"discriminator": "e", "members": {"x": "X", "y": "Y"}}], "e", "x", "y"
    )
    old: JSONObject = {**A, "e": "X", "x": "1"}
    new: JSONObject = {**SWITCHED, "e": "X", "x": "1", "y": "1"}
    assert cleared(old, new, Schema.inline(both)) == ["a"]
    wrong = validate_unions(
        old, normalize_unions(old, new, Schema.inline(both)).object, Schema.inline(both)
    )
    assert [(each.code, each.value) for each in wrong] == [
        ("union-several", ["x", "y"])
    ]


def test_all_refused_unions_are_told_at_once() -> None:
    found = schema(x=struct(PLAIN), y=struct(PLAIN))
    both: JSONObject = {"a": "1", "b": "1"}
    with pytest.raises(UnionError) as caught:
        normalize_unions({}, {"x": both, "y": both}, found, profile="smd")
    assert [str(problem.path) for problem in caught.value.problems] == ["x", "y"]
    assert caught.value.code == "union-refused"
    assert "x: " in str(caught.value)
    assert "y: " in str(caught.value)


def test_a_single_refusal_is_the_error_itself() -> None:
    with pytest.raises(UnionError, match="more than one member is set: a, b") as caught:
        normalize_unions(
            {}, {"x": {"a": "1", "b": "1"}}, schema(x=struct(PLAIN)), profile="smd"
        )
    assert caught.value.problems == (caught.value,)
    assert str(caught.value.path) == "x"


def test_a_change_says_which_rule_made_it() -> None:
    (change,) = normalize_unions(A, SWITCHED, Schema.inline(struct())).changes
    assert (str(change.path), change.rule, change.old, change.new) == (
        "a",
        "M2",
        "1",
        ABSENT,
    )
    one, other = normalize_unions(
        A, {"d": "A", "a": "1", "b": "1"}, Schema.inline(struct()), profile="kep2019"
    ).changes
    assert (str(one.path), one.rule, one.new) == ("a", "K4", ABSENT)
    assert (str(other.path), other.rule, other.old, other.new) == ("d", "K4", "A", "B")


# Lists

ELEMENT = struct(D2019, "name", "port")
LISTS: dict[str, JSON] = {
    "merge": {"is": {"items": ELEMENT}, "strategy": "merge", "key": "name"},
    "map": {"items": ELEMENT, "list_type": "map", "map_keys": ["name", "port"]},
    "atomic": {"items": ELEMENT},
    "both": {
        "is": {"items": ELEMENT, "list_type": "map", "map_keys": ["port"]},
        "strategy": "merge",
        "key": "name",
    },
}
IN_LISTS = schema(**LISTS)


def named(name: str, element: JSONObject, **more: JSON) -> JSONObject:
    return {"name": name, **more, **element}


def test_elements_are_paired_by_merge_key_and_not_by_index() -> None:
    old: JSONObject = {"merge": [named("x", A), named("y", {"d": "B", "b": "1"})]}
    new: JSONObject = {
        "merge": [named("y", {"d": "B", "b": "2"}), named("x", SWITCHED)]
    }
    assert cleared(old, new, IN_LISTS) == ["merge[name=x].a"]


def test_elements_are_paired_by_all_keys_of_a_map_list() -> None:
    old: JSONObject = {"map": [named("x", A, port="1"), named("x", SWITCHED, port="2")]}
    new: JSONObject = {
        "map": [named("x", SWITCHED, port="2"), named("x", SWITCHED, port="1")]
    }
    assert [
        change.path.pointer for change in normalize_unions(old, new, IN_LISTS).changes
    ] == ["/map/1/a"]


def test_the_merge_key_of_a_patch_precedes_map_keys() -> None:
    old: JSONObject = {"both": [named("x", A, port="1")]}
    assert cleared(old, {"both": [named("x", SWITCHED, port="2")]}, IN_LISTS) == [
        "both[name=x].a"
    ]
    assert cleared(old, {"both": [named("y", SWITCHED, port="1")]}, IN_LISTS) == []


def test_keys_are_compared_in_their_types() -> None:
    old: JSONObject = {"merge": [{"name": 1, **A}]}
    assert cleared(old, {"merge": [{"name": "1", **SWITCHED}]}, IN_LISTS) == []
    assert cleared(old, {"merge": [{"name": 1, **SWITCHED}]}, IN_LISTS) == [
        "merge[name=1].a"
    ]


def test_a_new_element_is_a_creation() -> None:
    new: JSONObject = {"merge": [named("x", SWITCHED)]}
    assert cleared({"merge": []}, new, IN_LISTS) == cleared({}, new, IN_LISTS) == []
    assert cleared({}, new, IN_LISTS, "kep2019") == ["merge[name=x].a"]


def test_an_element_that_vanished_has_no_part() -> None:
    old: JSONObject = {"merge": [named("x", A), named("y", A)]}
    assert cleared(old, {"merge": [named("y", SWITCHED)]}, IN_LISTS) == [
        "merge[name=y].a"
    ]


def test_elements_that_shared_a_key_count_as_absent() -> None:
    old: JSONObject = {"merge": [named("x", A), named("x", A)]}
    assert cleared(old, {"merge": [named("x", SWITCHED)]}, IN_LISTS) == []


def test_an_element_without_its_key_counts_as_new() -> None:
    assert cleared({"merge": [A]}, {"merge": [SWITCHED]}, IN_LISTS) == []
    assert cleared({"merge": [A]}, {"merge": [SWITCHED]}, IN_LISTS, "kep2019") == [
        "merge[0].a"
    ]


def test_the_elements_of_an_atomic_list_are_new_each_time() -> None:
    old: JSONObject = {"atomic": [named("x", A)]}
    new: JSONObject = {"atomic": [named("x", SWITCHED)]}
    assert cleared(old, new, IN_LISTS) == cleared(old, new, IN_LISTS, "smd") == []
    assert cleared(old, new, IN_LISTS, "kep2019") == ["atomic[0].a"]
    assert [str(each.path) for each in validate_unions(old, new, IN_LISTS)] == [
        "atomic[0]"
    ]


def test_violations_name_elements_by_key_and_causes_by_index() -> None:
    (wrong,) = validate_unions(
        {}, {"merge": [named("x", A), named("y", {"d": "A", "b": "1"})]}, IN_LISTS
    )[1:]
    assert str(wrong.path) == "merge[name=y].b"
    assert wrong.cause == {
        "reason": "FieldValueForbidden",
        "message": wrong.message,
        "field": "merge[1].b",
    }


def test_ratcheting_pairs_elements_by_key() -> None:
    wrong = named("x", {"d": "A", "a": "1", "b": "1"})
    old: JSONObject = {"merge": [named("y", A), wrong]}
    assert (
        validate_unions(old, {"merge": [wrong, named("y", A)]}, IN_LISTS, ratchet=True)
        == ()
    )
    assert (
        len(
            validate_unions(
                old,
                {"merge": [named("y", wrong | {"name": "y"})]},
                IN_LISTS,
                ratchet=True,
            )
        )
        == 1
    )


@pytest.mark.parametrize("profile", ["kep2019", "kep1027"])
@pytest.mark.parametrize("key", ["name", "d", "a"])
def test_a_key_of_a_list_is_no_part_of_a_union(key: str, profile: str) -> None:
    element = struct({"discriminator": "d", "members": {"a": "A", "name": "N"}}, "name")
    by_merge_key = schema(
        list={"is": {"items": element}, "strategy": "merge", "key": key}
    )
    by_map_key = schema(
        list={"items": element, "list_type": "map", "map_keys": ["port", key]}
    )
    for found in (by_merge_key, by_map_key):
        with pytest.raises(SchemaError, match=f"'{key}'") as caught:
            normalize_unions({}, {"list": [{"name": "x"}]}, found, profile=profile)
        assert caught.value.code == "invalid-union"


@pytest.mark.parametrize(
    ("union", "complaint"),
    [
        ({"discriminator": "d", "members": {"a": "A", "zz": "Z"}}, "'zz'"),
        ({"discriminator": "zz", "members": {"a": "A"}}, "'zz'"),
        (
            {
                "discriminator": "d",
                "fieldMembers": {"A": {"name": "a"}, "Z": {"name": "b"}},
            },
            "'Z'",
        ),
    ],
)
def test_unions_have_fields_and_values_that_there_are(
    union: JSONObject, complaint: str
) -> None:
    with pytest.raises(SchemaError, match=complaint) as caught:
        validate_unions(None, {}, Schema.inline(struct(union, enum=("A", "B"))))
    assert caught.value.code == "invalid-union"


# What a patch intends

CLOSED = schema(u=struct(D2019, enum=("", "A", "B")))


def test_clearing_what_the_patch_sets_is_a_conflict() -> None:
    patch: JSONObject = {"u": {"d": "B", "a": "2"}}
    with pytest.raises(UnionConflictError) as caught:
        normalize_unions({"u": A}, {"u": {"d": "B", "a": "2"}}, CLOSED, patch=patch)
    assert (caught.value.code, str(caught.value.path), caught.value.status) == (
        "union-conflict",
        "u.a",
        422,
    )
    assert "on_conflict" in caught.value.hint


def test_clearing_what_the_patch_retains_is_a_conflict() -> None:
    # The discriminator vanishes with the keys that are not retained, which looks like a
    # request to clear.
    patch: JSONObject = {"u": {"$retainKeys": ["a"]}}
    with pytest.raises(UnionConflictError):
        normalize_unions({"u": A}, {"u": {"a": "1"}}, CLOSED, patch=patch)
    assert cleared({"u": A}, {"u": {"a": "1"}}, CLOSED) == ["u.a"]


def test_on_conflict_the_discriminator_may_be_asked_to_win() -> None:
    patch: JSONObject = {"u": {"d": "B", "a": "2"}}
    result = normalize_unions(
        {"u": A}, {"u": {"d": "B", "a": "2"}}, CLOSED, patch=patch, on_conflict="clear"
    )
    assert result.object == {"u": {"d": "B"}}


@pytest.mark.parametrize(
    "patch",
    [
        {"u": {"d": "B", "b": "1"}},
        {"u": {"d": "B", "b": "1", "a": None}},
        {"u": {"$retainKeys": ["b", "d"], "d": "B", "b": "1"}},
        {"other": "1"},
        {"u": None},
        {},
    ],
)
def test_clearing_what_the_patch_does_not_want_is_none(patch: JSONObject) -> None:
    assert normalize_unions({"u": A}, {"u": SWITCHED}, CLOSED, patch=patch).object == {
        "u": {"d": "B", "b": "1"}
    }


def test_the_intent_of_an_element_is_found_by_its_key() -> None:
    old: JSONObject = {"merge": [named("x", A), named("y", A)]}
    new: JSONObject = {"merge": [named("x", A), named("y", {"d": "B", "a": "2"})]}
    with pytest.raises(UnionConflictError) as caught:
        normalize_unions(
            old, new, IN_LISTS, patch={"merge": [named("y", {"d": "B", "a": "2"})]}
        )
    assert str(caught.value.path) == "merge[name=y].a"
    assert (
        normalize_unions(
            old, new, IN_LISTS, patch={"merge": [named("x", {"a": "1"})]}
        ).changes
        != ()
    )


def test_conflicts_and_refusals_are_told_together_as_refusals() -> None:
    found = schema(x=struct(), y=struct({**D2019, "exactly_one": True}))
    old: JSONObject = {"x": A, "y": A}
    new: JSONObject = {"x": {"d": "B", "a": "2"}, "y": {"a": "1"}}
    with pytest.raises(UnionError) as caught:
        normalize_unions(
            old, new, found, profile="kep1027-draft", patch={"x": {"d": "B", "a": "2"}}
        )
    assert sorted(problem.code for problem in caught.value.problems) == [
        "union-conflict",
        "union-refused",
    ]
    assert caught.value.code == "union-refused"


REMOVALS: list[tuple[str, JSONObject, JSONObject]] = [
    ("null", {"u": A}, {"u": {"a": None}}),
    ("retained keys", {"u": A}, {"u": {"$retainKeys": ["d"], "d": "A"}}),
    ("replaced object", {"u": A}, {"u": {"$patch": "replace", "d": "A"}}),
    ("replaced parent", {"o": {"c": A}}, {"o": {"$patch": "replace", "c": {"d": "A"}}}),
    (
        "replaced list",
        {"merge": [named("x", A)]},
        {"merge": [{"$patch": "replace"}, named("x", {"d": "A"})]},
    ),
    (
        "deleted element",
        {"merge": [named("x", A)]},
        {"merge": [{"name": "x", "$patch": "delete"}, named("x", {"d": "A"})]},
    ),
    ("field that is replaced", {"whole": A}, {"whole": {"d": "A"}}),
]


@pytest.mark.parametrize(
    ("old", "patch"), [row[1:] for row in REMOVALS], ids=[row[0] for row in REMOVALS]
)
def test_what_a_patch_removed_is_not_restored(
    old: JSONObject, patch: JSONObject
) -> None:
    found = schema(
        **LISTS,
        u=struct(),
        o={"fields": {"c": struct()}},
        whole={"is": struct(), "strategy": "replace"},
    )
    new = _without_a(old)
    assert (
        normalize_unions(old, new, found, profile="kep1027-draft", patch=patch).object
        == new
    )
    assert (
        normalize_unions(old, new, found, profile="kep1027-draft", patch={}).object
        == old
    )


def _without_a(value: JSONObject) -> JSONObject:
    made: JSONObject = {}
    for name, below in value.items():
        if name != "a":
            elements = (
                [_without_a(each) for each in below if isinstance(each, dict)]
                if isinstance(below, list)
                else []
            )
            made[name] = (
                _without_a(below)
                if isinstance(below, dict)
                else [*elements]
                if elements
                else below
            )
    return made


def test_what_is_restored_is_normalized_itself() -> None:
    outside: JSONObject = {
        "fields": {"kind": "string", "x": struct(), "y": "string"},
        "unions": [
            {"discriminator": "kind", "fields-to-discriminateBy": {"x": "X", "y": "Y"}}
        ],
    }
    old: JSONObject = {"kind": "X", "x": {"d": "A", "a": "1", "b": "1"}}
    once = normalize_unions(
        old, {"kind": "X"}, Schema.inline(outside), profile="kep1027-draft"
    )
    assert once.object == {"kind": "X", "x": A}
    assert [(str(change.path), change.new) for change in once.changes] == [("x", A)]
    assert (
        normalize_unions(
            old, once.object, Schema.inline(outside), profile="kep1027-draft"
        ).object
        == once.object
    )


def test_a_restored_member_is_a_change_of_its_own_rule() -> None:
    (change,) = normalize_unions(
        A, {"d": "A"}, Schema.inline(struct()), profile="kep1027-draft"
    ).changes
    assert (change.rule, change.old, change.new) == ("L4", ABSENT, "1")


# Values that nobody listed


def test_an_unlisted_value_clears_what_was_carried_over_and_says_so() -> None:
    result = normalize_unions(
        A, {"d": "Z", "a": "1", "b": "1"}, Schema.inline(struct())
    )
    assert result.object == {"d": "Z", "b": "1"}
    (warning,) = result.warnings
    assert (warning.code, str(warning.path)) == ("unlisted-discriminator", "")
    assert "a" in warning.message


def test_an_unlisted_value_that_clears_nothing_is_nothing_to_warn_of() -> None:
    assert (
        normalize_unions(A, {"d": "Z", "a": "2"}, Schema.inline(struct())).warnings
        == ()
    )


def test_listed_values_are_nothing_to_warn_of() -> None:
    listed = Schema.inline(struct(enum=("A", "B", "E")))
    assert normalize_unions(A, {"d": "E", "a": "1"}, listed).warnings == ()
    assert normalize_unions(A, {"d": "Z", "a": "1"}, listed).object == {
        "d": "Z",
        "a": "1",
    }


# Defaults, and members whose empty value is none


def test_the_default_of_a_discriminator_stands_where_it_is_absent() -> None:
    union: JSONObject = {
        "discriminator": "d",
        "members": MAP,
        "empty": ["E"],
        "default": "A",
    }
    found = Schema.inline(struct(union))
    assert cleared({"a": "1"}, {"d": "A", "a": "1", "b": "1"}, found) == []
    assert cleared({"d": "B", "b": "1"}, {"a": "1", "b": "1"}, found) == ["b"]
    assert validate_unions(None, {"a": "1"}, found) == ()


def test_an_empty_value_may_mean_that_a_member_is_not_set() -> None:
    union: JSONObject = {
        "members": {"a": {"value": "A", "empty_is_unset": True}, "b": "B"}
    }
    found = Schema.inline(struct(union))
    assert validate_unions(None, {"a": "", "b": "1"}, found) == ()
    assert len(validate_unions(None, {"a": "x", "b": ""}, found)) == 1
    assert cleared({"b": "1"}, {"a": "", "b": "1"}, found, "kep2019") == []


# Violations


@pytest.mark.parametrize(
    ("obj", "code", "path", "reason", "message"),
    [
        (
            {"d": "Z"},
            "unsupported-value",
            "u.d",
            "FieldValueNotSupported",
            'Unsupported value: "Z": supported values: "A", "B"',
        ),
        ({}, "discriminator-required", "u.d", "FieldValueRequired", "Required value"),
        (
            {"d": "A"},
            "member-required",
            "u.a",
            "FieldValueRequired",
            'Required value: must be set while d is "A"',
        ),
        (
            {"d": "A", "a": "1", "b": "1"},
            "union-several",
            "u",
            "FieldValueInvalid",
            "Invalid value: {a, b}: d must change when its members do",
        ),
    ],
)
def test_a_violation_is_a_cause_of_a_status(
    obj: JSONObject, code: str, path: str, reason: str, message: str
) -> None:
    found = schema(u=struct(D2019, enum=("A", "B")))
    (wrong,) = validate_unions(None, {"u": obj}, found)
    assert (wrong.code, str(wrong.path), wrong.reason, wrong.message) == (
        code,
        path,
        reason,
        message,
    )
    assert wrong.cause == {"reason": reason, "message": message, "field": path}
    assert str(wrong) == f"{path}: {message}"


def test_violations_stand_in_the_order_of_the_rules() -> None:
    found = Schema.inline(struct(D2019, enum=("A", "B")))
    codes = [each.code for each in validate_unions(None, {"d": "A", "b": "1"}, found)]
    assert codes == ["member-required", "member-forbidden"]


# What is no object


@pytest.mark.parametrize("value", [None, [], "x", 1, True])
def test_an_object_is_expected(value: JSON) -> None:
    for operation in (normalize_unions, validate_unions):
        with pytest.raises(ObjectError) as caught:
            operation({}, value, CLOSED)  # type: ignore[arg-type]  # whatever somebody passes
        assert caught.value.code == "not-an-object"


def test_nothing_is_copied_where_there_are_no_unions() -> None:
    new: JSONObject = {"x": {"y": [1]}}
    result = normalize_unions(
        None, new, schema(x={"fields": {"y": {"items": "integer"}}})
    )
    assert result.object is new
    assert (result.changes, result.warnings) == ((), ())


def test_nesting_beyond_the_stack_is_an_error() -> None:
    itself: JSONObject = {
        **struct(),
        "fields": {"d": "string", "a": "string", "b": "string", "child": "#it"},
    }
    found = Schema.inline("#it", {"it": itself})
    deep: JSONObject = {}
    for _ in range(5000):
        deep = {"child": deep}
    for operation in (normalize_unions, validate_unions):
        with pytest.raises(DepthError):
            operation(None, deep, found)


def test_a_profile_of_the_type_counts_for_unions_without_their_own() -> None:
    catalog = kubernetes().with_overlay(
        {"types": {"io.k8s.api.apps.v1.DeploymentStrategy": {"profile": "kep2019"}}}
    )
    old: JSONObject = {"spec": {"strategy": {"type": "Recreate"}}}
    new: JSONObject = {
        "spec": {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}
    }
    typed = normalize_unions(old, new, catalog.schema("apps/v1", "Deployment"))
    assert [
        (str(change.path), change.new, change.rule) for change in typed.changes
    ] == [("spec.strategy.type", "RollingUpdate", "K3")]
    assert (
        normalize_unions(old, new, kubernetes().schema("apps/v1", "Deployment")).changes
        == ()
    )
