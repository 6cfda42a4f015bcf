"""The page in which the engine runs: docs/try.md in headless Chromium.

These tests need Chromium (``apt-get install chromium``), the extra ``browser``, and
npm, which gets Pyodide unless it is in build/browser already. All that the browser asks
for comes from the server of the test.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import smp
from tests.support.paths import DOCS, ROOT
from website import browser as site

pytestmark = pytest.mark.slow

# Starting WebAssembly takes seconds, more so beside other tests. In milliseconds.
PATIENCE = 120_000
APPLIED = "/^Applied/.test(document.getElementById('smp-status').textContent)"


class Handler(SimpleHTTPRequestHandler):
    """Files without a log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the page, with what the site has beside it, on this machine."""
    if not site.has_downloads():
        pytest.skip(f"{site.VARIABLE} is 0")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    try:
        engine = site.engine_files(ROOT)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"Pyodide cannot be had: {error}")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS / "assets", folder / "assets")
    shutil.copytree(DOCS / "examples", folder / "examples")
    (folder / "assets" / "browser").mkdir()
    for file in engine:
        (folder / "assets" / "browser" / file.name).symlink_to(file)
    # The part of the page that is HTML; the rest is text to a browser.
    (folder / "try.html").write_text((DOCS / "try.md").read_text())
    handler = partial(Handler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def page(url: str) -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="the extra browser")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with api.sync_playwright() as playwright:
        # In a container the root user cannot have a sandbox in the sandbox.
        launched = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        opened = launched.new_page()
        opened.requests = []
        opened.problems = []
        opened.on("request", lambda request: opened.requests.append(request.url))
        opened.on("pageerror", lambda error: opened.problems.append(str(error)))
        opened.goto(f"{url}try.html")
        opened.wait_for_function(APPLIED, timeout=PATIENCE)
        yield opened
        launched.close()


def fill(page: Any, editor: str, text: str) -> None:
    """Write into an editor, and wait until it was applied."""
    page.evaluate("document.getElementById('smp-status').textContent = ''")
    page.fill(f"#smp-{editor}", text)
    page.wait_for_function(APPLIED, timeout=PATIENCE)


def code_of(page: Any, path: str) -> str:
    row = page.locator("#smp-causes tbody tr").filter(
        has=page.locator(f"td:first-child code:text-is('{path}')")
    )
    return str(row.locator("td:nth-child(2)").inner_text())


def test_the_example_is_applied(page: Any, url: str) -> None:
    assert page.inner_text("#smp-status").endswith(f"by smp {smp.__version__}")
    assert code_of(page, "spec.strategy.rollingUpdate") == "pruned"
    assert "$retainKeys" in page.inner_text("#smp-patch")
    assert "hostPath" in page.inner_text("#smp-object")
    assert page.problems == []
    assert [asked for asked in page.requests if not asked.startswith(url)] == []


STATEFUL = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  updateStrategy: {type: %s}
"""


def test_unions_hazards_and_other_yaml_are_shown(page: Any) -> None:
    # Aliases are read by the library for YAML, not by the reader of usual YAML.
    live = STATEFUL % "&type RollingUpdate, rollingUpdate: {partition: 2}"
    fill(page, "manifest", STATEFUL % "OnDelete")
    fill(page, "live", f"{live}  podManagementPolicy: Parallel\n")
    assert code_of(page, "spec.updateStrategy.rollingUpdate") == "union"
    assert "the discriminator selects no member" in page.inner_text("#smp-unions")
    assert "rollingUpdate: null" in page.inner_text("#smp-patch")
    assert "rollingUpdate" not in page.inner_text("#smp-kubectl-patch")
    assert "no-last-applied" in page.inner_text("#smp-findings")
    fill(page, "last-applied", live)
    assert "no-last-applied" not in page.inner_text("#smp-findings")
    assert page.problems == []


def test_an_error_is_shown_and_is_no_markup(page: Any) -> None:
    fill(page, "manifest", "kind: <img src=x onerror=document.title='hacked'>")
    assert "apiVersion" in page.inner_text("#smp-error")
    assert page.locator("#smp-outcome img").count() == 0
    fill(page, "manifest", STATEFUL % "'<b id=hacked>'")
    assert page.locator("#hacked").count() == 0
    assert page.title() != "hacked"


def test_a_value_that_is_too_deep_is_an_error(page: Any) -> None:
    nested = "[" * 5_000 + "]" * 5_000
    fill(page, "manifest", f'{{"apiVersion": "v1", "kind": "Pod", "spec": {nested}}}')
    assert "too deep" in page.inner_text("#smp-error")
    # The engine still works.
    fill(page, "live", STATEFUL % "OnDelete")
    fill(page, "manifest", STATEFUL % "OnDelete")
    assert page.locator("#smp-error").count() == 0
