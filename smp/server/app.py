"""The server as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from smp.errors import SmpError
from smp.handler import MethodNotAllowedError
from smp.server.endpoints.answers import refused
from smp.server.endpoints.front import Front
from smp.server.endpoints.routes import routes
from smp.server.errors import UnknownResourceError
from smp.server.registry.api import API, background
from smp.server.registry.sweeping import prepare, sweep
from smp.server.settings import Settings
from smp.server.store import Store


def create_app(store: Store, settings: Settings) -> Starlette:
    """Make the application, which closes the store when its lifespan ends;
    ``state.stopping`` ends watches before.
    """
    api = API(store, settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            revision = await api.kinds.load()
            await prepare(api)
            async with background(api.kinds.follow(revision), sweep(api)):
                yield
        finally:
            api.stopping.set()
            await store.close()

    app = Starlette(
        routes=routes(api),
        middleware=[Middleware(Front, api=api)],
        exception_handlers={SmpError: _answered, HTTPException: _answered},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.stopping = api.stopping
    return app


async def _answered(_request: Request, error: Exception) -> Response:
    """Answer what an endpoint or the router refuses."""
    if isinstance(error, SmpError):
        return refused(error)
    if (
        isinstance(error, HTTPException)
        and error.status_code == MethodNotAllowedError.status
    ):
        response = refused(
            MethodNotAllowedError(
                "the server does not allow this method on the requested resource"
            )
        )
        response.headers.update(error.headers or {})
        return response
    return refused(
        UnknownResourceError("the server could not find the requested resource")
    )
