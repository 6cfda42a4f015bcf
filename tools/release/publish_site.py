"""Add a version of the site to the branch gh-pages, which a host of pages serves.

``python tools/release/publish_site.py 0.2`` in a clone: the version, its choice in the
head of each page, and the page for what is not found, which such hosts look for at the
root. ``SMP_SITE_URL`` is where the branch is served. Nothing is pushed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

_CONFIG: Final = Path(__file__).parents[2] / "docs" / "site" / "mkdocs.yml"
_BRANCH: Final = "gh-pages"


def publish(version: str) -> None:
    """Commit the version to the branch, as the newest one."""
    mike = str(Path(sys.executable).with_name("mike"))
    config = ("--config-file", str(_CONFIG), "--branch", _BRANCH)
    _run(mike, "deploy", *config, "--update-aliases", version, "latest")
    _run(mike, "set-default", *config, "latest")
    with TemporaryDirectory() as folder:
        pages = Path(folder) / "pages"
        _run("git", "worktree", "add", "--quiet", str(pages), _BRANCH)
        text = (pages / version / "404.html").read_text(encoding="utf-8")
        text = text.replace(f"/{version}/", "/latest/")
        (pages / "404.html").write_text(text, encoding="utf-8")
        _run("git", "-C", str(pages), "add", "404.html")
        message = "Take the page for what is not found to the root"
        commit = ("commit", "--quiet", "--allow-empty", "-m", message)
        _run("git", "-C", str(pages), *commit)
        _run("git", "worktree", "remove", "--force", str(pages))


def _run(*command: str) -> None:
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, check=True, env=environment)  # noqa: S603  # our own words


if __name__ == "__main__":
    publish(sys.argv[1])
