"""etcd's API as JSON over HTTP, as its gRPC gateway offers it.

64 bit numbers are text in it, bytes are base64.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import httpx
import msgspec

from smp.errors import SmpError
from smp.server.store.errors import (
    ClosedError,
    Expired,
    FutureRevisionError,
    OutcomeUnknownError,
    StoreError,
    TooLargeError,
)

T = TypeVar("T")
Message: TypeAlias = dict[str, Any]


class Header(msgspec.Struct, frozen=True):
    """The revision of the whole store when it answered."""

    revision: int = 0


class KeyValue(msgspec.Struct, frozen=True):
    """A key; ``version`` counts its writes since it was created."""

    key: bytes = b""
    value: bytes = b""
    mod_revision: int = 0
    version: int = 0


class RangeResponse(msgspec.Struct, frozen=True):
    """Some of the keys of a range, and the number of all its keys."""

    header: Header
    kvs: list[KeyValue] = msgspec.field(default_factory=list)
    count: int = 0


class TxnResponse(msgspec.Struct, frozen=True):
    """Whether the comparison of a transaction was true."""

    header: Header
    succeeded: bool = False


class WatchEvent(msgspec.Struct, frozen=True):
    """A change.

    ``prev_kv`` is missing where the key did not exist, or where its history was
    compacted.
    """

    kv: KeyValue
    type: str = "PUT"
    prev_kv: KeyValue | None = None


class WatchResponse(msgspec.Struct, frozen=True):
    """All changes of one or more revisions, or the start or the end of a watch."""

    events: list[WatchEvent] = msgspec.field(default_factory=list)
    created: bool = False
    canceled: bool = False
    compact_revision: int = 0
    cancel_reason: str = ""


class _Failure(msgspec.Struct, frozen=True):
    """An error; that of a call has a gRPC code."""

    message: str = ""
    code: int = 0


class _Line(msgspec.Struct, frozen=True):
    """One line of a stream."""

    result: WatchResponse | None = None
    error: _Failure | None = None


_RANGE: Final = msgspec.json.Decoder(RangeResponse, strict=False)
_TXN: Final = msgspec.json.Decoder(TxnResponse, strict=False)
_LINE: Final = msgspec.json.Decoder(_Line, strict=False)
_FAILURE: Final = msgspec.json.Decoder(_Failure, strict=False)

_CONNECTIONS: Final = 16
_NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout)
# gRPC codes of requests that were rejected before they had any effect.
_INVALID_ARGUMENT: Final = 3
_PERMISSION_DENIED: Final = 7
_RESOURCE_EXHAUSTED: Final = 8
_FAILED_PRECONDITION: Final = 9
_UNAUTHENTICATED: Final = 16
_REJECTED: Final = {
    _INVALID_ARGUMENT,
    _PERMISSION_DENIED,
    _RESOURCE_EXHAUSTED,
    _FAILED_PRECONDITION,
    _UNAUTHENTICATED,
}
_TOO_LARGE: Final = ("request is too large", "message larger than max")


class Gateway:
    """The calls that a store needs, each with a time limit; none is ever repeated.

    Each connection is a client of its own: the time that httpx spends on a request
    grows with the connections and the requests of a client. ``timeout`` and
    ``silence``, the time after which a quiet watch ends, are in seconds.
    """

    def __init__(self, url: str, *, timeout: float, silence: float) -> None:
        # There is no TLS here, and loading the certificates of the system takes long.
        no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client = partial(
            httpx.AsyncClient, base_url=url, trust_env=False, verify=no_tls
        )
        self._timeout = timeout
        self._clients = [client(timeout=timeout) for _ in range(_CONNECTIONS)]
        self._idle = list(self._clients)
        self._free = asyncio.Semaphore(_CONNECTIONS)
        self._streams = client(
            timeout=httpx.Timeout(timeout, read=silence), limits=httpx.Limits()
        )

    async def range(self, request: Message) -> RangeResponse:
        """Read keys. Raises StoreError, Expired and FutureRevisionError."""
        return await self._call("/v3/kv/range", request, _RANGE, StoreError)

    async def txn(self, request: Message) -> TxnResponse:
        """Compare and write.

        Raises StoreError where nothing was written, OutcomeUnknownError where that is
        not known.
        """
        return await self._call("/v3/kv/txn", request, _TXN, OutcomeUnknownError)

    async def watch(self, request: Message) -> AsyncGenerator[WatchResponse, None]:
        """Yield the responses of a watch, until none came for ``silence`` seconds.

        Raises StoreError.
        """
        content = msgspec.json.encode(request)
        try:
            async with self._streams.stream(
                "POST", "/v3/watch", content=content
            ) as response:
                async for text in response.aiter_lines():
                    line = _LINE.decode(text)
                    # The status 200 came before, so an error is a line of its own.
                    if line.result is None:
                        problem = line.error.message if line.error else text
                        raise StoreError(f"etcd: {problem}")
                    yield line.result
        except httpx.ReadTimeout:
            # Nothing came for ``silence`` seconds, which is not an error.
            return
        except (httpx.HTTPError, msgspec.MsgspecError) as error:
            raise StoreError(_describe(error)) from None
        raise StoreError("etcd ended the watch")

    async def close(self) -> None:
        """Close the connections."""
        for client in (self._streams, *self._clients):
            await client.aclose()

    async def _call(
        self,
        path: str,
        request: Message,
        decoder: msgspec.json.Decoder[T],
        unknown: type[StoreError],
    ) -> T:
        """Send a request; ``unknown`` is raised where its outcome is not known."""
        try:
            async with self._client() as client:
                response = await client.post(path, content=msgspec.json.encode(request))
            if response.is_success:
                return decoder.decode(response.content)
        # What never reached etcd has no effect; of anything else only etcd knows.
        except _NOT_SENT as error:
            raise StoreError(_describe(error)) from None
        except (httpx.HTTPError, msgspec.MsgspecError) as error:
            raise unknown(_describe(error)) from None
        raise _error_of(response, request, unknown)

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[httpx.AsyncClient, None]:
        """Lend an idle client; wait for one, but not longer than the time limit."""
        if self._streams.is_closed:
            raise ClosedError
        try:
            async with asyncio.timeout(self._timeout):
                await self._free.acquire()
        except TimeoutError:
            raise StoreError("etcd: too many requests") from None
        # The semaphore has as many permits as there are clients: one is idle.
        client = self._idle.pop()
        try:
            yield client
        finally:
            self._idle.append(client)
            self._free.release()


def _describe(error: Exception) -> str:
    return f"etcd: {type(error).__name__} {error}".rstrip()


def _error_of(
    response: httpx.Response, request: Message, unknown: type[StoreError]
) -> SmpError:
    """Make the error of an answer other than success."""
    # A proxy before etcd may answer something else than JSON.
    failure = _Failure(response.reason_phrase)
    with suppress(msgspec.MsgspecError):
        failure = _FAILURE.decode(response.content)
    # They differ only in the messages of etcd (api/v3rpc/rpctypes/error.go) and gRPC.
    if "has been compacted" in failure.message:
        return Expired(request["revision"])
    if "future revision" in failure.message:
        return FutureRevisionError(request["revision"])
    if any(text in failure.message for text in _TOO_LARGE):
        return TooLargeError(failure.message)
    error = StoreError if failure.code in _REJECTED else unknown
    return error(f"etcd: {failure.message}")
