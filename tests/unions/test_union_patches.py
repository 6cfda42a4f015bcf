"""What the intent of a patch changes: conflicts, and members that it removed."""

from __future__ import annotations

import pytest

from smp import (
    ABSENT,
    UnionConflictError,
    UnionError,
    normalize_unions,
)
from smp._values.values import JSON, JSONObject, as_object
from smp.schema.model import Schema
from tests.support.union_schemas import (
    CLOSED,
    D2019,
    IN_LISTS,
    LISTS,
    SWITCHED,
    A,
    named,
    schema_with,
    struct,
)


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


@pytest.mark.parametrize("retained", [["a"], ["a", "d"], ["a", "b", "d"]])
def test_clearing_what_the_patch_only_retains_is_not_a_conflict(
    retained: list[JSON],
) -> None:
    patch: JSONObject = {"u": {"$retainKeys": retained}}
    new: JSONObject = {"u": {"a": "1"}}
    assert normalize_unions({"u": A}, new, CLOSED, patch=patch).object == {"u": {}}


def test_on_conflict_clear_lets_the_discriminator_win() -> None:
    patch: JSONObject = {"u": {"d": "B", "a": "2"}}
    result = normalize_unions(
        {"u": A}, {"u": {"d": "B", "a": "2"}}, CLOSED, patch=patch, on_conflict="clear"
    )
    assert result.object == {"u": {"d": "B"}}
    assert [(w.code, str(w.path)) for w in result.warnings] == [
        ("union-conflict", "u.a")
    ]


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
def test_clearing_what_the_patch_does_not_set_is_not_a_conflict(
    patch: JSONObject,
) -> None:
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


def test_conflicts_and_refusals_are_reported_together_as_refusals() -> None:
    schema = schema_with(x=struct(), y=struct({**D2019, "exactly_one": True}))
    old: JSONObject = {"x": A, "y": A}
    new: JSONObject = {"x": {"d": "B", "a": "2"}, "y": {"a": "1"}}
    with pytest.raises(UnionError) as caught:
        normalize_unions(
            old, new, schema, profile="kep1027-draft", patch={"x": {"d": "B", "a": "2"}}
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
    schema = schema_with(
        **LISTS,
        u=struct(),
        o={"fields": {"c": struct()}},
        whole={"is": struct(), "strategy": "replace"},
    )
    new = as_object(without_a(old))
    assert (
        normalize_unions(old, new, schema, profile="kep1027-draft", patch=patch).object
        == new
    )
    assert (
        normalize_unions(old, new, schema, profile="kep1027-draft", patch={}).object
        == old
    )


def without_a(value: JSON) -> JSON:
    """Remove the member a at every level."""
    if isinstance(value, dict):
        return {n: without_a(member) for n, member in value.items() if n != "a"}
    if isinstance(value, list):
        return [without_a(element) for element in value]
    return value


def test_a_restored_member_is_normalized_itself() -> None:
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


def test_a_problem_in_a_restored_member_has_its_whole_path() -> None:
    inside = struct({**D2019, "exactly_one": True})
    members: list[tuple[JSONObject, str]] = [(inside, "a"), ({"items": inside}, "a[0]")]
    for member, path in members:
        document: JSONObject = {
            "fields": {"d": "string", "a": member, "b": "string"},
            "unions": [D2019],
        }
        lost: JSON = {"a": "1", "b": "1"}
        old: JSONObject = {"d": "A", "a": lost if path == "a" else [lost]}
        with pytest.raises(UnionError, match="the discriminator is required") as caught:
            normalize_unions(
                old, {"d": "A"}, Schema.inline(document), profile="kep1027-draft"
            )
        # It names the discriminator, as an object may have several unions.
        assert str(caught.value.path) == f"{path}.d"


def test_a_shared_list_in_a_restored_member_is_left_alone() -> None:
    element = struct({"fields-to-discriminateBy": {"a": "A", "b": "B"}})
    document: JSONObject = {
        "fields": {"d": "string", "a": {"fields": {"l": {"items": element}}}},
        "unions": [{"discriminator": "d", "fields-to-discriminateBy": {"a": "A"}}],
    }
    old: JSONObject = {"d": "A", "a": {"l": [{"a": "1", "b": "1"}]}}
    result = normalize_unions(
        old, {"d": "A"}, Schema.inline(document), profile="kep1027-draft"
    )
    assert result.object == old
