"""What documents and messages tell a user to run exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from smp._values.extras import extra_hint
from tests.support.paths import DOCS, ROOT
from tests.support.rows import each_row

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXTS = [
    ROOT / "README.md",
    *sorted(DOCS.glob("*.md")),
    *sorted((ROOT / "smp").rglob("*.py")),
]


@each_row("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_package_is_installed_from_a_clone(path: Path) -> None:
    """No index has it: ``pip install strategic-merge-patch`` finds nothing."""
    text = path.read_text()
    for line in re.findall(r"pip install .*", text):
        assert PROJECT["name"] not in line
        for extra in re.findall(r"\.\[(\w+)\]", line):
            assert extra in PROJECT["optional-dependencies"]


def test_a_hint_names_the_packages_of_an_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    wanted = {"go": {*extras["go"]}, "server": {*extras["server"]}}
    for extra, packages in wanted.items():
        words = extra_hint(extra).removeprefix("pip install ").split()
        assert {word.strip("'") for word in words} == packages
