"""Fields that an apply gives up, or leaves out where they are a conflict.

The words of conflicts are those of Go: managedfields, internal/conflict.go; what
becomes of a field is in the documentation of Kubernetes, Server-Side Apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from smp._values.values import JSON, JSONObject
from smp.cluster import Cluster
from smp.errors import ObjectError
from smp.managed_fields import owners_of
from smp.paths import Path
from smp.testing import KubernetesApi

_PATH: Final = "/apis/apps/v1/namespaces/default/deployments/web"
REPLICAS: Final = Path(("spec", "replicas"))


@pytest.fixture
def web(api: KubernetesApi) -> Iterator[httpx.Client]:
    with api.unchanged():
        client = api.client("httpx")
        assert isinstance(client, httpx.Client)
        yield client


def deployment(replicas: int = 2, image: str = "web:1") -> JSONObject:
    labels: JSONObject = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": image}]},
            },
        },
    }


def apply(cluster: Cluster, obj: JSONObject, **options: Any) -> Any:
    run = cluster.apply([obj], server_side=True, field_manager="helm", **options)
    [applied] = run.results
    return applied


def scale(web: httpx.Client, replicas: int) -> None:
    body: JSON = {"spec": {"replicas": replicas}}
    answer = web.patch(
        f"{_PATH}/scale",
        params={"fieldManager": "kubectl-autoscale"},
        headers={"Content-Type": "application/merge-patch+json"},
        json=body,
    )
    assert answer.is_success


def owners(obj: JSONObject) -> list[str]:
    return [owner.manager for owner in owners_of(obj, REPLICAS)]


def test_the_replicas_of_an_autoscaler_are_given_up(
    cluster: Cluster, web: httpx.Client
) -> None:
    apply(cluster, deployment())
    scale(web, 5)
    refused = apply(cluster, deployment(3))
    assert 'conflict with "kubectl-autoscale" with subresource "scale"' in str(
        refused.error
    )
    assert "--give-up" in refused.error.hint
    applied = apply(cluster, deployment(3, "web:2"), give_up=("spec.replicas",))
    assert applied.error is None
    assert applied.object["spec"]["replicas"] == 5
    assert owners(applied.object) == ["kubectl-autoscale"]
    assert "replicas" not in applied.patch["spec"]
    [warning] = applied.warnings
    assert (warning.code, warning.path) == ("given-up", REPLICAS)
    assert "it is 5, owned by kubectl-autoscale (Update scale)" in warning.message


def test_what_nobody_else_owns_is_a_default_again(cluster: Cluster) -> None:
    apply(cluster, deployment())
    applied = apply(cluster, deployment(), give_up=("spec.replicas",))
    assert applied.object["spec"]["replicas"] == 1
    assert str(applied.warnings[0]) == (
        "spec.replicas: left out of the apply: it is changed, and is 1, a default that"
        " no manager owns"
    )


def test_conflicts_are_skipped_and_the_rest_is_applied(
    cluster: Cluster, web: httpx.Client
) -> None:
    apply(cluster, deployment())
    scale(web, 5)
    skipping: Any = {"skip_conflicts": True}
    # Neither a dry run nor a diff writes anything.
    dry = apply(cluster, deployment(3, "web:2"), dry_run="server", **skipping)
    assert dry.error is None
    [found] = cluster.diff(
        [deployment(3, "web:2")], server_side=True, field_manager="helm", **skipping
    )
    assert found.error is None
    assert found.merged is not None
    assert found.merged["spec"]["replicas"] == 5
    for strict in (False, True):
        applied = apply(cluster, deployment(3, "web:2"), strict=strict, **skipping)
        assert applied.error is None
        [container] = applied.object["spec"]["template"]["spec"]["containers"]
        assert container["image"] == "web:2"
        assert applied.object["spec"]["replicas"] == 5
        assert owners(applied.object) == ["kubectl-autoscale"]
        assert [warning.path for warning in applied.warnings] == [REPLICAS]


def test_another_error_is_not_skipped(cluster: Cluster) -> None:
    apply(cluster, deployment())
    stale = deployment()
    stale["metadata"] = {"name": "web", "resourceVersion": "1"}
    refused = apply(cluster, stale, skip_conflicts=True)
    assert "the object has been modified" in str(refused.error)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"give_up": ("spec.replicas",)}, "--give-up only works with"),
        ({"skip_conflicts": True}, "--skip-conflicts only works with"),
        (
            {"skip_conflicts": True, "force_conflicts": True, "server_side": True},
            "--skip-conflicts cannot be used with --force-conflicts",
        ),
        ({"give_up": ("..",), "server_side": True}, "not a path"),
        ({"give_up": ("spec.paused",), "server_side": True}, "no manifest has"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    cluster: Cluster, options: Any, problem: str
) -> None:
    with pytest.raises(ObjectError, match=problem):
        cluster.apply([deployment()], **options)
