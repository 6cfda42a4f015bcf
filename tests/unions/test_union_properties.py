"""What must hold for unions anywhere, whatever a profile decides: over random schemas
and random objects.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from smp import (
    Normalization,
    Path,
    SmpError,
    UnionError,
    normalize_unions,
    validate_unions,
)
from smp.paths import Element, Step
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline
from smp.unions import PROFILES
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same
from tests.support.strategies import json_values

MEMBERS: Final = {"a": "A", "b": "B", "c": "C"}
NO_FIELD: Final = "E"
STRANGE: Final = "Z"
DEEPEST: Final = 2
SHAPES: Final = ("2019", "draft", "final", "smd", "overlay")
KEYS: Final = ("x", "y", "z")

law = settings(max_examples=300, deadline=None)


class World(NamedTuple):
    """A random type document, an object of it, and what became of that."""

    document: JSONObject
    old: JSONObject | None
    new: JSONObject

    @property
    def schema(self) -> Schema:
        return Schema.inline(self.document)


class Maker:
    """Makes a world from one integer."""

    def __init__(self, seed: int, shapes: tuple[str, ...] = SHAPES) -> None:
        self.random = Random(seed)
        self.shapes = shapes

    def world(self) -> World:
        document = self.struct(0)
        old = self.object(document)
        new = self.changed(old, document)
        return World(document, None if self.chance(0.1) else old, new)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # Types

    def struct(self, depth: int, *keys: str) -> JSONObject:
        """Make an object type: up to two unions, whose members may be of any type, and
        other fields.
        """
        fields: JSONObject = dict.fromkeys((*keys, "plain"), "string")
        unions: JSONArray = []
        for index in range(self.random.choice((0, 1, 1, 1, 2))):
            union, of_union = self.union(f"{index}", depth)
            fields |= of_union
            unions.append(union)
        if depth < DEEPEST:
            fields |= {
                f"child{kind}": self.below(kind, depth)
                for kind in range(5)
                if self.chance(0.25)
            }
        facets = {"map_type": "atomic"} if self.chance(0.05) else {}
        return {"fields": fields, "unions": unions, **facets}

    def below(self, kind: int, depth: int) -> JSON:
        struct = self.struct(depth + 1, "name", "port")
        lists: tuple[JSON, ...] = (
            struct,
            {"values": struct},
            {"items": struct},
            {"items": struct, "list_type": "map", "map_keys": ["name", "port"]},
            {"is": {"items": struct}, "strategy": "merge", "key": "name"},
        )
        return lists[kind]

    def union(self, suffix: str, depth: int) -> tuple[JSONObject, JSONObject]:
        members = {name + suffix: value for name, value in MEMBERS.items()}
        nested = depth < DEEPEST and self.chance(0.3)
        fields: JSONObject = {
            name: self.struct(depth + 1) if nested else "string" for name in members
        }
        none: JSONArray = [""] if self.chance(0.5) else []
        discriminator = f"d{suffix}" if self.chance(0.85) else ""
        if discriminator:
            enum: JSONArray = [*MEMBERS.values(), NO_FIELD, *none]
            fields[discriminator] = (
                {"type": "string", "enum": enum} if self.chance(0.6) else "string"
            )
        return self.published(members, discriminator, none), fields

    def published(
        self, members: dict[str, str], discriminator: str, none: JSONArray
    ) -> JSONObject:
        """Write a union in one of the shapes in which they are published."""
        optional = self.chance(0.3)
        shape = self.random.choice(self.shapes) if discriminator else "2019"
        of_fields: JSONObject = {
            name: {"discriminatorValue": value, "optional": optional}
            for name, value in members.items()
        }
        of_values: JSONObject = {
            value: {"name": name, "optional": optional}
            for name, value in members.items()
        }
        shapes: dict[str, JSONObject] = {
            "2019": {"fields-to-discriminateBy": {**members}},
            "draft": {"fields-to-discriminateBy": of_fields},
            "final": {"fieldMembers": {**of_values, NO_FIELD: None}},
            "smd": {
                "fields": [
                    {"fieldName": name, "discriminatorValue": value}
                    for name, value in members.items()
                ]
            },
            "overlay": {"members": {**members}, "empty": [NO_FIELD], "none": none},
        }
        stated: JSONObject = {"exactly_one": True} if self.chance(0.2) else {}
        deduced: JSONObject = (
            {"deduceInvalidDiscriminator": True} if self.chance(0.5) else {}
        )
        return {
            **({"discriminator": discriminator} if discriminator else {}),
            **shapes[shape],
            **stated,
            **deduced,
        }

    # Objects

    def object(self, document: JSONObject) -> JSONObject:
        made: JSONObject = {}
        for name, node in fields_of(document).items():
            if self.chance(0.5):
                made[name] = self.value(name, node)
        return made

    def value(self, name: str, node: JSON) -> JSON:
        node = node["is"] if isinstance(node, dict) and "is" in node else node
        if self.chance(0.04):
            return self.random.choice((None, 0, [], {}, "odd"))
        if not isinstance(node, dict) or "type" in node:
            pool = (
                (*MEMBERS.values(), NO_FIELD, STRANGE, "")
                if name.startswith("d")
                else ("x", "y", "z")
            )
            return self.random.choice(pool)
        if "items" in node:
            return [
                self.object(types_below(node))
                for _ in range(self.random.choice((0, 1, 2, 3)))
            ]
        if "values" in node:
            return {
                key: self.object(types_below(node)) for key in KEYS if self.chance(0.4)
            }
        return self.object(node)

    def changed(self, value: JSONObject, document: JSONObject) -> JSONObject:
        """Change some fields; what stays is the same object, as after a patch."""
        made: JSONObject = {}
        for name, node in fields_of(document).items():
            if self.chance(0.6) and name in value:
                made[name] = self.within(value[name], node)
            elif self.chance(0.4):
                made[name] = self.value(name, node)
        return made

    def within(self, value: JSON, node: JSON) -> JSON:
        node = node["is"] if isinstance(node, dict) and "is" in node else node
        if not isinstance(node, dict) or self.chance(0.3):
            return value
        if isinstance(value, list) and "items" in node:
            below = types_below(node)
            made = [
                self.changed(each, below) if isinstance(each, dict) else each
                for each in value
            ]
            self.random.shuffle(made)
            return made
        if isinstance(value, dict) and "values" in node:
            below = types_below(node)
            return {
                key: self.changed(each, below) if isinstance(each, dict) else each
                for key, each in value.items()
            }
        return (
            self.changed(value, node)
            if isinstance(value, dict) and "fields" in node
            else value
        )


def fields_of(document: JSONObject) -> JSONObject:
    fields = document.get("fields", {})
    return fields if isinstance(fields, dict) else {}


def types_below(node: JSONObject) -> JSONObject:
    below = node.get("items", node.get("values"))
    return below if isinstance(below, dict) else {}


def worlds(*shapes: str) -> st.SearchStrategy[World]:
    seeds = st.integers(min_value=0, max_value=2**64 - 1)
    return seeds.map(lambda seed: Maker(seed, shapes or SHAPES).world())


profiles = st.sampled_from(sorted(PROFILES))


class Struct(NamedTuple):
    """One object inside an object: where, what, and the type document of it."""

    path: tuple[str | int, ...]
    value: JSONObject
    document: JSONObject


def structs(
    value: JSON, node: JSON, path: tuple[str | int, ...] = ()
) -> Iterator[Struct]:
    """Walk over all objects that have a type of their own; another walk than the
    engine's.
    """
    node = node["is"] if isinstance(node, dict) and "is" in node else node
    if not isinstance(node, dict):
        return
    if isinstance(value, list) and "items" in node:
        for index, element in enumerate(value):
            yield from structs(element, node["items"], (*path, index))
    elif isinstance(value, dict) and "values" in node:
        for key, element in value.items():
            yield from structs(element, node["values"], (*path, key))
    elif isinstance(value, dict) and "fields" in node:
        yield Struct(path, value, node)
        for name, field in fields_of(node).items():
            if name in value:
                yield from structs(value[name], field, (*path, name))


def members_of(union: JSONObject) -> list[str]:
    (suffix,) = {str(name)[-1] for name in _named(union)}
    return [name + suffix for name in MEMBERS]


def _named(union: JSONObject) -> Iterator[str]:
    for word in ("fields-to-discriminateBy", "members"):
        named = union.get(word)
        if isinstance(named, dict):
            yield from named
    for_values, listed = union.get("fieldMembers"), union.get("fields")
    if isinstance(for_values, dict):
        yield from (
            str(each["name"]) for each in for_values.values() if isinstance(each, dict)
        )
    if isinstance(listed, list):
        yield from (str(each["fieldName"]) for each in listed if isinstance(each, dict))


def unions_of(document: JSONObject) -> list[JSONObject]:
    unions = document["unions"]
    assert isinstance(unions, list)
    return [union for union in unions if isinstance(union, dict)]


def plain(path: Path) -> tuple[str | int, ...]:
    return tuple(map(_plain_step, path.steps))


def _plain_step(step: Step) -> str | int:
    return step.index if isinstance(step, Element) else step


def normalized(world: World, profile: str) -> Normalization:
    """Normalize; what a profile refuses shows nothing."""
    try:
        result = normalize_unions(world.old, world.new, world.schema, profile=profile)
    except UnionError:
        assume(False)
        raise
    event(f"{profile}: {'changes' if result.changes else 'no changes'}")
    return result


def replayed(value: JSONObject, result: Normalization) -> JSONObject:
    """Make the changes that a normalization reports."""
    made = copy.deepcopy(value)
    for change in result.changes:
        *above, name = plain(change.path)
        place: JSON = made
        for step in above:
            place = place[step]  # type: ignore[index]  # a path that leads nowhere is a failure
        assert isinstance(place, dict)
        assert isinstance(name, str)
        assert same(place.get(name, ABSENT), change.old)
        written = {} if isinstance(change.new, Absent) else {name: change.new}
        place.pop(name, None)
        place.update(written)
    return made


@law
@given(worlds(), profiles)
def test_normalizing_twice_changes_nothing_more(world: World, profile: str) -> None:
    once = normalized(world, profile)
    again = normalize_unions(world.old, once.object, world.schema, profile=profile)
    assert same(again.object, once.object)
    assert again.changes == ()


@law
@given(worlds(), profiles)
def test_the_changes_are_all_that_changed(world: World, profile: str) -> None:
    result = normalized(world, profile)
    assert same(replayed(world.new, result), result.object)


@law
@given(worlds(), profiles)
def test_only_members_are_cleared_and_nothing_but_unions_is_touched(
    world: World, profile: str
) -> None:
    found = {
        struct.path: struct.document for struct in structs(world.new, world.document)
    }
    for change in normalized(world, profile).changes:
        *above, name = plain(change.path)
        unions = unions_of(found[tuple(above)])
        members = [member for union in unions for member in members_of(union)]
        if change.new is ABSENT:
            assert name in members
        else:
            assert name in [*members, *(union.get("discriminator") for union in unions)]


@law
@given(worlds("2019", "draft", "final", "overlay"))
def test_kep1027_writes_nothing(world: World) -> None:
    assert [
        change
        for change in normalized(world, "kep1027").changes
        if change.new is not ABSENT
    ] == []


def is_set(value: JSON, union: JSONObject) -> bool:
    """Tell whether a member counts; without a discriminator validation is declarative:
    an empty list does not.
    """
    return value is not None and ("discriminator" in union or value != [])


@law
@given(worlds("2019", "draft", "final", "overlay"))
def test_what_kep1027_finds_valid_has_at_most_one_member(world: World) -> None:
    result = normalized(world, "kep1027").object
    several = {
        struct.path
        for struct in structs(result, world.document)
        for union in unions_of(struct.document)
        if len(
            [
                name
                for name in members_of(union)
                if is_set(struct.value.get(name), union)
            ]
        )
        > 1
    }
    wrong = validate_unions(world.old, result, world.schema)
    event("several members" if several else "at most one member everywhere")
    assert {
        plain(each.path) for each in wrong if each.code == "union-several"
    } == several


def turned(node: JSON) -> JSON:
    """Turn around the order of all unions and of all fields in a type document."""
    if isinstance(node, dict):
        return {name: turned(value) for name, value in reversed(node.items())}
    return [turned(each) for each in reversed(node)] if isinstance(node, list) else node


@law
@given(worlds(), profiles)
def test_the_order_of_unions_and_fields_does_not_matter(
    world: World, profile: str
) -> None:
    document = {
        "fields": turned(world.document["fields"]),
        "unions": turned(world.document["unions"]),
    }
    if "map_type" in world.document:
        document["map_type"] = world.document["map_type"]
    other = Schema.inline(_keys_restored(document))
    result = normalized(world, profile)
    assert same(
        normalize_unions(world.old, world.new, other, profile=profile).object,
        result.object,
    )
    one, two = (
        validate_unions(world.old, result.object, schema, profile=profile)
        for schema in (world.schema, other)
    )
    assert {(str(each.path), each.code) for each in one} == {
        (str(each.path), each.code) for each in two
    }


def _keys_restored(node: JSONObject) -> JSONObject:
    """Put back the order of map keys, which is the order of a path's words."""
    made: JSONObject = {}
    for name, value in node.items():
        made[name] = _keys_restored(value) if isinstance(value, dict) else value
        if name == "map_keys" and isinstance(value, list):
            made[name] = sorted(value, key=str)
    return made


@law
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


@law
@given(worlds(), profiles)
def test_what_did_not_change_is_shared(world: World, profile: str) -> None:
    result = normalized(world, profile)
    touched = {
        way[:depth]
        for way in (plain(change.path) for change in result.changes)
        for depth in range(len(way))
    }
    written = {
        plain(change.path) for change in result.changes if change.new is not ABSENT
    }

    def check(before: JSON, after: JSON, path: tuple[str | int, ...]) -> None:
        if path in written:
            return
        if path not in touched:
            assert after is before
        elif isinstance(before, dict) and isinstance(after, dict):
            for name in before.keys() & after.keys():
                check(before[name], after[name], (*path, name))
        elif isinstance(before, list) and isinstance(after, list):
            for index, pair in enumerate(zip(before, after, strict=True)):
                check(*pair, (*path, index))

    check(world.new, result.object, ())


@law
@given(worlds(), profiles)
def test_the_same_again_is_the_same(world: World, profile: str) -> None:
    assert normalized(world, profile) == normalized(world, profile)


@law
@given(
    worlds(),
    profiles,
    st.sampled_from(["error", "clear"]),
    json_values(),
    json_values(),
    json_values(),
)
def test_any_json_is_normalized_or_refused_cleanly(
    world: World, profile: str, on_conflict: str, old: JSON, new: JSON, patch: JSON
) -> None:
    for before, after, asked in (
        (old, world.new, patch),
        (world.old, new, patch),
        (old, new, patch),
    ):
        try:
            normalize_unions(
                before,  # type: ignore[arg-type]  # whatever somebody passes
                after,  # type: ignore[arg-type]  # the same
                world.schema,
                profile=profile,
                patch=asked,  # type: ignore[arg-type]  # the same
                on_conflict=on_conflict,  # type: ignore[arg-type]  # one of its two values
            )
            validate_unions(before, after, world.schema, profile=profile)  # type: ignore[arg-type]  # the same
        except SmpError as error:
            assert error.code


_WORDS: Final = (
    *(
        "discriminator",
        "fields-to-discriminateBy",
        "fields-to-discriminator-value",
        "fieldMembers",
        "fields",
    ),
    *(
        "members",
        "empty",
        "none",
        "default",
        "exactly_one",
        "required",
        "profile",
        "source",
        "deduce-discriminator",
    ),
    *("discriminatorValue", "fieldName", "name", "value", "optional"),
)
_union_documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "a", "b", "d", "A", "B", "kep2019", "off", "?"]),
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


@law
@given(
    _union_documents | st.lists(_union_documents, max_size=3),
    profiles,
    _small_objects,
    _small_objects,
)
def test_any_union_document_is_read_or_refused_cleanly(
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
        validate_unions(old, result.object, schema, profile=profile)
        event("read")
    except SmpError as error:
        assert error.code
    on_struct: JSONObject = {
        "type": "object",
        "properties": {"d": {"type": "string"}},
        "x-kubernetes-unions": unions,
    }
    on_field: JSONObject = {
        "type": "object",
        "properties": {"d": {"type": "string", "x-kubernetes-unions": unions}},
    }
    for published in (on_struct, on_field):
        try:
            validate_unions(old, new, inline(published), profile=profile)
        except SmpError as error:
            assert error.code
