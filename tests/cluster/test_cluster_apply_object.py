"""smp.cluster.apply_object, for what users call openshift.dynamic.apply for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubernetes.client import CoreV1Api
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.resource import ResourceInstance

from smp.cluster import ApiError, Cluster, apply_object
from smp.errors import ObjectError
from smp.testing import KubernetesApi
from tests.support.object_applies import (
    STOCK,
    Situation,
    played,
    recorded,
    situations,
)


@pytest.fixture(scope="module")
def api() -> Iterator[KubernetesApi]:
    with KubernetesApi(STOCK) as server:
        yield server


@pytest.fixture(scope="module")
def dynamic(api: KubernetesApi) -> Any:
    make: Any = DynamicClient
    return make(api.client("kubernetes"))


def config_map(**data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": data,
    }


@pytest.mark.parametrize("situation", situations(), ids=lambda each: each.name)
def test_it_does_what_kubectl_does_where_openshift_does_not(
    situation: Situation, api: KubernetesApi, dynamic: Any
) -> None:
    def apply(definition: dict[str, Any]) -> object:
        resource = dynamic.resources.get(
            api_version=definition["apiVersion"], kind=definition["kind"]
        )
        return apply_object(resource, definition)

    theirs = recorded().played[situation.name]
    assert theirs["openshift"] != theirs["kubectl"]
    assert not theirs["kubectl"].failed
    assert played(situation, api, apply) == theirs["kubectl"]


def test_a_resource_gives_an_instance(api: KubernetesApi, dynamic: Any) -> None:
    resource = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    with api.unchanged():
        # What the resource says, a definition need not say.
        definition = {"metadata": {"name": "a"}, "data": {"k": "1"}}
        made = apply_object(resource, definition, namespace="default")
        assert isinstance(made, ResourceInstance)
        assert made.metadata.name == "a"
        assert made.data.k == "1"
        # An instance is a definition, too.
        again = apply_object(resource, made)
        assert again.metadata.uid == made.metadata.uid


@pytest.mark.parametrize(
    "of_api",
    [
        lambda api: api.client("httpx"),
        lambda api: api.client("kubernetes"),
        lambda api: Cluster(api.client("httpx")),
    ],
)
def test_a_client_gives_a_dict(
    api: KubernetesApi, of_api: Callable[[KubernetesApi], Any]
) -> None:
    with api.unchanged():
        made = apply_object(of_api(api), config_map(k="1"))
        assert made["data"] == {"k": "1"}
        assert made["metadata"]["namespace"] == "default"


def test_an_error_is_raised(api: KubernetesApi) -> None:
    wrong = config_map()
    wrong["metadata"]["name"] = "Not a name"
    with pytest.raises(ApiError, match=r"metadata\.name: Invalid value"):
        apply_object(api.client("httpx"), wrong)
    with pytest.raises(TypeError, match="takes one of"):
        apply_object("https://example.com", wrong)


@pytest.mark.parametrize("count", [0, 2])
def test_it_takes_one_object(api: KubernetesApi, count: int) -> None:
    definitions = {"apiVersion": "v1", "kind": "List", "items": [config_map()] * count}
    cluster = Cluster(api.client("kubernetes"))
    with pytest.raises(ObjectError, match=f"takes one object, and not {count}"):
        apply_object(cluster, definitions)
    with pytest.raises(ObjectError, match=f"takes one object, and not {count}"):
        cluster.get(definitions)


def test_the_class_of_a_group_has_its_client(api: KubernetesApi) -> None:
    core: Any = CoreV1Api(api.client("kubernetes"))
    assert apply_object(core, config_map(k="1"))["data"] == {"k": "1"}
