"""The examples of docs/comparison.md run, and its tables name what there is."""

from __future__ import annotations

import re
from typing import Final

from smp.comparison import NORMALIZERS, read_rules
from tests.support.examples import python_examples, run_example
from tests.support.paths import DOCS

PAGE: Final = DOCS / "comparison.md"
TEXT: Final = PAGE.read_text()


def test_the_examples_run() -> None:
    # Each goes on where the one before ended.
    code = "\n".join(python_examples(PAGE))
    assert run_example(code, "comparison.md")


def test_the_table_has_all_normalizers() -> None:
    table = TEXT.split("## Normalizers")[1].split("## Rules")[0]
    assert sorted(re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.MULTILINE)) == sorted(
        NORMALIZERS
    )


def test_the_files_are_rules() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert read_rules(text).all == ()


def test_the_paths_for_those_who_come_from_elsewhere_are_paths() -> None:
    page = (DOCS / "howto" / "gitops.md").read_text()
    table = page.split("## The fields that others set")[1]
    cells = [row.split(" | ")[-1] for row in table.splitlines() if " | " in row]
    lists = re.findall(r"`paths: (\[.*?\])`", "\n".join(cells))
    assert len(lists) > 5
    for paths in lists:
        [rule] = read_rules(f"version: 1\nrules:\n- paths: {paths}\n").all
        assert rule.paths
