"""Unions on the server, by what kubectl sends to change a discriminator."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import needs_kubectl
from tests.support.kubectl_objects import error_of, live_deployment
from tests.support.server_process import Kubectl, manifest, serving

pytestmark = [needs_kubectl, pytest.mark.slow]

ROLLING: dict[str, Any] = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1},
}
LEFTOVER = {**ROLLING, "type": "Recreate"}


def deployment(strategy: dict[str, Any]) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "nginx"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": strategy,
            "template": template,
        },
    }


def edit(kubectl: Kubectl, tmp_path: Path, resource: str, name: str, sed: str) -> None:
    """Change an object in an editor that runs a command of sed."""
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\nsed -i '{sed}' $1\n")
    editor.chmod(0o755)
    printed = kubectl("edit", resource, name, KUBE_EDITOR=str(editor))
    assert printed.endswith(" edited\n")


Change = Callable[[Kubectl, Path], object]
CHANGES: dict[str, Change] = {
    "edit": lambda kubectl, tmp_path: edit(
        kubectl, tmp_path, "deployment", "web", "s/type: RollingUpdate/type: Recreate/"
    ),
    "apply": lambda kubectl, _: kubectl.apply(deployment({"type": "Recreate"})),
    "replace": lambda kubectl, _: kubectl(
        "replace", "-f", "-", stdin=manifest(deployment(LEFTOVER))
    ),
    "strategic patch": lambda kubectl, _: patch(
        kubectl, "strategic", {"spec": {"strategy": {"type": "Recreate"}}}
    ),
    "merge patch": lambda kubectl, _: patch(
        kubectl, "merge", {"spec": {"strategy": {"type": "Recreate"}}}
    ),
    "JSON patch": lambda kubectl, _: patch(
        kubectl,
        "json",
        [{"op": "replace", "path": "/spec/strategy/type", "value": "Recreate"}],
    ),
}


def patch(kubectl: Kubectl, patch_type: str, body: object) -> str:
    text = json.dumps(body)
    return kubectl("patch", "deployment", "web", f"--type={patch_type}", "-p", text)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_each_way_to_change_the_discriminator_clears_the_former_member(
    kubectl: Kubectl, tmp_path: Path, change: Change
) -> None:
    kubectl.apply(deployment(ROLLING))
    change(kubectl, tmp_path)
    live = live_deployment(kubectl)
    assert live["spec"]["strategy"] == {"type": "Recreate"}


def test_an_apply_of_a_manifest_that_contradicts_itself_is_refused(
    kubectl: Kubectl,
) -> None:
    """As by a server without unions, and as when the object is created."""
    kubectl.apply(deployment(ROLLING))
    for _ in range(2):
        refused = kubectl.run("apply", "-f", "-", stdin=manifest(deployment(LEFTOVER)))
        assert "spec.strategy.rollingUpdate: Forbidden" in refused.stderr
        assert live_deployment(kubectl)["spec"]["strategy"] == ROLLING


def test_a_source_added_to_a_volume_by_edit_replaces_the_former_one(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    # Those of a Pod are immutable.
    web = deployment(ROLLING)
    pod_spec = web["spec"]["template"]["spec"]
    pod_spec["volumes"] = [{"name": "data", "emptyDir": {"medium": "Memory"}}]
    kubectl.apply(web)
    added = "s/^\\( *\\)- emptyDir:/\\1- hostPath: {path: \\/data}\\n\\1  emptyDir:/"
    edit(kubectl, tmp_path, "deployment", "web", added)
    assert live_deployment(kubectl)["spec"]["template"]["spec"]["volumes"] == [
        {"name": "data", "hostPath": {"path": "/data", "type": ""}}
    ]


def test_a_member_that_a_patch_sets_and_excludes_is_cleared_or_refused(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    kubectl.apply(deployment(ROLLING))
    strategy = {"type": "Recreate", "rollingUpdate": {"maxSurge": 2}}
    body = json.dumps({"spec": {"strategy": strategy}})
    run = kubectl.run("patch", "deployment", "web", "-p", body)
    assert "Warning: spec.strategy.rollingUpdate: the patch sets this" in run.stderr
    live = live_deployment(kubectl)
    assert live["spec"]["strategy"] == {"type": "Recreate"}

    with serving(tmp_path, "--on-conflict", "error") as strict:
        kubectl = Kubectl(strict, tmp_path / "home")
        kubectl.apply(deployment(ROLLING))
        refused = error_of(kubectl, "patch", "deployment", "web", "-p", body)
        assert "asks for another one" in refused
