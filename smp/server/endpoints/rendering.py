"""Objects in the form that the client asked for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from starlette.responses import Response

from smp._values import codec
from smp._values.values import JSONObject, as_object
from smp.documents import dump_yaml
from smp.server.endpoints.answers import YAML_TYPE, respond
from smp.server.endpoints.call import Call
from smp.server.objects.tables import parse_include, scale_columns, table
from smp.server.registry.envelope import metadata_only

# Seconds for each byte.
_DECODE: Final = 3e-8
_YAML: Final = 2e-6


async def object_response(
    call: Call, body: bytes, *, code: int = 200, warnings: Iterable[str] = ()
) -> Response:
    """Answer an object, given as JSON."""
    # The usual case needs no decoding.
    if call.format.is_stored_form:
        return respond(body, code=code, warnings=warnings)
    content_type = call.format.content_type

    def rendered() -> bytes:
        return encode_as(content_type, render(call, as_object(codec.decode(body))))

    answer = await call.work(seconds_to_render(call, len(body)), rendered)
    return respond(answer, code=code, content_type=content_type, warnings=warnings)


def seconds_to_render(call: Call, size: int) -> float:
    """Estimate how long it takes to make the answer of so many stored bytes."""
    if call.format.content_type == YAML_TYPE:
        return size * _YAML
    # The cells of the columns of a custom resource look at the whole object.
    columns = len(call.kind.columns) if call.format.form == "table" else 0
    return size * _DECODE * (1 + columns)


def render(call: Call, obj: JSONObject) -> JSONObject:
    """Return an object in the form that was asked for."""
    if call.format.form == "metadata":
        return metadata_only(obj)
    if call.format.form == "table":
        # The Table of one object has its resourceVersion (Go:
        # defaultTableConvertor.ConvertToTable).
        version = as_object(obj.get("metadata")).get("resourceVersion")
        metadata: JSONObject = {"resourceVersion": version} if version else {}
        return render_table(call, [obj], metadata)
    return obj


def render_table(
    call: Call, objects: Iterable[JSONObject], metadata: JSONObject
) -> JSONObject:
    """Return objects as a Table; ``metadata`` is that of the Table itself."""
    is_scale = call.target.subresource == "scale"
    return table(
        objects,
        scale_columns() if is_scale else call.kind.columns,
        now=datetime.now(UTC),
        include=parse_include(call.query.get("includeObject", "")),
        metadata=metadata,
    )


def encode_as(content_type: str, obj: JSONObject) -> bytes:
    """Encode an object as JSON or YAML."""
    return dump_yaml([obj]).encode() if content_type == YAML_TYPE else codec.encode(obj)
