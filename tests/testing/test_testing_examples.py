"""The examples of docs/testing.md run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from smp.testing import KubernetesApi
from tests.support.examples import python_examples, run_example
from tests.support.paths import DOCS, ROOT

pytest_plugins = ["pytester"]

DOCUMENT = DOCS / "testing.md"
EXAMPLES = python_examples(DOCUMENT)
# What the examples need beside the packages of the tests.
REQUIRED = ["kopf", "lightkube", "ops"]


@pytest.mark.slow
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
# The clients leave connections to the garbage collector.
@pytest.mark.filterwarnings("default")
def test_an_example_runs(code: str) -> None:
    for package in REQUIRED:
        if f"import {package}\n" in code:
            pytest.importorskip(package, reason=f"{package} is not installed")
    if "ansible-playbook" in code and shutil.which("ansible-playbook") is None:
        pytest.skip("ansible is not installed")
    assert run_example(code, "testing.md")


@pytest.mark.slow
@pytest.mark.skipif(
    "SMP_EXAMPLES" not in os.environ,
    reason="building controller-runtime takes minutes: SMP_EXAMPLES=all does it",
)
def test_the_go_operator_works(tmp_path: Path) -> None:
    (code,) = re.findall(
        r"^```go\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL
    )
    module = Path(__file__).parent / "operator"
    shutil.copytree(module, tmp_path, dirs_exist_ok=True)
    (tmp_path / "operator_test.go").write_text(code)
    go = shutil.which("go")
    if go is None:
        pytest.skip("go is not installed")
    fetched = subprocess.run([go, "mod", "download"], cwd=tmp_path, check=False)
    if fetched.returncode:
        pytest.skip("the modules of controller-runtime cannot be fetched")
    with KubernetesApi() as api:
        ran = subprocess.run(
            [go, "test", "-vet=off", "./..."],
            cwd=tmp_path,
            env={**os.environ, "KUBECONFIG": str(api.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
