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
