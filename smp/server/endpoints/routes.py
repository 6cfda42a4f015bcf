"""The paths of the server that are not of objects: discovery, OpenAPI, health."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from smp._values import codec
from smp._values.values import JSONObject
from smp.errors import SmpError
from smp.server import openapi
from smp.server.endpoints.answers import JSON_TYPE, respond
from smp.server.metrics import CONTENT_TYPE
from smp.server.objects import discovery
from smp.server.registry.state import ServerState

Endpoint: TypeAlias = Callable[[ServerState, Request], Awaitable[Response]]

_BUILD: Final = 1.0  # seconds to build documents of OpenAPI
# Clients may keep a document whose URL has its hash forever, as with API servers.
_IMMUTABLE: Final = {
    "cache-control": "public, immutable",
    "expires": "Thu, 31 Dec 2037 23:55:55 GMT",
}


def routes(state: ServerState) -> list[Route]:
    """Return the routes of the server."""
    return [
        Route(path, partial(endpoint, state), methods=["GET"])
        for path, endpoint in _ROUTES.items()
    ]


async def root(_state: ServerState, _request: Request) -> Response:
    """Answer the paths that are served."""
    paths = sorted({path.removesuffix("/") for path in _ROUTES if "{" not in path})
    return _json({"paths": [path for path in paths if path]})


async def livez(_state: ServerState, _request: Request) -> Response:
    """Answer that the process is alive."""
    return PlainTextResponse("ok")


async def readyz(state: ServerState, _request: Request) -> Response:
    """Answer whether to send requests here.

    Not while the server shuts down, or while the store cannot be read.
    """
    if state.stopping.is_set():
        return PlainTextResponse("shutting down", 503)
    try:
        await state.store.revision()
    except SmpError as error:
        return PlainTextResponse(f"store: {error}", 503)
    return PlainTextResponse("ok")


async def metrics(state: ServerState, _request: Request) -> Response:
    """Answer the metrics."""
    return respond(state.metrics.exposition(), content_type=CONTENT_TYPE)


async def version(state: ServerState, _request: Request) -> Response:
    """Answer the version of Kubernetes."""
    return _json(discovery.version(state.kinds.catalog.version))


async def discover(state: ServerState, request: Request) -> Response:
    """Answer a document of discovery; that of all groups aggregated where accepted."""
    resources, names = state.kinds.resources, request.path_params
    group, version = names.get("group", ""), names.get("version", "")
    if version:
        return _json(discovery.api_resources(resources, group, version))
    if group:
        return _json(discovery.api_group(resources, group))
    is_core = (
        request.scope["path"].startswith("/api/") or request.scope["path"] == "/api"
    )
    if discovery.wants_aggregated(request.headers.get("accept", "")):
        body = codec.encode(discovery.aggregate(resources, core=is_core))
        digest = hashlib.sha256(body).hexdigest()
        return _cacheable(request, body, digest, discovery.AGGREGATED)
    describe = discovery.api_versions if is_core else discovery.api_groups
    return _json(describe(resources))


async def openapi_v2(_state: ServerState, _request: Request) -> Response:
    """Answer the OpenAPI v2 document."""
    return respond(openapi.V2_BODY, content_type=openapi.V2_CONTENT_TYPE)


async def openapi_index(state: ServerState, request: Request) -> Response:
    """Answer the paths of the OpenAPI v3 documents."""
    openapi = state.kinds.openapi
    return respond(await state.workers.run(request, _BUILD, openapi.index))


async def openapi_document(state: ServerState, request: Request) -> Response:
    """Answer an OpenAPI v3 document."""
    name = request.path_params["name"]
    build = partial(state.kinds.openapi.document, name)
    document = await state.workers.run(request, _BUILD, build)
    response = _cacheable(request, document.body, document.hash, JSON_TYPE)
    if request.query_params.get("hash") == document.hash:
        response.headers.update(_IMMUTABLE)
    return response


def _json(document: JSONObject) -> Response:
    return respond(codec.encode(document))


def _cacheable(
    request: Request, body: bytes, digest: str, content_type: str
) -> Response:
    """Answer with an ETag, and without the body where the client has it.

    RFC 9110, 13.1.2 (If-None-Match).
    """
    tag = f'"{digest}"'
    # The header is a list of tags; a hash cannot be a part of another.
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"etag": tag})
    response = respond(body, content_type=content_type)
    response.headers["etag"] = tag
    # /apis answers another document where aggregated discovery is accepted.
    response.headers["vary"] = "Accept"
    return response


_CHECKS: Final = ("", "/etcd", "/log", "/ping")
# An API server answers these with a slash at the end as well, and publishes them so;
# health checks and OpenAPI it does not.
_DISCOVERY: Final = (
    *("/api", "/apis", "/api/{version}", "/apis/{group}"),
    "/apis/{group}/{version}",
)
# The first path that matches counts.
_ROUTES: Final[dict[str, Endpoint]] = {
    "/": root,
    **{f"/livez{check}": livez for check in _CHECKS},
    **{
        f"/{path}{check}": readyz for path in ("readyz", "healthz") for check in _CHECKS
    },
    "/version/": version,
    "/version": version,
    **{f"{path}/": discover for path in _DISCOVERY},
    **dict.fromkeys(_DISCOVERY, discover),
    "/metrics": metrics,
    "/openapi/v2": openapi_v2,
    "/openapi/v3": openapi_index,
    "/openapi/v3/{name:path}": openapi_document,
}
