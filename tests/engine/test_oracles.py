"""The Go reference and the real kubectl answer, and agree where both can be asked."""

from __future__ import annotations

import pytest

from smp._values.values import JSON, JSONObject, same
from tests.support.kubectl import (
    CaptureServer,
    KubectlError,
    capture_apply,
    needs_kubectl,
    patch_local,
    without_last_applied,
)
from tests.support.reference import Reference, as_go_prints, needs_go, reference

DEPLOYMENT = "apps/v1 Deployment"
CLOSED: JSONObject = {
    "type": "object",
    "properties": {
        "tags": {
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-patch-strategy": "merge",
        },
        "child": {"$ref": "#/components/schemas/Root"},
    },
}


@pytest.fixture
def go() -> Reference:
    shared = reference()
    assert shared is not None
    return shared


def deployment(containers: JSON, **spec: JSON) -> JSONObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {**spec, "template": {"spec": {"containers": containers}}},
    }


def pod_patch(spec: JSONObject) -> JSONObject:
    return {"spec": {"template": {"spec": spec}}}


LIVE = deployment(
    [
        {"name": "app", "image": "a:1", "env": [{"name": "A", "value": "1"}]},
        {"name": "proxy", "image": "p:1"},
    ],
    replicas=2,
    strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
)
PATCHES: dict[str, JSONObject] = {
    "an element changes": pod_patch({"containers": [{"name": "app", "image": "a:2"}]}),
    "an element goes": pod_patch(
        {"containers": [{"name": "proxy", "$patch": "delete"}]}
    ),
    "null removes": {"spec": {"replicas": None}},
    "keys are retained": {
        "spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    },
    "elements are ordered": pod_patch(
        {"$setElementOrder/containers": [{"name": "proxy"}, {"name": "app"}]}
    ),
}
# name: last applied (None: nothing recorded), modified
APPLIES: dict[str, tuple[JSONObject | None, JSONObject]] = {
    "change": (
        deployment([{"name": "app", "image": "a:1"}]),
        deployment([{"name": "app", "image": "a:2"}]),
    ),
    "removal": (
        deployment([{"name": "app", "env": [{"name": "A", "value": "1"}]}], replicas=2),
        deployment([{"name": "app", "env": []}]),
    ),
    "nothing recorded": (
        None,
        deployment([{"name": "extra", "image": "e:1"}], strategy={"type": "Recreate"}),
    ),
}


@needs_go
@needs_kubectl
@pytest.mark.parametrize("name", PATCHES)
def test_go_applies_what_kubectl_applies(go: Reference, name: str) -> None:
    ours = go.ask("apply", kind=DEPLOYMENT, original=LIVE, patch=PATCHES[name])
    assert same(ours["result"], patch_local(LIVE, PATCHES[name]))


@needs_go
@needs_kubectl
@pytest.mark.parametrize("name", APPLIES)
def test_go_computes_the_patch_that_kubectl_sends(go: Reference, name: str) -> None:
    last_applied, modified = APPLIES[name]
    request: JSONObject = {
        "original": last_applied,
        "modified": modified,
        "current": LIVE,
        "preconditions": True,
    }
    ours = go.ask("three_way", kind=DEPLOYMENT, **request)
    sent = capture_apply(last_applied, modified, LIVE)
    assert sent is not None
    assert same(ours["result"], without_last_applied(sent))


@needs_kubectl
def test_kubectl_sends_nothing_where_nothing_changed() -> None:
    modified = deployment([{"name": "app", "image": "a:1"}, {"name": "proxy"}])
    assert capture_apply(modified, modified, LIVE) is None


@needs_kubectl
def test_kubectl_maintains_the_last_applied_annotation() -> None:
    sent = capture_apply(None, deployment([{"name": "app", "image": "a:1"}]), LIVE)
    assert sent is not None
    assert "metadata" in sent
    assert "metadata" not in without_last_applied(sent)


@needs_kubectl
def test_kubectl_reports_its_errors() -> None:
    with pytest.raises(KubectlError, match="does not contain declared merge key: name"):
        patch_local(LIVE, pod_patch({"containers": [{"image": "x"}]}))


@needs_kubectl
def test_kubectl_applies_the_other_patch_types() -> None:
    live: JSONObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "data": {"a": "1"},
    }
    merged = patch_local(live, {"data": {"a": None, "b": "2"}}, patch_type="merge")
    replaced = patch_local(
        live,
        [{"op": "replace", "path": "/data", "value": {"b": "2"}}],
        patch_type="json",
    )
    assert same(merged, replaced)


def test_the_server_lists_only_the_kind_of_its_object_in_discovery() -> None:
    with CaptureServer(LIVE) as server:
        assert server.discovery(core=True)["items"] == []
        assert server.discovery(core=False)["items"] != []


@needs_go
def test_go_looks_up_an_openapi_schema(go: Reference) -> None:
    go.define("test", {"Root": CLOSED})
    request: JSONObject = {
        "original": {"child": {"tags": ["a"]}},
        "patch": {"child": {"tags": ["b"]}},
    }
    for root in (
        {"root": "Root"},
        {"schema": {"$ref": "#/components/schemas/Root"}},
        {"schema": CLOSED},
    ):
        assert go.ask(
            "apply", lookup="openapi", definitions_name="test", **root, **request
        ) == {"result": {"child": {"tags": ["b", "a"]}}}


@needs_go
def test_go_composes_and_finds_conflicts(go: Reference) -> None:
    assert go.ask(
        "compose",
        kind=DEPLOYMENT,
        patches=[{"spec": {"replicas": 1}}, {"spec": {"paused": None}}],
    ) == {"result": {"spec": {"replicas": 1, "paused": None}}}
    sides: JSONObject = {
        "left": {"spec": {"replicas": 1}},
        "right": {"spec": {"replicas": 2}},
    }
    assert go.ask("conflicts", kind=DEPLOYMENT, **sides) == {"result": True}


@needs_go
def test_go_refuses_what_the_preconditions_and_overwrite_forbid(go: Reference) -> None:
    renamed: JSONObject = {
        "modified": {"kind": "Other"},
        "current": {"kind": "Deployment"},
    }
    assert "error" in go.ask(
        "three_way", kind=DEPLOYMENT, preconditions=True, **renamed
    )
    drifted: JSONObject = {
        "original": {"spec": {"replicas": 1}},
        "modified": {"spec": {"replicas": 2}},
        "current": {"spec": {"replicas": 3}},
    }
    assert "result" in go.ask("three_way", kind=DEPLOYMENT, **drifted)
    assert "error" in go.ask("three_way", kind=DEPLOYMENT, overwrite=False, **drifted)


@needs_go
def test_go_shows_every_outcome_of_a_random_patch(go: Reference) -> None:
    patch: JSONObject = {"tags": ["c"], "$deleteFromPrimitiveList/tags": ["c"]}
    answer = go.ask(
        "apply",
        lookup="openapi",
        schema=CLOSED,
        original={"tags": ["a"]},
        patch=patch,
        repeat=100,
    )
    assert answer == {
        "results": [{"result": {"tags": ["a"]}}, {"result": {"tags": ["c", "a"]}}]
    }


@needs_go
def test_go_survives_a_panic_of_the_library(go: Reference) -> None:
    sides: JSONObject = {"left": {"tags": [2, 3]}, "right": {"tags": [2, 2]}}
    atomic: JSONObject = {
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "integer"}}},
    }
    assert "panic" in go.ask("conflicts", lookup="openapi", schema=atomic, **sides)
    assert go.ask("conflicts", lookup="openapi", schema=atomic, left={}, right={}) == {
        "result": False
    }


@needs_go
def test_go_times_an_operation(go: Reference) -> None:
    answer = go.ask("two_way", kind=DEPLOYMENT, original=LIVE, modified=LIVE, time=3)
    durations = answer["nanoseconds"]
    assert isinstance(durations, list)
    assert len(durations) == 3
    assert answer["result"] == {}


@needs_go
def test_many_large_requests_come_back_in_order(go: Reference) -> None:
    filling: JSON = "x" * 50_000
    requests: list[JSONObject] = [
        {
            "op": "apply",
            "kind": "v1 ConfigMap",
            "original": {"data": {"x": filling}},
            "patch": {"data": {"n": str(n)}},
        }
        for n in range(200)
    ]
    answers = go.run(requests)
    assert answers == [
        {"result": {"data": {"x": filling, "n": str(n)}}} for n in range(200)
    ]


@needs_go
@pytest.mark.parametrize(
    ("named", "request_"),
    [
        ("unknown op bogus", {"op": "bogus", "kind": "v1 Pod"}),
        ('no kind "Bogus"', {"op": "apply", "kind": "v1 Bogus"}),
        ('unknown field "live"', {"op": "apply", "kind": "v1 Pod", "live": {}}),
    ],
)
def test_a_malformed_request_is_an_error_of_the_test(
    go: Reference, named: str, request_: JSONObject
) -> None:
    with pytest.raises(ValueError, match=named):
        go.run([request_])


@needs_go
def test_values_come_back_as_go_prints_them(go: Reference) -> None:
    values: JSON = [
        1,
        1.0,
        -0.5,
        1e21,
        2**63 - 1,
        2**63,
        10**30,
        True,
        None,
        {"a": 2.0},
    ]
    answer = go.ask("apply", kind="v1 ConfigMap", original={"data": values}, patch={})
    assert same(answer["result"], {"data": as_go_prints(values)})
