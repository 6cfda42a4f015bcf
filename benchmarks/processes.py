"""How long a process takes: the bare interpreter, ``import smp``, and the command."""

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

from benchmarks.manifests import compact
from benchmarks.report import Section, as_data, cell, table, times
from benchmarks.stories import small_config_map
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
    rows: list[list[str]] = []
    data: list[object] = []
    ratios: list[Ratio] = []
    for title, sample in samples.items():
        ratio = Ratio.of(f"process: {title}", BARE, sample, samples[BARE])
        ratios.append(ratio)
        of_bare = f"{times(ratio.best)} ({times(ratio.typical)})"
        rows.append([f"`{title}`", cell(sample), of_bare])
        data.append({"process": title, "nanoseconds": as_data(sample)})
    lines = table(["process", "microseconds", f"of `{BARE}`"], rows)
    return Section("processes", "Processes", lines, data, ratios)


def commands(directory: Path) -> dict[str, list[str]]:
    """Return the commands by title; their input files go to the directory.

    The command smp has to be installed beside this Python.
    """
    python = [sys.executable, "-c"]
    smp = str(Path(sysconfig.get_path("scripts")) / "smp")
    json_files = _files(directory, "json")
    yaml_files = _files(directory, "yaml")
    return {
        BARE: [*python, "pass"],
        "import smp": [*python, "import smp"],
        # The libraries that read documents, and those of the command for JSON alone.
        "import msgspec, yaml": [*python, "import msgspec, yaml"],
        "import click, msgspec": [*python, "import click, msgspec"],
        "smp --version": [smp, "--version"],
        "smp apply -o json": [smp, "apply", *json_files, "-o", "json"],
        "smp apply": [smp, "apply", *yaml_files],
    }


def _files(directory: Path, suffix: str) -> list[str]:
    story = small_config_map()
    modified = directory / f"modified.{suffix}"
    live = directory / f"live.{suffix}"
    dump = compact if suffix == "json" else yaml.safe_dump
    modified.write_text(dump(story.modified))
    live.write_text(dump(story.annotated))
    return ["-f", str(modified), "--live", str(live)]


def _environment(directory: Path) -> dict[str, str]:
    # Byte code is written in the first run, in the directory, and used from then on.
    environment = {
        **os.environ,
        "PYTHONSAFEPATH": "1",
        "PYTHONPYCACHEPREFIX": str(directory / "compiled"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


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
