"""``smp test``: golden cases."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.command import run
from tests.support.paths import DATA

CASES = DATA / "cases"


def test_passing_cases_are_counted() -> None:
    ran = run("test", "cases.yaml")
    assert (ran.exit_code, ran.stdout) == (0, "1 passed, 0 failed\n")


def test_a_failing_case_is_shown_and_can_be_updated(directory: Path) -> None:
    right = Path("cases.yaml").read_text()
    folder = directory / "suite"
    folder.mkdir()
    case = folder / "cases.yaml"
    case.write_text(
        right.replace('two_way: {data: {a: "2"}}', 'two_way: {data: {a: "3"}}')
    )
    ran = run("test", "suite")
    assert ran.exit_code == 1
    assert ran.stdout.startswith("suite/cases.yaml:4: a value changes\n    two_way:\n")
    assert ran.stdout.endswith("\n0 passed, 1 failed\n")
    assert run("test", "suite", "--update").exit_code == 0
    assert case.read_text() == right


def test_a_failure_shows_each_place_that_differs() -> None:
    Path("failing.yaml").write_text((CASES / "failing.yaml").read_text())
    ran = run("test", "failing.yaml")
    assert ran.stdout == (CASES / "failing.txt").read_text()


def test_cases_that_cannot_be_run_are_errors() -> None:
    Path("bad.yaml").write_text(
        re.sub(r" +original:.*\n", "", Path("cases.yaml").read_text())
    )
    Path("latin.yaml").write_bytes(b"\xff\xfe\xfa")
    ran = run("test", "bad.yaml", "none.yaml", "latin.yaml", "cases.yaml")
    assert ran.exit_code == 2
    assert ran.stdout == "1 passed, 0 failed\n"
    assert ran.stderr.count("smp: error:") == 3
    assert "  file:   bad.yaml:4\n" in ran.stderr
