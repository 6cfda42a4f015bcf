"""Record what the real kubectl prints with a real kube-apiserver.

``SMP_KUBE_APISERVER=build python -m tests.record.kubectl_commands`` runs the commands
of tests/data/kubectl/commands.yaml, and writes commands.jsonl.xz beside it: the
versions, and then a command a line, with its exit code and what it printed.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import msgspec

from smp._values.values import JSONObject
from tests.record.applies import write
from tests.support.apiserver import ApiServer, running, version
from tests.support.kubectl import kubectl_path
from tests.support.kubectl_commands import RECORDED, parts, played


def record() -> None:
    """Write the answers again."""
    lines: list[JSONObject] = [
        {"kube-apiserver": version(), "kubectl": kubectl_version()}
    ]
    with running() as server:
        for part in parts():
            lines += recorded(server, part)
    write(RECORDED, lines)


def recorded(server: ApiServer, part: str) -> list[JSONObject]:
    """Return what the commands of a part print."""
    namespace: JSONObject = {"metadata": {"name": part}}
    server.request("POST", "/api/v1/namespaces", namespace)
    token = server.headers["Authorization"].removeprefix("Bearer ")
    with tempfile.TemporaryDirectory(prefix="commands-") as home:
        return [
            {"part": part, **msgspec.to_builtins(ran)}
            for ran in played(part, Path(home), server.url, token)
        ]


def kubectl_version() -> str:
    command = [str(kubectl_path()), "version", "--client"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0].removeprefix("Client Version: ")


if __name__ == "__main__":
    record()
