"""The connections of the server: how many there are, and how long each may take.

uvicorn has the limit between two requests of a connection. Around its protocol is what
it lacks: a time for a request to arrive, a size of what is not a request, and a number
of connections that leaves descriptors for the rest of the process. Around the
application is the other half: an answer is given to the connection in pieces, the next
one when the client has read most of the last one, so that a client has to read in time,
and what clients have not read yet is counted.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smp.server.endpoints.call import RESERVE

# What uvicorn says of a connection goes here, and not into the log of a test.
_LOG: Final = logging.getLogger("smp.server.http")
# Seconds for a request to arrive, from the connection or its first byte on. As of an
# API server (Go: ReadHeaderTimeout in k8s.io/apiserver, pkg/server/secure_serving.go).
_HEAD_TIMEOUT: Final = 32
# Bytes between two requests: a head, or the rest of a body that was refused. A client
# that still sends it would find the connection reset, and no answer (RFC 9112, 9.6).
_MOST_BETWEEN: Final = 8 << 20
_PIECE: Final = 256 << 10  # bytes
_STUCK: Final = 0.5  # seconds without progress after which a client is slow
_MOST: Final = 10_000
_RESERVED: Final = 64  # descriptors for the store, logs and the like
_FEWEST: Final = 16


def raise_descriptor_limit() -> None:
    """Let this process have as many descriptors as it may have at all."""
    if sys.platform == "win32":  # it has no such limit
        return
    import resource  # noqa: PLC0415 - not on Windows

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS refuses the infinity that it answers.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_connections() -> int:
    """Return how many connections there may be at one time."""
    if sys.platform == "win32":
        return _MOST
    import resource  # noqa: PLC0415 - not on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _MOST
    return max(_FEWEST, min(_MOST, soft - _RESERVED))


def _is_of_server(record: logging.LogRecord) -> bool:
    """Tell whether a message is not about what a client did.

    uvicorn warns of upgrades and of malformed requests, which are answered, and calls
    it an error where the connection ends before the answer.
    """
    left = record.getMessage().startswith("ASGI callable returned")
    return record.levelno > logging.WARNING and not left


_LOG.addFilter(_is_of_server)


class Connections:
    """The open connections, none of which may stop the others.

    As an ASGI application it stands around another one. A client that reads nothing of
    an answer for ``send_timeout`` seconds is cut off. While clients have
    ``most_unsent`` bytes of answers to read, other large answers wait, and the client
    is cut off that has read nothing for the longest time. Where there are ``most``
    connections, that which waits longest for a request makes room for a new one.
    """

    def __init__(
        self, app: ASGIApp, most: int, send_timeout: float, most_unsent: int
    ) -> None:
        self._app = app
        self._most = most
        self._send_timeout = send_timeout
        self._most_unsent = most_unsent
        # By the address of the client, which the scope of a request has, too.
        self._open: dict[object, _Connection] = {}
        # Those that wait for a request; the first one waits longest.
        self.waiting: dict[_Connection, None] = {}

    def around(self, make: Callable[..., Any]) -> Callable[..., asyncio.Protocol]:
        """Return what makes connections around the protocols of uvicorn."""

        def make_connection(**arguments: Any) -> asyncio.Protocol:
            http = make(**arguments)
            http.logger = _LOG
            return _Connection(http, self)

        return make_connection

    def opened(self, connection: _Connection, client: object) -> None:
        """Note that a connection is open; one of too many is closed."""
        self._open[client] = connection
        if len(self._open) > self._most:
            next(iter(self.waiting), connection).abort()

    def closed(self, client: object) -> None:
        """Note that a connection is closed."""
        self._open.pop(client, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        client = scope.get("client")
        connection = self._open.get(tuple(client) if client else None)
        if connection is None:  # it was closed meanwhile
            return
        connection.begin_request()

        async def reserve(size: int) -> None:
            await self._make_room(connection, size)

        scope[RESERVE] = reserve

        async def send_pieces(message: Message) -> None:
            body = memoryview(message.get("body", b""))
            if len(body) <= _PIECE:
                await self._send(connection, send, message)
                return
            if not connection.unsent:
                await reserve(len(body))
            more = message.get("more_body", False)
            while body and not connection.is_closed:
                piece, body = body[:_PIECE], body[_PIECE:]
                connection.unsent = len(body)
                more_body = more or bool(body)
                part = {**message, "body": bytes(piece), "more_body": more_body}
                await self._send(connection, send, part)
                # uvloop sends, and notes that it cannot, in the next turn.
                await asyncio.sleep(0)

        try:
            await self._app(scope, receive, send_pieces)
        finally:
            connection.unsent = 0
            connection.end_request()

    async def _send(
        self, connection: _Connection, send: Send, message: MutableMapping[str, Any]
    ) -> None:
        """Send a part of an answer, once the client has read what was sent before."""
        if connection.paused is None:
            await send(message)
            return
        try:
            async with asyncio.timeout(self._send_timeout):
                await send(message)
        except TimeoutError:
            connection.abort()

    async def _make_room(self, connection: _Connection, size: int) -> None:
        """Wait while too much was not read, and cut off clients that do not read."""
        while not connection.is_closed:
            unread = [each for each in self._open.values() if each.unsent]
            unsent = sum(each.unsent for each in unread)
            if not unread or unsent + size <= self._most_unsent:
                connection.unsent = size
                return
            stuck = [each for each in unread if each.seconds_paused() > _STUCK]
            if stuck:
                max(stuck, key=_Connection.seconds_paused).abort()
            else:
                await asyncio.sleep(_STUCK / 10)


class _Connection(asyncio.Protocol):
    """A connection around a protocol of uvicorn, which does all that is HTTP.

    ``paused`` is since when the client has read nothing of what was sent, ``unsent``
    how many bytes of the answer are to be sent after that.
    """

    def __init__(self, http: asyncio.Protocol, room: Connections) -> None:
        self._http = http
        self._room = room
        # An asyncio.Transport, of which that of uvloop is no subclass.
        self._transport: Any = None
        self._client: object = None
        self._timer: asyncio.TimerHandle | None = None
        self._size = 0  # of what came since the last request
        self._requests = 0  # under way; several are pipelined
        self.unsent: int = 0
        self.paused: float | None = None
        self.is_closed: bool = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        self._transport = transport
        client = transport.get_extra_info("peername")
        # As uvicorn has it in the scope.
        self._client = (str(client[0]), int(client[1])) if client else None
        self._http.connection_made(transport)
        self.end_request()
        self._begin_timer()
        self._room.opened(self, self._client)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        self._stop_waiting()
        self._room.closed(self._client)
        self._http.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what is no request yet."""
        if not self._requests:
            self._begin_timer()
            self._size += len(data)
        if self._size > _MOST_BETWEEN:
            self.abort()
        else:
            self._http.data_received(data)

    def eof_received(self) -> bool | None:
        return self._http.eof_received()

    def pause_writing(self) -> None:
        """Note that the client has to read before more is sent."""
        self.paused = monotonic()
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """Note that the client has read most of what was sent."""
        self.paused = None
        self._http.resume_writing()

    def begin_request(self) -> None:
        """Note that a request has arrived, but for its body."""
        self._requests += 1
        self._stop_waiting()

    def end_request(self) -> None:
        """Wait for the next request."""
        self._requests = max(self._requests - 1, 0)
        self._size = 0
        if not self._requests and not self.is_closed:
            self._room.waiting[self] = None

    def seconds_paused(self) -> float:
        return 0 if self.paused is None else monotonic() - self.paused

    def abort(self) -> None:
        self._stop_waiting()
        self.unsent = 0
        self._transport.abort()

    def _begin_timer(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_HEAD_TIMEOUT, self.abort)

    def _stop_waiting(self) -> None:
        self._room.waiting.pop(self, None)
        if self._timer:
            self._timer.cancel()
            self._timer = None
