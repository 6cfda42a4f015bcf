"""etcd's gRPC interface: the calls that a store needs, over one of its endpoints.

Requests are encoded by ``_messages``, so that neither generated code nor a protobuf
library is needed, only the transport.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, Final, TypeVar

import grpc
import msgspec

from smp.errors import SmpError
from smp.server.store import _messages as messages
from smp.server.store._endpoints import Endpoints
from smp.server.store.errors import (
    ClosedError,
    Expired,
    FutureRevisionError,
    OutcomeUnknownError,
    StoreError,
    ValueTooLargeError,
)

T = TypeVar("T", bound=msgspec.Struct)

_RANGE: Final = "/etcdserverpb.KV/Range"
_TXN: Final = "/etcdserverpb.KV/Txn"
_COMPACT: Final = "/etcdserverpb.KV/Compact"
_WATCH: Final = "/etcdserverpb.Watch/Watch"
_AUTHENTICATE: Final = "/etcdserverpb.Auth/Authenticate"

_OPTIONS: Final = (
    # Nothing is sent again by the library: a write must happen once.
    ("grpc.enable_retries", 0),
    # Lists have no limit here; etcd limits what it accepts.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A new channel connects at once, whatever happened to former ones.
    ("grpc.use_local_subchannel_pool", 1),
    # As for every other connection of the server, no proxy of the environment.
    ("grpc.enable_http_proxy", 0),
)
# Statuses of requests that were rejected before they had any effect.
_REJECTED: Final = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.UNIMPLEMENTED,
}
# Statuses after which another endpoint may do better.
_FAILED: Final = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
_LAST_REPORTS: Final = 0.02  # seconds
_TOO_LARGE: Final = ("request is too large", "message larger than max")


class Client:
    """The calls, each with a time limit; none is ever repeated.

    Calls use one endpoint as long as it answers, and then the next one. ``timeout``
    and ``silence``, the time after which a quiet watch ends, are in seconds.
    """

    def __init__(self, endpoints: Endpoints, *, timeout: float, silence: float) -> None:
        self._endpoints = endpoints
        self._timeout = timeout
        self._silence = silence
        self._channel: Any = None
        self._index = 0  # of the endpoint in use
        self._token = ""
        self._connecting = asyncio.Lock()
        # Connections that are given up, and the tasks that wait for their last calls.
        self._retiring: dict[Any, asyncio.Task[None]] = {}
        self._closed = False

    async def range(self, request: messages.RangeRequest) -> messages.RangeResponse:
        """Read keys. Raises StoreError, Expired and FutureRevisionError."""
        response = messages.RangeResponse
        return await self._call(
            _RANGE, request, response, StoreError, revision=request.revision
        )

    async def txn(self, request: messages.TxnRequest) -> messages.TxnResponse:
        """Compare and write.

        Raises StoreError where nothing was written, OutcomeUnknownError where that is
        not known.
        """
        response = messages.TxnResponse
        return await self._call(_TXN, request, response, OutcomeUnknownError)

    async def compact(self, revision: int) -> None:
        """Forget what was replaced before a revision. Raises StoreError and Expired."""
        request = messages.CompactionRequest(revision)
        response = messages.CompactionResponse
        await self._call(_COMPACT, request, response, StoreError, revision=revision)

    async def watch(
        self, request: messages.WatchRequest
    ) -> AsyncGenerator[messages.WatchResponse, None]:
        """Yield the responses of a watch, until none came for ``silence`` seconds.

        Raises StoreError.
        """
        channel = await self._connected()
        stream = channel.stream_stream(_WATCH)
        # A member that lost the others ends the watch rather than keep it quiet (Go:
        # etcd's clientv3.WithRequireLeader).
        call = stream(metadata=[*self._credentials(), ("hasleader", "true")])
        try:
            await call.write(messages.encode(request))
            while True:
                async with asyncio.timeout(self._silence):
                    data = await call.read()
                if data is grpc.aio.EOF:
                    break
                yield messages.decode(messages.WatchResponse, data)
        except TimeoutError:
            # Nothing came for ``silence`` seconds, which is not an error.
            return
        except grpc.aio.AioRpcError as error:
            self._note(error, channel)
            raise StoreError(_describe(error)) from None
        except (ValueError, asyncio.InvalidStateError) as error:
            raise StoreError(f"etcd: {error}") from None
        finally:
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call.code()
        raise StoreError("etcd ended the watch")

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        if self._channel:
            self._retire(self._channel)
        for channel, task in [*self._retiring.items()]:
            task.cancel()
            await channel.close()
        # The library reports the ends of cancelled calls a moment later, to the loop of
        # the call; another loop of the process would fail on behalf of a closed one.
        await asyncio.sleep(_LAST_REPORTS)

    async def _call(
        self,
        method: str,
        request: msgspec.Struct,
        response: type[T],
        unknown: type[StoreError],
        *,
        revision: int = 0,
    ) -> T:
        """Make a call; ``unknown`` is raised where its outcome is not known."""
        channel = await self._connected()
        data = messages.encode(request)
        try:
            answer = await self._sent(channel, method, data)
            return messages.decode(response, answer)
        except grpc.aio.AioRpcError as error:
            self._note(error, channel)
            raise _error_of(error, revision, unknown) from None
        except ValueError as error:
            raise unknown(f"etcd: {error}") from None

    async def _sent(self, channel: Any, method: str, data: bytes) -> bytes:
        """Send a request over a connection; the error is that of the library."""
        call = channel.unary_unary(method)
        metadata = self._credentials()
        answer: bytes = await call(data, timeout=self._timeout, metadata=metadata)
        return answer

    def _credentials(self) -> list[tuple[str, str]]:
        return [("token", self._token)] if self._token else []

    def _note(self, error: grpc.aio.AioRpcError, channel: Any) -> None:
        """Give up a connection whose endpoint failed: the next call takes another."""
        # The token of a user expires; a new connection gets a new one.
        is_expired = error.code() is grpc.StatusCode.UNAUTHENTICATED
        if channel is self._channel and (error.code() in _FAILED or is_expired):
            self._retire(channel)
            self._index += 0 if is_expired else 1

    def _retire(self, channel: Any) -> None:
        """Close a connection, after the calls that others have on it."""
        self._channel = None
        task = asyncio.create_task(channel.close(self._timeout))
        self._retiring[channel] = task
        task.add_done_callback(lambda _: self._retiring.pop(channel))

    async def _connected(self) -> Any:
        """Return a connection, to the first endpoint that accepts one.

        Raises StoreError: nothing was sent.
        """
        if self._closed:
            raise ClosedError
        ready = grpc.ChannelConnectivity.READY
        channel = self._channel
        if channel and channel.get_state() is ready:
            return channel
        async with self._connecting:  # of all calls that wait one connects
            if self._closed:
                raise ClosedError
            if self._channel and self._channel.get_state() is ready:
                return self._channel
            if self._channel:
                self._retire(self._channel)
            addresses = self._endpoints.addresses
            for _ in addresses:
                address = addresses[self._index % len(addresses)]
                channel = await self._connect(address)
                if channel:
                    self._channel = channel
                    return channel
                self._index += 1
        raise StoreError(f"etcd: cannot connect to {', '.join(addresses)}")

    async def _connect(self, address: str) -> Any | None:
        """Connect to an endpoint, and log in; None where it does not answer."""
        channel = self._endpoints.channel(address, _OPTIONS)
        is_connected = False
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timeout):
                    is_connected = await _is_ready(channel)
            if is_connected and self._endpoints.user:
                password = self._endpoints.password()
                request = messages.AuthenticateRequest(self._endpoints.user, password)
                self._token = ""
                data = messages.encode(request)
                answer = await self._sent(channel, _AUTHENTICATE, data)
                response = messages.decode(messages.AuthenticateResponse, answer)
                self._token = response.token
        except (grpc.aio.AioRpcError, ValueError) as error:
            await channel.close()
            raise StoreError(_describe(error)) from None
        except BaseException:
            await channel.close()
            raise
        if is_connected:
            return channel
        await channel.close()
        return None


async def _is_ready(channel: Any) -> bool:
    """Tell whether a channel gets a connection."""
    while True:
        state = channel.get_state(try_to_connect=True)
        if state is grpc.ChannelConnectivity.READY:
            return True
        if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
            return False
        await channel.wait_for_state_change(state)


def _describe(error: Exception) -> str:
    if isinstance(error, grpc.aio.AioRpcError):
        return f"etcd: {error.details() or error.code().name}"
    return f"etcd: {error}"


def _error_of(
    error: grpc.aio.AioRpcError, revision: int, unknown: type[StoreError]
) -> SmpError:
    """Make the error of a call that failed."""
    message = _describe(error)
    # They differ only in the messages of etcd (api/v3rpc/rpctypes/error.go) and gRPC.
    if "has been compacted" in message:
        return Expired(revision)
    if "future revision" in message:
        return FutureRevisionError(revision)
    if any(text in message for text in _TOO_LARGE):
        return ValueTooLargeError(message.removeprefix("etcd: "))
    kind = StoreError if error.code() in _REJECTED else unknown
    return kind(message)
