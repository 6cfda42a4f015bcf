"""Who owns what, and what they applied."""

from __future__ import annotations

import copy

import pytest

import smp
from smp import managed_fields
from smp._values.values import JSON, JSONArray, JSONObject
from smp.errors import ObjectError
from smp.managed_fields import FieldSet
from smp.paths import Element, Path

POD = smp.kubernetes().schema("v1", "Pod")
LIVE: JSONObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "1",
        "labels": {"app": "web", "tier": "front"},
        "managedFields": [
            {
                "manager": "alice",
                "operation": "Apply",
                "apiVersion": "v1",
                "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": {"f:labels": {"f:app": {}}},
                    "f:spec": {
                        "f:containers": {
                            'k:{"name":"app"}': {
                                ".": {},
                                "f:command": {},
                                "f:image": {},
                                "f:name": {},
                            }
                        }
                    },
                },
            },
            {
                "manager": "robot",
                "operation": "Apply",
                "apiVersion": "v1",
                "time": "2026-01-02T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:labels": {"f:app": {}, "f:tier": {}}}},
            },
            {
                "manager": "kubelet",
                "operation": "Update",
                "apiVersion": "v1",
                "subresource": "status",
                "time": "2026-01-03T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:status": {"f:phase": {}}},
            },
        ],
    },
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "app", "image": "a:1", "command": ["sh", "-c"]}],
    },
    "status": {"phase": "Running"},
}


def with_entries(*entries: JSON) -> JSONObject:
    return {"metadata": {"managedFields": [*entries]}}


def names(obj: JSONObject, *steps: str | int | Element) -> list[str]:
    found = managed_fields.owners_of(obj, Path(steps))
    return [owner.manager for owner in found]


def test_owners_are_the_entries() -> None:
    alice, _, kubelet = managed_fields.owners(LIVE)
    assert (alice.manager, alice.operation, alice.subresource) == ("alice", "Apply", "")
    assert kubelet.subresource == "status"
    assert kubelet.time == "2026-01-03T00:00:00Z"
    assert kubelet.fields == FieldSet.of(Path(("status", "phase")))
    assert managed_fields.owners({"metadata": {}}) == ()


def test_a_field_may_have_several_owners_or_none() -> None:
    assert names(LIVE, "metadata", "labels", "app") == ["alice", "robot"]
    assert names(LIVE, "metadata", "labels", "tier") == ["robot"]
    assert names(LIVE, "spec", "nodeName") == []
    app = Element(0, "name", "app")
    assert names(LIVE, "spec", "containers", app, "image") == ["alice"]


def test_what_is_in_an_atomic_list_belongs_to_the_owner_of_the_list() -> None:
    app = Element(0, "name", "app")
    assert names(LIVE, "spec", "containers", app, "command", 1) == ["alice"]
    # The element is owned, but not as a whole.
    assert names(LIVE, "spec", "containers", app, "ports") == []


def test_a_manager_gets_back_what_it_applied() -> None:
    before = copy.deepcopy(LIVE)
    assert managed_fields.extract(LIVE, POD, "alice") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {
            "containers": [{"name": "app", "image": "a:1", "command": ["sh", "-c"]}]
        },
    }
    assert before == LIVE


def test_a_manager_that_applied_nothing_gets_the_identity() -> None:
    identity = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop"},
    }
    assert managed_fields.extract(LIVE, POD, "kubelet-2") == identity
    # What was written by an update was not applied.
    assert managed_fields.extract(LIVE, POD, "kubelet", "status") == identity


def test_a_renamed_manager_owns_what_both_owned() -> None:
    renamed = managed_fields.rename(LIVE, "alice", "robot")
    robot, kubelet = managed_fields.owners(renamed)
    former = managed_fields.owners(LIVE)
    assert robot.fields == former[0].fields.union(former[1].fields)
    assert robot.time == "2026-01-02T00:00:00Z"
    assert kubelet == former[2]
    assert renamed["spec"] is LIVE["spec"]


def test_a_new_name_leaves_the_rest_of_the_entry() -> None:
    renamed = managed_fields.rename(LIVE, "kubelet", "node")
    assert [owner.manager for owner in managed_fields.owners(renamed)] == [
        "alice",
        "robot",
        "node",
    ]
    assert managed_fields.rename(renamed, "node", "kubelet") == LIVE
    assert managed_fields.rename(LIVE, "kubelet-2", "node") is LIVE


def test_entries_of_other_operations_stay_apart() -> None:
    fields: JSONObject = {"f:a": {}}
    entries: JSONArray = [
        {
            "manager": manager,
            "operation": operation,
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        for manager, operation in (("old", "Update"), ("new", "Apply"))
    ]
    renamed = managed_fields.rename(with_entries(*entries), "old", "new")
    found = managed_fields.owners(renamed)
    assert [(owner.manager, owner.operation) for owner in found] == [
        ("new", "Update"),
        ("new", "Apply"),
    ]


VALID: JSONObject = {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("x", "metadata.managedFields[1]"),
        ({"manager": "m"}, "metadata.managedFields[1]"),
        ({**VALID, "fieldsV1": 1}, "metadata.managedFields[1]"),
        (
            {**VALID, "fieldsV1": {"f:a": {"b": {}}}},
            "metadata.managedFields[1].fieldsV1.a",
        ),
    ],
)
def test_broken_managed_fields_are_refused_with_their_path(
    entry: JSON, path: str
) -> None:
    good: JSONObject = {**VALID, "fieldsV1": {}}
    with pytest.raises(ObjectError) as caught:
        managed_fields.owners(with_entries(good, entry))
    assert caught.value.code == "invalid-managed-fields"
    assert str(caught.value.path) == path
