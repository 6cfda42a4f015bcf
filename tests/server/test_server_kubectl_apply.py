"""Client-side apply by the real kubectl against the server.

The server stores what ``kubectl patch --local``, which runs Go's strategic merge patch,
makes of the same body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import smp
from smp._values.values import JSON, as_object
from tests.support.kubectl import needs_kubectl, patch_local
from tests.support.server_app import STRATEGIC
from tests.support.server_process import Kubectl, ServerProcess, manifest, serving

pytestmark = [needs_kubectl, pytest.mark.slow]

REQUEST_BODY = re.compile(r'"Request Body" body="(.+)"$', re.MULTILINE)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(tmp_path_factory.mktemp("server")) as running:
        yield running


def deployment(
    containers: list[Any] | None = None, strategy: Any = None, **pod: Any
) -> dict[str, Any]:
    if containers is None:
        containers = [{"name": "app", "image": "nginx:1.25"}]
    pod["containers"] = containers
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    if strategy:
        spec["strategy"] = strategy
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": spec,
    }


def containers(*names: str, image: str = "nginx:1.25") -> list[Any]:
    return [
        {"name": name, "image": image if name == "app" else "busybox"} for name in names
    ]


def with_env(*env: dict[str, Any]) -> dict[str, Any]:
    return deployment([{"name": "app", "image": "nginx", "env": list(env)}])


def service(*ports: dict[str, Any]) -> dict[str, Any]:
    spec = {"selector": {"app": "web"}, "ports": list(ports)}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": spec,
    }


def finalized(*finalizers: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web", "finalizers": list(finalizers)},
    }


class Situation(NamedTuple):
    """Two configurations that are applied one after the other.

    ``drift`` is a patch of the live object between them, by another client. ``sent`` is
    a part of the patch that kubectl sends for the second one.
    """

    before: dict[str, Any]
    after: dict[str, Any]
    sent: str = ""
    drift: dict[str, Any] | None = None


A, B, C = ({"name": name, "value": name.lower()} for name in "ABC")
SITUATIONS: dict[str, Situation] = {
    "change an image": Situation(
        deployment(containers("app", "log", "proxy")),
        deployment(containers("app", "log", "proxy", image="nginx:1.26")),
        '"$setElementOrder/containers":[{"name":"app"},{"name":"log"},{"name":"proxy"}]',
    ),
    "remove a variable": Situation(
        with_env(A, B, C), with_env(A, C), '"env":[{"$patch":"delete","name":"B"}]'
    ),
    "reorder": Situation(
        deployment(containers("app", "log", "proxy")),
        deployment(containers("proxy", "log", "app")),
        '"$setElementOrder/containers":[{"name":"proxy"},{"name":"log"},{"name":"app"}]',
    ),
    "change the source of a volume": Situation(
        deployment(
            volumes=[{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
        ),
        deployment(
            volumes=[
                {"name": "data", "hostPath": {"path": "/srv"}},
                {"name": "tmp", "emptyDir": {}},
            ]
        ),
        '"$retainKeys":["hostPath","name"]',
    ),
    "change the strategy": Situation(
        deployment(
            strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
        ),
        deployment(strategy={"type": "Recreate"}),
        '"strategy":{"$retainKeys":["type"],"rollingUpdate":null,"type":"Recreate"}',
    ),
    "change the strategy whose member another client has set": Situation(
        deployment(strategy={"type": "RollingUpdate"}),
        deployment(strategy={"type": "Recreate"}),
        '"strategy":{"$retainKeys":["type"],"type":"Recreate"}',
        drift={"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}},
    ),
    "remove a finalizer": Situation(
        finalized("example.com/a", "example.com/b", "example.com/c"),
        finalized("example.com/a", "example.com/c"),
        '"$deleteFromPrimitiveList/finalizers":["example.com/b"]',
    ),
    "keep the sidecar of another client": Situation(
        deployment(containers("app", "log")),
        deployment(containers("log", "app", image="nginx:1.26")),
        drift={
            "spec": {
                "template": {
                    "spec": {"containers": [{"name": "mesh", "image": "mesh"}]}
                }
            }
        },
    ),
    "remove a variable that is already absent": Situation(
        with_env(A, B),
        with_env(A),
        '{"$patch":"delete","name":"B"}',
        drift={
            "spec": {
                "template": {
                    "spec": {
                        "containers": [
                            {"name": "app", "env": [{"name": "B", "$patch": "delete"}]}
                        ]
                    }
                }
            }
        },
    ),
    "rename a container": Situation(
        deployment(containers("app", "old")),
        deployment(containers("app", "new")),
        '{"$patch":"delete","name":"old"}',
    ),
    "change the port of a service": Situation(
        service({"port": 80, "name": "http"}),
        service({"port": 81, "name": "http"}),
        '{"$patch":"delete","port":80}',
    ),
    "drop a list": Situation(
        with_env(A, B), deployment([{"name": "app", "image": "nginx"}]), '"env":null'
    ),
    "change value to valueFrom": Situation(
        with_env(A),
        with_env(
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
        ),
        '"value":null',
    ),
    "change an atomic list": Situation(
        deployment(
            tolerations=[
                {"key": "a", "operator": "Exists"},
                {"key": "b", "operator": "Exists"},
            ]
        ),
        deployment(tolerations=[{"key": "b", "operator": "Exists"}]),
        '"tolerations":[{"key":"b","operator":"Exists"}]',
    ),
    "one port, two protocols": Situation(
        service(
            {"port": 53, "protocol": "TCP", "name": "t"},
            {"port": 53, "protocol": "UDP", "name": "u"},
        ),
        service(
            {"port": 53, "protocol": "TCP", "name": "t2"},
            {"port": 53, "protocol": "UDP", "name": "u"},
        ),
        '"$setElementOrder/ports":[{"port":53},{"port":53}]',
    ),
    "add many fields at once": Situation(
        deployment(),
        deployment(
            [
                {
                    "name": "app",
                    "image": "nginx",
                    "env": [A],
                    "ports": [{"containerPort": 80}],
                    "args": ["x", "y"],
                }
            ],
            volumes=[{"name": "v", "emptyDir": {}}],
            initContainers=[{"name": "init", "image": "busybox"}],
            nodeSelector={"disk": "ssd"},
        ),
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS)
def test_the_stored_object_is_what_go_makes_of_the_patch(
    server: ServerProcess, tmp_path: Path, situation: Situation
) -> None:
    body = {"metadata": {"generateName": "test-"}}
    namespace = server.post("/api/v1/namespaces", body)["metadata"]["name"]
    kubectl = Kubectl(server, tmp_path / "home", namespace)
    kubectl.apply(situation.before)
    path = path_of(situation.before, namespace)
    if situation.drift:
        server.patch(path, situation.drift, STRATEGIC)
    live = server.get(path)
    run = kubectl.run("apply", "-v=9", "-f", "-", stdin=manifest(situation.after))
    assert run.returncode == 0, run.stderr
    (quoted,) = REQUEST_BODY.findall(run.stderr)
    patch = json.loads(f'"{quoted}"')
    assert situation.sent in patch
    stored = server.get(path)
    expected = patch_local(live, json.loads(patch))
    # A new part of an object gets its defaults; its field managers are tracked, which
    # kubectl leaves to a server.
    schema = smp.kubernetes().schema_of(as_object(expected))
    expected = smp.with_defaults(as_object(expected), schema)
    assert without_versions(stored) == without_versions(expected)
    again = kubectl.apply(situation.after)
    # Where a live list has more elements than the manifest, kubectl sends the order of
    # the list each time, and reports the object as configured.
    if situation.drift is None:
        assert "unchanged" in again
    assert server.get(path) == stored


def path_of(obj: dict[str, Any], namespace: str) -> str:
    api_version = obj["apiVersion"]
    root = "apis" if "/" in api_version else "api"
    plural = obj["kind"].lower() + "s"
    name = obj["metadata"]["name"]
    return f"/{root}/{api_version}/namespaces/{namespace}/{plural}/{name}"


def without_versions(obj: JSON) -> JSON:
    """Return an object without the metadata that each write changes."""
    assert isinstance(obj, dict)
    metadata = {**as_object(obj["metadata"])}
    for name in ("generation", "managedFields", "resourceVersion"):
        metadata.pop(name, None)
    return {**obj, "metadata": metadata}
