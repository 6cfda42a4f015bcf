"""etcd's own API as JSON over HTTP, as its gRPC gateway speaks it: 64 bit numbers as
text, bytes in base64.
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


class Header(msgspec.Struct):
    """The revision of the whole store when it answered."""

    revision: int = 0


class KeyValue(msgspec.Struct):
    """A key; ``version`` counts its writes since it was created."""

    key: bytes = b""
    value: bytes = b""
    mod_revision: int = 0
    version: int = 0


class RangeResponse(msgspec.Struct):
    """Some of the keys of a range, and how many there are."""

    header: Header
    kvs: list[KeyValue] = []
    count: int = 0


class TxnResponse(msgspec.Struct):
    """Whether the comparison of a transaction held."""

    header: Header
    succeeded: bool = False


class WatchEvent(msgspec.Struct):
    """A change; ``prev_kv`` is missing where there was nothing, or where its history is
    gone.
    """

    kv: KeyValue
    type: str = "PUT"
    prev_kv: KeyValue | None = None


class WatchResponse(msgspec.Struct):
    """All changes of one or more revisions, or the news that the watch is created or
    cancelled.
    """

    events: list[WatchEvent] = []
    created: bool = False
    canceled: bool = False
    compact_revision: int = 0
    cancel_reason: str = ""


class _Failure(msgspec.Struct):
    """An error, and for a call its gRPC code."""

    message: str = ""
    code: int = 0


class _Line(msgspec.Struct):
    """What a stream is made of."""

    result: WatchResponse | None = None
    error: _Failure | None = None


_RANGE: Final = msgspec.json.Decoder(RangeResponse, strict=False)
_TXN: Final = msgspec.json.Decoder(TxnResponse, strict=False)
_LINE: Final = msgspec.json.Decoder(_Line, strict=False)
_FAILURE: Final = msgspec.json.Decoder(_Failure, strict=False)

_CONNECTIONS: Final = 16
_NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout)
# gRPC codes with which a request is turned away: invalid, denied, no room or too many,
# not possible now, who are you.
_TURNED_AWAY: Final = {3, 7, 8, 9, 16}
_TOO_LARGE: Final = ("request is too large", "message larger than max")


class Gateway:
    """The calls that a store needs, with a time limit in seconds for each; nothing is
    ever sent twice.

    Each connection is a client of its own: the time that httpx takes for a request
    grows with the connections and the requests of a client.
    """

    def __init__(self, url: str, *, timeout: float, silence: float) -> None:
        # reading the certificates of the system takes a while
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
        """Read. Raises StoreError, Expired and FutureRevisionError."""
        return await self._call("/v3/kv/range", request, _RANGE, StoreError)

    async def txn(self, request: Message) -> TxnResponse:
        """Compare and write. Raises StoreError where nothing was written,
        OutcomeUnknownError where nobody knows.
        """
        return await self._call("/v3/kv/txn", request, _TXN, OutcomeUnknownError)

    async def watch(self, request: Message) -> AsyncGenerator[WatchResponse, None]:
        """Give what a watch says, until it is silent for too long. Raises StoreError."""
        try:
            async with self._streams.stream(
                "POST", "/v3/watch", content=_body(request)
            ) as response:
                async for line in response.aiter_lines():
                    yield _result(line)
        except httpx.ReadTimeout:
            return
        except httpx.HTTPError as error:
            raise StoreError(_described(error)) from None
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
        try:
            async with self._client() as client:
                response = await client.post(path, content=_body(request))
            if response.is_success:
                return decoder.decode(response.content)
        except _NOT_SENT as error:
            raise StoreError(_described(error)) from None
        except (httpx.HTTPError, msgspec.MsgspecError) as error:
            raise unknown(_described(error)) from None
        raise _refusal(response, request, unknown)

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[httpx.AsyncClient, None]:
        if self._streams.is_closed:
            raise ClosedError
        try:
            async with asyncio.timeout(self._timeout):
                await self._free.acquire()
        except TimeoutError:
            raise StoreError("etcd is too slow for so many requests") from None
        client = self._idle.pop()
        try:
            yield client
        finally:
            self._idle.append(client)
            self._free.release()


def _body(request: Message) -> bytes:
    return msgspec.json.encode(request)


def _described(error: Exception) -> str:
    return f"etcd: {type(error).__name__} {error}".rstrip()


def _refusal(
    response: httpx.Response, request: Message, unknown: type[StoreError]
) -> SmpError:
    """Make the error that an answer other than success stands for."""
    failure = _Failure(response.reason_phrase)
    with suppress(msgspec.MsgspecError):
        failure = _FAILURE.decode(response.content)
    if "has been compacted" in failure.message:
        return Expired(request["revision"])
    if "future revision" in failure.message:
        return FutureRevisionError(request["revision"])
    if any(words in failure.message for words in _TOO_LARGE):
        return TooLargeError(failure.message)
    return (StoreError if failure.code in _TURNED_AWAY else unknown)(
        f"etcd: {failure.message}"
    )


def _result(line: str) -> WatchResponse:
    try:
        said = _LINE.decode(line)
    except msgspec.MsgspecError as error:
        raise StoreError(_described(error)) from None
    if said.result is None:
        raise StoreError(f"etcd: {said.error.message if said.error else line}")
    return said.result
