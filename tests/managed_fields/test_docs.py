"""The pages on server-side apply: their examples run, each page in one namespace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.examples import python_examples, run_example
from tests.support.paths import DOCS

PAGES = (DOCS / "server_side_apply.md", DOCS / "server_side_apply_unions.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path) -> None:
    assert run_example("\n".join(python_examples(page)), page.name)
