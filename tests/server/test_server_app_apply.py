"""Server-side apply and managed fields in the server: what no single answer shows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from smp.handler import APPLY
from smp.schema.catalog import kubernetes
from smp.server.settings import Settings
from tests.support.server_app import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    MERGE,
    Served,
    deployment,
    serving,
)

PATH: Final = f"{CONFIG_MAPS}/x"


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def config_map(**data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x"},
        "data": data,
    }


def applied(server: Served, path: str, obj: Any, query: str = "") -> httpx.Response:
    url = f"{path}?fieldManager=a{query}"
    return server.call("PATCH", url, obj, content_type=APPLY)


def test_managers_that_create_one_object_at_once_all_apply(server: Served) -> None:
    async def create(manager: str) -> httpx.Response:
        url = f"{PATH}?fieldManager={manager}"
        body = config_map(**{manager: "1"})
        return await server.acall("PATCH", url, body, content_type=APPLY)

    async def all_at_once() -> list[httpx.Response]:
        return await asyncio.gather(*[create(name) for name in "abcdefgh"])

    answers = server.run(all_at_once())
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [200] * 7 + [201]
    stored = server.get(PATH)
    assert stored["data"] == dict.fromkeys("abcdefgh", "1")
    managers = [entry["manager"] for entry in stored["metadata"]["managedFields"]]
    assert sorted(managers) == [*"abcdefgh"]


def test_an_apply_that_changes_nothing_keeps_version_and_times(server: Served) -> None:
    created = applied(server, PATH, config_map(a="1")).json()
    for query in ("", "&force=true", "&dryRun=All"):
        assert applied(server, PATH, config_map(a="1"), query).json() == created
    assert server.get(PATH) == created


def test_an_apply_needs_the_namespace_of_its_object(server: Served) -> None:
    path = "/api/v1/namespaces/none/configmaps/x"
    answer = applied(server, path, config_map())
    assert answer.status_code == 404
    assert answer.json()["message"] == 'namespaces "none" not found'
    # In a namespace that is being deleted nothing is created.
    body = {"metadata": {"name": "ending"}}
    server.post("/api/v1/namespaces", body)
    in_it = "/api/v1/namespaces/ending/configmaps"
    kept = {**config_map(), "metadata": {"name": "k", "finalizers": ["a.example/b"]}}
    server.post(in_it, kept)
    server.call("DELETE", "/api/v1/namespaces/ending")
    assert applied(server, f"{in_it}/x", config_map()).status_code == 403
    answer = applied(server, f"{in_it}/k", {**config_map(), "metadata": {"name": "k"}})
    assert answer.status_code == 200


def test_a_subresource_creates_nothing(server: Served) -> None:
    obj = {**deployment(), "apiVersion": "apps/v1", "kind": "Deployment"}
    for subresource in ("status", "scale"):
        path = f"{DEPLOYMENTS}/web/{subresource}"
        assert applied(server, path, obj).status_code == 404
    assert server.call("GET", f"{DEPLOYMENTS}/web").status_code == 404


def test_a_write_through_the_status_leaves_the_managers_of_the_rest(
    server: Served,
) -> None:
    obj = {**deployment(), "apiVersion": "apps/v1", "kind": "Deployment"}
    created = applied(server, f"{DEPLOYMENTS}/web", obj).json()
    entry = created["metadata"]["managedFields"][0]
    body = {"status": {"replicas": 1}, "metadata": {"managedFields": [{}]}}
    patched = server.patch(f"{DEPLOYMENTS}/web/status?fieldManager=b", body, MERGE)
    assert entry in patched["metadata"]["managedFields"]
    (other,) = [
        found
        for found in patched["metadata"]["managedFields"]
        if found["manager"] == "b"
    ]
    assert other["subresource"] == "status"
    assert "f:spec" not in other["fieldsV1"]


def test_broken_managed_fields_never_fail_a_write(server: Served) -> None:
    applied(server, PATH, config_map(a="1"))
    broken = [
        {"manager": "m", "operation": "Update", "apiVersion": "v1"},
        {"manager": "m", "fieldsType": "FieldsV1", "fieldsV1": {"x": {}}},
    ]
    for number, entry in enumerate(broken):
        body = {"data": {"n": str(number)}, "metadata": {"managedFields": [entry]}}
        patched = server.patch(f"{PATH}?fieldManager=c", body, MERGE)
        assert patched["data"]["n"] == str(number)
    assert applied(server, PATH, config_map(a="1"), "&force=true").status_code == 200


def test_a_configuration_is_typed_before_anything_changes_it(server: Served) -> None:
    # What kube-apiserver 1.36.3 answers; Go: structuredMergeManager.Apply.
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
    }
    path = "/api/v1/namespaces/default/services/s"
    ports = {"ports": [{"port": 80, "name": "http"}]}
    assert applied(server, path, {**service, "spec": ports}).status_code == 201
    twice = {"ports": [{"port": 80}, {"port": 80}]}
    unknown = ".spec.nope: field not declared in schema"
    for subresource, members, problem in (
        ("", {"spec": []}, ".spec: expected map, got &{[]}"),
        ("", {"status": {"bogus": 1}}, ".status.bogus: field not declared in schema"),
        ("", {"status": "x"}, ".status: expected map, got &{x}"),
        ("/status", {"spec": {"nope": 1}}, unknown),
        ("/status", {"spec": twice}, ': duplicate entries for key [port=80,protocol="'),
    ):
        answer = applied(server, path + subresource, {**service, **members})
        assert answer.status_code == 500, members
        assert problem in answer.json()["message"]


def test_an_apply_owns_nothing_that_is_not_in_its_configuration(server: Served) -> None:
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80, "name": "http"}]},
    }
    path = "/api/v1/namespaces/default/services/s"
    applied(server, path, service)
    labelled = {**service, "metadata": {"name": "s", "labels": {"x": "y"}}}
    del labelled["spec"]
    url = f"{path}?fieldManager=labeler"
    answer = server.call("PATCH", url, labelled, content_type=APPLY).json()
    owned = {
        entry["manager"]: entry["fieldsV1"]
        for entry in answer["metadata"]["managedFields"]
    }
    assert owned["labeler"] == {"f:metadata": {"f:labels": {"f:x": {}}}}
    assert answer["spec"]["clusterIP"]


def test_what_an_update_leaves_out_is_kept_and_owned_by_nobody(server: Served) -> None:
    """kube-apiserver 1.36.3; Go: core/service/storage, patchAllocatedValues."""
    services = "/api/v1/namespaces/default/services"
    headless: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]},
    }
    assert server.call("POST", f"{services}?fieldManager=one", headless).is_success
    spec = {"selector": {"a": "b"}, "ports": [{"port": 80}]}
    changed = {**headless, "spec": spec, "metadata": {"name": "s", "labels": {"x": ""}}}
    url = f"{services}/s?fieldManager=other"
    answer = server.call("PUT", url, changed).json()
    assert answer["spec"]["clusterIP"] == "None"
    assert answer["spec"]["clusterIPs"] == ["None"]
    for entry in answer["metadata"]["managedFields"]:
        assert "f:clusterIP" not in entry["fieldsV1"].get("f:spec", {})


@pytest.mark.parametrize("namespace", ["0", "other"])
def test_an_apply_to_another_namespace_is_refused(
    server: Served, namespace: str
) -> None:
    """Of the texts of metadata only a resourceVersion of 0 is none."""
    path = "/api/v1/namespaces/default/configmaps/c"
    config_map: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
    }
    applied(server, path, config_map)
    elsewhere = {**config_map, "metadata": {"name": "c", "namespace": namespace}}
    answer = applied(server, path, elsewhere)
    assert answer.status_code == 400
    assert answer.json()["message"] == (
        "the namespace of the provided object does not match the namespace sent on the"
        " request"
    )


def test_what_an_old_server_cannot_track_loses_its_managers() -> None:
    # kube-apiserver 1.36.3; kubernetes PR 136949 changed it for 1.37.
    path = "/api/v1/namespaces/default/serviceaccounts/u"
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "u", "labels": {"x": "y"}},
    }
    for version, keeps in (("1.36", False), ("1.37", True)):
        with serving(Settings(catalog=kubernetes(version))) as server:
            applied(server, path, account)
            body: dict[str, Any] = {"secrets": [{}, {}]}
            answer = server.call("PATCH", path, body, content_type=MERGE).json()
            assert ("managedFields" in answer["metadata"]) is keeps, version
