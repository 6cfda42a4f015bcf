"""The calls of etcd that a store needs, over its JSON gateway.

A member of etcd answers ``/v3/...`` on the port of its clients; bytes are base64, and
numbers of 64 bits text, both of which msgspec reads. Source: api/etcdserverpb/rpc.proto
and rpc.swagger.json of etcd, which has it by default (``--enable-grpc-gateway``).
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

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
_COMPACTION: Final = 300.0  # seconds, the default of a kube-apiserver
_SYNTAX: Final = "etcd://HOST[:PORT][,HOST[:PORT]...][/ROOT][?OPTIONS]"
# kube-apiserver has the flags --etcd-cafile, --etcd-compaction-interval and so on.
_FILES: Final = ("cafile", "certfile", "keyfile", "password-file")
_OPTIONS: Final = (*_FILES, "user", "compaction-interval")
_OK: Final = 200
# Of gRPC: requests that were rejected before they had any effect, as INVALID_ARGUMENT,
# PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION and UNIMPLEMENTED.
_REJECTED: Final = (3, 7, 8, 9, 12)
_UNAUTHENTICATED: Final = 16
# After these another member may do better: DEADLINE_EXCEEDED and UNAVAILABLE.
_FAILED: Final = (4, 14)
_TOO_LARGE: Final = ("request is too large", "message larger than max")
# httpx leaves errors of TLS after the handshake as they are.
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
    token: str = ""
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


class Endpoints(msgspec.Struct, frozen=True, kw_only=True):
    """The members of an etcd, and what they ask for.

    The files are PEM. Without an ``authority`` that of the system counts.
    """

    urls: Sequence[str]
    root: str = "smp"
    files: Mapping[str, Path] = {}
    user: str = ""
    compaction_interval: float = _COMPACTION

    @classmethod
    def parse(cls, url: str) -> Endpoints:
        """Read a URL, with TLS where the scheme is ``etcds``.

        Raises StoreError, also where a file cannot be read.
        """
        try:
            parts = urlsplit(url)
            options = dict(
                parse_qsl(parts.query, strict_parsing=True) if parts.query else ()
            )
            addresses = [_address(text) for text in parts.netloc.split(",")]
            interval = float(options.get("compaction-interval", _COMPACTION))
        except ValueError:
            raise _invalid("the URL of etcd is " + _SYNTAX) from None
        root = parts.path.strip("/") or "smp"
        # Credentials in a URL would be seen in the list of processes.
        if "@" in parts.netloc or parts.fragment or "/" in root:
            raise _invalid("the URL of etcd is " + _SYNTAX)
        for name in options:
            if name not in _OPTIONS:
                raise _invalid(
                    f"unknown option {name}, known are {', '.join(_OPTIONS)}"
                )
        files: dict[str, Path] = {
            name: Path(options[name]) for name in _FILES if name in options
        }
        scheme = "https" if parts.scheme == "etcds" else "http"
        if scheme == "http" and files.keys() - {"password-file"}:
            raise _invalid("certificates need TLS: etcds://")
        if ("certfile" in files) != ("keyfile" in files):
            raise _invalid("a certfile needs its keyfile, and a keyfile its certfile")
        if ("user" in options) != ("password-file" in files):
            raise _invalid("a user needs a password-file, and the reverse")
        for path in files.values():
            _read(path)
        return cls(
            urls=[f"{scheme}://{address}" for address in addresses],
            root=root,
            files=files,
            user=options.get("user", ""),
            compaction_interval=interval,
        )

    def password(self) -> str:
        """Return the first line of the file with the password."""
        return _read(self.files["password-file"]).decode().partition("\n")[0]

    def tls(self) -> ssl.SSLContext:
        """Return what trusts the members, and what they are to trust."""
        authority = self.files.get("cafile")
        context = ssl.create_default_context(cafile=authority)
        if "certfile" in self.files:
            context.load_cert_chain(self.files["certfile"], self.files["keyfile"])
        return context


class Client:
    """The calls, each with a time limit; none is ever repeated.

    Calls use one member as long as it answers, and then the next one. ``timeout`` and
    ``silence``, the time after which a quiet watch ends, are in seconds.
    """

    def __init__(self, endpoints: Endpoints, *, timeout: float, silence: float) -> None:
        self._endpoints = endpoints
        self._silence = silence
        self._index = 0  # of the member in use
        self._answers = False  # the member in use has answered before
        self._token = ""
        try:
            # Proxies of the environment are not for a store.
            self._web = httpx.AsyncClient(
                verify=endpoints.tls() if endpoints.files else True,
                trust_env=False,
                timeout=timeout,
                limits=httpx.Limits(max_connections=None),
            )
        except (OSError, ssl.SSLError) as error:
            raise StoreError(f"etcd: {error}", code="unusable-store") from None

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

    async def compact(self, revision: int) -> None:
        """Forget what was replaced before a revision. Raises StoreError and Expired."""
        await self._call("kv/compaction", {"revision": revision}, StoreError, revision)

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
        headers = {"grpc-metadata-hasleader": "true", **await self._credentials()}
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
                        raise self._error_of(failure, 0, StoreError)
                    yield line.result or Answer()
        except httpx.ReadTimeout:
            # Nothing came for ``silence`` seconds, which is not an error.
            return
        except _ERRORS as error:
            self._take_next()
            raise StoreError(_word(error)) from None
        raise StoreError("etcd ended the watch")

    async def close(self) -> None:
        """Close the connections."""
        await self._web.aclose()

    @property
    def _url(self) -> str:
        return self._endpoints.urls[self._index % len(self._endpoints.urls)]

    async def _call(
        self,
        method: str,
        request: Mapping[str, Any],
        unknown: type[StoreError],
        revision: int = 0,
    ) -> Answer:
        """Make a call; ``unknown`` is raised where its outcome is not known."""
        headers = await self._credentials()
        answer = await self._post(method, request, unknown, headers)
        if answer.status_code == _OK:
            return _decode(answer.content, unknown)
        failure = Answer(message=answer.reason_phrase, code=_REJECTED[0])
        if "json" in answer.headers.get("content-type", ""):
            failure = _decode(answer.content, unknown)
        raise self._error_of(failure, revision, unknown)

    async def _post(
        self,
        method: str,
        request: Mapping[str, Any],
        unknown: type[StoreError],
        headers: Mapping[str, str],
    ) -> httpx.Response:
        """Send a request to the first member that answers."""
        body = msgspec.json.encode(request)
        for _ in self._endpoints.urls:
            if self._web.is_closed:
                raise ClosedError
            try:
                if not self._answers:
                    await self._web.get(f"{self._url}/version")
                    self._answers = True
            except _ERRORS:
                self._take_next()
                continue
            try:
                url = f"{self._url}/v3/{method}"
                return await self._web.post(url, content=body, headers=headers)
            except _NOT_CONNECTED:
                self._take_next()
            except _ERRORS as error:
                self._take_next()
                raise unknown(_word(error)) from None
        urls = ", ".join(self._endpoints.urls)
        raise StoreError(f"etcd: cannot connect to {urls}")

    def _take_next(self) -> None:
        """Use the next member from now on."""
        self._index += 1
        self._answers = False

    async def _credentials(self) -> dict[str, str]:
        """Return the headers of a user, who logs in where that is needed."""
        if self._web.is_closed:
            raise ClosedError
        if not self._endpoints.user:
            return {}
        if not self._token:
            login = {
                "name": self._endpoints.user,
                "password": self._endpoints.password(),
            }
            answer = await self._post("auth/authenticate", login, StoreError, {})
            decoded = _decode(answer.content, StoreError)
            if answer.status_code != _OK:
                raise StoreError(f"etcd: {decoded.text}")
            self._token = decoded.token
        return {"authorization": self._token}

    def _error_of(
        self, failure: Answer, revision: int, unknown: type[StoreError]
    ) -> SmpError:
        code, message = failure.grpc_code or failure.code, failure.text
        if code in _FAILED:
            self._take_next()
        if code == _UNAUTHENTICATED:
            self._token = ""  # it expired
        # They differ only in the messages of etcd (api/v3rpc/rpctypes/error.go).
        if "has been compacted" in message:
            return Expired(revision)
        if "future revision" in message:
            return FutureRevisionError(revision)
        if any(text in message for text in _TOO_LARGE):
            return ValueTooLargeError(message)
        is_rejected = code in (*_REJECTED, _UNAUTHENTICATED)
        return (StoreError if is_rejected else unknown)(f"etcd: {message}")


def _decode(data: bytes | str, unknown: type[StoreError]) -> Answer:
    try:
        return msgspec.json.decode(data, type=Answer, strict=False)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise unknown(f"etcd: {error}") from None


def _word(error: Exception) -> str:
    # Timeouts have no text.
    return f"etcd: {str(error) or type(error).__name__}"


def _address(text: str) -> str:
    """Return HOST:PORT. Raises ValueError."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("no host")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{parts.port or _PORT}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"cannot read {path}: {error.strerror}", code="unusable-store"
        ) from None


def _invalid(problem: str) -> StoreError:
    return StoreError(problem, code="invalid-store-url")
