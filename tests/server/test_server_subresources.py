"""Status and scale: what an update changes and what it keeps, and the Scale of objects.

Expected values are those of "Extend the Kubernetes API with CustomResourceDefinitions"
("Status subresource", "Scale subresource") in the Kubernetes documentation. The API
documents one replica as the default of each scalable built-in kind.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

import pytest
from hypothesis import given

from smp._values.values import JSON, JSONObject, as_object, same
from smp.errors import SmpError
from smp.schema.resources import Resource, Resources
from smp.server.errors import InvalidError, StatusError, UnknownResourceError
from smp.server.objects.crds import Definition
from smp.server.objects.subresources import (
    NoReplicasError,
    on_create,
    on_status_update,
    on_update,
    readable_scale_of,
    scale_of,
    set_scale,
)
from tests.support.server_definitions import CRON_TABS, cron_tab
from tests.support.strategies import json_values

BUILTIN: Final = Resources.builtin()
DEPLOYMENTS: Final = BUILTIN.of_kind("apps/v1", "Deployment")
CONFIG_MAPS: Final = BUILTIN.of_kind("v1", "ConfigMap")
(CRON_TAB_RESOURCE,) = Definition.read(CRON_TABS).resources
METADATA: Final[JSONObject] = {
    "name": "web",
    "namespace": "shop",
    "uid": "7b0c",
    "resourceVersion": "17",
    "creationTimestamp": "2026-01-01T00:00:00Z",
}
WEB: Final[JSONObject] = {
    "metadata": {**METADATA, "labels": {"a": "b"}, "generation": 4},
    "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}},
    "status": {"replicas": 2, "readyReplicas": 1},
}
SCALE: Final[JSONObject] = {
    "kind": "Scale",
    "apiVersion": "autoscaling/v1",
    "metadata": METADATA,
    "spec": {"replicas": 3},
    "status": {"replicas": 2, "selector": "app=web"},
}


def test_a_new_object_has_no_status() -> None:
    without_status = {"metadata": WEB["metadata"], "spec": WEB["spec"]}
    assert on_create(WEB, DEPLOYMENTS) == without_status
    assert on_create(WEB, CRON_TAB_RESOURCE) == on_create(WEB, DEPLOYMENTS)
    assert on_create(WEB, CONFIG_MAPS) is WEB


def test_a_node_registers_itself_with_its_status() -> None:
    assert on_create(WEB, BUILTIN.of_kind("v1", "Node")) is WEB


def test_an_update_keeps_the_status() -> None:
    new: JSONObject = {
        "metadata": METADATA,
        "spec": {"replicas": 9},
        "status": {"replicas": 9},
    }
    assert on_update(WEB, new, DEPLOYMENTS) == {**new, "status": WEB["status"]}
    without_status = on_update({"spec": {}}, new, DEPLOYMENTS)
    assert without_status == {"metadata": METADATA, "spec": {"replicas": 9}}
    assert on_update(WEB, new, CONFIG_MAPS) is new


def test_an_update_of_the_status_changes_the_status_and_metadata() -> None:
    new: JSONObject = {
        "metadata": {**METADATA, "labels": {"x": "y"}, "annotations": {"c": "d"}},
        "spec": {"replicas": 9},
        "status": {"replicas": 9},
    }
    # Go: deploymentStatusStrategy.PrepareForUpdate.
    metadata = {**METADATA, "labels": {"a": "b"}, "annotations": {"c": "d"}}
    updated = on_status_update(WEB, new, DEPLOYMENTS)
    assert updated == {**WEB, "metadata": metadata, "status": {"replicas": 9}}
    updated = on_status_update(WEB, new, CRON_TAB_RESOURCE)
    assert updated == {**WEB, "status": {"replicas": 9}}


def test_a_deployment_has_a_scale() -> None:
    assert scale_of(WEB, DEPLOYMENTS) == SCALE


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "replicas", "selector"),
    [
        (
            "apps/v1",
            "StatefulSet",
            {"replicas": 0, "selector": {"matchLabels": {"b": "c", "a": "d"}}},
            0,
            "a=d,b=c",
        ),
        (
            "apps/v1",
            "ReplicaSet",
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
            1,
            "a",
        ),
        (
            "v1",
            "ReplicationController",
            {"replicas": 2, "selector": {"b": "c", "a": "d"}},
            2,
            "a=d,b=c",
        ),
        ("v1", "ReplicationController", None, 1, None),
    ],
)
def test_every_scalable_kind_has_a_scale(
    api_version: str, kind: str, spec: JSON, replicas: int, selector: str | None
) -> None:
    obj: JSONObject = {"metadata": METADATA, "spec": spec}
    scale: Any = scale_of(obj, BUILTIN.of_kind(api_version, kind))
    assert scale["spec"] == ({"replicas": replicas} if replicas else {})
    assert scale["status"]["replicas"] == 0
    assert scale["status"].get("selector") == selector


def test_a_custom_resource_has_a_scale_at_its_paths() -> None:
    obj: JSONObject = {
        **cron_tab({"replicas": 3}),
        "status": {"replicas": 2, "labelSelector": "app=web"},
    }
    scale: Any = scale_of(obj, CRON_TAB_RESOURCE)
    assert scale["spec"] == SCALE["spec"]
    assert scale["status"] == SCALE["status"]


def test_a_custom_resource_without_replicas_has_no_scale() -> None:
    # "If there is no value under the specReplicasPath in the custom resource, the
    # /scale subresource will return an error on GET."
    with pytest.raises(NoReplicasError) as caught:
        readable_scale_of(cron_tab({}), CRON_TAB_RESOURCE)
    assert caught.value.status == 500
    # It is scaled all the same.
    assert as_object(scale_of(cron_tab({}), CRON_TAB_RESOURCE))["spec"] == {}
    scaled = set_scale(cron_tab({}), SCALE, CRON_TAB_RESOURCE)
    assert scaled["spec"] == {"replicas": 3}


def test_a_scale_is_written_back() -> None:
    to_seven: JSONObject = {**SCALE, "spec": {"replicas": 7}}
    spec: JSONObject = {**as_object(WEB["spec"]), "replicas": 7}
    assert set_scale(WEB, to_seven, DEPLOYMENTS) == {**WEB, "spec": spec}
    # A Scale without replicas means none (Go: omitempty).
    scaled = set_scale(WEB, {**SCALE, "spec": {}}, DEPLOYMENTS)
    assert as_object(scaled["spec"])["replicas"] == 0
    assert same(set_scale(WEB, scale_of(WEB, DEPLOYMENTS), DEPLOYMENTS), WEB)


@pytest.mark.parametrize("replicas", [-1, "3", 1.5, True, 2**31])
def test_replicas_are_numbers(replicas: JSON) -> None:
    with pytest.raises(InvalidError) as caught:
        set_scale(WEB, {**SCALE, "spec": {"replicas": replicas}}, DEPLOYMENTS)
    assert caught.value.violations[0].cause["field"] == "spec.replicas"


def test_only_a_scale_is_written_back() -> None:
    with pytest.raises(StatusError) as caught:
        set_scale(WEB, {**SCALE, "kind": "Deployment"}, DEPLOYMENTS)
    assert caught.type is StatusError


@pytest.mark.parametrize(
    "resource", [CONFIG_MAPS, BUILTIN.of_kind("apps/v1", "DaemonSet")]
)
def test_a_resource_without_replicas_has_no_scale(resource: Resource) -> None:
    with pytest.raises(UnknownResourceError):
        scale_of(WEB, resource)
    with pytest.raises(UnknownResourceError):
        set_scale(WEB, SCALE, resource)


@given(json_values(), json_values())
def test_any_object_has_a_scale_or_none_without_being_mutated(
    spec: JSON, scale_spec: JSON
) -> None:
    before = deepcopy([spec, scale_spec])
    for resource in (DEPLOYMENTS, CRON_TAB_RESOURCE):
        obj: JSONObject = {"metadata": {}, "spec": spec, "status": spec}
        try:
            scale_of(obj, resource)
            set_scale(obj, {**SCALE, "spec": scale_spec}, resource)
        except SmpError:
            continue
    assert same(before, [spec, scale_spec])
