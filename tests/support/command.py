"""Running the command ``smp``: in this process, or the installed one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smp import documents
from smp.cli import main
from smp.cli._command_line import load_command
from smp.cli._commands import COMMANDS, Command


class Ran(msgspec.Struct, frozen=True):
    """What a command printed, and its exit code; ``output`` is of both streams."""

    exit_code: int
    stdout_bytes: bytes
    stderr_bytes: bytes
    output_bytes: bytes

    @property
    def stdout(self) -> str:
        """Standard output."""
        return self.stdout_bytes.decode()

    @property
    def stderr(self) -> str:
        """Standard error."""
        return self.stderr_bytes.decode()

    @property
    def output(self) -> str:
        """Both, as on a terminal."""
        return self.output_bytes.decode()


class _Copied(BytesIO):
    """A stream whose bytes go into another one as well."""

    def __init__(self, copy: BytesIO) -> None:
        super().__init__()
        self._copy = copy

    def write(self, data: Any, /) -> int:
        self._copy.write(data)
        return super().write(data)


def run(*arguments: str, stdin: str | None = None) -> Ran:
    """Run the command in this process; an exception that it does not handle fails."""
    both = BytesIO()
    out, err = _Copied(both), _Copied(both)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SMP_TRACEBACK", "1")
        for name, stream in (
            ("stdin", BytesIO((stdin or "").encode())),
            ("stdout", out),
            ("stderr", err),
        ):
            # What is written is in the bytes at once, in the order of both streams.
            text = TextIOWrapper(stream, encoding="utf-8", write_through=True)
            patched.setattr(sys, name, text)
        code = main([*arguments])
        sys.stdout.flush()
        sys.stderr.flush()
        return Ran(code, out.getvalue(), err.getvalue(), both.getvalue())


def smp_command() -> str:
    """Return the path of the installed command."""
    command = shutil.which("smp", path=Path(sys.executable).parent)
    assert command, "the command is not installed beside this Python: pip install -e ."
    return command


def process(
    *arguments: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the installed command to its end."""
    return subprocess.run(
        [smp_command(), *arguments],
        input=stdin,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def config_map(name: str = "a", namespace: str = "", **data: str) -> str:
    """Write a ConfigMap as a line of JSON."""
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    return json.dumps(obj) + "\n"


def values(text: str) -> list[object]:
    """Read the values of all documents of a text."""
    return [document.value for document in documents.read(text)]


def declared_commands() -> dict[tuple[str, ...], Command]:
    """Return all commands by their names."""
    found: dict[tuple[str, ...], Command] = {}
    for name in COMMANDS:
        command = load_command(name)
        if isinstance(command, Command):
            found[name,] = command
        else:
            found |= {(name, below): each for below, each in command.commands.items()}
    return found
