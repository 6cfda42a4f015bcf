"""An API server in memory that fails where a test wants it, for plans without sockets.

It has discovery, no OpenAPI (so that bundled schemas are taken), and the objects of a
few kinds; it patches them as a real server does, and counts what was done.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, TypeAlias

import smp
from smp._values import codec
from smp._values.values import JSON, JSONObject, as_object
from smp.cluster import drive
from smp.cluster.plan.apply import Run, Session, apply
from smp.cluster.plan.exchange import BrokenConnection, PlannedRequest, Response
from smp.cluster.plan.objects import Item
from smp.cluster.plan.options import ApplyOptions

Cut: TypeAlias = Literal["before", "after", "garbled"]
# What happens to a request by its number: it is cut, answered instead, or nothing.
Fault: TypeAlias = Callable[[int, PlannedRequest], "Cut | Response | None"]
_RESOURCES: Final = {
    "": [
        ("configmaps", "ConfigMap", True),
        ("secrets", "Secret", True),
        ("namespaces", "Namespace", False),
    ],
    "apiextensions.k8s.io": [
        ("customresourcedefinitions", "CustomResourceDefinition", False)
    ],
}
_AGGREGATED: Final = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)


def no_fault(_number: int, _request: PlannedRequest) -> None:
    """Let all requests be."""


def config_map(name: str, **data: str) -> JSONObject:
    """Make a manifest."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {**data},
    }


def status(code: int, reason: str, message: str = "no", **headers: str) -> Response:
    """Make an answer that refuses a request."""
    body: JSONObject = {
        "kind": "Status",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "code": code,
    }
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Response(code, pairs, codec.encode(body))


class ScriptedServer:
    """The server; an instance is a transport."""

    def __init__(self, fault: Fault = no_fault) -> None:
        self.fault = fault
        self.objects: dict[str, dict[str, Any]] = {}
        self.kinds = {group: [*kinds] for group, kinds in _RESOURCES.items()}
        self.requests: list[PlannedRequest] = []
        # How often each object was written, and each kind of write.
        self.done: Counter[tuple[str, str]] = Counter()
        self.slept: list[float] = []
        self._version = 0

    def __call__(self, request: PlannedRequest) -> Response | BrokenConnection:
        """Answer a request, or fail."""
        number = len(self.requests)
        self.requests.append(request)
        fault = self.fault(number, request)
        if isinstance(fault, Response):
            return fault
        if fault == "before":
            return BrokenConnection("cut", sent=False)
        answer = self._answered(request)
        if fault == "after":
            return BrokenConnection("cut")
        if fault == "garbled":
            # What a proxy closes early, where no length was promised.
            half = answer.body[: len(answer.body) // 2]
            return Response(answer.status, answer.headers, half)
        return answer

    def run(self, objects: Iterable[JSONObject], **options: Any) -> Run:
        """Apply objects, without waiting for anything."""
        session = Session({})
        plan = apply(session, [Item(obj) for obj in objects], ApplyOptions(**options))
        return drive.run(plan, self, sleep=self.slept.append, parallel=1)

    @property
    def content(self) -> dict[str, Any]:
        """The objects, without what differs from write to write."""
        return {
            path: {
                **obj,
                "metadata": {
                    name: value
                    for name, value in obj["metadata"].items()
                    if name not in ("uid", "resourceVersion")
                },
            }
            for path, obj in self.objects.items()
        }

    def _answered(self, request: PlannedRequest) -> Response:
        path = request.path
        if path in ("/api", "/apis"):
            return self._discovery(core=path == "/api")
        if path.startswith("/openapi"):
            return status(404, "NotFound")
        if request.method == "GET" and dict(request.query).get("labelSelector"):
            return self._list(path, dict(request.query)["labelSelector"])
        if ("dryRun", "All") in request.query and request.method != "GET":
            return Response(200, (), request.body)
        if request.method == "POST":
            return self._created(path, request)
        return self._of_object(path, request)

    def _of_object(self, path: str, request: PlannedRequest) -> Response:
        live = self.objects.get(path)
        is_apply = "apply-patch" in dict(request.headers).get("Content-Type", "")
        if live is None and is_apply:
            return self._stored(path, json.loads(request.body), "apply", 201)
        if live is None:
            return status(404, "NotFound", f"{path} not found")
        if request.method == "PATCH":
            return self._patched(path, live, request, is_apply=is_apply)
        if request.method == "DELETE":
            del self.objects[path]
            self.done[path, "DELETE"] += 1
        return Response(200, (), codec.encode(live))

    def _patched(
        self,
        path: str,
        live: dict[str, Any],
        request: PlannedRequest,
        *,
        is_apply: bool,
    ) -> Response:
        patch = json.loads(request.body)
        if live.get("immutable") and "data" in patch:
            return status(422, "Invalid", "field is immutable when `immutable` is set")
        if is_apply:
            patched: Any = {**live, **patch}
        else:
            schema = smp.kubernetes().schema(live["apiVersion"], live["kind"])
            patched = smp.apply_patch(live, patch, schema)
        # A server does not write what it has.
        if patched == live:
            return Response(200, (), codec.encode(live))
        patched["metadata"] = {**live["metadata"], **patched["metadata"]}
        return self._stored(path, patched, "PATCH", 200)

    def _created(self, path: str, request: PlannedRequest) -> Response:
        obj = json.loads(request.body)
        path = f"{path}/{obj['metadata']['name']}"
        if path in self.objects:
            return status(409, "AlreadyExists", f"{path} already exists")
        return self._stored(path, obj, "POST", 201)

    def _stored(self, path: str, obj: dict[str, Any], how: str, code: int) -> Response:
        self._version += 1
        self.done[path, how] += 1
        uid = obj["metadata"].get("uid", f"u{self._version}")
        version = {"resourceVersion": str(self._version), "uid": uid}
        self.objects[path] = {**obj, "metadata": {**obj["metadata"], **version}}
        return Response(code, (), codec.encode(self.objects[path]))

    def _list(self, path: str, selector: str) -> Response:
        name, _, value = selector.partition("=")
        items = [
            obj
            for at, obj in self.objects.items()
            if at.startswith(f"{path}/")
            and as_object(obj["metadata"].get("labels")).get(name) == value
        ]
        return Response(200, (), codec.encode({"kind": "List", "items": [*items]}))

    def _discovery(self, *, core: bool) -> Response:
        groups = [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {
                        "version": "v1",
                        "resources": [
                            {
                                "resource": plural,
                                "singularResource": kind.lower(),
                                "scope": "Namespaced" if namespaced else "Cluster",
                                "responseKind": {"kind": kind},
                                "verbs": ["get", "list"],
                            }
                            for plural, kind, namespaced in kinds
                        ],
                    }
                ],
            }
            for group, kinds in self.kinds.items()
            if core == (not group)
        ]
        body = {"kind": "APIGroupDiscoveryList", "items": groups}
        content = json.dumps(body).encode()
        return Response(200, (("Content-Type", _AGGREGATED),), content)


class OldServer(ScriptedServer):
    """A server that has no aggregated discovery."""

    def _discovery(self, *, core: bool) -> Response:
        if core:
            body: JSONObject = {"kind": "APIVersions", "versions": ["v1"]}
            return Response(200, (), codec.encode(body))
        groups: list[JSON] = [
            {"name": group, "versions": [{"groupVersion": f"{group}/v1"}]}
            for group in self.kinds
            if group
        ]
        body = {"kind": "APIGroupList", "groups": groups}
        return Response(200, (), codec.encode(body))

    def _answered(self, request: PlannedRequest) -> Response:
        for group, kinds in self.kinds.items():
            if request.path != (f"/apis/{group}/v1" if group else "/api/v1"):
                continue
            resources: list[JSON] = [
                {"name": plural, "kind": kind, "namespaced": namespaced}
                for plural, kind, namespaced in kinds
            ]
            resources.append({"name": "secrets/status", "kind": "Secret"})
            body: JSONObject = {"kind": "APIResourceList", "resources": resources}
            return Response(200, (), codec.encode(body))
        return super()._answered(request)


def data_of(server: ScriptedServer, name: str) -> JSONObject:
    """Return the data of a config map on a server."""
    path = f"/api/v1/namespaces/default/configmaps/{name}"
    return as_object(server.objects[path].get("data"))
