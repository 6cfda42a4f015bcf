"""No output is lost, and large inputs are printed as they are computed."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import config_map, process, run, smp_command

COUNT = 300
UNBUFFERED = {**os.environ, "PYTHONUNBUFFERED": "1"}


@pytest.fixture(name="many", autouse=True)
def fixture_many() -> int:
    """Write many objects to ``many.yaml``, and return the size of what is printed."""
    text = "---\n".join(
        config_map(f"name-{index}", x="y" * 1000) for index in range(COUNT)
    )
    Path("many.yaml").write_text(text)
    return len(process("apply", "-f", "many.yaml").stdout)


@pytest.mark.parametrize("environment", [UNBUFFERED, dict(os.environ)])
def test_a_file_that_reaches_its_limit_is_an_error(environment: dict[str, str]) -> None:
    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))
        # The signal would end the process before the write can fail.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    with Path("out.yaml").open("wb") as out:
        ran = subprocess.run(
            [smp_command(), "apply", "-f", "many.yaml", "--jobs", "1"],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            check=False,
            preexec_fn=limit_files,
        )
    assert ran.returncode == 2
    assert "smp: error: cannot write to standard output: File too large\n" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("environment", [UNBUFFERED, dict(os.environ)])
def test_a_pipe_that_does_not_block_gets_all_output(
    many: int, environment: dict[str, str]
) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with subprocess.Popen(
        [smp_command(), "apply", "-f", "many.yaml"], stdout=writer, env=environment
    ) as running:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            # Slower than the writer, so that the pipe is full most of the time.
            received = 0
            while block := pipe.read(20_000):
                received += len(block)
                time.sleep(0.001)
        assert running.wait() == 0
    assert received == many


def test_a_reader_that_leaves_ends_the_command_as_it_ends_others() -> None:
    for environment in (UNBUFFERED, dict(os.environ)):
        script = '"$0" apply -f many.yaml | head -n 1; exit ${PIPESTATUS[0]}'
        ran = subprocess.run(
            ["/bin/bash", "-c", script, smp_command()],
            capture_output=True,
            env=environment,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (141, b"")


def test_processes_print_what_one_process_prints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("smp.cli._run._LARGE", 0)
    monkeypatch.setattr("smp.cli._run._SHARE", 3000)
    text = Path("many.yaml").read_text().replace("name-7", "other-7")
    Path("other.yaml").write_text(f"{text}---\nkind: [\n---\napiVersion: v1\n")
    for output in ("yaml", "json", "report", "jsonpatch"):
        command = ("diff", "many.yaml", "other.yaml", "-o", output, "--jobs")
        several, one = run(*command, "3"), run(*command, "1")
        assert several.exit_code == 3
        assert several.output == one.output


def test_the_first_object_is_printed_before_the_last_is_computed() -> None:
    Path("slow.yaml").write_text(Path("many.yaml").read_text() + "---\nkind: [\n")
    with subprocess.Popen(
        [smp_command(), "patch", "slow.yaml", "-p", "{}", "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as running:
        assert running.stdout is not None
        # A pipe holds less than the whole output: the command waits for its reader.
        first = running.stdout.read(100)
        assert first.startswith(b"apiVersion: v1\n")
        assert running.poll() is None
        running.stdout.read()
        assert running.wait() == 3


@pytest.mark.slow
def test_an_interrupt_at_any_time_leaves_no_traceback() -> None:
    for milliseconds in range(0, 200, 25):
        with subprocess.Popen(
            [
                sys.executable,
                "-X",
                "importtime",
                smp_command(),
                "apply",
                "-f",
                "many.yaml",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as running:
            assert running.stderr is not None
            # The first line says that the interpreter is far enough to import.
            while b"import smp" not in running.stderr.readline().replace(b"|", b""):
                if running.poll() is not None:
                    break
            time.sleep(milliseconds / 1000)
            running.send_signal(signal.SIGINT)
            _, messages = running.communicate()
        assert b"Traceback" not in messages
        assert running.returncode in {0, -signal.SIGINT, 130}
