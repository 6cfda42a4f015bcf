"""The server as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from smp.errors import SmpError
from smp.handler import MethodNotAllowedError
from smp.server.endpoints.answers import error_response
from smp.server.endpoints.middleware import RequestMiddleware
from smp.server.endpoints.routes import routes
from smp.server.errors import NOT_ALLOWED, UnknownResourceError
from smp.server.registry.deletion import prepare, sweep
from smp.server.registry.state import ServerState, background
from smp.server.settings import Settings
from smp.server.store import Store


def create_app(store: Store, settings: Settings) -> Starlette:
    """Make the application.

    It closes the store when its lifespan ends. ``app.state.server`` is its ServerState:
    to set ``stopping`` there ends the watches before that.
    """
    state = ServerState(store, settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        # Requests are answered once the kinds of the store are known and the namespaces
        # that every cluster has exist.
        try:
            revision = await state.kinds.load()
            await prepare(state)
            async with background(state.kinds.follow(revision), sweep(state)):
                yield
        finally:
            state.stopping.set()
            await store.close()

    app = _Application(
        state,
        routes=routes(state),
        exception_handlers={SmpError: _answer_error, HTTPException: _answer_error},
        lifespan=lifespan,
    )
    # A path with a slash at its end is not found (404).
    app.router.redirect_slashes = False
    app.state.server = state
    return app


class _Application(Starlette):
    """Starlette for what is not about objects, behind what surrounds all requests."""

    def __init__(self, served: ServerState, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._served = served

    def build_middleware_stack(self) -> ASGIApp:
        return RequestMiddleware(super().build_middleware_stack(), state=self._served)


async def _answer_error(_request: Request, error: Exception) -> Response:
    # Errors that concern an object are answered in ``dispatch``; these do not.
    if isinstance(error, SmpError):
        return error_response(error)
    # The router raises a HTTPException: 405 with the header Allow, or 404.
    not_allowed = MethodNotAllowedError.status
    if isinstance(error, HTTPException) and error.status_code == not_allowed:
        response = error_response(MethodNotAllowedError(NOT_ALLOWED))
        response.headers.update(error.headers or {})
        return response
    return error_response(
        UnknownResourceError("the server could not find the requested resource")
    )
