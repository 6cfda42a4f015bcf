"""The real kubectl against a server process: the commands that read, and errors."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.kubectl import needs_kubectl
from tests.support.kubectl_objects import error_of, live_deployment, merge_patch
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
    text = kubectl("get", "deploy", "-o", "wide")
    head, row = [line.split() for line in text.splitlines()]
    assert head[5:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert row[5:] == ["app", "nginx:1.25", "app=web"]
    rows = [line.split()[:2] for line in kubectl("get", "cm").splitlines()]
    assert rows == [["NAME", "DATA"], ["a", "1"], ["b", "2"]]
    names = ("get", "cm", "-o", "name")
    assert kubectl(*names, "-l", "x in (2,3)") == "configmap/b\n"
    by_field = kubectl(*names, "--field-selector", "metadata.name!=a")
    assert by_field == "configmap/b\n"
    assert kubectl(*names, "--chunk-size=1") == "configmap/a\nconfigmap/b\n"
    document = kubectl("get", "cm", "a", "-o", "yaml")
    assert document.startswith("apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n")
    assert json.loads(kubectl("get", "cm", "-o", "json"))["kind"] == "List"
    columns = ("-o", "custom-columns=N:.metadata.name", "--no-headers")
    assert kubectl("get", "cm", *columns) == "a\nb\n"
    assert "deployment.apps/web" in kubectl("get", "all")


def test_watch_shows_changes_as_they_happen(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("a", k="v"))
    options = ("-w", "--output-watch-events", "--no-headers")
    with kubectl.start("get", "cm", *options) as watching:
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
    wait = ("wait", "deploy/web", "--timeout=30s")
    with kubectl.start(*wait, "--for=condition=Available") as waiting:
        condition = {"type": "Available", "status": "True"}
        patch = {"status": {"conditions": [condition]}}
        merge_patch(kubectl, "deploy", "web", patch, "--subresource=status")
        output, error = waiting.communicate(timeout=60)
    assert (output, error) == ("deployment.apps/web condition met\n", "")
    with kubectl.start(*wait, "--for=delete") as waiting:
        kubectl("delete", "deploy", "web")
        _, error = waiting.communicate(timeout=60)
    assert (waiting.returncode, error) == (0, "")


def test_rollout_status_waits_for_the_replicas(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    with kubectl.start("rollout", "status", "deploy/web", "--timeout=30s") as waiting:
        status = {
            "observedGeneration": 1,
            "replicas": 2,
            "updatedReplicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
        }
        patch = {"status": status}
        merge_patch(kubectl, "deploy", "web", patch, "--subresource=status")
        output, _ = waiting.communicate(timeout=60)
    assert output.splitlines()[-1] == 'deployment "web" successfully rolled out'


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
    apply = ("apply", "-f", "-")
    bogus = manifest(deployment(bogus=1))
    error = error_of(kubectl, *apply, stdin=bogus)
    assert 'strict decoding error: unknown field "spec.bogus"' in error
    warned = kubectl.run(*apply, "--validate=warn", stdin=bogus)
    assert 'Warning: unknown field "spec.bogus"' in warned.stderr
    assert warned.returncode == 0
    assert "bogus" not in live_deployment(kubectl)["spec"]
    template = {"spec": {"containers": [{"image": "x"}]}}  # without a merge key
    patch = json.dumps({"spec": {"template": template}})
    error = error_of(kubectl, "patch", "deploy", "web", "-p", patch)
    assert "Error from server (BadRequest)" in error
    error = error_of(kubectl, "get", "deploy", "other")
    assert 'deployments.apps "other" not found' in error
    elsewhere = Kubectl(kubectl.server, kubectl.home, "nowhere")
    error = error_of(elsewhere, "create", "-f", "-", stdin=manifest(config_map("a")))
    assert 'namespaces "nowhere" not found' in error
    error = error_of(kubectl, *apply, stdin=manifest(config_map("Not_Valid")))
    assert 'The ConfigMap "Not_Valid" is invalid: metadata.name: Invalid value' in error
    assert 'Invalid value: "Not_Valid"' in error
    error = error_of(kubectl, "get", "wonders")
    assert "the server doesn't have a resource type" in error


def test_the_kubeconfig_is_readable_by_its_owner_only(
    kubectl_server: ServerProcess,
) -> None:
    assert kubectl_server.kubeconfig.stat().st_mode & 0o777 == 0o600
