"""The real kubectl against a server process: namespaces, finalizers, definitions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kubectl import needs_kubectl
from tests.support.kubectl_objects import error_of, merge_patch
from tests.support.server_app import config_map, deployment
from tests.support.server_process import Kubectl, manifest

pytestmark = [needs_kubectl, pytest.mark.slow]


def test_a_namespace_is_deleted_with_its_objects(kubectl: Kubectl) -> None:
    namespace = kubectl.namespace
    kubectl.apply(deployment(), config_map("a"))
    deleted = kubectl("delete", "namespace", namespace)
    assert f'namespace "{namespace}" deleted' in deleted
    assert "NotFound" in error_of(kubectl, "get", "namespace", namespace)
    assert "No resources found" in kubectl.run("get", "cm,deploy").stderr
    error = error_of(kubectl, "delete", "namespace", "default")
    message = 'namespaces "default" is forbidden: this namespace may not be deleted'
    assert message in error


def test_a_finalizer_delays_the_deletion_of_its_namespace(kubectl: Kubectl) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    kubectl.apply(held)
    namespace = kubectl.namespace
    kubectl("delete", "namespace", namespace, "--wait=false")
    wait = ("wait", "--timeout=30s")
    with kubectl.start(*wait, f"namespace/{namespace}", "--for=delete") as waiting:
        kubectl(*wait, "cm/held", "--for=jsonpath={.metadata.deletionTimestamp}")
        live = kubectl.server.get(f"/api/v1/namespaces/{namespace}")
        assert live["status"]["phase"] == "Terminating"
        late = manifest(config_map("late"))
        error = error_of(kubectl, "create", "-f", "-", stdin=late)
        assert "because it is being terminated" in error
        merge_patch(kubectl, "cm", "held", {"metadata": {"finalizers": None}})
        _, error = waiting.communicate(timeout=60)
    assert (waiting.returncode, error) == (0, "")


def definition(group: str) -> dict[str, Any]:
    spec = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "default": "slow"},
            "replicas": {"type": "integer"},
            "items": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["size"],
    }
    served = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": spec,
                    "status": {
                        "type": "object",
                        "properties": {"replicas": {"type": "integer"}},
                    },
                },
            }
        },
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
            },
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
        ],
    }
    names = {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "shortNames": ["wd"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "versions": [served],
        },
    }


def widget(group: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": spec,
    }


def test_the_life_of_a_custom_resource_and_its_definition(kubectl: Kubectl) -> None:
    group = "one.example.com"
    crd = f"customresourcedefinition.apiextensions.k8s.io/widgets.{group}"
    assert kubectl.apply(definition(group)) == f"{crd} created\n"
    established = ("--for=condition=Established", "--timeout=10s")
    assert kubectl("wait", crd, *established) == f"{crd} condition met\n"
    assert kubectl.apply(definition(group)) == f"{crd} unchanged\n"

    first = widget(group, size=3, items=["a", "b"])
    assert kubectl.apply(first) == f"widget.{group}/w created\n"
    second = widget(group, size=4, items=["b"])
    assert kubectl.apply(second) == f"widget.{group}/w configured\n"
    assert kubectl.apply(second) == f"widget.{group}/w unchanged\n"
    live = kubectl.live(f"widgets.{group}/v1", "w")
    assert live["spec"] == {"size": 4, "mode": "slow", "items": ["b"]}
    table = [line.split() for line in kubectl("get", "widgets").splitlines()]
    assert table == [["NAME", "SIZE"], ["w", "4"]]
    assert "FIELDS:" in kubectl("explain", "widget.spec")

    apply = ("apply", "-f", "-")
    error = error_of(kubectl, *apply, stdin=manifest(widget(group, size=0)))
    assert 'The Widget "w" is invalid: spec.size: Invalid value: 0' in error
    error = error_of(kubectl, *apply, stdin=manifest(widget(group)))
    assert "spec.size: Required value" in error

    merge_patch(kubectl, "widget", "w", {"spec": {"replicas": 1}})
    assert kubectl("scale", "widget/w", "--replicas=3") == f"widget.{group}/w scaled\n"
    status = {"status": {"replicas": 3}}
    merge_patch(kubectl, "widget", "w", status, "--subresource=status")
    live = kubectl.live(f"widgets.{group}/v1", "w")
    assert (live["spec"]["replicas"], live["status"]) == (3, {"replicas": 3})
    assert live["metadata"]["generation"] == 4

    strategic = ("--type=strategic", "-p", '{"spec":{"size":9}}')
    error = error_of(kubectl, "patch", "widget", "w", *strategic)
    assert f"is not supported by {group}/v1, Kind=Widget" in error

    deleted = kubectl("delete", "crd", f"widgets.{group}")
    assert deleted.startswith("customresourcedefinition")
    error = error_of(kubectl, "get", f"widgets.{group}")
    assert "the server doesn't have a resource type" in error
    # A new definition of that name has no objects.
    kubectl.apply(definition(group))
    assert "No resources found" in kubectl.run("get", f"widgets.{group}").stderr
