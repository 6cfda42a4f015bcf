"""The site: every page is in its navigation, links and anchors lead somewhere, and what
is generated says what the code says.

``nox -s site`` builds it, as .ci/run does; these tests need no MkDocs.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

import smp
from smp import documents
from smp._values.values import JSONObject
from smp.explain import CAUSES
from smp.hazards import HAZARDS
from smp.lint import LINT
from smp.unions import PROFILES
from smp.violations import VIOLATIONS
from tests.support.paths import DOCS, ROOT
from tests.support.rows import each_row
from website import pages, plots
from website.codes import error_classes
from website.engine import applied

MODULES = ("comparison", "json_patch", "managed_fields", "merge_patch", "wire")
# Pages that the hooks copy from elsewhere in the repository.
COPIED = {
    "reference/changelog.md",
    "reference/conduct.md",
    "reference/contributing.md",
    "reference/security.md",
    "reference/spec_cases.md",
}
LIVE = (DOCS / "examples" / "live.yaml").read_text()
NEW = (DOCS / "examples" / "new.yaml").read_text()


@cache
def generated() -> dict[str, str]:
    return pages.all_pages()


@pytest.mark.slow
def test_every_page_is_in_the_navigation() -> None:
    navigation = (DOCS / "site" / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = re.findall(r": ([\w/]+\.md)$", navigation, re.MULTILINE)
    written = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert sorted(listed) == sorted({*written, *generated(), *COPIED})


def test_the_pages_for_users_are_short() -> None:
    """All that the navigation has before the generated reference, without blocks."""
    navigation = (DOCS / "site" / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    users, reference, _ = navigation.partition("\n  - Reference:\n")
    assert reference
    words = {}
    for page in re.findall(r": ([\w/]+\.md)$", users, re.MULTILINE):
        text = (DOCS / page).read_text()
        prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
        words[page] = len(prose.split())
    assert sum(words.values()) <= 30_000, words


def test_the_page_of_exit_codes_has_those_of_the_help() -> None:
    said = {}
    for name, usage in re.findall(
        r"^## (smp [^\n]+)\n(.*?)(?=^## |\Z)",
        (DOCS / "cli.md").read_text(),
        re.MULTILINE | re.DOTALL,
    ):
        _, found, codes = usage.partition("\n  Exit codes: ")
        if found:
            text = codes.partition("\n\n")[0]
            said[name] = {*re.findall(r"(?:^|, |\s)([0-3]) ", text)}
    listed: dict[str, set[str]] = {}
    page = (DOCS / "exit_codes.md").read_text()
    for row in re.findall(r"^\| (`smp .*) \|$", page, re.MULTILINE):
        names, *cells = re.split(r" *\| *", row)
        codes = {str(code) for code, cell in enumerate(cells) if cell}
        listed |= dict.fromkeys(re.findall(r"`(smp [^`]+)`", names), codes)
    assert listed == said


def test_the_glossary_is_sorted() -> None:
    page = (DOCS / "glossary.md").read_text()
    terms = re.findall(r"^\| ([a-z][^|]+) \|", page, re.MULTILINE)[1:]
    assert len(terms) > 20
    assert terms == sorted({*terms})


def test_the_reference_has_every_public_name() -> None:
    listed = [name for names in pages.PYTHON.values() for name in names]
    modules = {f"smp.{name}" for name in MODULES}
    assert sorted(listed) == sorted({f"smp.{name}" for name in smp.__all__} - modules)
    assert modules <= set(pages.MODULES)


# What the site has of the files beside docs/.
ON_THE_SITE = (
    ROOT / "CHANGELOG.md",
    ROOT / ".github" / "CODE_OF_CONDUCT.md",
    ROOT / ".github" / "CONTRIBUTING.md",
    ROOT / ".github" / "SECURITY.md",
)


@pytest.mark.parametrize("page", ON_THE_SITE, ids=lambda path: path.name)
def test_links_of_copied_pages_lead_to_pages(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:|mailto:|#)([^)#]+)", page.read_text()):
        target = (page.parent / link).resolve()
        on_the_site = (*ON_THE_SITE, ROOT / "LICENSE")
        assert target.is_relative_to(DOCS) or target in on_the_site, link
        assert target.exists(), link


def anchors(markdown: str) -> set[str]:
    """Return the anchors of the headings, as GitHub and the site name them."""
    text = re.sub(r"^```.*?^```", "", markdown, flags=re.MULTILINE | re.DOTALL)
    found = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(words.replace(" ", "-"))
    return found


@each_row(
    "page",
    [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_links_lead_to_headings(page: Path) -> None:
    text = page.read_text()
    for target, anchor in re.findall(r"\]\(([^():#]*)#([\w-]+)\)", text):
        linked = page.parent / target if target else page
        assert anchor in anchors(linked.read_text()), f"{target}#{anchor}"


@each_row(
    "page",
    [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_rows_of_tables_are_whole(page: Path) -> None:
    text = re.sub(r"^ *```.*?```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    columns = 0
    for line in text.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line))
        if not line.startswith("|"):
            columns = 0
            assert not line.endswith("|"), line
        elif columns:
            assert cells == columns, line
        else:
            columns = cells


class TestErrorsByCode:
    """reference/errors.md, from the source."""

    def test_an_error_is_under_its_code_with_its_words(self) -> None:
        schema = smp.kubernetes().schema("v1", "Service")
        live: JSONObject = {"spec": {"ports": [{"port": 1}]}}
        patch: JSONObject = {"spec": {"ports": [{"name": "dns"}]}}
        with pytest.raises(smp.SmpError) as caught:
            smp.apply_patch(live, patch, schema)
        _, _, section = generated()["reference/errors.md"].partition(
            f"### {caught.value.code}\n"
        )
        section = section.partition("\n### ")[0]
        patterns = [
            ".*".join(re.escape(part) for part in words.split("…"))
            for words in re.findall(r"“(.*?)”", section)
        ]
        assert any(re.fullmatch(each, caught.value.problem) for each in patterns)

    def test_each_class_has_its_own_code(self) -> None:
        page = generated()["reference/errors.md"]
        for name, error_class in error_classes().items():
            assert f"\n### {error_class.default_code}\n" in page, name

    def test_each_code_in_the_source_is_on_the_page(self) -> None:
        codes = re.findall(
            r"^### (.+)$", generated()["reference/errors.md"], re.MULTILINE
        )
        for path in (ROOT / "smp").rglob("*.py"):
            for call in re.findall(
                r"Error\(\n?[^()]*?\bcode=\"([a-z0-9-]+)\"", path.read_text()
            ):
                assert call in codes, path


def test_findings_are_on_their_page() -> None:
    page = generated()["reference/findings.md"]
    for code in (*HAZARDS, *LINT, *CAUSES, *VIOLATIONS):
        assert f"\n| `{code}` |" in page


# A code stands in the call, or in an assignment before it.
CODE_OF_VIOLATION = re.compile(
    r"(?:\bViolation|_answer|_require_value|_member_forbidden)"
    r'\(\s*"([a-z-]+)"'
    r'|\b_?(?:code|CODE)(?:: [\w\[\]]+)?(?:, \w+)? = "([a-z-]+)"'
    r'|"FieldValue\w+": \(?"([a-z-]+)"'
    r'|\bundecodable\([^()]*, "([a-z-]+)"\)'
)


def test_each_code_of_a_violation_in_the_source_has_a_meaning() -> None:
    codes: set[str] = set()
    for path in (ROOT / "smp").rglob("*.py"):
        text = path.read_text()
        if "Violation(" in text or "undecodable(" in text:
            codes.update(*CODE_OF_VIOLATION.findall(text))
    codes.discard("")
    assert codes == {*VIOLATIONS}


def test_the_tables_of_the_profiles_have_all_rules() -> None:
    page = generated()["reference/profiles.md"]
    for name, profile in PROFILES.items():
        table = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| ([A-Z]?\d+) \| .+ \| .+ \|$", table, re.MULTILINE)
        assert rows == [rule.name for rule in profile.rules]


class TestCharts:
    """The charts on the page about performance."""

    PAGE = (DOCS / "performance.md").read_text()

    def test_a_chart_has_the_times_of_its_table(self) -> None:
        chart = plots.charts_in(self.PAGE)["bytes"]
        assert chart.contenders[:3] == ("smp.wire", "smp.wire, interpreted", "Go")
        rows = dict(chart.rows)
        row = "Deployment, 5 containers: apply"
        _, _, table = self.PAGE.partition("<!-- bytes -->")
        times = re.search(rf"\n\| {row} \| [\d,]+ \| ([\d.]+) ", table)
        assert times is not None
        assert rows[row][0] == float(times[1])

    def test_there_is_a_bar_for_each_time(self) -> None:
        for chart in plots.charts_in(self.PAGE).values():
            times = [time for _, row in chart.rows for time in row if time is not None]
            drawing = plots.svg(chart)
            bars = re.findall(
                r'<rect class="c\d" x="210"[^>]* width="([\d.]+)"', drawing
            )
            assert len(bars) == len(times)
            # A longer time has a longer bar.
            by_time = sorted(zip(times, map(float, bars), strict=True))
            assert [bar for _, bar in by_time] == sorted(map(float, bars))

    def test_a_time_that_was_not_measured_has_no_bar(self) -> None:
        page = self.PAGE
        for name in plots.CHARTS:
            page = page.replace(f"<!-- {name} -->", "").replace(f"<!-- /{name} -->", "")
        table = "| row | bytes | a | b |\n|---|--:|--:|--:|\n| x | 1 | 20 (30) | - |\n"
        marks = "".join(f"<!-- {n} -->\n{table}<!-- /{n} -->\n" for n in plots.CHARTS)
        chart = plots.charts_in(marks)["dicts"]
        assert chart.rows == (("x", (20.0, None)),)
        assert plots.svg(chart).count(' height="12"') == 1


class TestTheEngineOfThePage:
    """What docs/try.md shows, which the browser runs as well."""

    def test_it_says_what_an_apply_leads_to(self) -> None:
        answer = json.loads(applied("", LIVE, NEW))
        assert answer["error"] == ""
        stored = documents.read_one(answer["object"]).value
        assert isinstance(stored, dict)
        codes = {row["path"]: row["code"] for row in answer["causes"]}
        assert codes["spec.strategy.rollingUpdate"] == "pruned"
        assert "$retainKeys" in answer["patch"]

    def test_without_a_text_the_annotation_is_the_last_applied_configuration(
        self,
    ) -> None:
        live = documents.read_one(LIVE).value
        assert isinstance(live, dict)
        annotated = smp.last_applied_configuration(live)
        assert annotated is not None
        given = documents.dump_yaml([annotated])
        assert applied(given, LIVE, NEW) == applied(" \n", LIVE, NEW)

    @pytest.mark.parametrize(
        ("texts", "code"),
        [
            (("", LIVE, ""), "empty-document"),
            (("", "a: [", NEW), "invalid-yaml"),
            (("", "[1]", NEW), "invalid-document"),
            (("", LIVE, "kind: Deployment"), "missing-kind"),
            (("", LIVE, "{apiVersion: example.com/v1, kind: X}"), "unknown-kind"),
        ],
    )
    def test_an_error_is_an_answer(
        self, texts: tuple[str, str, str], code: str
    ) -> None:
        answer = json.loads(applied(*texts))
        assert answer["code"] == code
        assert answer["error"]
        assert answer["object"] == ""
