"""Reading the bodies of requests."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

from starlette.requests import Request

from smp import codec
from smp.documents import read_one
from smp.handler import StatusError, TooLargeError, UnsupportedMediaTypeError
from smp.server.endpoints.negotiation import JSON_TYPE, YAML_TYPE, media_type
from smp.server.registry.state import offload
from smp.server.settings import Settings

# Some `kubectl create` commands send protobuf; kubectl apply sends JSON.
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_PROTOBUF_HINT: Final = (
    "with kubectl, append: --dry-run=client -o yaml | kubectl apply -f -"
)


class SlowBodyError(StatusError):
    """A body that does not arrive in time."""

    default_code = "slow-body"
    status = 408
    reason: ClassVar[str] = "Timeout"


def content_type_of(request: Request) -> str:
    """Return the type of the body, without parameters."""
    return media_type(request.headers.get("content-type", ""))


async def read_body(request: Request, settings: Settings) -> bytes:
    """Read the body. Raises TooLargeError and SlowBodyError."""
    limit = settings.limits.body
    # A body that states its length is refused before it is read.
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and int(stated) > limit:
        raise TooLargeError(f"limit is {limit}")
    body = bytearray()
    try:
        async with asyncio.timeout(settings.body_timeout):
            async for chunk in request.stream():
                body += chunk
                # A chunked body states no length, and a stated one may be wrong.
                if len(body) > limit:
                    raise TooLargeError(f"limit is {limit}")
    except TimeoutError:
        raise SlowBodyError("timed out reading the request body") from None
    return bytes(body)


async def read_object(request: Request, settings: Settings) -> bytes:
    """Read the body, an object in JSON or YAML, as JSON.

    Raises UnsupportedMediaTypeError, DocumentError, and what ``read_body`` raises.
    """
    content_type = content_type_of(request)
    # Without a Content-Type it is JSON, as for API servers.
    if content_type not in ("", JSON_TYPE, YAML_TYPE):
        raise UnsupportedMediaTypeError(
            "the body of the request was in an unknown format - accepted media types "
            f"include: {JSON_TYPE}, {YAML_TYPE}",
            hint=_PROTOBUF_HINT if content_type == _PROTOBUF else "",
        )
    body = await read_body(request, settings)
    if content_type == YAML_TYPE:
        return await offload(len(body), _yaml_to_json, body)
    return body


def _yaml_to_json(body: bytes) -> bytes:
    return codec.encode(read_one(body, source="the body").value)
