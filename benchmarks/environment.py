"""The programs and the machine on which the numbers were measured."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Final

from smp._values.values import COMPILED

REFERENCE_MODULES: Final = Path(__file__).parent / "reference" / "go.mod"


def environment() -> dict[str, str]:
    """Name the programs and the machine."""
    modules = re.search(r"k8s\.io/apimachinery (\S+)", REFERENCE_MODULES.read_text())
    return {
        "engine": "compiled with mypyc" if COMPILED else "interpreted",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "Go": _output("go", "env", "GOVERSION"),
        "k8s.io/apimachinery": modules[1] if modules else "",
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    text = file.read_text() if file.exists() else ""
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return model[1] if model else platform.processor() or platform.machine()


def _output(*command: str) -> str:
    try:
        completed = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "absent"
    return completed.stdout.strip()
