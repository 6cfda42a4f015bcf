"""The connections of the server: how many there are, and how long each may take.

uvicorn knows the requests of a connection. What it lacks is here: a time for the head
of a request, a time in which a client has to read its answer, and a number of
connections that leaves descriptors for the rest of the process. At that number the
connection that has waited longest for a request is closed for a new one; where all have
requests, no more are accepted until one is closed.

What clients have not read yet is kept in memory. Of all connections together there may
be so many bytes of it; beyond that the connection is closed whose client would take the
longest for the rest, at the speed at which it has read so far. Large answers are sent
in pieces, the next one when most of the last one was read: with TLS, a transport does
not say how much of what it was given is not sent.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOG: Final = logging.getLogger("smp.server")
# Seconds for the TLS handshake, and for the head of a request: for the first one from
# the connection on, for the others from their first byte on. As of an API server (Go:
# ReadHeaderTimeout in k8s.io/apiserver, pkg/server/secure_serving.go).
_HEAD_TIMEOUT: Final = 32
_MOST_HEAD: Final = 64 << 10  # bytes
_PROGRESS: Final = 256 << 10  # bytes that a client reads at least in the send timeout
_PIECE: Final = 256 << 10  # bytes
_BEGINNING: Final = 0.5  # seconds after which it is known how fast a client reads
_SOON: Final = 5  # seconds; a client that has read everything by then is not slow
_MOST: Final = 10_000
_RESERVED: Final = 64  # descriptors for the store, logs and the like
_FEWEST: Final = 16
# What accept() fails with where resources of the machine are used up.
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE: Final = 1.0  # seconds before the next attempt
_LOG_INTERVAL: Final = 60.0  # seconds between two lines about it


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


class Connections:
    """The open connections, none of which may stop the others.

    A client that reads nothing of an answer for ``send_timeout`` seconds is cut off,
    and the slowest ones where clients have ``most_unsent`` bytes of answers to read.
    """

    def __init__(self, most: int, send_timeout: float, most_unsent: int) -> None:
        self.send_timeout = send_timeout
        self._most = most
        self._most_unsent = most_unsent
        self._open: set[asyncio.Protocol] = set()
        # Those that have a large answer to send.
        self._sending: set[_Timed] = set()
        self._recheck: asyncio.TimerHandle | None = None
        # How to close those that wait for a request; the first one waits longest.
        self._waiting: dict[asyncio.Protocol, Callable[[], object]] = {}
        self._changed = asyncio.Event()
        self._opening: set[asyncio.Task[object]] = set()

    async def accept(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext | None,
    ) -> None:
        """Accept connections until cancelled."""
        listening.settimeout(0)
        loop = asyncio.get_running_loop()
        logged = -_LOG_INTERVAL
        while True:
            # One place is free before the next connection comes.
            while len(self._open) >= self._most:
                self._changed.clear()
                if self._waiting:
                    self._waiting.pop(next(iter(self._waiting)))()
                await self._changed.wait()
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                # Others are of one connection, which the client gave up.
                if error.errno in _EXHAUSTED:
                    fields = {"error": str(error)}
                    if monotonic() - logged >= _LOG_INTERVAL:
                        logged = monotonic()
                        _LOG.warning(
                            "cannot accept connections", extra={"fields": fields}
                        )
                    await asyncio.sleep(_PAUSE)
                continue
            self._begin(accepted, protocol(), context)

    def _begin(
        self,
        accepted: socket.socket,
        connection: asyncio.Protocol,
        context: ssl.SSLContext | None,
    ) -> None:
        """Make a connection, after the TLS handshake if there is one."""
        loop = asyncio.get_running_loop()
        opening = loop.connect_accepted_socket(
            lambda: connection,
            accepted,
            ssl=context,
            ssl_handshake_timeout=_HEAD_TIMEOUT if context else None,
        )
        task: asyncio.Task[object] = loop.create_task(opening)
        self._opening.add(task)
        self._open.add(connection)
        self.wait(connection, task.cancel)

        def end(task: asyncio.Task[object]) -> None:
            self._opening.discard(task)
            # Without a handshake there is no connection that could be lost.
            if task.cancelled() or task.exception():
                accepted.close()
                self.closed(connection)

        task.add_done_callback(end)

    def wait(self, connection: asyncio.Protocol, close: Callable[[], object]) -> None:
        """Note that a connection waits for a request from now on."""
        self._waiting[connection] = close
        self._changed.set()

    def answer(self, connection: asyncio.Protocol) -> None:
        """Note that a connection has a request."""
        self._waiting.pop(connection, None)

    def closed(self, connection: asyncio.Protocol) -> None:
        """Note that a connection is closed."""
        self._waiting.pop(connection, None)
        self._open.discard(connection)
        if isinstance(connection, _Timed):
            self._sending.discard(connection)
        self._changed.set()

    def sending(self, connection: _Timed) -> None:
        """Note that a large answer is sent on a connection, and make room for it."""
        self._sending.add(connection)
        if self._recheck is None:
            self._make_room()

    def _make_room(self) -> None:
        """Cut off the slowest clients while too much was not read."""
        self._recheck = None
        unsent: dict[_Timed, int] = {}
        for each in [*self._sending]:
            size = each.unsent
            if size:
                unsent[each] = size
            else:
                self._sending.discard(each)
        excess = sum(unsent.values()) - self._most_unsent
        now = monotonic()
        slowest = sorted(unsent, key=lambda each: each.seconds_left(now), reverse=True)
        for each in slowest:
            # The others have just begun, or have read most of it soon.
            if excess <= 0 or each.seconds_left(now) < _SOON:
                break
            self._sending.discard(each)
            excess -= unsent[each]
            each.transport.abort()
        if excess > 0:
            loop = asyncio.get_running_loop()
            self._recheck = loop.call_later(_BEGINNING, self._make_room)


def timed(http: type[Any], connections: Connections) -> type[Any]:
    """Return uvicorn's protocol with httptools, whose clients have to be in time."""
    return type("TimedProtocol", (_Timed, http), {"room": connections})


class _Timed(asyncio.Protocol):
    """What is added to a protocol of uvicorn, of which this is made a subclass.

    httptools calls on_message_begin, on_headers_complete and on_message_complete.
    """

    room: Connections
    # Attributes and methods of uvicorn's protocol.
    app: ASGIApp
    cycle: Any
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    send_400_response: Callable[[str], None]

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        # Of the head of a request, or of a body that is read after the answer.
        self._request_timer: asyncio.TimerHandle | None = None
        self._is_in_head = False
        self._is_in_body = False
        # Whether the last data has more than a part of a head.
        self._has_other_data = False
        self._head_size = 0
        self._send_timer: asyncio.TimerHandle | None = None
        # How much the transport had to send when the timer was set.
        self._buffered = 0
        self._has_resumed = False
        # What the transport was not given yet, how much of an answer there was to
        # read, and since when.
        self._rest = 0
        self._unsent = 0
        self._unsent_since = 0.0
        self._answer = self.app
        self.app = self._in_pieces

    @property
    def unsent(self) -> int:
        """The bytes that the client has not read yet."""
        return self._rest + self.transport.get_write_buffer_size()

    def seconds_left(self, now: float) -> float:
        """Estimate how long the client takes to read the rest; 0 at the beginning."""
        seconds = now - self._unsent_since
        if seconds < _BEGINNING:
            return 0
        unsent = self.unsent
        read = max(self._unsent - unsent, 1)
        return unsent * seconds / read

    async def _in_pieces(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; a large body is sent in pieces."""

        async def send_pieces(message: Message) -> None:
            # The answer is there as a whole while its head waits for the client.
            for name, value in message.get("headers", ()):
                if name == b"content-length":
                    self._begin_answer(int(value))
            body = memoryview(message.get("body", b""))
            if len(body) <= _PIECE:
                await send(message)
                self._rest = max(self._rest - len(body), 0)
                return
            self._begin_answer(max(self._rest, len(body)))
            more = message.get("more_body", False)
            while body and not self.transport.is_closing():
                piece, body = body[:_PIECE], body[_PIECE:]
                await send({**message, "body": piece, "more_body": more or bool(body)})
                self._rest -= len(piece)

        try:
            await self._answer(scope, receive, send_pieces)
        finally:
            self._rest = 0

    def _begin_answer(self, size: int) -> None:
        """Note that there are so many bytes to be sent."""
        self._rest = size
        if size > _PIECE:
            self._unsent = self.unsent
            self._unsent_since = monotonic()
            self.room.sending(self)

    @property
    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.room.wait(self, self.transport.abort)
        self._limit_request()

    def connection_lost(self, error: Exception | None) -> None:
        """End all timers."""
        self._end_request_timer()
        if self._send_timer:
            self._send_timer.cancel()
        self.room.closed(self)
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        self._has_other_data = self._is_in_body
        super().data_received(data)
        # Most heads come as a whole, and need no limit.
        if self._is_in_head:
            self._limit_request()
        # A head may begin in the data that other requests end in.
        if self._is_in_head and not self._has_other_data:
            self._head_size += len(data)
            if self._head_size > _MOST_HEAD and not self.transport.is_closing():
                self.send_400_response("the head of the request is too long")

    def on_message_begin(self) -> None:
        """Note the first byte of a request."""
        super().on_message_begin()  # type: ignore[misc]
        self._is_in_head = True
        self._head_size = 0

    def on_headers_complete(self) -> None:
        """Note the end of the head of a request."""
        super().on_headers_complete()  # type: ignore[misc]
        self._is_in_head = False
        self._is_in_body = True
        self._has_other_data = True
        self._end_request_timer()
        self.room.answer(self)

    def on_message_complete(self) -> None:
        """Note the end of a request."""
        super().on_message_complete()  # type: ignore[misc]
        self._is_in_body = False
        self._end_request_timer()

    def _limit_request(self) -> None:
        # The limit of the first head begins with the connection.
        if self._request_timer:
            return
        self._request_timer = self.loop.call_later(_HEAD_TIMEOUT, self.transport.abort)

    def _end_request_timer(self) -> None:
        if self._request_timer:
            self._request_timer.cancel()
            self._request_timer = None

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the client to read the answer."""
        super().on_response_complete()  # type: ignore[misc]
        # The next request of the connection may be there already.
        if not self._has_request:
            self.room.wait(self, self.transport.abort)
            # The rest of a body that was refused is read, as a client that still sends
            # it would find the connection reset, and no answer (RFC 9112, 9.6).
            if self._is_in_body:
                self._limit_request()
        self._begin_sending()

    def pause_writing(self) -> None:
        """Wait for the client to read what it was sent."""
        super().pause_writing()
        self._begin_sending()

    def resume_writing(self) -> None:
        """Note that the client has read most of what it was sent."""
        super().resume_writing()
        self._has_resumed = True

    def _begin_sending(self) -> None:
        if self._send_timer:
            return
        self._buffered = self.transport.get_write_buffer_size()
        self._has_resumed = False
        if self._buffered:
            timeout = self.room.send_timeout
            self._send_timer = self.loop.call_later(timeout, self._check_sending)

    def _check_sending(self) -> None:
        self._send_timer = None
        buffered = self.transport.get_write_buffer_size()
        # A client that had read most of it may have been sent more since.
        if self._has_resumed or self._buffered - buffered >= _PROGRESS:
            self._begin_sending()
        elif buffered:
            self.transport.abort()
