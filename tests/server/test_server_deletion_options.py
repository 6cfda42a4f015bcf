"""What the options of a deletion leave: grace of Pods, finalizers for dependents.

A kube-apiserver 1.36.3 without controllers was asked for each of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.server_app import Served, serving, until

PODS: Final = "/api/v1/namespaces/default/pods"
JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SPEC: Final[dict[str, Any]] = {"containers": [{"name": "a", "image": "b"}]}


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def test_a_pod_on_a_node_stays_until_its_grace_period_is_zero(server: Served) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {**SPEC, "nodeName": "n"}}
    server.post(PODS, pod)
    found = []
    for grace in (None, 10, 20, -3):
        options = None if grace is None else {"gracePeriodSeconds": grace}
        metadata = server.call("DELETE", f"{PODS}/p", options).json()["metadata"]
        found.append((metadata["deletionGracePeriodSeconds"], metadata["generation"]))
    assert found == [(30, 2), (10, 2), (10, 2), (1, 2)]
    server.call("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    assert server.call("GET", f"{PODS}/p").status_code == 404
    # One that is on no node has nothing to end.
    server.post(PODS, {"metadata": {"name": "p"}, "spec": SPEC})
    server.call("DELETE", f"{PODS}/p")
    assert server.call("GET", f"{PODS}/p").status_code == 404


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [
        ("", ["orphan"]),
        ("Orphan", ["orphan"]),
        ("Foreground", ["foregroundDeletion"]),
        ("Background", None),
    ],
)
def test_a_job_waits_for_a_garbage_collector(
    server: Served, policy: str, finalizers: list[str] | None
) -> None:
    template = {"spec": {**SPEC, "restartPolicy": "Never"}}
    server.post(JOBS, {"metadata": {"name": "j"}, "spec": {"template": template}})
    options = {"propagationPolicy": policy} if policy else None
    answer = server.call("DELETE", f"{JOBS}/j", options)
    assert answer.json().get("metadata", {}).get("finalizers") == finalizers
    warnings = answer.headers.get_list("warning")
    assert ["child pods are preserved by default" in each for each in warnings] == (
        [] if policy else [True]
    )


def test_a_namespace_ends_though_its_pods_are_on_a_node(server: Served) -> None:
    server.post("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    path = "/api/v1/namespaces/shop"
    pod = {"metadata": {"name": "p"}, "spec": {**SPEC, "nodeName": "n"}}
    server.post(f"{path}/pods", pod)
    server.call("DELETE", path)

    async def gone() -> bool:
        return (await server.acall("GET", path)).status_code == 404

    server.run(until(gone))


def test_a_stored_version_stays_defined(server: Served) -> None:
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": schema},
        {"name": "v2", "served": True, "storage": False, "schema": schema},
    ]
    names = {"plural": "ants", "kind": "Ant"}
    spec = {"group": "a.io", "names": names, "scope": "Namespaced"}
    definition = {
        "metadata": {"name": "ants.a.io"},
        "spec": {**spec, "versions": versions},
    }
    server.post(DEFINITIONS, definition)
    left = [{**versions[1], "storage": True}]
    answer = server.call(
        "PATCH",
        f"{DEFINITIONS}/ants.a.io",
        {"spec": {"versions": left}},
        content_type="application/merge-patch+json",
    )
    assert answer.status_code == 422
    [cause] = answer.json()["details"]["causes"]
    assert cause["field"] == "status.storedVersions[0]"
    objects = "/apis/a.io/v1/namespaces/default/ants"
    refused = server.call("POST", objects, {"metadata": {"name": "a"}})
    assert refused.status_code == 400
    assert "Object 'Kind' is missing in" in refused.json()["message"]
    refused = server.call("POST", objects, {"kind": "Ant", "metadata": {"name": "a"}})
    assert refused.json()["message"] == (
        "the API version in the data () does not match the expected API version"
        " (a.io/v1)"
    )
