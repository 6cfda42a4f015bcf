"""docs/dependencies.md has a row for each dependency, with the oldest that passes."""

from __future__ import annotations

import re
import tomllib

from tests.support.paths import DOCS, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What `nox -s oldest` installs for users.
OLDEST = dict(
    re.findall(
        r"^([\w.-]+)==(\S+)", (ROOT / ".github/oldest.txt").read_text(), re.MULTILINE
    )
)
ROW = re.compile(r"^\| ([\w.-]+) \|.*\| ([^|]+) \|$", re.MULTILINE)
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[\w+\])?(?:[=>]=([\d.]+))?")


# Their newest versions are installed.
TOOLS = {"bench", "browser", "dev", "site", "test"}


def requirements(*, without: set[str]) -> dict[str, str]:
    """Return the minimum of each package of the project and of its extras."""
    texts = [*PROJECT["dependencies"]]
    for extra, packages in PROJECT["optional-dependencies"].items():
        texts += [] if extra in without else packages
    found: dict[str, str] = {}
    for text in texts:
        match = REQUIREMENT.match(text)
        assert match, text
        found[match[1]] = match[2] or ""
    del found[PROJECT["name"]]
    return found


def rows() -> list[tuple[str, str]]:
    """Return the first and the last cell of each row that is about a package."""
    page = (DOCS / "dependencies.md").read_text()
    return [row for row in ROW.findall(page) if row[0] != "package"]


def test_each_dependency_has_one_row() -> None:
    assert sorted(name for name, _ in rows()) == sorted(requirements(without=set()))


def test_the_oldest_that_passes_is_the_minimum_and_what_the_oldest_session_runs() -> (
    None
):
    wrong = []
    minima = requirements(without=TOOLS)
    last_cells = dict(rows())
    for name, version in OLDEST.items():
        if name not in minima:
            continue  # a dependency of a dependency
        minimum = minima[name]
        is_minimum = version == minimum or re.fullmatch(
            re.escape(minimum) + r"(\.0)+", version
        )
        if last_cells[name] != version or not is_minimum:
            wrong.append((name, version, minimum, last_cells[name]))
    assert wrong == []
