"""The examples of docs/fleet.md run."""

from __future__ import annotations

from typing import Final

from smp.fleet import INPUT_COLUMNS, OUTPUT_SCHEMA, VERDICTS
from tests.support.examples import python_examples, run_example
from tests.support.paths import DOCS

PAGE: Final = DOCS / "fleet.md"
TEXT: Final = PAGE.read_text()


def test_the_examples_run() -> None:
    # Each goes on where the one before ended.
    assert run_example("\n".join(python_examples(PAGE)), PAGE.name)


def test_the_page_has_all_columns_and_verdicts() -> None:
    for name in (*INPUT_COLUMNS, *OUTPUT_SCHEMA.names, *VERDICTS):
        assert f"`{name}`" in TEXT, name
