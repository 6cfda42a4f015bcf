"""The requests of a test: recorded, delayed and failed before the server sees them."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from msgspec import structs
from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send

from smp._values.values import as_object
from smp.documents import read_first
from smp.errors import SmpError
from smp.server.endpoints.call import CALL, Call
from smp.server.endpoints.list_options import read_flag
from smp.server.endpoints.middleware import objects_of
from smp.server.registry.kinds import Kinds
from smp.server.registry.target import Target
from smp.testing._faults import Fault

_MOST: Final = 10_000  # requests that are kept
_MOST_BYTES: Final = 64 << 20  # of their bodies
_READS: Final = frozenset({"", "get", "list", "watch"})
_QUOTED: Final = re.compile(r"\\(.)")
_SECRETS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was answered, as it was sent.

    Names of ``headers`` are in lower case, and those with secrets are left out. Of a
    repeated parameter or header the last value counts. A ``status`` of 0: the client
    left before it was answered. ``warnings`` are the texts of the answer's headers
    Warning, ``annotations`` the audit annotations of webhooks and policies. ``verb``,
    ``resource`` (``deployments.apps``), ``subresource``, ``namespace`` and ``name`` are
    empty where it is not about objects.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    content: bytes
    status: int
    verb: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    warnings: tuple[str, ...] = ()
    annotations: dict[str, str] = {}

    @property
    def body(self) -> Any:
        """The content as a value, None where it is empty.

        Raises DocumentError where it is neither JSON nor YAML.
        """
        return read_first(self.content).value


class Traffic:
    """An ASGI application around that of the server."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self.requests: deque[Request] = deque()
        self._size = 0  # of their bodies
        self.faults: list[Fault] = []
        # Warnings of writes that the test has not been told.
        self.untold: deque[str] = deque(maxlen=_MOST)

    def _keep(self, request: Request) -> None:
        """Keep a request, in place of the oldest ones where there is no room."""
        self.requests.append(request)
        self._size += len(request.content)
        while len(self.requests) > 1 and (
            len(self.requests) > _MOST or self._size > _MOST_BYTES
        ):
            self._size -= len(self.requests.popleft().content)

    def forget(self) -> None:
        """Forget the requests so far."""
        self.requests.clear()
        self._size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as a fault wants it or as the server does."""
        content = bytearray()
        status = 0
        warnings: tuple[str, ...] = ()
        target = await self._target(scope)
        verb = _verb(scope, target) if target else ""

        def record() -> None:
            request = _request(scope, bytes(content), status, verb, target)
            call: Call | None = scope.get(CALL)
            annotations = call.admission.annotations if call and call.admission else {}
            self._keep(
                structs.replace(request, warnings=warnings, annotations=annotations)
            )
            if verb not in _READS:
                place = f"{request.method} {request.path}"
                self.untold.extend([f"{place}: {text}" for text in warnings])

        async def receive_and_note() -> Message:
            message = await receive()
            content.extend(message.get("body", b""))
            return message

        async def send_and_note(message: Message) -> None:
            nonlocal status, warnings
            # Before the client has the answer, so that its test finds the request.
            if message["type"] == "http.response.start":
                status = message["status"]
                warnings = tuple(read_warnings(message["headers"]))
                record()
            await send(message)

        try:
            fault = None
            if target:
                seconds, fault = self._faults_of(verb, target)
                await self._wait(seconds)
            if target is None or fault is None:
                await self._app(scope, receive_and_note, send_and_note)
                return
            # The body tells the name of a new object, and the test what was sent.
            while (await receive_and_note()).get("more_body", False):
                pass
            target = _name_target(target, verb, bytes(content))
            response = fault.response(verb, target)
            await response(scope, receive, send_and_note)
        finally:
            if not status:
                record()

    async def _target(self, scope: Scope) -> Target | None:
        """Return what a request about objects names, None for any other."""
        named = objects_of(scope["path"])
        if named is None:
            return None
        # What is not served is answered by the server.
        kinds: Kinds = self._app.state.server.kinds
        try:
            return await kinds.locate(*named)
        except SmpError:
            return None

    def _faults_of(self, verb: str, target: Target) -> tuple[float, Fault | None]:
        """Return how long a request waits, and the first fault that answers it.

        Each of them has happened once more.
        """
        seconds = 0.0
        answering = None
        remaining: list[Fault] = []
        for fault in self.faults:
            # The second fault that would answer is for a later request.
            is_later = fault.status and answering
            if is_later or not fault.concerns(verb, target):
                remaining.append(fault)
                continue
            seconds += fault.seconds
            if fault.status:
                answering = fault
            # With 0 it concerns all requests, with 1 this was the last one.
            if fault.times > 1:
                remaining.append(structs.replace(fault, times=fault.times - 1))
            elif fault.times == 0:
                remaining.append(fault)
        self.faults = remaining
        return seconds, answering

    async def _wait(self, seconds: float) -> None:
        """Wait, but not for longer than the server runs."""
        if seconds:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._app.state.server.stopping.wait()


def read_warnings(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[str]:
    """Yield the texts of the headers Warning (RFC 7234, section 5.5)."""
    for name, value in headers:
        if name.lower() == b"warning":
            quoted = value.decode().removeprefix('299 - "').removesuffix('"')
            yield _QUOTED.sub(r"\1", quoted)


def _verb(scope: Scope, target: Target) -> str:
    verb = target.verb(scope["method"]) or ""
    if verb == "list":
        query = parse_qsl(
            scope["query_string"].decode("latin-1"), keep_blank_values=True
        )
        if read_flag(dict(query), "watch"):
            return "watch"
    return verb


def _name_target(target: Target, verb: str, content: bytes) -> Target:
    """Return the target of a new object with the name that its body has."""
    if verb != "create":
        return target
    try:
        body = read_first(content).value
    except SmpError:
        return target
    metadata = as_object(as_object(body).get("metadata"))
    return target.named(str(metadata.get("name", "")))


def _request(
    scope: Scope, content: bytes, status: int, verb: str, target: Target | None
) -> Request:
    headers = {}
    for name, value in scope["headers"]:
        text = name.decode("latin-1").lower()
        if text not in _SECRETS:
            headers[text] = value.decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    return Request(
        method=scope["method"],
        path=scope["path"],
        query=dict(parse_qsl(query, keep_blank_values=True)),
        headers=headers,
        content=content,
        status=status,
        verb=verb,
        resource=target.resource.qualified if target else "",
        subresource=target.subresource if target else "",
        namespace=target.namespace if target else "",
        name=target.name if target else "",
    )
