"""The official Python client of Kubernetes against a server process."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.support.server_app import (
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    config_map,
    deployment,
)
from tests.support.server_definitions import CRON_TABS, cron_tab
from tests.support.server_process import ServerProcess, serving

kubernetes: Any = pytest.importorskip(
    "kubernetes", reason="the official Python client is not installed"
)
client: Any = import_module("kubernetes.client")
dynamic_client: Any = import_module("kubernetes.dynamic")
errors: Any = import_module("kubernetes.dynamic.exceptions")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("server")
    with serving(directory, "--store", f"sqlite:{directory / 'objects.db'}") as running:
        yield running


@pytest.fixture
def api(server: ServerProcess) -> Iterator[Any]:
    with kubernetes.config.new_client_from_config(str(server.kubeconfig)) as api_client:
        yield api_client


@pytest.fixture
def dynamic(api: Any, tmp_path: Path) -> Any:
    return dynamic_client.DynamicClient(api, cache_file=str(tmp_path / "discovery"))


@pytest.fixture
def namespace(api: Any) -> Iterator[str]:
    core = client.CoreV1Api(api)
    created = core.create_namespace({"metadata": {"generateName": "test-"}})
    yield created.metadata.name
    core.delete_namespace(created.metadata.name)


def test_the_typed_client_reads_and_writes_deployments(
    api: Any, namespace: str
) -> None:
    apps = client.AppsV1Api(api)
    created = apps.create_namespaced_deployment(namespace, deployment())
    assert created.metadata.creation_timestamp.tzinfo is not None
    template = {"spec": {"containers": [{"name": "app", "image": "new"}]}}
    patch = {"spec": {"template": template}}
    patched = apps.patch_namespaced_deployment("web", namespace, patch)
    assert patched.spec.template.spec.containers[0].image == "new"
    scale = apps.read_namespaced_deployment_scale("web", namespace)
    scale.spec.replicas = 7
    scaled = apps.replace_namespaced_deployment_scale("web", namespace, scale)
    assert scaled.spec.replicas == 7
    body = {"status": {"replicas": 7, "observedGeneration": 3}}
    patched = apps.patch_namespaced_deployment_status("web", namespace, body)
    assert patched.status.replicas == 7
    listed = apps.list_namespaced_deployment(namespace, limit=1)
    assert [item.metadata.name for item in listed.items] == ["web"]
    deleted = apps.delete_namespaced_deployment("web", namespace)
    # Clients before 36 have a model of a Status.
    status = deleted["status"] if isinstance(deleted, dict) else deleted.status
    assert status == "Success"
    with pytest.raises(client.ApiException, match="NotFound"):
        apps.read_namespaced_deployment("web", namespace)


def test_the_dynamic_client_reads_and_writes_config_maps(
    dynamic: Any, namespace: str
) -> None:
    maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    maps.create(body=config_map("a", {"x": "1"}, k="v"), namespace=namespace)
    maps.create(body=config_map("b", {"x": "2"}), namespace=namespace)
    live = maps.get(name="a", namespace=namespace)
    assert live.data.k == "v"
    selected = maps.get(namespace=namespace, label_selector="x=2")
    assert [item.metadata.name for item in selected.items] == ["b"]
    for media_type, patch in (
        (STRATEGIC, {"data": {"s": "1"}}),
        (MERGE, {"data": {"m": "1", "k": None}}),
        (JSON_PATCH, [{"op": "add", "path": "/data/j", "value": "1"}]),
    ):
        patched = maps.patch(
            name="a", namespace=namespace, body=patch, content_type=media_type
        )
    assert patched.to_dict()["data"] == {"s": "1", "m": "1", "j": "1"}
    body = {**patched.to_dict(), "data": {"r": "1"}}
    replaced = maps.replace(body=body, namespace=namespace)
    assert replaced.to_dict()["data"] == {"r": "1"}
    with pytest.raises(errors.ConflictError):
        maps.replace(body=live.to_dict(), namespace=namespace)
    with pytest.raises(errors.ConflictError):
        maps.create(body=config_map("a"), namespace=namespace)
    maps.delete(name="a", namespace=namespace)
    with pytest.raises(errors.NotFoundError):
        maps.get(name="a", namespace=namespace)
    maps.delete(namespace=namespace, label_selector="x=2")
    assert maps.get(namespace=namespace).items == []


def test_both_clients_watch_config_maps(api: Any, dynamic: Any, namespace: str) -> None:
    maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    maps.create(body=config_map("a"), namespace=namespace)
    seen = []
    for event in maps.watch(namespace=namespace, timeout=20):
        seen.append((event["type"], event["object"].metadata.name))
        if seen[-1] == ("ADDED", "a"):
            maps.patch(
                name="a",
                namespace=namespace,
                body={"data": {"k": "v"}},
                content_type=MERGE,
            )
        elif seen[-1][0] == "MODIFIED":
            maps.delete(name="a", namespace=namespace)
        else:
            break
    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    core = client.CoreV1Api(api)
    watching = kubernetes.watch.Watch()
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    maps.create(body=config_map("b"), namespace=namespace)
    stream = watching.stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=version,
        timeout_seconds=20,
    )
    event = next(stream)
    assert (event["type"], event["object"].metadata.name) == ("ADDED", "b")
    watching.stop()


def test_the_dynamic_client_applies_configurations(
    dynamic: Any, namespace: str
) -> None:
    maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")

    def applied(manager: str, **options: Any) -> Any:
        body = config_map("a", {"l": "1"}, k=manager)
        return maps.server_side_apply(
            body=body, namespace=namespace, field_manager=manager, **options
        )

    created = applied("one")
    assert created.data.k == "one"
    assert applied("one").metadata.resourceVersion == created.metadata.resourceVersion
    with pytest.raises(errors.ConflictError) as caught:
        applied("two")
    body = caught.value.body
    # A text since version 37 of the client.
    text = body if isinstance(body, str) else body.decode()
    assert 'conflict with \\"one\\": .data.k' in text
    forced = applied("two", force_conflicts=True)
    assert forced.data.k == "two"
    entries = [entry.manager for entry in forced.metadata.managedFields]
    assert "two" in entries


def test_the_dynamic_client_finds_custom_resources(
    dynamic: Any, namespace: str
) -> None:
    definitions = dynamic.resources.get(
        api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition"
    )
    with pytest.raises(errors.ResourceNotFoundError):
        dynamic.resources.get(api_version="stable.example.com/v1", kind="CronTab")
    definitions.create(body=CRON_TABS)
    tabs = dynamic.resources.get(api_version="stable.example.com/v1", kind="CronTab")
    tabs.create(body=cron_tab({"image": "x"}, name="c"), namespace=namespace)
    patched = tabs.patch(
        name="c",
        namespace=namespace,
        body={"spec": {"replicas": 3}},
        content_type=MERGE,
    )
    assert (patched.spec.replicas, patched.spec.cronSpec) == (3, "5 0 * * *")
    with pytest.raises(errors.DynamicApiError, match="UnsupportedMediaType"):
        tabs.patch(
            name="c", namespace=namespace, body={"spec": {}}, content_type=STRATEGIC
        )
    with pytest.raises(errors.UnprocessibleEntityError, match=r"spec\.replicas"):
        tabs.patch(
            name="c",
            namespace=namespace,
            body={"spec": {"replicas": 99}},
            content_type=MERGE,
        )
    patched = tabs.status.patch(
        name="c",
        namespace=namespace,
        body={"status": {"replicas": 3}},
        content_type=MERGE,
    )
    assert patched.to_dict()["status"] == {"replicas": 3}
    definitions.delete(name="crontabs.stable.example.com")
