"""Entries of other versions of the API, and servers of other versions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pytest

import smp
from smp._storage.typed_storage import convert
from smp._values.values import JSON, JSONObject, as_object
from smp.errors import ObjectError
from smp.managed_fields import (
    Serving,
    Step,
    migrate,
    migrate_patch,
    owners,
    server_side_apply,
    simulate,
    track,
)
from smp.schema.model import Schema
from tests.support.recorded_scenarios import answers_of, owned, requests_of

AUTOSCALER: Final = "HorizontalPodAutoscaler"

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


def written_with(name: str, schema: Schema) -> list[tuple[str, JSON, JSON]]:
    """Return the outcome, the spec and the owners after each recorded request."""
    steps = [step for step, _ in requests_of(name) if step is not None]
    run = simulate(None, steps, schema)
    return [
        (
            state.error.problem if state.error else "",
            as_object(state.object)["spec"],
            owned(as_object(state.object)),
        )
        for state in run.states
    ]


@pytest.mark.parametrize(
    "name",
    [
        "two versions of an autoscaler",
        "what one version of an autoscaler keeps in annotations",
    ],
)
def test_an_autoscaler_is_written_in_both_versions_as_on_a_server(name: str) -> None:
    # The object is simulated in autoscaling/v2, whatever version a request is of.
    v2 = smp.kubernetes("1.36").schema("autoscaling/v2", AUTOSCALER)
    found = written_with(name, v2)
    differing: list[str] = []
    before: tuple[JSON, JSON] = None, None
    for number, (answer, outcome) in enumerate(
        zip(answers_of(name), found, strict=False)
    ):
        problem, spec, entries = outcome
        if "object" not in answer:
            if problem != answer["message"]:
                differing.append(f"{number}: {problem!r}, not {answer['message']!r}")
        elif problem:
            differing.append(f"{number}: {problem}")
        else:
            before = (
                convert(answer["object"], AUTOSCALER, "autoscaling/v2")["spec"],
                owned(answer["object"]),
            )
        if (spec, entries) != before:
            differing.append(f"{number}: {spec} {entries}, not {before}")
    assert "\n".join(differing) == ""


def test_an_entry_of_an_event_of_the_other_group_is_dropped() -> None:
    answers = answers_of("one event in two groups")
    other, after = answers[3]["object"], answers[4]["object"]
    live = {
        **after,
        "count": 1,
        "metadata": {
            **after["metadata"],
            "managedFields": other["metadata"]["managedFields"],
        },
    }
    new = {**live, "count": 2}
    schema = smp.kubernetes("1.36").schema("v1", "Event")
    assert owned(track(live, new, schema, manager="d")) == owned(after)


def test_a_migration_names_what_is_owned_as_another_version_does() -> None:
    applied, patched, given_up = (
        answer["object"] for answer in answers_of("managedFields in another version")
    )
    v1 = smp.kubernetes("1.36").schema("autoscaling/v1", AUTOSCALER)
    migrated = migrate(applied, "autoscaling/v2", v1)
    assert owned(migrated) == owned(patched)
    assert migrate(migrated, "autoscaling/v2", v1) is migrated
    patch = migrate_patch(applied, "autoscaling/v2", v1)
    assert patch is not None
    assert patch[0]["value"] == as_object(migrated["metadata"])["managedFields"]
    # And back: what is atomic in v1 is owned as a whole.
    assert owned(migrate(migrated, "autoscaling/v1", v1)) == owned(applied)
    # Only then is what v2 leaves out given up.
    configuration: JSONObject = {
        name: given_up[name] for name in ("apiVersion", "kind")
    }
    configuration["metadata"] = {"name": "h"}
    configuration["spec"] = {
        name: given_up["spec"][name] for name in ("scaleTargetRef", "maxReplicas")
    }
    steps = [
        Step("", "autoscaling/v2", "migrate"),
        Step("c", configuration, api_version="autoscaling/v2"),
    ]
    run = simulate(applied, steps, v1)
    last = convert(as_object(run.object), AUTOSCALER, "autoscaling/v2")
    assert last["spec"] == given_up["spec"]
    assert owned(last) == owned(given_up)


def test_a_migration_frees_an_apply_from_a_version_that_is_not_served() -> None:
    live = server_side_apply(None, cup("v1", size=1), V1, manager="one").object
    moved = {**live, "apiVersion": "example.com/v2"}
    serving = Serving(versions={}, custom=True)
    steps = [
        Step("one", cup("v2", size=2)),
        Step("", "example.com/v2", "migrate"),
        Step("one", cup("v2", size=2)),
    ]
    run = simulate(moved, steps, V2, serving=serving)
    assert [state.error and state.error.code for state in run.states] == [
        "version-not-served",
        None,
        None,
    ]
    assert as_object(as_object(run.object)["spec"])["size"] == 2
    with pytest.raises(ObjectError) as caught:
        migrate(moved, "example.com/v1", V2, serving=serving)
    assert caught.value.code == "version-not-served"


def test_a_migration_makes_one_entry_of_those_of_one_manager() -> None:
    live = track(
        None, cup("v1", size=1), V1, manager="one", now=datetime(2024, 1, 1, tzinfo=UTC)
    )
    moved = {**live, "apiVersion": "example.com/v2"}
    new: JSONObject = {**moved, "spec": {"size": 1, "notes": {"a": "1"}}}
    both = track(moved, new, V2, manager="one", now=datetime(2024, 1, 2, tzinfo=UTC))
    assert len(owners(both)) == 2
    (entry,) = owners(migrate(both, "example.com/v2", V2))
    assert entry.time == "2024-01-02T00:00:00Z"
    paths = [str(path) for path in entry.fields.paths()]
    assert paths == ["spec", "spec.notes", "spec.size"]
