"""The real kubectl against a server process: the commands that read, and errors."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.kubectl import needs_kubectl
from tests.support.kubectl_objects import live_deployment
from tests.support.server_app import config_map, deployment
from tests.support.server_process import Kubectl, ServerProcess, manifest

pytestmark = [needs_kubectl, pytest.mark.slow]


def test_get_prints_tables_and_documents(kubectl: Kubectl) -> None:
    kubectl.apply(
        deployment(),
        config_map("a", {"x": "1"}, k="v"),
        config_map("b", {"x": "2"}, k="v", m="w"),
    )
    table = [line.split() for line in kubectl("get", "deploy").splitlines()]
    assert table[0] == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert table[1][:4] == ["web", "0/2", "0", "0"]
    wide = [
        line.split() for line in kubectl("get", "deploy", "-o", "wide").splitlines()
    ]
    assert wide[0][5:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert wide[1][5:] == ["app", "nginx:1.25", "app=web"]
    assert [line.split()[:2] for line in kubectl("get", "cm").splitlines()] == [
        ["NAME", "DATA"],
        ["a", "1"],
        ["b", "2"],
    ]
    assert kubectl("get", "cm", "-l", "x in (2,3)", "-o", "name") == "configmap/b\n"
    assert (
        kubectl("get", "cm", "--field-selector", "metadata.name!=a", "-o", "name")
        == "configmap/b\n"
    )
    assert (
        kubectl("get", "cm", "--chunk-size=1", "-o", "name")
        == "configmap/a\nconfigmap/b\n"
    )
    assert kubectl("get", "cm", "a", "-o", "yaml").startswith(
        "apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n"
    )
    assert json.loads(kubectl("get", "cm", "-o", "json"))["kind"] == "List"
    assert (
        kubectl("get", "cm", "-o", "custom-columns=N:.metadata.name", "--no-headers")
        == "a\nb\n"
    )
    assert "web" in kubectl("get", "all")


def test_watch_shows_changes_as_they_happen(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("a", k="v"))
    with kubectl.start(
        "get", "cm", "-w", "--output-watch-events", "--no-headers"
    ) as watching:
        assert watching.stdout
        lines = (line.split()[:3] for line in watching.stdout)
        assert next(lines) == ["ADDED", "a", "1"]
        kubectl.apply(config_map("b"))
        assert next(lines) == ["ADDED", "b", "0"]
        kubectl.apply(config_map("a", k="v", l="w"))
        assert next(lines) == ["MODIFIED", "a", "2"]
        kubectl("delete", "cm", "b")
        assert next(lines) == ["DELETED", "b", "0"]
        watching.terminate()


def test_watch_prints_one_header(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("a", k="v"))
    with kubectl.start("get", "cm", "-w") as watching:
        assert watching.stdout
        assert next(watching.stdout).split() == ["NAME", "DATA", "AGE"]
        assert next(watching.stdout).split()[:2] == ["a", "1"]
        kubectl.apply(config_map("b"))
        assert next(watching.stdout).split()[:2] == ["b", "0"]
        watching.terminate()


def test_wait_for_a_condition_and_for_deletion(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    with kubectl.start(
        "wait", "deploy/web", "--for=condition=Available", "--timeout=30s"
    ) as waiting:
        condition = {"type": "Available", "status": "True"}
        status = json.dumps({"status": {"conditions": [condition]}})
        kubectl(
            "patch",
            "deploy",
            "web",
            "--subresource=status",
            "--type=merge",
            "-p",
            status,
        )
        out, err = waiting.communicate(timeout=30)
    assert (out, err) == ("deployment.apps/web condition met\n", "")
    with kubectl.start(
        "wait", "deploy/web", "--for=delete", "--timeout=30s"
    ) as waiting:
        kubectl("delete", "deploy", "web")
        assert waiting.communicate(timeout=30)[1] == ""
    assert waiting.returncode == 0


def test_rollout_status_waits_for_the_replicas(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    with kubectl.start("rollout", "status", "deploy/web", "--timeout=30s") as waiting:
        counts = dict.fromkeys(
            ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 2
        )
        status = json.dumps({"status": {"observedGeneration": 1, **counts}})
        kubectl(
            "patch",
            "deploy",
            "web",
            "--subresource=status",
            "--type=merge",
            "-p",
            status,
        )
        out, _ = waiting.communicate(timeout=30)
    assert out.splitlines()[-1] == 'deployment "web" successfully rolled out'


def test_explain_version_and_api_resources(kubectl: Kubectl) -> None:
    explained = kubectl("explain", "deployment.spec.strategy")
    assert "FIELD: strategy <DeploymentStrategy>" in explained
    assert re.search(
        r"^  rollingUpdate\t<RollingUpdateDeployment>$", explained, re.MULTILINE
    )
    assert "Server Version: v1.37" in kubectl("version")
    listed = kubectl("api-resources", "--no-headers")
    assert re.search(
        r"^deployments +deploy +apps/v1 +true +Deployment$", listed, re.MULTILINE
    )
    assert "apps/v1" in kubectl("api-versions").split()


def test_errors_are_printed_as_those_of_an_api_server(kubectl: Kubectl) -> None:
    bogus = deployment(bogus=1)
    strict = kubectl.run("apply", "-f", "-", given=manifest(bogus))
    assert 'strict decoding error: unknown field "spec.bogus"' in strict.stderr
    warned = kubectl.run("apply", "--validate=warn", "-f", "-", given=manifest(bogus))
    assert 'Warning: unknown field "spec.bogus"' in warned.stderr
    assert warned.returncode == 0
    assert "bogus" not in live_deployment(kubectl)["spec"]
    keyless = json.dumps(
        {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}
    )
    refused = kubectl.run("patch", "deploy", "web", "-p", keyless)
    assert "Error from server (BadRequest)" in refused.stderr
    assert (
        'deployments.apps "other" not found'
        in kubectl.run("get", "deploy", "other").stderr
    )
    elsewhere = Kubectl(kubectl.server, kubectl.home, "nowhere")
    missing = elsewhere.run("create", "-f", "-", given=manifest(config_map("a")))
    assert 'namespaces "nowhere" not found' in missing.stderr
    invalid = kubectl.run("apply", "-f", "-", given=manifest(config_map("Not_Valid")))
    assert (
        'The ConfigMap "Not_Valid" is invalid: metadata.name: Invalid value: "Not_Valid"'
        in invalid.stderr
    )
    unknown = kubectl.run("get", "wonders")
    assert "the server doesn't have a resource type" in unknown.stderr


def test_the_kubeconfig_is_readable_by_its_owner_only(
    kubectl_server: ServerProcess,
) -> None:
    assert kubectl_server.kubeconfig.stat().st_mode & 0o777 == 0o600
