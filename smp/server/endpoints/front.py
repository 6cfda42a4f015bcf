"""What surrounds every request: the guard, the log, the metrics, and the answer to
errors that nobody expects.
"""

from __future__ import annotations

import logging
from time import perf_counter
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smp.errors import SmpError
from smp.server.endpoints.answers import refused
from smp.server.endpoints.auth import Guard
from smp.server.endpoints.call import CALL, Call
from smp.server.registry.api import API

_LOG: Final = logging.getLogger("smp.server")
_METHODS: Final = {
    "GET": "get",
    "POST": "post",
    "PUT": "put",
    "PATCH": "patch",
    "DELETE": "delete",
}
# what the log says where there was no answer: the client went away
_UNANSWERED: Final = 499


class InternalError(SmpError):
    """An error of the server itself."""

    default_code = "internal-error"
    status = 500


class Front:
    """The outermost ASGI application."""

    def __init__(self, app: ASGIApp, *, api: API) -> None:
        self._app = app
        self._api = api
        self._guard = Guard(api.settings.token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, code = perf_counter(), _UNANSWERED

        async def noting(message: Message) -> None:
            nonlocal code
            code = message.get("status", code)
            await send(message)

        try:
            await self._guarded(scope, receive, noting)
        except ClientDisconnect:
            return
        except Exception:
            _LOG.exception(
                "a request failed", extra={"fields": {"path": scope["path"]}}
            )
            if code == _UNANSWERED:
                await refused(InternalError("Internal error occurred"))(
                    scope, receive, noting
                )
        finally:
            self._note(scope, code, perf_counter() - started)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._guard.check(scope["path"], Headers(scope=scope))
        except SmpError as error:
            await refused(error)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _note(self, scope: Scope, code: int, seconds: float) -> None:
        call: Call | None = scope.get(CALL)
        labels = (
            call.labels
            if call
            else (_METHODS.get(scope["method"], "other"), "", "", "", "")
        )
        self._api.metrics.requests.add(*labels, str(code))
        if labels[0] != "watch":
            self._api.metrics.durations.observe(seconds, *labels)
        if _LOG.isEnabledFor(logging.INFO):
            _LOG.info(
                "request", extra={"fields": _fields(scope, labels[0], code, seconds)}
            )


def _fields(
    scope: Scope, verb: str, code: int, seconds: float
) -> dict[str, str | int | float]:
    return {
        "method": scope["method"],
        "path": scope["path"],
        "query": scope["query_string"].decode("latin-1"),
        "verb": verb,
        "code": code,
        "seconds": round(seconds, 6),
        "user_agent": Headers(scope=scope).get("user-agent", ""),
    }
