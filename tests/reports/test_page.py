"""The page of a report in a browser: accessible, inert, and usable by keyboard alone.

These tests need Chromium (``apt-get install chromium``) and the extra ``browser``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smp.reports import ObjectReport, printed
from tests.support.command import run
from tests.support.paths import DOCS
from tests.support.reports import applied_report, failed_report, named_report

pytestmark = pytest.mark.slow

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror=window.hacked=1>",
    "javascript:window.hacked=1",
    '" onfocus="window.hacked=1" autofocus="',
    "{{ 7 * 191 }}{% for x in y %}",
    "';--c1:url(https://example.com/)",
    "</style></details></article><b id=hacked>",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="the extra browser")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with api.sync_playwright() as playwright:
        # In a container the root user cannot have a sandbox in the sandbox.
        launched = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        yield launched
        launched.close()


def opened(
    browser: Any, folder: Path, reports: tuple[ObjectReport, ...], **options: Any
) -> Any:
    """Open a page in a context of its own; requests and errors are in ``heard``."""
    file = folder / "report.html"
    text = "".join(printed(reports, "html", title="smp apply"))
    file.write_text(text, encoding="utf-8")
    page = browser.new_context(**options).new_page()
    page.heard = []
    page.on("request", lambda request: page.heard.append(request.url))
    page.on("console", lambda message: page.heard.append(message.text))
    page.on("pageerror", lambda error: page.heard.append(str(error)))
    page.on("dialog", lambda dialog: page.heard.append(dialog.message))
    page.goto(file.as_uri())
    return page


def reports() -> tuple[ObjectReport, ...]:
    unchanged = msgspec.structs.replace(
        applied_report(), name="same", verdict="unchanged", findings=()
    )
    return applied_report(), failed_report(), unchanged


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 400)])
def test_axe_finds_nothing(
    browser: Any, tmp_path: Path, scheme: str, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = opened(
        *(browser, tmp_path, reports()),
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
        # axe is a script beside that of the page.
        bypass_csp=True,
    )
    page.evaluate(
        "document.querySelectorAll('details').forEach((part) => part.open = true)"
    )
    page.check("#all")
    results = axe.Axe().run(page)
    assert results.response["violations"] == []
    # Nothing is wider than the window.
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_all_can_be_reached_and_done_with_the_keyboard(
    browser: Any, tmp_path: Path
) -> None:
    page = opened(browser, tmp_path, reports())
    assert page.heard == [page.url]
    page.keyboard.press("/")
    page.keyboard.type("configmap")
    page.wait_for_selector("#status:not(:empty)")
    assert page.inner_text("#status") == "1 of 3 objects"
    assert [article.is_visible() for article in page.query_selector_all("article")] == [
        False,
        True,
        False,
    ]
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    focused = "document.activeElement.closest('article').id"
    assert page.evaluate(focused) == "o2"
    page.keyboard.press("k")
    assert page.evaluate(focused) == "o1"
    # The focus can be seen.
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    is_open = "document.querySelector('#o1 > details').open"
    assert page.evaluate(is_open)
    page.keyboard.press("o")
    assert not page.evaluate(is_open)
    page.keyboard.press("o")
    page.keyboard.press("e")
    assert page.is_visible("tr.folded")
    # Tab goes to each cause, and Enter unfolds it.
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('.why') !== null"):
            break
    page.keyboard.press("Enter")
    assert page.is_visible(".why[open] p")
    page.select_option("#filter", "verdict:failed")
    assert page.inner_text("#status") == "1 of 3 objects"


def test_without_scripts_everything_can_be_read(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, reports(), java_script_enabled=False)
    assert not page.is_visible("#search")
    assert page.is_visible("text=spec.strategy.type")
    assert not page.is_visible("tr.folded")
    page.check("#all")
    assert page.is_visible("tr.folded")
    page.click(".why summary")
    assert page.is_visible(".why[open] p")
    page.click("nav a[href='#o3']")
    assert page.heard == [page.url.partition("#")[0]]


@pytest.mark.parametrize("has_policy", [True, False])
def test_names_and_values_are_inert(
    browser: Any, tmp_path: Path, *, has_policy: bool
) -> None:
    hostile = tuple(named_report(text) for text in HOSTILE)
    # Escaping is enough, and so is the policy of the page.
    page = opened(browser, tmp_path, hostile, bypass_csp=not has_policy)
    page.evaluate(
        "document.querySelectorAll('details').forEach((part) => part.open = true)"
    )
    page.keyboard.press("Tab")
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.query_selector("#hacked") is None
    assert page.query_selector_all("img, iframe, a[href^='javascript']") == []
    assert "1337" not in page.inner_text("main")
    assert page.heard == [page.url]
    assert HOSTILE[0] in str(page.text_content("h2 >> nth=0"))


def test_what_the_server_sets_is_shown_on_demand(browser: Any, tmp_path: Path) -> None:
    """As are the objects that have nothing else, such as a list that is merged."""
    examples = DOCS / "examples"
    inputs = ("-f", examples / "new.yaml", "--live", examples / "live.yaml")
    file = tmp_path / "report.html"
    file.write_bytes(run("apply", *map(str, inputs), "--format", "html").stdout_bytes)
    page = browser.new_page()
    page.goto(file.as_uri())
    rows = page.query_selector_all("tr:has(th[title])")
    paths = {row.query_selector("th").get_attribute("title"): row for row in rows}
    for path in ("metadata.uid", "metadata.resourceVersion"):
        assert not paths[path].is_visible(), path
    visible = {path for path, row in paths.items() if row.is_visible()}
    assert "spec.strategy.type" in visible
    # No visible row stands alone: it has a value, or a visible row below it.
    for path in visible:
        cells = paths[path].query_selector_all("td[colspan]")
        below = [each for each in visible if each.startswith((f"{path}.", f"{path}["))]
        assert not cells or below, path
    page.check("#all")
    assert paths["metadata.uid"].is_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 400)])
def test_a_page_of_drift_says_in_words_what_is_wrong(
    browser: Any, tmp_path: Path, scheme: str, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    sides: dict[str, list[str]] = {"want": [], "live": []}
    for number, cluster in enumerate(("eu-1", "eu-2", "eu-3")):
        for side, lines in sides.items():
            obj = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "a-rather-long-name-" * 4, "namespace": "shop"},
                "data": {"a-long-key-" * 8: side if number else "same"},
            }
            lines.append(json.dumps({"cluster": cluster, "object": obj}))
    for side, lines in sides.items():
        (tmp_path / f"{side}.ndjson").write_text("\n".join(lines))
    # Of the last cluster nothing is known.
    cut = (tmp_path / "live.ndjson").read_text()[:-40]
    (tmp_path / "live.ndjson").write_text(cut)
    ran = run(
        *("drift", "-f", str(tmp_path / "want.ndjson"), "--format", "html"),
        *("--live", str(tmp_path / "live.ndjson")),
    )
    file = tmp_path / "report.html"
    file.write_text(ran.stdout, encoding="utf-8")
    page = browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True
    ).new_page()
    page.goto(file.as_uri())
    assert page.inner_text(".brief >> nth=0") == (
        "1 of 3 objects are not what they should be, in 1 of 3 clusters."
    )
    badges = page.locator("article .verdict").all_text_contents()
    assert badges == ["drift", "unreadable", *["incomplete"] * 3]
    # What differs is named, and its cell has a heading in a narrow window, too.
    # What is shown of an article is there once it is painted: content-visibility.
    assert "the manifest sets it" in str(page.text_content("article >> nth=0"))
    heading = "getComputedStyle(document.querySelector('section.brief td'), '::before')"
    is_narrow = width < 800
    shown = page.evaluate(f"{heading}.content")
    assert (shown == '"what is wrong"') == is_narrow
    assert axe.Axe().run(page).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
