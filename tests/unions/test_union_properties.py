"""Laws of union normalization: they hold for all profiles, schemas and objects."""

from __future__ import annotations

import copy
from typing import Final

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from smp import (
    Normalization,
    Path,
    SmpError,
    UnionError,
    normalize_unions,
    validate_unions,
)
from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_object, same
from smp.paths import Element
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline
from smp.unions import PROFILES
from smp.violations import Violation
from tests.support.errors import assert_reported
from tests.support.strategies import json_values
from tests.support.union_worlds import (
    Steps,
    World,
    members_of,
    structs,
    unions_of,
    worlds,
)

profiles = st.sampled_from(sorted(PROFILES))


def steps_of(path: Path) -> Steps:
    indexed = [step.index if isinstance(step, Element) else step for step in path.steps]
    return tuple(step for step in indexed if isinstance(step, str | int))


def normalized(world: World, profile: str) -> Normalization:
    """Normalize; discard a world that the profile refuses."""
    try:
        result = normalize_unions(world.old, world.new, world.schema, profile=profile)
    except UnionError:
        assume(condition=False)
        raise
    event(f"{profile}: {'changes' if result.changes else 'no changes'}")
    return result


def replayed(value: JSONObject, result: Normalization) -> JSONObject:
    """Make the changes that a normalization reports."""
    made = copy.deepcopy(value)
    for change in result.changes:
        *parents, name = steps_of(change.path)
        parent: JSON = made
        for step in parents:
            # A path that leads to no value fails the test here.
            parent = parent[step]  # type: ignore[index]
        assert isinstance(parent, dict)
        assert isinstance(name, str)
        assert same(parent.get(name, ABSENT), change.old)
        parent.pop(name, None)
        if not isinstance(change.new, Absent):
            parent[name] = change.new
    return made


@given(worlds(), profiles)
def test_normalizing_twice_changes_nothing_more(world: World, profile: str) -> None:
    once = normalized(world, profile)
    again = normalize_unions(world.old, once.object, world.schema, profile=profile)
    assert same(again.object, once.object)
    assert again.changes == ()


@given(worlds(), profiles)
def test_the_changes_are_all_that_changed(world: World, profile: str) -> None:
    result = normalized(world, profile)
    assert same(replayed(world.new, result), result.object)


@given(worlds(), profiles)
def test_only_members_are_cleared_and_nothing_but_unions_is_touched(
    world: World, profile: str
) -> None:
    types = {
        struct.path: struct.document for struct in structs(world.new, world.document)
    }
    for change in normalized(world, profile).changes:
        *parents, name = steps_of(change.path)
        members: list[str] = []
        discriminators: list[JSON] = []
        for union in unions_of(types[tuple(parents)]):
            members += members_of(union)
            discriminators.append(union.get("discriminator"))
        if change.new is ABSENT:
            assert name in members
        else:
            assert name in [*members, *discriminators]


@given(worlds("2019", "draft", "final", "overlay"))
def test_kep1027_writes_nothing(world: World) -> None:
    for change in normalized(world, "kep1027").changes:
        assert change.new is ABSENT


def is_set(value: JSON, union: JSONObject) -> bool:
    """Tell whether a member counts as set.

    Without a discriminator an empty list does not: such unions are validated as
    declarative validation of Kubernetes does.
    """
    if value is None:
        return False
    return "discriminator" in union or value != []


@given(worlds("2019", "draft", "final", "overlay"))
def test_what_kep1027_finds_valid_has_at_most_one_member(world: World) -> None:
    result = normalized(world, "kep1027").object
    several: set[Steps] = set()
    for struct in structs(result, world.document):
        for union in unions_of(struct.document):
            values = [struct.value.get(name) for name in members_of(union)]
            if len([value for value in values if is_set(value, union)]) > 1:
                several.add(struct.path)
    event("several members" if several else "at most one member everywhere")
    violations = validate_unions(world.old, result, world.schema)
    assert several == {
        steps_of(object_of(violation))
        for violation in violations
        if violation.code == "union-several"
    }


def object_of(violation: Violation) -> Path:
    """Return the object of a violation: a member that is forbidden stands in it."""
    if violation.reason == "FieldValueForbidden":
        return Path(violation.path.steps[:-1])
    return violation.path


def reversed_throughout(node: JSON) -> JSON:
    """Reverse the order of all unions and of all fields in a type document.

    The order of map keys stays: a path names them in that order.
    """
    if isinstance(node, dict):
        result: JSONObject = {}
        for name, value in reversed(node.items()):
            result[name] = value if name == "map_keys" else reversed_throughout(value)
        return result
    if isinstance(node, list):
        return [reversed_throughout(element) for element in reversed(node)]
    return node


@given(worlds(), profiles)
def test_the_order_of_unions_and_fields_does_not_matter(
    world: World, profile: str
) -> None:
    other = Schema.inline(as_object(reversed_throughout(world.document)))
    result = normalized(world, profile)
    from_other = normalize_unions(world.old, world.new, other, profile=profile)
    assert same(from_other.object, result.object)
    # Where the discriminator does not tell, all but the first member are reported.
    violations = [
        {
            (str(object_of(violation)), violation.code)
            for violation in validate_unions(
                world.old, result.object, schema, profile=profile
            )
        }
        for schema in (world.schema, other)
    ]
    assert violations[0] == violations[1]


@given(worlds(), profiles)
def test_arguments_are_not_mutated(world: World, profile: str) -> None:
    before = copy.deepcopy(world)
    result = normalized(world, profile)
    validate_unions(
        world.old, result.object, world.schema, profile=profile, ratchet=True
    )
    assert same(world.new, before.new)
    assert same(world.old, before.old)
    assert same(world.document, before.document)


@given(worlds(), profiles)
def test_a_result_shares_what_did_not_change(world: World, profile: str) -> None:
    result = normalized(world, profile)
    # Objects and lists on the way to a change are new, and written values may be.
    # Everything else is the same object as before.
    copied: set[Steps] = set()
    written: set[Steps] = set()
    for change in result.changes:
        path = steps_of(change.path)
        copied |= {path[:depth] for depth in range(len(path))}
        if change.new is not ABSENT:
            written.add(path)

    def check(before: JSON, after: JSON, path: Steps) -> None:
        if path in written:
            return
        if path not in copied:
            assert after is before
        elif isinstance(before, dict) and isinstance(after, dict):
            for name in before.keys() & after.keys():
                check(before[name], after[name], (*path, name))
        elif isinstance(before, list) and isinstance(after, list):
            for index, pair in enumerate(zip(before, after, strict=True)):
                check(*pair, (*path, index))

    check(world.new, result.object, ())


@given(worlds(), profiles)
def test_equal_inputs_give_equal_results(world: World, profile: str) -> None:
    assert normalized(world, profile) == normalized(world, profile)


@given(
    worlds(),
    profiles,
    st.sampled_from(["error", "clear"]),
    json_values(),
    json_values(),
    json_values(),
)
def test_any_json_is_normalized_or_an_error_of_this_library(
    world: World, profile: str, on_conflict: str, old: JSON, new: JSON, patch: JSON
) -> None:
    for before, after in ((old, world.new), (world.old, new), (old, new)):
        try:
            result = normalize_unions(
                before,  # type: ignore[arg-type]  # any JSON
                after,  # type: ignore[arg-type]  # any JSON
                world.schema,
                profile=profile,
                patch=patch,  # type: ignore[arg-type]  # any JSON
                on_conflict=on_conflict,  # type: ignore[arg-type]  # one of its values
            )
            violations = validate_unions(before, after, world.schema, profile=profile)  # type: ignore[arg-type]  # any JSON
        except SmpError as error:
            assert_reported(error)
        else:
            assert isinstance(result.object, dict)
            assert isinstance(violations, tuple)


# Names and words of the documents that describe unions.
_WORDS: Final = (
    "discriminator",
    "fields-to-discriminateBy",
    "fields-to-discriminator-value",
    "fieldMembers",
    "fields",
    "members",
    "empty",
    "none",
    "default",
    "exactly_one",
    "required",
    "profile",
    "source",
    "deduce-discriminator",
    "discriminatorValue",
    "fieldName",
    "name",
    "value",
    "optional",
)
_leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "a", "b", "d", "A", "B", "kep2019", "off", "?"])
)
_union_documents = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*_WORDS, "a", "b", "A", "B"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)
_small_objects = st.dictionaries(
    st.sampled_from(["a", "b", "d"]),
    st.sampled_from(["A", "B", "", None, 1]) | json_values(),
    max_size=3,
)


@given(
    _union_documents | st.lists(_union_documents, max_size=3),
    profiles,
    _small_objects,
    _small_objects,
)
def test_any_union_document_is_read_or_an_error_of_this_library(
    unions: JSON, profile: str, old: JSONObject, new: JSONObject
) -> None:
    fields: JSONObject = {
        "a": "string",
        "b": "string",
        "d": {"type": "string", "enum": ["A", "B"]},
    }
    try:
        schema = Schema.inline({"fields": fields, "unions": unions})
        result = normalize_unions(old, new, schema, profile=profile)
        violations = validate_unions(old, result.object, schema, profile=profile)
    except SmpError as error:
        assert_reported(error)
    else:
        event("read")
        assert all(violation.code for violation in violations)


@pytest.mark.parametrize("on_field", [False, True])
@given(
    unions=_union_documents | st.lists(_union_documents, max_size=3),
    profile=profiles,
    old=_small_objects,
    new=_small_objects,
)
def test_any_published_union_is_read_or_an_error_of_this_library(
    unions: JSON, profile: str, old: JSONObject, new: JSONObject, *, on_field: bool
) -> None:
    discriminator: JSONObject = {"type": "string"}
    published: JSONObject = {"type": "object", "properties": {"d": discriminator}}
    # OpenAPI has unions on the object, CRDs on the discriminator.
    (discriminator if on_field else published)["x-kubernetes-unions"] = unions
    try:
        violations = validate_unions(old, new, inline(published), profile=profile)
    except SmpError as error:
        assert_reported(error)
    else:
        assert isinstance(violations, tuple)
