"""The form of an answer that a client accepts, and what all answers have.

Sources: RFC 9110, 12.5.1 (Accept), and the parameters ``as``, ``g`` and ``v`` of
Kubernetes ("Receiving resources as Tables" in its documentation).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import msgspec
from starlette.responses import Response

from smp.errors import SmpError
from smp.handler import Refused, to_status, warning_headers
from smp.server.errors import RefusalError
from smp.server.registry.target import Target

Form: TypeAlias = Literal["object", "table", "metadata"]

JSON_TYPE: Final = "application/json"
YAML_TYPE: Final = "application/yaml"


class AnswerFormat(msgspec.Struct, frozen=True):
    """How to answer an object: whole, as a table row or its metadata; JSON or YAML."""

    form: Form = "object"
    content_type: str = JSON_TYPE

    @property
    def is_stored_form(self) -> bool:
        """Whether stored objects can be answered without decoding them."""
        return self.form == "object" and self.content_type == JSON_TYPE


# By the parameters as, g (group) and v (version).
_FORMS: Final[dict[tuple[str, str, str], Form]] = {
    ("", "", ""): "object",
    ("Table", "meta.k8s.io", "v1"): "table",
    ("PartialObjectMetadata", "meta.k8s.io", "v1"): "metadata",
    ("PartialObjectMetadataList", "meta.k8s.io", "v1"): "metadata",
}
_CONTENT_TYPES: Final = {
    JSON_TYPE: JSON_TYPE,
    "application/*": JSON_TYPE,
    "*/*": JSON_TYPE,
    YAML_TYPE: YAML_TYPE,
}


class _MediaRange(msgspec.Struct, frozen=True):
    """One element of an Accept header."""

    media_type: str
    parameters: dict[str, str]
    quality: float


# Most requests have one of a few headers.
@lru_cache(maxsize=64)
def negotiate(accept: str) -> AnswerFormat:
    """Choose the answer that an Accept header prefers. Raises RefusalError."""
    # Without an Accept header any type is acceptable (RFC 9110, 12.5.1).
    ranges = [_parse_range(text) for text in (accept or "*/*").split(",")]
    # The sort is stable: of equal qualities the first counts.
    ranges.sort(key=lambda media_range: media_range.quality, reverse=True)
    for media_range in ranges:
        parameters = media_range.parameters
        form = _FORMS.get(
            (parameters.get("as", ""), parameters.get("g", ""), parameters.get("v", ""))
        )
        content_type = _CONTENT_TYPES.get(media_range.media_type)
        # Unknown forms and types are skipped: kubectl asks for a Table first and for
        # plain JSON next. A quality of 0 means "not acceptable" (RFC 9110, 12.4.2).
        if media_range.quality > 0 and form and content_type:
            return AnswerFormat(form, content_type)
    raise RefusalError(
        406,
        "only the following media types are accepted: application/json, "
        "application/yaml",
    )


def media_type(content_type: str) -> str:
    """Return a Content-Type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def _parse_range(text: str) -> _MediaRange:
    """Parse ``TYPE/SUBTYPE;NAME=VALUE;...``."""
    name, *rest = text.split(";")
    parameters: dict[str, str] = {}
    for parameter in rest:
        key, _, value = parameter.partition("=")
        parameters[key.strip()] = value.strip()
    # A quality that cannot be read makes the range unacceptable, not the request.
    try:
        quality = float(parameters.get("q", "1"))
    except ValueError:
        quality = 0
    return _MediaRange(name.strip().lower(), parameters, quality)


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
    # As a server ends it (Go: apimachinery runtime/serializer/json, Serializer.Encode).
    if content_type == JSON_TYPE and not body.endswith(b"\n"):
        body += b"\n"
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
