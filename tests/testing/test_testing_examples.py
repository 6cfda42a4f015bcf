"""The examples of docs/testing.md run."""

from __future__ import annotations

import pytest

from tests.support.examples import python_examples, run_example
from tests.support.paths import DOCS

EXAMPLES = python_examples(DOCS / "testing.md")


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code: str) -> None:
    assert run_example(code, "testing.md")
