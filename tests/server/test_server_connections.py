"""Connections that send or read nothing, and more of them than there may be."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn import Config
from uvicorn.server import ServerState

from smp.server import connections as module
from smp.server.connections import Connections
from tests.support.certificates import make_certificate
from tests.support.waiting import TIMEOUT, until

HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-a: "
WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
REFUSED_SIZE = 4_000_000
REFUSED = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % REFUSED_SIZE
LARGE = b"x" * 30_000_000


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer before the body is read."""
    body = LARGE if scope["path"] == "/large" else b"ok"
    await Response(body)(scope, receive, send)


class Listening(NamedTuple):
    """A server in this loop: its port, and the connections that it has."""

    port: int
    connections: set[Any]


@asynccontextmanager
async def listening(
    most: int = 100,
    send_timeout: float = 30,
    most_unsent: int = 1 << 30,
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[Listening]:
    """Serve the application."""
    config = Config(
        app, lifespan="off", ws="none", log_config=None, timeout_keep_alive=1
    )
    config.load()
    state = ServerState()
    room = Connections(config.loaded_app, most, send_timeout, most_unsent)
    config.loaded_app = room
    make = room.around(config.http_protocol_class)

    def protocol() -> asyncio.Protocol:
        return make(config=config, server_state=state, app_state={})

    loop = asyncio.get_running_loop()
    server = await loop.create_server(protocol, "127.0.0.1", ssl=context, backlog=500)
    async with server:
        try:
            yield Listening(server.sockets[0].getsockname()[1], state.connections)
        finally:
            server.close()
            await until(lambda: not aborted(state.connections))


def aborted(connections: set[Any]) -> set[Any]:
    """Return the connections that are left, each of which ends soon."""
    for connection in connections:
        connection.transport.abort()
    return connections


async def is_answered(port: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(WHOLE)
    async with asyncio.timeout(TIMEOUT):
        line = await reader.readline()
    writer.close()
    return line.startswith(b"HTTP/1.1 200")


async def is_closed(reader: asyncio.StreamReader) -> bool:
    async with asyncio.timeout(TIMEOUT):
        try:
            return await reader.read() == b""
        except ConnectionError:
            return True


def test_half_open_connections_leave_room_for_others() -> None:
    async def run() -> None:
        async with listening(most=20) as (port, _):
            opened = []
            for _ in range(60):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(HALF)
                opened.append((reader, writer))
            assert await is_answered(port)
            # Those that have waited longest made room.
            assert await is_closed(opened[0][0])
            for _, writer in opened:
                writer.close()

    asyncio.run(run())


@pytest.mark.parametrize("sent", [b"", HALF])
def test_a_head_that_does_not_come_is_not_waited_for(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_HEAD_TIMEOUT", 0.2)

    async def run() -> None:
        async with listening() as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            assert await is_closed(reader)
            writer.close()

    asyncio.run(run())


def test_a_head_without_end_is_refused() -> None:
    async def run() -> None:
        async with listening() as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HALF + b"x" * 9_000_000)
            assert await is_closed(reader)
            writer.close()

    asyncio.run(run())


def test_a_body_that_is_sent_after_the_answer_is_read() -> None:
    async def run() -> None:
        async with listening() as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(2):
                writer.write(REFUSED)
                async with asyncio.timeout(TIMEOUT):
                    head = await reader.readuntil(b"\r\n\r\n")
                    assert head.startswith(b"HTTP/1.1 200")
                    assert await reader.readexactly(2) == b"ok"
                    writer.write(b"x" * REFUSED_SIZE)
                    await writer.drain()
            writer.write(WHOLE)
            async with asyncio.timeout(TIMEOUT):
                assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            writer.close()

    asyncio.run(run())


def test_a_body_that_does_not_end_after_the_answer_is_not_waited_for() -> None:
    async def run() -> None:
        async with listening() as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REFUSED)
            async with asyncio.timeout(TIMEOUT):
                assert (await reader.readline()).startswith(b"HTTP/1.1 200")
                assert b"ok" in await reader.read()
            writer.close()

    asyncio.run(run())


def test_an_answer_that_is_not_read_is_not_kept() -> None:
    async def run() -> None:
        async with listening(most=5, send_timeout=0.3) as (port, _):
            clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
            for client in clients:
                client.sendall(WHOLE.replace(b"/ ", b"/large "))
            # All places are taken until the clients are cut off.
            assert await is_answered(port)
            for client in clients:
                client.close()

    asyncio.run(run())


def test_an_answer_over_tls_that_is_not_read_is_not_kept(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=certificate)

    is_cut_off = threading.Event()

    def read_late(port: int) -> int:
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            trusting.wrap_socket(plain, server_hostname="127.0.0.1") as client,
        ):
            client.sendall(WHOLE.replace(b"/ ", b"/large "))
            assert is_cut_off.wait(2 * TIMEOUT)
            size = 0
            with suppress(OSError):
                while data := client.recv(1 << 20):
                    size += len(data)
            return size

    async def run() -> None:
        async with listening(send_timeout=0.3, context=context) as (port, connections):
            reading = asyncio.create_task(asyncio.to_thread(read_late, port))
            await until(lambda: len(connections) == 1)
            await until(lambda: not connections)
            is_cut_off.set()
            assert await reading < len(LARGE)

    asyncio.run(run())


def test_answers_that_slow_clients_do_not_read_make_room_for_others() -> None:
    async def run() -> None:
        limit = 3 * len(LARGE)
        async with listening(most_unsent=limit) as (port, connections):
            slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(9)]
            for _, writer in slow:
                writer.write(WHOLE.replace(b"/ ", b"/large "))
            for reader, _ in slow:
                await reader.readuntil(b"\r\n\r\n")
            # How fast a client reads is not known at once.
            await until(lambda: len(connections) <= limit // len(LARGE))
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(WHOLE.replace(b"/ ", b"/large "))
            async with asyncio.timeout(TIMEOUT):
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(len(LARGE))
            writer.close()
            # Those that are left have no more to read than there may be in all.
            sizes = await asyncio.gather(*[rest_of(reader) for reader, _ in slow])
            whole = [size for size in sizes if size >= len(LARGE)]
            assert 0 < len(whole) <= limit // len(LARGE)
            for _, writer in slow:
                writer.close()

    asyncio.run(run())


async def rest_of(reader: asyncio.StreamReader) -> int:
    """Return how many bytes there are to be read of one answer."""
    size = 0
    with suppress(ConnectionError):
        while size < len(LARGE) and (data := await reader.read(1 << 20)):
            size += len(data)
    return size


def test_a_slow_reader_that_reads_gets_all() -> None:
    async def run() -> None:
        # It takes 1.4 seconds in all.
        async with listening(send_timeout=1) as (port, _):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, limit=1 << 16
            )
            writer.write(WHOLE.replace(b"/ ", b"/large "))
            size = 0
            async with asyncio.timeout(TIMEOUT):
                while size < len(LARGE):
                    chunk = await reader.read(1 << 16)
                    assert chunk, f"ended after {size}"
                    size += len(chunk)
                    if size % (1 << 22) < len(chunk):
                        await asyncio.sleep(0.2)
            writer.close()

    asyncio.run(run())
