"""A server as a process: the socket, TLS, signals and a graceful shutdown."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from smp.server.app import create_app
from smp.server.connections import (
    Connections,
    most_connections,
    raise_descriptor_limit,
    timed,
)
from smp.server.garbage import collect_garbage
from smp.server.kubeconfig import check_kubeconfig, kubeconfig, write_kubeconfig
from smp.server.processes import serve_in_processes
from smp.server.registry.state import background
from smp.server.settings import Listener, Settings, SettingsError
from smp.server.store import open_store

_GRACE: Final = 30  # seconds that requests in flight have to finish
_KEEP_ALIVE: Final = 75  # seconds that an idle connection stays open
_SWITCH: Final = 0.001  # seconds; the default of Python is 0.005
_BACKLOG: Final = 1024


def serve(
    settings: Settings,
    listener: Listener,
    store: str,
    *,
    kubeconfig_path: Path | None,
    ready: Callable[[str], None],
    processes: int = 1,
) -> None:
    """Serve until SIGINT or SIGTERM.

    ``ready`` is called with the URL once requests are answered. Several ``processes``
    share the store; that in memory is then a file which is deleted at the end. Raises
    SettingsError, also where the address cannot be bound or a file cannot be read or
    written, and StoreError.
    """
    listener.check(settings)
    if processes > 1:
        _require_shareable(settings)
    raise_descriptor_limit()
    # The event loop waits for each thread that works (smp.server.work) so long.
    sys.setswitchinterval(_SWITCH)
    # What would fail when everything else is ready.
    if kubeconfig_path:
        check_kubeconfig(kubeconfig_path)
    # Bound first: port 0 gets its number, which the kubeconfig needs.
    with listening_socket(listener) as listening, ExitStack() as stack:
        durable = True
        if processes > 1 and store == "memory:":
            # Processes have no memory in common that objects could be in.
            directory = stack.enter_context(TemporaryDirectory(prefix="smp-"))
            store = f"sqlite:{Path(directory) / 'objects.db'}"
            durable = False
        url = listener.url(listening.getsockname()[1])

        def on_ready() -> None:
            if kubeconfig_path:
                authority = b""
                if listener.authority:
                    authority = listener.authority.read_bytes()
                config = kubeconfig(url, token=settings.token, authority=authority)
                write_kubeconfig(kubeconfig_path, config)
            ready(url)

        async def run(parent: Connection | None, on_ready: Callable[[], None]) -> None:
            # Here, as the store and the application belong to the event loop.
            app = create_app(open_store(store, durable=durable), settings)
            server = Server(uvicorn_config(app, listener), app, on_ready)
            if parent is not None:
                server.end_with(parent)
            # The lifespan is ours, not uvicorn's: it ends after the last request.
            async with (
                app.router.lifespan_context(app),
                background(collect_garbage(app.state.workers)),
            ):
                await server.serve(sockets=[listening])

        def run_in_loop(
            parent: Connection | None, on_ready: Callable[[], None]
        ) -> None:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(run(parent, on_ready))

        if processes > 1:
            serve_in_processes(processes, run_in_loop, on_ready)
        else:
            run_in_loop(None, on_ready)


def _require_shareable(settings: Settings) -> None:
    """Raise SettingsError where several processes cannot serve together."""
    if os.name != "posix":
        raise SettingsError("several processes need a POSIX system")
    # Each process would allocate the same uids.
    if settings.seed is not None:
        raise SettingsError("a seed is for one process")


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Make the event loop: that of uvloop where it is installed, which is faster."""
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class Server(uvicorn.Server):
    """uvicorn, with a callback when it is ready; its shutdown ends the watches."""

    def __init__(
        self, config: uvicorn.Config, app: Starlette, on_ready: Callable[[], None]
    ) -> None:
        # startup and shutdown are the hooks that uvicorn has.
        super().__init__(config)
        self._app = app
        self._on_ready = on_ready
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and tell that it is ready."""
        # uvicorn would accept all connections that come.
        await super().startup(sockets=[])
        settings: Settings = self._app.state.settings
        connections = Connections(
            most_connections(), settings.send_timeout, settings.max_unsent
        )
        http = timed(self.config.http_protocol_class, connections)

        def protocol() -> asyncio.Protocol:
            connection: asyncio.Protocol = http(
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )
            return connection

        for listening in sockets or ():
            accepting = connections.accept(listening, protocol, self.config.ssl)
            self._accepting.append(asyncio.create_task(accepting))
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the watches and wait for the requests in flight."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        # Watches never finish by themselves, and uvicorn waits for open requests.
        self._app.state.stopping.set()
        await super().shutdown(sockets)

    def end_with(self, parent: Connection) -> None:
        """Stop gracefully when the other end of a connection is closed."""
        loop = asyncio.get_running_loop()

        def end() -> None:
            # It stays readable.
            loop.remove_reader(parent)
            self.should_exit = True

        loop.add_reader(parent, end)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Stop gracefully at the first signal, at once at the second.

        uvicorn would raise the signal again after the shutdown; a requested end is a
        success, so the process exits with 0.
        """
        self.force_exit: bool = self.should_exit
        self.should_exit = True


def uvicorn_config(
    app: ASGIApp, listener: Listener, *, grace: int = _GRACE
) -> uvicorn.Config:
    """Configure uvicorn; requests in flight have ``grace`` seconds to finish.

    Raises SettingsError.
    """
    config = uvicorn.Config(
        app,
        http="httptools",
        log_config=None,
        access_log=False,
        # No header of a request says who sent it.
        proxy_headers=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=grace,
        ssl_certfile=listener.certificate,
        ssl_keyfile=listener.key,
    )
    # OpenSSL does not say which of the files it cannot read.
    for path in (listener.certificate, listener.key, listener.authority):
        if path is None:
            continue
        try:
            path.read_bytes()
        except OSError as error:
            raise SettingsError(
                f"cannot read {path}: {error.strerror}", code="unreadable"
            ) from None
    try:
        config.load()
    except ssl.SSLError as error:
        raise SettingsError(
            f"{listener.certificate} and {listener.key} are not a certificate and its "
            "key"
        ) from error
    return config


@contextmanager
def listening_socket(listener: Listener) -> Iterator[socket.socket]:
    """Listen until the end of the block. Raises SettingsError."""
    # With the protocol given, asyncio knows that it is TCP and sends small packets at
    # once (TCP_NODELAY).
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            listener.host or None,
            listener.port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )[0]
    except OSError as error:
        raise _not_listening(listener, error) from None
    with socket.socket(family, kind, protocol) as listening:
        # On Windows this option would let two servers share one port.
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
            listening.listen(_BACKLOG)
        except OSError as error:
            raise _not_listening(listener, error) from None
        yield listening


def _not_listening(listener: Listener, error: OSError) -> SettingsError:
    hint = ""
    if error.errno == errno.EADDRINUSE:
        hint = "--port selects another port, and --port 0 any that is free"
    elif error.errno == errno.EACCES:
        hint = "--port selects another port; those below 1024 may need privileges"
    return SettingsError(
        f"cannot listen on {listener.host or 'every address'}, port {listener.port}: "
        f"{error.strerror}",
        code="not-listening",
        hint=hint,
    )
