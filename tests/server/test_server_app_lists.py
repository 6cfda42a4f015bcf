"""Lists over HTTP: pages, snapshots and tables; discovery, OpenAPI and metrics.

The semantics are those of "Kubernetes API Concepts" in the Kubernetes documentation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from smp import documents
from smp.server.store import Page
from smp.server.store.memory import MemoryStore
from tests.support.server_app import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    Served,
    config_map,
    deployment,
    serving,
)
from tests.support.server_definitions import CRON_TABS

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


@pytest.fixture
def filled(server: Served) -> Served:
    for name in "abcde":
        odd = "true" if name in "ace" else "false"
        server.post(CONFIG_MAPS, config_map(name, {"odd": odd, "name": name}))
    return server


def names(listed: Any) -> str:
    return "".join(item["metadata"]["name"] for item in listed["items"])


def test_a_list_has_its_kind_and_version(filled: Served) -> None:
    listed = filled.get(CONFIG_MAPS)
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "ConfigMapList")
    assert names(listed) == "abcde"
    newest = max(int(item["metadata"]["resourceVersion"]) for item in listed["items"])
    assert listed["metadata"] == {"resourceVersion": str(newest)}


def test_json_ends_with_a_line_break(filled: Served) -> None:
    """Go: json.Encoder.Encode, by which a server writes lists, objects and Statuses."""
    for path in (CONFIG_MAPS, f"{CONFIG_MAPS}/a", f"{CONFIG_MAPS}/missing", "/apis"):
        content = filled.call("GET", path).content
        assert content.endswith(b"}\n"), path
        assert not content.endswith(b"\n\n"), path


def test_pages_are_of_one_snapshot_despite_later_writes(filled: Served) -> None:
    page = filled.get(f"{CONFIG_MAPS}?limit=2")
    version = page["metadata"]["resourceVersion"]
    seen = names(page)
    assert page["metadata"]["remainingItemCount"] == 3
    filled.call("DELETE", f"{CONFIG_MAPS}/d")
    filled.post(CONFIG_MAPS, config_map("cc"))
    while token := page["metadata"].get("continue"):
        page = filled.get(f"{CONFIG_MAPS}?limit=2&continue={token}")
        assert page["metadata"]["resourceVersion"] == version
        seen += names(page)
    assert seen == "abcde"
    exact = f"resourceVersion={version}&resourceVersionMatch=Exact"
    assert names(filled.get(f"{CONFIG_MAPS}?{exact}")) == "abcde"
    assert names(filled.get(CONFIG_MAPS)) == "abccce"


def test_pages_of_a_selection_are_full(filled: Served) -> None:
    path = f"{CONFIG_MAPS}?limit=2&labelSelector=odd%3Dtrue"
    page = filled.get(path)
    assert names(page) == "ac"
    assert "remainingItemCount" not in page["metadata"]
    rest = filled.get(f"{path}&continue={page['metadata']['continue']}")
    assert names(rest) == "e"
    assert "continue" not in rest["metadata"]


class BusyStore(MemoryStore):
    """A store in which the last object is deleted after each page that is read."""

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        page = await super().list(prefix, limit=limit, after=after, revision=revision)
        if page.more:
            last = (await super().list(prefix)).items[-1]
            await self.delete(last.key, last.revision)
        return page


def test_a_long_list_is_of_one_snapshot() -> None:
    with serving(store=BusyStore) as server:
        for number in range(1200):
            name = f"c{number:04}"
            value = json.dumps(config_map(name), separators=(",", ":")).encode()
            server.run(server.store.create(f"core/configmaps/default/{name}", value))
        listed = server.get(CONFIG_MAPS)
    assert [item["metadata"]["name"] for item in listed["items"]] == [
        f"c{number:04}" for number in range(1200)
    ]


def test_a_forgotten_snapshot_has_expired() -> None:
    with serving(store=lambda: MemoryStore(history=2)) as server:
        for name in "abc":
            server.post(CONFIG_MAPS, config_map(name))
        page = server.get(f"{CONFIG_MAPS}?limit=1")
        for name in "xyz":
            server.post(CONFIG_MAPS, config_map(name))
        token = page["metadata"]["continue"]
        answer = server.call("GET", f"{CONFIG_MAPS}?limit=1&continue={token}")
    assert (answer.status_code, answer.json()["reason"]) == (410, "Expired")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("labelSelector=odd%3Dtrue", "ace"),
        ("labelSelector=odd!%3Dtrue", "bd"),
        ("labelSelector=name in (a,b),odd", "ab"),
        ("labelSelector=!odd", ""),
        ("fieldSelector=metadata.name%3Dc", "c"),
        ("fieldSelector=metadata.name!%3Dc", "abde"),
        ("fieldSelector=metadata.namespace%3Dother", ""),
        ("resourceVersion=0", "abcde"),
        ("resourceVersion=1&resourceVersionMatch=NotOlderThan", "abcde"),
    ],
)
def test_a_list_has_the_selected_objects(
    filled: Served, query: str, expected: str
) -> None:
    assert names(filled.get(f"{CONFIG_MAPS}?{query}")) == expected


def test_a_list_of_all_namespaces(filled: Served) -> None:
    filled.post("/api/v1/namespaces/kube-system/configmaps", config_map("z"))
    assert names(filled.get("/api/v1/configmaps")) == "abcdez"
    assert names(filled.get("/api/v1/configmaps?limit=5")) == "abcde"
    only = "fieldSelector=metadata.namespace%3Dkube-system"
    assert names(filled.get(f"/api/v1/configmaps?{only}")) == "z"
    assert names(filled.get(f"/api/v1/configmaps?{only},metadata.name%3Da")) == ""


def test_lists_and_objects_as_tables(server: Served) -> None:
    server.post(DEPLOYMENTS, deployment())
    table = server.call("GET", DEPLOYMENTS, accept=TABLE).json()
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    narrow = [
        column["name"]
        for column in table["columnDefinitions"]
        if column["priority"] == 0
    ]
    assert narrow == ["Name", "Ready", "Up-to-date", "Available", "Age"]
    (row,) = table["rows"]
    assert row["cells"][:4] == ["web", "0/2", 0, 0]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "web"
    path = f"{DEPLOYMENTS}/web?includeObject=Object"
    single = server.call("GET", path, accept=TABLE).json()
    assert single["rows"][0]["object"] == server.get(f"{DEPLOYMENTS}/web")
    path = f"{DEPLOYMENTS}?includeObject=All"
    assert server.call("GET", path, accept=TABLE).status_code == 400


def test_lists_and_objects_as_metadata_only(server: Served) -> None:
    metadata = server.post(DEPLOYMENTS, deployment())["metadata"]
    expected = {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
    }
    accept = f"{METADATA},application/json"
    answer = server.call("GET", f"{DEPLOYMENTS}/web", accept=accept)
    assert answer.json() == expected
    accept = f"{METADATA_LIST},application/json"
    listed = server.call("GET", DEPLOYMENTS, accept=accept).json()
    assert listed["kind"] == "PartialObjectMetadataList"
    assert listed["items"] == [expected]


def test_lists_and_objects_as_yaml(server: Served) -> None:
    created = server.post(DEPLOYMENTS, deployment())
    for accept in ("application/yaml", "text/html, application/yaml;q=0.9, */*;q=0.1"):
        answer = server.call("GET", f"{DEPLOYMENTS}/web", accept=accept)
        assert answer.headers["content-type"] == "application/yaml"
        assert documents.read_one(answer.content).value == created
    listed = server.call("GET", DEPLOYMENTS, accept="application/yaml").content
    assert documents.read(listed)[0].value == created


AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def cached(
    server: Served, path: str, answer: httpx.Response, **headers: str
) -> httpx.Response:
    """Ask again with the ETag of an answer."""
    return server.call("GET", path, if_none_match=answer.headers["etag"], **headers)


def test_discovery_in_both_forms_and_with_an_etag(server: Served) -> None:
    answer = server.call("GET", "/apis", accept=f"{AGGREGATED},application/json")
    assert answer.headers["content-type"] == AGGREGATED
    assert "apps" in [item["metadata"]["name"] for item in answer.json()["items"]]
    unchanged = cached(server, "/apis", answer, accept=AGGREGATED)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRON_TABS)
    changed = cached(server, "/apis", answer, accept=AGGREGATED)
    groups = [item["metadata"]["name"] for item in changed.json()["items"]]
    assert "stable.example.com" in groups
    assert server.get("/apis")["kind"] == "APIGroupList"
    versions = server.get("/api")
    assert (versions["kind"], versions["versions"]) == ("APIVersions", ["v1"])
    assert server.get("/apis/apps")["preferredVersion"]["version"] == "v1"
    resources = server.get("/apis/apps/v1")["resources"]
    assert "deployments/scale" in [resource["name"] for resource in resources]
    assert server.get("/api/v1")["groupVersion"] == "v1"


def test_openapi_documents_are_immutable_under_their_hash(server: Served) -> None:
    index = server.get("/openapi/v3")["paths"]
    url = index["apis/apps/v1"]["serverRelativeURL"]
    answer = server.call("GET", url)
    assert answer.headers["cache-control"] == "public, immutable"
    paths = answer.json()["paths"]
    path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    operation = paths[path]["patch"]
    accepted = operation["requestBody"]["content"]
    assert "application/strategic-merge-patch+json" in accepted
    parameters = [parameter["name"] for parameter in operation["parameters"]]
    assert "fieldValidation" in parameters
    assert cached(server, url, answer).status_code == 304
    without_hash = server.call("GET", url.partition("?")[0])
    assert "immutable" not in without_hash.headers["cache-control"]
    v2 = server.call("GET", "/openapi/v2")
    assert (v2.status_code, v2.content) == (200, b"")
    server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRON_TABS)
    changed = server.get("/openapi/v3")["paths"]
    assert changed.keys() - index.keys() == {"apis/stable.example.com/v1"}
    assert changed["apis/apps/v1"] == index["apis/apps/v1"]


def test_health_version_and_metrics(server: Served) -> None:
    for path in ("/livez", "/readyz", "/healthz"):
        assert server.call("GET", path).text == "ok"
    assert server.get("/version")["gitVersion"].startswith("v1.37")
    server.post(CONFIG_MAPS, config_map("a"))
    server.call("GET", f"{CONFIG_MAPS}/none")
    for path in ("/openapi/v3", "/openapi/v3/api/v1", "/openapi/v3/api", "/nowhere"):
        server.call("GET", path)
    server.call("GET", "/nowhere/openapi/v3/api")
    answer = server.call("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = text_string_to_metric_families(answer.text)
    samples = [sample for family in families for sample in family.samples]
    created = {
        "verb": "POST",
        "group": "",
        "version": "v1",
        "resource": "configmaps",
        "subresource": "",
    }
    read = {**created, "verb": "GET"}
    duration = "apiserver_request_duration_seconds_bucket"
    for name, labels in (
        ("apiserver_request_total", {**created, "code": "201"}),
        ("apiserver_request_total", {**read, "code": "404"}),
        (duration, {**created, "le": "+Inf"}),
    ):
        found = [
            each.value for each in samples if (each.name, each.labels) == (name, labels)
        ]
        assert found == [1], name
    absent = [
        each.value
        for each in samples
        if each.name == "apiserver_request_total"
        and (each.labels["subresource"], each.labels["code"]) == ("openapi/v3/", "404")
    ]
    assert absent == [1]
    # As a kube-apiserver 1.36.3 counts them.
    about_none = {
        each.labels["subresource"]: each.value
        for each in samples
        if each.name == "apiserver_request_total" and each.labels["code"] == "200"
    }
    del about_none[""]
    paths = dict.fromkeys(("/livez", "/readyz", "/healthz", "openapi/v3"), 1)
    assert about_none == {**paths, "openapi/v3/": 1}
    assert "apiserver_current_inflight_requests 0.0" in answer.text.splitlines()
