"""Subresources of Pods, and reviews of identity, access and tokens.

The answers are those of a kube-apiserver 1.36.3 (tests/data/kubectl has what kubectl
prints of them).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.server_app import Served, serving

PODS = "/api/v1/namespaces/default/pods"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def create_pod(server: Served, **spec: Any) -> str:
    pod = {
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "a", "image": "a"}], **spec},
    }
    created = server.call("POST", PODS, pod)
    assert created.status_code == 201, created.text
    return f"{PODS}/web"


def run_pod(server: Served, path: str) -> None:
    pod = server.call("GET", path).json()
    pod["status"] = {"phase": "Running"}
    assert server.call("PUT", f"{path}/status", pod).status_code == 200


def eviction(name: str = "web") -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": "default"},
    }


def binding(node: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web"},
        "target": {"kind": "Node", "name": node},
    }


def test_an_eviction_deletes_the_pod(server: Served) -> None:
    path = create_pod(server)
    assert server.call("POST", f"{path}/eviction", eviction()).status_code == 201
    assert server.call("GET", path).status_code == 404


def test_an_eviction_of_another_name_is_refused(server: Served) -> None:
    path = create_pod(server)
    refused = server.call("POST", f"{path}/eviction", eviction("other"))
    assert refused.status_code == 400
    assert refused.json()["message"] == (
        "name in URL does not match name in Eviction object"
    )


def test_a_budget_forbids_the_eviction_of_a_running_pod(server: Served) -> None:
    path = create_pod(server)
    run_pod(server, path)
    budget = {
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    assert server.call("POST", BUDGETS, budget).status_code == 201
    refused = server.call("POST", f"{path}/eviction", eviction())
    assert refused.status_code == 429
    assert refused.json()["message"] == (
        "Cannot evict pod as it would violate the pod's disruption budget."
    )
    assert server.call("GET", path).status_code == 200


@pytest.mark.parametrize(
    "path", [f"{PODS}/web/binding", "/api/v1/namespaces/default/bindings"]
)
def test_a_binding_assigns_a_pod_once(server: Served, path: str) -> None:
    pod = create_pod(server)
    assert server.call("POST", path, binding("one")).status_code == 201
    assert server.call("GET", pod).json()["spec"]["nodeName"] == "one"
    refused = server.call("POST", path, binding("two"))
    assert refused.status_code == 409
    assert 'pod web is already assigned to node "one"' in refused.json()["message"]


def test_a_pod_without_a_node_has_no_logs_yet(server: Served) -> None:
    path = create_pod(server)
    logs = server.call("GET", f"{path}/log")
    assert (logs.status_code, logs.text) == (204, "")
    for query, code, problem in (
        ("container=other", 400, "container other is not valid for pod web"),
        ("tailLines=-1", 422, "tailLines: Invalid value: -1: must be greater than or"),
        ("limitBytes=0", 422, 'PodLogOptions \\"web\\" is invalid: limitBytes:'),
    ):
        wrong = server.call("GET", f"{path}/log?{query}")
        assert (wrong.status_code, problem in wrong.text) == (code, True), query
    refused = server.call("POST", f"{path}/exec?command=ls")
    assert refused.status_code == 400
    assert "does not have a host assigned" in refused.json()["message"]


def test_a_pod_on_a_node_has_no_kubelet(server: Served) -> None:
    path = create_pod(server, nodeName="one")
    for code in (404, 500):
        assert server.call("GET", f"{path}/log").status_code == code
        assert server.call("POST", f"{path}/attach").status_code == code
        # From now on the node is registered.
        server.call("POST", "/api/v1/nodes", {"metadata": {"name": "one"}})


def test_nothing_runs_behind_a_service(server: Served) -> None:
    service = "/api/v1/namespaces/default/services"
    for name, code in (("kubernetes", 503), ("none", 404)):
        for rest in ("proxy", "proxy/healthz/a"):
            answer = server.call("GET", f"{service}/{name}/{rest}")
            assert answer.status_code == code, (name, rest)


def test_every_client_is_an_administrator(server: Served) -> None:
    review = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    answer = server.call("POST", f"{AUTHENTICATION}/selfsubjectreviews", review)
    assert answer.status_code == 201
    user = answer.json()["status"]["userInfo"]
    assert (user["username"], "system:masters" in user["groups"]) == ("admin", True)


@pytest.mark.parametrize(
    ("kind", "path", "spec"),
    [
        (
            "SelfSubjectAccessReview",
            "selfsubjectaccessreviews",
            {"resourceAttributes": {"verb": "delete", "resource": "pods"}},
        ),
        (
            "SubjectAccessReview",
            "subjectaccessreviews",
            {"user": "a", "nonResourceAttributes": {"verb": "get", "path": "/"}},
        ),
    ],
)
def test_everything_may_be_done(
    server: Served, kind: str, path: str, spec: dict[str, Any]
) -> None:
    review = {"kind": kind, "apiVersion": "authorization.k8s.io/v1", "spec": spec}
    answer = server.call("POST", f"{AUTHORIZATION}/{path}", review)
    assert answer.status_code == 201, answer.text
    assert answer.json()["status"]["allowed"] is True


def test_the_rules_allow_everything(server: Served) -> None:
    review = {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": {"namespace": "default"},
    }
    answer = server.call("POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", review)
    rules = answer.json()["status"]["resourceRules"]
    assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in rules


def test_an_unknown_token_is_not_authenticated(server: Served) -> None:
    review = {
        "kind": "TokenReview",
        "apiVersion": "authentication.k8s.io/v1",
        "spec": {"token": "x"},
    }
    answer = server.call("POST", f"{AUTHENTICATION}/tokenreviews", review)
    assert not answer.json()["status"].get("authenticated")


def test_a_service_account_gets_a_token_for_ten_minutes_or_more(server: Served) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    server.call("POST", accounts, {"metadata": {"name": "robot"}})
    request = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
    path = f"{accounts}/robot/token"
    answer = server.call("POST", path, {**request, "spec": {"expirationSeconds": 600}})
    assert answer.status_code == 201, answer.text
    assert answer.json()["status"]["token"]
    refused = server.call("POST", path, {**request, "spec": {"expirationSeconds": 599}})
    assert refused.status_code == 422


def test_the_store_is_a_component(server: Served) -> None:
    listed = server.call("GET", "/api/v1/componentstatuses").json()["items"]
    assert [item["metadata"]["name"] for item in listed] == ["etcd-0"]
    one = server.call("GET", "/api/v1/componentstatuses/etcd-0").json()
    assert one["conditions"][0]["status"] == "True"
    missing = server.call("GET", "/api/v1/componentstatuses/scheduler")
    assert missing.status_code == 404


def test_a_binding_names_its_pod_and_a_node(server: Served) -> None:
    """A kube-apiserver 1.36.3 answers so."""
    pod = {"name": "a", "namespace": "default"}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pods = "/api/v1/namespaces/default/pods"
    server.post(
        pods, {"apiVersion": "v1", "kind": "Pod", "metadata": pod, "spec": spec}
    )
    node = {"kind": "Node", "name": "n"}
    for name, target, code in (
        ("b", node, 400),
        ("a", {**node, "kind": "Pod"}, 500),
        ("a", {"name": ""}, 500),
        ("a", node, 201),
    ):
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
        path = f"{pods}/a/binding"
        answer = server.call("POST", path, {**binding, "target": target})
        assert answer.status_code == code
