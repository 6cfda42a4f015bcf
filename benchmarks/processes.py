"""How long a process takes from start to end: the bare interpreter, importing smp, and
the command.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter_ns
from typing import Final

import yaml

from benchmarks.inputs import compact, small_config_map
from benchmarks.report import Section, as_data, cell, table, times
from benchmarks.timing import Effort, Ratio, Turn, in_turns

BARE: Final = "python -c pass"


def section(effort: Effort) -> Section:
    """Start each process in turn."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        environment = _environment(directory)
        turns = {
            title: _starting(command, environment)
            for title, command in commands(directory).items()
        }
        samples = in_turns(turns, effort)
    ratios = [
        Ratio.of(f"process: {title}", BARE, sample, samples[BARE])
        for title, sample in samples.items()
    ]
    lines = table(
        ["process", "microseconds", f"of `{BARE}`"],
        (
            [
                f"`{title}`",
                cell(sample),
                f"{times(ratio.best)} ({times(ratio.typical)})",
            ]
            for (title, sample), ratio in zip(samples.items(), ratios, strict=True)
        ),
    )
    data = [
        {"process": title, "nanoseconds": as_data(sample)}
        for title, sample in samples.items()
    ]
    return Section("processes", "Processes", lines, data, ratios)


def commands(directory: Path) -> dict[str, list[str]]:
    """Return what is started, by name; files go to the directory. The command smp has
    to be installed.
    """
    smp = Path(sysconfig.get_path("scripts")) / "smp"
    return {
        BARE: [sys.executable, "-c", "pass"],
        "import smp": [sys.executable, "-c", "import smp"],
        # what reads documents
        "import msgspec, yaml": [sys.executable, "-c", "import msgspec, yaml"],
        # what the command needs for JSON
        "import click, msgspec": [sys.executable, "-c", "import click, msgspec"],
        "smp --version": [str(smp), "--version"],
        "smp apply -o json": [
            str(smp),
            "apply",
            *_files(directory, "json"),
            "-o",
            "json",
        ],
        "smp apply": [str(smp), "apply", *_files(directory, "yaml")],
    }


def _files(directory: Path, suffix: str) -> list[str]:
    story = small_config_map()
    after, live = directory / f"after.{suffix}", directory / f"live.{suffix}"
    printed = compact if suffix == "json" else yaml.safe_dump
    after.write_text(printed(story.after))
    live.write_text(printed(story.annotated))
    return ["-f", str(after), "--live", str(live)]


def _environment(directory: Path) -> dict[str, str]:
    # Compiled modules are there from the first run on, and not in the source tree.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE"
    }
    return {
        **inherited,
        "PYTHONSAFEPATH": "1",
        "PYTHONPYCACHEPREFIX": str(directory / "compiled"),
    }


def _starting(command: Sequence[str], environment: Mapping[str, str]) -> Turn:
    def start() -> int:
        begin = perf_counter_ns()
        subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        return perf_counter_ns() - begin

    return lambda runs: [start() for _ in range(runs)]
