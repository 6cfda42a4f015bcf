"""Entries of other versions of the API, and servers of other versions."""

from __future__ import annotations

import pytest

from smp.errors import ObjectError
from smp.managed_fields import Serving, owners, server_side_apply, track
from smp.schema.model import Schema
from smp.values import JSON, JSONObject, as_object

NAMES: JSONObject = {"fields": {"name": "string"}}


def schema(version: str, **fields: JSON) -> Schema:
    document: JSONObject = {
        "fields": {
            "apiVersion": "string",
            "kind": "string",
            "metadata": NAMES,
            "spec": {"fields": fields},
        }
    }
    made = Schema.inline(document)
    return Schema(made.document, made.types, f"example.com/{version}", "Cup")


def cup(version: str, **spec: JSON) -> JSONObject:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Cup",
        "metadata": {"name": "tea"},
        "spec": spec,
    }


GRANULAR: JSON = {"values": "string"}
ATOMIC: JSON = {"values": "string", "map_type": "atomic"}
V1 = schema("v1", size="integer", notes=GRANULAR)
V2 = schema("v2", size="integer", notes=ATOMIC)


def test_an_entry_of_a_version_that_is_not_served_is_dropped() -> None:
    live = server_side_apply(None, cup("v1", size=1), V1, manager="one").object
    moved = {**live, "apiVersion": "example.com/v2"}
    unknown = server_side_apply(moved, cup("v2", size=2), V2, manager="two", force=True)
    assert [owner.manager for owner in owners(unknown.object)] == ["two"]
    kept = server_side_apply(moved, cup("v2", notes={"a": "b"}), V2, manager="two")
    assert {owner.manager for owner in owners(kept.object)} == {"one", "two"}
    serving = Serving(versions={})
    # Without the entry there is no conflict either.
    result = server_side_apply(
        moved, cup("v2", size=2), V2, manager="two", serving=serving
    )
    assert [owner.manager for owner in owners(result.object)] == ["two"]


def test_each_entry_is_compared_in_its_version() -> None:
    first = cup("v1", notes={"a": "1", "b": "2"})
    live = server_side_apply(None, first, V1, manager="one").object
    serving = Serving(versions={"example.com/v1": V1})
    moved = {**live, "apiVersion": "example.com/v2"}
    changed: JSONObject = {**moved, "spec": {"notes": {"a": "1", "b": "3"}}}
    tracked = track(moved, changed, V2, manager="two", serving=serving)
    found = {
        owner.manager: [str(path) for path in owner.fields.paths()]
        for owner in owners(tracked)
    }
    assert found == {"one": ["spec.notes.a"], "two": ["spec.notes"]}


def test_what_an_apply_empties_is_null_but_for_kubernetes_1_36_0_to_1_36_2() -> None:
    live = server_side_apply(
        None, cup("v1", size=1, notes={"a": "1"}), V1, manager="one"
    ).object
    for kubernetes, expected in (("1.36.2", {}), ("1.36.3", None), ("1.37", None)):
        # What the configuration keeps is the field, and not what is in it.
        serving = Serving(kubernetes=kubernetes)
        also = server_side_apply(live, cup("v1", notes={}), V1, manager="two").object
        result = server_side_apply(
            also, cup("v1", size=1), V1, manager="one", serving=serving
        )
        assert as_object(result.object["spec"])["notes"] == expected


def test_a_version_of_a_custom_resource_that_is_not_served_makes_an_apply_fail() -> (
    None
):
    live = server_side_apply(None, cup("v1", size=1), V1, manager="one").object
    moved = {**live, "apiVersion": "example.com/v2"}
    serving = Serving(versions={}, custom=True)
    with pytest.raises(ObjectError) as caught:
        server_side_apply(moved, cup("v2", size=2), V2, manager="two", serving=serving)
    assert caught.value.code == "version-not-served"


def test_a_field_that_the_version_of_an_entry_does_not_have_makes_an_apply_fail() -> (
    None
):
    v3 = schema("v3", size="integer", color="string")
    live = server_side_apply(None, cup("v1", size=1), V1, manager="one").object
    moved = {**live, **cup("v3", size=1, color="red"), "metadata": live["metadata"]}
    serving = Serving(versions={"example.com/v1": V1}, custom=True)
    with pytest.raises(ObjectError) as caught:
        server_side_apply(moved, cup("v3", size=2), v3, manager="two", serving=serving)
    assert caught.value.problem == ".spec.color: field not declared in schema"


@pytest.mark.parametrize(("kubernetes", "kept"), [("1.36.3", False), ("1.37", True)])
def test_a_write_that_cannot_be_tracked_keeps_managed_fields_since_1_37(
    kubernetes: str, *, kept: bool
) -> None:
    live = server_side_apply(None, cup("v1", size=1), V1, manager="one").object
    moved = {**live, "apiVersion": "example.com/v2"}
    serving = Serving(versions={}, custom=True, kubernetes=kubernetes)
    new = {**moved, **cup("v2", size=3)}
    tracked = track(moved, new, V2, manager="two", serving=serving)
    assert tracked["spec"] == {"size": 3}
    expected = as_object(live["metadata"])["managedFields"] if kept else None
    assert as_object(tracked["metadata"]).get("managedFields") == expected


def test_versions_of_servers_are_read_as_they_name_themselves() -> None:
    assert Serving(kubernetes="v1.36.2").keeps_emptied
    assert not Serving(kubernetes="v1.36.3").keeps_untracked
    assert Serving(kubernetes="v1.37.1").keeps_untracked
    assert Serving(kubernetes="newest").keeps_untracked
