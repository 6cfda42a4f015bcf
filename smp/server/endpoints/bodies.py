"""Reading the bodies of requests."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from starlette.requests import Request

from smp._storage import protobuf
from smp._values import codec
from smp._values.values import JSON
from smp.documents import read_one
from smp.handler import TooLargeError, UnsupportedMediaTypeError
from smp.handler.headers import read_header
from smp.server.endpoints.answers import JSON_TYPE, YAML_TYPE, media_type
from smp.server.endpoints.call import Call
from smp.server.errors import RefusalError

# An escaped pair of surrogates, another escaped one (the group), and any escape.
_ESCAPES: Final = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL
)
_DECODE: Final = 1e-6  # seconds to read a byte of YAML or protobuf


def content_type_of(request: Request) -> str:
    """Return the type of the body, without parameters."""
    return media_type(read_header(request.scope, b"content-type"))


async def read_body(call: Call) -> bytes:
    """Read the body, which takes no place of the requests in flight until it is there.

    Raises TooLargeError and RefusalError.
    """
    state, settings = call.state, call.state.settings
    limit = settings.limits.body
    # A body that states its length is refused before it is read.
    stated = read_header(call.request.scope, b"content-length")
    if stated.isdecimal() and int(stated) > limit:
        raise TooLargeError(f"limit is {limit}")
    body = bytearray()
    state.incomplete += 1
    try:
        async with asyncio.timeout(settings.body_timeout):
            async for chunk in call.request.stream():
                body += chunk
                state.arriving += len(chunk)
                # A chunked body states no length, and a stated one may be wrong.
                if len(body) > limit:
                    raise TooLargeError(f"limit is {limit}")
                if state.arriving > settings.max_arriving:
                    raise RefusalError(429, "too many requests with large bodies")
    except TimeoutError:
        raise RefusalError(408, "timed out reading the request body") from None
    finally:
        state.arriving -= len(body)
        state.incomplete -= 1
    if state.requests_under_way > settings.max_in_flight:
        raise RefusalError(429, "too many requests, please try again later")
    return bytes(body)


def drop_lone_surrogates(text: bytes) -> bytes:
    """Return JSON without escaped surrogates that are not of a pair.

    No text has such a character; Go reads it as U+FFFD (encoding/json, unquoteBytes).
    """
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _ESCAPES.sub(lambda found: b"\\ufffd" if found[1] else found[0], text)


async def read_object(call: Call) -> bytes:
    """Read the body, an object of the kind that the path names, as JSON.

    Raises UnsupportedMediaTypeError, DocumentError, ProtobufError, and what
    ``read_body`` raises.
    """
    resource = call.target.resource
    # A Scale and an Eviction are of kinds of their own.
    sent = resource.subresources.get(call.target.subresource, resource)
    api_version, kind = sent.api_version, sent.kind
    # A Scale is of a built-in kind, also that of a custom resource.
    is_custom = call.kind.defined is not None and kind == resource.kind
    has_message = not is_custom and protobuf.has_message(api_version, kind)
    content_type = _accept_type(call.request, has_message=has_message)
    body = await read_body(call)
    return await _as_json(call, body, content_type, api_version, kind)


async def read_delete_options(call: Call) -> JSON:
    """Read the body, DeleteOptions; None where there is no body.

    Raises what ``read_object`` raises.
    """
    body = await read_body(call)
    # Without a body, the options are those of the query, whatever the Content-Type is.
    if not body.strip():
        return None
    content_type = _accept_type(call.request, has_message=True)
    options = await _as_json(call, body, content_type, "v1", "DeleteOptions")
    return codec.decode(options)


def _accept_type(request: Request, *, has_message: bool) -> str:
    """Return the type of the body. Raises UnsupportedMediaTypeError.

    Custom resources have no form in protobuf.
    """
    # Without a Content-Type it is JSON, as for API servers.
    content_type = content_type_of(request) or JSON_TYPE
    accepted = [JSON_TYPE, YAML_TYPE]
    if has_message:
        accepted.append(protobuf.MEDIA_TYPE)
    if content_type not in accepted:
        raise UnsupportedMediaTypeError(
            "the body of the request was in an unknown format - accepted media types "
            f"include: {', '.join(accepted)}"
        )
    return content_type


async def _as_json(
    call: Call, body: bytes, content_type: str, api_version: str, kind: str
) -> bytes:
    limit = call.state.settings.limits.body

    def converted() -> bytes:
        if content_type == YAML_TYPE:
            return codec.encode(read_one(body, source="the body").value)
        try:
            return codec.encode(protobuf.decode(body, api_version, kind, limit))
        except protobuf.ProtobufTooLargeError:
            raise TooLargeError(f"limit is {limit}") from None

    if content_type == JSON_TYPE:
        return drop_lone_surrogates(body)
    return await call.work(len(body) * _DECODE, converted)
