"""What a request sends and unions clear is told, and a contradiction is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

import smp
from smp.server.settings import Settings
from tests.support.server_app import (
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Served,
    serving,
)

STATEFUL_SETS: Final = "/apis/apps/v1/namespaces/default/statefulsets"
CRON_JOBS: Final = "/apis/batch/v1/namespaces/default/cronjobs"
LABELS: Final = {"app": "web"}
POD: Final = {"containers": [{"name": "web", "image": "web:1"}]}
SENT: Final = {"type": "OnDelete", "rollingUpdate": {"partition": 7}}
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": POD}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": LABELS}, "template": template, **spec},
    }


ROLLING: Final = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxUnavailable": 1, "partition": 3},
}
STATEFUL_SET: Final = workload("StatefulSet", serviceName="web", updateStrategy=ROLLING)


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(Settings()) as running:
        yield running


def send(served: Served, media_type: str, strategy: Any) -> Any:
    """Ask for a strategy by a patch of a type, or by a PUT."""
    path, body = f"{STATEFUL_SETS}/web", {"spec": {"updateStrategy": strategy}}
    if media_type == "PUT":
        live = served.get(path)
        live["spec"]["updateStrategy"] = strategy
        return served.call("PUT", path, live)
    if media_type == JSON_PATCH:
        operation = {"op": "replace", "path": "/spec/updateStrategy", "value": strategy}
        return served.call("PATCH", path, [operation], content_type=media_type)
    return served.call("PATCH", path, body, content_type=media_type)


WAYS: Final = (STRATEGIC, MERGE, JSON_PATCH, "PUT")


@pytest.mark.parametrize("media_type", WAYS)
def test_what_is_sent_and_cleared_is_told(served: Served, media_type: str) -> None:
    """A server that does not normalize unions refuses these (Forbidden)."""
    served.post(STATEFUL_SETS, STATEFUL_SET)
    answer = send(served, media_type, SENT)
    assert answer.json()["spec"]["updateStrategy"] == {"type": "OnDelete"}
    (warning,) = answer.headers.get_list("Warning")
    assert "spec.updateStrategy.rollingUpdate" in warning
    assert "sets this field; cleared" in warning


@pytest.mark.parametrize("media_type", WAYS)
def test_it_is_refused_on_request(media_type: str) -> None:
    with serving(Settings(on_conflict="error")) as served:
        served.post(STATEFUL_SETS, STATEFUL_SET)
        answer = send(served, media_type, SENT)
        assert answer.status_code == 422
        (cause,) = answer.json()["details"]["causes"]
        assert cause["field"] == "spec.updateStrategy.rollingUpdate"
        stored = served.get(f"{STATEFUL_SETS}/web")["spec"]["updateStrategy"]
        assert stored == ROLLING


def test_what_is_sent_back_as_it_was_is_cleared_in_silence(served: Served) -> None:
    """KEP-1027: a client sets the discriminator, and leaves what it does not know."""
    served.post(STATEFUL_SETS, STATEFUL_SET)
    live = served.get(f"{STATEFUL_SETS}/web")
    live["spec"]["updateStrategy"]["type"] = "OnDelete"
    answer = served.call("PUT", f"{STATEFUL_SETS}/web", live)
    assert answer.json()["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert answer.headers.get_list("Warning") == []


def cron_job(variables: dict[str, Any], volume: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "a", "image": "a", "env": [{"name": "E", **variables}]}
    pod = {
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [{"name": "v", **volume}],
    }
    job = {"spec": {"template": {"spec": pod}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "flip", "namespace": "default"},
        "spec": {"schedule": "1 1 * * *", "jobTemplate": job},
    }


VALUE: Final = {"value": "1"}
VALUE_FROM: Final = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
PATH: Final = {"hostPath": {"path": "/x"}}
NFS: Final = {"nfs": {"server": "a", "path": "/a"}}


@pytest.mark.parametrize("profile", ["kep1027", "kep1027-draft", "kep2019"])
@pytest.mark.parametrize(
    ("both", "field"),
    [
        (cron_job(VALUE, {**PATH, **NFS}), "volumes[0].nfs"),
        (cron_job({**VALUE, **VALUE_FROM}, PATH), "containers[0].env[0].valueFrom"),
    ],
    ids=["volumes", "env"],
)
def test_a_manifest_that_contradicts_itself_is_refused_again_and_again(
    profile: str, both: dict[str, Any], field: str
) -> None:
    """kubectl's patch sets the member that is not there; a server merges and refuses.

    The field is that of kube-apiserver 1.36.3.
    """
    one, schema = cron_job(VALUE, PATH), smp.kubernetes().schema("batch/v1", "CronJob")
    with serving(Settings(profile=profile)) as served:
        live = served.post(CRON_JOBS, smp.with_last_applied(one))
        before = live["spec"]
        for _ in range(3):
            patch = smp.three_way_patch(one, smp.with_last_applied(both), live, schema)
            assert LAST_APPLIED in json.dumps(patch)
            path = f"{CRON_JOBS}/flip"
            answer = served.call("PATCH", path, patch, content_type=STRATEGIC)
            assert answer.status_code == 422
            (cause,) = answer.json()["details"]["causes"]
            assert cause["field"].endswith(field)
            live = served.get(path)
            assert live["spec"] == before


@pytest.mark.parametrize("surge", [0, 2])
def test_the_kep_of_2019_writes_the_discriminator_before_defaults(surge: int) -> None:
    """Go: apps/v1 SetDefaults_Deployment, which looks at the type."""
    with serving(Settings(profile="kep2019")) as served:
        served.post(DEPLOYMENTS, workload("Deployment", strategy={"type": "Recreate"}))
        strategy = {"rollingUpdate": {"maxSurge": surge}}
        stored = served.patch(f"{DEPLOYMENTS}/web", {"spec": {"strategy": strategy}})
        assert stored["spec"]["strategy"] == {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": surge, "maxUnavailable": "25%"},
        }
