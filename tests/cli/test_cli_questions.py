"""Each question takes its objects in each form, and gives the same answer."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from threading import Thread

import pytest
import yaml

from smp.testing import KubernetesApi
from tests.support.command import Ran, run

MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: default
data:
  mode: fast
"""
# What each question needs beside its objects: without a cluster, and with one.
QUESTIONS = {
    "diff": (["old.yaml"], []),
    "apply": (["--live", "live.yaml"], []),
    "explain": (["--live", "live.yaml"], []),
    "lint": ([], []),
    "blame": ([], []),
    "drift": (["--live", "live.yaml"], []),
    "patch": (["-p", '{"data": {"mode": "slow"}}'], ["-p", '{"data": {"mode": "s"}}']),
}
INPUTS = ("new.yaml", "folder", "-", "URL")
FORMS = (*product(INPUTS, ("-f", ""), ("",)), ("folder", "-R", ""))
CLUSTERS = (("new.yaml", "-f", "cluster"), ("new.yaml", "", "cluster:CONTEXT"))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Quiet)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/new.yaml"
    server.shutdown()
    thread.join()
    server.server_close()


def test_each_question_takes_each_input(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.yaml").write_text(MANIFEST.replace("fast", "old"))
    Path("new.yaml").write_text(MANIFEST)
    Path("folder").mkdir()
    shutil.copy("new.yaml", "folder")
    failures: list[str] = []
    with KubernetesApi() as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig))
        assert run("cluster", "apply", "-f", "old.yaml").exit_code == 0
        live = run("cluster", "get", "-f", "old.yaml", "--show-managed-fields")
        Path("live.yaml").write_text(live.stdout)
        for question, forms in product(QUESTIONS, (FORMS, CLUSTERS)):
            answers = {form: ask(question, form, url, api) for form in forms}
            wanted = answers[forms[0]]
            # lint counts what it has nothing to say of.
            said = "1 " if question == "lint" else "settings"
            if wanted.exit_code > 1 or said not in wanted.output:
                failures.append(f"{question} {forms[0]}: {wanted.output}")
            failures += [
                f"{question} {form}: {answer.output}"
                for form, answer in answers.items()
                if same_answer(answer, url) != same_answer(wanted, url)
            ]
    assert not failures, "\n".join(failures)


def ask(question: str, form: tuple[str, str, str], url: str, api: KubernetesApi) -> Ran:
    source, option, cluster = form
    source = source.replace("URL", url)
    config = yaml.safe_load(api.kubeconfig.read_text())
    cluster = cluster.replace("CONTEXT", config["current-context"])
    alone, live = QUESTIONS[question]
    # Without a cluster, blame is of the live objects themselves.
    words = [*live, "--live", cluster] if cluster else alone
    given = [option, source] if option else [source]
    if question == "explain":
        # kubectl explain has no files, and another --recursive.
        given = [each for each in given if each != "-R"]
    stdin = MANIFEST if source == "-" else None
    return run(question, *words, *given, stdin=stdin)


def same_answer(answer: Ran, url: str) -> tuple[int, str]:
    """Return what does not depend on the place of the object."""
    text = re.sub(r"the cluster(:\S+)?", "the cluster", answer.output)
    for place in (url, "folder/new.yaml", "<stdin>", "standard input"):
        text = text.replace(place, "new.yaml")
    return answer.exit_code, text
