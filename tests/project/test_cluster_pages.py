"""The pages that are a session on a cluster, each run in order on the test server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from smp.testing import KubernetesApi
from tests.project.test_docs_blocks import Block, console, run_script
from tests.support.kubectl import needs_kubectl
from tests.support.paths import DOCS

YAML: Final = re.compile(r"^```yaml\n# (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SESSION: Final = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMESPACE: Final = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
WEB: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "web:2"}]}
"""
# What the cluster of a page has at first, by which command, and what the manifest has.
PAGES: Final = {
    "howto/gitops.md": (
        "kubectl apply --server-side --field-manager kustomize-controller -f live.yaml",
        WEB.replace("selector", "replicas: 2\n  selector"),
    ),
    "howto/live_cluster.md": (
        "kubectl apply -f live.yaml && kubectl scale --replicas=5 -f live.yaml",
        WEB,
    ),
}


@pytest.mark.parametrize("page", PAGES)
@needs_kubectl
@pytest.mark.filterwarnings("default")
def test_a_page_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    before, manifest = PAGES[page]
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "web.yaml").write_text(manifest)
    (tmp_path / "live.yaml").write_text(manifest.replace("web:2", "web:1"))
    text = (DOCS / page).read_text()
    for name, rules in YAML.findall(text):
        (tmp_path / name).write_text(rules)
    with KubernetesApi() as api:
        kubeconfig = str(api.kubeconfig)
        api.apply(NAMESPACE)
        made = run_script(before, tmp_path, KUBECONFIG=kubeconfig)
        assert made.returncode == 0, made.stderr
        sessions = SESSION.findall(text)
        assert sessions
        for session in sessions:
            console(Block(page, "console", session), tmp_path, KUBECONFIG=kubeconfig)


CONFIG_MAP: Final = "{apiVersion: v1, kind: ConfigMap, metadata: {name: shop}}"
DEFINITION: Final = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""
# What is not installed, and what prints the same here.
PROGRAMS: Final = {
    "kustomize build": "kubectl kustomize",
    "helm template CHART": "cat new.yaml",
}


@needs_kubectl
@pytest.mark.filterwarnings("default")
def test_the_commands_for_those_who_come_from_elsewhere_run(tmp_path: Path) -> None:
    text = (DOCS / "howto" / "coming_from.md").read_text()
    lines = re.findall(r"`((?:\S+=\S+ )?(?:[^`\n]+\| )?(?:smp|kubectl) [^`\n]+)`", text)
    commands = [line for line in lines if re.search(r"\bsmp\b.* ", line)]
    assert len(commands) > 10
    manifests = ("new.yaml", "old.yaml", "base.yaml", "DIR/new.yaml", "deploy/a.yaml")
    files = {
        **dict.fromkeys(manifests, WEB),
        "CRDS/widgets.yaml": DEFINITION,
        "DIR/kustomization.yaml": "resources: [new.yaml]",
        "patch.yaml": "spec: {replicas: 3}",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    failed = []
    with KubernetesApi() as api:
        api.apply([NAMESPACE, CONFIG_MAP])
        for line in commands:
            command = line.replace("\\|", "|")
            for program, same in PROGRAMS.items():
                command = command.replace(program, same)
            ran = run_script(command, tmp_path, KUBECONFIG=str(api.kubeconfig))
            # 1 is that something differs.
            if ran.returncode not in (0, 1) or "error: " in ran.stderr:
                failed.append((command, ran.returncode, ran.stderr))
    assert failed == []
