"""Record what Kubernetes thinks of CustomResourceDefinitions and of the objects that
they define.

``python -m tests.record.crds`` asks tests/data/crds/crds.go about definitions.yaml and
schemas.yaml and writes answers.jsonl beside them, a line for each definition: what is
wrong with it (field and reason), and for each of its objects what is pruned, what is
filled in, and what is refused."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from smp._values.values import JSON, JSONObject
from tests.record.resources import VERSION
from tests.support.paths import DATA
from tests.support.server_definitions import CRON_TABS, with_schema

DIRECTORY: Final = DATA / "crds"


def edited(changes: dict[str, JSON], document: JSONObject = CRON_TABS) -> JSONObject:
    """Return a definition with other values at some paths (``spec/versions/0/name``);
    null takes one away.
    """
    copy: Any = json.loads(json.dumps(document))
    for path, value in changes.items():
        *outer, last = (
            int(step) if step.isdigit() else step for step in path.split("/")
        )
        place = copy
        for step in outer:
            place = place[step]
        place[last] = value
        if value is None:
            del place[last]
    found: JSONObject = copy
    return found


@cache
def definitions() -> tuple[tuple[str, JSONObject], ...]:
    """Read the definitions, each with a name that says what is special about it."""
    read = yaml.safe_load((DIRECTORY / "definitions.yaml").read_text())
    edits = ((str(changes), edited(changes)) for changes in read["edits"])
    return (*edits, *((str(schema), with_schema(schema)) for schema in read["schemas"]))


@cache
def schemas() -> tuple[tuple[JSONObject, list[JSON]], ...]:
    """Read the definitions that have objects: values of their spec."""
    read = yaml.safe_load((DIRECTORY / "schemas.yaml").read_text())
    return tuple((with_schema(case["schema"]), case["values"]) for case in read)


def thing(spec: JSON) -> JSONObject:
    """Make a Thing."""
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": spec,
        "status": {"a": 1},
    }


def questions() -> Iterator[dict[str, Any]]:
    """Yield what is asked."""
    yield from ({"crd": definition} for _, definition in definitions())
    yield from (
        {"crd": definition, "objects": [*map(thing, values)]}
        for definition, values in schemas()
    )


def answers() -> list[dict[str, Any]]:
    """Read the answers, in the order of the questions."""
    return [
        json.loads(line)
        for line in (DIRECTORY / "answers.jsonl").read_text().splitlines()
    ]


def record() -> None:
    """Write the answers again."""
    asked = "".join(json.dumps(question) + "\n" for question in questions())
    version = f"v0{VERSION.removeprefix('v1')}"
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "main.go").write_bytes((DIRECTORY / "crds.go").read_bytes())
        requirement = f"k8s.io/apiextensions-apiserver {version}"
        module = f"module crds\n\ngo 1.26.0\n\nrequire {requirement}\n"
        (Path(directory) / "go.mod").write_text(module)
        for command in (["go", "mod", "tidy"], ["go", "build", "-o", "answer", "."]):
            subprocess.run(command, cwd=directory, check=True)
        program = Path(directory) / "answer"
        done = subprocess.run(
            [program], input=asked, capture_output=True, text=True, check=True
        )
    (DIRECTORY / "answers.jsonl").write_text(done.stdout)


if __name__ == "__main__":
    record()
