"""``smp drift --state`` where a run fails in its middle: the state stays whole."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from smp.cli._drift.pairs import Parts
from smp.cli._drift.records import Record
from smp.cli._drift.state import DriftState
from smp.errors import DocumentError
from tests.support.command import Ran, run
from tests.support.paths import ROOT

STATE: Final = "state.db"
OPTIONS: Final = (
    *("-f", "want.ndjson", "--format", "ndjson"),
    *("--jobs", "1", "--state", STATE),
)
FILES: Final = (*OPTIONS, "--live", "live.ndjson")
# What ends the process at the n-th call of any method that reads or writes the state.
KILLER: Final = """
import os, signal, sys
from smp.cli import main
from smp.cli._drift.pairs import Parts
from smp.cli._drift.records import Record
from smp.cli._drift.state import DriftState
from smp.errors import DocumentError
left = int(sys.argv.pop(1))
def killing(method):
    def call(*arguments):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*arguments)
    return call
for name in ("add", "keep_table", "compare", "find_gone", "_forget_others", "close"):
    setattr(DriftState, name, killing(getattr(DriftState, name)))
main(sys.argv[1:])
"""


# What reads a pipe that says nothing, with little patience.
WAITER: Final = """
import sys
from smp.cli import _interrupts, main
_interrupts._PATIENCE = 1
main(sys.argv[1:])
"""
# What has one of its processes ended by the system.
LOSER: Final = """
import os, signal
from smp.cli._interrupts import Interruption
from smp.cli._workers import WorkerPool
from smp.errors import SmpError
def work(worker, item):
    if item == 10:
        os.kill(os.getpid(), signal.SIGKILL)
    return item
with Interruption():
    pool = WorkerPool(None, 2)
    pool.start()
    try:
        for _ in pool.results(([item] for item in range(10_000)), work):
            pass
    except SmpError as error:
        print(error.code)
    pool.close()
"""


def config_map(name: str, value: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop"},
        "data": {"key": value},
    }


def write(side: str, *, drifted: range, value: str = "2") -> None:
    Path(f"{side}.ndjson").write_text(
        "".join(
            json.dumps(config_map(f"n-{n}", value if n in drifted else "1")) + "\n"
            for n in range(40)
        )
    )


def drift(*arguments: str) -> Ran:
    return run("drift", *FILES, *arguments)


def changes(ran: Ran) -> dict[str, tuple[str, str]]:
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return {
        row["name"]: (row["verdict"], row.get("change", ""))
        for row in rows
        if "verdict" in row
    }


def process(*code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **options,
    )


@pytest.fixture(autouse=True)
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run over objects of which ten have drifted; then others have."""
    monkeypatch.chdir(tmp_path)
    write("want", drifted=range(0))
    write("live", drifted=range(10))
    drift()
    write("live", drifted=range(5, 15))


# What a run finds that comes after the first one.
EXPECTED: Final = {
    **{f"n-{number}": ("same", "mended") for number in range(5)},
    **{f"n-{number}": ("drift", "still") for number in range(5, 10)},
    **{f"n-{number}": ("drift", "new") for number in range(10, 15)},
}


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_call_leaves_what_the_last_one_found() -> None:
    first = Path(STATE).read_bytes()
    failures: list[tuple[int, object]] = []
    # Each call of the state ends a run once.
    for number in range(1, 60, 3):
        for path in Path().glob(f"{STATE}*"):
            path.unlink()
        Path(STATE).write_bytes(first)
        killed = process("-c", KILLER, str(number), "drift", *FILES)
        if killed.returncode != -signal.SIGKILL:
            break
        found = changes(drift())
        # The last call is that after the end of the run.
        is_over = {change for _, change in found.values()} == {"still"}
        if found != EXPECTED and not (is_over and number > 10):
            failures.append((number, found))
    assert failures == []
    assert number > 20


@pytest.mark.slow
def test_a_run_that_is_told_to_end_leaves_whole_rows_and_the_state() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "smp", "drift", *OPTIONS, "--live", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as running:
        assert running.stdin is not None
        lines = Path("live.ndjson").read_bytes().splitlines(keepends=True)
        running.stdin.write(lines[0])
        running.stdin.flush()
        while not Path(f"{STATE}-wal").exists() and running.poll() is None:
            os.sched_yield()
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(b"".join(lines[1:]))
    assert running.returncode == -signal.SIGTERM
    assert b"smp: interrupted" in err
    assert all(json.loads(line) for line in out.splitlines())
    assert changes(drift()) == EXPECTED


@pytest.mark.slow
def test_a_run_that_waits_for_input_ends_when_it_is_told_to() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITER, "drift", *OPTIONS, "--live", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as running:
        while not Path(f"{STATE}-wal").exists() and running.poll() is None:
            os.sched_yield()
        running.send_signal(signal.SIGTERM)
        # Nobody writes to the pipe, nor closes it.
        assert running.wait(30) == -signal.SIGTERM


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
def test_a_process_that_the_system_ends_is_an_error() -> None:
    ran = process("-c", LOSER, timeout=30)
    assert (ran.stdout, ran.returncode) == ("ended-process\n", 0), ran.stderr


@pytest.mark.slow
def test_a_disk_that_is_full_ends_no_run_and_loses_no_history() -> None:
    first = Path(STATE).read_bytes()
    said: set[int] = set()
    failures: dict[int, object] = {}
    # Where there is room for less, less of a run can be kept.
    for room in range(4_000, len(first) + 40_000, 8_000):
        for path in Path().glob(f"{STATE}*"):
            path.unlink()
        Path(STATE).write_bytes(first)
        ran = process(
            *("-m", "smp", "drift", *FILES),
            preexec_fn=lambda room=room: resource.setrlimit(
                resource.RLIMIT_FSIZE, (room, room)
            ),
        )
        is_told = "cannot use the file of the state: " in ran.stderr
        rows = [json.loads(line) for line in ran.stdout.splitlines()]
        drifted = [row.get("verdict") for row in rows].count("drift")
        if (ran.returncode, is_told, drifted) not in {(3, True, 10), (1, False, 10)}:
            failures[room] = ran
        if ran.returncode == 3:
            said.add(sum("change" in row for row in rows))
            if changes(drift()) != EXPECTED:
                failures[room] = changes(drift())
    assert failures == {}
    # It was full before the first row, and after some.
    assert 0 in said
    assert len(said) > 1


def test_a_second_run_at_the_same_time_is_refused_the_state() -> None:
    state = DriftState(STATE)
    try:
        ran = drift()
    finally:
        state.close()
    assert ran.exit_code == 3
    assert "another run uses it" in ran.stderr
    # It finds what there is, and says nothing of what has changed.
    assert {*changes(ran).values()} == {("drift", "")}
    assert changes(drift()) == EXPECTED


def of_another_program(path: Path) -> None:
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE songs (name)")
    other.commit()
    other.close()


def overwrite(data: bytes, place: float) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        text = bytearray(path.read_bytes())
        start = int(len(text) * place)
        text[start : start + len(data)] = data
        path.write_bytes(text)

    return change


def without_times(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE findings SET since = NULL")


def test_a_file_that_is_no_state_or_was_damaged_is_an_error_and_stays() -> None:
    whole = Path(STATE).read_bytes()
    damages: dict[str, Callable[[Path], object]] = {
        "text": lambda path: path.write_text("apiVersion: v1\n" * 100),
        "another program": of_another_program,
        "cut": lambda path: path.write_bytes(whole[: len(whole) // 2]),
        "head": overwrite(b"x" * 100, 0.0),
        "page": overwrite(b"\xff" * 4096, 0.4),
        "end": overwrite(b"\xff" * 4096, 0.8),
        "time": without_times,
    }
    failures: dict[str, object] = {}
    for name, damage in damages.items():
        for path in Path().glob(f"{STATE}*"):
            path.unlink()
        Path(STATE).write_bytes(whole)
        damage(Path(STATE))
        damaged = Path(STATE).read_bytes()
        ran = drift()
        is_told = "cannot use the file of the state" in ran.stderr
        has_place = f"file:   {STATE}" in ran.stderr
        stays = Path(STATE).read_bytes() == damaged
        found = ran.exit_code, is_told, has_place, len(changes(ran)), stays
        if found != (3, True, True, 10, True):
            failures[name] = found
    assert failures == {}


def test_a_folder_without_room_for_large_inputs_is_an_error_with_its_place() -> None:
    record = Record("", "v1", "ConfigMap", "shop", "a", b"{}", "a.json:1")
    with (
        closing(Parts(0, folder="none")) as parts,
        pytest.raises(DocumentError) as raised,
    ):
        parts.add(record, is_desired=True)
    assert raised.value.source == "none"
    assert "No such file" in str(raised.value)
