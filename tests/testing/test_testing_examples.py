"""The examples of docs/testing.md run."""

from __future__ import annotations

import pytest

from tests.support.examples import python_examples, run_example
from tests.support.paths import DOCS, ROOT

pytest_plugins = ["pytester"]

EXAMPLES = python_examples(DOCS / "testing.md")


def test_the_example_for_pytest_passes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = [code for code in EXAMPLES if "@pytest" in code]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(code)
    result = pytester.runpytest_subprocess("-p", "smp.pytest_plugin")
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize("code", [code for code in EXAMPLES if "@pytest" not in code])
# The client of kopf leaves a connection to the garbage collector.
@pytest.mark.filterwarnings("default")
def test_an_example_runs(code: str) -> None:
    if "import kopf" in code:
        pytest.importorskip("kopf", reason="kopf is not installed")
    assert run_example(code, "testing.md")
