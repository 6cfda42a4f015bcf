"""The command lines of scripts for kubectl mean the same to ``smp``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smp.testing import KubernetesApi
from tests.support.apiserver import needs_apiserver, running
from tests.support.command import run
from tests.support.kubectl_lines import play, read_lines, write_files

# Questions of their own; all other commands of kubectl are those of smp cluster.
_ALONE = ("diff", "help", "version")
# What smp prints of itself, and a report in place of the text of diff.
_OWN_TEXT = (
    "diff",
    "help",
    "version",
    "get deploy web -o=json",
    "get deploy/web -ojson",
)


def list_differences(url: str, kubeconfig: Path) -> list[str]:
    """Run the lines with a server; return those that are not as kubectl's."""

    def run_line(words: list[str], stdin: str) -> tuple[int, str]:
        group = [] if words[0] in _ALONE else ["cluster"]
        if words[0] == "diff":
            words = [*words, "--live", "cluster"]
        ran = run(*group, *words, stdin=stdin)
        stderr.append(ran.stderr)
        return ran.exit_code, ran.stdout

    write_files()
    stderr: list[str] = []
    _, lines = read_lines()
    ran = play(lines, run_line, URL=url, KUBECONFIG=str(kubeconfig))
    return [
        f"{wanted.text}\n  kubectl: {wanted.code} {wanted.printed}\n"
        f"  smp: {found.code} {found.printed}\n  {errors}"
        for wanted, found, errors in zip(lines, ran, stderr, strict=True)
        if wanted.code != found.code
        or (wanted.printed != found.printed and not wanted.text.startswith(_OWN_TEXT))
    ]


def test_lines_of_scripts_do_what_kubectl_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with KubernetesApi() as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig))
        differences = list_differences(api.url, api.kubeconfig)
    assert not differences, "\n".join(differences)


@pytest.mark.exhaustive
@needs_apiserver
def test_so_they_do_with_a_kube_apiserver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kubeconfig = tmp_path / "kubeconfig"
    with running() as server:
        token = server.headers["Authorization"].removeprefix("Bearer ")
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "users": [{"name": "a", "user": {"token": token}}],
            "clusters": [
                {
                    "name": "a",
                    "cluster": {"server": server.url, "insecure-skip-tls-verify": True},
                }
            ],
        }
        kubeconfig.write_text(json.dumps(config))
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        differences = list_differences(server.url, kubeconfig)
    assert not differences, "\n".join(differences)
