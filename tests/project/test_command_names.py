"""The commands find out whether the package ``smp`` is that of this distribution."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import smp
import strategic_merge_patch
from smp._values.extras import DISTRIBUTION
from tests.support.paths import ROOT

OTHER = "the package smp that is imported is not that of strategic-merge-patch"


def foreign(folder: Path, init: str | None = "") -> Path:
    """Write a distribution ``smp`` 4.2.0 as pip installs it; return its folder."""
    package = folder / "smp"
    package.mkdir()
    (package / "header.py").write_text("")
    files = ["smp/header.py"]
    if init is not None:
        (package / "__init__.py").write_text(init)
        files.append("smp/__init__.py")
    info = folder / "smp-4.2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: smp\nVersion: 4.2.0\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    return package


def started(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command with a folder first on the path of modules."""
    shutil.copy(ROOT / "strategic_merge_patch.py", folder)
    program = f"import sys; sys.path.insert(0, {str(folder)!r});"
    program += "from strategic_merge_patch import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, "--version"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_another_distribution_is_named_with_what_to_do(tmp_path: Path) -> None:
    package = foreign(tmp_path)
    ran = started(tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        f"smp: error: {OTHER}\n"
        f"  found:  {package / '__init__.py'}\n"
        "  also installed with a package smp: smp 4.2.0\n"
        "  hint:   use an environment for each, or uninstall the other and"
        " install strategic-merge-patch again\n"
    )


@pytest.mark.parametrize(
    ("init", "found"),
    [
        ("import no_such_module_of_smp", "it cannot be imported: ModuleNotFoundError"),
        ("raise RuntimeError('too old')", "it cannot be imported: RuntimeError"),
        ("__version__ = '4.2.0'", "__init__.py"),
        # What is left where pip removed the files that both distributions have.
        (None, "without __init__.py"),
    ],
)
def test_what_is_imported_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    init: str | None,
    found: str,
) -> None:
    foreign(tmp_path, init)
    for name in [name for name in sys.modules if name.split(".")[0] == "smp"]:
        monkeypatch.delitem(sys.modules, name)
    # A package without __init__.py gives way to any other one on the path.
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    # What other tests import adds finders of its own.
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    assert strategic_merge_patch.main() == 2
    assert strategic_merge_patch.main_diff() == 2
    sys.modules.pop("smp", None)
    assert found in capsys.readouterr().err


def test_a_module_that_no_distribution_has_is_one_on_the_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ModuleType("smp")
    other.__file__ = "/work/smp.py"
    monkeypatch.setitem(sys.modules, "smp", other)
    assert strategic_merge_patch.main() == 2
    written = capsys.readouterr().err
    assert "found:  /work/smp.py" in written
    assert "rename a file or folder smp" in written


@pytest.mark.parametrize("command", ["smp", "smp-diff", "kubectl-smp"])
def test_the_scripts_run_the_command(
    command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"][command].partition(":")
    # Nothing but the command itself may look for what another distribution has.
    assert module == "strategic_merge_patch"
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin == str(ROOT / "strategic_merge_patch.py")
    monkeypatch.setattr(sys, "argv", [command, "--help"])
    # With the arguments of the process, the command sets what holds until it ends.
    monkeypatch.setattr("gc.set_threshold", lambda _first: None)
    monkeypatch.setattr("gc.freeze", lambda: None)
    monkeypatch.setattr("_signal.signal", lambda _number, _handler: None)
    assert getattr(import_module(module), function)() == 0
    usage = {
        "smp": "Usage: smp [OPTIONS]",
        "smp-diff": "Usage: smp diff",
        "kubectl-smp": "Usage: kubectl smp [OPTIONS]",
    }
    assert capfd.readouterr().out.startswith(usage[command])


def test_the_package_names_its_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == smp.__distribution__ == DISTRIBUTION
