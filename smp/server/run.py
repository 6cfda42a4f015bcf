"""A server as a process: the socket, TLS, signals and a graceful shutdown."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import gc
import os
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from smp.server.app import create_app
from smp.server.connections import Connections, most_connections, raise_descriptor_limit
from smp.server.kubeconfig import check_kubeconfig, kubeconfig, write_kubeconfig
from smp.server.registry.state import ServerState
from smp.server.settings import Listener, Settings, SettingsError
from smp.server.store import open_store

_GRACE: Final = 30  # seconds that requests in flight have to finish
_KEEP_ALIVE: Final = 75  # seconds that an idle connection stays open
_SWITCH: Final = 0.001  # seconds; the default of Python is 0.005
_BACKLOG: Final = 1024
_POLL: Final = 0.002  # seconds between looks at the requests in flight
# New objects before young ones are looked at, of which a usual request makes fewer, and
# collections before older ones are (gc.set_threshold).
_COLLECTIONS: Final = (5_000, 10, 10)
# What glibc takes from the system, and returns when it is freed: mallopt(3).
_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 1 << 20  # bytes


def serve(
    settings: Settings,
    listener: Listener,
    store: str,
    *,
    kubeconfig_path: Path | None,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM.

    ``ready`` is called with the URL once requests are answered. Raises SettingsError,
    also where the address cannot be bound or a file cannot be read or written, and
    StoreError.
    """
    listener.check(settings)
    raise_descriptor_limit()
    _return_memory()
    # The event loop waits for each thread that works (smp.server.work) so long.
    sys.setswitchinterval(_SWITCH)
    # What would fail when everything else is ready.
    if kubeconfig_path:
        check_kubeconfig(kubeconfig_path)
    # Bound first: port 0 gets its number, which the kubeconfig needs.
    with open_listening_socket(listener) as listening:
        url = listener.url(listening.getsockname()[1])

        def on_ready() -> None:
            if kubeconfig_path:
                authority = b""
                if listener.authority:
                    authority = listener.authority.read_bytes()
                config = kubeconfig(url, token=settings.token, authority=authority)
                write_kubeconfig(kubeconfig_path, config)
            ready(url)

        async def run() -> None:
            # Here, as the store and the application belong to the event loop.
            app = create_app(open_store(store), settings)
            server = Server(uvicorn_config(app, listener), app, on_ready)
            # The lifespan is ours, not uvicorn's: it ends after the last request.
            async with app.router.lifespan_context(app):
                # What is there now stays: collections need not look at it.
                gc.set_threshold(*_COLLECTIONS)
                gc.freeze()
                await server.serve(sockets=[listening])

        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(run())


def _return_memory() -> None:
    """Let the memory of large answers go back to the system (Linux with glibc)."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            ctypes.CDLL("libc.so.6").mallopt(_MMAP_THRESHOLD, _LARGE)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Make the event loop: that of uvloop where it is installed, which is faster."""
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class Server(uvicorn.Server):
    """uvicorn, with limits of its connections and an end at once.

    ``on_ready`` is called when it is ready. Its shutdown ends the watches.
    """

    # main_loop, startup and shutdown are the hooks that uvicorn has.

    def __init__(
        self, config: uvicorn.Config, app: Starlette, on_ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._state: ServerState = app.state.server
        self._on_ready = on_ready
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        settings = self._state.settings
        connections = Connections(
            config.loaded_app,
            most_connections(),
            settings.send_timeout,
            settings.max_unsent,
        )
        config.loaded_app = connections
        http = connections.around(config.http_protocol_class)
        # uvicorn calls it, and looks at it no further.
        config.http_protocol_class = http  # type: ignore[assignment]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and tell that it is ready."""
        await super().startup(sockets)
        try:
            self._on_ready()
        except BaseException:
            await self.shutdown(sockets)
            raise

    async def main_loop(self) -> None:
        """Serve until ``end``; uvicorn would look at it ten times a second."""
        serving = asyncio.create_task(super().main_loop())
        await self._ending.wait()
        serving.cancel()

    def end(self) -> None:
        """Stop gracefully; this may be called from any thread."""
        self.should_exit = True
        # RuntimeError: the event loop is closed, as it has ended already.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ending.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the watches and wait for the requests in flight."""
        # Watches never finish by themselves.
        self._state.stopping.set()
        for listening in self.servers:
            listening.close()
        for each in sockets or ():
            each.close()
        serving = self.server_state
        for connection in [*serving.connections]:
            connection.shutdown()
        grace = self.config.timeout_graceful_shutdown
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                # uvicorn has no event for it.
                while (serving.connections or serving.tasks) and not self.force_exit:  # noqa: ASYNC110
                    await asyncio.sleep(_POLL)
        for task in serving.tasks:
            task.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Stop gracefully at the first signal, at once at the second.

        uvicorn would raise the signal again after the shutdown; a requested end is a
        success, so the process exits with 0.
        """
        self.force_exit: bool = self.should_exit
        self.end()


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
def open_listening_socket(listener: Listener) -> Iterator[socket.socket]:
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
