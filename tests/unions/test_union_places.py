"""Where unions are found: in objects, maps and lists, and how elements are paired.

All profiles walk in the same way, so most tests use one that clears.
"""

from __future__ import annotations

import pytest

from smp import (
    ABSENT,
    SchemaError,
    UnionError,
    normalize_unions,
    validate_unions,
)
from smp._values.values import JSONObject, as_list, as_object
from smp.schema.model import Schema
from tests.support.union_schemas import (
    AS_SMD,
    D2019,
    IN_LISTS,
    PLAIN,
    SWITCHED,
    A,
    cleared,
    named,
    schema_with,
    struct,
)


def test_unions_are_found_in_objects_in_objects() -> None:
    schema = schema_with(outer={"fields": {"inner": struct()}})
    assert cleared({"outer": {"inner": A}}, {"outer": {"inner": SWITCHED}}, schema) == [
        "outer.inner.a"
    ]


def test_unions_are_found_in_the_values_of_a_map() -> None:
    schema = schema_with(map={"values": struct()})
    old: JSONObject = {"map": {"x": A, "y": SWITCHED}}
    assert cleared(
        old, {"map": {"x": SWITCHED, "y": SWITCHED, "z": SWITCHED}}, schema
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


def test_only_structured_merge_diff_ignores_unions_in_atomic_objects() -> None:
    schema = schema_with(child={**struct(), "map_type": "atomic"})
    old: JSONObject = {"child": A}
    new: JSONObject = {"child": {**A, "d": "B"}}
    assert cleared(old, new, schema, "smd") == []
    assert cleared(old, new, schema) == ["child.a"]
    of_its_own = schema_with(
        child={**struct(AS_SMD), "map_type": "atomic"}, list={"items": struct(AS_SMD)}
    )
    assert (
        cleared({**old, "list": [A]}, {**new, "list": [{"a": "1"}]}, of_its_own) == []
    )


def test_unknown_fields_are_no_unions() -> None:
    schema = schema_with(child=struct()).with_unknown_fields("merge")
    assert cleared({}, {"other": SWITCHED, "child": 1}, schema) == []


def test_unions_of_one_object_are_independent() -> None:
    both = struct(
        [D2019, {"discriminator": "e", "members": {"x": "X", "y": "Y"}}], "e", "x", "y"
    )
    old: JSONObject = {**A, "e": "X", "x": "1"}
    new: JSONObject = {**SWITCHED, "e": "X", "x": "1", "y": "1"}
    assert cleared(old, new, Schema.inline(both)) == ["a"]
    wrong = validate_unions(
        old, normalize_unions(old, new, Schema.inline(both)).object, Schema.inline(both)
    )
    assert [(violation.code, str(violation.path)) for violation in wrong] == [
        ("union-several", "y")
    ]


def test_all_refused_unions_are_reported_at_once() -> None:
    schema = schema_with(x=struct(PLAIN), y=struct(PLAIN))
    both: JSONObject = {"a": "1", "b": "1"}
    with pytest.raises(UnionError) as caught:
        normalize_unions({}, {"x": both, "y": both}, schema, profile="smd")
    assert [str(problem.path) for problem in caught.value.problems] == ["x", "y"]
    assert caught.value.code == "union-refused"
    assert "x: " in str(caught.value)
    assert "y: " in str(caught.value)


def test_a_single_refusal_is_the_error_itself() -> None:
    with pytest.raises(UnionError, match="more than one member is set: a, b") as caught:
        normalize_unions(
            {}, {"x": {"a": "1", "b": "1"}}, schema_with(x=struct(PLAIN)), profile="smd"
        )
    assert caught.value.problems == (caught.value,)
    assert str(caught.value.path) == "x"


def test_a_change_names_the_rule_that_made_it() -> None:
    (change,) = normalize_unions(A, SWITCHED, Schema.inline(struct())).changes
    assert (str(change.path), change.rule, change.old, change.new) == (
        "a",
        "M2",
        "1",
        ABSENT,
    )
    first, other = normalize_unions(
        A, {"d": "A", "a": "1", "b": "1"}, Schema.inline(struct()), profile="kep2019"
    ).changes
    assert (str(first.path), first.rule, first.new) == ("a", "K4", ABSENT)
    assert (str(other.path), other.rule, other.old, other.new) == ("d", "K4", "A", "B")


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


def test_a_removed_element_changes_nothing() -> None:
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


def test_an_element_of_an_atomic_list_of_the_same_length_is_paired_by_its_place() -> (
    None
):
    old: JSONObject = {"atomic": [named("x", A)]}
    new: JSONObject = {"atomic": [named("x", SWITCHED)]}
    assert cleared(old, new, IN_LISTS) == ["atomic[0].a"]
    # Go: structured-merge-diff does not look into atomic lists.
    assert cleared(old, new, IN_LISTS, "smd") == []
    assert cleared(old, new, IN_LISTS, "kep2019") == ["atomic[0].a"]


def test_in_an_atomic_list_only_what_stood_at_a_place_is_cleared() -> None:
    old: JSONObject = {"atomic": [A, {"d": "B", "b": "1"}]}
    reordered: JSONObject = {"atomic": [{"d": "B", "b": "1"}, A]}
    assert cleared(old, reordered, IN_LISTS) == []
    assert validate_unions(old, reordered, IN_LISTS) == ()
    news: list[JSONObject] = [
        {"atomic": [{"d": "B", "b": "1", "a": "2"}, A]},
        {"atomic": [SWITCHED]},
    ]
    for new in news:
        assert cleared(old, new, IN_LISTS) == []
        (wrong,) = validate_unions(old, new, IN_LISTS)
        assert str(wrong) == (
            "atomic[0].a: Forbidden: may not be specified when `d` is 'B'"
        )


def test_a_lost_member_is_not_restored_in_an_atomic_list() -> None:
    old: JSONObject = {"atomic": [A]}
    assert cleared(old, {"atomic": [{"d": "A"}]}, IN_LISTS, "kep1027-draft") == []


def test_ratcheting_tolerates_an_unchanged_element_of_an_atomic_list() -> None:
    broken: JSONObject = {**A, "b": "1"}
    old: JSONObject = {"atomic": [{**broken}, A]}
    new: JSONObject = {"atomic": [{**broken}, {"d": "B", "b": "1"}]}
    assert len(validate_unions(old, new, IN_LISTS)) == 1
    assert validate_unions(old, new, IN_LISTS, ratchet=True) == ()


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
@pytest.mark.parametrize("key", ["name", "a"])
def test_a_union_with_a_member_that_is_a_key_of_its_list_is_an_error(
    key: str, profile: str
) -> None:
    element = struct({"discriminator": "d", "members": {"a": "A", "name": "N"}}, "name")
    by_merge_key = schema_with(
        list={"is": {"items": element}, "strategy": "merge", "key": key}
    )
    by_map_key = schema_with(
        list={"items": element, "list_type": "map", "map_keys": ["port", key]}
    )
    for schema in (by_merge_key, by_map_key):
        with pytest.raises(SchemaError, match=f"'{key}'") as caught:
            normalize_unions({}, {"list": [{"name": "x"}]}, schema, profile=profile)
        assert caught.value.code == "invalid-union"


@pytest.mark.parametrize("profile", ["kep2019", "kep1027", "kep1027-draft", "smd"])
def test_a_list_may_be_keyed_by_the_discriminator_of_its_elements(profile: str) -> None:
    deducing: JSONObject = {**D2019, "deduceInvalidDiscriminator": True}
    schema = schema_with(
        list={"items": struct(deducing), "list_type": "map", "map_keys": ["d"]}
    )
    old: JSONObject = {"list": [A]}
    new: JSONObject = {"list": [{"d": "A", "a": "2"}, {"d": "B", "b": "1"}]}
    assert cleared(old, new, schema, profile) == []
    assert validate_unions(old, new, schema, profile=profile) == ()
    # Another key would make another element of it, so it is never written.
    elements: list[JSONObject] = [{"d": "A", "b": "1"}, {"b": "1"}]
    for element in elements:
        result = normalize_unions(old, {"list": [element]}, schema, profile=profile)
        (after,) = as_list(result.object["list"])
        assert as_object(after).get("d") == element.get("d")


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
def test_a_union_of_unknown_fields_or_values_is_an_error(
    union: JSONObject, complaint: str
) -> None:
    with pytest.raises(SchemaError, match=complaint) as caught:
        validate_unions(None, {}, Schema.inline(struct(union, enum=("A", "B"))))
    assert caught.value.code == "invalid-union"
