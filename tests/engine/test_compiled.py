"""The wheel with the compiled engine, and the wheels without it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.project.test_docs_blocks import PYTHON_ELSEWHERE
from tests.support.paths import ROOT
from tools.hatch_build import MODULES

pytestmark = pytest.mark.slow

# The compiled engine has to answer what the reference answers, and to keep the laws.
# The tests of depth run, too, as compiled code has no recursion limit of its own, and
# those of arguments, whose types compiled functions check in their own way.
_PROBES: Final = "tests/validation/test_recorded_probes.py"
_VERDICTS: Final = "tests/custom_resources/test_verdicts.py"
SUITES: Final = (
    "tests/engine/test_differential.py",
    "tests/engine/test_laws.py",
    "tests/engine/test_arguments.py",
    "tests/engine/test_pickling.py",
    "tests/engine/test_plain.py",
    "tests/engine/test_robustness.py::test_bottomless_values_are_an_error_or_a_result",
    "tests/engine/test_robustness.py::test_a_bottomless_patch_is_too_deep",
    f"{_VERDICTS}::test_what_a_server_refuses_is_refused_with_its_causes",
    f"{_VERDICTS}::test_lint_has_an_error_exactly_where_a_server_refuses_a_new_object",
    f"{_PROBES}::test_lint_has_an_error_where_a_server_refuses",
)
# The Python of the documentation runs on both kinds of installation.
PAGES: Final = (
    "tests/project/test_docs_blocks.py",
    *sorted({f"tests/{test}" for test in PYTHON_ELSEWHERE.values()}),
)
PROOF: Final = "test_proof.py"
LINKED: Final = (
    "benchmarks",
    "docs",
    "pyproject.toml",
    "spec_cases",
    "tests",
    "tools",
)


def build_wheel(
    target: Path, monkeypatch: pytest.MonkeyPatch, compile_setting: str = ""
) -> Path:
    monkeypatch.setenv("SMP_COMPILE", compile_setting)
    builder = WheelBuilder(str(ROOT))
    (path,) = builder.build(directory=str(target), versions=["standard"])
    return Path(path)


@pytest.fixture(scope="module")
def compiled_wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    with pytest.MonkeyPatch.context() as monkeypatch:
        wheel = build_wheel(tmp_path_factory.mktemp("wheel"), monkeypatch)
    if wheel.name.endswith("-none-any.whl"):
        pytest.skip("no C compiler, or no headers of Python")
    return zipfile.ZipFile(wheel)


@pytest.fixture(scope="module")
def tree(
    compiled_wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder for tests with the package of the wheel, and nothing else of it."""
    tree = tmp_path_factory.mktemp("tree")
    compiled_wheel.extractall(tree)
    for name in LINKED:
        (tree / name).symlink_to(ROOT / name)
    (tree / PROOF).write_text(
        "from smp._values import values\n"
        "from smp.cli._version import version_line\n\n"
        "def test_the_engine_is_the_compiled_one():\n"
        f"    assert values.__file__.startswith('{tree}/smp/')\n"
        "    assert values.COMPILED\n"
        "    assert 'compiled engine' in version_line()\n"
    )
    return tree


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "selected",
    [SUITES, (*PAGES, "-k", "proof or example_ or examples_ or script_of")],
    ids=["the engine", "the documentation"],
)
def test_tests_pass_on_the_compiled_engine(
    tree: Path, selected: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", ""]
    command.append("--hypothesis-profile=thorough")
    ran = subprocess.run(
        [*command, PROOF, *selected],
        cwd=tree,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr


@pytest.mark.exhaustive
def test_the_compiled_wheel_holds_each_module_as_source_and_compiled(
    compiled_wheel: zipfile.ZipFile,
) -> None:
    names = compiled_wheel.namelist()
    for module in MODULES:
        assert module in names
        stem = module.removesuffix(".py")
        compiled = [name for name in names if name.startswith(f"{stem}.")]
        assert len(compiled) == 2, compiled


def test_without_a_compiler_the_wheel_is_pure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build_wheel(tmp_path, monkeypatch).name.endswith("-py3-none-any.whl")


def test_a_failing_compiler_leaves_a_pure_wheel_unless_compiling_is_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise SystemExit("no such compiler")

    monkeypatch.setattr("mypyc.build.mypycify", fail)
    assert build_wheel(tmp_path, monkeypatch).name.endswith("-py3-none-any.whl")
    with pytest.raises(SystemExit):
        build_wheel(tmp_path, monkeypatch, "1")


def test_the_wheel_is_pure_where_compiling_is_turned_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build_wheel(tmp_path, monkeypatch, "0").name.endswith("-py3-none-any.whl")
