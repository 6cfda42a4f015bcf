"""The handler as an ASGI application, to mount in any framework; it imports none."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from smp._values.values import JSONObject, as_object
from smp.documents import read_first
from smp.errors import DocumentError, ObjectError, SmpError, UnknownKindError
from smp.handler._field_managers import manager_of
from smp.handler._options import APPLY, DEFAULT, Options, requested
from smp.handler._retries import ATTEMPTS, aretry
from smp.handler._status import (
    MethodNotAllowedError,
    NotFoundError,
    Outcome,
    Refused,
    StatusError,
    TooLargeError,
    to_status,
    warning_headers,
)
from smp.handler._verbs import patch
from smp.handler.headers import read_header
from smp.schema.catalog import Catalog
from smp.schema.model import Schema

# The types of the ASGI specification, version 3.
Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

# Go: k8s.io/apiserver, endpoints/request.RequestInfoFactory.NewRequestInfo.
_PATH: Final = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/[^/]+(?:/namespaces/[^/]+)?"
    r"/(?P<resource>[^/]+)/(?P<name>[^/]+)(?:/.*)?"
)

Object: TypeAlias = dict[str, Any]
Loaded: TypeAlias = bytes | Object
Load: TypeAlias = Callable[[Scope], Awaitable[Loaded | None]]
Save: TypeAlias = Callable[[Scope, Any, Object], Awaitable[Object | None]]
Create: TypeAlias = Callable[[Scope, Object], Awaitable[Object | None]]


class PatchEndpoint:
    """An ASGI application that answers PATCH.

    ``load(scope)`` returns the stored object of a request, as bytes or as a dict, and
    None where there is none. ``save(scope, loaded, new)`` stores the new object if what
    was loaded still is what is stored, and returns it as stored; None says that another
    writer was faster: the patch is then applied to what is loaded again. It is not
    called where nothing changed, nor for a dry run. ``create(scope, new)`` stores the
    new object of an apply where ``load`` found none, and returns it as stored; None
    says that it exists meanwhile. Without it the answer is 404. A SmpError that any of
    them raises is answered, as those of hooks are.

    The field manager is that of the query, else of the User-Agent.

    Go: k8s.io/apiserver, endpoints/handlers/patch.go.
    """

    def __init__(
        self,
        load: Load,
        save: Save,
        catalog: Catalog,
        options: Options = DEFAULT,
        *,
        create: Create | None = None,
        attempts: int = ATTEMPTS,
    ) -> None:
        self._load = load
        self._save = save
        self._catalog = catalog
        self._options = options
        self._create = create
        self._attempts = attempts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises ValueError for another protocol than HTTP, and where the stored object is
        not one.
        """
        if scope["type"] != "http":
            raise ValueError(f"a PATCH handler has no answer for {scope['type']}")
        outcome = await self._outcome(scope, receive)
        body = outcome.body
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ]
        headers += [(b"warning", value) for value in warning_headers(outcome.warnings)]
        if outcome.code == MethodNotAllowedError.status:
            # RFC 9110, section 15.5.6: a 405 has to name the methods.
            headers.append((b"allow", b"PATCH"))
        await send(
            {"type": "http.response.start", "status": outcome.code, "headers": headers}
        )
        await send({"type": "http.response.body", "body": body})

    async def _outcome(self, scope: Scope, receive: Receive) -> Outcome:
        try:
            if scope["method"] != "PATCH":
                raise MethodNotAllowedError(
                    f"{scope['method']} is not supported here, only PATCH"
                )
            manager = manager_of(read_header(scope, b"user-agent"))
            options = requested(
                replace(self._options, manager=manager),
                scope["query_string"].decode("latin-1"),
                media_type=read_header(scope, b"content-type"),
            )
            return await self._run_patch(
                scope, await _body(receive, options.limits.body), options
            )
        except SmpError as error:
            resource, name = _split_path(scope["path"])
            resource, _, group = (self._options.resource or resource).partition(".")
            return to_status(error, name=name, group=group, resource=resource)

    async def _run_patch(self, scope: Scope, body: bytes, options: Options) -> Outcome:
        media_type = read_header(scope, b"content-type")
        is_apply = media_type.partition(";")[0] == APPLY
        create = self._create if is_apply else None

        async def read() -> Loaded | None:
            loaded = await self._load(scope)
            if loaded is None and create is None:
                raise NotFoundError("object not found")
            return loaded

        def compute(loaded: Loaded | None) -> Outcome:
            schema = self._schema_of(_apply(body) if loaded is None else loaded)
            return patch(loaded, body, media_type, schema, options)

        async def write(loaded: Loaded | None, outcome: Outcome) -> Outcome | None:
            if isinstance(outcome, Refused) or not outcome.changed or outcome.dry_run:
                return outcome
            if loaded is None and create is not None:
                saved = await create(scope, outcome.object)
            else:
                saved = await self._save(scope, loaded, outcome.object)
            return None if saved is None else outcome.with_object(saved)

        return await aretry(read, compute, write, attempts=self._attempts)

    def _schema_of(self, loaded: Loaded) -> Schema | None:
        """Return the schema of the stored object; None for a kind without one."""
        try:
            if isinstance(loaded, bytes):
                kind = msgspec.json.decode(loaded, type=_BodyTypeMeta)
                return self._catalog.schema(kind.api_version, kind.kind)
            return self._catalog.schema_of(loaded)
        except msgspec.MsgspecError as error:
            raise ValueError("the stored document is not a JSON object") from error
        except (UnknownKindError, ObjectError):
            return None


def _split_path(path: str) -> tuple[str, str]:
    """Return the resource, with its group, and the name in the path of a request.

    Of a path that is none of Kubernetes it is the last but one part, and the last.
    """
    parts = path.strip("/").split("/")
    known = _PATH.fullmatch(path)
    if known is None:
        return "".join(parts[-2:-1]), parts[-1]
    group, resource, name = known["group"] or "", known["resource"], known["name"]
    return f"{resource}.{group}" if group else resource, name


class _BodyTypeMeta(msgspec.Struct):
    """The part of an object that names its kind (Go: metav1.TypeMeta)."""

    api_version: str = msgspec.field(name="apiVersion", default="")
    kind: str = ""


def _apply(body: bytes) -> JSONObject:
    """Return the object that is applied; what is none is refused when it is applied."""
    try:
        return as_object(read_first(body).value)
    except DocumentError:
        return {}


async def _body(receive: Receive, limit: int) -> bytes:
    chunks: list[bytes] = []
    more, size = True, 0
    while more and size <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise StatusError(
                "the client closed the connection before its request ended"
            )
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        more = message.get("more_body", False)
    if size > limit:
        raise TooLargeError(f"limit is {limit}")
    return b"".join(chunks)
