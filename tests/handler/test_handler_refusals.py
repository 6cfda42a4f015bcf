"""Patches that are refused, in the words of an API server.

The tables name the Go sources of texts and codes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import pytest

from smp import handler
from smp.handler import JSON_PATCH, MERGE, STRATEGIC, Limits, Options
from smp.schema.catalog import kubernetes
from tests.support.handler_objects import (
    DECODING_ERROR,
    MODIFIED,
    accepted,
    causes,
    dump,
    patch_web,
    refused,
)


class StatusError(NamedTuple):
    code: int
    reason: str
    message: str
    body: object
    media_type: str = STRATEGIC


ACCEPTED_TYPES: Final = (
    f"accepted media types include: {JSON_PATCH}, {MERGE}, {STRATEGIC}"
)
MISPLACED: Final = "the namespace of the provided object does not match the namespace sent on the request"
UID: Final = (
    'Operation cannot be fulfilled on deployments.apps "web": '
    "Precondition failed: UID in precondition: ffff, UID in object meta: 0a1b"
)


def renamed(name: object) -> object:
    return {"metadata": {"name": name}}


# Go: k8s.io/apiserver v0.37, endpoints/handlers (patch.go, rest.go, update.go,
# negotiation/errors.go), registry/rest (meta.go), registry/generic/registry/store.go,
# storage/interfaces.go; k8s.io/apimachinery, api/errors.
REFUSALS: Final[dict[str, StatusError]] = {
    "another name": StatusError(
        400,
        "BadRequest",
        "the name of the object (db) does not match the name on the URL (web)",
        renamed("db"),
        MERGE,
    ),
    "no name": StatusError(
        400,
        "BadRequest",
        "the name of the object (web based on URL) was undeterminable: name must be provided",
        renamed(None),
        MERGE,
    ),
    "no metadata": StatusError(
        400,
        "BadRequest",
        "the name of the object (web based on URL) was undeterminable: name must be provided",
        {"metadata": None},
    ),
    "another namespace": StatusError(
        400, "BadRequest", MISPLACED, {"metadata": {"namespace": "db"}}
    ),
    "another version": StatusError(
        400,
        "BadRequest",
        "the API version in the data (apps/v2) does not match the expected API version (apps/v1)",
        {"apiVersion": "apps/v2"},
    ),
    "another kind": StatusError(
        400,
        "BadRequest",
        'Pod in version "v1" cannot be handled as a Deployment',
        {"kind": "Pod"},
    ),
    "another uid": StatusError(409, "Conflict", UID, {"metadata": {"uid": "ffff"}}),
    "an old resource version": StatusError(
        409, "Conflict", MODIFIED, {"metadata": {"resourceVersion": "6"}}
    ),
    "an old resource version in operations": StatusError(
        409,
        "Conflict",
        MODIFIED,
        [{"op": "replace", "path": "/metadata/resourceVersion", "value": "6"}],
        JSON_PATCH,
    ),
    "an unknown media type": StatusError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - {ACCEPTED_TYPES}",
        {},
        "application/json",
    ),
    "no media type": StatusError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - {ACCEPTED_TYPES}",
        {},
        "",
    ),
    "server-side apply": StatusError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in the server-side apply format application/apply-patch+yaml - {ACCEPTED_TYPES}",
        {},
        "application/apply-patch+yaml",
    ),
    "too long": StatusError(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
        b" " * (3 * 1024 * 1024) + b"{}",
    ),
    "too many operations": StatusError(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
        [{"op": "test", "path": "/kind", "value": "Deployment"}] * 10_001,
        JSON_PATCH,
    ),
    "a wrong type": StatusError(
        400,
        "BadRequest",
        f"{DECODING_ERROR}json: cannot unmarshal string into field spec.replicas of type integer",
        {"spec": {"replicas": "5"}},
    ),
    "wrong types": StatusError(
        400,
        "BadRequest",
        f"{DECODING_ERROR}json: cannot unmarshal boolean into field spec.replicas of type integer, "
        "cannot unmarshal string into field spec.template.spec.containers of type array",
        {"spec": {"replicas": True, "template": {"spec": {"containers": "oops"}}}},
    ),
}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_speaks_as_an_api_server(case: StatusError) -> None:
    outcome = refused(patch_web(case.body, case.media_type))
    assert (outcome.code, outcome.status["reason"], outcome.status["message"]) == case[
        :3
    ]


def test_a_conflict_names_the_resource() -> None:
    details = refused(patch_web({"metadata": {"resourceVersion": "6"}})).status[
        "details"
    ]
    assert details == {"name": "web", "group": "apps", "kind": "deployments"}


MALFORMED: Final[dict[str, tuple[str, bytes]]] = {
    "nothing": (MERGE, b""),
    "space": (STRATEGIC, b" \n"),
    "no JSON": (JSON_PATCH, b"spec: {}"),
    "two documents": (MERGE, b"{}{}"),
    "a trailing comma": (MERGE, b'{"spec":{},}'),
    "a byte order mark": (MERGE, b"\xef\xbb\xbf{}"),
    "invalid UTF-8": (MERGE, b'{"a":"\xff"}'),
    "a lone surrogate": (MERGE, b'{"a":"\\ud800"}'),
    "an encoded surrogate": (MERGE, b'{"a":"\xed\xa0\x80"}'),
    "NaN": (MERGE, b'{"spec":{"replicas":NaN}}'),
    "infinity": (MERGE, b'{"spec":{"replicas":1e999}}'),
    "an integer of 5000 digits": (MERGE, b'{"spec":{"replicas":' + b"9" * 5000 + b"}}"),
    "an integer of 20 digits": (MERGE, b'{"spec":{"replicas":' + b"9" * 20 + b"}}"),
    "a list for a strategic patch": (STRATEGIC, b"[]"),
    "a list for a merge patch": (MERGE, b"[]"),
    "a text for a merge patch": (MERGE, b'"x"'),
    "null": (STRATEGIC, b"null"),
    "an object for operations": (JSON_PATCH, b"{}"),
    "an operation that is none": (JSON_PATCH, b"[1]"),
    "an operation without a path": (JSON_PATCH, b'[{"op":"remove"}]'),
    "an unknown operation": (JSON_PATCH, b'[{"op":"spam","path":"/a"}]'),
    "a pointer that is none": (JSON_PATCH, b'[{"op":"remove","path":"a"}]'),
    "a document that is no object": (
        JSON_PATCH,
        b'[{"op":"replace","path":"","value":[]}]',
    ),
    "a directive that is none": (STRATEGIC, b'{"spec":{"$patch":"spam"}}'),
    "a deep document": (MERGE, b'{"a":' * 101 + b"1" + b"}" * 101),
    "a bottomless document": (MERGE, b"[" * 100_000),
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
def test_what_is_malformed_is_a_bad_request(media_type: str, body: bytes) -> None:
    assert refused(patch_web(body, media_type)).status["reason"] == "BadRequest"


def test_a_document_may_be_as_deep_as_the_limit() -> None:
    body = b'{"spec":' + b'{"a":' * 99 + b"1" + b"}" * 100
    assert accepted(patch_web(body, MERGE)).warnings == ('unknown field "spec.a"',)
    assert refused(patch_web(body, MERGE, Options(limits=Limits(depth=99)))).code == 400


def test_a_request_may_be_as_large_as_the_limit() -> None:
    accepted(patch_web({}, MERGE, Options(limits=Limits(body=2))))
    assert refused(patch_web({}, MERGE, Options(limits=Limits(body=1)))).code == 413
    operations = [{"op": "test", "path": "/kind", "value": "Deployment"}]
    accepted(patch_web(operations, JSON_PATCH, Options(limits=Limits(operations=1))))
    assert (
        refused(
            patch_web(operations, JSON_PATCH, Options(limits=Limits(operations=0)))
        ).code
        == 413
    )


def test_beyond_the_stack_there_is_no_limit_to_raise() -> None:
    kind = kubernetes().schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    schema = b'{"not":' * 700 + b"{}" + b"}" * 700
    body = b'{"spec":{"versions":[{"schema":{"openAPIV3Schema":' + schema + b"}}]}}"
    outcome = refused(handler.create(body, kind, Options(limits=Limits(depth=10_000))))
    assert outcome.status["message"] == "the object is nested too deeply"


# A failed operation is Unprocessable there too (applyJSPatch). The causes are ours:
# kubectl prints nothing else.
UNPROCESSABLE: Final[dict[str, tuple[object, str]]] = {
    "a test that fails": (
        [{"op": "test", "path": "/spec/replicas", "value": 2}],
        "spec.replicas",
    ),
    "a member that is not there": (
        [{"op": "remove", "path": "/spec/paused"}],
        "spec.paused",
    ),
    "a copy from nowhere": (
        [{"op": "copy", "from": "/nowhere", "path": "/spec/paused"}],
        "spec.paused",
    ),
    "copies without end": (
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
    assert [cause[1] for cause in causes(patch_web(body, JSON_PATCH))] == [field]
