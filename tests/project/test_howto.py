"""The guides in docs/howto: their examples run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.examples import python_examples
from tests.support.paths import DOCS, ROOT

pytest_plugins = ["pytester"]

EXAMPLES = [
    (page.name, code)
    for page in sorted((DOCS / "howto").glob("*.md"))
    for code in python_examples(page)
]


@pytest.mark.parametrize(
    ("page", "code"), [each for each in EXAMPLES if "def test_" not in each[1]]
)
def test_an_example_runs(page: str, code: str) -> None:
    # In a process of its own: the clients keep connections until their process ends.
    program = [sys.executable, "-c", code]
    ran = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{page}: {ran.stderr}"


@pytest.mark.slow
def test_the_example_for_pytest_passes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = [code for _, code in EXAMPLES if "def test_" in code]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(code)
    result = pytester.runpytest_subprocess("-p", "smp.pytest_plugin")
    result.assert_outcomes(passed=1)
