"""Running the command ``smp``: in this process, or the installed one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from smp import documents
from smp.cli._group import cli


def run(*arguments: str, stdin: str | None = None) -> Result:
    """Run the command in this process; an exception that it does not handle fails."""
    result = CliRunner().invoke(cli, arguments, input=stdin)
    if result.exception is not None:
        assert isinstance(result.exception, SystemExit), result.exception
    return result


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
        timeout=60,
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
