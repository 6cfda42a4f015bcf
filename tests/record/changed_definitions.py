"""Record what a kube-apiserver reads of custom resources whose definition changes.

``python -m tests.record.changed_definitions`` starts a kube-apiserver
(tests.support.apiserver), sends it the requests of ``REQUESTS``, and writes
tests/data/custom_resources/changed_definitions.jsonl. The first line names the version
of the server; each other line is the HTTP status and the object, or the objects of a
list, that answered a request.
"""

from __future__ import annotations

import json
import time
from functools import cache
from typing import Any, Final

from smp._values.values import JSONObject
from tests.support.apiserver import running, version
from tests.support.paths import DATA
from tests.support.server_definitions import definition_of

RECORD: Final = DATA / "custom_resources" / "changed_definitions.jsonl"
DEFINITION: Final = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"
)
_V1: Final = "/apis/example.com/v1/things"
_BETA: Final = "/apis/example.com/v1beta1/things"
_NUMBER: Final[JSONObject] = {"type": "integer"}
_TEXT: Final[JSONObject] = {"type": "string"}
_PAIR: Final[JSONObject] = {
    "type": "object",
    "nullable": True,
    "properties": {"x": _NUMBER, "y": _NUMBER},
}
_ALL: Final[JSONObject] = {"a": _NUMBER, "b": _TEXT, "c": _PAIR}
_FEWER: Final[JSONObject] = {
    "a": _TEXT,
    "c": {"type": "object", "properties": {"x": _NUMBER}},
    "d": {"type": "integer", "default": 7},
}
MEDIA_TYPES: Final = {
    "DELETE": "application/json",
    "GET": "application/json",
    "PATCH": "application/merge-patch+json",
    "POST": "application/json",
    "PUT": "application/json",
}
# Until a changed definition is served; nothing tells when.
_PATIENCE: Final = 3.0
_OF_THE_SERVER: Final = frozenset(
    {"creationTimestamp", "managedFields", "resourceVersion", "uid"}
)


def definition(v1: JSONObject, beta: JSONObject, stored: str = "v1") -> JSONObject:
    """Return the definition with the properties of two versions."""
    specs: JSONObject = {
        name: {"type": "object", "properties": properties}
        for name, properties in (("v1", v1), ("v1beta1", beta))
    }
    return definition_of("Thing", specs, stored=stored, scope="Cluster")


def _thing(name: str, version: str = "v1", **spec: Any) -> JSONObject:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Thing",
        "metadata": {"name": name},
        "spec": spec,
    }


def _reads(*names: str) -> list[tuple[str, str, JSONObject | None]]:
    found: list[tuple[str, str, JSONObject | None]] = []
    for path in (_V1, _BETA):
        found += [("GET", f"{path}/{name}", None) for name in names]
        found.append(("GET", path, None))
    return found


# The method, the path and the body; a PUT is of the definition.
REQUESTS: Final[list[tuple[str, str, JSONObject | None]]] = [
    ("POST", DEFINITION.rpartition("/")[0], definition(_ALL, _ALL)),
    ("POST", _V1, _thing("one", a=1, b="x", c={"x": 1, "y": 2})),
    ("POST", _BETA, _thing("two", "v1beta1", a=2, b="y", c=None)),
    *_reads("one", "two"),
    # The stored version knows less, has another type, and a default.
    ("PUT", DEFINITION, definition(_FEWER, _ALL)),
    *_reads("one", "two"),
    # A write stores what was read.
    ("PATCH", f"{_BETA}/one", {"metadata": {"labels": {"a": "b"}}}),
    ("PATCH", f"{_V1}/one", {"spec": {"a": "1"}}),
    *_reads("one"),
    # What was not written is as it was.
    ("PUT", DEFINITION, definition(_ALL, _FEWER)),
    *_reads("one", "two"),
    # Objects stay stored in the version in which they were written.
    ("PUT", DEFINITION, definition({"a": _NUMBER}, _ALL, "v1beta1")),
    ("POST", _BETA, _thing("three", "v1beta1", a=3, b="z", c={"x": 1, "y": 2})),
    *_reads("one", "two", "three"),
    ("PATCH", f"{_V1}/two", {"metadata": {"labels": {"a": "b"}}}),
    ("PUT", DEFINITION, definition(_ALL, _ALL, "v1beta1")),
    *_reads("one", "two", "three"),
]


@cache
def answers() -> tuple[dict[str, Any], ...]:
    """Read the record, without its first line."""
    lines = RECORD.read_text().splitlines()
    return tuple(json.loads(line) for line in lines[1:])


def content(code: int, body: Any) -> dict[str, Any]:
    """Return an answer without what differs from run to run."""
    if "items" in body:
        ordered = sorted(body["items"], key=lambda obj: obj["metadata"]["name"])
        return {"code": code, "items": [_without_server(obj) for obj in ordered]}
    return {"code": code, "object": _without_server(body)}


def _without_server(obj: dict[str, Any]) -> dict[str, Any]:
    kept = {
        name: value
        for name, value in obj["metadata"].items()
        if name not in _OF_THE_SERVER
    }
    return {**obj, "metadata": kept}


def main() -> None:
    """Write the record."""
    with running() as server, RECORD.open("w") as file:
        file.write(json.dumps({"server": version()}) + "\n")
        for method, path, sent in REQUESTS:
            body = sent
            if method == "PUT" and sent is not None:
                metadata = server.request("GET", DEFINITION).body["metadata"]
                body = {**sent, "metadata": metadata}
            answer = server.request(method, path, body, MEDIA_TYPES[method])
            if path.startswith(DEFINITION.rpartition("/")[0]):
                time.sleep(_PATIENCE)
                line: dict[str, Any] = {"code": answer.code}
            else:
                line = content(answer.code, answer.body)
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
