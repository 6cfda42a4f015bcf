"""The real kubectl against a server process: namespaces, finalizers, definitions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.kubectl import needs_kubectl
from tests.support.server_app import config_map, deployment
from tests.support.server_process import Kubectl, manifest

pytestmark = [needs_kubectl, pytest.mark.slow]


def test_a_namespace_is_deleted_with_its_objects(kubectl: Kubectl) -> None:
    namespace = kubectl.namespace
    kubectl.apply(deployment(), config_map("a"))
    assert f'namespace "{namespace}" deleted' in kubectl(
        "delete", "namespace", namespace
    )
    assert "NotFound" in kubectl.run("get", "namespace", namespace).stderr
    assert "No resources found" in kubectl.run("get", "cm,deploy").stderr
    refused = kubectl.run("delete", "namespace", "default")
    assert (
        'namespaces "default" is forbidden: this namespace may not be deleted'
        in refused.stderr
    )


def test_a_finalizer_delays_the_deletion_of_its_namespace(kubectl: Kubectl) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    kubectl.apply(held)
    namespace = kubectl.namespace
    kubectl("delete", "namespace", namespace, "--wait=false")
    with kubectl.start(
        "wait", f"namespace/{namespace}", "--for=delete", "--timeout=30s"
    ) as waiting:
        kubectl(
            "wait",
            "cm/held",
            "--for=jsonpath={.metadata.deletionTimestamp}",
            "--timeout=30s",
        )
        assert (
            kubectl.server.get(f"/api/v1/namespaces/{namespace}")["status"]["phase"]
            == "Terminating"
        )
        refused = kubectl.run("create", "-f", "-", given=manifest(config_map("late")))
        assert "because it is being terminated" in refused.stderr
        kubectl(
            "patch",
            "cm",
            "held",
            "--type=merge",
            "-p",
            json.dumps({"metadata": {"finalizers": None}}),
        )
        assert waiting.communicate(timeout=30)[1] == ""
    assert waiting.returncode == 0


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
    assert (
        kubectl("wait", crd, "--for=condition=Established", "--timeout=10s")
        == f"{crd} condition met\n"
    )
    assert kubectl.apply(definition(group)) == f"{crd} unchanged\n"
    assert (
        kubectl.apply(widget(group, size=3, items=["a", "b"]))
        == f"widget.{group}/w created\n"
    )
    assert (
        kubectl.apply(widget(group, size=4, items=["b"]))
        == f"widget.{group}/w configured\n"
    )
    assert (
        kubectl.apply(widget(group, size=4, items=["b"]))
        == f"widget.{group}/w unchanged\n"
    )
    assert kubectl.live(f"widgets.{group}/v1", "w")["spec"] == {
        "size": 4,
        "mode": "slow",
        "items": ["b"],
    }
    assert [line.split() for line in kubectl("get", "widgets").splitlines()] == [
        ["NAME", "SIZE"],
        ["w", "4"],
    ]
    invalid = kubectl.run("apply", "-f", "-", given=manifest(widget(group, size=0)))
    assert 'The Widget "w" is invalid: spec.size: Invalid value: 0' in invalid.stderr
    assert (
        "spec.size: Required value"
        in kubectl.run("apply", "-f", "-", given=manifest(widget(group))).stderr
    )
    assert "FIELDS:" in kubectl("explain", "widget.spec")
    kubectl("patch", "widget", "w", "--type=merge", "-p", '{"spec":{"replicas":1}}')
    assert kubectl("scale", "widget/w", "--replicas=3") == f"widget.{group}/w scaled\n"
    kubectl(
        "patch",
        "widget",
        "w",
        "--subresource=status",
        "--type=merge",
        "-p",
        '{"status":{"replicas":3}}',
    )
    live = kubectl.live(f"widgets.{group}/v1", "w")
    assert (
        live["spec"]["replicas"],
        live["status"],
        live["metadata"]["generation"],
    ) == (3, {"replicas": 3}, 4)
    strategic = kubectl.run(
        "patch", "widget", "w", "--type=strategic", "-p", '{"spec":{"size":9}}'
    )
    assert strategic.returncode == 1
    assert f"is not supported by {group}/v1, Kind=Widget" in strategic.stderr
    assert kubectl("delete", "crd", f"widgets.{group}").startswith(
        "customresourcedefinition"
    )
    assert (
        "the server doesn't have a resource type"
        in kubectl.run("get", f"widgets.{group}").stderr
    )
    kubectl.apply(definition(group))
    assert "No resources found" in kubectl.run("get", f"widgets.{group}").stderr
