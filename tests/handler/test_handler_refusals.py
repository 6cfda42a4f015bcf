"""Patches that are refused, in the words of an API server.

The tables name the Go sources of texts and codes.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

import pytest

from smp import handler
from smp._values.values import JSONObject
from smp.handler import APPLY, JSON_PATCH, MERGE, STRATEGIC, Limits, Options
from smp.schema.catalog import kubernetes
from tests.support.handler_objects import (
    MODIFIED,
    UNDECODABLE,
    accepted,
    causes,
    dump,
    patch_web,
    refused,
)


class Refusal(NamedTuple):
    """A patch, and the Status that refuses it."""

    code: int
    reason: str
    message: str
    body: object
    media_type: str = STRATEGIC


def bad_request(message: str, body: object, media_type: str = STRATEGIC) -> Refusal:
    return Refusal(400, "BadRequest", message, body, media_type)


def undecodable(message: str, body: object) -> Refusal:
    return Refusal(422, "Invalid", f"{UNDECODABLE}{message}", body, MERGE)


def conflict(message: str, body: object, media_type: str = STRATEGIC) -> Refusal:
    return Refusal(409, "Conflict", message, body, media_type)


def unsupported(message: str, media_type: str) -> Refusal:
    accepted = f"{JSON_PATCH}, {MERGE}, {STRATEGIC}, {APPLY}"
    message += f" - accepted media types include: {accepted}"
    return Refusal(415, "UnsupportedMediaType", message, {}, media_type)


def too_large(message: str, body: object, media_type: str = STRATEGIC) -> Refusal:
    message = f"Request entity too large: {message}"
    return Refusal(413, "RequestEntityTooLarge", message, body, media_type)


NAMELESS: Final = (
    "the name of the object (web based on URL) was undeterminable: "
    "name must be provided"
)
# Go: k8s.io/apiserver v0.37, endpoints/handlers (patch.go, rest.go, update.go,
# negotiation/errors.go), registry/rest (meta.go), registry/generic/registry/store.go,
# storage/interfaces.go; k8s.io/apimachinery, api/errors.
REFUSALS: Final[dict[str, Refusal]] = {
    "another name": bad_request(
        "the name of the object (db) does not match the name on the URL (web)",
        {"metadata": {"name": "db"}},
        MERGE,
    ),
    "no name": bad_request(NAMELESS, {"metadata": {"name": None}}, MERGE),
    "no metadata": bad_request(NAMELESS, {"metadata": None}),
    "another namespace": bad_request(
        "the namespace of the provided object does not match the namespace sent on "
        "the request",
        {"metadata": {"namespace": "db"}},
    ),
    "another version": undecodable(
        "the API version in the data (apps/v2) does not match the expected API "
        "version (apps/v1)",
        {"apiVersion": "apps/v2"},
    ),
    "no version": bad_request(NAMELESS, {"apiVersion": None}, MERGE),
    "another kind": undecodable(
        'Pod in version "v1" cannot be handled as a Deployment', {"kind": "Pod"}
    ),
    "another uid": Refusal(
        422,
        "Invalid",
        'Deployment.apps "web" is invalid: metadata.uid: Invalid value: "ffff": field'
        " is immutable",
        {"metadata": {"uid": "ffff"}},
    ),
    "an old resource version": conflict(
        MODIFIED, {"metadata": {"resourceVersion": "6"}}
    ),
    "an old resource version in operations": conflict(
        MODIFIED,
        [{"op": "replace", "path": "/metadata/resourceVersion", "value": "6"}],
        JSON_PATCH,
    ),
    "an unknown media type": unsupported(
        "the body of the request was in an unknown format", "application/json"
    ),
    "no media type": unsupported(
        "the body of the request was in an unknown format", ""
    ),
    "an apply in CBOR": unsupported(
        "the body of the request was in an unknown format",
        "application/apply-patch+cbor",
    ),
    "too long": too_large("limit is 3145728", b" " * (3 * 1024 * 1024) + b"{}"),
    "too many operations": too_large(
        "The allowed maximum operations in a JSON patch is 10000, got 10001",
        [{"op": "test", "path": "/kind", "value": "Deployment"}] * 10_001,
        JSON_PATCH,
    ),
    "a wrong type": undecodable(
        "json: cannot unmarshal string into field spec.replicas of type integer",
        {"spec": {"replicas": "5"}},
    ),
    "wrong types": undecodable(
        "json: cannot unmarshal boolean into field spec.replicas of "
        "type integer, cannot unmarshal string into field "
        "spec.template.spec.containers of type array",
        {"spec": {"replicas": True, "template": {"spec": {"containers": "oops"}}}},
    ),
}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_worded_as_an_api_server_words_it(case: Refusal) -> None:
    outcome = refused(patch_web(case.body, case.media_type))
    assert outcome.code == case.code
    assert outcome.status["reason"] == case.reason
    assert outcome.status["message"] == case.message


def test_a_conflict_names_the_resource() -> None:
    outcome = refused(patch_web({"metadata": {"resourceVersion": "6"}}))
    assert outcome.status["details"] == {
        "name": "web",
        "group": "apps",
        "kind": "deployments",
    }


MALFORMED: Final[dict[str, tuple[str, bytes]]] = {
    "an empty body": (MERGE, b""),
    "white space": (STRATEGIC, b" \n"),
    "not JSON": (JSON_PATCH, b"spec: {}"),
    "two documents": (MERGE, b"{}{}"),
    "a trailing comma": (MERGE, b'{"spec":{},}'),
    "a byte order mark": (MERGE, b"\xef\xbb\xbf{}"),
    "invalid UTF-8": (MERGE, b'{"a":"\xff"}'),
    "a lone surrogate": (MERGE, b'{"a":"\\ud800"}'),
    "an encoded surrogate": (MERGE, b'{"a":"\xed\xa0\x80"}'),
    "NaN": (MERGE, b'{"spec":{"replicas":NaN}}'),
    "infinity": (MERGE, b'{"spec":{"replicas":1e999}}'),
    "an integer of 5000 digits": (MERGE, b'{"spec":{"replicas":' + b"9" * 5000 + b"}}"),
    "a list for a strategic patch": (STRATEGIC, b"[]"),
    "a list for a merge patch": (MERGE, b"[]"),
    "a text for a merge patch": (MERGE, b'"x"'),
    "null for a merge patch": (MERGE, b"null"),
    "an object for operations": (JSON_PATCH, b"{}"),
    "an operation that is a number": (JSON_PATCH, b"[1]"),
    "an operation with a path that is a number": (
        JSON_PATCH,
        b'[{"op":"remove","path":1}]',
    ),
    "an unknown directive": (STRATEGIC, b'{"spec":{"$patch":"spam"}}'),
    "a key outside $retainKeys": (
        STRATEGIC,
        b'{"spec":{"strategy":{"$retainKeys":["type"],"rollingUpdate":{}}}}',
    ),
    "a key outside $retainKeys of a new element": (
        STRATEGIC,
        dump(
            {
                "spec": {
                    "template": {
                        "spec": {
                            "volumes": [
                                {"name": "n", "$retainKeys": ["name"], "emptyDir": {}}
                            ]
                        }
                    }
                }
            }
        ),
    ),
    "a document beyond the limit of depth": (MERGE, b'{"a":' * 101 + b"1" + b"}" * 101),
    "a document of 100,000 levels": (MERGE, b"[" * 100_000),
    "operations that nest deeply": (
        JSON_PATCH,
        dump(
            [
                {"op": "add", "path": "/metadata" + "/a" * depth, "value": {}}
                for depth in range(1, 110)
            ]
        ),
    ),
}


@pytest.mark.parametrize(("media_type", "body"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_patch_is_a_bad_request(media_type: str, body: bytes) -> None:
    assert refused(patch_web(body, media_type)).status["reason"] == "BadRequest"


def test_a_document_may_be_as_deep_as_the_limit() -> None:
    body = b'{"spec":' + b'{"a":' * 99 + b"1" + b"}" * 100
    assert accepted(patch_web(body, MERGE)).warnings == ('unknown field "spec.a"',)
    assert refused(patch_web(body, MERGE, Options(limits=Limits(depth=99)))).code == 400


def test_a_request_may_be_as_large_as_the_limit() -> None:
    two_bytes = Options(limits=Limits(body=2))
    assert accepted(patch_web({}, MERGE, two_bytes)).code == 200
    one_byte = Options(limits=Limits(body=1))
    assert refused(patch_web({}, MERGE, one_byte)).code == 413
    operations = [{"op": "test", "path": "/kind", "value": "Deployment"}]
    one_operation = Options(limits=Limits(operations=1))
    assert accepted(patch_web(operations, JSON_PATCH, one_operation)).code == 200
    no_operations = Options(limits=Limits(operations=0))
    assert refused(patch_web(operations, JSON_PATCH, no_operations)).code == 413


def test_an_object_too_deep_for_the_stack_is_refused_with_any_limit() -> None:
    kind = kubernetes().schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    schema = b'{"not":' * 700 + b"{}" + b"}" * 700
    body = b'{"spec":{"versions":[{"schema":{"openAPIV3Schema":' + schema + b"}}]}}"
    outcome = refused(handler.create(body, kind, Options(limits=Limits(depth=10_000))))
    message = "the object is nested too deeply (real objects nest some tens of levels)"
    assert outcome.status["message"] == message


# An API server answers a failed operation with 422, too (Go: applyJSPatch). The causes
# are added here, because kubectl prints nothing else of such a Status.
UNPROCESSABLE: Final[dict[str, tuple[object, str]]] = {
    "a test that fails": (
        [{"op": "test", "path": "/spec/replicas", "value": 2}],
        "spec.replicas",
    ),
    "the removal of an absent member": (
        [{"op": "remove", "path": "/spec/paused"}],
        "spec.paused",
    ),
    "a copy from an absent object": (
        [{"op": "copy", "from": "/nowhere/a", "path": "/spec/paused"}],
        "spec.paused",
    ),
    "an operation without a path": ([{"op": "remove"}], "patch"),
    "an unknown operation": ([{"op": "spam", "path": "/spec"}], "spec"),
    "a pointer without a slash": ([{"op": "remove", "path": "a"}], "patch"),
    "a document that becomes a list": (
        [{"op": "replace", "path": "", "value": []}],
        "patch",
    ),
    "copies that exceed the limit of size": (
        [
            {
                "op": "add",
                "path": "/metadata/annotations",
                "value": {"a": "x" * 1_000_000},
            },
            *(
                {
                    "op": "copy",
                    "from": "/metadata/annotations",
                    "path": "/metadata/labels",
                }
                for _ in range(4)
            ),
        ],
        "metadata.labels",
    ),
}


@pytest.mark.parametrize(("body", "field"), UNPROCESSABLE.values(), ids=UNPROCESSABLE)
def test_an_operation_that_does_not_apply_is_unprocessable(
    body: object, field: str
) -> None:
    ((_, field_of_cause, _),) = causes(patch_web(body, JSON_PATCH))
    assert field_of_cause == field


def test_a_name_that_python_cannot_print_is_refused_with_a_message() -> None:
    digits = 10**5000
    stored: JSONObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    for field in ("name", "uid"):
        metadata: JSONObject = {"name": "a", field: digits}
        other: JSONObject = {"name": "a", field: "b"}
        outcome = handler.replace(
            {**stored, "metadata": metadata},
            json.dumps({**stored, "metadata": other}).encode(),
            kubernetes().schema("v1", "ConfigMap"),
        )
        assert isinstance(outcome, handler.Refused)
        assert "that cannot be printed" in str(outcome.status["message"])
