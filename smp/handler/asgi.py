"""The handler as an ASGI application, to mount in any framework; it imports none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from smp import codec
from smp.errors import ObjectError, SmpError, UnknownKindError
from smp.handler._options import DEFAULT, Options, requested
from smp.handler._pipeline import patch
from smp.handler._retries import ATTEMPTS, aretry
from smp.handler._status import (
    Accepted,
    InvalidError,
    MethodNotAllowedError,
    NotFoundError,
    Outcome,
    StatusError,
    TooLargeError,
    to_status,
    warning_headers,
)
from smp.schema.catalog import Catalog
from smp.schema.model import Schema
from smp.values import JSONObject

# The types of the ASGI specification, version 3.
Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

Loaded: TypeAlias = bytes | JSONObject
Load: TypeAlias = Callable[[Scope], Awaitable[Loaded | None]]
Save: TypeAlias = Callable[[Scope, Any, JSONObject], Awaitable[JSONObject | None]]


class PatchEndpoint:
    """An ASGI application that answers PATCH.

    ``load(scope)`` returns the object that a request is about, as bytes or as a dict,
    and None where there is none. ``save(scope, loaded, new)`` stores the new object if
    what was loaded still is what is stored, and returns it as stored; None says that
    somebody else was faster: the patch is then applied to what is loaded anew. It is
    not called where nothing changed, nor for a dry run. A SmpError of theirs is
    answered, as those of hooks are.

    Go: k8s.io/apiserver, endpoints/handlers/patch.go.
    """

    def __init__(
        self,
        load: Load,
        save: Save,
        catalog: Catalog,
        options: Options = DEFAULT,
        *,
        attempts: int = ATTEMPTS,
    ) -> None:
        self._load = load
        self._save = save
        self._catalog = catalog
        self._options = options
        self._attempts = attempts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Raises ValueError for what is no HTTP request, and for a
        stored object that is none.
        """
        if scope["type"] != "http":
            raise ValueError(f"a PATCH handler has no answer for {scope['type']}")
        await _answer(send, await self._outcome(scope, receive))

    async def _outcome(self, scope: Scope, receive: Receive) -> Outcome:
        try:
            options = requested(self._options, scope["query_string"].decode("latin-1"))
        except InvalidError as error:
            return to_status(error, kind="PatchOptions", group="meta.k8s.io")
        try:
            if scope["method"] != "PATCH":
                raise MethodNotAllowedError(
                    f"{scope['method']} is not supported here, only PATCH"
                )
            return await self._patched(
                scope, await _body(receive, options.limits.body), options
            )
        except SmpError as error:
            resource, _, group = self._options.resource.partition(".")
            return to_status(
                error,
                name=scope["path"].rpartition("/")[2],
                group=group,
                resource=resource,
            )

    async def _patched(self, scope: Scope, body: bytes, options: Options) -> Outcome:
        async def read() -> Loaded:
            loaded = await self._load(scope)
            if loaded is None:
                raise NotFoundError("there is no such object")
            return loaded

        def compute(loaded: Loaded) -> Outcome:
            old = _object(loaded)
            return patch(old, body, _content_type(scope), self._schema(old), options)

        async def write(loaded: Loaded, outcome: Outcome) -> Outcome | None:
            if (
                not isinstance(outcome, Accepted)
                or not outcome.changed
                or outcome.dry_run
            ):
                return outcome
            saved = await self._save(scope, loaded, outcome.object)
            return None if saved is None else outcome.with_object(saved)

        return await aretry(read, compute, write, attempts=self._attempts)

    def _schema(self, obj: JSONObject) -> Schema | None:
        try:
            return self._catalog.schema_of(obj)
        except (UnknownKindError, ObjectError):
            return None


def _object(loaded: Loaded) -> JSONObject:
    try:
        value = codec.decode(loaded) if isinstance(loaded, bytes) else loaded
    except SmpError as error:
        raise ValueError("the stored object is not JSON") from error
    if not isinstance(value, dict):
        raise ValueError("the stored object is no JSON object")
    return value


def _content_type(scope: Scope) -> str:
    return next(
        (
            value.decode("latin-1")
            for name, value in scope["headers"]
            if name == b"content-type"
        ),
        "",
    )


async def _body(receive: Receive, limit: int) -> bytes:
    chunks: list[bytes] = []
    more, size = True, 0
    while more and size <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise StatusError("the client went away before the end of its request")
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        more = message.get("more_body", False)
    if size > limit:
        raise TooLargeError(f"limit is {limit}")
    return b"".join(chunks)


async def _answer(send: Send, outcome: Outcome) -> None:
    body = outcome.body
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
    ]
    headers += [(b"warning", value) for value in warning_headers(outcome.warnings)]
    headers += (
        [(b"allow", b"PATCH")] if outcome.code == MethodNotAllowedError.status else []
    )
    await send(
        {"type": "http.response.start", "status": outcome.code, "headers": headers}
    )
    await send({"type": "http.response.body", "body": body})
