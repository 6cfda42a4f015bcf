"""The options file of a repository: defaults that the command line replaces."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.support.command import run
from tests.support.paths import DOCS

OBJECT: Final = """\
apiVersion: example.com/v1
kind: Widget
metadata: {name: a}
spec: {size: large}
"""
DEFINITION: Final = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a folder of manifests, which is the current one."""
    manifests = tmp_path / "apps" / "web"
    manifests.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "widget.yaml").write_text(DEFINITION)
    (manifests / "widget.yaml").write_text(OBJECT)
    for name in ("new.yaml", "live.yaml"):
        shutil.copy(DOCS / "examples" / name, manifests)
    monkeypatch.chdir(manifests)
    return tmp_path


def test_its_values_are_defaults(repository: Path) -> None:
    assert run("lint", "widget.yaml").exit_code == 0
    (repository / ".smp.yaml").write_text("crd: [crds]\nkubernetes: '1.34'\n")
    ran = run("lint", "widget.yaml")
    assert "spec.size" in ran.stdout
    assert ran.exit_code == 1
    assert "smp: note: ../../.smp.yaml has: crd, kubernetes\n" in ran.stderr
    # click reads it as well, and shows what the default is.
    assert "[default: 1.34]" in run("lint", "--help").stdout
    assert run("lint", "--", "widget.yaml").stdout == ran.stdout


def test_the_command_line_takes_their_place(repository: Path) -> None:
    (repository / ".smp.yaml").write_text("crd: crds\n")
    (repository / "none.yaml").write_text(DEFINITION.replace("Widget", "Gadget"))
    ran = run("lint", "widget.yaml", "--crd", "../../none.yaml")
    assert "spec.size" not in ran.stdout


def test_a_command_without_the_options_is_as_before(repository: Path) -> None:
    before = run("completion", "fish")
    (repository / ".smp.yaml").write_text("strict: true\n")
    assert run("completion", "fish") == before


def test_it_ends_with_the_repository(repository: Path) -> None:
    (repository / "apps" / ".git").write_text("gitdir: elsewhere\n")
    (repository / ".smp.yaml").write_text("nothing: right\n")
    assert run("lint", "widget.yaml").exit_code == 0


def test_what_is_wrong_with_it_is_an_error_with_its_place(repository: Path) -> None:
    wrong = {
        "a: [": "not YAML",
        "- crd": "where options belong",
        "crds: [x]": "did you mean crd?",
        "kubernetes: 1.30": "quote it",
        "kubernetes: ['1.30', '1.31']": "takes one value",
        "strict: 'yes please'": "not true or false",
        "profile: loud": "profile cannot be 'loud': ",
        "crd: {a: b}": "where a text belongs",
    }
    for text, expected in wrong.items():
        (repository / ".smp.yaml").write_text(f"{text}\n")
        for words in (("lint", "new.yaml"), ("apply", "--help")):
            ran = run(*words)
            if words[0] == "lint" and text.startswith("profile"):
                continue
            assert (ran.exit_code, expected in ran.stderr) == (2, True), (text, ran)
            assert ".smp.yaml" in ran.stderr


def test_what_one_command_takes_is_no_error_of_another(repository: Path) -> None:
    """A cluster keeps no unknown fields, and knows no profile but its own."""
    for text in ("profile: smd", "validate: keep", "validate: 'true'"):
        (repository / ".smp.yaml").write_text(f"{text}\n")
        for command in ("cluster apply", "cluster get", "apply", "diff", "explain"):
            ran = run(*command.split(), "--help")
            assert ran.exit_code == 0, (text, command, ran)


def test_that_of_the_page_is_understood(repository: Path) -> None:
    page = (DOCS / "command.md").read_text().partition("## An options file")[2]
    (repository / ".smp.yaml").write_text(
        page.partition("```yaml\n")[2].partition("```")[0]
    )
    (repository / "crds").rename(repository / "definitions")
    (repository / "rules.yaml").write_text("version: 1\nrules: []\n")
    assert "spec.size" in run("lint", "widget.yaml").stdout
    assert run("diff", "new.yaml", "new.yaml", "-o", "patch").exit_code == 0
    # The page names all that may stand in it.
    (repository / ".smp.yaml").write_text("nothing-like-it: a\n")
    names = run("lint", "widget.yaml").stderr.partition("there are: ")[2].strip()
    assert [name for name in names.split(", ") if f"`{name}`" not in page] == []


def test_excluded_files_and_templates_of_charts_are_left_out(repository: Path) -> None:
    chart = repository / "apps" / "chart"
    (chart / "templates" / "parts").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: chart\n")
    for name in ("web.yaml", "parts/job.yaml", "notes.txt"):
        (chart / "templates" / name).write_text("{{ no yaml }}\n")
    (repository / ".smp.yaml").write_text("exclude: [live.yaml]\n")
    line = "../chart/Chart.yaml:1: 2 templates of a chart: run helm template first\n"
    sides = ("-f", "..", "--live", "new.yaml")
    wrong = []
    for command in (
        *(("lint", ".."), ("diff", "new.yaml", ".."), ("blame", "..")),
        *(("apply", *sides), ("drift", *sides), ("explain", *sides)),
        ("patch", "..", "-p", "{}"),
    ):
        ran = run(*command, "--exclude", "w*.yaml", "--exclude", "web/live.yaml")
        if ran.stderr.count(line) != 1 or "Widget" in ran.output:
            wrong.append((command, ran.output))
    assert wrong == []
    # The option takes the place of what the file has.
    assert "the same object is also" not in run("lint", "..").output
    again = run("diff", "new.yaml", "..", "--exclude", "widget.yaml")
    assert "the same object is also" in again.output
    # A file that is named is read.
    assert run("lint", "live.yaml").exit_code == 0
