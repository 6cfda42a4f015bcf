"""What a process takes: the bare interpreter, ``import smp``, and the command.

It is the time of processors, user and system, of one process in turn after the other:
what else a machine does disturbs that less than the time from start to end.
``kubectl patch --local`` does the same as ``smp patch``, where it is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from benchmarks.manifests import compact, manifest, plain_container, pod_spec
from benchmarks.report import Section, as_data, cell, table, times
from benchmarks.stories import small_config_map
from benchmarks.timing import Effort, Ratio, Turn, in_turns
from smp._values.values import JSONObject

BARE: Final = "python -c pass"
# The titles begin with these, and go on with what is patched.
OURS: Final = "smp patch"
KUBECTL: Final = "kubectl patch --local"

_PATCH: Final = '{"metadata": {"labels": {"team": "shop"}}}'
_MANIFESTS: Final = {"one object": 1, "1,000 objects": 1000}


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
        counterpart = title.replace(OURS, KUBECTL)
        if title.startswith(OURS) and counterpart in samples:
            theirs = samples[counterpart]
            ratios.append(Ratio.of(f"process: {title}", KUBECTL, sample, theirs))
        of_bare = f"{times(ratio.best)} ({times(ratio.typical)})"
        rows.append([f"`{title}`", cell(sample), of_bare])
        data.append({"process": title, "nanoseconds": as_data(sample)})
    lines = table(["process", "processor microseconds", f"of `{BARE}`"], rows)
    return Section("processes", "Processes", lines, data, ratios)


def commands(directory: Path) -> dict[str, list[str]]:
    """Return the commands by title; their input files go to the directory.

    The command smp has to be installed beside this Python, and kubectl may be.
    """
    python = [sys.executable, "-c"]
    scripts = Path(sysconfig.get_path("scripts"))
    smp = str(scripts / "smp")
    kubectl = scripts / "kubectl"
    json_files = _files(directory, "json")
    yaml_files = _files(directory, "yaml")
    patches: dict[str, list[str]] = {}
    for what, count in _MANIFESTS.items():
        file = _deployments(directory, count)
        patches[f"{OURS}, {what}"] = [smp, "patch", file, "-p", _PATCH]
        if kubectl.exists():
            options = ["-f", file, "-p", _PATCH, "-o", "yaml"]
            command = [str(kubectl), "patch", "--local", *options]
            patches[f"{KUBECTL}, {what}"] = command
    return {
        BARE: [*python, "pass"],
        "import smp": [*python, "import smp"],
        # The libraries that read documents, and those of the command for JSON alone.
        "import msgspec, yaml": [*python, "import msgspec, yaml"],
        "import click, msgspec": [*python, "import click, msgspec"],
        "smp --version": [smp, "--version"],
        "smp apply -o json": [smp, "apply", *json_files, "-o", "json"],
        "smp apply": [smp, "apply", *yaml_files],
        **patches,
    }


def _files(directory: Path, suffix: str) -> list[str]:
    story = small_config_map()
    modified = directory / f"modified.{suffix}"
    live = directory / f"live.{suffix}"
    for file, obj in ((modified, story.modified), (live, story.annotated)):
        # kubectl breaks no long lines.
        is_json = suffix == "json"
        text = compact(obj) if is_json else yaml.safe_dump(obj, width=sys.maxsize)
        file.write_text(text)
    return ["-f", str(modified), "--live", str(live)]


def _deployments(directory: Path, count: int) -> str:
    """Write so many Deployments to a file, and return its path."""
    pods: JSONObject = {"spec": pod_spec(plain_container, 3, "1.5.0")}
    spec: JSONObject = {"replicas": 3, "template": pods}
    file = directory / f"deployments-{count}.yaml"
    texts: list[str] = []
    for index in range(count):
        deployment = manifest("apps/v1", "Deployment", f"app-{index}", {}, spec=spec)
        # Without the anchors that yaml.safe_dump writes for values that are shared: a
        # copy shares none.
        texts.append(yaml.safe_dump(json.loads(json.dumps(deployment))))
    file.write_text("---\n".join(texts))
    return str(file)


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
        with subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            # What it used, and the processes that it started and waited for.
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        return round((used.ru_utime + used.ru_stime) * 1e9)

    return lambda runs: [start() for _ in range(runs)]
