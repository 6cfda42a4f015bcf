"""``smp doctor``: what is installed, and what is wrong with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import smp
from smp._values.values import as_list, as_object, as_text
from smp.cli import doctor
from tests.support.command import run


@pytest.fixture(autouse=True)
def _installed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the distribution have the version of the package.

    An editable installation keeps that of the day on which it was installed.
    """
    real = metadata.version

    def version_of(name: str) -> str:
        return smp.__version__ if name == smp.__distribution__ else real(name)

    monkeypatch.setattr(metadata, "version", version_of)
    monkeypatch.setattr(metadata, "distributions", lambda: iter(()))
    # Each is asked in its own test.
    monkeypatch.setattr(doctor, "_PROGRAMS", ())


def write_program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_sound_installation_has_no_problem() -> None:
    ran = run("doctor")
    assert ran.exit_code == 0
    lines = ran.stdout.splitlines()
    assert lines[0] == f"smp {smp.__version__}, in {smp.__path__[0]}"
    assert lines[-1] == "no problem found"
    assert "  kubernetes  1.25 to 1.37" in lines


def test_json_has_the_same_for_programs() -> None:
    ran = run("doctor", "-o", "json")
    assert ran.exit_code == 0
    found = as_object(json.loads(ran.stdout))
    assert found["version"] == smp.__version__
    assert found["engine"] in ("compiled", "interpreted")
    assert found["problems"] == []
    packages = {
        as_text(as_object(package)["name"]): as_object(package)["version"]
        for package in as_list(found["packages"])
    }
    assert packages["msgspec"]
    names = [as_object(extra)["name"] for extra in as_list(found["extras"])]
    assert names == ["cel", "cluster", "fleet", "go", "report", "server", "uvloop"]


def missing(absent: set[str], real: Callable[[str], str]) -> Callable[[str], str]:
    def version_of(name: str) -> str:
        if name in absent:
            raise PackageNotFoundError(name)
        return real(name)

    return version_of


def test_what_is_missing_comes_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    absent = {"uvicorn", "pyyaml"}
    real = metadata.version
    monkeypatch.setattr(metadata, "version", missing(absent, real))
    ran = run("doctor")
    assert ran.exit_code == 1
    assert "uvicorn is missing" in ran.stdout
    assert "'uvicorn>=0.30'" in ran.stdout
    assert "problem: not installed: pyyaml\n  hint: pip install pyyaml" in ran.stdout


def test_an_extra_is_a_proposal_and_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", missing({"jinja2"}, real))
    assert run("doctor").exit_code == 0


def test_sources_that_nothing_installed_are_no_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = metadata.version
    absent = {smp.__distribution__}
    monkeypatch.setattr(metadata, "version", missing(absent, real))
    monkeypatch.setattr("smp.cli.doctor.requirements_of", lambda _extra: [])
    ran = run("doctor")
    assert ran.exit_code == 0
    assert "packages    not known: nothing installed smp" in ran.stdout


def test_the_version_of_the_distribution_is_that_of_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata, "version", lambda _name: "0.0.1")
    own = [Other(smp.__distribution__, "smp/__init__.py")]
    monkeypatch.setattr(metadata, "distributions", lambda: iter(own))
    ran = run("doctor")
    assert ran.exit_code == 1
    assert "strategic-merge-patch 0.0.1 is installed, and smp" in ran.stdout


class Other:
    """A distribution as importlib.metadata has it."""

    def __init__(self, name: str, *files: str) -> None:
        self.name = name
        self.version = "4.2.0"
        self.files = [Path(file) for file in files]


def test_another_distribution_with_a_package_smp_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        Other("Strategic_Merge.Patch", "smp/__init__.py", "smp/_values/values.py"),
        Other("smp", "smp/__init__.py", "smp/header.py"),
        Other("smpclient", "smpclient/__init__.py"),
    ]
    monkeypatch.setattr(metadata, "distributions", lambda: iter(found))
    ran = run("doctor")
    assert ran.exit_code == 1
    (problem,) = [line for line in ran.stdout.splitlines() if "problem" in line]
    assert problem == (
        "problem: smp 4.2.0 has a package smp as well;"
        " the last one installed overwrote smp/__init__.py"
    )


def test_libraries_for_another_python_are_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "values.cpython-39-x86_64-linux-gnu.so").touch()
    monkeypatch.setattr(smp, "__path__", [str(tmp_path), *smp.__path__])
    found = doctor.installation()
    assert found.engine == "interpreted"
    (problem,) = found.problems
    assert "compiled for another Python: values.cpython-39" in problem.sentence
    assert str(sys.implementation.cache_tag) in problem.sentence


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")
@pytest.mark.parametrize(
    ("text", "version", "problem"),
    [
        ("echo 'Client Version: v1.37.1'; echo Other: v2.0", "1.37.1", ""),
        ("echo go version go1.26.8 linux/amd64", "1.26.8", ""),
        ("echo Kubernetes v1.36.3-rc.1+meta", "1.36.3-rc.1+meta", ""),
        ("echo no", "", "it ended with 0 and printed no version"),
        ("echo 1.2; echo broken >&2; exit 3", "", "broken"),
        ("sleep 9", "", "timed out after"),
    ],
)
def test_a_program_is_asked_for_its_version(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    version: str,
    problem: str,
) -> None:
    write_program(tmp_path, "etcd", text)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(doctor, "_TIME_LIMIT", 0.3)
    monkeypatch.setattr(doctor, "_PROGRAMS", (("etcd", "--version", "tests"),))
    (program,) = doctor.installation().programs
    assert (program.path, program.version) == (str(tmp_path / "etcd"), version)
    assert problem in program.problem
    assert f"{version}" in run("doctor").stdout


def test_a_program_that_is_absent_is_no_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "_PROGRAMS", (("no-such", "version", "tests"),))
    ran = run("doctor")
    assert ran.exit_code == 0
    assert "no-such         not found; for tests" in ran.stdout
