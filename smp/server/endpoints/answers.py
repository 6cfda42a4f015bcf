"""Answers: objects in the form that was asked for, and errors as a Status."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

from starlette.responses import Response

from smp import codec
from smp.documents import dump_yaml
from smp.errors import SmpError
from smp.handler import Refused, to_status, warning_headers
from smp.server.endpoints.call import Call
from smp.server.endpoints.negotiation import JSON_TYPE, YAML_TYPE, Answer, Form
from smp.server.objects.tables import parse_include, table
from smp.server.registry.envelope import partial
from smp.server.registry.target import Target
from smp.values import JSONObject

_RETRY_AFTER: Final = {429: "1", 503: "1", 504: "1"}  # seconds


def answer(
    call: Call, body: bytes, *, code: int = 200, warnings: Iterable[str] = ()
) -> Response:
    """Answer an object, given as JSON."""
    if call.answer == Answer():
        return respond(body, code=code, warnings=warnings)
    obj = codec.decode(body)
    whole = obj if isinstance(obj, dict) else {}
    content_type = call.answer.content_type
    printed_ = printed(shown(call, whole), content_type)
    return respond(printed_, code=code, content_type=content_type, warnings=warnings)


def shown(call: Call, obj: JSONObject) -> JSONObject:
    """Return an object in the form that was asked for."""
    return _FORMS[call.answer.form](call, obj)


def printed(obj: JSONObject, content_type: str) -> bytes:
    """Print an object as JSON or YAML."""
    return dump_yaml([obj]).encode() if content_type == YAML_TYPE else codec.encode(obj)


def respond(
    body: bytes,
    *,
    code: int = 200,
    content_type: str = JSON_TYPE,
    warnings: Iterable[str] = (),
) -> Response:
    """Make a response."""
    response = Response(
        body, code, {"cache-control": "no-cache, private"}, content_type
    )
    response.raw_headers.extend(
        (b"warning", value) for value in warning_headers(warnings)
    )
    return response


def refused(error: SmpError, target: Target | None = None) -> Response:
    """Answer an error, which may be about what a path names."""
    if target is None:
        return refuse(to_status(error))
    resource = target.resource
    return refuse(
        to_status(
            error,
            name=target.name,
            group=resource.group,
            kind=resource.kind,
            resource=resource.plural,
        )
    )


def refuse(refused: Refused) -> Response:
    """Answer a refusal."""
    response = respond(refused.body, code=refused.code, warnings=refused.warnings)
    if refused.code in _RETRY_AFTER:
        response.headers["retry-after"] = _RETRY_AFTER[refused.code]
    if refused.code == 401:
        response.headers["www-authenticate"] = "Bearer"
    return response


def rows(call: Call, objects: Iterable[JSONObject], metadata: JSONObject) -> JSONObject:
    """Return the table of objects."""
    include = parse_include(call.query.get("includeObject", ""))
    return table(
        objects,
        call.kind.columns,
        now=datetime.now(UTC),
        include=include,
        metadata=metadata,
    )


def _row(call: Call, obj: JSONObject) -> JSONObject:
    metadata = obj.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    return rows(call, [obj], {"resourceVersion": version} if version else {})


_FORMS: Final[dict[Form, Callable[[Call, JSONObject], JSONObject]]] = {
    "object": lambda _, obj: obj,
    "table": _row,
    "metadata": lambda _, obj: partial(obj),
}
