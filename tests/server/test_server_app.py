"""Objects over HTTP: create, get, update, patch and delete.

Expected are the answers of a Kubernetes API server ("Kubernetes API Concepts" and "API
conventions" in the Kubernetes documentation).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.server_app import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Served,
    config_map,
    deployment,
    serving,
)


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def versions(obj: Any) -> tuple[str, int]:
    return obj["metadata"]["resourceVersion"], obj["metadata"]["generation"]


def test_create_answers_what_is_stored(server: Served) -> None:
    answer = server.call("POST", DEPLOYMENTS, deployment())
    created = answer.json()
    assert answer.status_code == 201
    assert list(created) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert re.fullmatch(r"[0-9a-f-]{36}", created["metadata"]["uid"])
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created["metadata"]["creationTimestamp"]
    )
    assert created["metadata"]["namespace"] == "default"
    assert created["metadata"]["generation"] == 1
    assert server.get(f"{DEPLOYMENTS}/web") == created


def test_create_fills_in_the_kind_and_takes_yaml(server: Served) -> None:
    answer = server.call(
        "POST",
        CONFIG_MAPS,
        b"metadata: {name: a}\ndata:\n  k: v\n",
        content_type="application/yaml",
    )
    assert answer.json()["kind"] == "ConfigMap"
    assert server.get(f"{CONFIG_MAPS}/a")["data"] == {"k": "v"}


def test_names_are_generated(server: Served) -> None:
    body = {"metadata": {"generateName": "some-"}}
    names = {server.post(CONFIG_MAPS, body)["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(re.fullmatch(r"some-[a-z0-9]{5}", name) for name in names)


def test_a_new_server_has_the_namespaces_of_every_cluster(server: Served) -> None:
    listed = server.get("/api/v1/namespaces")
    names = [item["metadata"]["name"] for item in listed["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    default = server.get("/api/v1/namespaces/default")
    assert default["metadata"]["labels"] == {"kubernetes.io/metadata.name": "default"}
    assert default["spec"] == {"finalizers": ["kubernetes"]}
    assert default["status"] == {"phase": "Active"}


def test_only_finalize_changes_the_finalizers_of_a_namespace(server: Served) -> None:
    # As kube-apiserver 1.36.3 answers it.
    spec = {"finalizers": ["example.com/a"]}
    named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    created = server.post("/api/v1/namespaces", {**named, "spec": spec})
    assert created["spec"] == {"finalizers": ["example.com/a", "kubernetes"]}
    path = "/api/v1/namespaces/shop"
    changed = server.call("PUT", path, {**named, "spec": spec}).json()
    assert changed["spec"] == created["spec"]
    ended = server.call("PUT", f"{path}/finalize", {**named, "spec": spec}).json()
    assert ended["spec"] == spec


def test_a_job_has_the_labels_of_its_template_where_it_has_none(server: Served) -> None:
    # As kube-apiserver 1.36.3 answers it: the two share one map in Go, and do not where
    # the Job has labels that equal them, or a generated name.
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "app", "image": "app:1"}],
        },
    }
    numbers = []
    for metadata in (
        {"name": "bare"},
        {"name": "equal", "labels": {"a": "b"}},
        {"generateName": "generated-"},
    ):
        job = server.post(
            "/apis/batch/v1/namespaces/default/jobs",
            {"metadata": metadata, "spec": {"template": template}},
        )
        numbers.append(len(job["metadata"]["labels"]))
        assert len(job["spec"]["template"]["metadata"]["labels"]) == 5
    assert numbers == [5, 1, 1]


def test_a_pod_whose_tolerations_come_back_is_not_changed(server: Served) -> None:
    pods = "/api/v1/namespaces/default/pods"
    own = {"tolerations": [{"key": "a", "operator": "Exists"}]}
    container = {"name": "app", "image": "app:1"}
    pod = {"metadata": {"name": "app"}, "spec": {**own, "containers": [container]}}
    assert len(server.post(pods, pod)["spec"]["tolerations"]) == 3
    body = {"metadata": {"labels": {"a": "b"}}, "spec": own}
    changed = server.patch(f"{pods}/app", body)
    assert len(changed["spec"]["tolerations"]) == 3
    assert changed["metadata"]["generation"] == 1


def test_an_update_asks_for_node_ports_of_the_range(server: Served) -> None:
    # As kube-apiserver 1.36.3 answers it.
    services = "/api/v1/namespaces/default/services"
    spec = {"type": "NodePort", "ports": [{"port": 1}]}
    server.post(services, {"metadata": {"name": "app"}, "spec": spec})
    wrong = {"spec": {"ports": [{"port": 1, "nodePort": 80}]}}
    answers = [
        server.call("PATCH", f"{services}/app{query}", body, content_type=MERGE)
        for query, body in (
            ("", wrong),
            ("?dryRun=All", wrong),
            ("", {"spec": {"ipFamilyPolicy": "RequireDualStack"}}),
        )
    ]
    assert [answer.status_code for answer in answers] == [422, 200, 422]


def test_versions_grow_only_with_changes(server: Served) -> None:
    created = server.post(DEPLOYMENTS, deployment())
    path = f"{DEPLOYMENTS}/web"
    labeled = server.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert labeled["metadata"]["generation"] == 1
    scaled = server.patch(path, {"spec": {"replicas": 3}})
    assert scaled["metadata"]["generation"] == 2
    numbers = [
        int(stored["metadata"]["resourceVersion"])
        for stored in (created, labeled, scaled)
    ]
    assert numbers == sorted(set(numbers))
    same = server.patch(path, {"spec": {"replicas": 3}})
    assert versions(same) == versions(scaled)
    assert versions(server.call("PUT", path, same).json()) == versions(scaled)


NEW_IMAGE = {"spec": {"containers": [{"name": "app", "image": "new"}]}}
IMAGE = "/spec/template/spec/containers/0/image"


@pytest.mark.parametrize(
    ("media_type", "patch"),
    [
        (STRATEGIC, {"spec": {"template": NEW_IMAGE}}),
        (MERGE, {"spec": {"template": NEW_IMAGE}}),
        (JSON_PATCH, [{"op": "replace", "path": IMAGE, "value": "new"}]),
        (
            f"{JSON_PATCH}; charset=utf-8",
            [{"op": "add", "path": IMAGE, "value": "new"}],
        ),
    ],
)
def test_a_patch_of_each_media_type_is_stored(
    server: Served, media_type: str, patch: Any
) -> None:
    server.post(DEPLOYMENTS, deployment())
    patched = server.patch(f"{DEPLOYMENTS}/web", patch, media_type)
    (container,) = patched["spec"]["template"]["spec"]["containers"]
    assert (container["name"], container["image"]) == ("app", "new")
    assert server.get(f"{DEPLOYMENTS}/web") == patched


def test_a_dry_run_answers_and_stores_nothing(server: Served) -> None:
    stored = server.post(DEPLOYMENTS, deployment())
    path, query = f"{DEPLOYMENTS}/web", "?dryRun=All"
    created = server.call("POST", f"{DEPLOYMENTS}{query}", deployment(name="other"))
    assert created.status_code == 201
    assert "resourceVersion" not in created.json()["metadata"]
    assert server.call("POST", f"{DEPLOYMENTS}{query}", deployment()).status_code == 409
    patched = server.patch(path + query, {"spec": {"replicas": 9}})
    assert patched["spec"]["replicas"] == 9
    assert versions(patched) == (stored["metadata"]["resourceVersion"], 2)
    updated = server.call("PUT", path + query, deployment("new")).json()
    assert updated["metadata"]["generation"] == 2
    assert server.call("DELETE", path + query).status_code == 200
    assert server.call("DELETE", DEPLOYMENTS + query).status_code == 200
    [item] = server.get(DEPLOYMENTS)["items"]
    assert item == {name: stored[name] for name in ("metadata", "spec", "status")}


def test_a_resource_version_in_the_body_is_a_lock(server: Served) -> None:
    old = server.post(CONFIG_MAPS, config_map("a", k="v"))
    path = f"{CONFIG_MAPS}/a"
    version = {"resourceVersion": old["metadata"]["resourceVersion"]}
    new = server.patch(path, {"data": {"k": "w"}, "metadata": version})
    old_version = {"metadata": {"resourceVersion": "1"}}
    for answer in (
        server.call("PUT", path, old),
        server.call("PATCH", path, old_version, content_type=MERGE),
    ):
        assert answer.status_code == 409
        assert answer.json()["reason"] == "Conflict"
        assert answer.json()["message"].startswith(
            'Operation cannot be fulfilled on configmaps "a": '
        )
    assert server.get(path) == new


def test_subresources_change_their_part_only(server: Served) -> None:
    server.post(DEPLOYMENTS, deployment())
    path = f"{DEPLOYMENTS}/web"
    server.patch(f"{path}/status", {"status": {"replicas": 2}, "spec": {"replicas": 7}})
    server.patch(path, {"status": {"replicas": 9}})
    live = server.get(path)
    assert live["spec"]["replicas"] == 2
    assert live["status"] == {"replicas": 2}
    assert live["metadata"]["generation"] == 1
    scale = server.get(f"{path}/scale")
    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["spec"] == {"replicas": 2}
    assert scale["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]
    to_five = {**scale, "spec": {"replicas": 5}}
    changed = server.call("PUT", f"{path}/scale", to_five).json()
    assert changed["spec"] == {"replicas": 5}
    # The version in this scale is old now.
    to_six = {**scale, "spec": {"replicas": 6}}
    assert server.call("PUT", f"{path}/scale", to_six).status_code == 409
    patched = server.patch(f"{path}/scale", {"spec": {"replicas": 0}})
    # Go: omitempty.
    assert patched["spec"] == {}
    live = server.get(path)
    assert live["spec"]["replicas"] == 0
    assert live["status"] == {"replicas": 2}
    assert live["metadata"]["generation"] == 3


def test_warnings_are_headers(server: Served) -> None:
    answer = server.call("POST", DEPLOYMENTS, deployment(bogus=1))
    assert answer.headers["warning"] == '299 - "unknown field \\"spec.bogus\\""'
    path = f"{DEPLOYMENTS}?fieldValidation=Ignore"
    ignored = server.call("POST", path, deployment(name="b", bogus=1))
    assert ignored.status_code == 201
    assert "warning" not in ignored.headers


def test_delete_checks_preconditions_and_answers_with_a_status(server: Served) -> None:
    uid = server.post(CONFIG_MAPS, config_map("a"))["metadata"]["uid"]
    path = f"{CONFIG_MAPS}/a"
    for wrong in ({"uid": "other"}, {"resourceVersion": "1"}):
        assert server.call("DELETE", path, {"preconditions": wrong}).status_code == 409
    options = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
    status = server.call("DELETE", path, options).json()
    assert status["status"] == "Success"
    assert status["details"] == {"name": "a", "kind": "configmaps", "uid": uid}
    assert server.call("GET", path).status_code == 404
    assert server.call("DELETE", path).status_code == 404


def test_an_object_is_deleted_with_its_last_finalizer(server: Served) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/a"]
    server.post(CONFIG_MAPS, held)
    path = f"{CONFIG_MAPS}/held"
    marked = server.call("DELETE", path).json()
    assert marked["metadata"]["deletionTimestamp"]
    assert server.call("DELETE", path).json() == marked
    other = {"metadata": {"finalizers": ["example.com/b"]}}
    refused = server.call("PATCH", path, other, content_type=MERGE)
    assert refused.json()["details"]["causes"][0]["field"] == "metadata.finalizers"
    last = server.patch(path, {"metadata": {"finalizers": None}})
    version = last["metadata"]["resourceVersion"]
    assert int(version) > int(marked["metadata"]["resourceVersion"])
    assert server.call("GET", path).status_code == 404


def test_delete_of_a_collection_deletes_the_selected_objects(server: Served) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"}), ("c", {"x": "1"})):
        server.post(CONFIG_MAPS, config_map(name, labels))
    deleted = server.call("DELETE", f"{CONFIG_MAPS}?labelSelector=x%3D1").json()
    assert [item["metadata"]["name"] for item in deleted["items"]] == ["a", "c"]
    rest = server.get(CONFIG_MAPS)
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b"]


@pytest.mark.parametrize(
    "path", ["/version", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"]
)
def test_discovery_may_have_a_slash_at_its_end(server: Served, path: str) -> None:
    """kr8s asks for it so, and a kube-apiserver answers 200."""
    assert server.get(f"{path}/") == server.get(path)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/openapi/v2"])
def test_other_paths_may_not(server: Served, path: str) -> None:
    """A kube-apiserver answers 404."""
    assert server.call("GET", f"{path}/").status_code == 404
