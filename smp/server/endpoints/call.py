"""One request about objects: who asks for what, and in which form."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Final

from starlette.requests import Request

from smp import codec
from smp.documents import read_one
from smp.handler import (
    Options,
    StatusError,
    TooLargeError,
    UnsupportedMediaTypeError,
    requested,
)
from smp.server.endpoints.negotiation import (
    JSON_TYPE,
    YAML_TYPE,
    Answer,
    media_type,
    negotiate,
)
from smp.server.metrics import Labels
from smp.server.objects.crds.structural import with_schema_defaults
from smp.server.registry.api import API
from smp.server.registry.kinds import Kind
from smp.server.registry.target import Target
from smp.server.registry.turns import apart

_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_PROTOBUF_HINT: Final = (
    "with kubectl, append: --dry-run=client -o yaml | kubectl apply -f -"
)

# where the scope of a request has its Call, if it is about objects
CALL: Final = "smp.call"


class SlowBodyError(StatusError):
    """A body that does not arrive in time."""

    default_code = "slow-body"
    status = 408
    reason: ClassVar[str] = "Timeout"


@dataclass(frozen=True)
class Call:
    """A request whose path is understood."""

    api: API
    request: Request
    target: Target
    verb: str

    @cached_property
    def kind(self) -> Kind:
        """What handling the objects of its resource takes."""
        return self.api.kinds.of(self.target.resource)

    @cached_property
    def answer(self) -> Answer:
        """The form of answer that the client likes best. Raises NotAcceptableError."""
        return negotiate(self.request.headers.get("accept", ""))

    @property
    def labels(self) -> Labels:
        """What metrics say of it."""
        resource = self.target.resource
        return (
            self.verb,
            resource.group,
            resource.version,
            resource.plural,
            self.target.subresource,
        )

    @property
    def query(self) -> Mapping[str, str]:
        """The query; of a repeated parameter the last counts."""
        return self.request.query_params

    @cached_property
    def options(self) -> Options:
        """How the handler is to treat it. Raises InvalidError."""
        settings, defined = self.api.settings, self.kind.defined
        options = Options(
            profile=settings.profile,
            limits=settings.limits,
            default=partial(with_schema_defaults, schema=defined.schema)
            if defined
            else None,
            custom=defined is not None,
            resource=self.target.resource.qualified,
        )
        return requested(options, self.request.url.query)

    @property
    def content_type(self) -> str:
        """The type of the body, without parameters."""
        return media_type(self.request.headers.get("content-type", ""))

    async def body(self) -> bytes:
        """Read the body. Raises TooLargeError as soon as it is longer than the limit,
        and SlowBodyError.
        """
        stated = self.request.headers.get("content-length", "")
        self._check_length(int(stated) if stated.isdecimal() else 0)
        body = bytearray()
        try:
            async with asyncio.timeout(self.api.settings.body_timeout):
                async for chunk in self.request.stream():
                    body += chunk
                    self._check_length(len(body))
        except TimeoutError:
            raise SlowBodyError(
                "the body of the request did not arrive in time"
            ) from None
        return bytes(body)

    def _check_length(self, length: int) -> None:
        limit = self.api.settings.limits.body
        if length > limit:
            raise TooLargeError(f"limit is {limit}")

    async def whole(self) -> bytes:
        """Read the body as the JSON of an object. Raises UnsupportedMediaTypeError,
        DocumentError, and as ``body``.
        """
        if self.content_type not in ("", JSON_TYPE, YAML_TYPE):
            accepted = f"{JSON_TYPE}, {YAML_TYPE}"
            raise UnsupportedMediaTypeError(
                f"the body of the request was in an unknown format - accepted media types include: {accepted}",
                hint=_PROTOBUF_HINT if self.content_type == _PROTOBUF else "",
            )
        body = await self.body()
        return (
            await apart(len(body), _as_json, body)
            if self.content_type == YAML_TYPE
            else body
        )


def _as_json(body: bytes) -> bytes:
    return codec.encode(read_one(body, source="the body").value)
