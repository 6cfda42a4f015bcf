"""Record what a kube-apiserver takes of custom resources, and what it refuses.

``python -m tests.record.verdicts`` starts a kube-apiserver (tests.support.apiserver),
asks it about the cases of tests/data/custom_resources/cases.yaml, and writes
verdicts.jsonl beside them. The first line names the version of the server. Each other
line is a step: the name and the number of its case, the object, the old one and the
subresource of an update, the HTTP status, and the causes or the object that is stored.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import yaml

from smp._values.values import JSONObject
from tests.support.apiserver import ApiServer, running
from tests.support.paths import DATA

DIRECTORY: Final = DATA / "custom_resources"
RECORD: Final = DIRECTORY / "verdicts.jsonl"
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CREATED: Final = 201
# Until a changed definition is served; nothing tells when.
_PATIENCE: Final = 2.0
_OF_THE_SERVER: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"}
)


@cache
def cases() -> tuple[dict[str, Any], ...]:
    """Read the cases."""
    return tuple(yaml.safe_load((DIRECTORY / "cases.yaml").read_text()))


@cache
def verdicts() -> tuple[dict[str, Any], ...]:
    """Read the record, without its first line."""
    lines = RECORD.read_text().splitlines()
    return tuple(json.loads(line) for line in lines[1:])


def definition(case: dict[str, Any], *, former: bool = False) -> JSONObject:
    """Return the definition of a case, or the one under which old objects came."""
    plural = f"{case['name']}things"
    top: dict[str, Any] = dict(case.get("top", {}))
    subresources = top.pop("subresources", {})
    status = case.get("status", {"type": "object"})
    spec = case["former"] if former and "former" in case else case["spec"]
    schema = {"type": "object", "properties": {"spec": spec, "status": status}, **top}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {
                "plural": plural,
                "singular": plural,
                "kind": "Thing" + case["name"].capitalize(),
                "listKind": "Thing" + case["name"].capitalize() + "List",
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": subresources,
                }
            ],
        },
    }


def thing(case: dict[str, Any], spec: Any, number: int) -> JSONObject:
    """Return an object of a case."""
    kind = "Thing" + case["name"].capitalize()
    name = {"name": f"thing-{number}"}
    return {
        "apiVersion": "example.com/v1",
        "kind": kind,
        "metadata": name,
        "spec": spec,
    }


def main() -> None:
    """Write the record."""
    with running() as server, RECORD.open("w") as file:
        version = server.request("GET", "/version").body["gitVersion"]
        file.write(json.dumps({"server": version}) + "\n")
        for case in cases():
            for line in _answers(server, case):
                file.write(json.dumps(line) + "\n")


def _answers(server: ApiServer, case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    made = server.request("POST", _DEFINITIONS, definition(case, former=True))
    assert made.code == _CREATED, made.body
    time.sleep(_PATIENCE)
    path = f"/apis/example.com/v1/{case['name']}things"
    olds: dict[int, dict[str, Any]] = {}
    for number, step in enumerate(case["steps"]):
        if "old" in step:
            answer = server.request("POST", path, thing(case, step["old"], number))
            assert answer.code == _CREATED, answer.body
            olds[number] = dict(answer.body)
    if "former" in case:
        metadata: Any = made.body["metadata"]
        name = f"{_DEFINITIONS}/{metadata['name']}"
        current: Any = server.request("GET", name).body
        changed = definition(case)
        changed["metadata"] = current["metadata"]
        answer = server.request("PUT", name, changed)
        assert answer.code == 200, answer.body
        time.sleep(_PATIENCE)
    for number in range(len(case["steps"])):
        yield _answer(server, case, path, number, olds.get(number))


def _answer(
    server: ApiServer,
    case: dict[str, Any],
    path: str,
    number: int,
    old: dict[str, Any] | None,
) -> dict[str, Any]:
    step = case["steps"][number]
    new: dict[str, Any] = dict(thing(case, step["new"], number))
    subresource = "status" if "status" in step else ""
    if old is None:
        answer = server.request("POST", path, new)
    else:
        new["metadata"] = old["metadata"]
        if subresource:
            new["status"] = step["status"]
        place = f"{path}/thing-{number}"
        whole = f"{place}/{subresource}" if subresource else place
        answer = server.request("PUT", whole, new)
    line: dict[str, Any] = {
        "case": case["name"],
        "number": number,
        "old": _without_server(old),
        "new": _without_server(new),
        "subresource": subresource,
        "code": answer.code,
    }
    details: Any = answer.body.get("details", {})
    if answer.code in (200, _CREATED):
        line["stored"] = _without_server(dict(answer.body))
    else:
        causes = details.get("causes", [])
        order = sorted(causes, key=lambda cause: json.dumps(cause, sort_keys=True))
        line["causes"] = order
    return line


def _without_server(obj: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return an object without what differs from run to run."""
    if obj is None:
        return None
    metadata = {
        name: value
        for name, value in obj["metadata"].items()
        if name not in _OF_THE_SERVER
    }
    return {**obj, "metadata": metadata}


if __name__ == "__main__":
    main()
