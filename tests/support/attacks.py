"""Requests that ask a server for a lot of work, and how long others wait meanwhile."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import quote, urlsplit

from tests.support.server_process import ServerProcess

ROOT = Path(__file__).resolve().parent.parent.parent
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JSON_TYPE = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
YAML = "application/yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
STRING = {"type": "string"}


@dataclass(frozen=True)
class Request:
    """One request; a body that is no bytes is sent as JSON."""

    method: str
    path: str
    body: Any = None
    content_type: str = JSON_TYPE
    accept: str = JSON_TYPE

    def content(self) -> bytes | None:
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


@dataclass(frozen=True)
class Attack:
    """Requests that take long, after those that prepare for them."""

    name: str
    requests: list[Request]
    before: list[Request] = field(default_factory=list)


def send(url: str, request: Request, timeout: float = 90) -> tuple[int, int]:
    """Send a request; return the status and the bytes of the answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port, timeout=timeout
    )
    try:
        headers = {"content-type": request.content_type, "accept": request.accept}
        connection.request(request.method, request.path, request.content(), headers)
        answer = connection.getresponse()
        return answer.status, len(answer.read())
    finally:
        connection.close()


class Probe:
    """Another client of a server, which asks for one small object all the time.

    After it was stopped: how long each answer took, how long the server worked
    meanwhile, the statuses, and how slow this machine is (``speed.slowness``).
    """

    def __init__(self, server: ServerProcess) -> None:
        url = f"{server.url}{CONFIG_MAPS}/small"
        command = [
            sys.executable,
            *("-m", "tests.support.probe", url, str(server.process.pid)),
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert self._process.stdout
        assert self._process.stdout.readline() == "ready\n"
        self.waits: list[float] = []
        self.worked: list[float] = []
        self.statuses: set[int] = set()
        self.slowness = 1.0

    @property
    def longest(self) -> float:
        return max(self.waits)

    @property
    def most_worked(self) -> float:
        return max(self.worked)

    def stop(self) -> None:
        answered, _ = self._process.communicate(timeout=70)
        found = json.loads(answered)
        self.waits, self.worked = found["waits"], found["worked"]
        self.statuses = {*found["statuses"]}
        self.slowness = found["slowness"]


@contextmanager
def probing(server: ServerProcess) -> Iterator[Probe]:
    """Probe a server until the end of the block."""
    send(server.url, Request("POST", CONFIG_MAPS, {"metadata": {"name": "small"}}))
    probe = Probe(server)
    try:
        yield probe
    finally:
        probe.stop()


def definition(name: str, spec: Any, **version: Any) -> Request:
    """Create a definition, with the schema of the spec of its objects."""
    group = f"{name}.example.com"
    kind = name.title()
    return Request(
        "POST",
        DEFINITIONS,
        {
            "metadata": {"name": f"{name}s.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": f"{name}s", "singular": name, "kind": kind},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {"spec": spec},
                            }
                        },
                        **version,
                    }
                ],
            },
        },
    )


def custom_path(name: str) -> str:
    return f"/apis/{name}.example.com/v1/namespaces/default/{name}s"


def custom(name: str, spec: Any, count: int = 0) -> Request:
    """Create a custom resource."""
    body = {
        "apiVersion": f"{name}.example.com/v1",
        "kind": name.title(),
        "metadata": {"name": f"a{count}"},
        "spec": spec,
    }
    return Request("POST", custom_path(name), body)


def config_map(name: str, data: Any, **metadata: Any) -> Request:
    body = {"metadata": {"name": name, **metadata}, "data": data}
    return Request("POST", CONFIG_MAPS, body)


def properties(**fields: Any) -> Any:
    return {"type": "object", "properties": fields}


def _tree(depth: int) -> Any:
    leaf: Any = {"minLength": 1}
    for _ in range(depth):
        leaf = {"anyOf": [leaf, leaf]}
    return leaf


def any_of(depth: int, items: int) -> Attack:
    """A small custom resource, and a schema with many alternatives for each item."""
    spec = properties(l={"type": "array", "items": {**STRING, **_tree(depth)}})
    return Attack(
        f"a tree of anyOf with {2**depth} leaves, {items} items",
        [custom("tree", {"l": [""] * items})],
        [definition("tree", spec)],
    )


def enum(values: int, items: int) -> Attack:
    spec = properties(
        l={
            "type": "array",
            "items": {**STRING, "enum": [f"e{number}" for number in range(values)]},
        }
    )
    return Attack(
        f"an enum of {values}, {items} wrong items",
        [custom("enum", {"l": [f"z{number}" for number in range(items)]})],
        [definition("enum", spec)],
    )


def wide(fields: int) -> Attack:
    spec = properties(
        **{
            f"p{number}": {**STRING, "description": "x" * 60}
            for number in range(fields)
        }
    )
    return Attack(
        f"a definition of {fields} fields, its OpenAPI",
        [
            definition("wide", spec),
            custom("wide", {f"p{number}": "" for number in range(fields)}),
            Request("GET", "/openapi/v3/apis/wide.example.com/v1"),
            Request("GET", "/openapi/v3"),
            Request(
                "GET",
                "/apis",
                accept=f"{JSON_TYPE};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            ),
        ],
    )


def columns(number: int, width: int) -> Attack:
    """A table whose cells look at all of a wide object."""
    cells = [
        {"name": f"c{index}", "type": "string", "jsonPath": ".spec[*][*][*]"}
        for index in range(number)
    ]
    names = [str(index) for index in range(width)]
    spec = {
        outer: {middle: dict.fromkeys(names, "x") for middle in names}
        for outer in names
    }
    preserved = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return Attack(
        f"a table of {number} columns, each of {width**3} values",
        [
            Request("GET", custom_path("cell"), accept=TABLE),
            Request("GET", f"{custom_path('cell')}/a0", accept=TABLE),
            Request(
                "GET", f"{custom_path('cell')}?watch=1&timeoutSeconds=1", accept=TABLE
            ),
        ],
        [
            definition("cell", preserved, additionalPrinterColumns=cells),
            custom("cell", spec),
        ],
    )


def defaults(items: int) -> Attack:
    fields = {f"f{number}": {**STRING, "default": "d"} for number in range(100)}
    spec = properties(l={"type": "array", "items": properties(**fields)})
    return Attack(
        f"100 defaults for each of {items} items",
        [custom("filled", {"l": [{}] * items})],
        [definition("filled", spec)],
    )


def moves(operations: int, keys: int) -> Attack:
    """JSON Patch moves and copies of a large value."""
    pair = [
        {"op": "move", "from": "/data", "path": "/x"},
        {"op": "move", "from": "/x", "path": "/data"},
    ]
    path = f"{CONFIG_MAPS}/moved"
    data = {f"k{number}": "v" for number in range(keys)}
    copies = [{"op": "copy", "from": "/data", "path": "/data/x"}] * operations
    return Attack(
        f"{operations} moves and copies of {keys} keys",
        [
            Request("PATCH", path, pair * (operations // 2), JSON_PATCH),
            Request("PATCH", path, copies, JSON_PATCH),
        ],
        [config_map("moved", data)],
    )


def containers(number: int) -> Attack:
    """A strategic merge of a long list, and its order reversed."""
    path = "/api/v1/namespaces/default/pods/long"
    all_ = [{"name": f"c{index}", "image": "i"} for index in range(number)]
    pod = {"metadata": {"name": "long"}, "spec": {"containers": all_}}
    patch = {
        "spec": {
            "$setElementOrder/containers": [
                {"name": container["name"]} for container in reversed(all_)
            ],
            "containers": [
                {"name": container["name"], "image": "j"}
                for container in reversed(all_)
            ],
        }
    }
    return Attack(
        f"a strategic merge of {number} containers",
        [
            Request("PATCH", path, patch, STRATEGIC),
            Request("PATCH", f"{path}?fieldManager=other", patch, STRATEGIC),
        ],
        [Request("POST", "/api/v1/namespaces/default/pods", pod)],
    )


def applies(keys: int) -> Attack:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "applied"},
        "data": {f"k{number}": "v" for number in range(keys)},
    }
    path = f"{CONFIG_MAPS}/applied?force=true&fieldManager="
    return Attack(
        f"server-side apply of {keys} keys by two managers",
        [Request("PATCH", path + manager, body, APPLY) for manager in ("a", "b", "a")],
    )


def managers(entries: int) -> Attack:
    """An object with the managedFields of very many managers."""
    time = "2024-01-01T00:00:00Z"
    fields: Any = {"f:data": {f"f:k{number}": {} for number in range(5)}}
    managed = [
        {
            "manager": f"m{number}",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        for number in range(entries)
    ]
    data = {f"k{number}": "v" for number in range(5)}
    path = f"{CONFIG_MAPS}/managed"
    applied = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "managed"},
        "data": {"k1": "w"},
    }
    return Attack(
        f"{entries} entries of managedFields",
        [
            config_map("managed", data, managedFields=managed),
            Request("PATCH", path, {"data": {"k0": "w"}}, MERGE),
            Request("PATCH", f"{path}?fieldManager=x&force=true", applied, APPLY),
        ],
    )


def texts(size: int) -> Attack:
    """YAML of one large object, read and printed."""
    lines = "".join(f"  k{number}: value\n" for number in range(size // 15))
    body = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: yaml}}\ndata:\n{lines}"
    return Attack(
        f"an object of {size >> 10} KB as YAML",
        [
            Request("POST", CONFIG_MAPS, body.encode(), YAML),
            Request("GET", f"{CONFIG_MAPS}/yaml", accept=YAML),
            Request("GET", CONFIG_MAPS, accept=YAML),
        ],
    )


def _many(number: int) -> list[Request]:
    return [
        config_map(
            f"o{index}", {"k": "v" * 500}, labels={"a": f"v{index % 50}", "x": "1"}
        )
        for index in range(number)
    ]


def selectors(objects: int, terms: int) -> Attack:
    """Selectors of many terms, over many objects."""
    absent = quote(",".join(f"!k{number}" for number in range(terms)), safe="")
    values = ",".join(f"b{number}" for number in range(terms))
    listed = quote(f"a in ({values})", safe="")
    fields = quote(",".join(f"data.k!={number}" for number in range(terms)), safe="")
    repeated = quote(",".join(["!a"] * terms), safe="")
    return Attack(
        f"selectors of {terms} terms, {objects} objects",
        [
            Request("GET", f"{CONFIG_MAPS}?labelSelector={absent}"),
            Request("GET", f"{CONFIG_MAPS}?labelSelector={repeated}"),
            Request("GET", f"{CONFIG_MAPS}?labelSelector={listed}"),
            Request("GET", f"{CONFIG_MAPS}?fieldSelector={fields}"),
            Request(
                "GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=2&labelSelector={absent}"
            ),
            Request("DELETE", f"{CONFIG_MAPS}?dryRun=All&labelSelector=x%3D1"),
        ],
        _many(objects),
    )


def lists(objects: int) -> Attack:
    return Attack(
        f"lists of {objects} objects in all forms",
        [
            Request("GET", CONFIG_MAPS, accept=accept)
            for accept in (
                JSON_TYPE,
                TABLE,
                "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                YAML,
            )
        ]
        + [
            Request("GET", f"{CONFIG_MAPS}?includeObject=Object", accept=TABLE),
            Request("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=2"),
        ],
        _many(objects),
    )


def deletion(objects: int) -> Attack:
    return Attack(
        f"all of {objects} objects deleted",
        [Request("DELETE", f"{CONFIG_MAPS}?labelSelector=x%3D1")],
        _many(objects),
    )


def short() -> list[Attack]:
    """Return attacks that take seconds in all."""
    return [
        any_of(9, 100),
        enum(20_000, 500),
        wide(2_000),
        columns(100, 8),
        defaults(300),
        moves(500, 5_000),
        containers(3_000),
        applies(5_000),
        managers(500),
        texts(200_000),
    ]


def long() -> list[Attack]:
    """Return attacks that take up to a minute each."""
    return [
        any_of(13, 200),
        enum(100_000, 2_000),
        wide(20_000),
        columns(1_000, 12),
        defaults(10_000),
        moves(9_000, 20_000),
        containers(8_000),
        applies(50_000),
        managers(8_000),
        texts(1_500_000),
    ]


def over_many(objects: int, terms: int) -> list[Attack]:
    """Return attacks over many objects, the last of which deletes them."""
    return [selectors(objects, terms), lists(objects), deletion(objects)]


def run(url: str, attack: Attack, each: Callable[[Request, int, float], None]) -> None:
    """Run an attack; ``each`` gets the requests, their status, and the seconds."""
    for request in attack.before:
        status, _ = send(url, request)
        # Some attacks are over the same objects.
        assert status in {200, 201, 409}, (request.path, status)
    for request in attack.requests:
        started = perf_counter()
        status, _ = send(url, request)
        each(request, status, perf_counter() - started)
