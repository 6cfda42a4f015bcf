"""No output is lost, and large inputs are printed as they are computed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from smp import documents
from smp._values.values import as_list
from smp.cli import main
from smp.documents import Chunk, chunks
from tests.support.command import config_map, process, run, smp_command, values

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


# Becomes another program, whose files have a limit.
LIMITED = """
import os, resource, signal, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))
# The signal would end the process before the write can fail.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("environment", [UNBUFFERED, dict(os.environ)])
def test_a_file_that_reaches_its_limit_is_an_error(environment: dict[str, str]) -> None:
    command = [smp_command(), "apply", "-f", "many.yaml", "--jobs", "1"]
    with Path("out.yaml").open("wb") as out:
        ran = subprocess.run(
            [sys.executable, "-c", LIMITED, *command],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            check=False,
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


@pytest.mark.slow
def test_processes_print_what_one_process_prints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("smp.cli._workers._LARGE", 0)
    monkeypatch.setattr("smp.cli._workers._SHARE", 3000)
    text = Path("many.yaml").read_text().replace("name-7", "other-7")
    Path("other.yaml").write_text(f"{text}---\nkind: [\n---\napiVersion: v1\n")
    for output in ("patch", "json", "report", "jsonpatch"):
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


def read_before_the_first_write(
    monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, int]:
    """Run a command; count the documents, and their bytes, until it first writes."""
    counts: list[tuple[int, int]] = []
    read = size = 0

    def counting(*args: Any) -> Iterator[Chunk]:
        nonlocal read, size
        for chunk in chunks(*args):
            read += 1
            size += len(chunk.data)
            yield chunk

    def recording(_text: str) -> None:
        counts.append((read, size))

    monkeypatch.setattr("smp.cli._inputs.chunks", counting)
    monkeypatch.setattr("smp.cli._run.write", recording)
    assert main([*arguments]) == 0
    assert read >= 50
    return counts[0]


@pytest.mark.parametrize(
    "command", [("patch", "PATH", "-p", "{}"), ("apply", "-f", "PATH")]
)
def test_the_first_object_is_printed_before_the_second_is_read(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("many").mkdir()
    for index in range(50):
        Path("many", f"{index}.yaml").write_text(config_map(f"name-{index}"))
    for path in ("many.yaml", "many"):
        words = [word.replace("PATH", path) for word in command]
        first, _ = read_before_the_first_write(monkeypatch, *words, "--jobs", "1")
        assert first == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        # (Without live objects equal content is paired first, so that all is read.)
        ("diff", "OTHER", "many.yaml", "--live", "OTHER", "-o", "json"),
        ("apply", "-f", "many.yaml", "--live", "OTHER"),
        ("apply", "-f", "many.yaml", "--live", "OTHER", "--last-applied", "OTHER"),
    ],
)
def test_the_first_pair_is_printed_before_the_second_is_read(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("many").mkdir()
    texts = Path("many.yaml").read_text().split("---\n")
    for index, text in enumerate(texts):
        Path("many", f"{index:05}.yaml").write_text(text)
    for other in ("many.yaml", "many"):
        words = [word.replace("OTHER", other) for word in command]
        first, _ = read_before_the_first_write(monkeypatch, *words, "--jobs", "1")
        assert first == command.count("OTHER") + 1


def test_what_is_wrong_with_an_input_is_reported_before_anything_is_printed() -> None:
    Path("empty.yaml").write_text("a: 1\n")
    for path in ("empty.yaml", "missing.yaml"):
        for command in (
            ("diff", path, "many.yaml"),
            ("diff", "many.yaml", path),
            ("apply", "-f", "many.yaml", "--live", "many.yaml", "--live", path),
        ):
            ran = run(*command)
            assert (ran.exit_code, ran.stdout) == (2, "")
            assert path in ran.stderr


def test_processes_start_before_all_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "y" * 2**17
    text = "---\n".join(config_map(f"name-{index}", x=data) for index in range(80))
    Path("large.yaml").write_text(text)
    command = ("patch", "large.yaml", "-p", "{}", "--type", "merge", "--jobs", "2")
    _, size = read_before_the_first_write(monkeypatch, *command)
    # What it takes to see that the input is large, and a few shares for each process.
    assert size < 2**21 + 8 * 2**18 < len(text) / 2


def test_an_object_may_come_before_its_definition() -> None:
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
    }
    served = {"type": "object", "properties": {"spec": {"type": "object"}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": served},
                }
            ],
        },
    }
    texts = [json.dumps(part) for part in (widget, definition)]
    Path("both.yaml").write_text("\n---\n".join(texts) + "\n")
    for command in (
        ("patch", "both.yaml", "-p", "metadata: {labels: {a: b}}"),
        ("apply", "-f", "both.yaml", "--strict"),
    ):
        ran = run(*command)
        assert ran.exit_code == 0, ran.output
        assert len(values(ran.stdout)) == 2


def test_what_is_wrong_behind_the_first_object_leaves_it_alone() -> None:
    good = config_map("a")
    Path("late.yaml").write_text(good * 3 + "---\nkind: [\n---\n" + good)
    for command in (("patch", "late.yaml", "-p", "{}"), ("apply", "-f", "late.yaml")):
        ran = run(*command, "-q")
        assert ran.exit_code == 3
        assert ran.stderr.count("smp: error:") == 1
        assert "late.yaml:" in ran.stderr


def test_a_file_that_is_too_large_is_refused_before_anything_is_printed() -> None:
    size = Path("many.yaml").stat().st_size
    for path in ("many.yaml", "-"):
        ran = run(
            "patch", path, "-p", "{}", "--max-bytes", str(size - 1), stdin="x" * size
        )
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert f"larger than {size - 1} bytes" in ran.stderr
    assert (
        run("patch", "many.yaml", "-p", "{}", "--max-bytes", str(size)).exit_code == 0
    )


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    "command", [("patch", "PATH", "-p", "{}"), ("apply", "-f", "PATH")]
)
def test_an_interrupted_output_ends_after_an_object(
    jobs: str, command: tuple[str, ...]
) -> None:
    data = "y" * 2**16
    text = "---\n".join(config_map(f"name-{index}", x=data) for index in range(200))
    Path("large.yaml").write_text(text)
    words = [word.replace("PATH", "large.yaml") for word in command]
    with subprocess.Popen(
        [smp_command(), *words, "-o", "json", "--jobs", jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        # A pipe holds less than the whole output: the command waits for its reader.
        shown = running.stdout.read(1)
        # Only the process that the shell knows of is interrupted, as kill does it.
        running.send_signal(signal.SIGINT)
        shown += running.stdout.read()
        messages = running.stderr.read().decode()
    assert running.returncode == -signal.SIGINT
    # JSON that is cut off cannot be parsed. A list is one text, objects are many.
    printed = [
        element
        for document in documents.read(shown)
        for element in (as_list(document.value) or [document.value])
    ]
    assert 0 < len(printed) < 200
    assert messages.startswith("smp: interrupted: ")
    # No process is left.
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_command(number: signal.Signals) -> None:
    data = "y" * 2**16
    text = "---\n".join(config_map(f"name-{index}", x=data) for index in range(100))
    Path("large.yaml").write_text(text)
    with subprocess.Popen(
        [smp_command(), "patch", "large.yaml", "-p", "{}", "--jobs", "2"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None
        running.stdout.read(1)
        running.send_signal(number)
        # The end of the pipe: no process has it any more.
        running.stdout.read()
    assert running.returncode == -number


def test_a_second_interrupt_ends_the_command_at_once() -> None:
    with subprocess.Popen(
        [smp_command(), "patch", "many.yaml", "-p", "{}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        running.stdout.read(1)
        # The pipe is full by now, or soon: nothing else reads from it.
        while running.poll() is None:
            running.send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert running.returncode == -signal.SIGINT


def test_little_is_imported_before_interrupts_end_the_process() -> None:
    listing = (
        "import sys; before = {*sys.modules}; import smp.cli; "
        "print(*sorted(sys.modules.keys() - before))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == [
        *("smp", "smp.cli", "smp.cli._entry", "smp.cli._version")
    ]


@pytest.mark.parametrize(
    ("signal_handler", "expected"),
    [("SIG_DFL", "True"), ("default_int_handler", "False")],
)
def test_a_caller_keeps_its_own_handler_of_interrupts(
    signal_handler: str, expected: str
) -> None:
    program = (
        "import signal\n"
        "from smp.cli._interrupts import Interruption\n"
        f"handler = signal.{signal_handler}\n"
        "signal.signal(signal.SIGINT, handler)\n"
        "with Interruption() as interruption:\n"
        "    print(signal.getsignal(signal.SIGINT) != handler)\n"
        "assert signal.getsignal(signal.SIGINT) == handler\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == f"{expected}\n"


def test_an_interrupt_of_a_run_on_a_cluster_says_what_is_known() -> None:
    program = (
        "import signal\n"
        "from smp.cli._cluster_printing import ProgressLine\n"
        "from smp.cli._interrupts import InterruptNotice\n"
        "from smp.cluster.plan.exchange import Progress\n"
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
        "line = ProgressLine(None)\n"
        "with InterruptNotice(line.interrupted):\n"
        "    line(Progress(2, 3, 'done'))\n"
        "    signal.raise_signal(signal.SIGINT)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == -signal.SIGINT
    assert ran.stderr == (
        "smp: interrupted: 2 of 3 objects are done; what was sent last may be done as"
        " well\n"
    )


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
