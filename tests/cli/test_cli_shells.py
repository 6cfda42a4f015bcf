"""Completion, tried in the shells themselves."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command import smp_command

# Typed, and then Tab is pressed; what it becomes.
TYPED = {"smp clus": "smp cluster", "smp diff -o rep": "smp diff -o report"}
_PATIENCE = 60.0  # seconds


def environment() -> dict[str, str]:
    folder = str(Path(smp_command()).parent)
    path = os.pathsep.join([folder, os.environ["PATH"]])
    return {**os.environ, "PATH": path, "TERM": "dumb", "PS1": "> "}


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def test_bash_completes() -> None:
    for typed, wanted in TYPED.items():
        words = typed.split()
        script = (
            "source <(smp completion bash); "
            f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; "
            f"_smp_completion smp {words[-1]} {words[-2]}; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        assert run_script("bash", "--norc", script) == [wanted.split()[-1]]


def test_fish_completes() -> None:
    for typed, wanted in TYPED.items():
        script = f"smp completion fish | source; complete -C '{typed}'"
        lines = run_script("fish", "--no-config", script)
        assert [line.partition("\t")[0] for line in lines] == [wanted.split()[-1]]


def run_script(name: str, option: str, script: str) -> list[str]:
    done = subprocess.run(
        [shell(name), option, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=_PATIENCE,
    )
    return done.stdout.splitlines()


def test_zsh_completes() -> None:
    program = shell("zsh")
    # zsh completes on a terminal alone.
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [program, "-f", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(),
        start_new_session=True,
    )
    os.close(theirs)
    try:
        os.write(ours, b"autoload -U compinit; compinit -u -D\n")
        os.write(ours, b"source <(smp completion zsh); echo is-''ready\n")
        read_until(ours, "is-ready")
        for typed, wanted in TYPED.items():
            # Control-U clears the line.
            os.write(ours, f"\x15{typed}\t".encode())
            read_until(ours, f"{wanted} ")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_until(terminal: int, text: str) -> None:
    """Read what a terminal shows until a text is there."""
    shown = ""
    end = time.monotonic() + _PATIENCE
    while text not in shown:
        assert time.monotonic() < end, shown
        ready, _, _ = select.select([terminal], [], [], 1)
        if ready:
            shown += os.read(terminal, 4096).decode(errors="replace")
