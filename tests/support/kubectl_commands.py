"""The commands of tests/data/kubectl/commands.yaml, run with the real kubectl.

What differs from one run to the next (times, uids, addresses, ports, and so on) is
replaced, so that the output of two servers can be compared.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import yaml

from tests.support.kubectl import kubectl_path
from tests.support.paths import DATA

COMMANDS: Final = DATA / "kubectl" / "commands.yaml"
RECORDED: Final = COMMANDS.with_suffix(".jsonl.xz")
_PATIENCE: Final = 120.0  # seconds for a command
_PAUSE: Final = 0.5  # seconds
_BASE_32: Final = "[bcdfghjklmnpqrstvwxz2456789]"  # k8s.io/apimachinery/pkg/util/rand

# In this order: a text that is replaced is not looked at again.
_VARIABLE: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"https?://(127\.0\.0\.1|localhost):\d+", "URL"),
        # That of a ServiceAccount is a JWT, and 32 random bytes here.
        (r"eyJ[\w-]+\.[\w-]+\.[\w-]*|(?m:^[\w-]{43}$)", "TOKEN"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        # RFC 3339, as kubectl prints it for people, and as diff does.
        (r"\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"\w{3}, \d\d \w{3} 20[2-9]\d \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r"20[2-9]\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}", "TIME"),
        (r"(resourceVersion\"?: )\"\d+\"", r"\1VERSION"),
        (r"(?m)^(Resource Version:\s+)\d+$", r"\1VERSION"),
        (r"(?m)^(\s*Resource Version:\s+)\d+$", r"\1VERSION"),
        # Directories and files that kubectl makes.
        (r"/\S*/(LIVE|MERGED)-\d+/", r"\1/"),
        (r"/\S*/kubectl-edit-\d+\.yaml", "kubectl-edit.yaml"),
        # klog: the time, the process and the line.
        (r"(?m)^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\]", "LOG"),
        # Where the server listens; its Service network, and node ports.
        (r"\b192\.0\.2\.\d+:\d{4,5}\b", "ENDPOINT"),
        (
            r"targetPort: \d{4,5}\b(?=\n  sessionAffinity: None\n  type: ClusterIP)",
            "targetPort: PORT",
        ),
        (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
        (r"\b3[0-2]\d{3}\b", "PORT"),
        # Ages, of a second or of years.
        (r"\b(\d+[ydhms]){1,2}\b(?! *\")", "AGE"),
        (rf"(?<=made-){_BASE_32}{{5}}\b", "SUFFIX"),
        # The width of a column depends on what was replaced.
        (r"(?<=\S) {2,}", "  "),
        (r"(?m) +$", ""),
    )
)


class Command(msgspec.Struct, frozen=True):
    """A command: what comes after ``kubectl``, and how it is run."""

    run: str
    stdin: str = ""
    editor: str = ""
    interrupt: int = 0
    environment: dict[str, str] = {}


class Ran(msgspec.Struct, frozen=True):
    """What a command printed, and its exit code."""

    run: str
    code: int
    stdout: str
    stderr: str


class _Commands(msgspec.Struct, frozen=True):
    files: dict[str, str]
    parts: dict[str, list[Command]]


@cache
def _commands() -> _Commands:
    document = yaml.safe_load(COMMANDS.read_text())
    parts = {
        name: [{"run": entry} if isinstance(entry, str) else entry for entry in entries]
        for name, entries in document["parts"].items()
    }
    return msgspec.convert({**document, "parts": parts}, _Commands)


def parts() -> dict[str, list[Command]]:
    """Return the commands of each part."""
    return _commands().parts


def played(part: str, home: Path, url: str, token: str = "") -> Iterator[Ran]:
    """Run the commands of a part with a server, which has its namespace."""
    for name, content in _commands().files.items():
        (home / name).write_text(content)
    user = {"token": token} if token else {}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "server",
                "cluster": {"server": url, "insecure-skip-tls-verify": bool(token)},
            }
        ],
        "users": [{"name": "user", "user": user}],
        "contexts": [
            {
                "name": "context",
                "context": {"cluster": "server", "user": "user", "namespace": part},
            }
        ],
        "current-context": "context",
    }
    (home / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    for command in parts()[part]:
        yield _ran(command, home)


def _ran(command: Command, home: Path) -> Ran:
    environment = {
        "HOME": str(home),
        "KUBECONFIG": str(home / "kubeconfig"),
        "PATH": os.environ.get("PATH", os.defpath),
        "KUBE_EDITOR": command.editor or "false",
        # kubectl shows what it asks for in the language of the user.
        "LANG": "C",
        **command.environment,
    }
    with subprocess.Popen(
        [str(kubectl_path()), *shlex.split(command.run)],
        cwd=home,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        stuck = threading.Timer(_PATIENCE, process.kill)
        stuck.start()
        if command.interrupt:
            assert process.stdout is not None
            assert process.stderr is not None
            lines = [process.stdout.readline() for _ in range(command.interrupt)]
            # More than that would come at once.
            time.sleep(_PAUSE)
            process.send_signal(signal.SIGINT)
            stdout = "".join(lines) + process.stdout.read()
            stderr = process.stderr.read()
        else:
            stdin = (home / command.stdin).read_text() if command.stdin else ""
            stdout, stderr = process.communicate(stdin)
        stuck.cancel()
    return Ran(command.run, process.returncode, _constant(stdout), _constant(stderr))


def _constant(text: str) -> str:
    for pattern, replacement in _VARIABLE:
        text = pattern.sub(replacement, text)
    return text
