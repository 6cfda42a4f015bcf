"""Record what a real API server says of the enums of its built-in kinds.

``python -m tests.record.enum_answers URL TOKEN`` asks a kube-apiserver, which runs with
``--runtime-config=api/all=true`` and has no objects of its own, and writes
tests/data/enums/answers.jsonl. The first line names the version of the server. Each
other line is a place that has an enum (as in tests.record.enums): its values and the
listing of them in the description, as the server publishes them in OpenAPI v3, and the
answer of the server to an object with another value there: the HTTP status, and the
causes. ``subresource`` is ``status`` where the object exists and its status is written.
"""

from __future__ import annotations

import json
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import cache
from typing import Any, Final
from uuid import uuid4

from tests.support.paths import DATA

RECORD: Final = DATA / "enums" / "answers.jsonl"
WRONG: Final = "Bogus"
Step = str
_QUERY: Final = "?dryRun=All&fieldValidation=Strict"
_OK: Final = 200
_CREATED: Final = 201

# A certificate signing request, which the API server decodes: openssl req -new -newkey
# ed25519 -nodes -subj /CN=x
_REQUEST: Final = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlHTE1EOENBUUF3RERFS01BZ0dB"
    "MVVFQXd3QmVEQXFNQVVHQXl0bGNBTWhBRisrMEViWWRwclBSL240ejMrOApxWG11WTJFR1I4Z1ZI"
    "Q3AwT3JwK0ZTa2FvQUF3QlFZREsyVndBMEVBTGdROEk0VVQzeldYL0tlWitjRHNXaC9lCmMvR1g5"
    "Z05QaTM4eGpaeVhQNU03clRpWTVXKzRsa3UzdThPUStLcjRZN1FXMDZtckNZYnlmclNyc3FjVER3"
    "PT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="
)
_CONTAINERS: Final = [{"name": "x", "image": "x"}]
_CLAIM_SPEC: Final = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
}
# What the objects of a kind have beside the required fields, so that nothing but the
# wrong value is in the way.
BASES: Final[dict[str, dict[str, Any]]] = {
    "CertificateSigningRequest": {
        "spec": {"request": _REQUEST, "signerName": "example.com/x"}
    },
    "Ingress": {
        "spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 1}}}}
    },
    "PersistentVolume": {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
        }
    },
    "PersistentVolumeClaim": {"spec": _CLAIM_SPEC},
    "Pod": {"spec": {"containers": _CONTAINERS}},
    "PodTemplate": {"template": {"spec": {"containers": _CONTAINERS}}},
    "Service": {"spec": {"ports": [{"port": 1}], "type": "LoadBalancer"}},
}
# The kind to ask with, where the first that has the place does not answer.
KINDS: Final = {
    # An admission plugin answers for Pods before they are validated.
    "io.k8s.api.core.v1.PodSpec.preemptionPolicy": "PodTemplate",
}


@cache
def answers() -> tuple[dict[str, Any], ...]:
    """Read the record, without its first line."""
    lines = RECORD.read_text().splitlines()
    return tuple(json.loads(line) for line in lines[1:])


@cache
def accepted() -> frozenset[str]:
    """Return the places with an enum where the server accepts any value."""
    return frozenset(
        answer["place"] for answer in answers() if answer["code"] in (_OK, _CREATED)
    )


class Server:
    """A kube-apiserver, and the schemas that it publishes."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token
        # The certificate of the server is its own; it is on this machine.
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE
        self.version = self.get("/version")["gitVersion"]
        self.schemas: dict[str, Any] = {}
        for path in self.get("/openapi/v3")["paths"]:
            document = self.get(f"/openapi/v3/{path}")
            self.schemas |= document.get("components", {}).get("schemas", {})
        self.resources = dict(self._resources())

    def request(
        self, method: str, path: str, body: Any = None
    ) -> tuple[int, dict[str, Any]]:
        """Send a request, and return the status and the object in the answer."""
        request = urllib.request.Request(  # noqa: S310  # the URL of the operator
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, context=self._tls) as answer:  # noqa: S310  # see above
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def get(self, path: str) -> Any:
        """Read a path."""
        return self.request("GET", path)[1]

    def _resources(self) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield kinds that can be created, each with the path of its collection."""
        paths = ["/api/v1"]
        for group in self.get("/apis")["groups"]:
            paths += [f"/apis/{each['groupVersion']}" for each in group["versions"]]
        for path in paths:
            for resource in self.get(path).get("resources", []):
                if "/" in resource["name"] or "create" not in resource["verbs"]:
                    continue
                version = path.removeprefix("/apis/").removeprefix("/api/")
                namespace = "/namespaces/default" if resource["namespaced"] else ""
                collection = f"{path}{namespace}/{resource['name']}"
                yield (version, resource["kind"]), collection

    # --- schemas ---

    def places(self, root: str) -> dict[str, tuple[Step, ...]]:
        """Return the places with an enum that a type leads to, with shortest paths."""
        found: dict[str, tuple[Step, ...]] = {}
        seen = {root}
        pending: list[tuple[str, tuple[Step, ...]]] = [(root, ())]
        for name, path in pending:
            for field, schema in self.schemas[name].get("properties", {}).items():
                for suffix, steps, node in _inner(schema):
                    at = (*path, field, *steps)
                    if "enum" in node:
                        found.setdefault(f"{name}.{field}{suffix}", at)
                    reference = _reference(node)
                    if reference and reference not in seen:
                        seen.add(reference)
                        pending.append((reference, at))
        return found

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema that a schema refers to, or the schema itself."""
        reference = _reference(schema)
        return self.schemas[reference] if reference else schema

    def smallest(self, schema: dict[str, Any]) -> Any:
        """Make a value that has what the schema requires, and no more."""
        node = self.resolved(schema)
        if "enum" in node:
            return node["enum"][0]
        match node.get("type"):
            case "array":
                return [self.smallest(node["items"])]
            case "integer" | "number":
                return 1
            case "boolean":
                return True
            case "string":
                return "x"
        if node.get("format") == "int-or-string":
            return 1
        fields = node.get("properties", {})
        return {name: self.smallest(fields[name]) for name in node.get("required", [])}

    def wrong(self, schema: dict[str, Any], path: tuple[Step, ...], base: Any) -> Any:
        """Make a value that has a wrong value at a path."""
        if not path:
            return WRONG
        step, rest = path[0], path[1:]
        node = self.resolved(schema)
        if step == "[]":
            first = base[0] if isinstance(base, list) else None
            return [self.wrong(node["items"], rest, first)]
        if step == "{}":
            return {"storage": self.wrong(node["additionalProperties"], rest, None)}
        value = {**self.smallest(node), **(base or {})}
        inner = value.get(step) if base and step in base else None
        value[step] = self.wrong(node["properties"][step], rest, inner)
        return value

    # --- questions ---

    def kinds(self) -> dict[str, list[tuple[str, str]]]:
        """Return the kinds that lead to each place, nearest first."""
        found: dict[str, list[tuple[int, tuple[str, str]]]] = {}
        for kind in self.resources:
            for place, path in self.places(self.type_of(kind)).items():
                found.setdefault(place, []).append((len(path), kind))
        return {
            place: [kind for _, kind in sorted(kinds)] for place, kinds in found.items()
        }

    def type_of(self, kind: tuple[str, str]) -> str:
        """Return the name of the schema of a kind."""
        group, _, version = kind[0].rpartition("/")
        wanted = {"group": group, "version": version, "kind": kind[1]}
        for name, schema in self.schemas.items():
            if wanted in schema.get("x-kubernetes-group-version-kind", []):
                return name
        raise LookupError(kind)

    def ask(self, place: str, kind: tuple[str, str]) -> dict[str, Any]:
        """Send an object with a wrong value at a place, and return what is recorded."""
        root = self.type_of(kind)
        path = self.places(root)[place]
        meta = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "x"}}
        base = BASES.get(kind[1], {})
        obj = {**self.wrong({"$ref": f"/{root}"}, path, base), **meta}
        collection = self.resources[kind]
        line: dict[str, Any] = {"place": place, "path": list(path), "object": obj}
        if path[0] == "status":
            line["subresource"] = "status"
            status, answer = self._write_status(kind, obj)
        else:
            status, answer = self.request("POST", collection + _QUERY, obj)
        causes: Any = []
        if status not in (_CREATED, _OK):
            # An admission plugin answers without causes.
            causes = (answer.get("details") or {}).get("causes", answer["message"])
        return {**line, "code": status, "causes": causes}

    def _write_status(
        self, kind: tuple[str, str], obj: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        """Create an object, and write the status of another one over its own."""
        root = {"$ref": f"/{self.type_of(kind)}"}
        # Some kinds have finalizers, so objects are not deleted: each has a new name.
        name = f"x-{uuid4().hex}"
        meta = {"name": name}
        valid = {**self.smallest(root), **BASES.get(kind[1], {}), "metadata": meta}
        valid |= {"apiVersion": kind[0], "kind": kind[1]}
        if kind[1] == "PersistentVolume":
            valid["spec"] = {**valid["spec"], "hostPath": {"path": "/x"}}
        status, created = self.request("POST", self.resources[kind], valid)
        assert status == _CREATED, created
        new = {**obj, "metadata": created["metadata"]}
        path = f"{self.resources[kind]}/{name}/status{_QUERY}"
        return self.request("PUT", path, new)

    def published(self) -> dict[str, tuple[list[str], str]]:
        """Return the places that have an enum, their values and the listing of them."""
        found = {}
        for name, definition in self.schemas.items():
            for field, schema in definition.get("properties", {}).items():
                for suffix, _, node in _inner(schema):
                    if "enum" in node:
                        text = schema.get("description", "")
                        start = text.find("Possible enum values:")
                        listing = text[start:] if start >= 0 else ""
                        found[f"{name}.{field}{suffix}"] = node["enum"], listing
        return found


def _reference(schema: dict[str, Any]) -> str:
    for node in (schema, *schema.get("allOf", [])):
        if "$ref" in node:
            return str(node["$ref"].rpartition("/")[2])
    return ""


def _inner(
    schema: dict[str, Any],
) -> Iterator[tuple[str, tuple[Step, ...], dict[str, Any]]]:
    """Yield a schema and those of its elements or values, each with the steps to it."""
    yield "", (), schema
    for word, step in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(word), dict):
            for suffix, steps, node in _inner(schema[word]):
                yield step + suffix, (step, *steps), node


def record(url: str, token: str) -> None:
    """Ask the server, and write the record anew."""
    server = Server(url, token)
    kinds = server.kinds()
    lines = [{"server": server.version}]
    for place, (values, listing) in sorted(server.published().items()):
        wanted = KINDS.get(place)
        kind = next(kind for kind in kinds[place] if wanted in (None, kind[1]))
        answer = server.ask(place, kind)
        lines.append({**answer, "values": values, "listing": listing})
    RECORD.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    record(*sys.argv[1:])
