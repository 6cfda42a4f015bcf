"""What publishes a release: its notes, URLs, the manifest for krew, the workflows."""

from __future__ import annotations

import hashlib
import re
import tarfile
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

import smp
from smp._values.values import as_object
from smp.documents import read
from tests.support.paths import DOCS, ROOT
from tools.hatch_build import urls_of
from tools.release.krew import manifest
from tools.release.notes import NotesError, notes_of, version_of

CHANGELOG = """\
# Changelog

## Unreleased

## 1.1.0 - unreleased

Next.

## 1.0.0 - 2026-03-02

First.

### Added
- a
"""
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# The first release of each action that runs on Node 24, by ``runs.using`` in its
# action.yml at that tag. Hosted runners have had no Node 20 since September 2026
# (github.blog/changelog/2025-09-19-deprecation-of-node-20-on-github-actions-runners).
# Of an action that runs no JavaScript itself, the first whose own steps are on Node 24.
NODE_24: Final = {
    "actions/attest": (3, 0, 0),
    "actions/checkout": (5, 0, 0),
    # v5 and v6 could run on Node 24, and did not by default: their README has it.
    "actions/download-artifact": (7, 0, 0),
    "actions/setup-python": (6, 0, 0),
    # As above: v5 did not by default.
    "actions/upload-artifact": (6, 0, 0),
    # It uses actions/setup-python: its pull request 408, released after its issue 413.
    "pypa/gh-action-pypi-publish": (1, 14, 1),
}


@pytest.mark.parametrize("ref", ["v1.0.0", "refs/tags/v1.0.0"])
def test_the_entry_of_a_tag_is_the_text_of_its_release(ref: str) -> None:
    assert notes_of(ref, CHANGELOG, "1.0.0") == "First.\n\n### Added\n- a\n"


def test_a_branch_shows_the_newest_entry() -> None:
    assert notes_of("refs/heads/main", CHANGELOG, "1.1.0") == "Next.\n"


@pytest.mark.parametrize(
    ("ref", "version", "problem"),
    [
        ("v1.0.0", "1.1.0", "the tag is of 1.0.0, and the version is 1.1.0"),
        ("v1.1.0", "1.1.0", "the entry of 1.1.0 has no date: unreleased"),
        ("v2.0.0", "2.0.0", "CHANGELOG.md has no entry for v2.0.0"),
    ],
)
def test_what_does_not_agree_is_not_released(
    ref: str, version: str, problem: str
) -> None:
    with pytest.raises(NotesError) as caught:
        notes_of(ref, CHANGELOG, version)
    assert str(caught.value) == problem


def test_the_changelog_of_this_version_has_an_entry() -> None:
    version = version_of((ROOT / "smp" / "__init__.py").read_text())
    assert version == smp.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"^## {re.escape(version)} - ", changelog, re.MULTILINE)
    assert notes_of("refs/heads/main", changelog, version)


def test_the_urls_are_those_of_the_repository_that_publishes(tmp_path: Path) -> None:
    urls = urls_of("https://git.example.com/shop/smp", tmp_path / "PKG-INFO")
    assert urls["Repository"] == "https://git.example.com/shop/smp"
    assert urls["Issues"] == "https://git.example.com/shop/smp/issues"


def test_an_sdist_keeps_its_urls(tmp_path: Path) -> None:
    text = "Name: a\nProject-URL: Issues, https://git.example.com/a, b\n\nText\n"
    (tmp_path / "PKG-INFO").write_text(text)
    urls = urls_of("", tmp_path / "PKG-INFO")
    assert urls == {"Issues": "https://git.example.com/a, b"}


def test_sources_without_a_publisher_have_no_urls(tmp_path: Path) -> None:
    assert urls_of("", tmp_path / "PKG-INFO") == {}


def test_krew_gets_the_hash_and_the_executable_of_each_archive(tmp_path: Path) -> None:
    archives = []
    for platform in ("linux-amd64", "windows-amd64"):
        archive = tmp_path / f"kubectl-smp-{platform}.tar.gz"
        with tarfile.open(archive, "w:gz"):
            pass
        archives.append(archive)
    written = manifest("v1.0.0", "https://git.example.com/shop/smp", archives)
    linux, windows = written["spec"]["platforms"]
    assert linux == {
        "selector": {"matchLabels": {"os": "linux", "arch": "amd64"}},
        "uri": "https://git.example.com/shop/smp/releases/download/v1.0.0/"
        "kubectl-smp-linux-amd64.tar.gz",
        "sha256": hashlib.sha256(archives[0].read_bytes()).hexdigest(),
        "bin": "kubectl-smp/kubectl-smp",
    }
    assert windows["bin"] == "kubectl-smp/kubectl-smp.exe"
    # krew's limit, and the name of the command that a plugin is.
    assert len(written["spec"]["shortDescription"]) < 50
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert f"kubectl-{written['metadata']['name']}" in scripts
    with pytest.raises(ValueError, match="is not kubectl-smp-OS-ARCH"):
        manifest("v1.0.0", "https://git.example.com", [tmp_path / "other.tar.gz"])


def workflow(path: Path) -> dict[str, Any]:
    (document,) = read(path.read_bytes())
    return as_object(document.value)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_jobs_have_few_rights(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    document = workflow(path)
    # What a job does not ask for it does not get.
    assert document["permissions"] == {}
    for job in document["jobs"].values():
        assert "permissions" in job
        assert "timeout-minutes" in job


def test_actions_run_on_node_24() -> None:
    """Those of the workflows, and those that the documentation shows."""
    pins: dict[str, set[str]] = {}
    for path in (*WORKFLOWS, ROOT / "action.yml", *sorted(DOCS.rglob("*.md"))):
        for action, pin in re.findall(
            r"\buses: ([\w.-]+/[\w.-]+)[\w./-]*@(.*)", path.read_text()
        ):
            if (action, pin) != ("OWNER/REPOSITORY", "COMMIT"):
                pins.setdefault(action, set()).add(pin)
    assert pins.keys() >= {"actions/checkout"}
    problems = []
    for action, used in pins.items():
        first = NODE_24.get(action)
        if first is None:
            problems.append(
                f"{action}: look in its action.yml from which release on it runs on "
                "Node 24 (runs.using: node24, or that of what its steps use), and "
                "write it into NODE_24"
            )
            continue
        for pin in used:
            release = re.search(r"v(\d+(?:\.\d+)*)$", pin)
            numbers = release[1].split(".") if release else ["0"]
            version = tuple(int(number) for number in numbers)
            # v7 is the newest release with that major number.
            if version < first[: len(version)]:
                wanted = ".".join(map(str, first))
                problems.append(f"{action}@{pin}: Node 24 needs v{wanted} or later")
        if len({pin for pin in used if "#" in pin}) > 1:
            problems.append(f"{action}: one release, not {sorted(used)}")
    assert not problems, "\n".join(problems)


def test_the_jobs_of_ci_are_sessions_of_nox() -> None:
    sessions = re.findall(
        r"^@nox\.session.*\ndef (\w+)", (ROOT / "noxfile.py").read_text(), re.MULTILINE
    )
    jobs = workflow(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    matrix = jobs["checks"]["strategy"]["matrix"]["session"]
    assert {*matrix, "tests", "compiled"} <= {*sessions}
    called = re.findall(
        r"^nox .* -s (.*)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE
    )
    assert {name for names in called for name in names.split()} <= {*sessions}
    assert "lint types workflows site" in called
