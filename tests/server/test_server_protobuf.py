"""Requests in protobuf, as kubectl and Go clients send them. The answers are JSON.

Expected are the answers of a kube-apiserver 1.36.3 to the same requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.support.protobuf import MAGIC, encoded, enveloped, nested, varint
from tests.support.server_app import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    Served,
    config_map,
    deployment,
    serving,
)
from tests.support.server_definitions import with_schema

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
# What client-go asks for.
ACCEPT: Final = f"{PROTOBUF},application/json"


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def send(server: Served, method: str, path: str, body: bytes) -> httpx.Response:
    return server.call(method, path, body, content_type=PROTOBUF, accept=ACCEPT)


def without_server_fields(obj: Any) -> Any:
    metadata = {
        name: value
        for name, value in obj["metadata"].items()
        if name not in ("uid", "creationTimestamp", "resourceVersion", "managedFields")
    }
    return {**obj, "metadata": metadata}


def test_what_is_stored_is_what_is_stored_of_json(server: Served) -> None:
    created = send(server, "POST", DEPLOYMENTS, encoded(deployment(name="a")))
    assert created.status_code == 201
    assert created.headers["content-type"] == "application/json"
    assert "warning" not in created.headers
    same = deployment(name="a")
    same["metadata"]["name"] = "b"
    in_json = without_server_fields(server.post(DEPLOYMENTS, same))
    in_json["metadata"]["name"] = "a"
    assert without_server_fields(created.json()) == in_json


def test_an_update_replaces_the_object(server: Served) -> None:
    server.post(CONFIG_MAPS, config_map("a", k="v", x="y"))
    path = f"{CONFIG_MAPS}/a"
    updated = send(server, "PUT", path, encoded(config_map("a", k="w")))
    assert updated.status_code == 200
    assert server.get(path)["data"] == {"k": "w"}
    old = config_map("a", k="z")
    old["metadata"]["resourceVersion"] = "1"
    assert send(server, "PUT", path, encoded(old)).status_code == 409


def test_a_scale_is_updated(server: Served) -> None:
    server.post(DEPLOYMENTS, deployment())
    path = f"{DEPLOYMENTS}/web/scale"
    scale = server.get(path)
    scale["spec"]["replicas"] = 7
    body = encoded({**scale, "apiVersion": "autoscaling/v1", "kind": "Scale"})
    answer = send(server, "PUT", path, body)
    assert answer.json()["spec"] == {"replicas": 7}
    assert server.get(f"{DEPLOYMENTS}/web")["spec"]["replicas"] == 7


@pytest.mark.parametrize("api_version", ["v1", "apps/v1", "meta.k8s.io/v1"])
def test_delete_options_are_those_of_any_group(
    server: Served, api_version: str
) -> None:
    server.post(CONFIG_MAPS, config_map("a"))
    path = f"{CONFIG_MAPS}/a"
    other_uid = nested(2, nested(1, b"other"))
    kept = send(
        server, "DELETE", path, enveloped(api_version, "DeleteOptions", other_uid)
    )
    assert kept.status_code == 409
    dry = enveloped(api_version, "DeleteOptions", nested(5, b"All"))
    assert send(server, "DELETE", path, dry).status_code == 200
    assert server.get(path)["metadata"]["name"] == "a"
    policy = nested(4, b"Background") + varint(1 << 3) + b"\x00"
    body = enveloped(api_version, "DeleteOptions", policy)
    assert send(server, "DELETE", path, body).json()["status"] == "Success"
    assert server.call("GET", path).status_code == 404


def test_delete_options_may_be_yaml(server: Served) -> None:
    server.post(CONFIG_MAPS, config_map("a"))
    answer = server.call(
        "DELETE",
        f"{CONFIG_MAPS}/a",
        b"gracePeriodSeconds: 0\n",
        content_type="application/yaml",
    )
    assert answer.status_code == 200


def test_a_collection_is_deleted(server: Served) -> None:
    for name in ("a", "b"):
        server.post(CONFIG_MAPS, config_map(name))
    body = enveloped("v1", "DeleteOptions", b"")
    assert send(server, "DELETE", CONFIG_MAPS, body).status_code == 200
    assert server.get(CONFIG_MAPS)["items"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("POST", CONFIG_MAPS, b"", "must be of type ConfigMap): empty data"),
        ("POST", CONFIG_MAPS, MAGIC, "empty body (6b387300)"),
        ("POST", CONFIG_MAPS, b"{}", "does not appear to be a protobuf message"),
        (
            "POST",
            CONFIG_MAPS,
            enveloped("v1", "ConfigMap", b"\x0a\x05"),
            'in version "v1" cannot be handled as a ConfigMap: unexpected EOF',
        ),
        (
            "POST",
            CONFIG_MAPS,
            enveloped("v1", "Nope", b""),
            'no kind "Nope" is registered for version "v1"',
        ),
        ("POST", CONFIG_MAPS, enveloped("v1", "Secret", b""), "Secret"),
        ("POST", CONFIG_MAPS, enveloped("apps/v1", "Deployment", b""), "apps/v1"),
        ("PUT", f"{CONFIG_MAPS}/a", enveloped("v1", "ConfigMap", b"\x08\x01"), "wrong"),
        (
            "DELETE",
            f"{CONFIG_MAPS}/a",
            enveloped("v1", "DeleteOptions", b"\x0a\x01"),
            "wrong wireType = 2 for field gracePeriodSeconds",
        ),
        (
            "DELETE",
            f"{CONFIG_MAPS}/a",
            enveloped("v1", "ConfigMap", b""),
            'no kind "ConfigMap" is registered for version "v1"',
        ),
    ],
)
def test_what_is_no_object_is_refused(
    server: Served, method: str, path: str, body: bytes, message: str
) -> None:
    server.post(CONFIG_MAPS, config_map("a"))
    answer = send(server, method, path, body)
    assert answer.status_code == 400
    assert answer.json()["reason"] == "BadRequest"
    assert message in answer.json()["message"]


def test_a_message_that_is_too_long_is_refused(server: Served) -> None:
    containers = nested(2, b"") * 1_000_000
    body = enveloped("v1", "Pod", nested(2, containers))
    path = "/api/v1/namespaces/default/pods"
    answer = send(server, "POST", path, body)
    assert answer.status_code == 413
    assert answer.json()["reason"] == "RequestEntityTooLarge"


def test_strict_validation_finds_nothing_in_a_message(server: Served) -> None:
    unknown = nested(1, nested(1, b"a")) + nested(77, b"x")
    body = enveloped("v1", "ConfigMap", unknown)
    answer = send(server, "POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body)
    assert answer.status_code == 201


def test_custom_resources_have_no_form_in_protobuf(server: Served) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    server.post(definitions, with_schema({"type": "object"}))
    answer = send(server, "POST", "/apis/example.com/v1/things", MAGIC)
    assert answer.status_code == 415
    assert answer.json()["message"].endswith("application/json, application/yaml")


def test_a_client_that_accepts_only_protobuf_is_refused(server: Served) -> None:
    server.post(CONFIG_MAPS, config_map("a"))
    path = f"{CONFIG_MAPS}/a"
    assert server.call("GET", path, accept=PROTOBUF).status_code == 406
    assert server.call("GET", path, accept=ACCEPT).status_code == 200
