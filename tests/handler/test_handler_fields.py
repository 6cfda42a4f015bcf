"""Unknown, duplicate and mistyped fields: what is refused, warned of and dropped."""

from __future__ import annotations

import json
from typing import Final

import pytest

from smp import handler
from smp._values.values import JSONObject
from smp.handler import JSON_PATCH, MERGE, STRATEGIC, Options
from smp.schema.catalog import kubernetes
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline
from tests.support.handler_objects import (
    DECODING_ERROR,
    DEPLOYMENT,
    REPLICAS,
    STRICT,
    UNDECODABLE,
    WEB,
    accepted,
    dump,
    in_container,
    in_pod,
    message_of,
    patch_web,
    refused,
    value_at,
    web_with,
)

PATCH_WITH_FAULTS: Final = b"""{"spec": {
    "bogus": {"a": 1}, "paused": true, "paused": false,
    "template": {"spec": {"containers": [
        {"name": "app", "imagee": "x", "image": "x", "image": "y"}
    ]}}
}}"""
# The faults are worded as in Kubernetes'
# test/integration/apiserver/field_validation_test.go.
FAULTS: Final = (
    'duplicate field "spec.paused"',
    'duplicate field "spec.template.spec.containers[0].image"',
    'unknown field "spec.template.spec.containers[0].imagee"',
    'unknown field "spec.bogus"',
)


@pytest.mark.parametrize("media_type", [STRATEGIC, MERGE])
def test_strict_refuses_what_warn_warns_of_and_ignore_ignores(media_type: str) -> None:
    outcome = refused(patch_web(PATCH_WITH_FAULTS, media_type, STRICT))
    assert outcome.code == 422
    message = f"strict decoding error: {', '.join(FAULTS)}"
    assert outcome.status["message"] == f"{UNDECODABLE}{message}"
    warned = accepted(patch_web(PATCH_WITH_FAULTS, media_type))
    ignored = accepted(
        patch_web(PATCH_WITH_FAULTS, media_type, Options(field_validation="Ignore"))
    )
    assert (warned.warnings, ignored.warnings) == (FAULTS, ())
    assert warned.object == ignored.object
    assert "bogus" not in value_at(warned.object, "spec")
    (container,) = value_at(warned.object, "spec", "template", "spec", "containers")
    assert container["image"] == "y"


def test_strict_validation_refuses_an_unknown_field() -> None:
    message = message_of(patch_web({"spec": {"bogus": 1}}, options=STRICT))
    assert message == f'{UNDECODABLE}strict decoding error: unknown field "spec.bogus"'


def test_the_members_of_operations_are_validated_too() -> None:
    body = (
        b'[{"op": "test", "path": "/x", "path": "/spec/replicas",'
        b' "value": 1, "foo": 1}]'
    )
    faults = (
        'json patch duplicate field "[0].path"',
        'json patch unknown field "[0].foo"',
    )
    assert accepted(patch_web(body, JSON_PATCH)).warnings == faults
    message = message_of(patch_web(body, JSON_PATCH, STRICT))
    assert message == f"{UNDECODABLE}strict decoding error: {', '.join(faults)}"


def test_a_whole_object_is_validated_likewise() -> None:
    body = dump(web_with(bogus=1))
    message = f'{DECODING_ERROR}strict decoding error: unknown field "spec.bogus"'
    assert message_of(handler.replace(WEB, body, DEPLOYMENT, STRICT)) == message
    assert message_of(handler.create(body, DEPLOYMENT, STRICT)) == message
    assert accepted(handler.replace(WEB, body, DEPLOYMENT)).object is WEB


def test_at_most_a_hundred_faults_are_listed() -> None:
    outcome = accepted(patch_web({"spec": {f"x{number}": 1 for number in range(200)}}))
    assert len(outcome.warnings) == 100


def test_wrong_types_are_reported_and_unknown_fields_beside_them_are_not() -> None:
    body = {"spec": {"bogus": 1, "replicas": "1"}}
    assert message_of(patch_web(body, options=STRICT)) == (
        f"{UNDECODABLE}json: cannot unmarshal string into field spec.replicas "
        "of type integer"
    )


def test_unknown_fields_may_be_kept() -> None:
    body = {"spec": {"bogus": {"a": None, "b": 1}}}
    outcome = accepted(patch_web(body, MERGE, Options(prune=False)))
    assert value_at(outcome.object, "spec", "bogus") == {"b": 1}
    assert outcome.warnings == ('unknown field "spec.bogus"',)


def test_unknown_fields_of_the_stored_object_are_kept_and_not_reported() -> None:
    stored = web_with(bogus={"a": 1})
    outcome = accepted(handler.patch(stored, dump(REPLICAS), MERGE, DEPLOYMENT, STRICT))
    assert value_at(outcome.object, "spec", "bogus") == {"a": 1}


def test_patching_an_unknown_field_of_the_stored_object_drops_it() -> None:
    stored = web_with(bogus={"a": 1})
    body = dump({"spec": {"bogus": {"b": 1}}})
    outcome = accepted(handler.patch(stored, body, STRATEGIC, DEPLOYMENT))
    assert outcome.warnings == ('unknown field "spec.bogus"',)
    assert outcome.object["spec"] == WEB["spec"]


# Patches, the path of a value that they set, and what is stored there.
RIGHT_TYPES: Final[tuple[tuple[object, tuple[str | int, ...], object], ...]] = (
    (
        {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 3}}}},
        ("spec", "strategy", "rollingUpdate"),
        {"maxSurge": 3, "maxUnavailable": 1},
    ),
    (
        {"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": "10%"}}}},
        ("spec", "strategy", "rollingUpdate"),
        {"maxSurge": "25%", "maxUnavailable": "10%"},
    ),
    (
        in_container(resources={"limits": {"cpu": 0.5}}),
        ("spec", "template", "spec", "containers", 0, "resources"),
        {"limits": {"cpu": 0.5}},
    ),
    (
        in_container(resources={"limits": {"cpu": 2}}),
        ("spec", "template", "spec", "containers", 0, "resources"),
        {"limits": {"cpu": 2}},
    ),
    (
        in_pod(terminationGracePeriodSeconds=2**63 - 1),
        ("spec", "template", "spec", "terminationGracePeriodSeconds"),
        2**63 - 1,
    ),
    ({"metadata": {"labels": {"a": "b"}}}, ("metadata", "labels"), {"a": "b"}),
)
WRONG_TYPES: Final[tuple[object, ...]] = (
    {"spec": 1},
    {"spec": []},
    {"spec": {"replicas": 1.5}},
    {"spec": {"replicas": 1.0}},
    {"spec": {"replicas": {}}},
    {"spec": {"paused": "true"}},
    {"spec": {"paused": 1}},
    {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0.5}}}},
    {"spec": {"strategy": {"rollingUpdate": {"maxSurge": True}}}},
    in_pod(containers={}),
    in_container(args="x"),
    in_container(args=[1]),
    in_container(args=[None]),
    in_container(resources={"limits": {"cpu": True}}),
    in_pod(terminationGracePeriodSeconds=2**63),
    in_pod(tolerations=["x"]),
    {"metadata": {"labels": {"a": 1}}},
    {"metadata": {"labels": ["a"]}},
    {"metadata": "x"},
    {"metadata": {"name": 1}},
    {"metadata": {"uid": []}},
    {"metadata": {"resourceVersion": 7}},
    {"metadata": {"managedFields": [{"manager": {}}]}},
)


@pytest.mark.parametrize(("body", "path", "stored"), RIGHT_TYPES, ids=json.dumps)
def test_values_of_the_right_types_are_stored(
    body: object, path: tuple[str | int, ...], stored: object
) -> None:
    outcome = accepted(patch_web(body))
    # As JSON, because Python takes 2 and 2.0 for equal.
    assert dump(value_at(outcome.object, *path)) == dump(stored)


@pytest.mark.parametrize("body", WRONG_TYPES, ids=json.dumps)
def test_values_of_wrong_types_are_refused(body: object) -> None:
    # Go: transformDecodeError for a whole object, and NewInvalid for a patched one.
    assert refused(patch_web(body)).code == 422
    assert refused(patch_web(body, MERGE)).code == 422


def test_a_list_where_the_type_is_free_form_is_accepted() -> None:
    api_version = "apiextensions.k8s.io/v1"
    kind = "CustomResourceDefinition"
    field = {
        "type": "array",
        "default": [1],
        "items": {"type": "integer"},
        "example": {"x": 1},
    }
    openapi = {"type": "object", "properties": {"a": field}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": openapi}}
    spec = {"group": "g", "versions": [version]}
    body = dump({"apiVersion": api_version, "kind": kind, "spec": spec})
    schema = kubernetes().schema(api_version, kind)
    outcome = accepted(handler.create(body, schema, STRICT))
    assert outcome.object["spec"] == spec


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
    body = b'{"a":"y","metadata":1}'
    outcome = accepted(handler.patch({"a": "x"}, body, MERGE, schema))
    assert outcome.object == {"a": "y"}


def test_an_unchanged_element_may_be_wrong_whatever_its_keys_are() -> None:
    schema = Schema.inline(
        {
            "fields": {
                "list": {
                    "items": {"fields": {"name": "string", "n": "integer"}},
                    "list_type": "map",
                    "map_keys": ["name"],
                }
            },
            "any": True,
        }
    )
    stored: JSONObject = {"list": [{"name": "a", "n": "wrong"}]}
    body = b'[{"op": "remove", "path": "/list/0/name"}]'
    outcome = handler.patch(stored, body, JSON_PATCH, schema)
    assert isinstance(outcome, handler.Accepted)
    assert outcome.object == {"list": [{"n": "wrong"}]}


def test_elements_of_a_shared_list_are_not_judged_where_two_have_one_key() -> None:
    union: JSONObject = {"fields-to-discriminateBy": {"a": "A", "b": "B"}}
    deduced: JSONObject = {
        "discriminator": "d",
        "fields": [{"fieldName": "c", "discriminatorValue": "C"}],
    }
    names = ("name", "a", "b", "c", "d")
    level: JSONObject = {"type": "string", "enum": ["low", "high"]}
    fields: JSONObject = {**dict.fromkeys(names, "string"), "level": level}
    items: JSONObject = {"fields": fields, "unions": [union, deduced]}
    schema = Schema.inline(
        {
            "fields": {
                "list": {"items": items, "list_type": "map", "map_keys": ["name"]}
            },
            "any": True,
        }
    )
    wrong: JSONObject = {"name": "x", "a": "1", "b": "1", "level": "bogus"}
    stored: JSONObject = {"list": [wrong, {**wrong}]}
    outcome = handler.patch(stored, b'{"x": "y"}', MERGE, schema)
    assert isinstance(outcome, handler.Accepted)
    assert outcome.object == {**stored, "x": "y"}
