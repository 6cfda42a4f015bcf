"""Objects over HTTP: create, get, update, patch, delete, and what a server refuses.

Codes, reasons and messages are those of a Kubernetes API server (k8s.io/apimachinery,
pkg/api/errors; "Kubernetes API Concepts" and "API conventions" in the Kubernetes
documentation)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

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
from tests.support.server_definitions import CRON_TABS, with_schema


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def versions(obj: Any) -> tuple[str, int]:
    return obj["metadata"]["resourceVersion"], obj["metadata"]["generation"]


# --- create --------------------------------------------------------------------------------------------------------


def test_create_answers_what_is_stored(server: Served) -> None:
    answer = server.call("POST", DEPLOYMENTS, deployment())
    created = answer.json()
    assert answer.status_code == 201
    assert list(created) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert re.fullmatch(r"[0-9a-f-]{36}", created["metadata"]["uid"])
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created["metadata"]["creationTimestamp"]
    )
    assert (created["metadata"]["namespace"], created["metadata"]["generation"]) == (
        "default",
        1,
    )
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


def test_what_every_cluster_has_is_there(server: Served) -> None:
    names = [
        one["metadata"]["name"] for one in server.get("/api/v1/namespaces")["items"]
    ]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    default = server.get("/api/v1/namespaces/default")
    assert default["metadata"]["labels"] == {"kubernetes.io/metadata.name": "default"}
    assert (default["spec"], default["status"]) == (
        {"finalizers": ["kubernetes"]},
        {"phase": "Active"},
    )


# --- update and patch ----------------------------------------------------------------------------------------------


def test_versions_grow_with_what_changes(server: Served) -> None:
    created = server.post(DEPLOYMENTS, deployment())
    path = f"{DEPLOYMENTS}/web"
    labeled = server.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert labeled["metadata"]["generation"] == 1
    scaled = server.patch(path, {"spec": {"replicas": 3}})
    assert scaled["metadata"]["generation"] == 2
    numbers = [
        int(one["metadata"]["resourceVersion"]) for one in (created, labeled, scaled)
    ]
    assert numbers == sorted(set(numbers))
    same = server.patch(path, {"spec": {"replicas": 3}})
    assert versions(same) == versions(scaled)
    assert versions(server.call("PUT", path, same).json()) == versions(scaled)


@pytest.mark.parametrize(
    ("media_type", "patch"),
    [
        (
            STRATEGIC,
            {
                "spec": {
                    "template": {
                        "spec": {"containers": [{"name": "app", "image": "new"}]}
                    }
                }
            },
        ),
        (
            MERGE,
            {
                "spec": {
                    "template": {
                        "spec": {"containers": [{"name": "app", "image": "new"}]}
                    }
                }
            },
        ),
        (
            JSON_PATCH,
            [
                {
                    "op": "replace",
                    "path": "/spec/template/spec/containers/0/image",
                    "value": "new",
                }
            ],
        ),
        (
            f"{JSON_PATCH}; charset=utf-8",
            [
                {
                    "op": "add",
                    "path": "/spec/template/spec/containers/0/image",
                    "value": "new",
                }
            ],
        ),
    ],
)
def test_patches(server: Served, media_type: str, patch: Any) -> None:
    server.post(DEPLOYMENTS, deployment())
    patched = server.patch(f"{DEPLOYMENTS}/web", patch, media_type)
    assert patched["spec"]["template"]["spec"]["containers"] == [
        {"name": "app", "image": "new"}
    ]
    assert server.get(f"{DEPLOYMENTS}/web") == patched


def test_a_dry_run_answers_and_stores_nothing(server: Served) -> None:
    stored = server.post(DEPLOYMENTS, deployment())
    path, query = f"{DEPLOYMENTS}/web", "?dryRun=All"
    created = server.call("POST", f"{DEPLOYMENTS}{query}", deployment(name="other"))
    assert created.status_code == 201
    assert "resourceVersion" not in created.json()["metadata"]
    assert server.call("POST", f"{DEPLOYMENTS}{query}", deployment()).status_code == 409
    patched = server.patch(path + query, {"spec": {"replicas": 9}})
    assert (patched["spec"]["replicas"], versions(patched)) == (
        9,
        (stored["metadata"]["resourceVersion"], 2),
    )
    assert (
        server.call("PUT", path + query, deployment("new")).json()["metadata"][
            "generation"
        ]
        == 2
    )
    assert server.call("DELETE", path + query).status_code == 200
    assert server.call("DELETE", DEPLOYMENTS + query).status_code == 200
    assert server.get(DEPLOYMENTS)["items"] == [stored]


def test_a_resource_version_in_the_body_is_a_lock(server: Served) -> None:
    old = server.post(CONFIG_MAPS, config_map("a", k="v"))
    path = f"{CONFIG_MAPS}/a"
    new = server.patch(
        path,
        {
            "data": {"k": "w"},
            "metadata": {"resourceVersion": old["metadata"]["resourceVersion"]},
        },
    )
    for answer in (
        server.call("PUT", path, old),
        server.call(
            "PATCH", path, {"metadata": {"resourceVersion": "1"}}, content_type=MERGE
        ),
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
    assert (
        live["spec"]["replicas"],
        live["status"],
        live["metadata"]["generation"],
    ) == (2, {"replicas": 2}, 1)
    scale = server.get(f"{path}/scale")
    assert (scale["apiVersion"], scale["kind"], scale["spec"]) == (
        "autoscaling/v1",
        "Scale",
        {"replicas": 2},
    )
    assert scale["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]
    changed = server.call(
        "PUT", f"{path}/scale", {**scale, "spec": {"replicas": 5}}
    ).json()
    assert changed["spec"] == {"replicas": 5}
    assert (
        server.call(
            "PUT", f"{path}/scale", {**scale, "spec": {"replicas": 6}}
        ).status_code
        == 409
    )
    assert server.patch(f"{path}/scale", {"spec": {"replicas": 0}})["spec"] == {
        "replicas": 0
    }
    live = server.get(path)
    assert (
        live["spec"]["replicas"],
        live["status"],
        live["metadata"]["generation"],
    ) == (0, {"replicas": 2}, 3)


def test_warnings_are_headers(server: Served) -> None:
    answer = server.call("POST", DEPLOYMENTS, deployment(bogus=1))
    assert answer.headers["warning"] == '299 - "unknown field \\"spec.bogus\\""'
    assert (
        server.call(
            "POST",
            f"{DEPLOYMENTS}?fieldValidation=Ignore",
            deployment(name="b", bogus=1),
        ).status_code
        == 201
    )


# --- delete --------------------------------------------------------------------------------------------------------


def test_delete_answers_a_status_and_checks_preconditions(server: Served) -> None:
    uid = server.post(CONFIG_MAPS, config_map("a"))["metadata"]["uid"]
    path = f"{CONFIG_MAPS}/a"
    for wrong in ({"uid": "other"}, {"resourceVersion": "1"}):
        assert server.call("DELETE", path, {"preconditions": wrong}).status_code == 409
    status = server.call(
        "DELETE",
        path,
        {"preconditions": {"uid": uid}, "propagationPolicy": "Background"},
    ).json()
    assert (status["status"], status["details"]) == (
        "Success",
        {"name": "a", "kind": "configmaps", "uid": uid},
    )
    assert server.call("GET", path).status_code == 404
    assert server.call("DELETE", path).status_code == 404


def test_finalizers_keep_an_object_until_they_are_gone(server: Served) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/a"]
    server.post(CONFIG_MAPS, held)
    path = f"{CONFIG_MAPS}/held"
    marked = server.call("DELETE", path).json()
    assert marked["metadata"]["deletionTimestamp"]
    assert server.call("DELETE", path).json() == marked
    more = server.call(
        "PATCH",
        path,
        {"metadata": {"finalizers": ["example.com/b"]}},
        content_type=MERGE,
    )
    assert more.json()["details"]["causes"][0]["field"] == "metadata.finalizers"
    last = server.patch(path, {"metadata": {"finalizers": None}})
    assert int(last["metadata"]["resourceVersion"]) > int(
        marked["metadata"]["resourceVersion"]
    )
    assert server.call("GET", path).status_code == 404


def test_delete_of_a_collection_deletes_what_is_selected(server: Served) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"}), ("c", {"x": "1"})):
        server.post(CONFIG_MAPS, config_map(name, labels))
    deleted = server.call("DELETE", f"{CONFIG_MAPS}?labelSelector=x%3D1").json()
    assert [one["metadata"]["name"] for one in deleted["items"]] == ["a", "c"]
    assert [one["metadata"]["name"] for one in server.get(CONFIG_MAPS)["items"]] == [
        "b"
    ]


def eventually_gone(server: Served, path: str) -> None:
    for _ in range(1000):
        if server.call("GET", path).status_code == 404:
            return
    raise AssertionError(f"{path} is still there")


def test_a_namespace_goes_with_its_contents(server: Served) -> None:
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


# --- custom resources ----------------------------------------------------------------------------------------------

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
def test_what_objects_are_stored_by_cannot_change(server: Served, change: Any) -> None:
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


def test_the_end_of_a_definition_is_that_of_its_objects(server: Served) -> None:
    name = f"{DEFINITIONS}/crontabs.stable.example.com"
    server.post(DEFINITIONS, CRON_TABS)
    server.post(CRON_TAB, cron_tab())
    assert server.call("DELETE", name).json()["metadata"]["deletionTimestamp"]
    eventually_gone(server, name)
    assert server.call("GET", CRON_TAB).status_code == 404
    server.post(DEFINITIONS, CRON_TABS)
    assert server.get(CRON_TAB)["items"] == []


# --- what is refused -----------------------------------------------------------------------------------------------

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
def test_what_is_refused_is_a_status(server: Served, row: Refused) -> None:
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
