"""A server as a process: the socket, TLS, signals, and an end that lets requests
finish.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn
from starlette.applications import Starlette

from smp.server.app import create_app
from smp.server.kubeconfig import kubeconfig, write_kubeconfig
from smp.server.settings import Listener, Settings, SettingsError
from smp.server.store import open_store

_GRACE: Final = 30  # seconds that requests in flight have to finish
_KEEP_ALIVE: Final = 75  # seconds that an idle connection stays open
_BACKLOG: Final = 1024


def serve(
    settings: Settings,
    listener: Listener,
    store: str,
    *,
    kubeconfig_path: Path | None,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; ``ready`` is called with the URL once requests are
    answered.

    Raises SettingsError, StoreError, and OSError where the address cannot be bound or a
    file not be read.
    """
    listener.check(settings)
    with _bound(listener) as bound:
        url = listener.url(bound.getsockname()[1])

        def on_ready() -> None:
            if kubeconfig_path:
                authority = (
                    listener.authority.read_bytes() if listener.authority else b""
                )
                write_kubeconfig(
                    kubeconfig_path,
                    kubeconfig(url, token=settings.token, authority=authority),
                )
            ready(url)

        asyncio.run(_serve(settings, listener, store, bound, on_ready))


async def _serve(
    settings: Settings,
    listener: Listener,
    store: str,
    bound: socket.socket,
    on_ready: Callable[[], None],
) -> None:
    app = create_app(open_store(store), settings)
    server = _Server(_config(app, listener), app, on_ready)
    async with app.router.lifespan_context(app):
        await server.serve(sockets=[bound])


class _Server(uvicorn.Server):
    """uvicorn, which says when it is ready and has watches end when it stops."""

    def __init__(
        self, config: uvicorn.Config, app: Starlette, on_ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._app = app
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.stopping.set()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, at the second signal at once; the signal is not raised again, for the
        end is an orderly one.
        """
        self.force_exit = self.should_exit
        self.should_exit = True


def _config(app: Starlette, listener: Listener) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=listener.certificate,
        ssl_keyfile=listener.key,
    )
    try:
        config.load()
    except ssl.SSLError as error:
        raise SettingsError(
            f"{listener.certificate} and {listener.key} are no certificate and its key"
        ) from error
    return config


@contextmanager
def _bound(listener: Listener) -> Iterator[socket.socket]:
    # With the protocol said, asyncio knows that it is TCP and sends small packets at
    # once.
    family, kind, protocol, _, address = socket.getaddrinfo(
        listener.host or None,
        listener.port,
        type=socket.SOCK_STREAM,
        flags=socket.AI_PASSIVE,
    )[0]
    with socket.socket(family, kind, protocol) as bound:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
        yield bound
