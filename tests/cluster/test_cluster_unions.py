"""A server-side apply that chooses another member of a union, as Helm 4 and Flux do it.

The server is ``smp serve`` as a server of today judges unions. What a kube-apiserver
answers to the same requests is recorded (tests/managed_fields/test_union_requests.py);
its words are those of validateDeploymentStrategy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from smp._values.values import JSON, JSONObject
from smp.cluster import Cluster
from smp.managed_fields import PatchRequest, owners_of
from smp.paths import Path
from smp.server.settings import Settings
from smp.testing import KubernetesApi

_DOCUMENTS: Final[dict[str, bytes]] = {}
_DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
REFUSED: Final = "may not be specified when strategy `type` is 'Recreate'"
STRATEGY: Final = Path(("spec", "strategy"))


@pytest.fixture(scope="module")
def api() -> Iterator[KubernetesApi]:
    with KubernetesApi(Settings(seed=0, profile="validate-only")) as server:
        yield server


@pytest.fixture
def web(api: KubernetesApi) -> Iterator[httpx.Client]:
    with api.unchanged():
        client = api.client("httpx")
        assert isinstance(client, httpx.Client)
        yield client


@pytest.fixture
def cluster(web: httpx.Client) -> Cluster:
    return Cluster(web, documents=_DOCUMENTS)


def release(strategy: JSON = None) -> JSONObject:
    """Return what a chart makes of its values."""
    labels: JSONObject = {"app": "web"}
    spec: JSONObject = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "app", "image": "web:1"}]},
        },
    }
    if strategy is not None:
        spec["strategy"] = strategy
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }


RECREATE: Final = release({"type": "Recreate"})


def upgrade(cluster: Cluster, obj: JSONObject, **options: Any) -> Any:
    """Apply as Helm 4 does: server-side, as the manager helm."""
    run = cluster.apply([obj], server_side=True, field_manager="helm", **options)
    [applied] = run.results
    return applied


def apply(web: httpx.Client, obj: JSONObject, manager: str) -> httpx.Response:
    request = httpx.QueryParams({"fieldManager": manager, "force": "true"})
    return web.patch(
        f"{_DEPLOYMENTS}/web",
        params=request,
        headers={"Content-Type": "application/apply-patch+yaml"},
        json=obj,
    )


def owners_at(obj: JSONObject, path: Path) -> list[tuple[str, str]]:
    return [(owner.manager, owner.operation) for owner in owners_of(obj, path)]


def test_an_upgrade_to_recreate_is_accepted_after_one_request(
    cluster: Cluster, web: httpx.Client
) -> None:
    upgrade(cluster, release())
    # What Helm 4 gets today.
    [refused] = cluster.apply(
        [RECREATE], server_side=True, field_manager="helm", unions="kubectl"
    ).results
    assert refused.error is not None
    assert REFUSED in str(refused.error)
    applied = upgrade(cluster, RECREATE)
    assert applied.error is None
    assert applied.object["spec"]["strategy"] == {"type": "Recreate"}
    first, last = applied.requests
    assert isinstance(first, PatchRequest)
    assert first.media_type == "application/json-patch+json"
    assert last.media_type == "application/apply-patch+yaml"
    [warning] = applied.warnings
    assert warning.code == "union-cleared"
    assert REFUSED in warning.message
    # One manager, one entry: nothing is left that a later apply conflicts with.
    [entry] = applied.object["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("helm", "Apply")
    back = upgrade(cluster, release())
    assert back.object["spec"]["strategy"]["type"] == "RollingUpdate"
    assert web.get(f"{_DEPLOYMENTS}/web").json()["spec"]["strategy"]["rollingUpdate"]


def test_what_another_applier_owns_is_taken_with_force_alone(
    cluster: Cluster, web: httpx.Client
) -> None:
    upgrade(cluster, release())
    rolling: JSONObject = {"rollingUpdate": {"maxSurge": 1}}
    assert apply(web, release(rolling), "argocd-controller").is_success
    before = web.get(f"{_DEPLOYMENTS}/web").json()
    refused = upgrade(cluster, RECREATE)
    assert refused.error is not None
    assert '"argocd-controller" (Apply)' in refused.error.hint
    assert "--force-conflicts" in refused.error.hint
    assert web.get(f"{_DEPLOYMENTS}/web").json() == before
    forced = upgrade(cluster, RECREATE, force_conflicts=True)
    assert forced.error is None
    assert forced.object["spec"]["strategy"] == {"type": "Recreate"}
    assert owners_at(forced.object, STRATEGY / "type") == [("helm", "Apply")]
    assert not owners_at(forced.object, STRATEGY / "rollingUpdate" / "maxSurge")


def test_a_dry_run_predicts_the_object_and_writes_nothing(
    cluster: Cluster, web: httpx.Client
) -> None:
    upgrade(cluster, release())
    before = web.get(f"{_DEPLOYMENTS}/web").json()
    applied = upgrade(cluster, RECREATE, dry_run="server")
    assert applied.error is None
    assert applied.object["spec"]["strategy"] == {"type": "Recreate"}
    assert "predicted" in applied.warnings[0].message
    assert web.get(f"{_DEPLOYMENTS}/web").json() == before
    [found] = cluster.diff([RECREATE], server_side=True, field_manager="helm")
    assert found.error is None
    assert found.merged is not None
    assert found.merged["spec"]["strategy"] == {"type": "Recreate"}
    [kubectl] = _kubectl_diff(cluster)
    assert kubectl.error is not None


def _kubectl_diff(cluster: Cluster) -> list[Any]:
    return cluster.diff(
        [RECREATE], server_side=True, field_manager="helm", unions="kubectl"
    )


def test_an_object_that_is_written_meanwhile_is_read_again(
    cluster: Cluster, web: httpx.Client
) -> None:
    upgrade(cluster, release())
    written: list[str] = []

    def write_between(request: httpx.Request) -> None:
        # Another one labels the object before the first JSON Patch arrives.
        is_patch = request.headers.get("Content-Type") == "application/json-patch+json"
        if is_patch and not written:
            written.append("once")
            labels: JSONObject = {"metadata": {"labels": {"by": "others"}}}
            web.patch(
                f"{_DEPLOYMENTS}/web",
                headers={"Content-Type": "application/merge-patch+json"},
                json=labels,
            )

    web.event_hooks = {"request": [write_between], "response": []}
    applied = upgrade(cluster, RECREATE)
    assert written
    assert applied.error is None
    assert applied.object["metadata"]["labels"] == {"by": "others"}
    assert applied.object["spec"]["strategy"] == {"type": "Recreate"}


def test_what_no_request_helps_with_says_so(cluster: Cluster) -> None:
    upgrade(cluster, release())
    wrong = release({"type": "Recreate"})
    wrong["spec"] = {**wrong["spec"], "replicas": -1}  # type: ignore[dict-item]
    refused = upgrade(cluster, wrong)
    assert refused.error is not None
    assert "clearing unions has no effect" in refused.error.hint
    assert not refused.requests
