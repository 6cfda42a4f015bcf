"""The handler, request by request. Texts and codes are those of an API server; the
tables name their Go sources.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace as changed
from typing import Any, Final, NamedTuple

import pytest

from smp import handler
from smp.errors import DocumentError, ObjectError
from smp.handler import JSON_PATCH, MERGE, STRATEGIC, Admission, Limits, Options
from smp.paths import Path
from smp.schema.catalog import Catalog, kubernetes
from smp.schema.sources.openapi import inline
from smp.values import JSONObject
from smp.violations import Violation
from tests.support.handler_objects import (
    DEPLOYMENT,
    WEB,
    accepted,
    causes,
    dump,
    refused,
)

PLAIN: Final = Options()
STRICT: Final = Options(field_validation="Strict")
PREFIX: Final = 'Deployment in version "v1" cannot be handled as a Deployment: '


def patch(
    body: object, media_type: str = STRATEGIC, options: Options = PLAIN
) -> handler.Outcome:
    data = body if isinstance(body, bytes) else dump(body)
    return handler.patch(WEB, data, media_type, DEPLOYMENT, options)


def at(value: Any, *path: str | int) -> Any:
    """Return what is at a path; KeyError where nothing is."""
    for step in path:
        value = value[step]
    return value


# --- what is accepted ---

REPLICAS: Final[JSONObject] = {"spec": {"replicas": 5}}
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
    assert outcome.object == {**WEB, "spec": {**at(WEB, "spec"), "replicas": 5}}
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
    outcome = accepted(patch(body, media_type))
    assert outcome.object is WEB
    assert not outcome.changed


def test_replacing_by_the_manifest_changes_nothing() -> None:
    manifest = {**WEB, "metadata": {"name": "web"}}
    assert accepted(handler.replace(WEB, dump(manifest), DEPLOYMENT)).object is WEB


def test_untouched_parts_are_shared() -> None:
    outcome = accepted(patch(REPLICAS))
    assert at(outcome.object, "spec", "template") is at(WEB, "spec", "template")
    whole = accepted(
        handler.replace(
            WEB, dump({**WEB, "spec": {**at(WEB, "spec"), "replicas": 5}}), DEPLOYMENT
        )
    )
    assert at(whole.object, "spec", "template") is at(WEB, "spec", "template")


def test_a_dry_run_says_so() -> None:
    assert accepted(patch(REPLICAS, options=Options(dry_run=True))).dry_run


def test_managed_fields_can_be_replaced() -> None:
    entries = [{"manager": "mine", "fieldsV1": {"f:metadata": {}}}]
    outcome = accepted(
        patch(
            [{"op": "replace", "path": "/metadata/managedFields", "value": entries}],
            JSON_PATCH,
        )
    )
    assert at(outcome.object, "metadata", "managedFields") == entries


def test_a_cluster_scoped_object_stays_without_a_namespace() -> None:
    node: JSONObject = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    body = dump({"metadata": {"namespace": "shop"}})
    outcome = handler.patch(node, body, MERGE, kubernetes().schema("v1", "Node"))
    assert accepted(outcome).object is node


def test_generate_name_is_a_field_like_others() -> None:
    outcome = accepted(patch({"metadata": {"generateName": "web-"}}, MERGE))
    assert at(outcome.object, "metadata", "generateName") == "web-"


# --- what is refused ---


class StatusError(NamedTuple):
    code: int
    reason: str
    message: str
    body: object
    media_type: str = STRATEGIC


ACCEPTED_TYPES: Final = (
    f"accepted media types include: {JSON_PATCH}, {MERGE}, {STRATEGIC}"
)
MODIFIED: Final = (
    'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; '
    "please apply your changes to the latest version and try again"
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
        f"{PREFIX}json: cannot unmarshal string into field spec.replicas of type integer",
        {"spec": {"replicas": "5"}},
    ),
    "wrong types": StatusError(
        400,
        "BadRequest",
        f"{PREFIX}json: cannot unmarshal boolean into field spec.replicas of type integer, "
        "cannot unmarshal string into field spec.template.spec.containers of type array",
        {"spec": {"replicas": True, "template": {"spec": {"containers": "oops"}}}},
    ),
}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_speaks_as_an_api_server(case: StatusError) -> None:
    outcome = refused(patch(case.body, case.media_type))
    assert (outcome.code, outcome.status["reason"], outcome.status["message"]) == case[
        :3
    ]


def test_a_conflict_names_the_resource() -> None:
    details = refused(patch({"metadata": {"resourceVersion": "6"}})).status["details"]
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
    assert refused(patch(body, media_type)).status["reason"] == "BadRequest"


def test_a_document_may_be_as_deep_as_the_limit() -> None:
    body = b'{"spec":' + b'{"a":' * 99 + b"1" + b"}" * 100
    assert accepted(patch(body, MERGE)).warnings == ('unknown field "spec.a"',)
    assert refused(patch(body, MERGE, Options(limits=Limits(depth=99)))).code == 400


def test_a_request_may_be_as_large_as_the_limit() -> None:
    accepted(patch({}, MERGE, Options(limits=Limits(body=2))))
    assert refused(patch({}, MERGE, Options(limits=Limits(body=1)))).code == 413
    operations = [{"op": "test", "path": "/kind", "value": "Deployment"}]
    accepted(patch(operations, JSON_PATCH, Options(limits=Limits(operations=1))))
    assert (
        refused(
            patch(operations, JSON_PATCH, Options(limits=Limits(operations=0)))
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
    assert [cause[1] for cause in causes(patch(body, JSON_PATCH))] == [field]


# --- field validation ---

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
    outcome = refused(patch(SPOILT, media_type, STRICT))
    assert outcome.code == 400
    assert outcome.status["message"] == f"strict decoding error: {', '.join(FAULTS)}"
    warned = accepted(patch(SPOILT, media_type))
    ignored = accepted(patch(SPOILT, media_type, Options(field_validation="Ignore")))
    assert (warned.warnings, ignored.warnings) == (FAULTS, ())
    assert warned.object == ignored.object
    assert "bogus" not in at(warned.object, "spec")
    assert (
        at(warned.object, "spec", "template", "spec", "containers", 0, "image") == "y"
    )


def test_one_unknown_field() -> None:
    outcome = refused(patch({"spec": {"bogus": 1}}, options=STRICT))
    assert (
        outcome.status["message"] == 'strict decoding error: unknown field "spec.bogus"'
    )


def test_the_members_of_operations_are_validated_too() -> None:
    body = b'[{"op": "test", "path": "/x", "path": "/spec/replicas", "value": 1, "foo": 1}]'
    faults = (
        'json patch duplicate field "[0].path"',
        'json patch unknown field "[0].foo"',
    )
    assert accepted(patch(body, JSON_PATCH)).warnings == faults
    assert (
        refused(patch(body, JSON_PATCH, STRICT)).status["message"]
        == f"strict decoding error: {', '.join(faults)}"
    )


def test_a_whole_object_is_validated_likewise() -> None:
    body = dump({**WEB, "spec": {**at(WEB, "spec"), "bogus": 1}})
    message = f'{PREFIX}strict decoding error: unknown field "spec.bogus"'
    assert (
        refused(handler.replace(WEB, body, DEPLOYMENT, STRICT)).status["message"]
        == message
    )
    assert (
        refused(handler.create(body, DEPLOYMENT, STRICT)).status["message"] == message
    )
    assert accepted(handler.replace(WEB, body, DEPLOYMENT)).object is WEB


def test_a_hundred_faults_are_enough() -> None:
    outcome = accepted(patch({"spec": {f"x{number}": 1 for number in range(200)}}))
    assert len(outcome.warnings) == 100


def test_types_count_more_than_fields() -> None:
    message = refused(
        patch({"spec": {"bogus": 1, "replicas": "1"}}, options=STRICT)
    ).status["message"]
    assert (
        message
        == f"{PREFIX}json: cannot unmarshal string into field spec.replicas of type integer"
    )


def test_unknown_fields_may_be_kept() -> None:
    outcome = accepted(
        patch({"spec": {"bogus": {"a": None, "b": 1}}}, MERGE, Options(prune=False))
    )
    assert at(outcome.object, "spec", "bogus") == {"b": 1}
    assert outcome.warnings == ('unknown field "spec.bogus"',)


def test_what_the_stored_object_has_is_not_judged_again() -> None:
    stored: JSONObject = {**WEB, "spec": {**at(WEB, "spec"), "bogus": {"a": 1}}}
    outcome = accepted(handler.patch(stored, dump(REPLICAS), MERGE, DEPLOYMENT, STRICT))
    assert at(outcome.object, "spec", "bogus") == {"a": 1}


def test_patching_an_unknown_field_of_the_stored_object() -> None:
    stored: JSONObject = {**WEB, "spec": {**at(WEB, "spec"), "bogus": {"a": 1}}}
    outcome = accepted(
        handler.patch(
            stored, dump({"spec": {"bogus": {"b": 1}}}), STRATEGIC, DEPLOYMENT
        )
    )
    assert outcome.warnings == ('unknown field "spec.bogus"',)
    assert outcome.object["spec"] == WEB["spec"]


# --- types ---

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
    assert accepted(patch(body)).changed


@pytest.mark.parametrize("body", WRONG, ids=json.dumps)
def test_wrong_types_are_refused(body: object) -> None:
    assert refused(patch(body)).code == 400
    assert refused(patch(body, MERGE)).code == 400


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
    assert at(accepted(handler.create(body, kind, STRICT)).object, "spec") == spec


def test_nulls_are_dropped_as_a_typed_server_drops_them() -> None:
    body = {
        **WEB,
        "status": None,
        "metadata": {"name": "web", "creationTimestamp": None, "labels": {"a": None}},
    }
    created = accepted(handler.create(dump(body), DEPLOYMENT)).object
    assert created["metadata"] == {"name": "web", "labels": {}}
    assert "status" not in created


# --- custom resources ---

CRON: Final = Catalog.from_crd(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com",
            "names": {"kind": "CronTab", "plural": "crontabs"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "replicas": {"type": "integer"},
                                        "note": {"type": "string", "nullable": True},
                                        "mode": {
                                            "type": "string",
                                            "enum": ["Fast", "Slow"],
                                        },
                                        "bare": {"type": "object"},
                                        "free": {
                                            "type": "object",
                                            "x-kubernetes-preserve-unknown-fields": True,
                                        },
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    }
).schema("example.com/v1", "CronTab")
TAB: Final[JSONObject] = {
    "apiVersion": "example.com/v1",
    "kind": "CronTab",
    "metadata": {"name": "tab"},
    "spec": {"replicas": 1, "mode": "Odd"},
}
CUSTOM: Final = Options(custom=True)


def patch_tab(
    body: object, media_type: str = MERGE, options: Options = CUSTOM
) -> handler.Outcome:
    return handler.patch(TAB, dump(body), media_type, CRON, options)


def test_wrong_types_of_a_custom_resource_are_invalid() -> None:
    # Go: k8s.io/apiextensions-apiserver, apiserver/validation, validation_test.go.
    message = 'Invalid value: "string": spec.replicas in body must be of type integer: "string"'
    outcome = patch_tab({"spec": {"replicas": "1"}})
    assert causes(outcome) == [("FieldValueInvalid", "spec.replicas", message)]
    assert (
        refused(outcome).status["message"]
        == f'CronTab.example.com "tab" is invalid: spec.replicas: {message}'
    )


def test_a_strategic_patch_of_a_custom_resource_is_refused_unless_asked_for() -> None:
    message = str(refused(patch_tab({}, STRATEGIC)).status["message"])
    assert message.endswith(f"accepted media types include: {JSON_PATCH}, {MERGE}")
    assert accepted(
        patch_tab({"spec": {"replicas": 2}}, STRATEGIC, changed(CUSTOM, strategic=True))
    ).changed


def test_a_custom_resource_is_pruned_and_keeps_nulls() -> None:
    body = [
        {"op": "add", "path": "/spec/note", "value": None},
        {"op": "add", "path": "/spec/free", "value": {"a": None, "b": {"c": 1}}},
        {"op": "add", "path": "/spec/bare", "value": {"bogus": 1}},
        {"op": "add", "path": "/spec/bogus", "value": 1},
    ]
    outcome = accepted(patch_tab(body, JSON_PATCH))
    kept = {
        "replicas": 1,
        "mode": "Odd",
        "note": None,
        "free": {"a": None, "b": {"c": 1}},
        "bare": {},
    }
    assert outcome.object["spec"] == kept
    assert outcome.warnings == (
        'unknown field "spec.bare.bogus"',
        'unknown field "spec.bogus"',
    )


def test_an_enum_counts_once_it_is_touched() -> None:
    assert accepted(patch_tab({"spec": {"replicas": 2}})).changed
    message = 'Unsupported value: "Even": supported values: "Fast", "Slow"'
    assert causes(patch_tab({"spec": {"mode": "Even"}})) == [
        ("FieldValueNotSupported", "spec.mode", message)
    ]


def test_a_kind_that_nobody_described() -> None:
    odd: Any = {
        "apiVersion": "odd/v1",
        "kind": "Odd",
        "metadata": {"name": "x"},
        "a": [1, {"b": 2}],
    }
    body = dump({"a": {"b": None, "c": 3}, "metadata": {"labels": {"x": "y"}}})
    outcome = accepted(handler.patch(odd, body, MERGE, None, STRICT))
    assert outcome.object == {
        **odd,
        "a": {"c": 3},
        "metadata": {"name": "x", "labels": {"x": "y"}},
    }
    null = accepted(
        handler.patch(odd, b'[{"op":"add","path":"/b","value":null}]', JSON_PATCH, None)
    )
    assert null.object == {**odd, "b": None}
    assert refused(handler.patch(odd, body, STRATEGIC, None)).code == 415
    wrongs: tuple[object, ...] = (
        {"metadata": []},
        {"metadata": {"labels": {"a": 1}}},
        {"kind": 1},
        {"metadata": {"name": "y"}},
    )
    for wrong in wrongs:
        assert refused(handler.patch(odd, dump(wrong), MERGE, None)).code == 400


# --- unions ---


def test_unions_are_cleared_by_what_was_there() -> None:
    outcome = accepted(patch({"spec": {"strategy": {"type": "Recreate"}}}))
    assert at(outcome.object, "spec", "strategy") == {"type": "Recreate"}
    assert [str(change.path) for change in outcome.changes] == [
        "spec.strategy.rollingUpdate"
    ]


def test_what_a_strategic_patch_asks_for_is_not_cleared() -> None:
    body = {
        "spec": {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 2}}}
    }
    message = "the patch sets this member of a union and asks for another one"
    assert causes(patch(body)) == [
        ("FieldValueInvalid", "spec.strategy.rollingUpdate", message)
    ]


def test_every_violation_is_a_cause() -> None:
    probed = {"name": "app", "livenessProbe": {"periodSeconds": 5}}
    outcome = patch(
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
        patch(
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


# --- hooks ---


def test_hooks_run_in_order_after_the_patch_and_before_unions() -> None:
    seen: list[object] = []

    def default(obj: JSONObject) -> JSONObject:
        seen.append(at(obj, "spec", "replicas"))
        return {**obj, "spec": {**at(obj, "spec"), "strategy": {"type": "Recreate"}}}

    def admit(request: Admission) -> JSONObject:
        seen.append(
            (
                request.operation,
                request.old is WEB,
                at(request.new, "spec", "strategy"),
                request.dry_run,
            )
        )
        strategy = {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}
        return {
            **request.new,
            "spec": {**at(request.new, "spec"), "strategy": strategy},
        }

    outcome = accepted(
        patch(REPLICAS, options=Options(default=default, admit=admit, dry_run=True))
    )
    assert seen == [5, ("UPDATE", True, {"type": "Recreate"}, True)]
    assert at(outcome.object, "spec", "strategy") == {"type": "Recreate"}


def test_a_hook_that_makes_no_difference_leaves_a_no_op_alone() -> None:
    outcome = accepted(
        patch(
            {},
            options=Options(default=copy.deepcopy, admit=lambda request: request.new),
        )
    )
    assert outcome.object is WEB


def test_a_hook_refuses() -> None:
    def deny(_: object) -> JSONObject:
        raise handler.ForbiddenError("not on Fridays")

    outcome = patch(REPLICAS, options=Options(admit=deny))
    assert isinstance(outcome, handler.Refused)
    assert outcome.code == 403
    assert (
        outcome.status["message"]
        == 'deployments.apps "web" is forbidden: not on Fridays'
    )
    assert outcome.status["details"] == {
        "name": "web",
        "group": "apps",
        "kind": "deployments",
    }


def test_a_hook_that_refuses_in_general() -> None:
    def deny(_: object) -> JSONObject:
        raise handler.StatusError("no")

    assert (
        refused(patch(REPLICAS, options=Options(default=deny))).status["message"]
        == "no"
    )


@pytest.mark.parametrize("error", [KeyError("mine"), RecursionError("mine")], ids=repr)
def test_the_error_of_a_hook_is_its_callers(error: Exception) -> None:
    def fail(_: object) -> JSONObject:
        raise error

    for options in (Options(default=fail), Options(admit=fail)):
        with pytest.raises(type(error), match="mine"):
            patch(REPLICAS, options=options)


# --- create and replace ---


def test_creating() -> None:
    seen: list[Admission] = []

    def admit(request: Admission) -> JSONObject:
        seen.append(request)
        return request.new

    body = {"metadata": {"generateName": "web-"}, "spec": {"replicas": 1}}
    outcome = accepted(handler.create(dump(body), DEPLOYMENT, Options(admit=admit)))
    assert outcome.object == {"apiVersion": "apps/v1", "kind": "Deployment", **body}
    assert (outcome.code, outcome.changed) == (201, True)
    assert [(request.operation, request.old) for request in seen] == [("CREATE", None)]


Verb = Callable[[bytes], handler.Outcome]
VERBS: Final[dict[str, Verb]] = {
    "create": lambda body: handler.create(body, DEPLOYMENT),
    "replace": lambda body: handler.replace(WEB, body, DEPLOYMENT),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_whole_object_is_checked_as_a_patched_one(verb: Verb) -> None:
    several: Any = copy.deepcopy(WEB)
    several["spec"]["template"]["spec"]["volumes"] = [
        {"name": "a", "emptyDir": {}, "nfs": {}}
    ]
    assert [cause[1] for cause in causes(verb(dump(several)))] == [
        "spec.template.spec.volumes[0]"
    ]
    for body in (
        b"",
        b"[]",
        b"null",
        dump({**WEB, "kind": "Pod"}),
        dump({**WEB, "spec": "x"}),
    ):
        assert refused(verb(body)).code == 400


def test_replacing_is_locked_by_the_resource_version() -> None:
    new: Any = copy.deepcopy(WEB)
    new["spec"]["replicas"] = 2
    assert accepted(handler.replace(WEB, dump(new), DEPLOYMENT)).changed
    new["metadata"]["resourceVersion"] = "6"
    assert (
        refused(handler.replace(WEB, dump(new), DEPLOYMENT)).status["message"]
        == MODIFIED
    )


def test_a_stored_object_that_is_none_is_the_callers_error() -> None:
    with pytest.raises(DocumentError):
        handler.patch(b"{", b"{}", MERGE, DEPLOYMENT)
    with pytest.raises(ObjectError):
        handler.patch(b"[]", b"{}", MERGE, DEPLOYMENT)


# --- what a query asks for ---


def test_a_query_changes_the_options() -> None:
    asked = handler.requested(
        Options(), "fieldManager=kubectl&fieldValidation=Strict&dryRun=All&pretty"
    )
    assert asked == Options(field_validation="Strict", dry_run=True)
    assert handler.requested(STRICT, "fieldManager=kubectl") is STRICT
    assert handler.requested(STRICT, "fieldValidation=") == Options(
        field_validation="Warn"
    )


def test_a_query_that_asks_for_what_there_is_not() -> None:
    # Go: k8s.io/apimachinery, meta/v1/validation, ValidateDryRun and
    # ValidateFieldValidation.
    with pytest.raises(handler.InvalidError) as caught:
        handler.requested(Options(), "dryRun=Some&fieldValidation=strict")
    outcome = handler.to_status(caught.value, kind="PatchOptions", group="meta.k8s.io")
    values = 'supported values: "", "Ignore", "Strict", "Warn"'
    assert causes(outcome) == [
        (
            "FieldValueNotSupported",
            "dryRun",
            'Unsupported value: ["Some"]: supported values: "All"',
        ),
        (
            "FieldValueNotSupported",
            "fieldValidation",
            f'Unsupported value: "strict": {values}',
        ),
    ]
    assert str(outcome.status["message"]).startswith(
        'PatchOptions.meta.k8s.io "" is invalid: [dryRun: '
    )


# --- the words of refusals ---


def test_a_message_says_everything_once() -> None:
    # Go: k8s.io/apimachinery, util/validation/field, ErrorList.ToAggregate.
    violation = Violation(
        "x", Path(("spec", "a")), "FieldValueRequired", "Required value"
    )
    outcome = handler.to_status([violation, violation], name="web", kind="Pod")
    assert outcome.status["message"] == 'Pod "web" is invalid: spec.a: Required value'
    assert len(causes(outcome)) == 2


def test_a_name_that_is_taken() -> None:
    outcome = handler.to_status(
        handler.AlreadyExistsError("taken"),
        name="web",
        group="apps",
        resource="deployments",
    )
    assert outcome.status["message"] == 'deployments.apps "web" already exists'
    assert (outcome.code, outcome.status["reason"]) == (409, "AlreadyExists")


def test_what_is_not_there() -> None:
    outcome = handler.to_status(
        handler.NotFoundError("gone"), name="web", resource="pods"
    )
    assert outcome.status["message"] == 'pods "web" not found'
    assert outcome.status["details"] == {"name": "web", "kind": "pods"}


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Endpoints", "endpoints"),
        ("Pod", "pods"),
    ],
)
def test_the_plural_is_guessed_as_kubernetes_guesses_it(
    kind: str, resource: str
) -> None:
    stored: JSONObject = {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "x", "uid": "a"},
    }
    body = dump({"metadata": {"uid": "b"}})
    assert f" {resource} " in str(
        refused(handler.patch(stored, body, MERGE, None)).status["message"]
    )
    named = refused(
        handler.patch(stored, body, MERGE, None, Options(resource="things.example.com"))
    )
    assert " things " in str(named.status["message"])


def test_warnings_are_headers() -> None:
    # Go: k8s.io/apimachinery, util/net, NewWarningHeader.
    texts = [
        'unknown field "spec.a"',
        "a\\b",
        'unknown field "spec.a"',
        "line\nbreak",
        "\u00e9",
        "\n",
    ]
    assert [value.decode() for value in handler.warning_headers(texts)] == [
        '299 - "unknown field \\"spec.a\\""',
        '299 - "a\\\\b"',
        '299 - "linebreak"',
        '299 - "\u00e9"',
    ]


def test_too_many_warnings_are_cut() -> None:
    # Go: k8s.io/apiserver, endpoints/filters/warning.go: 4096 characters, or 256 of
    # each.
    values = list(
        handler.warning_headers(f"{number:03}{'x' * 500}" for number in range(100))
    )
    assert len(values) == 16
    assert {len(value) for value in values} == {256 + len('299 - ""')}


# --- optimistic concurrency ---


class Register:
    """A value with a version; others write it a few times, each time just before we
    would.
    """

    def __init__(self, others: int) -> None:
        self.value, self.others, self.reads = 0, others, 0

    def read(self) -> int:
        self.reads += 1
        return self.value

    def write(self, fresh: int, computed: int) -> int | None:
        if self.others:
            self.others -= 1
            self.value += 10
        if fresh != self.value:
            return None
        self.value = computed
        return computed


def test_retrying_computes_from_the_fresh_value() -> None:
    register = Register(others=3)
    assert handler.retry(register.read, lambda fresh: fresh + 1, register.write) == 31
    assert register.reads == 4


def test_retrying_gives_up_with_a_conflict() -> None:
    register = Register(others=9)
    with pytest.raises(handler.ModifiedError) as caught:
        handler.retry(
            register.read, lambda fresh: fresh + 1, register.write, attempts=2
        )
    assert (register.reads, caught.value.status) == (2, 409)


def test_an_inline_schema_need_not_know_metadata() -> None:
    schema = inline({"type": "object", "properties": {"a": {"type": "string"}}})
    assert accepted(
        handler.patch({"a": "x"}, b'{"a":"y","metadata":1}', MERGE, schema)
    ).object == {"a": "y"}
