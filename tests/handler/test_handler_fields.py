"""Unknown, duplicate and mistyped fields: what is refused, warned of and dropped."""

from __future__ import annotations

import json
from typing import Final

import pytest

from smp import handler
from smp.handler import JSON_PATCH, MERGE, STRATEGIC, Options
from smp.schema.catalog import kubernetes
from smp.schema.sources.openapi import inline
from smp.values import JSONObject
from tests.support.handler_objects import (
    DECODING_ERROR,
    DEPLOYMENT,
    REPLICAS,
    STRICT,
    WEB,
    accepted,
    dump,
    patch_web,
    refused,
    value_at,
)

SPOILT: Final = b"""{"spec": {
    "bogus": {"a": 1}, "paused": true, "paused": false,
    "template": {"spec": {"containers": [{"name": "app", "imagee": "x", "image": "x", "image": "y"}]}}
}}"""
# The same kinds of faults, in the same words, as in Kubernetes'
# test/integration/apiserver/field_validation_test.go.
FAULTS: Final = (
    'duplicate field "spec.paused"',
    'duplicate field "spec.template.spec.containers[0].image"',
    'unknown field "spec.template.spec.containers[0].imagee"',
    'unknown field "spec.bogus"',
)


@pytest.mark.parametrize("media_type", [STRATEGIC, MERGE])
def test_strict_refuses_what_warn_warns_of_and_ignore_ignores(media_type: str) -> None:
    outcome = refused(patch_web(SPOILT, media_type, STRICT))
    assert outcome.code == 400
    assert outcome.status["message"] == f"strict decoding error: {', '.join(FAULTS)}"
    warned = accepted(patch_web(SPOILT, media_type))
    ignored = accepted(
        patch_web(SPOILT, media_type, Options(field_validation="Ignore"))
    )
    assert (warned.warnings, ignored.warnings) == (FAULTS, ())
    assert warned.object == ignored.object
    assert "bogus" not in value_at(warned.object, "spec")
    assert (
        value_at(warned.object, "spec", "template", "spec", "containers", 0, "image")
        == "y"
    )


def test_one_unknown_field() -> None:
    outcome = refused(patch_web({"spec": {"bogus": 1}}, options=STRICT))
    assert (
        outcome.status["message"] == 'strict decoding error: unknown field "spec.bogus"'
    )


def test_the_members_of_operations_are_validated_too() -> None:
    body = b'[{"op": "test", "path": "/x", "path": "/spec/replicas", "value": 1, "foo": 1}]'
    faults = (
        'json patch duplicate field "[0].path"',
        'json patch unknown field "[0].foo"',
    )
    assert accepted(patch_web(body, JSON_PATCH)).warnings == faults
    assert (
        refused(patch_web(body, JSON_PATCH, STRICT)).status["message"]
        == f"strict decoding error: {', '.join(faults)}"
    )


def test_a_whole_object_is_validated_likewise() -> None:
    body = dump({**WEB, "spec": {**value_at(WEB, "spec"), "bogus": 1}})
    message = f'{DECODING_ERROR}strict decoding error: unknown field "spec.bogus"'
    assert (
        refused(handler.replace(WEB, body, DEPLOYMENT, STRICT)).status["message"]
        == message
    )
    assert (
        refused(handler.create(body, DEPLOYMENT, STRICT)).status["message"] == message
    )
    assert accepted(handler.replace(WEB, body, DEPLOYMENT)).object is WEB


def test_a_hundred_faults_are_enough() -> None:
    outcome = accepted(patch_web({"spec": {f"x{number}": 1 for number in range(200)}}))
    assert len(outcome.warnings) == 100


def test_types_count_more_than_fields() -> None:
    message = refused(
        patch_web({"spec": {"bogus": 1, "replicas": "1"}}, options=STRICT)
    ).status["message"]
    assert (
        message
        == f"{DECODING_ERROR}json: cannot unmarshal string into field spec.replicas of type integer"
    )


def test_unknown_fields_may_be_kept() -> None:
    outcome = accepted(
        patch_web({"spec": {"bogus": {"a": None, "b": 1}}}, MERGE, Options(prune=False))
    )
    assert value_at(outcome.object, "spec", "bogus") == {"b": 1}
    assert outcome.warnings == ('unknown field "spec.bogus"',)


def test_what_the_stored_object_has_is_not_judged_again() -> None:
    stored: JSONObject = {**WEB, "spec": {**value_at(WEB, "spec"), "bogus": {"a": 1}}}
    outcome = accepted(handler.patch(stored, dump(REPLICAS), MERGE, DEPLOYMENT, STRICT))
    assert value_at(outcome.object, "spec", "bogus") == {"a": 1}


def test_patching_an_unknown_field_of_the_stored_object() -> None:
    stored: JSONObject = {**WEB, "spec": {**value_at(WEB, "spec"), "bogus": {"a": 1}}}
    outcome = accepted(
        handler.patch(
            stored, dump({"spec": {"bogus": {"b": 1}}}), STRATEGIC, DEPLOYMENT
        )
    )
    assert outcome.warnings == ('unknown field "spec.bogus"',)
    assert outcome.object["spec"] == WEB["spec"]


RIGHT: Final[tuple[object, ...]] = (
    {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": "10%"}}}},
    {
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {"name": "app", "resources": {"limits": {"cpu": 0.5}}}
                    ]
                }
            }
        }
    },
    {
        "spec": {
            "template": {
                "spec": {
                    "containers": [{"name": "app", "resources": {"limits": {"cpu": 2}}}]
                }
            }
        }
    },
    {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 2**63 - 1}}}},
    {"metadata": {"labels": {"a": "b"}}},
)
WRONG: Final[tuple[object, ...]] = (
    {"spec": 1},
    {"spec": []},
    {"spec": {"replicas": 1.5}},
    {"spec": {"replicas": 1.0}},
    {"spec": {"replicas": {}}},
    {"spec": {"paused": "true"}},
    {"spec": {"paused": 1}},
    {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0.5}}}},
    {"spec": {"strategy": {"rollingUpdate": {"maxSurge": True}}}},
    {"spec": {"template": {"spec": {"containers": {}}}}},
    {"spec": {"template": {"spec": {"containers": [{"name": "app", "args": "x"}]}}}},
    {"spec": {"template": {"spec": {"containers": [{"name": "app", "args": [1]}]}}}},
    {"spec": {"template": {"spec": {"containers": [{"name": "app", "args": [None]}]}}}},
    {
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {"name": "app", "resources": {"limits": {"cpu": True}}}
                    ]
                }
            }
        }
    },
    {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 2**63}}}},
    {"spec": {"template": {"spec": {"tolerations": ["x"]}}}},
    {"metadata": {"labels": {"a": 1}}},
    {"metadata": {"labels": ["a"]}},
    {"metadata": "x"},
    {"metadata": {"name": 1}},
    {"metadata": {"uid": []}},
    {"metadata": {"resourceVersion": 7}},
    {"metadata": {"managedFields": [{"manager": {}}]}},
)


@pytest.mark.parametrize("body", RIGHT, ids=json.dumps)
def test_right_types_are_accepted(body: object) -> None:
    assert accepted(patch_web(body)).changed


@pytest.mark.parametrize("body", WRONG, ids=json.dumps)
def test_wrong_types_are_refused(body: object) -> None:
    assert refused(patch_web(body)).code == 400
    assert refused(patch_web(body, MERGE)).code == 400


def test_a_list_where_the_type_is_free_form_is_accepted() -> None:
    kind = kubernetes().schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    properties = {
        "a": {
            "type": "array",
            "default": [1],
            "items": {"type": "integer"},
            "example": {"x": 1},
        }
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    spec = {"group": "g", "versions": [{"name": "v1", "schema": schema}]}
    body = dump(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "spec": spec,
        }
    )
    assert value_at(accepted(handler.create(body, kind, STRICT)).object, "spec") == spec


def test_nulls_are_dropped_as_a_typed_server_drops_them() -> None:
    body = {
        **WEB,
        "status": None,
        "metadata": {"name": "web", "creationTimestamp": None, "labels": {"a": None}},
    }
    created = accepted(handler.create(dump(body), DEPLOYMENT)).object
    assert created["metadata"] == {"name": "web", "labels": {}}
    assert "status" not in created


def test_an_inline_schema_need_not_know_metadata() -> None:
    schema = inline({"type": "object", "properties": {"a": {"type": "string"}}})
    assert accepted(
        handler.patch({"a": "x"}, b'{"a":"y","metadata":1}', MERGE, schema)
    ).object == {"a": "y"}
