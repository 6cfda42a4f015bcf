"""The real kubectl against a server process: the commands that change objects.

What is expected is what kubectl prints and does with a Kubernetes API server: its
messages and its exit codes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import needs_kubectl
from tests.support.kubectl_objects import (
    error_of,
    image_of,
    live_deployment,
    merge_patch,
    version_of,
)
from tests.support.server_app import config_map, deployment
from tests.support.server_process import Kubectl, manifest

pytestmark = [needs_kubectl, pytest.mark.slow]


def test_apply_creates_then_changes_then_is_unchanged(kubectl: Kubectl) -> None:
    assert kubectl.apply(deployment()) == "deployment.apps/web created\n"
    assert version_of(kubectl)[1] == 1
    assert kubectl.apply(deployment("nginx:1.26")) == "deployment.apps/web configured\n"
    before = version_of(kubectl)
    assert before[1] == 2
    assert kubectl.apply(deployment("nginx:1.26")) == "deployment.apps/web unchanged\n"
    assert version_of(kubectl) == before
    assert image_of(kubectl) == "nginx:1.26"


def test_the_exit_code_of_diff_shows_whether_apply_would_change_something(
    kubectl: Kubectl,
) -> None:
    kubectl.apply(deployment())
    before = version_of(kubectl)
    assert kubectl.run("diff", "-f", "-", stdin=manifest(deployment())).returncode == 0
    changed = kubectl.run("diff", "-f", "-", stdin=manifest(deployment("nginx:1.26")))
    assert changed.returncode == 1
    assert re.search(r"^-.*nginx:1.25\n\+.*nginx:1.26$", changed.stdout, re.MULTILINE)
    added = manifest(config_map("new", a="b"))
    assert kubectl.run("diff", "-f", "-", stdin=added).returncode == 1
    assert version_of(kubectl) == before
    assert kubectl("get", "cm", "-o", "name") == ""


def test_apply_of_a_list_and_of_several_documents(kubectl: Kubectl) -> None:
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [config_map("a"), deployment()],
    }
    assert kubectl.apply(listed, config_map("b")).splitlines() == [
        "configmap/a created",
        "deployment.apps/web created",
        "configmap/b created",
    ]


def test_manifests_that_kubectl_prints_are_unchanged_when_applied_again(
    kubectl: Kubectl,
) -> None:
    dry = ("--dry-run=client", "-o", "yaml")
    printed = [
        kubectl("create", "job", "j", "--image=x", *dry),
        kubectl("create", "service", "clusterip", "s", "--tcp=80", *dry),
        kubectl("create", "ingress", "i", "--rule=a.example.com/=s:80", *dry),
        kubectl("create", "deployment", "d", "--image=x", *dry),
    ]
    documents = "---\n".join(printed)
    first = kubectl("apply", "-f", "-", stdin=documents)
    assert first.count(" created\n") == len(printed)
    second = kubectl("apply", "-f", "-", stdin=documents)
    assert second.count(" unchanged\n") == len(printed)


def test_apply_prune_deletes_objects_that_are_no_longer_applied(
    kubectl: Kubectl,
) -> None:
    labels = {"part": "of-it"}
    kubectl.apply(config_map("a", labels), config_map("b", labels), config_map("c"))
    printed = kubectl.apply(
        config_map("a", labels), options=("--prune", "-l", "part=of-it")
    )
    assert "configmap/b pruned" in printed
    assert kubectl("get", "cm", "-o", "name").split() == ["configmap/a", "configmap/c"]


NEW_IMAGE = {"spec": {"containers": [{"name": "app", "image": "nginx:2"}]}}
REPLACE_IMAGE = {
    "op": "replace",
    "path": "/spec/template/spec/containers/0/image",
    "value": "nginx:2",
}


@pytest.mark.parametrize(
    ("patch_type", "patch"),
    [
        ("strategic", {"spec": {"template": NEW_IMAGE}}),
        ("merge", {"spec": {"template": NEW_IMAGE}}),
        ("json", [REPLACE_IMAGE]),
    ],
)
def test_patch_of_each_type(kubectl: Kubectl, patch_type: str, patch: Any) -> None:
    kubectl.apply(deployment())
    before = version_of(kubectl)
    arguments = (
        "patch",
        "deploy",
        "web",
        "--type",
        patch_type,
        "-p",
        json.dumps(patch),
    )
    assert kubectl(*arguments, "--dry-run=server") == "deployment.apps/web patched\n"
    assert version_of(kubectl) == before
    assert kubectl(*arguments) == "deployment.apps/web patched\n"
    assert image_of(kubectl) == "nginx:2"
    assert version_of(kubectl)[1] == 2
    after = version_of(kubectl)
    assert kubectl(*arguments) == "deployment.apps/web patched (no change)\n"
    assert version_of(kubectl) == after


def test_patch_of_status_changes_nothing_else(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    patch = {"status": {"replicas": 2, "readyReplicas": 1}, "spec": {"replicas": 9}}
    merge_patch(kubectl, "deploy", "web", patch, "--subresource=status")
    merge_patch(kubectl, "deploy", "web", {"status": {"replicas": 7}})
    live = live_deployment(kubectl)
    assert live["status"] == {"replicas": 2, "readyReplicas": 1}
    assert (live["spec"]["replicas"], live["metadata"]["generation"]) == (2, 1)


def test_edit_changes_the_object(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(deployment())
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i s/nginx:1.25/nginx:1.99/ $1\n")
    editor.chmod(0o755)
    edited = kubectl("edit", "deploy", "web", KUBE_EDITOR=str(editor))
    assert edited == "deployment.apps/web edited\n"
    assert image_of(kubectl) == "nginx:1.99"
    again = kubectl.run("edit", "deploy", "web", KUBE_EDITOR=str(editor))
    assert "no changes made" in again.stderr


def test_edit_of_an_invalid_value_is_cancelled(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    kubectl.apply(deployment())
    editor = tmp_path / "editor"
    script = 's/  name: web$/  name: web\\n  labels: {a: "not valid!"}/'
    editor.write_text(f"#!/bin/sh\nsed -i '{script}' $1\n")
    editor.chmod(0o755)
    refused = kubectl.run(
        "edit", "deploy", "web", KUBE_EDITOR=str(editor), TMPDIR=str(tmp_path)
    )
    assert refused.returncode == 1
    assert 'deployments.apps "web" is invalid' in refused.stderr
    # kubectl leaves a copy of what was edited, with the error as a comment.
    copies = [file.read_text() for file in tmp_path.glob("kubectl-edit-*.yaml")]
    assert any("metadata.labels: Invalid value" in copy for copy in copies)


def test_label_annotate_set_image_and_restart(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    for arguments, outcome in (
        (("label", "deploy", "web", "tier=front"), "labeled"),
        (("label", "deploy", "web", "tier=front"), "not labeled"),
        (("annotate", "deploy", "web", "note=x"), "annotated"),
        (("set", "image", "deploy/web", "app=nginx:3"), "image updated"),
        (("set", "env", "deploy/web", "A=b"), "env updated"),
        (("rollout", "restart", "deploy/web"), "restarted"),
    ):
        assert kubectl(*arguments) == f"deployment.apps/web {outcome}\n"
    error = error_of(kubectl, "label", "deploy", "web", "tier=back")
    assert "already has a value" in error
    unlabeled = kubectl("label", "deploy", "web", "tier-")
    assert unlabeled == "deployment.apps/web unlabeled\n"
    live = live_deployment(kubectl)
    (container,) = live["spec"]["template"]["spec"]["containers"]
    assert (container["name"], container["image"]) == ("app", "nginx:3")
    assert container["env"] == [{"name": "A", "value": "b"}]
    assert live["metadata"]["annotations"]["note"] == "x"
    assert not live["metadata"].get("labels")


def test_scale_sets_the_replicas(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    scale_web = ("scale", "deploy/web")
    scaled = "deployment.apps/web scaled\n"
    assert kubectl(*scale_web, "--replicas=5") == scaled
    error = error_of(kubectl, *scale_web, "--replicas=1", "--current-replicas=2")
    assert "Expected replicas to be 2, was 5" in error
    assert kubectl(*scale_web, "--replicas=1", "--current-replicas=5") == scaled
    scale = kubectl.live("deployments.apps/v1", "web/scale")
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 1})
    assert scale["status"]["selector"] == "app=web"


def test_replace_of_an_old_version_is_a_conflict(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    live = live_deployment(kubectl)
    replacement = manifest(deployment("nginx:4"))
    replaced = kubectl("replace", "-f", "-", stdin=replacement)
    assert replaced == "deployment.apps/web replaced\n"
    error = error_of(kubectl, "replace", "-f", "-", stdin=manifest(live))
    assert "Error from server (Conflict)" in error
    assert "Operation cannot be fulfilled on deployments.apps" in error
    assert image_of(kubectl) == "nginx:4"
    uid = live_deployment(kubectl)["metadata"]["uid"]
    replacement = manifest(deployment("nginx:5"))
    forced = kubectl("replace", "--force", "-f", "-", stdin=replacement)
    assert forced.splitlines()[-1] == "deployment.apps/web replaced"
    assert live_deployment(kubectl)["metadata"]["uid"] != uid


def test_create_run_expose_and_delete(kubectl: Kubectl) -> None:
    assert kubectl("run", "pod", "--image=nginx", "--port=80") == "pod/pod created\n"
    assert kubectl("expose", "pod", "pod", "--port=80") == "service/pod exposed\n"
    twice = manifest(config_map("a"), config_map("a"))
    error = error_of(kubectl, "create", "-f", "-", stdin=twice)
    message = 'error when creating "STDIN": configmaps "a" already exists'
    assert f"Error from server (AlreadyExists): {message}" in error
    create = ("create", "-o", "name", "-f", "-")
    assert kubectl(*create, stdin=manifest(config_map("x"))) == "configmap/x\n"
    generated = {**config_map("x"), "metadata": {"generateName": "some-"}}
    names = {kubectl(*create, stdin=manifest(generated)) for _ in range(2)}
    assert len(names) == 2
    for name in names:
        assert re.fullmatch(r"configmap/some-[a-z0-9]{5}\n", name)
    assert 'configmap "a" deleted' in kubectl("delete", "cm", "a")
    assert 'configmaps "a" not found' in error_of(kubectl, "delete", "cm", "a")
    kubectl("delete", "cm,pods,svc", "--all")
    assert "No resources found" in kubectl.run("get", "cm,pods,svc").stderr


def test_apply_clears_a_union_member_that_another_client_has_set(
    kubectl: Kubectl,
) -> None:
    """A plain merge would keep rollingUpdate, which was not in what was applied."""
    template = deployment()["spec"]["template"]
    stateful: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "web"}},
            "template": template,
            "updateStrategy": {"type": "RollingUpdate"},
        },
    }
    kubectl.apply(stateful)
    defaulted = {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}
    kubectl("patch", "sts", "db", "-p", json.dumps(defaulted))
    stateful["spec"]["updateStrategy"] = {"type": "OnDelete"}
    assert kubectl.apply(stateful) == "statefulset.apps/db configured\n"
    live = kubectl.live("statefulsets.apps/v1", "db")
    assert live["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert kubectl.apply(stateful) == "statefulset.apps/db unchanged\n"


def test_concurrent_patches_by_kubectl_are_all_stored(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("shared"))
    keys = [f"k{number}" for number in range(6)]
    patch = ("patch", "cm", "shared", "--type=merge", "-p")
    processes = [
        kubectl.start(*patch, json.dumps({"data": {key: "v"}})) for key in keys
    ]
    for process in processes:
        with process:
            _, error = process.communicate(timeout=60)
            assert error == ""
    stored = kubectl.live("configmaps.v1", "shared")
    assert sorted(stored["data"]) == keys
