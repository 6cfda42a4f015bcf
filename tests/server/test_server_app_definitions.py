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


def eventually_gone(server: Served, path: str) -> None:
    for _ in range(1000):
        if server.call("GET", path).status_code == 404:
            return
    raise AssertionError(f"{path} is still there")


def test_a_namespace_is_deleted_with_its_contents(server: Served) -> None:
    server.post("/api/v1/namespaces", {"metadata": {"name": "away"}})
    server.post("/api/v1/namespaces/away/configmaps", config_map("a"))
    server.post("/apis/apps/v1/namespaces/away/deployments", deployment())
    assert server.call("DELETE", "/api/v1/namespaces/away").json()["status"] == {
        "phase": "Terminating"
    }
    eventually_gone(server, "/api/v1/namespaces/away")
    server.post("/api/v1/namespaces", {"metadata": {"name": "away"}})
    assert server.get("/api/v1/namespaces/away/configmaps")["items"] == []
    assert server.get("/apis/apps/v1/deployments")["items"] == []


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRON_TAB = "/apis/stable.example.com/v1/namespaces/default/crontabs"


def cron_tab(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "c"},
        "spec": {"cronSpec": "* * * * */5", "image": "x", **spec},
    }


def test_a_custom_resource_is_served_as_soon_as_its_definition_is_acknowledged(
    server: Served,
) -> None:
    assert server.call("GET", CRON_TAB).status_code == 404
    definition = server.post(DEFINITIONS, CRON_TABS)
    conditions = {
        one["type"]: one["status"] for one in definition["status"]["conditions"]
    }
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    created = server.post(CRON_TAB, cron_tab())
    assert (created["apiVersion"], created["kind"]) == (
        "stable.example.com/v1",
        "CronTab",
    )
    assert created["spec"]["replicas"] == 1  # the default of its schema
    invalid = server.call(
        "POST", CRON_TAB, {**cron_tab(cronSpec="never"), "metadata": {"name": "d"}}
    ).json()
    assert (invalid["reason"], invalid["details"]["name"]) == ("Invalid", "d")
    assert [cause["field"] for cause in invalid["details"]["causes"]] == [
        "spec.cronSpec"
    ]
    refused = server.call(
        "PATCH", f"{CRON_TAB}/c", {"spec": {}}, content_type=STRATEGIC
    )
    assert (refused.status_code, refused.json()["reason"]) == (
        415,
        "UnsupportedMediaType",
    )
    assert (
        server.patch(f"{CRON_TAB}/c", {"spec": {"replicas": 2}})["metadata"][
            "generation"
        ]
        == 2
    )


def test_versions_of_a_custom_resource_are_the_same_objects(server: Served) -> None:
    definition: Any = with_schema(
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    )
    (one,) = definition["spec"]["versions"]
    definition["spec"]["versions"] = [one, {**one, "name": "v2", "storage": False}]
    server.post(DEFINITIONS, definition)
    created = server.post(
        "/apis/example.com/v2/things", {"metadata": {"name": "t"}, "spec": {"a": 1}}
    )
    assert created["apiVersion"] == "example.com/v2"
    assert server.get("/apis/example.com/v1/things/t") == {
        **created,
        "apiVersion": "example.com/v1",
    }
    stored = server.run(server.store.get("example.com/things/t"))
    assert stored
    assert json.loads(stored.value)["apiVersion"] == "example.com/v1"
    patched = server.patch(
        "/apis/example.com/v1/things/t",
        {"apiVersion": "example.com/v1", "spec": {"b": 2}},
    )
    listed = server.get("/apis/example.com/v2/things")
    assert (listed["apiVersion"], listed["items"]) == (
        "example.com/v2",
        [{**patched, "apiVersion": "example.com/v2"}],
    )
    name = f"{DEFINITIONS}/things.example.com"
    server.patch(
        name,
        [{"op": "replace", "path": "/spec/versions/1/served", "value": False}],
        JSON_PATCH,
    )
    assert server.call("GET", "/apis/example.com/v2/things").status_code == 404
    assert server.get("/apis/example.com/v1/things/t") == patched


@pytest.mark.parametrize(
    "change", [{"scope": "Namespaced"}, {"names": {"kind": "Other"}}]
)
def test_the_scope_and_the_names_of_a_definition_cannot_change(
    server: Served, change: Any
) -> None:
    server.post(DEFINITIONS, with_schema({"type": "object"}))
    answer = server.call(
        "PATCH",
        f"{DEFINITIONS}/things.example.com",
        {"spec": change},
        content_type=MERGE,
    )
    assert answer.status_code == 422
    assert answer.json()["details"]["causes"][0]["message"].endswith(
        "field is immutable"
    )


def test_a_definition_is_deleted_with_its_objects(server: Served) -> None:
    name = f"{DEFINITIONS}/crontabs.stable.example.com"
    server.post(DEFINITIONS, CRON_TABS)
    server.post(CRON_TAB, cron_tab())
    assert server.call("DELETE", name).json()["metadata"]["deletionTimestamp"]
    eventually_gone(server, name)
    assert server.call("GET", CRON_TAB).status_code == 404
    server.post(DEFINITIONS, CRON_TABS)
    assert server.get(CRON_TAB)["items"] == []
