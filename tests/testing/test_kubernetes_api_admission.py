"""Webhooks of a test, warnings, and a test that plays the controllers."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from threading import enumerate as enumerate_threads
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from smp.custom_resources import _policy_expressions
from smp.handler.admission import _policies
from smp.testing import (
    KubernetesApi,
    KubernetesApiError,
    KubernetesApiWarning,
    WebhookHandler,
)
from smp.testing._webhooks import ServedWebhook
from tests.support import admission
from tests.support.waiting import wait_until

PATH = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def server() -> Iterator[KubernetesApi]:
    with KubernetesApi() as api:
        yield api


@pytest.fixture
def api(server: KubernetesApi) -> Iterator[KubernetesApi]:
    with server.unchanged():
        yield server


@pytest.fixture
def web(api: KubernetesApi) -> httpx.Client:
    client: httpx.Client = api.client("httpx")
    return client


def _configuration(kind: str, path: str = "/", **fields: Any) -> dict[str, Any]:
    service = {"namespace": "default", "name": "webhook", "path": path}
    rule = {
        "operations": ["CREATE", "UPDATE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
    }
    webhook = {
        "name": "hook.example.com",
        "rules": [rule],
        "clientConfig": {"service": service},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": kind.lower()},
        "webhooks": [webhook],
    }


def _map(name: str = "a", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": data,
    }


def _returning(result: Any) -> WebhookHandler:
    return lambda _: result


# What a function returns, and the status and the data that come of it.
RESULTS = [
    (None, 201, {"mode": "x"}),
    (True, 201, {"mode": "x"}),
    (False, 400, None),
    ("no such mode", 400, None),
    ({"allowed": False, "status": {"code": 403}}, 403, None),
    ([{"op": "add", "path": "/data/mode", "value": "y"}], 201, {"mode": "y"}),
    ([], 201, {"mode": "x"}),
    ({"patch": [{"op": "remove", "path": "/data"}]}, 201, None),
    (7, 500, None),
]


@pytest.mark.parametrize(("result", "code", "data"), RESULTS)
def test_a_function_is_a_webhook(
    api: KubernetesApi, web: httpx.Client, result: Any, code: int, data: Any
) -> None:
    webhook = api.webhook(_returning(result))
    api.apply(_configuration("Mutating"))
    answer = web.post(PATH, json=_map(mode="x"))
    assert (answer.status_code, answer.json().get("data")) == (code, data)
    (request,) = webhook.requests
    assert request["object"]["data"] == {"mode": "x"}


def test_several_webhooks_are_behind_one_service(
    api: KubernetesApi, web: httpx.Client
) -> None:
    outer = api.webhook(_returning(None))
    inner = api.webhook(_returning("inner"), at="default/webhook/inner")
    api.apply(_configuration("Validating", "/inner/x"))
    assert web.post(PATH, json=_map()).status_code == 400
    assert (len(outer.requests), len(inner.requests)) == (0, 1)


def test_a_webhook_may_use_the_server(api: KubernetesApi, web: httpx.Client) -> None:
    def count(request: dict[str, Any]) -> None:
        if request["name"] == "a":
            path = f"{PATH}/counter"
            patch = {"metadata": {"labels": {"seen": request["name"]}}}
            headers = {"content-type": "application/merge-patch+json"}
            assert web.patch(path, json=patch, headers=headers).status_code == 200

    api.webhook(count)
    api.apply([_map("counter"), _configuration("Validating")])
    assert web.post(PATH, json=_map()).status_code == 201
    assert web.get(f"{PATH}/counter").json()["metadata"]["labels"] == {"seen": "a"}


def test_a_webhook_may_write_what_it_is_asked_about(
    api: KubernetesApi, web: httpx.Client
) -> None:
    headers = {"content-type": "application/merge-patch+json"}

    def write(request: dict[str, Any]) -> None:
        if "own" not in (request["object"].get("data") or {}):
            web.patch(f"{PATH}/a", json={"data": {"own": "1"}}, headers=headers)

    api.webhook(write)
    api.apply([_map("a"), _configuration("Validating")])
    patch = {"data": {"other": "2"}}
    assert web.patch(f"{PATH}/a", json=patch, headers=headers).status_code == 200
    assert web.get(f"{PATH}/a").json()["data"] == {"other": "2", "own": "1"}


def test_warnings_and_annotations_are_kept_and_told(api: KubernetesApi) -> None:
    response = {"warnings": ['say "so"'], "auditAnnotations": {"why": "because"}}
    api.webhook(_returning(response))
    with api.alone():
        api.apply(_configuration("Validating"))
        with pytest.warns(KubernetesApiWarning, match='say "so"'):
            api.apply(_map("a"))
    client: httpx.Client = api.client("httpx")
    with pytest.warns(KubernetesApiWarning, match='POST .*: say "so"'), api.alone():
        client.post(PATH, json=_map("b"))
    (request,) = api.requests
    assert request.warnings == ('say "so"',)
    assert request.annotations == {"hook.example.com/why": "because"}


def test_a_service_that_is_not_served_is_an_error(api: KubernetesApi) -> None:
    api.apply(_configuration("Validating", failurePolicy="Fail"))
    api.reset()
    api.apply(_configuration("Validating", failurePolicy="Fail"))
    with pytest.raises(KubernetesApiError, match='service "webhook" not found'):
        api.apply(_map())


def _pod(name: str, *owners: dict[str, Any]) -> dict[str, Any]:
    references = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        for owner in owners
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "ownerReferences": references},
        "spec": {"containers": [{"name": "app", "image": "app"}]},
    }


def test_a_test_sets_a_status(api: KubernetesApi) -> None:
    (pod,) = api.apply(_pod("a"))
    assert api.set_status(pod, {"phase": "Running"})["status"]["phase"] == "Running"


# By propagation policy: what an API server alone answers to a deletion of the owner
# (k8s.io/apiserver, registry/generic/registry/store.go), and what is left of its two
# dependents, of which one has another owner, and of the dependent of a dependent.
POLICIES = [
    ("Background", "Status", ["both"]),
    ("Foreground", "ConfigMap", ["both"]),
    ("Orphan", "ConfigMap", ["both", "child", "grandchild"]),
]


@pytest.mark.parametrize(("policy", "kind", "left"), POLICIES)
def test_a_test_plays_the_garbage_collector(
    api: KubernetesApi, web: httpx.Client, policy: str, kind: str, left: list[str]
) -> None:
    owner, other = api.apply([_map("owner"), _map("other")])
    child, _ = api.apply([_pod("child", owner), _pod("both", owner, other)])
    api.apply(_pod("grandchild", child))
    body = {"propagationPolicy": policy}
    answer = web.request("DELETE", f"{PATH}/owner", json=body).json()
    assert answer["kind"] == kind
    finalizers = {"Foreground": ["foregroundDeletion"], "Orphan": ["orphan"]}
    assert answer["metadata"].get("finalizers") == finalizers.get(policy)

    pods = "/api/v1/namespaces/default/pods"
    assert len(web.get(pods).json()["items"]) == 3
    deleted = api.collect_garbage()
    assert ("configmaps/owner" in deleted) == (policy != "Background")
    items = web.get(pods).json()["items"]
    assert [item["metadata"]["name"] for item in items] == left
    assert web.get(f"{PATH}/owner").status_code == 404
    assert api.collect_garbage() == []


def test_what_is_stored_and_not_evaluated_is_told(
    api: KubernetesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (_policy_expressions, _policies):
        monkeypatch.setattr(module, "is_installed", lambda: False)
    (case,) = [each for each in admission.cases() if each["name"] == "a policy denies"]
    policy, binding = case["objects"]
    with pytest.warns(KubernetesApiWarning, match="expressions are not evaluated"):
        api.apply(
            [policy, {**binding, "spec": {**binding["spec"], "matchResources": {}}}]
        )
    with pytest.warns(KubernetesApiWarning, match="'modes'.*was not evaluated"):
        api.apply(_map(mode="x"))
    condition = {"name": "mode", "expression": "object.data.mode == 'y'"}
    webhook = api.webhook(_returning(None))
    with pytest.warns(KubernetesApiWarning, match="expressions are not evaluated"):
        api.apply(_configuration("Validating", matchConditions=[condition]))
    with pytest.warns(KubernetesApiWarning) as told:
        api.apply(_map("b", mode="x"))
    assert any(str(warning.message).endswith("it is called") for warning in told)
    assert len(webhook.requests) == 1


def test_a_caller_that_is_gone_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    caller = socket.socket()

    def leave(_: Any) -> None:
        # It resets the connection, as a server does whose timeout is over.
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        caller.close()

    webhook = ServedWebhook(leave)
    caller.connect(("127.0.0.1", urlsplit(webhook.url).port))
    body = b'{"apiVersion": "a/v1", "request": {"uid": "u"}}'
    caller.sendall(b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    wait_until(lambda: len(webhook.requests) == 1)
    wait_until(lambda: not any("request" in each.name for each in enumerate_threads()))
    webhook.stop()
    assert capfd.readouterr() == ("", "")
