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
        Route(path, partial(endpoint, state), methods=methods)
        for path, endpoint, methods in _ROUTES
    ]


async def root(_state: ServerState, _request: Request) -> Response:
    """Answer the paths that are served."""
    paths = sorted({path.removesuffix("/") for path, *_ in _ROUTES if "{" not in path})
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
    body = state.metrics.exposition()
    return respond(body, content_type=CONTENT_TYPE)


async def version(state: ServerState, _request: Request) -> Response:
    """Answer the version of Kubernetes."""
    return _json(discovery.version(state.kinds.catalog.version))


async def core_versions(state: ServerState, request: Request) -> Response:
    """Answer the versions of the core group, or aggregated discovery of it."""
    resources = state.kinds.resources
    if discovery.wants_aggregated(request.headers.get("accept", "")):
        return _aggregate(request, discovery.aggregate(resources, core=True))
    return _json(discovery.api_versions(resources))


async def groups(state: ServerState, request: Request) -> Response:
    """Answer the groups, or aggregated discovery of all but the core group."""
    resources = state.kinds.resources
    if discovery.wants_aggregated(request.headers.get("accept", "")):
        return _aggregate(request, discovery.aggregate(resources, core=False))
    return _json(discovery.api_groups(resources))


async def group(state: ServerState, request: Request) -> Response:
    """Answer the versions of a group."""
    name = request.path_params["group"]
    return _json(discovery.api_group(state.kinds.resources, name))


async def group_resources(state: ServerState, request: Request) -> Response:
    """Answer the resources of a group and version."""
    group = request.path_params.get("group", "")
    version = request.path_params["version"]
    return _json(discovery.api_resources(state.kinds.resources, group, version))


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
    openapi = state.kinds.openapi
    document = await state.workers.run(request, _BUILD, openapi.document, name)
    response = _cacheable(request, document.body, document.hash, JSON_TYPE)
    if request.query_params.get("hash") == document.hash:
        response.headers.update(_IMMUTABLE)
    return response


def _json(document: JSONObject) -> Response:
    return respond(codec.encode(document))


def _aggregate(request: Request, document: JSONObject) -> Response:
    body = codec.encode(document)
    digest = hashlib.sha256(body).hexdigest()
    return _cacheable(request, body, digest, discovery.AGGREGATED)


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


_GET: Final = ("GET",)
_PROBES: Final = ("readyz", "healthz")
_CHECKS: Final = ("etcd", "log", "ping")
# The first path that matches counts.
_ROUTES: Final[tuple[tuple[str, Endpoint, tuple[str, ...]], ...]] = (
    # An API server answers these with a slash at the end as well, and publishes them
    # so; health checks and OpenAPI it does not.
    ("/", root, _GET),
    *((f"/livez/{check}", livez, _GET) for check in _CHECKS),
    *((f"/{path}/{check}", readyz, _GET) for path in _PROBES for check in _CHECKS),
    ("/version/", version, _GET),
    ("/api/", core_versions, _GET),
    ("/apis/", groups, _GET),
    ("/api/{version}/", group_resources, _GET),
    ("/apis/{group}/", group, _GET),
    ("/apis/{group}/{version}/", group_resources, _GET),
    ("/livez", livez, _GET),
    ("/readyz", readyz, _GET),
    ("/healthz", readyz, _GET),
    ("/metrics", metrics, _GET),
    ("/version", version, _GET),
    ("/openapi/v2", openapi_v2, _GET),
    ("/openapi/v3", openapi_index, _GET),
    ("/openapi/v3/{name:path}", openapi_document, _GET),
    ("/api", core_versions, _GET),
    ("/apis", groups, _GET),
    ("/api/{version}", group_resources, _GET),
    ("/apis/{group}", group, _GET),
    ("/apis/{group}/{version}", group_resources, _GET),
)
