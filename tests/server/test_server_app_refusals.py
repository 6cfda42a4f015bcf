"""Requests that the server refuses.

Codes, reasons and messages are those of a Kubernetes API server (k8s.io/apimachinery,
pkg/api/errors).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

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


NAMED = f"{CONFIG_MAPS}/a"
Refused: TypeAlias = tuple[str, str, Any, dict[str, str], int, str, str]
REFUSED: list[Refused] = [
    # method, path, body, headers, code, reason, a part of the message
    (
        "GET",
        "/nowhere",
        None,
        {},
        404,
        "NotFound",
        "the server could not find the requested resource",
    ),
    ("GET", "/apis/none.example.com/v1/things", None, {}, 404, "NotFound", "things"),
    (
        "GET",
        "/api/v1/namespaces/default/configmaps/a/status",
        None,
        {},
        404,
        "NotFound",
        "could not find",
    ),
    (
        "GET",
        "/api/v1/namespaces/default/nodes",
        None,
        {},
        404,
        "NotFound",
        "could not find",
    ),
    ("GET", "/api/v1/configmaps/a", None, {}, 404, "NotFound", "could not find"),
    (
        "GET",
        f"{CONFIG_MAPS}/none",
        None,
        {},
        404,
        "NotFound",
        'configmaps "none" not found',
    ),
    (
        "PUT",
        f"{DEPLOYMENTS}/none",
        deployment(name="none"),
        {},
        404,
        "NotFound",
        'deployments.apps "none" not found',
    ),
    (
        "PATCH",
        f"{DEPLOYMENTS}/none",
        {},
        {"content_type": MERGE},
        404,
        "NotFound",
        'deployments.apps "none" not found',
    ),
    (
        "POST",
        "/api/v1/namespaces/none/configmaps",
        config_map("b"),
        {},
        404,
        "NotFound",
        'namespaces "none" not found',
    ),
    (
        "POST",
        NAMED,
        config_map("a"),
        {},
        405,
        "MethodNotAllowed",
        "does not allow this method",
    ),
    (
        "POST",
        "/api/v1/configmaps",
        config_map("a"),
        {},
        405,
        "MethodNotAllowed",
        "does not allow this method",
    ),
    (
        "PUT",
        CONFIG_MAPS,
        config_map("a"),
        {},
        405,
        "MethodNotAllowed",
        "does not allow this method",
    ),
    ("OPTIONS", NAMED, None, {}, 405, "MethodNotAllowed", "does not allow this method"),
    ("POST", "/version", {}, {}, 405, "MethodNotAllowed", "does not allow this method"),
    (
        "POST",
        CONFIG_MAPS,
        config_map("a"),
        {},
        409,
        "AlreadyExists",
        'configmaps "a" already exists',
    ),
    ("POST", CONFIG_MAPS, b"{", {}, 400, "BadRequest", ""),
    ("POST", CONFIG_MAPS, b"[]", {}, 400, "BadRequest", ""),
    ("POST", CONFIG_MAPS, b"", {}, 400, "BadRequest", ""),
    (
        "POST",
        CONFIG_MAPS,
        b"a: b: c",
        {"content_type": "application/yaml"},
        400,
        "BadRequest",
        "",
    ),
    (
        "POST",
        CONFIG_MAPS,
        {"kind": "Pod", "metadata": {"name": "b"}},
        {},
        400,
        "BadRequest",
        "Pod",
    ),
    (
        "POST",
        CONFIG_MAPS,
        {"metadata": {"name": "b", "namespace": "x"}},
        {},
        400,
        "BadRequest",
        "namespace",
    ),
    (
        "POST",
        CONFIG_MAPS,
        {"metadata": {"name": "b"}, "data": 1},
        {},
        400,
        "BadRequest",
        "data",
    ),
    (
        "POST",
        CONFIG_MAPS,
        {"metadata": {}},
        {},
        422,
        "Invalid",
        "name or generateName is required",
    ),
    (
        "POST",
        CONFIG_MAPS,
        {"metadata": {"name": "No"}},
        {},
        422,
        "Invalid",
        'ConfigMap "No" is invalid',
    ),
    (
        "PUT",
        NAMED,
        config_map("other"),
        {},
        400,
        "BadRequest",
        "does not match the name on the URL",
    ),
    (
        "PATCH",
        NAMED,
        b"{}",
        {"content_type": "text/plain"},
        415,
        "UnsupportedMediaType",
        "accepted media types",
    ),
    ("PATCH", NAMED, b"{}", {}, 415, "UnsupportedMediaType", "accepted media types"),
    (
        "PATCH",
        NAMED,
        b"{}",
        {"content_type": "application/apply-patch+yaml"},
        415,
        "UnsupportedMediaType",
        "server-side",
    ),
    (
        "POST",
        CONFIG_MAPS,
        b"x",
        {"content_type": "application/vnd.kubernetes.protobuf"},
        415,
        "UnsupportedMediaType",
        "",
    ),
    (
        "DELETE",
        NAMED,
        b"x",
        {"content_type": "application/cbor"},
        415,
        "UnsupportedMediaType",
        "",
    ),
    ("DELETE", NAMED, {"propagationPolicy": "Never"}, {}, 422, "Invalid", "Never"),
    ("DELETE", NAMED, {"gracePeriodSeconds": "soon"}, {}, 400, "BadRequest", ""),
    (
        "DELETE",
        "/api/v1/namespaces/default",
        None,
        {},
        403,
        "Forbidden",
        "this namespace may not be deleted",
    ),
    (
        "GET",
        NAMED,
        None,
        {"accept": "text/html"},
        406,
        "NotAcceptable",
        "application/json",
    ),
    (
        "GET",
        NAMED,
        None,
        {"accept": "application/vnd.kubernetes.protobuf"},
        406,
        "NotAcceptable",
        "application/json",
    ),
    (
        "PATCH",
        f"{NAMED}?dryRun=Some",
        {},
        {"content_type": MERGE},
        422,
        "Invalid",
        "dryRun",
    ),
    (
        "PATCH",
        f"{NAMED}?fieldValidation=No",
        {},
        {"content_type": MERGE},
        422,
        "Invalid",
        "fieldValidation",
    ),
    ("GET", f"{CONFIG_MAPS}?limit=many", None, {}, 400, "BadRequest", "limit"),
    (
        "GET",
        f"{CONFIG_MAPS}?resourceVersion=-1",
        None,
        {},
        400,
        "BadRequest",
        "resourceVersion",
    ),
    ("GET", f"{CONFIG_MAPS}?continue=x", None, {}, 400, "BadRequest", "continue"),
    (
        "GET",
        f"{CONFIG_MAPS}?labelSelector=a%3D%3D%3Db",
        None,
        {},
        400,
        "BadRequest",
        "label selector",
    ),
    (
        "GET",
        f"{CONFIG_MAPS}?fieldSelector=a",
        None,
        {},
        400,
        "BadRequest",
        "field selector",
    ),
    (
        "GET",
        f"{CONFIG_MAPS}?resourceVersionMatch=Exact",
        None,
        {},
        400,
        "BadRequest",
        "resourceVersionMatch",
    ),
    (
        "GET",
        f"{CONFIG_MAPS}?resourceVersion=1&resourceVersionMatch=Never",
        None,
        {},
        400,
        "BadRequest",
        "Never",
    ),
    (
        "GET",
        f"{CONFIG_MAPS}?watch=1&sendInitialEvents=true",
        None,
        {},
        400,
        "BadRequest",
        "NotOlderThan",
    ),
    (
        "GET",
        f"{CONFIG_MAPS}?resourceVersion=999999",
        None,
        {},
        410,
        "Expired",
        "future",
    ),
]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row[0]} {row[1]} {row[4]}")
def test_a_refused_request_is_answered_with_a_status(
    server: Served, row: Refused
) -> None:
    method, path, body, headers, code, reason, message = row
    server.post(CONFIG_MAPS, config_map("a"))
    answer = server.call(method, path, body, **headers)
    status = answer.json()
    assert (answer.status_code, status["code"], status["reason"]) == (
        code,
        code,
        reason,
    ), status
    assert (status["kind"], status["apiVersion"], status["status"]) == (
        "Status",
        "v1",
        "Failure",
    )
    assert message in status["message"]
    assert code != 405 or answer.headers["allow"]
    assert server.get(CONFIG_MAPS)["items"][0]["metadata"]["name"] == "a"


def test_an_invalid_object_has_causes(server: Served) -> None:
    bad = config_map("a", {"not valid!": "x"})
    details = server.call("POST", CONFIG_MAPS, bad).json()["details"]
    assert (details["name"], details["kind"]) == ("a", "ConfigMap")
    assert {cause["field"] for cause in details["causes"]} == {"metadata.labels"}
