"""What surrounds every request: authentication, log, metrics, unexpected errors.

Requests about objects go from here to ``dispatch``; all others have routes.
"""

from __future__ import annotations

import logging
from time import perf_counter
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smp.errors import SmpError
from smp.handler.headers import read_header
from smp.server.endpoints.answers import error_response
from smp.server.endpoints.auth import Guard
from smp.server.endpoints.call import CALL, Call
from smp.server.endpoints.dispatch import dispatch
from smp.server.registry.state import ServerState

_LOG: Final = logging.getLogger("smp.server")
# The verbs of requests that are not about objects, in the metrics and in the log.
_VERBS: Final = {
    "GET": "get",
    "POST": "post",
    "PUT": "put",
    "PATCH": "patch",
    "DELETE": "delete",
}
# The verbs in the metrics that are not those of the log in capitals: an API server
# reports the methods there (Go: k8s.io/apiserver, endpoints/metrics).
_REPORTED: Final = {"create": "POST", "update": "PUT", "other": "other"}
# The status in the log where there was no answer, because the client disconnected.
_NO_ANSWER: Final = 499


class InternalError(SmpError):
    """An error of the server itself."""

    default_code = "internal-error"
    status = 500


class RequestMiddleware:
    """The outermost ASGI application."""

    def __init__(self, app: ASGIApp, *, state: ServerState) -> None:
        self._app = app
        self._state = state
        self._guard = Guard(state.settings.token)

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
                self._guard.check(scope)
                app = self._app
                named = _objects_of(scope["path"])
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
                response = error_response(InternalError("Internal error occurred"))
                await response(scope, receive, record_status)
        finally:
            self._record(scope, code, perf_counter() - started)

    def _record(self, scope: Scope, code: int, seconds: float) -> None:
        """Count and log a request."""
        call: Call | None = scope.get(CALL)
        # Resources that clients define come and go; numbers would stay.
        if call and self._state.kinds.serves(call.target.resource):
            labels = call.labels
        elif call:
            labels = (call.verb, "", "", "", "")
        else:
            labels = (_VERBS.get(scope["method"], "other"), "", "", "", "")
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


def _objects_of(path: str) -> tuple[str, str, str] | None:
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
