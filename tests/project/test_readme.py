"""The commands and examples of README and docs work, and documents lead somewhere."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tomllib
from contextlib import chdir
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import msgspec
import pytest

from smp import documents
from tests.support.command import Ran, run, smp_command
from tests.support.examples import python_examples, run_example
from tests.support.kubectl import kubectl_path, needs_kubectl
from tests.support.paths import DOCS, ROOT, SPEC_CASES
from tests.support.rows import each_row

README = (ROOT / "README.md").read_text()
CONSOLE = re.findall(
    r"^```console\n\$ (.*?)\n(.*?)^```",
    "".join(
        path.read_text()
        for path in (
            ROOT / "README.md",
            DOCS / "command.md",
            DOCS / "reports.md",
            DOCS / "tutorial.md",
        )
    ),
    re.MULTILINE | re.DOTALL,
)
PYTHON = [
    *python_examples(ROOT / "README.md"),
    *python_examples(DOCS / "reports.md"),
    *python_examples(DOCS / "tutorial.md"),
]
SHELL = re.findall(r"^```sh\n(.*?)\n```", README, re.MULTILINE)
DOCUMENTS = [
    ROOT / "README.md",
    *sorted(DOCS.glob("*.md")),
    SPEC_CASES / "README.md",
]


def smp(command: str) -> Ran:
    program, *arguments = command.split()
    assert program == "smp"
    with chdir(ROOT):
        return run(*arguments)


@pytest.mark.parametrize(
    ("command", "output"), CONSOLE, ids=[command for command, _ in CONSOLE]
)
def test_shown_output_is_the_real_output(command: str, output: str) -> None:
    ran = smp(command)
    assert ran.stderr == ""
    assert ran.stdout == output


@pytest.mark.parametrize("code", PYTHON)
def test_an_example_runs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Examples read files of the clone.
    monkeypatch.chdir(ROOT)
    assert run_example(code, "README.md")


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_the_numbers_of_the_readme_are_those_of_the_benchmark() -> None:
    """Deployment and large Pod, applied over bytes: ours, and Go's."""
    _, _, table = (DOCS / "performance.md").read_text().partition("<!-- bytes -->")
    table, _, _ = table.partition("<!-- /bytes -->")
    best = {}
    for row in re.findall(r"^\| (.+: apply) \| (.+) \|$", table, re.MULTILINE):
        _, ours, _, go = [cell.split()[0] for cell in row[1].split(" | ")][:4]
        best[row[0]] = [float(time.replace(",", "")) for time in (ours, go)]
    numbers = re.search(
        r"takes (\d+) microseconds to apply, Go (\d+); a Pod with 100 containers of 200"
        r" variables ([\d.]+) ms, Go (\d+) ms",
        README.replace("\n", " "),
    )
    assert numbers is not None
    small, small_go, large, large_go = (float(number) for number in numbers.groups())
    ours, go = best["Deployment, 5 containers: apply"]
    assert (small, small_go) == (round(ours), round(go))
    ours, go = best["Pod, 100 containers x 200 env: apply"]
    assert (large, large_go) == (round(ours / 1_000, 1), round(go / 1_000))


def test_first_command_runs_the_main_job() -> None:
    install, _, main_job = SHELL[0].rpartition(" && ")
    # Without -v, pip shows nothing of a build that takes a minute.
    assert install.endswith("pip install -v .")
    ran = smp(main_job.removeprefix(".venv/bin/"))
    assert ran.exit_code == 0
    assert "hostPath" in ran.stdout


EXAMPLES: Final = "-f docs/examples/new.yaml --live docs/examples/live.yaml"
# A part of each answer; `smp lint` finds nothing.
ANSWERS: Final = {
    "explain": "a HorizontalPodAutoscaler or kubectl scale sets it",
    "blame": "kubectl  Update  scale |   replicas: 7",
    "apply": '~ spec.strategy.type: "RollingUpdate" -> "Recreate"',
    "drift": "1 object: 1 drift",
    "lint": "",
}
# What else the list at the head names: a command for it, and the extra that it needs.
NAMED: Final = {
    "`diff`": ("smp diff docs/examples/live.yaml docs/examples/new.yaml", ""),
    "`patch`": ('smp patch docs/examples/live.yaml -p {"spec":{"replicas":2}}', ""),
    "HTML": (f"smp apply {EXAMPLES} --format html", "report"),
    "`smp cluster`": ("smp cluster get deployments", "cluster"),
    "`--live cluster`": ("smp diff --live cluster docs/examples/new.yaml", "cluster"),
    "`smp drift`": ("smp drift -f docs/examples --live cluster", "fleet"),
    "`smp serve`": ("smp serve", "server"),
}
EXTRA: Final = re.compile(r"pip install '\.\[(\w+)\]'")


def packages_of_extras() -> dict[str, set[str]]:
    """Return what each extra for users names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {
        extra: {re.split(r"[^\w-]", name)[0] for name in requirements}
        for extra, requirements in project["optional-dependencies"].items()
        if extra in ("cluster", "fleet", "go", "report", "server")
    }


def run_with_extras(commands: list[str], extras: set[str]) -> list[Ran]:
    """Run commands as after an install that has only these extras."""
    found = packages_of_extras()
    absent = {*itertools.chain(*(found[extra] for extra in found.keys() - extras))}
    modules = [
        module
        for module, packages in packages_distributions().items()
        if absent & {package.lower() for package in packages}
    ]
    program = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({modules!r}))\n"
        "import msgspec\n"
        "from tests.support.command import run\n"
        "ran = [run(*command.split()[1:]) for command in sys.argv[1:]]\n"
        "sys.stdout.buffer.write(msgspec.json.encode(ran))\n"
    )
    output = subprocess.check_output(
        [sys.executable, "-c", program, *commands], cwd=ROOT, timeout=120
    )
    return msgspec.json.decode(output, type=list[Ran])


def test_each_question_has_a_command_that_answers_it() -> None:
    """After the install at the head, or with the extra that stands beside it."""
    rows = re.findall(r"^\| [^|]+\? \| `smp ([^`]+)`(.*) \|$", README, re.MULTILINE)
    commands = {command.split()[0]: f"smp {command}" for command, _ in rows}
    assert [*commands] == [*ANSWERS]
    # All of the extra fleet; to install it from the clone would compile once more.
    named = [(command, rest.replace("pyarrow", "'.[fleet]'")) for command, rest in rows]
    extras = {command.split()[0]: {*EXTRA.findall(rest)} for command, rest in named}
    plain = [name for name in commands if not extras[name]]
    answers = dict(
        zip(
            plain,
            run_with_extras([commands[name] for name in plain], set()),
            strict=True,
        )
    )
    for name in commands.keys() - answers.keys():
        (answers[name],) = run_with_extras([commands[name]], extras[name])
    assert not [
        (name, ran.output)
        for name, ran in answers.items()
        if ran.exit_code > 1
        or ANSWERS[name] not in ran.stdout
        # What lint finds nothing in is right.
        or (name == "lint" and ran.exit_code != 0)
    ]


def test_what_the_readme_names_runs_or_has_its_extra_beside_it() -> None:
    items = re.findall(r"^- \*\*A.*?(?=^- |^$)", README, re.MULTILINE | re.DOTALL)
    item_of = {
        name: next((item for item in items if name in item), "") for name in NAMED
    }
    problems = []
    outcomes = run_with_extras([command for command, _ in NAMED.values()], set())
    for (name, (command, extra)), ran in zip(NAMED.items(), outcomes, strict=True):
        if not item_of[name]:
            problems.append(f"{name} is not in the list")
        elif not extra and ran.exit_code > 1:
            problems.append(f"{command} needs more than the install: {ran.stderr}")
        elif extra and extra not in EXTRA.findall(item_of[name]):
            problems.append(f"{name} has no pip install '.[{extra}]' beside it")
        elif extra and not any(
            package in ran.stderr for package in packages_of_extras()[extra]
        ):
            problems.append(f"{command} does not need {extra}: {ran.output}")
    assert not problems
    # What it names besides is in a question.
    named = re.findall(r"`(?:smp )?([a-z]+)`", "".join(items))
    known = {name.strip("`").split()[-1] for name in NAMED} | {*ANSWERS}
    assert {*named} <= known


def test_second_command_runs_the_tests() -> None:
    assert SHELL[1].endswith(" && .venv/bin/pytest -n auto --dist worksteal")


@needs_kubectl
@pytest.mark.slow
def test_the_lines_of_the_server_work_as_pasted(tmp_path: Path) -> None:
    install, *lines = (
        README.partition("```sh\npip install")[2].partition("\n```")[0].splitlines()
    )
    assert install == " '.[server]'"
    assert [line.split()[:2] for line in (lines[0], lines[-1])] == [
        ["smp", "serve"]
    ] * 2
    # Where other tests run beside this one, the default port may be taken.
    script = "\n".join(["set -e", *lines]).replace(
        "--background", "--background --port 0"
    )
    (tmp_path / "docs").symlink_to(DOCS)
    scripts = [Path(smp_command()).parent, _path_of_kubectl().parent]
    ran = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=tmp_path,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "PATH": os.pathsep.join([*map(str, scripts), os.environ["PATH"]]),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.fullmatch(
        r"smp: serving Kubernetes \S+ at \S+\n"
        r"smp: to stop it: smp serve --stop --kubeconfig smp.kubeconfig\n"
        r"namespace/shop created\n"
        r"deployment.apps/web created\n"
        r"smp: stopped process \d+\n",
        ran.stdout,
    )


def _path_of_kubectl() -> Path:
    path = kubectl_path()
    assert path is not None
    return path


@each_row("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_each_deviation_has_a_case() -> None:
    text = (DOCS / "deviations.md").read_text()
    rows = {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    cases = [
        case
        for path in SPEC_CASES.rglob("*.yaml")
        for document in documents.read(path.read_bytes(), source=str(path))
        if isinstance(document.value, dict)
        for case in _list(document.value["cases"])
    ]
    numbers = {
        case["deviation"]
        for case in cases
        if isinstance(case, dict) and "deviation" in case
    }
    # Speed, mutated arguments and paths of errors: benchmarks, laws and unit tests show
    # them.
    not_visible_in_a_result = {6, 7, 8}
    assert rows - not_visible_in_a_result == numbers


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value
