"""Record what Kubernetes' own printers make of objects, so that columns are checked
where there is no Go.

``python -m tests.record.tables`` prints tests/data/tables/objects.yaml with
tests/data/tables/printer.go and writes printed.jsonl beside it: for each object its
columns and cells. The sources of Kubernetes have to be in Go's module cache
(tests.record.resources says how). Ages are of past years, so that a record of years to
come may differ from this one by them alone: ``NOW`` is when it was made."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

from tests.record.resources import VERSION, module
from tests.support.paths import DATA

DIRECTORY: Final = DATA / "tables"
NOW: Final = datetime(2026, 11, 21, tzinfo=UTC)


def objects() -> list[dict[str, Any]]:
    """Read the objects."""
    found: list[dict[str, Any]] = yaml.safe_load(
        (DIRECTORY / "objects.yaml").read_text()
    )
    return found


def printed() -> Iterator[tuple[dict[str, Any], list[list[Any]], list[Any]]]:
    """Read the objects, each with its columns (name, type, format, priority) and its
    cells.
    """
    lines = (DIRECTORY / "printed.jsonl").read_text().splitlines()
    for obj, line in zip(objects(), lines, strict=True):
        record = json.loads(line)
        yield obj, record["columns"], record["cells"]


def _printer(directory: Path) -> Path:
    """Build the program that prints tables.

    The parts of Kubernetes below its staging directory are modules of their own.
    """
    sources = module()
    if sources is None:
        raise SystemExit(f"go mod download k8s.io/kubernetes@{VERSION}")
    parts = re.findall(r"(\S+) => \./staging", (sources / "go.mod").read_text())
    replacements = "".join(
        f"\t{part} => {part} v0{VERSION.removeprefix('v1')}\n" for part in parts
    )
    requirement = f"require k8s.io/kubernetes {VERSION}"
    replace = f"replace (\n{replacements})"
    text = f"module printer\n\ngo 1.26.0\n\n{requirement}\n\n{replace}\n"
    (directory / "go.mod").write_text(text)
    (directory / "main.go").write_bytes((DIRECTORY / "printer.go").read_bytes())
    for command in (["go", "mod", "tidy"], ["go", "build", "-o", "printer", "."]):
        subprocess.run(command, cwd=directory, check=True)
    return directory / "printer"


def _row(line: str) -> str:
    table = json.loads(line)
    columns = [
        [column["name"], column["type"], column["format"], column["priority"]]
        for column in table["columns"]
    ]
    return json.dumps({"columns": columns, "cells": table["cells"]}) + "\n"


def record() -> None:
    """Write the record again."""
    lines = "".join(json.dumps(obj) + "\n" for obj in objects())
    with tempfile.TemporaryDirectory() as directory:
        command = [_printer(Path(directory))]
        done = subprocess.run(
            command, input=lines, capture_output=True, text=True, check=True
        )
    (DIRECTORY / "printed.jsonl").write_text(
        "".join(_row(line) for line in done.stdout.splitlines())
    )


if __name__ == "__main__":
    record()
