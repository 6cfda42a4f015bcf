"""What surrounds every request, and what is done with those about objects.

All are authenticated, logged and counted. Requests about objects go from a path and a
method to an operation; all others have routes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from hmac import compare_digest
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smp.errors import SmpError
from smp.handler import MethodNotAllowedError, warning_headers
from smp.handler.headers import read_header
from smp.server.endpoints import pods, reviews
from smp.server.endpoints.answers import error_response
from smp.server.endpoints.call import CALL, Call
from smp.server.endpoints.lists import list_objects
from smp.server.endpoints.objects import create, delete, delete_collection, get
from smp.server.endpoints.updates import patch, update
from smp.server.endpoints.watch import watch
from smp.server.errors import NOT_ALLOWED, RefusalError
from smp.server.registry.objects import RelatedNotFoundError
from smp.server.registry.state import ServerState
from smp.server.registry.target import METHODS, Target
from smp.server.settings import is_loopback

_OTHER_SITES: Final = ("cross-site", "same-site")
_PUBLIC: Final = frozenset({"/healthz", "/livez", "/readyz"})


def check_access(scope: Scope, expected: str) -> None:
    """Raise RefusalError for a request to refuse.

    Without an ``expected`` token clients on this machine need none.
    """
    # Probes of an orchestrator have no token, and may use the address of the pod.
    if scope["path"] in _PUBLIC:
        return
    if not expected:
        _check_local(scope)
        return
    scheme, _, token = read_header(scope, b"authorization").partition(" ")
    # compare_digest takes the same time for every wrong token.
    is_right = compare_digest(token.strip().encode(), expected.encode())
    if scheme.lower() != "bearer" or not is_right:
        raise RefusalError(401, "Unauthorized")


def _check_local(scope: Scope) -> None:
    """Refuse requests that a browser makes for a page from elsewhere.

    Such a request has the Origin of the page, or a Host name that was made to resolve
    to this machine (DNS rebinding). Images and the like are requested without an
    Origin, and Sec-Fetch-Site tells of which site the page is (Fetch Metadata Request
    Headers, W3C).
    """
    if read_header(scope, b"sec-fetch-site") in _OTHER_SITES:
        raise RefusalError(403, "requests for pages of other sites need a token")
    host, origin = read_header(scope, b"host"), read_header(scope, b"origin")
    for url in (host and f"//{host}", origin):
        if not url:  # clients other than browsers need not send them
            continue
        if not _is_local(url):
            raise RefusalError(
                403,
                "requests from or to another host need a token: "
                f"{url.removeprefix('//'):.100}",
            )


def _is_local(url: str) -> bool:
    """Tell whether a URL, or the part of it with the host, is of this machine."""
    # A URL that cannot be parsed does not count as local.
    try:
        name = urlsplit(url).hostname or ""
    except ValueError:
        name = ""
    return is_loopback(name)


_LOG: Final = logging.getLogger("smp.server")
# The verbs in the metrics that are not those of the log in capitals: an API server
# reports the methods there (Go: k8s.io/apiserver, endpoints/metrics).
_REPORTED: Final = {"create": "POST", "update": "PUT", "other": "other"}
# What an API server reports as the subresource of requests that are not about objects
# (Go: healthz.InstallPathHandler; kube-openapi's handlers, by their prefix).
_ENDPOINTS: Final = {
    **{path: path for path in ("/healthz", "/livez", "/readyz")},
    **{f"/{path}": path for path in ("openapi/v2", "openapi/v3", "openapi/v3/")},
}
# The status in the log where there was no answer, because the client disconnected.
_NO_ANSWER: Final = 499


class RequestMiddleware:
    """The outermost ASGI application."""

    def __init__(self, app: ASGIApp, *, state: ServerState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        code = _NO_ANSWER

        async def record_status(message: Message) -> None:
            nonlocal code
            code = message.get("status", code)
            await send(message)

        try:
            # What is refused here is answered, and counted like all others.
            try:
                check_access(scope, self._state.settings.token)
                app = self._app
                named = objects_of(scope["path"])
                if named:
                    request = Request(scope, receive)
                    app = await dispatch(self._state, request, *named)
            except SmpError as error:
                app = error_response(error)
            await app(scope, receive, record_status)
        except ClientDisconnect:
            return
        except Exception:  # noqa: BLE001 - the last resort: logged, and answered 500
            _LOG.exception(
                "a request failed", extra={"fields": {"path": scope["path"]}}
            )
            # After the start of an answer there is no way to tell the client.
            if code == _NO_ANSWER:
                response = error_response(RefusalError(500, "Internal error occurred"))
                await response(scope, receive, record_status)
        finally:
            self._record(scope, code, perf_counter() - started)

    def _record(self, scope: Scope, code: int, seconds: float) -> None:
        call: Call | None = scope.get(CALL)
        if call:
            labels = call.labels
        else:
            other = scope["method"].lower() if scope["method"] in METHODS else "other"
            # What follows the prefix names a document.
            begin, prefix, _ = scope["path"].partition("/openapi/v3/")
            labels = (other, "", "", "", _ENDPOINTS.get(begin or prefix, ""))
        verb = labels[0]
        labels = (_REPORTED.get(verb, verb.upper()), *labels[1:])
        metrics = self._state.metrics
        metrics.requests.labels(*labels, code).inc()
        # A watch lasts as long as its client wants: it would only blur the histogram.
        if verb != "watch":
            metrics.durations.labels(*labels).observe(seconds)
        if not _LOG.isEnabledFor(logging.INFO):
            return
        # Neither headers nor bodies: they have tokens and Secrets.
        fields = {
            "method": scope["method"],
            "path": scope["path"],
            "query": scope["query_string"].decode("latin-1"),
            "verb": verb,
            "code": code,
            "seconds": round(seconds, 6),
            "user_agent": read_header(scope, b"user-agent"),
        }
        if call and call.admission and call.admission.annotations:
            fields["annotations"] = call.admission.annotations
        _LOG.info("request", extra={"fields": fields})


def objects_of(path: str) -> tuple[str, str, str] | None:
    """Return the group, the version and the rest of a path to objects, else None.

    It is /api/VERSION/REST, where the group has no name, or /apis/GROUP/VERSION/REST.
    """
    group, names = "", path
    if path.startswith("/apis/"):
        group, _, names = path.removeprefix("/apis/").partition("/")
        if not group:
            return None
    elif path.startswith("/api/"):
        names = path.removeprefix("/api/")
    else:
        return None
    version, _, rest = names.removesuffix("/").partition("/")
    # Without a rest it is the discovery document of a version.
    return (group, version, rest) if version and rest else None


_OPERATIONS: Final[dict[str, Callable[[Call], Awaitable[Response]]]] = {
    "create": create,
    "delete": delete,
    "deletecollection": delete_collection,
    "get": get,
    "list": list_objects,
    "patch": patch,
    "update": update,
}


# What is done with a resource, or a subresource, that is not written as an object is.
_ACTIONS: Final[dict[tuple[str, str, str], Callable[[Call], Awaitable[Response]]]] = {
    ("", "bindings", ""): pods.bind,
    ("", "componentstatuses", ""): reviews.component_statuses,
    ("", "nodes", "proxy"): pods.proxy,
    ("", "pods", "attach"): pods.connect,
    ("", "pods", "binding"): pods.bind,
    ("", "pods", "eviction"): pods.evict,
    ("", "pods", "exec"): pods.connect,
    ("", "pods", "log"): pods.log,
    ("", "pods", "portforward"): pods.connect,
    ("", "pods", "proxy"): pods.connect,
    ("", "serviceaccounts", "token"): reviews.service_account_token,
    ("", "services", "proxy"): pods.proxy,
    ("authentication.k8s.io", "selfsubjectreviews", ""): reviews.self_subject,
    ("authentication.k8s.io", "tokenreviews", ""): reviews.token,
    ("authorization.k8s.io", "localsubjectaccessreviews", ""): reviews.access,
    ("authorization.k8s.io", "selfsubjectaccessreviews", ""): reviews.access,
    ("authorization.k8s.io", "selfsubjectrulesreviews", ""): reviews.rules,
    ("authorization.k8s.io", "subjectaccessreviews", ""): reviews.access,
}


# Since which minor version resources are deprecated. Go: APILifecycleDeprecated, in
# zz_generated.prerelease-lifecycle.go of k8s.io/api.
_DEPRECATED: Final = {
    ("", "componentstatuses"): (19, "v1 ComponentStatus is deprecated in v1.19+"),
    ("", "endpoints"): (
        33,
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
}


async def dispatch(
    state: ServerState, request: Request, group: str, version: str, path: str
) -> ASGIApp:
    """Execute a request about objects, and return the answer.

    Raises UnknownResourceError.
    """
    target = await state.kinds.locate(group, version, path.removeprefix("watch/"))
    if path.startswith("watch/"):
        target = _watch_by_path(request, target)
    response = await _respond(state, request, target)
    call: Call | None = request.scope.get(CALL)
    if call is not None and call.admission and isinstance(response, Response):
        for value in warning_headers(call.admission.warnings):
            response.raw_headers.append((b"warning", value))
    return response


def _watch_by_path(request: Request, target: Target) -> Target:
    """Return the collection to watch, as the path .../watch/... asks.

    It is the older form of the parameter (Go: endpoints/installer.go, WATCHLIST).
    Raises MethodNotAllowedError.
    """
    if request.method != "GET" or target.subresource:
        raise MethodNotAllowedError(NOT_ALLOWED)
    query = "&watch=true"
    if target.name:
        query += f"&fieldSelector=metadata.name={target.name}"
    request.scope["query_string"] += query.encode()
    return target.named("")


async def _respond(state: ServerState, request: Request, target: Target) -> ASGIApp:
    # Errors are answered here, where the object that they concern is known.
    try:
        return await _execute(state, request, target)
    except MethodNotAllowedError as error:
        response = error_response(error, target)
        allowed = [method for method in METHODS if target.verb(method)]
        response.headers["allow"] = ", ".join(allowed)  # RFC 9110, 15.5.6
        return response
    except RelatedNotFoundError as error:
        # It is not the target that was not found.
        return error_response(error, error.target)
    except SmpError as error:
        return error_response(error, target)


async def _execute(state: ServerState, request: Request, target: Target) -> ASGIApp:
    verb = target.verb(request.method)
    if verb is None:
        raise MethodNotAllowedError(NOT_ALLOWED)
    call = Call(state, request, target, verb)
    is_watch = verb == "list" and call.list_options.watch
    if is_watch:
        call.verb = "watch"
    request.scope[CALL] = call  # for the log and the metrics
    # Watches take long, and have no deadline.
    if is_watch:
        if not target.resource.is_stored:
            raise MethodNotAllowedError(NOT_ALLOWED)
        if state.watches >= state.settings.max_watches:
            raise RefusalError(429, "too many watches, please try again later")
        return watch(call)
    if state.requests_under_way >= state.settings.max_in_flight:
        raise RefusalError(429, "too many requests, please try again later")
    state.in_flight += 1
    try:
        async with asyncio.timeout(state.settings.request_timeout):
            action = _ACTIONS.get((*target.resource.key, target.subresource))
            operation = action or _OPERATIONS[verb]
            return _add_deprecation(call, await operation(call))
    except TimeoutError:
        raise RefusalError(
            504, "the request did not complete within the allotted time"
        ) from None
    finally:
        state.in_flight -= 1


def _add_deprecation(call: Call, response: Response) -> Response:
    """Add the warning that a resource is deprecated, in versions where it is."""
    deprecated = _DEPRECATED.get(call.target.resource.key)
    if deprecated:
        minor, text = deprecated
        digits = call.state.kinds.catalog.version.partition(".")[2]
        # A catalog of another version is as the newest one.
        if not digits.isdecimal() or int(digits) >= minor:
            for value in warning_headers([text]):
                response.raw_headers.append((b"warning", value))
    return response
