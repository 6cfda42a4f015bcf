"""Which objects take part: -n, -l, --include-kind, and -k."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.command import config_map, run
from tests.support.kubectl import kubectl_path, needs_kubectl

SERVICE = (
    "apiVersion: v1\nkind: Service\n"
    "metadata: {name: web, labels: {app: web, tier: front}}\n"
)
DEPLOYMENT = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {app: web}}\n"
)
ROLE = (
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n"
)
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgetses, shortNames: [wi]}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""
MANY = f"{SERVICE}---\n{DEPLOYMENT}---\n{ROLE}---\n{WIDGET}"


@pytest.fixture(autouse=True)
def files(directory: Path) -> None:
    (directory / "many.yaml").write_text(MANY)
    (directory / "crd.yaml").write_text(DEFINITION)


def taken(*options: str, path: str = "many.yaml") -> list[str]:
    """Return the kinds, with their namespaces, that an apply prints."""
    ran = run("apply", "-f", path, "--format", "json", *options)
    # A server would refuse most of them, as they have no spec.
    assert ran.exit_code in (0, 2), ran.stderr
    return [
        f"{record['namespace']}/{record['kind']}" for record in json.loads(ran.stdout)
    ]


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["deploy"], ["Deployment"]),
        (["deployments"], ["Deployment"]),
        (["deployment"], ["Deployment"]),
        (["Deployment.apps"], ["Deployment"]),
        (["deployments.v1.apps"], ["Deployment"]),
        (["svc", "clusterroles"], ["Service", "ClusterRole"]),
        (["widget"], ["Widget"]),
        (["widgets.example.com"], ["Widget"]),
        (["deploy.example.com", "po", "wi", "widgetses"], []),
    ],
)
def test_kinds_are_included_by_the_names_of_kubectl(
    names: list[str], kinds: list[str]
) -> None:
    options = [option for name in names for option in ("--include-kind", name)]
    if not kinds:
        options += ["--crd", "crd.yaml"]
        kinds = ["Widget"]
    assert [kind.partition("/")[2] for kind in taken(*options)] == kinds


def test_a_kind_that_nothing_has_is_an_error() -> None:
    ran = run("apply", "-f", "many.yaml", "--include-kind", "deploymnt")
    assert ran.exit_code == 2
    assert "did you mean deployment" in ran.stderr


@pytest.mark.parametrize(
    ("selector", "kinds"),
    [
        ("app=web", ["Service", "Deployment"]),
        ("app==web,tier!=front", ["Deployment"]),
        ("tier", ["Service"]),
        ("!app", ["ClusterRole", "Widget"]),
        ("tier in (front,back)", ["Service"]),
        ("tier notin (front)", ["Deployment", "ClusterRole", "Widget"]),
        ("", ["Service", "Deployment", "ClusterRole", "Widget"]),
    ],
)
def test_labels_select_objects(selector: str, kinds: list[str]) -> None:
    assert [kind.partition("/")[2] for kind in taken("-l", selector)] == kinds


def test_labels_select_what_is_removed_by_a_diff() -> None:
    Path("empty.yaml").write_text(WIDGET)
    ran = run("diff", "many.yaml", "empty.yaml", "-l", "tier=front", "--stat")
    assert ran.stdout == "v1 Service web: to be removed\n1 object: 1 removed\n"


def test_a_bad_selector_is_refused() -> None:
    ran = run("apply", "-f", "many.yaml", "-l", "a=b,c d")
    assert ran.exit_code == 2
    assert "unable to parse" in ran.output


def test_a_namespace_is_that_of_objects_that_leave_it_out() -> None:
    kinds = ["shop/Service", "shop/Deployment", "/ClusterRole"]
    assert taken("-n", "shop") == [*kinds, "shop/Widget"]
    assert taken("-n", "shop", "--crd", "crd.yaml") == [*kinds, "/Widget"]
    ran = run("apply", "-f", "many.yaml", "-n", "shop", "--include-kind", "svc")
    assert "namespace: shop" in ran.stdout


@needs_kubectl
def test_an_object_of_another_namespace_is_an_error_as_in_kubectl() -> None:
    Path("mixed.yaml").write_text(config_map("a", "there") + config_map("b"))
    ran = run("apply", "-f", "mixed.yaml", "-n", "here")
    assert ran.exit_code == 3
    assert "name: b" in ran.stdout
    # Go: k8s.io/cli-runtime, pkg/resource/visitor.go, RequireNamespace.
    assert (
        'the namespace from the provided object "there" does not match the namespace '
        "\"here\"; you must pass '--namespace=there' to perform this operation"
    ) in ran.stderr
    assert "mixed.yaml:1" in ran.stderr


def test_objects_are_paired_in_the_namespace() -> None:
    Path("new.yaml").write_text(config_map("a", x="2"))
    Path("live.yaml").write_text(
        config_map("a", "shop", x="1") + config_map("a", "other", x="3")
    )
    arguments = ("apply", "-f", "new.yaml", "--live", "live.yaml", "--format", "json")
    assert run(*arguments).exit_code == 2
    [record] = json.loads(run(*arguments, "-n", "shop").stdout)
    assert record["changes"] == [{"path": "data.x", "old": "1", "new": "2"}]
    ran = run("diff", "live.yaml", "new.yaml", "-n", "other", "--stat")
    assert ran.stdout == (
        "v1 ConfigMap other/a: changed (1 difference)\n1 object: 1 changed\n"
    )


def kustomization() -> str:
    folder = Path("overlay")
    folder.mkdir()
    (folder / "service.yaml").write_text(SERVICE)
    (folder / "kustomization.yaml").write_text(
        "resources: [service.yaml]\nnamePrefix: my-\n"
    )
    return str(folder)


@needs_kubectl
def test_a_kustomization_is_built_by_kubectl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(str(kubectl_path())).parent))
    folder = kustomization()
    ran = run("apply", "-k", folder, "--format", "json")
    assert [record["name"] for record in json.loads(ran.stdout)] == ["my-web"]
    Path("old.yaml").write_text(SERVICE.replace("name: web", "name: my-web"))
    assert run("diff", "old.yaml", "-k", folder, "-o", "patch").exit_code == 0
    ran = run("apply", "-k", ".")
    assert ran.exit_code == 2
    assert "kubectl kustomize failed: " in ran.stderr


def test_kustomize_itself_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path("bin") / "kustomize"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n[ "$1" = build ] && cat "$3/service.yaml"\n')
    program.chmod(0o755)
    path = f"{program.parent.absolute()}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    ran = run("apply", "-k", kustomization(), "--format", "json")
    assert [record["name"] for record in json.loads(ran.stdout)] == ["web"]


def test_without_kustomize_and_kubectl_the_message_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    ran = run("apply", "-k", kustomization())
    assert ran.exit_code == 2
    assert "neither kustomize nor kubectl is installed" in ran.stderr
    assert "kustomize build DIR" in ran.stderr


@pytest.mark.parametrize(
    "command", [("apply",), ("diff", "old.yaml"), ("diff", "old.yaml", "x", "-k", "y")]
)
def test_a_new_configuration_is_asked_for(command: tuple[str, ...]) -> None:
    ran = run(*command)
    assert ran.exit_code == 2
    assert "-k DIR" in ran.output
