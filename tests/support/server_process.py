"""``smp serve`` as a process on a free port, and the real kubectl against it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from tests.support.command import smp_command
from tests.support.kubectl import kubectl_path
from tests.support.waiting import TIMEOUT

_READY = re.compile(r"smp: serving Kubernetes (\S+) at (\S+)\n")


@dataclass
class ServerProcess:
    """A running server: its URL, the kubeconfig that it wrote, and the file that has
    its logs.
    """

    url: str
    kubernetes: str
    kubeconfig: Path
    log: Path
    process: subprocess.Popen[str]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=TIMEOUT)

    def get(self, path: str) -> Any:
        """Return what the server has at a path."""
        answer = httpx.get(self.url + path, timeout=TIMEOUT)
        return answer.raise_for_status().json()

    def post(self, path: str, body: Any) -> Any:
        """Create something."""
        answer = httpx.post(self.url + path, json=body, timeout=TIMEOUT)
        return answer.raise_for_status().json()

    def patch(self, path: str, body: Any, media_type: str) -> Any:
        """Patch something."""
        answer = httpx.patch(
            self.url + path,
            json=body,
            headers={"content-type": media_type},
            timeout=TIMEOUT,
        )
        return answer.raise_for_status().json()

    def in_flight(self) -> int:
        """Return how many requests are being answered, watches not counted."""
        text = httpx.get(f"{self.url}/metrics", timeout=TIMEOUT).text
        gauge = r"(?m)^apiserver_current_inflight_requests (\d+)\.0$"
        return int(re.findall(gauge, text)[0])

    def logged(self) -> list[dict[str, Any]]:
        """Return what was logged so far; every line but notes is JSON."""
        lines = self.log.read_text().splitlines()
        return [
            json.loads(line) for line in lines if not line.startswith("smp: note: ")
        ]


def memory(server: ServerProcess) -> int:
    """Return the resident memory of a process, in MB."""
    status = Path(f"/proc/{server.process.pid}/status")
    if not status.exists():
        pytest.skip("there is no /proc that says how much memory a process has")
    (line,) = (
        line for line in status.read_text().splitlines() if line.startswith("VmRSS:")
    )
    return int(line.split()[1]) // 1024


@contextmanager
def serving(directory: Path, *options: str) -> Iterator[ServerProcess]:
    """Run a server until the end of the block, which kills what is then still there."""
    directory.mkdir(parents=True, exist_ok=True)
    kubeconfig, log = directory / "kubeconfig", directory / "server.log"
    command = [
        smp_command(),
        "serve",
        "--port",
        "0",
        "--kubeconfig",
        str(kubeconfig),
        *options,
    ]
    with log.open("a") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        ready = _READY.fullmatch(_opened(process.stdout).readline())
        assert ready, f"the server did not start: {log.read_text()}"
        yield ServerProcess(ready[2], ready[1], kubeconfig, log, process)
    finally:
        process.kill()
        process.wait()
        _opened(process.stdout).close()


def _opened(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


@dataclass
class Kubectl:
    """The real kubectl for a namespace of a server, with a HOME that no other has."""

    server: ServerProcess
    home: Path
    namespace: str = "default"

    def run(
        self, *arguments: str, stdin: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it and accept every exit code."""
        return subprocess.run(
            self.command(*arguments),
            env={**self.environment, **environment},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * TIMEOUT,
        )

    def __call__(
        self, *arguments: str, stdin: str | None = None, **environment: str
    ) -> str:
        """Run it and return what it printed; it must succeed."""
        done = self.run(*arguments, stdin=stdin, **environment)
        assert done.returncode == 0, (
            f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        )
        return done.stdout

    def live(self, resource: str, name: str) -> Any:
        """Return what the server has: ``deployments.apps/v1``, ``configmaps.v1``."""
        plural, _, api_version = resource.partition(".")
        prefix = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        return self.server.get(f"{prefix}/namespaces/{self.namespace}/{plural}/{name}")

    def apply(self, *objects: Any, options: tuple[str, ...] = ()) -> str:
        """Apply objects."""
        return self("apply", "-f", "-", *options, stdin=manifest(*objects))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start it in the background."""
        return subprocess.Popen(
            self.command(*arguments),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def command(self, *arguments: str) -> list[str]:
        """Return the command line."""
        return [str(kubectl_path()), *arguments, "--namespace", self.namespace]

    @property
    def environment(self) -> dict[str, str]:
        """Return an environment without the settings of the user who runs the tests."""
        return {
            "HOME": str(self.home),
            "KUBECONFIG": str(self.server.kubeconfig),
            "PATH": os.environ.get("PATH", os.defpath),
        }


def manifest(*objects: Any) -> str:
    """Return objects as one text, in JSON: kubectl's YAML reads a bare y as true."""
    return "\n---\n".join(json.dumps(obj) for obj in objects)
