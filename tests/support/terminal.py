"""Commands on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess

from tests.support.command import smp_command


def run_on_a_terminal(*arguments: str, **variables: str) -> str:
    """Run a command on a terminal, and return its exit code and what is on it then."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "", **variables}
    process = subprocess.Popen(
        [smp_command(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    shown = b""
    # Linux ends a terminal that all others left with EIO.
    try:
        while block := os.read(ours, 4096):
            shown += block
    except OSError:
        pass
    os.close(ours)
    process.wait()
    return f"{process.returncode}\n{shown.decode()}".replace("\r\n", "\n")
