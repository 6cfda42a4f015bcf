"""The command lines of scripts for kubectl mean the same to ``smp``."""

from __future__ import annotations

from pathlib import Path

import pytest

from smp.testing import KubernetesApi
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


def test_lines_of_scripts_do_what_kubectl_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()

    def run_line(words: list[str], stdin: str) -> tuple[int, str]:
        group = [] if words[0] in _ALONE else ["cluster"]
        if words[0] == "diff":
            words = [*words, "--live", "cluster"]
        ran = run(*group, *words, stdin=stdin)
        stderr.append(ran.stderr)
        return ran.exit_code, ran.stdout

    stderr: list[str] = []
    _, lines = read_lines()
    with KubernetesApi() as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig))
        ran = play(lines, run_line, URL=api.url, KUBECONFIG=str(api.kubeconfig))
    failures = [
        f"{wanted.text}\n  kubectl: {wanted.code} {wanted.printed}\n"
        f"  smp: {found.code} {found.printed}\n  {errors}"
        for wanted, found, errors in zip(lines, ran, stderr, strict=True)
        if wanted.code != found.code
        or (wanted.printed != found.printed and not wanted.text.startswith(_OWN_TEXT))
    ]
    assert not failures, "\n".join(failures)
