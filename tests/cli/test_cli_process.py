"""The process ``smp``: exit codes, standard streams, colours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import smp
from smp._values.values import COMPILED
from smp.cli import main
from tests.support.command import config_map, process, run, smp_command
from tests.support.terminal import run_on_a_terminal

ESCAPE = "\x1b["


def test_version_loads_none_of_the_heavy_modules() -> None:
    probe = (
        "import sys; from smp.cli import main; main(['--version']);"
        "heavy = {'yaml', 'deepdiff', 'jsonpatch'};"
        "print([*heavy & sys.modules.keys()])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    ).stdout
    engine = "compiled" if COMPILED else "interpreted"
    python = ".".join(map(str, sys.version_info[:3]))
    oldest, *_, newest = smp.versions()
    assert shown == (
        f"smp {smp.__version__} ({engine} engine, Python {python}, "
        f"Kubernetes {oldest} to {newest})\n[]\n"
    )


def test_usual_commands_load_none_of_the_heavy_modules() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n"
        "  replicas: 2\n  template:\n    spec:\n      containers:\n      - name: a\n"
        "        image: 'a:1.0'\n        resources:\n          limits:\n"
        "            cpu: 100m\n"
    )
    Path("a.yaml").write_text(text)
    for command in (
        ["patch", "a.yaml", "-p", "spec: {replicas: 3}"],
        ["apply", "-f", "a.yaml", "--live", "a.yaml"],
        ["diff", "a.yaml", "a.yaml", "-o", "patch"],
    ):
        probe = (
            # The oldest msgspec that is allowed loads json.
            "import sys, msgspec; before = {*sys.modules};"
            "from smp.cli import main;"
            f"assert main({command!r}) == 0;"
            "heavy = {'click', 'yaml', 'json', 'difflib', 'pathlib', 'select',"
            " 'multiprocessing', 'concurrent.futures', 'jsonpatch', 'logging'};"
            "print([*heavy & sys.modules.keys() - before], file=sys.stderr)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", probe], capture_output=True, text=True, check=True
        )
        assert ran.stderr.splitlines()[-1] == "[]"


def test_the_version_is_the_same_beside_other_options() -> None:
    assert process("--version", "-h").stdout == process("--version").stdout


def test_an_unknown_command_is_answered_with_those_that_there_are() -> None:
    for words, hint in (
        (["aply"], "did you mean apply?"),
        (
            ["nothing-like-it"],
            "the commands are: apply, blame, cluster, completion, diff, ",
        ),
        (["schema", "vers"], "did you mean versions?"),
        (["schema", "x"], "the commands are: compile, rules, versions"),
        (["openapi", "x"], "the commands are: convert, generate, prune-enums"),
    ):
        ran = run(*words)
        assert ran.exit_code == 2
        assert hint in ran.stderr


def test_a_defect_is_one_line_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing() -> tuple[str, ...]:
        raise ValueError("max() arg is an empty sequence")

    monkeypatch.setattr("smp.cli.schema.versions", failing)
    assert main(["schema", "versions"]) == 2
    shown = capsys.readouterr().err
    assert "should not have happened: ValueError: max() arg is an empty" in shown
    assert "SMP_TRACEBACK=1" in shown
    monkeypatch.setenv("SMP_TRACEBACK", "1")
    with pytest.raises(ValueError, match="empty sequence"):
        main(["schema", "versions"])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("vw==", "the bytes of a !!binary are not UTF-8"),
        ("v", "a !!binary is not base64: "),
    ],
)
def test_binary_that_is_no_text_is_refused_with_the_reason(
    tmp_path: Path, value: str, message: str
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
        f"data: {{x: !!binary {value}}}\n"
    )
    ran = run("apply", "-f", str(file))
    assert message in ran.stderr
    assert f"{file}:4:11" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("old.yaml", "old.yaml"), 0),
        (("old.yaml", "new.yaml"), 1),
        (("old.yaml", "none.yaml"), 2),
    ],
)
def test_diff_exits_with_0_for_equal_1_for_different_2_for_an_error(
    arguments: tuple[str, str], code: int
) -> None:
    assert process("diff", *arguments).returncode == code


def test_python_dash_m_smp_runs_the_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "smp", "diff", "old.yaml", "new.yaml"],
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 1


def test_a_dash_reads_standard_input() -> None:
    ran = process(
        "patch", "-", "-p", "data: {b: x}", "-o", "json", stdin=config_map(a="1")
    )
    assert json.loads(ran.stdout)["data"] == {"a": "1", "b": "x"}


def test_closed_standard_streams_cause_no_traceback() -> None:
    without_input = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" diff - new.yaml <&-', smp_command()],
        capture_output=True,
        check=False,
    )
    assert without_input.returncode == 2
    assert b"Traceback" not in without_input.stderr
    without_output = subprocess.run(
        [
            "/bin/sh",
            "-c",
            'exec "$0" diff old.yaml new.yaml -o report >&-',
            smp_command(),
        ],
        capture_output=True,
        check=False,
    )
    assert without_output.returncode == 2
    assert without_output.stderr == b"smp: error: standard output is closed\n"


def test_a_closed_pipe_ends_the_command_without_a_message() -> None:
    many = "".join(
        config_map(f"name-{index}", x="y" * 1000) + "---\n" for index in range(200)
    )
    Path("many.yaml").write_text(many)
    for command in ("apply -f many.yaml", "schema compile openapi.json -o -"):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as closed_pipe:
            ran = subprocess.run(
                [smp_command(), *command.split()],
                stdout=closed_pipe,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert (ran.returncode, ran.stderr) == (141, b""), command


def test_a_full_disk_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [smp_command(), "schema", "versions"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 2
    assert "No space left on device" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr("smp.cli._inputs.chunks", interrupted)
    assert main(["diff", "old.yaml", "new.yaml"]) == 130


def test_colours_are_used_on_a_terminal_only() -> None:
    command = ("diff", "old.yaml", "new.yaml", "-o", "report")
    assert ESCAPE in run_on_a_terminal(*command, PAGER="", NO_COLOR="")
    assert ESCAPE not in run_on_a_terminal(*command, PAGER="", NO_COLOR="1")
    assert ESCAPE not in run_on_a_terminal(*command, PAGER="", TERM="dumb")
    assert ESCAPE not in run_on_a_terminal(*command, "--color", "never", PAGER="")
    always = (*command, "--color", "always")
    assert ESCAPE in run_on_a_terminal(*always, PAGER="", NO_COLOR="1")
    assert ESCAPE not in process(*command).stdout
    assert ESCAPE in process(*command, "--color", "always").stdout


def test_a_report_without_colours_has_the_same_text() -> None:
    command = ("diff", "old.yaml", "new.yaml", "-o", "report")
    coloured = run(*command, "--color", "always").stdout
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == run(*command).stdout
