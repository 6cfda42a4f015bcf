"""HTTP responses: JSON bodies with warnings, and errors as a Status."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.responses import Response

from smp.errors import SmpError
from smp.handler import Refused, to_status, warning_headers
from smp.server.endpoints.negotiation import JSON_TYPE
from smp.server.registry.target import Target

_UNAUTHORIZED: Final = 401
# Seconds after which a client may try again; client-go obeys this header.
_RETRY_AFTER: Final = {429: "1", 503: "1", 504: "1"}


def respond(
    body: bytes,
    *,
    code: int = 200,
    content_type: str = JSON_TYPE,
    warnings: Iterable[str] = (),
) -> Response:
    """Make a response."""
    headers = {"cache-control": "no-cache, private"}
    response = Response(body, code, headers, content_type)
    # Several headers of one name: Response takes a mapping, which cannot have them.
    for value in warning_headers(warnings):
        response.raw_headers.append((b"warning", value))
    return response


def error_response(error: SmpError, target: Target | None = None) -> Response:
    """Answer an error; ``target`` is the object or the collection that it concerns."""
    if target is None:
        return status_response(to_status(error))
    resource = target.resource
    status = to_status(
        error,
        name=target.name,
        group=resource.storage_group,
        kind=resource.kind,
        resource=resource.plural,
    )
    return status_response(status)


def status_response(refused: Refused) -> Response:
    """Answer the Status of a request that was refused."""
    response = respond(refused.body, code=refused.code, warnings=refused.warnings)
    if refused.code in _RETRY_AFTER:
        response.headers["retry-after"] = _RETRY_AFTER[refused.code]
    if refused.code == _UNAUTHORIZED:
        # Required by RFC 9110, 15.5.2.
        response.headers["www-authenticate"] = "Bearer"
    return response
