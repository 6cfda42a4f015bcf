"""Under validate-only the server judges unions as API servers of today do.

tests/apiserver/test_recorded_unions.py compares every row of the overlay with what a
kube-apiserver answered; these are the ways in which a request reaches the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from smp._values.values import JSONObject
from smp.server.settings import Settings
from tests.support.server_app import (
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Served,
    serving,
)

DAEMON_SETS: Final = "/apis/apps/v1/namespaces/default/daemonsets"
APPLY: Final = "application/apply-patch+yaml"
RECREATE: Final[JSONObject] = {"spec": {"strategy": {"type": "Recreate"}}}
WRITES: Final[list[tuple[str, Any]]] = [
    (STRATEGIC, RECREATE),
    (MERGE, RECREATE),
    (
        JSON_PATCH,
        [{"op": "replace", "path": "/spec/strategy/type", "value": "Recreate"}],
    ),
]
REFUSAL: Final = {
    "reason": "FieldValueForbidden",
    "message": "Forbidden: may not be specified when strategy `type` is 'Recreate'",
    "field": "spec.strategy.rollingUpdate",
}


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(Settings(profile="validate-only")) as running:
        yield running


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"containers": [{"name": "web", "image": "web:1"}], **spec.pop("pod", {})}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


@pytest.mark.parametrize(("media_type", "body"), WRITES)
def test_a_patch_that_leaves_a_member_behind_is_refused(
    served: Served, media_type: str, body: Any
) -> None:
    created = served.post(DEPLOYMENTS, workload("Deployment"))
    # A default of the server, as in a cluster.
    assert created["spec"]["strategy"]["rollingUpdate"]
    path = f"{DEPLOYMENTS}/web"
    answer = served.call("PATCH", path, body, content_type=media_type)
    assert answer.status_code == 422
    assert answer.json()["details"]["causes"] == [REFUSAL]
    assert served.get(path) == created


def test_a_put_that_has_both_is_refused(served: Served) -> None:
    created = served.post(DEPLOYMENTS, workload("Deployment"))
    created["spec"]["strategy"]["type"] = "Recreate"
    answer = served.call("PUT", f"{DEPLOYMENTS}/web", created)
    assert answer.json()["details"]["causes"] == [REFUSAL]


def test_an_apply_beside_a_default_is_refused(served: Served) -> None:
    path = f"{DEPLOYMENTS}/web?fieldManager=one"
    before = workload("Deployment", pod={"volumes": [{"name": "data"}]})
    volume = {"name": "data", "secret": {"secretName": "web"}}
    after = workload("Deployment", pod={"volumes": [volume]})
    served.patch(path, before, APPLY)
    answer = served.call("PATCH", path, after, content_type=APPLY)
    assert answer.status_code == 422
    [cause] = answer.json()["details"]["causes"]
    assert cause["message"] == "Forbidden: may not specify more than 1 volume type"


@pytest.mark.parametrize("media_type", [STRATEGIC, MERGE])
def test_a_daemon_set_keeps_what_a_server_keeps(
    served: Served, media_type: str
) -> None:
    created = served.post(DAEMON_SETS, workload("DaemonSet"))
    rolling = created["spec"]["updateStrategy"]["rollingUpdate"]
    body: JSONObject = {"spec": {"updateStrategy": {"type": "OnDelete"}}}
    patched = served.patch(f"{DAEMON_SETS}/web", body, media_type)
    assert patched["spec"]["updateStrategy"] == {
        "type": "OnDelete",
        "rollingUpdate": rolling,
    }
