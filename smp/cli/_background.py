"""A server in the background: its process, and the file that has its process id.

The process keeps the file locked while it runs. So a file that is not locked is one
that a killed process left behind, and no other process that got the same id since is
ever stopped.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from smp.errors import SmpError

_GRACE: Final = 40.0  # seconds: the server gives requests 30 to finish
_POLL: Final = 0.05


@contextmanager
def process_file(path: Path) -> Iterator[None]:
    """Have the id of this process in a file, locked, until the end of the block.

    Raises SmpError where a process that runs has it, or it cannot be written.
    """
    descriptor = _opened(path, os.O_RDWR | os.O_CREAT)
    try:
        if not _lock(descriptor):
            raise SmpError(
                f"a server is running: process {_content(descriptor)}",
                code="already-running",
                hint=f"smp serve --stop --pid-file {path}",
            )
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def stop(path: Path) -> int:
    """End the process that has its id in a file, and return the id.

    Raises SmpError where no such process runs, or it does not end.
    """
    descriptor = _opened(path, os.O_RDWR)
    try:
        if _lock(descriptor):
            path.unlink(missing_ok=True)
            raise SmpError(
                f"no server is running: {path} was left by one that was killed",
                code="not-running",
            )
        process = int(_content(descriptor))
        os.kill(process, signal.SIGTERM)
        deadline = monotonic() + _GRACE
        while not _lock(descriptor):
            if monotonic() > deadline:
                raise SmpError(
                    f"process {process} does not end",
                    code="not-stopped",
                    hint=f"kill -9 {process}",
                )
            sleep(_POLL)
    finally:
        os.close(descriptor)
    return process


def in_background(
    run: Callable[[Callable[[str], None]], None], log: Path
) -> tuple[int, str]:
    """Run a function in a new process, and wait until it is ready.

    The function gets a callback that it calls with a text once it is ready. Return the
    exit code, which is 0, and the text. Where the function ends before it is ready, as
    it does with an error that it has printed, the text is empty. In the new process
    this function does not return before the other function does.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as stream:
            text = stream.read()
        if text:
            return 0, text
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), ""

    os.close(reading)

    def ready(text: str) -> None:
        # From now on it belongs to no terminal, and an error is in the log.
        os.setsid()
        errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream, target in ((0, nowhere), (1, nowhere), (2, errors)):
            os.dup2(target, stream)
        os.write(writing, text.encode())
        os.close(writing)

    run(ready)
    sys.exit(0)


def _opened(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        if flags & os.O_CREAT:
            raise SmpError(
                f"cannot write {path}: there is no directory {path.parent}",
                code="unwritable",
            ) from None
        raise SmpError(
            f"no server is running: there is no file {path}", code="not-running"
        ) from None
    except OSError as error:
        raise SmpError(
            f"cannot open {path}: {error.strerror}", code="unwritable"
        ) from None


def _content(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 32).decode().strip()


def _lock(descriptor: int) -> bool:
    """Lock a file for this process; False where another process has it locked."""
    import fcntl  # noqa: PLC0415  # only POSIX has it, as only it has fork()

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
