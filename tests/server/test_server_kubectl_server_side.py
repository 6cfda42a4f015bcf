"""Server-side apply by the real kubectl: the server, and a real kube-apiserver.

What holds is asked of both, in the words that kubectl prints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.apiserver import needs_apiserver, running
from tests.support.kubectl import LAST_APPLIED, needs_kubectl
from tests.support.server_process import Kubectl, ServerProcess, manifest, serving

pytestmark = [needs_kubectl, pytest.mark.slow]

_NUMBERS = count(1)
CONFLICT_HELP = "Please review the fields above--they currently have other managers."


class RealServer:
    """A kube-apiserver, with what the tests ask of a ``ServerProcess``."""

    def __init__(self, url: str, headers: dict[str, str], directory: Path) -> None:
        self._client = httpx.Client(
            base_url=url,
            headers=headers,
            timeout=120,
            trust_env=False,
            verify=False,  # noqa: S501  (its own certificate, on loopback)
        )
        self.kubeconfig = directory / "kubeconfig.json"
        cluster = {"server": url, "insecure-skip-tls-verify": True}
        user = {"token": headers["Authorization"].removeprefix("Bearer ")}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "c", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        }
        self.kubeconfig.write_text(json.dumps(document))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str) -> Any:
        """Return what the server has at a path."""
        return self._client.get(path).raise_for_status().json()

    def post(self, path: str, body: Any) -> Any:
        """Create something."""
        return self._client.post(path, json=body).raise_for_status().json()


@pytest.fixture(
    scope="module",
    params=["smp serve", pytest.param("kube-apiserver", marks=needs_apiserver)],
)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess | RealServer]:
    directory = tmp_path_factory.mktemp("server")
    if request.param == "smp serve":
        with serving(directory) as server:
            yield server
    else:
        with (
            running() as real,
            closing(RealServer(real.url, dict(real.headers), directory)) as server,
        ):
            yield server


@pytest.fixture
def kubectl(cluster: Any, tmp_path: Path) -> Kubectl:
    namespace = f"test-{next(_NUMBERS)}"
    cluster.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
    return Kubectl(cluster, tmp_path / "home", namespace)


def deployment(replicas: int | None = 3, image: str = "nginx:1.25") -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": image}]},
    }
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": template,
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": spec,
    }


def config_map(**data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x"},
        "data": data,
    }


def managers(kubectl: Kubectl, resource: str, name: str) -> list[tuple[str, ...]]:
    """Return manager, operation and subresource of each entry of managedFields."""
    metadata = kubectl.live(resource, name)["metadata"]
    return [
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in metadata.get("managedFields", [])
    ]


def server_side(kubectl: Kubectl, obj: Any, *options: str) -> str:
    return kubectl.apply(obj, options=("--server-side", *options))


def refused(kubectl: Kubectl, obj: Any, *options: str) -> str:
    """Return what kubectl prints about an apply that is refused."""
    arguments = ("apply", "--server-side", "-f", "-", *options)
    run = kubectl.run(*arguments, stdin=manifest(obj))
    assert run.returncode == 1
    return run.stderr


def test_an_apply_creates_changes_and_repeats(kubectl: Kubectl) -> None:
    printed = "configmap/x serverside-applied\n"
    assert server_side(kubectl, config_map(a="1", b="1")) == printed
    created = kubectl.live("configmaps.v1", "x")
    assert server_side(kubectl, config_map(a="1", b="1")) == printed
    assert kubectl.live("configmaps.v1", "x") == created
    assert server_side(kubectl, config_map(a="2")) == printed
    assert kubectl.live("configmaps.v1", "x")["data"] == {"a": "2"}
    assert managers(kubectl, "configmaps.v1", "x") == [("kubectl", "Apply", "")]


def test_managed_fields_are_shown_where_they_are_asked_for(kubectl: Kubectl) -> None:
    server_side(kubectl, config_map(a="1"))
    get = ("get", "configmap", "x", "-o", "yaml")
    assert "managedFields" not in kubectl(*get)
    lines = kubectl(*get, "--show-managed-fields").splitlines()
    start = lines.index("  managedFields:")
    shown = [line for line in lines[start + 1 : start + 9] if "time:" not in line]
    assert shown == [
        "  - apiVersion: v1",
        "    fieldsType: FieldsV1",
        "    fieldsV1:",
        "      f:data:",
        "        f:a: {}",
        "    manager: kubectl",
        "    operation: Apply",
    ]


def test_a_conflict_is_explained_and_can_be_forced(kubectl: Kubectl) -> None:
    server_side(kubectl, deployment())
    other = ("--field-manager", "other")
    printed = refused(kubectl, deployment(replicas=5), *other)
    assert printed.startswith(
        'error: Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas\n'
        + CONFLICT_HELP
    )
    server_side(kubectl, deployment(replicas=5), *other, "--force-conflicts")
    assert kubectl.live("deployments.apps/v1", "web")["spec"]["replicas"] == 5
    assert sorted(managers(kubectl, "deployments.apps/v1", "web")) == [
        ("kubectl", "Apply", ""),
        ("other", "Apply", ""),
    ]


def test_scaling_takes_the_replicas_over(kubectl: Kubectl) -> None:
    server_side(kubectl, deployment())
    kubectl("scale", "deployment", "web", "--replicas=7")
    assert ("kubectl", "Update", "scale") in managers(
        kubectl, "deployments.apps/v1", "web"
    )
    printed = refused(kubectl, deployment())
    assert printed.startswith(
        'error: Apply failed with 1 conflict: conflict with "kubectl" with subresource'
        ' "scale" using apps/v1: .spec.replicas\n'
    )
    # A manager that leaves the replicas to others has no conflict.
    server_side(kubectl, deployment(replicas=None, image="nginx:1.26"))
    live = kubectl.live("deployments.apps/v1", "web")["spec"]
    assert live["replicas"] == 7
    assert live["template"]["spec"]["containers"][0]["image"] == "nginx:1.26"


def test_a_diff_shows_what_an_apply_would_change(kubectl: Kubectl) -> None:
    server_side(kubectl, config_map(a="1"))
    diff = ("diff", "--server-side", "-f", "-")
    same = kubectl.run(*diff, stdin=manifest(config_map(a="1")))
    assert (same.returncode, same.stdout) == (0, "")
    changed = kubectl.run(*diff, stdin=manifest(config_map(a="2")))
    assert changed.returncode == 1
    lines = changed.stdout.splitlines()
    assert [line for line in lines if line.startswith(("-  ", "+  "))] == [
        '-  a: "1"',
        '+  a: "2"',
    ]
    assert kubectl.live("configmaps.v1", "x")["data"] == {"a": "1"}
    conflict = kubectl.run(
        *diff, "--field-manager", "other", stdin=manifest(config_map(a="2"))
    )
    assert conflict.returncode > 1
    assert 'conflict with "kubectl": .data.a' in conflict.stderr
    forced = (*diff, "--field-manager", "other", "--force-conflicts")
    assert kubectl.run(*forced, stdin=manifest(config_map(a="2"))).returncode == 1


def test_a_dry_run_changes_nothing(kubectl: Kubectl) -> None:
    printed = server_side(kubectl, config_map(a="1"), "--dry-run=server")
    assert printed == "configmap/x serverside-applied (server dry run)\n"
    assert kubectl.run("get", "configmap", "x").returncode == 1


def test_from_client_side_to_server_side_apply(kubectl: Kubectl) -> None:
    kubectl.apply(config_map(a="1", b="1"))
    client_side = ("kubectl-client-side-apply", "Update", "")
    assert managers(kubectl, "configmaps.v1", "x") == [client_side]
    # kubectl applies, takes over what client-side apply owned, and applies again.
    server_side(kubectl, config_map(a="1"))
    live = kubectl.live("configmaps.v1", "x")
    assert live["data"] == {"a": "1"}
    assert client_side not in managers(kubectl, "configmaps.v1", "x")
    assert ("kubectl", "Apply", "") in managers(kubectl, "configmaps.v1", "x")
    last_applied = json.loads(live["metadata"]["annotations"][LAST_APPLIED])
    assert last_applied["data"] == {"a": "1"}
    # The way back: client-side apply goes on from the annotation.
    kubectl.apply(config_map(a="2"))
    assert kubectl.live("configmaps.v1", "x")["data"] == {"a": "2"}


def test_other_commands_own_what_they_write(kubectl: Kubectl) -> None:
    server_side(kubectl, deployment())
    kubectl("label", "deployment", "web", "tier=front")
    kubectl("annotate", "deployment", "web", "note=n")
    kubectl("set", "image", "deployment/web", "app=nginx:1.27")
    kubectl("patch", "deployment", "web", "-p", '{"spec":{"paused":true}}')
    found = managers(kubectl, "deployments.apps/v1", "web")
    assert sorted(found) == [
        ("kubectl", "Apply", ""),
        ("kubectl-annotate", "Update", ""),
        ("kubectl-label", "Update", ""),
        ("kubectl-patch", "Update", ""),
        ("kubectl-set", "Update", ""),
    ]
    printed = refused(kubectl, deployment())
    assert 'conflict with "kubectl-set" using apps/v1: .spec.template' in printed


def test_a_status_is_applied_through_its_subresource(kubectl: Kubectl) -> None:
    server_side(kubectl, deployment())
    obj = {**deployment(), "status": {"replicas": 3, "readyReplicas": 1}}
    server_side(kubectl, obj, "--subresource", "status", "--field-manager", "operator")
    live = kubectl.live("deployments.apps/v1", "web")
    assert live["status"] == {"replicas": 3, "readyReplicas": 1}
    assert ("operator", "Apply", "status") in managers(
        kubectl, "deployments.apps/v1", "web"
    )


def test_a_field_that_does_not_exist_is_refused(kubectl: Kubectl) -> None:
    obj = {**config_map(), "unknown": 1}
    printed = refused(kubectl, obj, "--validate=false")
    assert "failed to create typed patch object" in printed
    assert ".unknown: field not declared in schema" in printed
