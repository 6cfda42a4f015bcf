"""The compiled engine: a wheel with it, the same tests over it, and a wheel without it
where it cannot be had.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest
from hatchling.builders.wheel import WheelBuilder

from hatch_build import MODULES
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

SUITES: Final = (
    "spec_cases",
    "tests/engine/test_three_way.py",
    "tests/engine/test_laws.py",
    "tests/engine/test_robustness.py",
)
RECORDED: Final = (
    "tests/engine/test_differential.py::test_smp_answers_what_was_recorded"
)
PROOF: Final = "test_proof.py"
QUICK: Final = ("-q", "-p", "no:cacheprovider", "-k", "not hundred_thousand")
PYTEST: Final = (sys.executable, "-m", "pytest", *QUICK, PROOF, *SUITES, RECORDED)


def wheel(target: Path, monkeypatch: pytest.MonkeyPatch, setting: str = "") -> Path:
    monkeypatch.setenv("SMP_COMPILE", setting)
    (path,) = WheelBuilder(str(ROOT)).build(
        directory=str(target), versions=["standard"]
    )
    return Path(path)


def test_the_compiled_engine_passes_the_tests_of_the_interpreted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = wheel(tmp_path, monkeypatch)
    if built.name.endswith("-none-any.whl"):
        pytest.skip("no C compiler, or no headers of Python")
    names = zipfile.ZipFile(built).namelist()
    for module in MODULES:
        assert module in names
        assert any(
            name.startswith(module.removesuffix(".py") + ".")
            and not name.endswith(".py")
            for name in names
        )
    tree = tmp_path / "tree"
    zipfile.ZipFile(built).extractall(tree)
    for name in ("benchmarks", "docs", "pyproject.toml", "spec_cases", "tests"):
        (tree / name).symlink_to(ROOT / name)
    (tree / PROOF).write_text(
        "from smp import values\n"
        f"def test_proof(): assert values.__file__.startswith('{tree}/smp/values.c')\n"
    )
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    ran = subprocess.run(
        PYTEST, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr


def test_without_a_compiler_the_wheel_is_pure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert wheel(tmp_path, monkeypatch).name.endswith("-py3-none-any.whl")


def test_what_cannot_be_compiled_stays_pure_unless_it_has_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mypyc.build.mypycify", _failing)
    assert wheel(tmp_path, monkeypatch).name.endswith("-py3-none-any.whl")
    with pytest.raises(SystemExit):
        wheel(tmp_path, monkeypatch, "1")


def _failing(*_arguments: object, **_options: object) -> None:
    raise SystemExit("no such compiler")


def test_nothing_is_compiled_that_is_not_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wheel(tmp_path, monkeypatch, "0").name.endswith("-py3-none-any.whl")
