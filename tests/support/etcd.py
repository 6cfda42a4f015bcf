"""A real etcd on this machine, to be stopped, killed and started again with the same
data.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest

BINARY: Final = shutil.which("etcd")
needs_etcd: Final = pytest.mark.skipif(BINARY is None, reason="no etcd on PATH")

_PATIENCE: Final = 60.0  # seconds
# Another process may take a port between finding it free and using it.
_ATTEMPTS: Final = 5


class Etcd:
    """One etcd member on loopback, with ports and a data directory of its own."""

    def __init__(self, directory: Path, *flags: str) -> None:
        self._directory = directory
        self._flags = flags
        self._client, self._peer, self._metrics = free_ports(3)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where clients connect to."""
        return f"127.0.0.1:{self._client}"

    @property
    def peer(self) -> str:
        """Where other members connect to."""
        return f"http://127.0.0.1:{self._peer}"

    @property
    def url(self) -> str:
        """The URL for ``open_store``; a path is a root of its own."""
        return f"etcd://{self.address}"

    def start(self) -> None:
        """Start it, and wait until it serves."""
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command(), stdout=log, stderr=log)
        deadline = time.monotonic() + _PATIENCE
        while not self._healthy():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise OSError((self._directory / "log").read_text()[-2000:])
            time.sleep(0.02)

    def stop(self) -> None:
        """Let it end."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def wipe(self) -> None:
        """Drop the data of one that has ended: the next start is the first one."""
        shutil.rmtree(self._directory / "data")

    def pause(self) -> None:
        """Let it hang: it accepts connections and does not answer."""
        self._signal(signal.SIGSTOP)
        # Its threads stop one after the other; until then it may answer.
        if self._process:
            os.waitpid(self._process.pid, os.WUNTRACED)

    def resume(self) -> None:
        """Let it go on after ``pause``."""
        self._signal(signal.SIGCONT)

    def call(self, path: str, request: dict[str, object]) -> None:
        """Call its API, as a client other than a store."""
        httpx.post(
            f"http://127.0.0.1:{self._client}/v3/{path}",
            json=request,
            timeout=_PATIENCE,
            trust_env=False,
        ).raise_for_status()

    def _end(self, number: signal.Signals) -> None:
        self._signal(number)
        if self._process:
            self._process.wait(_PATIENCE)

    def _signal(self, number: signal.Signals) -> None:
        if self._process:
            self._process.send_signal(number)

    def _healthy(self) -> bool:
        try:
            health = httpx.get(
                f"http://127.0.0.1:{self._metrics}/health", timeout=1, trust_env=False
            )
        except httpx.HTTPError:
            return False
        return '"health":"true"' in health.text

    def _command(self) -> list[str]:
        client, peer = f"http://{self.address}", self.peer
        return [
            BINARY or "etcd",
            f"--data-dir={self._directory / 'data'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            f"--listen-metrics-urls=http://127.0.0.1:{self._metrics}",
            "--heartbeat-interval=10",
            "--election-timeout=100",
            *self._flags,
        ]


@contextmanager
def running(*flags: str) -> Iterator[Etcd]:
    """Run one with its data in a temporary directory; it ends with the context,
    in any state.
    """
    with tempfile.TemporaryDirectory(prefix="etcd-") as directory:
        etcd = _started(Path(directory), *flags)
        try:
            yield etcd
        finally:
            etcd.kill()


def _started(directory: Path, *flags: str) -> Etcd:
    for _ in range(_ATTEMPTS):
        etcd = Etcd(directory, *flags)
        try:
            etcd.start()
        except OSError as error:
            failure = error
        else:
            return etcd
    raise failure


def free_ports(count: int) -> list[int]:
    """Find ports that are not in use."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
