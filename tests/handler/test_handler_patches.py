"""Patches that are accepted, and the unions of the objects that they make."""

from __future__ import annotations

import copy
import json
from typing import Final

import pytest

from smp import handler
from smp.handler import JSON_PATCH, MERGE, STRATEGIC, Options
from smp.schema.catalog import kubernetes
from smp.values import JSONObject
from tests.support.handler_objects import (
    DEPLOYMENT,
    REPLICAS,
    WEB,
    accepted,
    causes,
    dump,
    patch_web,
    refused,
    value_at,
)

PATCHES: Final[dict[str, tuple[str, object]]] = {
    "strategic": (STRATEGIC, REPLICAS),
    "merge": (MERGE, REPLICAS),
    "json": (JSON_PATCH, [{"op": "replace", "path": "/spec/replicas", "value": 5}]),
    "parameters": (f"{MERGE}; charset=utf-8", REPLICAS),
    "another case": ("Application/Merge-Patch+JSON ;q=1", REPLICAS),
}


@pytest.mark.parametrize("stored", [WEB, dump(WEB)], ids=["dict", "bytes"])
@pytest.mark.parametrize(("media_type", "body"), PATCHES.values(), ids=PATCHES)
def test_a_patch_is_applied(
    stored: bytes | JSONObject, media_type: str, body: object
) -> None:
    before = copy.deepcopy(WEB)
    outcome = accepted(handler.patch(stored, dump(body), media_type, DEPLOYMENT))
    assert outcome.object == {**WEB, "spec": {**value_at(WEB, "spec"), "replicas": 5}}
    assert (outcome.code, outcome.changed, outcome.warnings, outcome.changes) == (
        200,
        True,
        (),
        (),
    )
    assert json.loads(outcome.body) == outcome.object
    assert before == WEB


NOTHING: Final[dict[str, tuple[str, object]]] = {
    "an empty patch": (STRATEGIC, {}),
    "what is there": (MERGE, {"spec": {"replicas": 1}}),
    "no operations": (JSON_PATCH, []),
    "a test that holds": (
        JSON_PATCH,
        [{"op": "test", "path": "/spec/replicas", "value": 1}],
    ),
    "there and back": (
        JSON_PATCH,
        [
            {"op": "replace", "path": "/spec/replicas", "value": value}
            for value in (2, 1)
        ],
    ),
    "an absent field removed": (MERGE, {"spec": {"paused": None}}),
    "identity removed, which stays": (
        MERGE,
        {
            "apiVersion": None,
            "kind": None,
            "metadata": dict.fromkeys(("uid", "resourceVersion", "namespace")),
        },
    ),
    "identity left empty": (
        MERGE,
        {"metadata": dict.fromkeys(("uid", "resourceVersion", "namespace"), "")},
    ),
    "what only a server sets": (
        MERGE,
        {
            "metadata": {
                "creationTimestamp": None,
                "generation": 9,
                "deletionTimestamp": "2026-03-02T09:30:00Z",
            }
        },
    ),
    "managed fields removed": (MERGE, {"metadata": {"managedFields": None}}),
    "an unknown field": (STRATEGIC, {"spec": {"bogus": {"a": [1]}}}),
}


@pytest.mark.parametrize(("media_type", "body"), NOTHING.values(), ids=NOTHING)
def test_what_changes_nothing_gives_back_the_stored_object(
    media_type: str, body: object
) -> None:
    outcome = accepted(patch_web(body, media_type))
    assert outcome.object is WEB
    assert not outcome.changed


def test_replacing_by_the_manifest_changes_nothing() -> None:
    manifest = {**WEB, "metadata": {"name": "web"}}
    assert accepted(handler.replace(WEB, dump(manifest), DEPLOYMENT)).object is WEB


def test_untouched_parts_are_shared() -> None:
    outcome = accepted(patch_web(REPLICAS))
    assert value_at(outcome.object, "spec", "template") is value_at(
        WEB, "spec", "template"
    )
    whole = accepted(
        handler.replace(
            WEB,
            dump({**WEB, "spec": {**value_at(WEB, "spec"), "replicas": 5}}),
            DEPLOYMENT,
        )
    )
    assert value_at(whole.object, "spec", "template") is value_at(
        WEB, "spec", "template"
    )


def test_a_dry_run_says_so() -> None:
    assert accepted(patch_web(REPLICAS, options=Options(dry_run=True))).dry_run


def test_managed_fields_can_be_replaced() -> None:
    entries = [{"manager": "mine", "fieldsV1": {"f:metadata": {}}}]
    outcome = accepted(
        patch_web(
            [{"op": "replace", "path": "/metadata/managedFields", "value": entries}],
            JSON_PATCH,
        )
    )
    assert value_at(outcome.object, "metadata", "managedFields") == entries


def test_a_cluster_scoped_object_stays_without_a_namespace() -> None:
    node: JSONObject = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    body = dump({"metadata": {"namespace": "shop"}})
    outcome = handler.patch(node, body, MERGE, kubernetes().schema("v1", "Node"))
    assert accepted(outcome).object is node


def test_generate_name_is_a_field_like_others() -> None:
    outcome = accepted(patch_web({"metadata": {"generateName": "web-"}}, MERGE))
    assert value_at(outcome.object, "metadata", "generateName") == "web-"


def test_unions_are_cleared_by_what_was_there() -> None:
    outcome = accepted(patch_web({"spec": {"strategy": {"type": "Recreate"}}}))
    assert value_at(outcome.object, "spec", "strategy") == {"type": "Recreate"}
    assert [str(change.path) for change in outcome.changes] == [
        "spec.strategy.rollingUpdate"
    ]


def test_what_a_strategic_patch_asks_for_is_not_cleared() -> None:
    body = {
        "spec": {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 2}}}
    }
    message = "the patch sets this member of a union and asks for another one"
    assert causes(patch_web(body)) == [
        ("FieldValueInvalid", "spec.strategy.rollingUpdate", message)
    ]


def test_every_violation_is_a_cause() -> None:
    probed = {"name": "app", "livenessProbe": {"periodSeconds": 5}}
    outcome = patch_web(
        {
            "spec": {
                "strategy": {"type": "Odd"},
                "template": {"spec": {"containers": [probed]}},
            }
        }
    )
    found = causes(outcome)
    unsupported = (
        'Unsupported value: "Odd": supported values: "Recreate", "RollingUpdate"'
    )
    assert ("FieldValueNotSupported", "spec.strategy.type", unsupported) in found
    assert "spec.template.spec.containers[0].livenessProbe" in [
        field for _, field, _ in found
    ]
    texts = ", ".join(f"{field}: {message}" for _, field, message in found)
    assert (
        refused(outcome).status["message"]
        == f'Deployment.apps "web" is invalid: [{texts}]'
    )
    details = refused(outcome).status["details"]
    assert isinstance(details, dict)
    assert (details["name"], details["group"], details["kind"]) == (
        "web",
        "apps",
        "Deployment",
    )


def test_a_violation_that_was_there_blocks_nothing() -> None:
    volumes = [{"name": "data", "emptyDir": {}, "hostPath": {"path": "/"}}]
    stored = accepted(
        patch_web(
            {"spec": {"template": {"spec": {"volumes": volumes}}}},
            MERGE,
            Options(profile="off"),
        )
    ).object
    assert accepted(
        handler.patch(stored, dump(REPLICAS), STRATEGIC, DEPLOYMENT)
    ).changed
    again = {
        "spec": {
            "template": {
                "spec": {
                    "volumes": [*volumes, {"name": "b", "emptyDir": {}, "nfs": {}}]
                }
            }
        }
    }
    assert [
        cause[1]
        for cause in causes(handler.patch(stored, dump(again), MERGE, DEPLOYMENT))
    ] == ["spec.template.spec.volumes[1]"]
