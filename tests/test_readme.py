"""The README and the documents say what is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from smp import documents

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
CONSOLE = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SHELL = re.findall(r"^```sh\n(.*?)\n```", README, re.MULTILINE)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "spec_cases" / "README.md"]


def smp(command: str) -> subprocess.CompletedProcess[str]:
    arguments = command.split()
    assert arguments[0] == "smp"
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(("command", "output"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_shown_output_is_the_real_output(command: str, output: str) -> None:
    ran = smp(command)
    assert ran.stderr == ""
    assert ran.stdout == output


@pytest.mark.parametrize("code", PYTHON)
def test_python_runs(code: str) -> None:
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102  (our own text)


def test_first_command_runs_the_main_job() -> None:
    install, _, main_job = SHELL[0].rpartition(" && ")
    assert "pip install" in install
    ran = smp(main_job.removeprefix(".venv/bin/"))
    assert ran.returncode == 0
    assert "hostPath" in ran.stdout


def test_second_command_runs_the_tests() -> None:
    assert SHELL[1].endswith(".venv/bin/pytest")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_each_deviation_has_a_case() -> None:
    text = (ROOT / "docs" / "deviations.md").read_text()
    rows = {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    cases = [
        case
        for path in (ROOT / "spec_cases").rglob("*.yaml")
        for document in documents.read(path.read_bytes(), source=str(path))
        if isinstance(document.value, dict)
        for case in _list(document.value["cases"])
    ]
    numbers = {case["deviation"] for case in cases if isinstance(case, dict) and "deviation" in case}
    not_visible_in_a_result = {6, 7, 8}  # speed, mutation, paths of errors: benchmarks, laws and unit tests show them
    assert rows - not_visible_in_a_result == numbers


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value
