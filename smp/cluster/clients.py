"""Transports over the clients that users have, without importing any of them.

A client is known by the package of its class: kubernetes (ApiClient, DynamicClient),
kubernetes_asyncio, lightkube, kr8s, and httpx. Each keeps what it is good at:
connections, TLS, proxies, and credentials with their renewal. What a transport adds is
little: it sends the request as it is, returns every answer, and says of a connection
that broke whether the server can have seen the request. No client may send a request
again by itself, because only the plan knows which ones may be.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

from smp.cluster.drive import AsyncTransport, Transport
from smp.cluster.plan.exchange import BrokenConnection, PlannedRequest, Response

_Answer: TypeAlias = Response | BrokenConnection
_SUPPORTED: Final = (
    "kubernetes.client.ApiClient, kubernetes.dynamic.DynamicClient, lightkube.Client,"
    " the result of kr8s.api(), httpx.Client"
)
_SUPPORTED_ASYNC: Final = (
    "kubernetes_asyncio.client.ApiClient, lightkube.AsyncClient, the result of"
    " kr8s.asyncio.api(), httpx.AsyncClient"
)


def transport_over(client: object) -> Transport:
    """Return a transport over a client that blocks. Raises TypeError for others."""
    package = _package(client)
    inner: Any = client
    if package == "kubernetes":
        return _send_over_kubernetes(_api_client(inner))
    if package == "lightkube" and not _is_async(client):
        return _send_over_httpx(inner._client._client)  # noqa: SLF001  # it has no public way
    if package == "kr8s" and not _is_async(client):
        return _send_over_kr8s(inner)
    if package in ("httpx", "httpx2") and not _is_async(client):
        return _send_over_httpx(inner)
    raise _make_type_error(client, _SUPPORTED, "Cluster")


def async_transport_over(client: object) -> AsyncTransport:
    """Return a transport over a client of asyncio. Raises TypeError for others."""
    package = _package(client)
    inner: Any = client
    if package == "kubernetes_asyncio":
        return _send_over_kubernetes_asyncio(_api_client(inner))
    if package == "lightkube" and _is_async(client):
        return _send_over_async_httpx(inner._client._client)  # noqa: SLF001  # it has no public way
    if package == "kr8s" and _is_async(client):
        return _send_over_async_kr8s(inner)
    if package in ("httpx", "httpx2") and _is_async(client):
        return _send_over_async_httpx(inner)
    raise _make_type_error(client, _SUPPORTED_ASYNC, "AsyncCluster")


def _api_client(client: Any) -> Any:
    # A DynamicClient has the ApiClient inside, and so have classes such as CoreV1Api.
    inner = getattr(client, "client", client)
    return getattr(inner, "api_client", inner)


def _package(client: object) -> str:
    """Return the package that has the class of a client, or a base of it."""
    # A class of a user may be derived from one of these.
    known = {"kubernetes", "kubernetes_asyncio", "lightkube", "kr8s", "httpx", "httpx2"}
    for class_ in type(client).__mro__:
        package, _, _ = class_.__module__.partition(".")
        if package in known:
            return package
    return ""


def _is_async(client: object) -> bool:
    if _package(client) == "kr8s":
        return bool(getattr(client, "_asyncio", False))
    # Both kinds of class are in one package.
    names = [class_.__name__ for class_ in type(client).__mro__]
    return "AsyncClient" in names


def _make_type_error(client: object, supported: str, where: str) -> TypeError:
    name = f"{type(client).__module__}.{type(client).__qualname__}"
    return TypeError(f"{where} takes one of {supported}, and not {name}")


def _url(host: str, request: PlannedRequest) -> str:
    query = f"?{urlencode(request.query)}" if request.query else ""
    return f"{host.rstrip('/')}{request.path}{query}"


def _response(status: int, headers: Mapping[str, str], body: bytes) -> Response:
    """Return the answer of a client whose headers may have several values."""
    # Only httpx has a name of its own for all values of all headers.
    items = getattr(headers, "multi_items", headers.items)()
    return Response(status, tuple((str(key), str(text)) for key, text in items), body)


def _send_over_kubernetes(client: Any) -> Transport:
    """Send over the connections of the official client (all versions: urllib3)."""
    from urllib3 import exceptions  # noqa: PLC0415  # only where this client is used

    configuration = client.configuration
    pool = client.rest_client.pool_manager

    def send(request: PlannedRequest) -> _Answer:
        headers = {**client.default_headers, **dict(request.headers)}
        # A hook of the configuration renews a token that expires.
        for setting in configuration.auth_settings().values():
            if setting["value"] is not None:
                headers[setting["key"]] = setting["value"]
        try:
            answer = pool.request(
                request.method,
                _url(configuration.host, request),
                headers=headers,
                body=request.body or None,
                # Its own retries repeat writes.
                retries=False,
                redirect=False,
            )
        except (exceptions.NewConnectionError, exceptions.ConnectTimeoutError) as error:
            return BrokenConnection(str(error), sent=False)
        except exceptions.HTTPError as error:
            return BrokenConnection(str(error))
        return _response(answer.status, answer.headers, answer.data)

    return send


def _send_over_httpx(client: Any) -> Transport:
    errors = sys.modules[_package(client)]

    def send(request: PlannedRequest) -> _Answer:
        try:
            answer = client.request(**_httpx_arguments(request))
        except (errors.ConnectError, errors.ConnectTimeout) as error:
            return BrokenConnection(str(error), sent=False)
        except errors.TransportError as error:
            return BrokenConnection(_reason(error))
        return _response(answer.status_code, answer.headers, answer.content)

    return send


def _send_over_async_httpx(client: Any) -> AsyncTransport:
    errors = sys.modules[_package(client)]

    async def send(request: PlannedRequest) -> _Answer:
        try:
            answer = await client.request(**_httpx_arguments(request))
        except (errors.ConnectError, errors.ConnectTimeout) as error:
            return BrokenConnection(str(error), sent=False)
        except errors.TransportError as error:
            return BrokenConnection(_reason(error))
        return _response(answer.status_code, answer.headers, answer.content)

    return send


def _httpx_arguments(request: PlannedRequest) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.path,
        "params": list(request.query) or None,
        "headers": list(request.headers),
        "content": request.body or None,
    }


def _send_over_kr8s(api: Any) -> Transport:
    # All calls of kr8s that block run on a loop of its own; so does this one.
    utilities: Any = import_module("kr8s._async_utils")
    transport: Transport = utilities.as_sync_func(_send_over_async_kr8s(api))
    return transport


def _send_over_async_kr8s(api: Any) -> AsyncTransport:
    from kr8s import ServerError  # noqa: PLC0415  # only where this client is used

    # Versions of kr8s use several packages, whose errors have the same names.
    module: Any = sys.modules["kr8s._api"]
    errors = module.httpx

    async def send(request: PlannedRequest) -> _Answer:
        # kr8s joins the base and the rest. With errors as exceptions, which is its
        # default, it renews credentials that are refused.
        _, root, rest = (*request.path.split("/", 2), "")[:3]
        call = api.call_api(
            request.method,
            version="",
            base=f"/{root}",
            url=rest,
            params=list(request.query) or None,
            headers=dict(request.headers),
            content=request.body or None,
        )
        try:
            async with call as answer:
                return _response(answer.status_code, answer.headers, answer.content)
        except ServerError as error:
            refused: Any = error.response
            return _response(refused.status_code, refused.headers, refused.content)
        except (errors.ConnectError, errors.ConnectTimeout) as error:
            return BrokenConnection(str(error), sent=False)
        except errors.TransportError as error:
            return BrokenConnection(_reason(error))

    return send


def _send_over_kubernetes_asyncio(client: Any) -> AsyncTransport:
    import aiohttp  # noqa: PLC0415  # only where this client is used
    import yarl  # noqa: PLC0415  # it comes with aiohttp

    configuration = client.configuration
    rest = client.rest_client

    async def send(request: PlannedRequest) -> _Answer:
        headers = {**client.default_headers, **dict(request.headers)}
        for setting in (await configuration.auth_settings()).values():
            if setting["value"] is not None:
                headers[setting["key"]] = setting["value"]
        try:
            async with rest.pool_manager.request(
                request.method,
                # The path is percent-encoded already.
                yarl.URL(_url(configuration.host, request), encoded=True),
                headers=headers,
                data=request.body or None,
                allow_redirects=False,
                proxy=rest.proxy,
                server_hostname=rest.server_hostname,
            ) as answer:
                body = await answer.read()
                return _response(answer.status, answer.headers, body)
        except aiohttp.ClientConnectorError as error:
            return BrokenConnection(str(error), sent=False)
        except (TimeoutError, aiohttp.ClientError) as error:
            return BrokenConnection(_reason(error))

    return send


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
