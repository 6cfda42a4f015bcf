"""The calls of etcd that a store needs, over its JSON gateway.

A member of etcd answers ``/v3/...`` on the port of its clients; bytes are base64, and
numbers of 64 bits text, both of which msgspec reads. Source: api/etcdserverpb/rpc.proto
and rpc.swagger.json of etcd, which has it by default (``--enable-grpc-gateway``).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import msgspec

from smp.errors import SmpError
from smp.server.store.model import (
    ClosedError,
    Expired,
    FutureRevisionError,
    OutcomeUnknownError,
    StoreError,
    ValueTooLargeError,
)

_PORT: Final = 2379
_SYNTAX: Final = "the URL of etcd is etcd://HOST[:PORT][/ROOT]"
_OK: Final = 200
# Of gRPC: requests that were rejected before they had any effect, as INVALID_ARGUMENT,
# PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION and UNIMPLEMENTED.
_REJECTED: Final = (3, 7, 8, 9, 12)
_TOO_LARGE: Final = ("request is too large", "message larger than max")
_ERRORS: Final = (httpx.HTTPError, httpx.StreamError, OSError)
# Nothing was sent.
_NOT_CONNECTED: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class KeyValue(msgspec.Struct, frozen=True):
    """A key; ``version`` counts its writes since it was created."""

    key: bytes = b""
    mod_revision: int = 0
    version: int = 0
    value: bytes = b""


class WatchEvent(msgspec.Struct, frozen=True):
    """A change.

    ``prev_kv`` is missing where the key did not exist, or where its history was
    compacted.
    """

    type: str = "PUT"
    kv: KeyValue = KeyValue()
    prev_kv: KeyValue | None = None


class Answer(msgspec.Struct, frozen=True):
    """An answer to any call, or a part of one; what it does not say is empty.

    ``header`` has the revision of the whole store. A range has ``kvs``, of ``count``
    keys; a transaction ``succeeded`` or not, and answers what its operations read. A
    line of a watch has a ``result``: all changes of one or more revisions, or the start
    or the end of the watch. An ``error`` has the code of gRPC, also where it is named.
    """

    header: dict[str, int] = {}
    kvs: tuple[KeyValue, ...] = ()
    count: int = 0
    succeeded: bool = False
    responses: tuple[dict[str, Answer], ...] = ()
    result: Answer | None = None
    events: tuple[WatchEvent, ...] = ()
    canceled: bool = False
    compact_revision: int = 0
    cancel_reason: str = ""
    error: Answer | str = ""
    message: str = ""
    code: int = 0
    grpc_code: int = 0

    @property
    def revision(self) -> int:
        """The revision of the store when it answered."""
        return self.header.get("revision", 0)

    @property
    def text(self) -> str:
        """What an error says."""
        return self.message or str(self.error)


def parse_url(url: str) -> tuple[str, str]:
    """Return the URL of a member of etcd, and the root below which its keys are.

    Raises StoreError.
    """
    invalid = StoreError(_SYNTAX, code="invalid-store-url")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORT
    except ValueError:
        raise invalid from None
    root = parts.path.strip("/") or "smp"
    # Credentials in a URL would be seen in the list of processes.
    if (
        not host
        or "," in host
        or "@" in parts.netloc
        or parts.query
        or parts.fragment
        or "/" in root
    ):
        raise invalid
    return f"http://{f'[{host}]' if ':' in host else host}:{port}", root


class Client:
    """The calls to one member, each with a time limit; none is ever repeated.

    ``timeout`` and ``silence``, the time after which a quiet watch ends, are in
    seconds.
    """

    def __init__(self, url: str, *, timeout: float, silence: float) -> None:
        self._url = url
        self._silence = silence
        # Proxies of the environment are not for a store.
        limits = httpx.Limits(max_connections=None)
        self._web = httpx.AsyncClient(trust_env=False, timeout=timeout, limits=limits)

    async def range(
        self, key: bytes, end: bytes = b"", *, limit: int = 0, revision: int = 0
    ) -> Answer:
        """Read keys, of a revision of 0 the newest.

        Raises StoreError, Expired and FutureRevisionError.
        """
        request = {"key": key, "limit": limit, "revision": revision}
        if end:
            request["range_end"] = end
        return await self._call("kv/range", request, StoreError, revision)

    async def txn(
        self,
        compare: Sequence[Mapping[str, Any]],
        success: Sequence[Mapping[str, Any]],
        failure: Sequence[Mapping[str, Any]] = (),
    ) -> Answer:
        """Compare and write.

        Raises StoreError where nothing was written, OutcomeUnknownError where that is
        not known.
        """
        request = {"compare": compare, "success": success, "failure": failure}
        return await self._call("kv/txn", request, OutcomeUnknownError)

    async def watch(
        self, key: bytes, end: bytes, start: int
    ) -> AsyncGenerator[Answer, None]:
        """Yield the responses of a watch, until none came for ``silence`` seconds.

        Raises StoreError.
        """
        create = {"key": key, "range_end": end, "start_revision": start}
        body = msgspec.json.encode({"create_request": {**create, "prev_kv": True}})
        # A member that lost the others ends the watch rather than keep it quiet (Go:
        # etcd's clientv3.WithRequireLeader).
        headers = {"grpc-metadata-hasleader": "true"}
        if self._web.is_closed:
            raise ClosedError
        timeout = httpx.Timeout(self._web.timeout.connect, read=self._silence)
        try:
            async with self._web.stream(
                "POST",
                f"{self._url}/v3/watch",
                content=body,
                headers=headers,
                timeout=timeout,
            ) as answer:
                async for text in answer.aiter_lines():
                    line = _decode(text, StoreError)
                    if line.error or answer.status_code != _OK:
                        failure = line.error
                        if not isinstance(failure, Answer):
                            failure = line
                        raise _error_of(failure, 0, StoreError)
                    yield line.result or Answer()
        except httpx.ReadTimeout:
            # Nothing came for ``silence`` seconds, which is not an error.
            return
        except _ERRORS as error:
            raise StoreError(_word(error)) from None
        raise StoreError("etcd ended the watch")

    async def close(self) -> None:
        """Close the connections."""
        await self._web.aclose()

    async def _call(
        self,
        method: str,
        request: Mapping[str, Any],
        unknown: type[StoreError],
        revision: int = 0,
    ) -> Answer:
        """Make a call; ``unknown`` is raised where its outcome is not known."""
        if self._web.is_closed:
            raise ClosedError
        body = msgspec.json.encode(request)
        try:
            answer = await self._web.post(f"{self._url}/v3/{method}", content=body)
        except _NOT_CONNECTED:
            raise StoreError(f"etcd: cannot connect to {self._url}") from None
        except _ERRORS as error:
            raise unknown(_word(error)) from None
        if answer.status_code == _OK:
            return _decode(answer.content, unknown)
        failure = Answer(message=answer.reason_phrase, code=_REJECTED[0])
        if "json" in answer.headers.get("content-type", ""):
            failure = _decode(answer.content, unknown)
        raise _error_of(failure, revision, unknown)


def _error_of(failure: Answer, revision: int, unknown: type[StoreError]) -> SmpError:
    message = failure.text
    # They differ only in the messages of etcd (api/v3rpc/rpctypes/error.go).
    if "has been compacted" in message:
        return Expired(revision)
    if "future revision" in message:
        return FutureRevisionError(revision)
    if any(text in message for text in _TOO_LARGE):
        return ValueTooLargeError(message)
    is_rejected = (failure.grpc_code or failure.code) in _REJECTED
    return (StoreError if is_rejected else unknown)(f"etcd: {message}")


def _decode(data: bytes | str, unknown: type[StoreError]) -> Answer:
    try:
        return msgspec.json.decode(data, type=Answer, strict=False)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise unknown(f"etcd: {error}") from None


def _word(error: Exception) -> str:
    # Timeouts have no text.
    return f"etcd: {str(error) or type(error).__name__}"
