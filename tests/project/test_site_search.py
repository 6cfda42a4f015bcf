"""The built site: what people search for finds the page that has it, and versions.

It needs the extras ``browser`` and ``site``, and Chromium (``apt-get install
chromium``). What the browser asks for comes from the server of the test.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.exhaustive

# What people type, and the page that has to be among the first three.
SEARCHED: Final = {
    "Service lost a port": "howto/symptoms.html",
    "may not be specified when strategy type is Recreate": "howto/symptoms.html",
    "may not be specified when value is not empty": "howto/symptoms.html",
    "Apply failed with 1 conflict": "howto/server_side_apply.html",
    "field is immutable": "howto/symptoms.html",
    "OutOfSync for ever": "howto/symptoms.html",
    "my env variable came back": "howto/symptoms.html",
    "replicas reset by apply": "howto/symptoms.html",
    "list was replaced": "howto/symptoms.html",
    "Duplicate value http": "howto/symptoms.html",
    "volumeClaimTemplates": "howto/symptoms.html",
    "zero value": "howto/symptoms.html",
    "Too long: must have at most 262144 bytes": "howto/symptoms.html",
    "unknown field": "howto/symptoms.html",
    "no matches for kind": "howto/symptoms.html",
    "HPA replicas": "howto/symptoms.html",
    "duplicate ports": "howto/symptoms.html",
    "dyff": "howto/coming_from.html",
    "kubeconform": "howto/coming_from.html",
    "kubectl-validate": "howto/coming_from.html",
    "kustomize": "howto/coming_from.html",
    "envtest": "howto/coming_from.html",
    "Argo CD": "howto/gitops.html",
    "Flux": "howto/gitops.html",
    "Helm conflict": "howto/server_side_apply.html",
    "kubernetes.core": "howto/ansible.html",
    "kr8s": "howto/clients.html",
    "lightkube": "howto/clients.html",
    "exit code 3": "exit_codes.html",
    "GitLab": "howto/pipeline.html",
    "live cluster in five minutes": "howto/live_cluster.html",
    "glossary": "glossary.html",
    # The questions of the README, and other ways to ask for what users bring.
    "why did my field not change": "causes.html",
    "what will happen if I apply this": "howto/live_cluster.html",
    "has my repository drifted": "howto/live_cluster.html",
    "gate in CI": "howto/pipeline.html",
    "UPGRADE FAILED server-side apply failed": "howto/server_side_apply.html",
    "may not specify more than 1 handler type": "howto/server_side_apply.html",
    "may not specify more than 1 volume type": "howto/symptoms.html",
    "add UDP port to service": "howto/symptoms.html",
    "kubectl apply from Python": "howto/clients.html",
    "pydantic": "howto/clients.html",
    "ApplySet": "howto/server_side_apply.html",
    "machine-readable": "reports.html",
    "migrate to server-side apply": "server_side_apply.html",
    "conflict kubectl scale Helm": "howto/server_side_apply.html",
    "1000m quantity": "comparison.html",
    "list-map-keys": "howto/symptoms.html",
    "merge key custom resource": "custom_resources.html",
    "Common Expression Language": "accepted.html",
    "SARIF": "reports.html",
    "a mock or a fake client": "howto/tests.html",
    "fake API server": "testing.html",
    "who owns this field": "howto/live_cluster.html",
    "updates to statefulset spec": "howto/symptoms.html",
}
QUERY: Final = "[data-md-component=search-query]"
RESULT: Final = "a.md-search-result__link"
_PAUSES: Final = (500, 2_000, 5_000, 10_000)  # milliseconds


class Handler(SimpleHTTPRequestHandler):
    """Files without a log."""

    def log_message(self, *_: object) -> None:
        pass


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    command = ("git", *identity, *arguments)
    return subprocess.check_output(command, cwd=folder, text=True)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Publish a version to the branch of another one, and serve the branch."""
    pytest.importorskip("mike", reason="the extra site")
    folder = tmp_path_factory.mktemp("published")
    git(folder, "init", "-q", "--initial-branch", "gh-pages")
    # What the release before this one has left.
    (folder / "0.1").mkdir()
    (folder / "0.1" / "index.html").write_text("0.1")
    (folder / "latest").symlink_to("0.1")
    older = {"version": "0.1", "title": "0.1", "aliases": ["latest"]}
    (folder / "versions.json").write_text(json.dumps([older]))
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "0.1")
    git(folder, "checkout", "-q", "--orphan", "main")
    git(folder, "rm", "-rfq", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", "0.2")
    handler = partial(Handler, directory=str(folder / "pages"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        variables = {
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@example.com",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.com",
            "SMP_SITE_DOWNLOADS": "0",
            "SMP_SITE_URL": url,
        }
        program = str(ROOT / "tools" / "release" / "publish_site.py")
        subprocess.run(
            [sys.executable, program, "0.2"],
            cwd=folder,
            env={**os.environ, **variables},
            check=True,
        )
        git(folder, "worktree", "add", "-q", "pages", "gh-pages")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield url
        server.shutdown()
        thread.join()


@pytest.fixture
def page() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="the extra browser")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        opened = browser.new_page()
        opened.heard = []
        opened.on("pageerror", lambda error: opened.heard.append(str(error)))
        yield opened
        browser.close()


def test_a_search_finds_the_page_that_has_it(published: str, page: Any) -> None:
    page.goto(f"{published}latest/index.html")
    page.click(".md-search__form")
    query = page.locator(QUERY)
    missed = {}
    for words, wanted in SEARCHED.items():
        # The results of one query at a time: the key makes the page look.
        query.fill("")
        query.press("End")
        page.wait_for_function(f"!document.querySelector('{RESULT}')")
        query.fill(words)
        # The page may still clear what was found before, and some words take long.
        for pause in _PAUSES:
            query.press("End")
            page.wait_for_timeout(pause)
            if page.locator(RESULT).count():
                break
        links = page.eval_on_selector_all(RESULT, "(all) => all.map((a) => a.href)")
        found = [link.partition("?")[0].partition("#")[0] for link in links]
        first = [*dict.fromkeys(found)][:3]
        if not any(link.endswith(f"/{wanted}") for link in first):
            missed[words] = first
    assert missed == {}
    assert page.heard == []


def test_a_reader_can_choose_a_version(published: str, page: Any) -> None:
    page.goto(f"{published}0.2/howto/symptoms.html")
    page.wait_for_selector(".md-version__link", state="attached")
    shown = page.eval_on_selector_all(
        ".md-version__link", "(all) => all.map((a) => a.textContent.trim())"
    )
    assert shown == ["0.2", "0.1"]
    listed = json.loads(page.goto(f"{published}versions.json").text())
    assert [(each["version"], each["aliases"]) for each in listed] == [
        ("0.2", ["latest"]),
        ("0.1", []),
    ]
    # The root leads to the newest one.
    page.goto(published)
    page.wait_for_url("**/latest/**")


def test_what_is_not_found_leads_on(published: str, page: Any) -> None:
    """Whatever the address is: a host answers with the page at the root."""
    page.goto(f"{published}404.html")
    links = page.eval_on_selector_all(
        ".md-content li a", "(all) => all.map((a) => a.href)"
    )
    assert f"{published}latest/howto/symptoms.html" in links
    for link in links:
        assert page.goto(link).status == 200, link
