"""A small API server for kubectl: the handler behind Starlette and uvicorn, objects in
a dict, no schemas published.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Self

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from smp import handler
from smp._values.values import JSON, JSONObject
from smp.handler import Admission, Options
from smp.handler.asgi import PatchEndpoint, Scope
from smp.schema.catalog import kubernetes
from smp.wire import encode
from tests.support.kubectl import DISCOVERY

if TYPE_CHECKING:
    from starlette.requests import Request

RESOURCES: Final = (
    ("apps", "deployments", "Deployment"),
    ("example.com", "widgets", "Widget"),
)


def admit(request: Admission) -> JSONObject:
    """Refuse what is labelled as refused."""
    metadata: Any = request.new["metadata"]
    if "refuse" in metadata.get("labels", {}):
        raise handler.ForbiddenError("no such label on Fridays")
    return request.new


class ApiServer:
    """Deployments and widgets (a custom resource without a schema), served to kubectl
    on loopback while in context.

    ``overtaken`` is how often another client writes just before a patch is saved.
    """

    def __init__(self, *objects: JSONObject) -> None:
        self.objects = {self._key(obj): obj for obj in objects}
        self.overtaken = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        # Nothing else than HTTP/1.1, so that no other library is loaded.
        config = uvicorn.Config(
            self._app(), ws="none", http="h11", lifespan="off", log_level="critical"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}
        )

    @property
    def url(self) -> str:
        """Where the server listens."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    @staticmethod
    def _key(obj: Any) -> str:
        group, _, _ = obj["apiVersion"].partition("/")
        return f"{group}/{obj['kind'].lower()}s/{obj['metadata']['name']}"

    def _app(self) -> Starlette:
        routes = [
            Route("/{root:str}", self._discover),
            Route("/openapi/v2", self._no_schemas),
            Route("/api/v1/namespaces/shop", self._namespace),
        ]
        for group, plural, kind in RESOURCES:
            options = Options(
                admit=admit, custom=kind == "Widget", resource=f"{plural}.{group}"
            )
            place = f"/apis/{group}/v1/namespaces/shop/{plural}"
            routes += [
                Route(
                    place + "/{name}",
                    PatchEndpoint(self._load, self._save, kubernetes(), options),
                    methods=["PATCH"],
                ),
                Route(place + "/{name}", self._get),
                Route(place + "/{name}", self._replace, methods=["PUT"]),
                Route(place, self._create, methods=["POST"]),
            ]
        return Starlette(routes=routes)

    async def _discover(self, request: Request) -> Response:
        groups = () if request.path_params["root"] == "api" else RESOURCES
        items: list[JSON] = [_group(*resource) for resource in groups]
        body: JSONObject = {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "items": items,
        }
        return Response(encode(body), media_type=DISCOVERY)

    async def _no_schemas(self, _: Request) -> Response:
        return Response(
            media_type="application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
        )

    async def _namespace(self, _: Request) -> Response:
        return _json(
            200,
            encode(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
            ),
        )

    async def _load(self, scope: Scope) -> JSONObject | None:
        return self.objects.get(_key_in(scope["path"]))

    async def _save(
        self, scope: Scope, loaded: object, new: JSONObject
    ) -> JSONObject | None:
        key = _key_in(scope["path"])
        if self.overtaken:
            self.overtaken -= 1
            self.objects[key] = self._written(self.objects[key])
        if self.objects[key] is not loaded:
            return None
        self.objects[key] = self._written(new)
        return self.objects[key]

    @staticmethod
    def _written(obj: JSONObject) -> JSONObject:
        metadata: Any = obj["metadata"]
        version = str(int(metadata.get("resourceVersion", "0")) + 1)
        return {**obj, "metadata": {**metadata, "resourceVersion": version}}

    async def _get(self, request: Request) -> Response:
        found = self.objects.get(_key_in(request.url.path))
        if found is not None:
            return _json(200, encode(found))
        group, plural, name = _key_in(request.url.path).split("/")
        missing = handler.to_status(
            handler.NotFoundError("missing"), name=name, group=group, resource=plural
        )
        return _json(404, missing.body)

    async def _create(self, request: Request) -> Response:
        schema = kubernetes().schema("apps/v1", "Deployment")
        outcome = handler.create(
            await request.body(),
            schema,
            handler.requested(Options(), request.url.query),
        )
        if isinstance(outcome, handler.Refused):
            return _json(outcome.code, outcome.body, outcome.warnings)
        key = self._key(outcome.object)
        if key in self.objects:
            group, plural, name = key.split("/")
            taken = handler.to_status(
                handler.AlreadyExistsError("taken"),
                name=name,
                group=group,
                resource=plural,
            )
            return _json(taken.code, taken.body)
        self.objects[key] = self._written(outcome.object)
        return _json(201, encode(self.objects[key]), outcome.warnings)

    async def _replace(self, request: Request) -> Response:
        key = _key_in(request.url.path)
        options = handler.requested(Options(), request.url.query)
        schema = kubernetes().schema("apps/v1", "Deployment")
        outcome = handler.replace(
            self.objects[key], await request.body(), schema, options
        )
        if isinstance(outcome, handler.Accepted) and outcome.changed:
            self.objects[key] = self._written(outcome.object)
        return _json(outcome.code, outcome.body, outcome.warnings)


def _json(code: int, body: bytes, warnings: tuple[str, ...] = ()) -> Response:
    response = Response(body, code, media_type="application/json")
    response.raw_headers += [
        (b"warning", value) for value in handler.warning_headers(warnings)
    ]
    return response


def _key_in(path: str) -> str:
    group, plural, name = (path.split("/")[index] for index in (2, 6, 7))
    return f"{group}/{plural}/{name}"


def _group(group: str, plural: str, kind: str) -> JSONObject:
    resource: JSONObject = {
        "resource": plural,
        "singularResource": kind.lower(),
        "scope": "Namespaced",
        "responseKind": {"group": group, "version": "v1", "kind": kind},
        "verbs": ["create", "get", "patch", "update"],
    }
    versions: JSONObject = {
        "version": "v1",
        "freshness": "Current",
        "resources": [resource],
    }
    return {"metadata": {"name": group}, "versions": [versions]}
