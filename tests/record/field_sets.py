"""Record field sets of structured-merge-diff and of a real kube-apiserver.

``python -m tests.record.field_sets`` writes tests/data/managed_fields/ again:

- ``algebra.jsonl.xz``: random requests on sets and objects (tests.support.field_sets),
  each with the answer of the Go program in tests/managed_fields/oracle.
- ``applied.jsonl.xz``: configurations that a kube-apiserver was sent as apply patches,
  each with the managedFields that it stored. The first line is the version.
"""

from __future__ import annotations

import json
import lzma
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import smp
from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.schema.model import Schema
from tests.support.apiserver import ApiServer, running, version
from tests.support.field_sets import EVERY, comparable, oracle, random_value, requests
from tests.support.makers.manifests import KINDS, ManifestMaker
from tests.support.paths import DATA

DIRECTORY: Final = DATA / "managed_fields"
ALGEBRA: Final = DIRECTORY / "algebra.jsonl.xz"
APPLIED: Final = DIRECTORY / "applied.jsonl.xz"
MANAGER: Final = "recorder"
_PATIENCE: Final = 30.0  # seconds
# The seed and the number of the recorded requests; the random tests have other seeds.
SEED: Final = 10**6
REQUESTS: Final = 3000
# Of each kind.
CONFIGURATIONS: Final = 25
CRD: Final[JSONObject] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "everies.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "everies", "kind": "Every"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": EVERY},
                    }
                },
            }
        ],
    },
}


def read(file: Path) -> Iterator[Any]:
    """Yield the lines of a recording."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def every_schema() -> Schema:
    """Return the schema of the custom resource."""
    return smp.Catalog.from_crd(CRD).schema("example.com/v1", "Every")


def write(file: Path, lines: list[JSON]) -> None:
    """Write the lines of a recording."""
    file.parent.mkdir(exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    file.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _record_algebra() -> None:
    program = oracle()
    assert program is not None
    asked = requests(SEED, REQUESTS)
    lines: list[JSON] = []
    for request, answer in zip(asked, program.run(asked), strict=True):
        lines.append({**request, "answer": comparable(answer)})
    write(ALGEBRA, lines)


def _configurations() -> Iterator[tuple[str, JSONObject]]:
    """Yield the path of an object, and a configuration of it."""
    for kind, about in KINDS.items():
        root = "apis" if "/" in about.api_version else "api"
        namespace = "namespaces/default/" if about.namespaced else ""
        for number in range(CONFIGURATIONS):
            name = f"applied-{number}"
            manifest = ManifestMaker(f"applied {number}", kind, name).manifest()
            path = f"/{root}/{about.api_version}/{namespace}{about.resource}/{name}"
            yield path, manifest
    random = Random(SEED)
    schema = every_schema().descend("spec").type
    for number in range(CONFIGURATIONS * 8):
        name = f"applied-{number}"
        configuration: JSONObject = {
            "apiVersion": "example.com/v1",
            "kind": "Every",
            "metadata": {"name": name, "namespace": "default"},
            "spec": random_value(random, schema, 0),
        }
        path = f"/apis/example.com/v1/namespaces/default/everies/{name}"
        yield path, configuration


def _apply(server: ApiServer, path: str, configuration: JSONObject) -> JSON:
    """Apply a configuration, and return what is recorded; None where it is refused."""
    answer = server.request(
        "PATCH",
        f"{path}?fieldManager={MANAGER}",
        configuration,
        "application/apply-patch+yaml",
    )
    if answer.code not in (200, 201):
        return None
    entries = as_list(as_object(answer.body["metadata"]).get("managedFields"))
    # The time is that of the recording.
    kept: list[JSON] = [
        {name: value for name, value in as_object(entry).items() if name != "time"}
        for entry in entries
    ]
    return {"configuration": configuration, "managedFields": kept}


def define(server: ApiServer) -> None:
    """Create the definition of the custom resource, and wait until it is served."""
    group = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    created = server.request("POST", group, CRD)
    assert created.code == 201, created.body
    deadline = time.monotonic() + _PATIENCE
    while "example.com" not in str(server.request("GET", "/apis").body):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _record_applied() -> None:
    lines: list[JSON] = [{"kube-apiserver": version()}]
    with running() as server:
        define(server)
        for path, configuration in _configurations():
            line = _apply(server, path, configuration)
            if line is not None:
                lines.append(line)
    write(APPLIED, lines)


if __name__ == "__main__":
    _record_algebra()
    _record_applied()
