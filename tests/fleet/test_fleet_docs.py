"""The examples of docs/fleet.md run, those of engines where they are installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from benchmarks.fleet_engines import ENGINES, in_order, plain, written
from smp.fleet import INPUT_COLUMNS, OUTPUT_SCHEMA, VERDICTS, engines
from tests.support.examples import python_examples, run_example
from tests.support.paths import DOCS

PAGE: Final = DOCS / "fleet.md"
TEXT: Final = PAGE.read_text()
FIRST, *SCRIPTS = python_examples(PAGE)
# Those that start no processes of their own; benchmarks.fleet_engines runs the others.
LIGHT: Final = ("duckdb", "polars")


def engine_of(script: str) -> str:
    """Return the function of an engine that a script calls."""
    [name] = re.findall(r"engines\.(\w+)\(", script)
    return str(name)


def test_the_first_example_runs() -> None:
    assert run_example(FIRST, PAGE.name)


def test_the_page_has_all_columns_and_verdicts() -> None:
    for name in (*INPUT_COLUMNS, *OUTPUT_SCHEMA.names, *VERDICTS):
        assert f"`{name}`" in TEXT, name


def test_there_is_a_script_for_each_engine() -> None:
    names = {engine_of(script) for script in SCRIPTS}
    assert names == {"spark", "ray", "dask", "daft", "duckdb", "polars"}
    assert all(callable(getattr(engines, name)) for name in names)


@pytest.mark.parametrize("name", LIGHT)
def test_the_script_of_an_engine_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(name, reason=f"{name} is not installed")
    written(str(tmp_path), 20)
    monkeypatch.chdir(tmp_path)
    [script] = [each for each in SCRIPTS if engine_of(each) == name]
    assert run_example(script, PAGE.name)


@pytest.mark.parametrize("name", LIGHT)
def test_an_engine_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    pytest.importorskip(name, reason=f"{name} is not installed")
    file = written(str(tmp_path), 120)
    assert in_order(ENGINES[name](file)).equals(in_order(plain(file)))
