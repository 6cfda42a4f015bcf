"""Namespaces and CustomResourceDefinitions over HTTP, and the objects in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.server_app import (
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Served,
    config_map,
    deployment,
    serving,
)
from tests.support.server_definitions import CRON_TABS, with_schema


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def wait_until_deleted(server: Served, path: str) -> None:
    for _ in range(1000):
        if server.call("GET", path).status_code == 404:
            return
    pytest.fail(f"{path} is not deleted")


def test_a_namespace_is_deleted_with_its_contents(server: Served) -> None:
    server.post("/api/v1/namespaces", {"metadata": {"name": "away"}})
    server.post("/api/v1/namespaces/away/configmaps", config_map("a"))
    server.post("/apis/apps/v1/namespaces/away/deployments", deployment())
    marked = server.call("DELETE", "/api/v1/namespaces/away").json()
    assert marked["status"] == {"phase": "Terminating"}
    wait_until_deleted(server, "/api/v1/namespaces/away")
    server.post("/api/v1/namespaces", {"metadata": {"name": "away"}})
    assert server.get("/api/v1/namespaces/away/configmaps")["items"] == []
    assert server.get("/apis/apps/v1/deployments")["items"] == []


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRON_TAB = "/apis/stable.example.com/v1/namespaces/default/crontabs"


def cron_tab(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": "c"},
        "spec": {"cronSpec": "* * * * */5", "image": "x", **spec},
    }


def test_a_custom_resource_is_served_as_soon_as_its_definition_is_acknowledged(
    server: Served,
) -> None:
    assert server.call("GET", CRON_TAB).status_code == 404
    definition = server.post(DEFINITIONS, CRON_TABS)
    conditions = {
        condition["type"]: condition["status"]
        for condition in definition["status"]["conditions"]
    }
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    created = server.post(CRON_TAB, cron_tab())
    assert created["apiVersion"] == "stable.example.com/v1"
    assert created["kind"] == "CronTab"
    assert created["spec"]["replicas"] == 1  # the default of its schema
    body = {**cron_tab(cronSpec="never"), "metadata": {"name": "d"}}
    invalid = server.call("POST", CRON_TAB, body).json()
    assert (invalid["reason"], invalid["details"]["name"]) == ("Invalid", "d")
    (cause,) = invalid["details"]["causes"]
    assert cause["field"] == "spec.cronSpec"
    path = f"{CRON_TAB}/c"
    refused = server.call("PATCH", path, {"spec": {}}, content_type=STRATEGIC)
    assert refused.status_code == 415
    assert refused.json()["reason"] == "UnsupportedMediaType"
    patched = server.patch(path, {"spec": {"replicas": 2}})
    assert patched["metadata"]["generation"] == 2


def test_versions_of_a_custom_resource_are_the_same_objects(server: Served) -> None:
    definition: Any = with_schema(
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    )
    (first,) = definition["spec"]["versions"]
    second = {**first, "name": "v2", "storage": False}
    definition["spec"]["versions"] = [first, second]
    server.post(DEFINITIONS, definition)
    identity = {"apiVersion": "example.com/v2", "kind": "Thing"}
    body = {**identity, "metadata": {"name": "t"}, "spec": {"a": 1}}
    created = server.post("/apis/example.com/v2/things", body)
    assert created["apiVersion"] == "example.com/v2"
    same = server.get("/apis/example.com/v1/things/t")
    assert same == {**created, "apiVersion": "example.com/v1"}
    stored = server.run(server.store.get("example.com/things/t"))
    assert stored
    assert json.loads(stored.value)["apiVersion"] == "example.com/v1"
    patched = server.patch(
        "/apis/example.com/v1/things/t",
        {"apiVersion": "example.com/v1", "spec": {"b": 2}},
    )
    listed = server.get("/apis/example.com/v2/things")
    assert listed["apiVersion"] == "example.com/v2"
    assert listed["items"] == [{**patched, "apiVersion": "example.com/v2"}]
    operation = {"op": "replace", "path": "/spec/versions/1/served", "value": False}
    server.patch(f"{DEFINITIONS}/things.example.com", [operation], JSON_PATCH)
    assert server.call("GET", "/apis/example.com/v2/things").status_code == 404
    assert server.get("/apis/example.com/v1/things/t") == patched


@pytest.mark.parametrize(
    "change", [{"scope": "Namespaced"}, {"names": {"kind": "Other"}}]
)
def test_the_scope_and_the_names_of_a_definition_cannot_change(
    server: Served, change: Any
) -> None:
    server.post(DEFINITIONS, with_schema({"type": "object"}))
    path = f"{DEFINITIONS}/things.example.com"
    answer = server.call("PATCH", path, {"spec": change}, content_type=MERGE)
    assert answer.status_code == 422
    cause = answer.json()["details"]["causes"][0]
    assert cause["message"].endswith("field is immutable")


def test_a_definition_is_deleted_with_its_objects(server: Served) -> None:
    name = f"{DEFINITIONS}/crontabs.stable.example.com"
    server.post(DEFINITIONS, CRON_TABS)
    server.post(CRON_TAB, cron_tab())
    assert server.call("DELETE", name).json()["metadata"]["deletionTimestamp"]
    wait_until_deleted(server, name)
    assert server.call("GET", CRON_TAB).status_code == 404
    server.post(DEFINITIONS, CRON_TABS)
    assert server.get(CRON_TAB)["items"] == []
