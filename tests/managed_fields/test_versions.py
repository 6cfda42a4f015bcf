"""Entries of other versions of the API, and servers of other versions."""

from __future__ import annotations

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
