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

# The 25 problems that users bring, each by the words of its reports, with the heading
# that is about it; at the end what is asked beside them.
SYMPTOMS: Final = "howto/symptoms.html"
SERVER_SIDE: Final = "howto/server_side_apply.html"
RECREATE: Final = (
    "specstrategyrollingupdate-forbidden-may-not-be-specified-when-strategy-type-is"
    "-recreate"
)
ONE_OF_SEVERAL: Final = "env0valuefrom-invalid-value-may-not-be-specified-when-value-is"
NEW_PORT: Final = "a-port-number-changed-specports1name-duplicate-value-http"
NOISE: Final = (
    "the-diff-is-full-of-managedfields-status-and-defaults-ignore-paths-in-a-diff"
)
CUSTOM_LIST: Final = (
    "a-list-of-a-custom-resource-was-replaced-no-patchmergekey-x-kubernetes-list-map"
    "-keys"
)
CEL: Final = (
    "invalid-value-failed-rule-a-cel-rule-of-a-definition-x-kubernetes-validations"
)
PRUNE: Final = "5-prune-what-i-deleted-from-the-repository-is-still-in-the-cluster"
CONFLICT: Final = (
    "apply-failed-with-1-conflict-conflict-with-kubectl-autoscale-specreplicas"
)
ZERO: Final = (
    "a-zero-value-differs-for-ever-replicas-0-is-kept-hostnetwork-false-is-not"
)
UNSET: Final = "a-field-stays-though-no-server-side-apply-has-it-unset-a-field"
PROBLEMS: Final = (
    ("1", "may not be specified when strategy type is Recreate", SYMPTOMS, RECREATE),
    ("2", "UPGRADE FAILED server-side apply failed", SERVER_SIDE, "upgrade-failed-"),
    ("2", "Recreate server-side apply", SERVER_SIDE, "may-not-be-specified-when-"),
    ("3", "valueFrom may not be specified", SYMPTOMS, ONE_OF_SEVERAL),
    ("3", "may not specify more than 1 handler type", SYMPTOMS, ONE_OF_SEVERAL),
    ("3", "may not specify more than 1 volume type", SYMPTOMS, ONE_OF_SEVERAL),
    ("4", "Service lost a port", SYMPTOMS, "a-service-lost-a-port"),
    ("4", "spec.ports Required value", SYMPTOMS, "a-service-lost-a-port"),
    ("5", "add UDP port to service", SYMPTOMS, "a-service-lost-a-port"),
    ("6", "Duplicate value http", SYMPTOMS, NEW_PORT),
    ("6", "port number changed", SYMPTOMS, NEW_PORT),
    ("7", "kubectl apply from Python", "howto/operator.html", "apply-as-kubectl-does"),
    ("8", "pydantic", "howto/clients.html", "with-the-models-of-the-official-client"),
    ("9", "prune", "howto/live_cluster.html", PRUNE),
    ("9", "apply --prune", "howto/live_cluster.html", PRUNE),
    ("9", "ApplySet", SERVER_SIDE, "applyset-parent-object-already-exists"),
    ("10", "machine-readable diff", "command.html", "output-for-programs-a-machine"),
    ("11", "diff without managedFields", SYMPTOMS, NOISE),
    ("11", "ignore paths in diff", SYMPTOMS, NOISE),
    ("12", "preview migration", "server_side_apply.html", "preview-a-migration-from"),
    ("13", "zero value conflict", SYMPTOMS, ZERO),
    ("14", "Apply failed with 1 conflict", SERVER_SIDE, CONFLICT),
    ("14", "conflict kubectl scale Helm", SERVER_SIDE, CONFLICT),
    ("15", "HTTPRoute OutOfSync", SYMPTOMS, "outofsync-for-ever"),
    ("16", "volumeClaimTemplates", SYMPTOMS, "volumeclaimtemplates-a-statefulset"),
    ("17", "1000m", SYMPTOMS, "outofsync-for-ever"),
    ("18", "list-map-keys", SYMPTOMS, CUSTOM_LIST),
    ("18", "list of custom resource replaced", SYMPTOMS, CUSTOM_LIST),
    ("19", "patchMergeKey", SYMPTOMS, CUSTOM_LIST),
    ("20", "CEL", SYMPTOMS, CEL),
    ("20", "x-kubernetes-validations", SYMPTOMS, CEL),
    ("21", "SARIF", "reports.html", "findings"),
    ("22", "server-side apply fake client", "howto/tests.html", "server-side-apply-"),
    ("23", "fake API server", "testing.html", ""),
    ("24", "who owns this field", "howto/live_cluster.html", "2-why-is-this-field"),
    ("25", "field is immutable", SYMPTOMS, "field-is-immutable"),
    ("beside", "unset a field", SYMPTOMS, UNSET),
    ("beside", "MutatingAdmissionPolicy", SYMPTOMS, CEL),
)
# What people type, and the page that has to be among the first three.
SEARCHED: Final = {
    "OutOfSync for ever": "howto/symptoms.html",
    "my env variable came back": "howto/symptoms.html",
    "replicas reset by apply": "howto/symptoms.html",
    "list was replaced": "howto/symptoms.html",
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
    # As they are pasted, and options as they are typed.
    '"field is immutable"': "howto/symptoms.html",
    'no matches for kind "Certificate" in version': "howto/symptoms.html",
    "--live": "howto/live_cluster.html",
    # The questions of the README, and other ways to ask for what users bring.
    "why did my field not change": "causes.html",
    "what will happen if I apply this": "howto/live_cluster.html",
    "has my repository drifted": "howto/live_cluster.html",
    "gate in CI": "howto/pipeline.html",
    "merge key custom resource": "custom_resources.html",
    "Common Expression Language": "accepted.html",
    "a mock or a fake client": "howto/tests.html",
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
    asked = [("a page", words, wanted, "") for words, wanted in SEARCHED.items()]
    missed = {}
    for number, words, wanted, heading in (*PROBLEMS, *asked):
        found = search(page, words)
        first = [*dict.fromkeys(address for address, _ in found)][:3]
        is_found = any(
            address in first
            and address.endswith(f"/{wanted}")
            and anchor.startswith(heading)
            for address, anchor in found
        )
        if not is_found:
            missed[number, words] = first
    assert missed == {}
    assert page.heard == []


def search(page: Any, words: str) -> list[tuple[str, str]]:
    """Return the address and the heading of each result, in their order."""
    query = page.locator(QUERY)
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
    found = [link.partition("#") for link in links]
    return [(link.partition("?")[0], anchor) for link, _, anchor in found]


def test_each_problem_is_searched_for() -> None:
    numbers = {number for number, *_ in PROBLEMS} - {"beside"}
    assert numbers == {str(number) for number in range(1, 26)}


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
