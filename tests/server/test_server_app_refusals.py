"""Requests that the server refuses.

Codes, reasons and messages are those of a Kubernetes API server (k8s.io/apimachinery,
pkg/api/errors).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.support.server_app import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    MERGE,
    Served,
    config_map,
    deployment,
    serving,
)


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


EXISTING = f"{CONFIG_MAPS}/a"


class Request(NamedTuple):
    """A request, and a part of the message of the Status that refuses it."""

    method: str
    path: str
    message: str
    body: object = None
    content_type: str = ""
    accept: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


# Requests by the code and the reason of the Status.
REFUSED: dict[tuple[int, str], list[Request]] = {
    (404, "NotFound"): [
        Request("GET", "/nowhere", "the server could not find the requested resource"),
        Request("GET", "/apis/none.example.com/v1/things", "things"),
        Request(
            "GET", "/api/v1/namespaces/default/configmaps/a/status", "could not find"
        ),
        Request("GET", "/api/v1/namespaces/default/nodes", "could not find"),
        Request("GET", "/api/v1/configmaps/a", "could not find"),
        Request("GET", "/apis//v1/configmaps", "could not find"),
        Request("GET", "/apis/apps//deployments", "could not find"),
        Request("GET", f"{CONFIG_MAPS}/none", 'configmaps "none" not found'),
        Request(
            "PUT",
            f"{DEPLOYMENTS}/none",
            'deployments.apps "none" not found',
            body=deployment(name="none"),
        ),
        Request(
            "PATCH",
            f"{DEPLOYMENTS}/none",
            'deployments.apps "none" not found',
            body={},
            content_type=MERGE,
        ),
        Request(
            "POST",
            "/api/v1/namespaces/none/configmaps",
            'namespaces "none" not found',
            body=config_map("b"),
        ),
    ],
    (405, "MethodNotAllowed"): [
        Request("POST", EXISTING, "does not allow this method", body=config_map("a")),
        Request(
            "POST",
            "/api/v1/configmaps",
            "does not allow this method",
            body=config_map("a"),
        ),
        Request("DELETE", "/api/v1/configmaps", "does not allow this method"),
        Request("PUT", CONFIG_MAPS, "does not allow this method", body=config_map("a")),
        Request("OPTIONS", EXISTING, "does not allow this method"),
        Request("POST", "/version", "does not allow this method", body={}),
    ],
    (409, "AlreadyExists"): [
        Request(
            "POST", CONFIG_MAPS, 'configmaps "a" already exists', body=config_map("a")
        )
    ],
    (400, "BadRequest"): [
        Request("POST", CONFIG_MAPS, "not JSON", body=b"{"),
        Request("POST", CONFIG_MAPS, "an object", body=b"[]"),
        Request("POST", CONFIG_MAPS, "not JSON", body=b""),
        Request(
            "POST",
            CONFIG_MAPS,
            "not YAML",
            body=b"a: b: c",
            content_type="application/yaml",
        ),
        Request(
            "POST", CONFIG_MAPS, "Pod", body={"kind": "Pod", "metadata": {"name": "b"}}
        ),
        Request(
            "POST",
            CONFIG_MAPS,
            "namespace",
            body={"metadata": {"name": "b", "namespace": "x"}},
        ),
        Request(
            "POST", CONFIG_MAPS, "data", body={"metadata": {"name": "b"}, "data": 1}
        ),
        Request(
            "PUT",
            EXISTING,
            "does not match the name on the URL",
            body=config_map("other"),
        ),
        Request(
            "DELETE",
            EXISTING,
            "gracePeriodSeconds",
            body={"gracePeriodSeconds": "soon"},
        ),
        Request("GET", f"{CONFIG_MAPS}?limit=many", "limit"),
        Request("GET", f"{CONFIG_MAPS}?resourceVersion=-1", "resourceVersion"),
        Request("GET", f"{CONFIG_MAPS}?continue=x", "continue"),
        Request("GET", f"{CONFIG_MAPS}?labelSelector=a%3D%3D%3Db", "label selector"),
        Request("GET", f"{CONFIG_MAPS}?fieldSelector=a", "field selector"),
        Request("GET", f"{CONFIG_MAPS}?fieldSelector=a%3D1", "metadata.namespace"),
        Request(
            "GET", "/api/v1/pods?fieldSelector=spec.x%3D1", "not supported: spec.x"
        ),
    ],
    (422, "Invalid"): [
        Request(
            "GET", f"{CONFIG_MAPS}?resourceVersionMatch=Exact", "resourceVersionMatch"
        ),
        Request(
            "GET",
            f"{CONFIG_MAPS}?resourceVersion=1&resourceVersionMatch=Never",
            "Never",
        ),
        Request("GET", f"{CONFIG_MAPS}?watch=1&sendInitialEvents=true", "NotOlderThan"),
        Request(
            "POST",
            CONFIG_MAPS,
            "name or generateName is required",
            body={"metadata": {}},
        ),
        Request(
            "POST",
            CONFIG_MAPS,
            'ConfigMap "No" is invalid',
            body={"metadata": {"name": "No"}},
        ),
        Request("DELETE", EXISTING, "Never", body={"propagationPolicy": "Never"}),
        Request(
            "PATCH", f"{EXISTING}?dryRun=Some", "dryRun", body={}, content_type=MERGE
        ),
        Request(
            "PATCH",
            f"{EXISTING}?fieldValidation=No",
            "fieldValidation",
            body={},
            content_type=MERGE,
        ),
    ],
    (415, "UnsupportedMediaType"): [
        Request(
            "PATCH",
            EXISTING,
            "accepted media types",
            body=b"{}",
            content_type="text/plain",
        ),
        Request("PATCH", EXISTING, "accepted media types", body=b"{}"),
        Request(
            "PATCH",
            EXISTING,
            "application/apply-patch+yaml",
            body=b"{}",
            content_type="application/apply-patch+cbor",
        ),
        Request(
            "PATCH",
            EXISTING,
            "application/merge-patch+json",
            body=b"k8s\0",
            content_type="application/vnd.kubernetes.protobuf",
        ),
        Request(
            "POST",
            CONFIG_MAPS,
            "application/yaml, application/vnd.kubernetes.protobuf",
            body=b"x",
            content_type="application/cbor",
        ),
        Request(
            "DELETE",
            EXISTING,
            "application/yaml, application/vnd.kubernetes.protobuf",
            body=b"x",
            content_type="application/cbor",
        ),
    ],
    (403, "Forbidden"): [
        Request(
            "DELETE", "/api/v1/namespaces/default", "this namespace may not be deleted"
        )
    ],
    (406, "NotAcceptable"): [
        Request("GET", EXISTING, "application/json", accept="text/html"),
        Request(
            "GET",
            EXISTING,
            "application/json",
            accept="application/vnd.kubernetes.protobuf",
        ),
    ],
    (504, "Timeout"): [
        Request("GET", f"{path}?resourceVersion=999999", "Too large resource version: ")
        for path in (CONFIG_MAPS, EXISTING)
    ],
}


CASES: list[tuple[Request, int, str]] = []
for (code, reason), requests in REFUSED.items():
    CASES += [(request, code, reason) for request in requests]


@pytest.mark.parametrize(("refused", "code", "reason"), CASES, ids=str)
def test_a_refused_request_is_answered_with_a_status(
    server: Served, refused: Request, code: int, reason: str
) -> None:
    server.post(CONFIG_MAPS, config_map("a"))
    headers = {"content_type": refused.content_type, "accept": refused.accept}
    given = {name: value for name, value in headers.items() if value}
    answer = server.call(refused.method, refused.path, refused.body, **given)
    status = answer.json()
    assert answer.status_code == status["code"] == code
    assert status["reason"] == reason
    assert (status["kind"], status["apiVersion"]) == ("Status", "v1")
    assert status["status"] == "Failure"
    assert refused.message in status["message"]
    if code == 405:
        assert answer.headers["allow"]
    assert server.get(CONFIG_MAPS)["items"][0]["metadata"]["name"] == "a"


def test_an_invalid_object_has_causes(server: Served) -> None:
    bad = config_map("a", {"not valid!": "x"})
    details = server.call("POST", CONFIG_MAPS, bad).json()["details"]
    assert (details["name"], details["kind"]) == ("a", "ConfigMap")
    assert {cause["field"] for cause in details["causes"]} == {"metadata.labels"}
