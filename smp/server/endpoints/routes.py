"""The paths of the server: discovery, OpenAPI, health, metrics, and objects."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from smp import codec
from smp.errors import SmpError
from smp.server import openapi
from smp.server.endpoints.answers import respond
from smp.server.endpoints.dispatch import dispatch
from smp.server.endpoints.negotiation import JSON_TYPE
from smp.server.metrics import CONTENT_TYPE
from smp.server.objects import discovery
from smp.server.registry.api import API
from smp.server.registry.target import METHODS
from smp.values import JSONObject

Endpoint: TypeAlias = Callable[[API, Request], Awaitable[ASGIApp]]

_IMMUTABLE: Final = {
    "cache-control": "public, immutable",
    "expires": "Thu, 31 Dec 2037 23:55:55 GMT",
}


def routes(api: API) -> list[Route]:
    """Return the routes of the server."""
    return [
        Route(path, partial(endpoint, api), methods=methods)
        for path, endpoint, methods in _ROUTES
    ]


async def _live(_api: API, _request: Request) -> Response:
    return PlainTextResponse("ok")


async def _ready(api: API, _request: Request) -> Response:
    """Answer whether requests are welcome: the server is not about to end, and the
    store can be read.
    """
    if api.stopping.is_set():
        return PlainTextResponse("shutting down", 503)
    try:
        await api.store.revision()
    except SmpError as error:
        return PlainTextResponse(f"store: {error}", 503)
    return PlainTextResponse("ok")


async def _metrics(api: API, _request: Request) -> Response:
    return respond(api.metrics.exposition().encode(), content_type=CONTENT_TYPE)


async def _version(api: API, _request: Request) -> Response:
    return _json(discovery.version(api.settings.catalog.version))


async def _core(api: API, request: Request) -> Response:
    if not discovery.wants_aggregated(request.headers.get("accept", "")):
        return _json(discovery.api_versions(api.kinds.resources))
    return _aggregated(request, discovery.aggregated(api.kinds.resources, core=True))


async def _groups(api: API, request: Request) -> Response:
    if not discovery.wants_aggregated(request.headers.get("accept", "")):
        return _json(discovery.api_groups(api.kinds.resources))
    return _aggregated(request, discovery.aggregated(api.kinds.resources, core=False))


def _aggregated(request: Request, document: JSONObject) -> Response:
    body = codec.encode(document)
    return _cacheable(
        request, body, hashlib.sha256(body).hexdigest(), discovery.AGGREGATED
    )


async def _group(api: API, request: Request) -> Response:
    return _json(discovery.api_group(api.kinds.resources, request.path_params["group"]))


async def _resources(api: API, request: Request) -> Response:
    group, version = (
        request.path_params.get("group", ""),
        request.path_params["version"],
    )
    return _json(discovery.api_resources(api.kinds.resources, group, version))


async def _openapi_v2(_api: API, _request: Request) -> Response:
    return respond(openapi.V2_BODY, content_type=openapi.V2_CONTENT_TYPE)


async def _openapi_index(api: API, _request: Request) -> Response:
    return respond(api.kinds.openapi.index())


async def _openapi_document(api: API, request: Request) -> Response:
    document = api.kinds.openapi.document(request.path_params["name"])
    response = _cacheable(request, document.body, document.hash, JSON_TYPE)
    if request.query_params.get("hash") == document.hash:
        response.headers.update(_IMMUTABLE)
    return response


async def _objects(api: API, request: Request) -> ASGIApp:
    names = request.path_params
    return await dispatch(
        api, request, names.get("group", ""), names["version"], names["path"]
    )


def _json(document: JSONObject) -> Response:
    return respond(codec.encode(document))


def _cacheable(
    request: Request, body: bytes, digest: str, content_type: str
) -> Response:
    """Answer with an ETag, and without the body where the client has it (RFC 9110,
    13.1.2).
    """
    tag = f'"{digest}"'
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"etag": tag})
    response = respond(body, content_type=content_type)
    response.headers["etag"] = tag
    response.headers["vary"] = "Accept"
    return response


_GET: Final = ("GET",)
_ROUTES: Final[tuple[tuple[str, Endpoint, tuple[str, ...]], ...]] = (
    ("/api/{version}/{path:path}", _objects, METHODS),
    ("/apis/{group}/{version}/{path:path}", _objects, METHODS),
    ("/livez", _live, _GET),
    ("/readyz", _ready, _GET),
    ("/healthz", _ready, _GET),
    ("/metrics", _metrics, _GET),
    ("/version", _version, _GET),
    ("/openapi/v2", _openapi_v2, _GET),
    ("/openapi/v3", _openapi_index, _GET),
    ("/openapi/v3/{name:path}", _openapi_document, _GET),
    ("/api", _core, _GET),
    ("/apis", _groups, _GET),
    ("/api/{version}", _resources, _GET),
    ("/apis/{group}", _group, _GET),
    ("/apis/{group}/{version}", _resources, _GET),
)
