"""Objects and lists of them in the form that the client asked for.

A list has the objects of a snapshot that labels and fields select, in pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing, nullcontext
from datetime import UTC, datetime
from typing import Final

import msgspec
from starlette.responses import Response

from smp._values import codec
from smp._values.values import JSON, JSONObject, as_object
from smp.documents import dump_yaml
from smp.server.endpoints.answers import YAML_TYPE, respond
from smp.server.endpoints.call import Call
from smp.server.endpoints.list_options import Continue, key_prefix
from smp.server.objects.tables import parse_include, scale_columns, table
from smp.server.registry.envelope import make_served_list, metadata_only, unpack
from smp.server.registry.objects import lost_revisions, snapshot
from smp.server.store import Stored, check_reached

# Seconds for each byte.
_DECODE: Final = 3e-8
_YAML: Final = 2e-6

_COPY: Final = 5e-9
_METADATA_LIST: Final = {
    "apiVersion": "meta.k8s.io/v1",
    "kind": "PartialObjectMetadataList",
}


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
    return table(
        objects,
        scale_columns() if call.target.subresource == "scale" else call.kind.columns,
        now=datetime.now(UTC),
        include=parse_include(call.query.get("includeObject", "")),
        metadata=metadata,
    )


def encode_as(content_type: str, obj: JSONObject) -> bytes:
    """Encode an object as JSON or YAML."""
    return dump_yaml([obj]).encode() if content_type == YAML_TYPE else codec.encode(obj)


class Selected(msgspec.Struct, frozen=True):
    """The objects of one page of a list, and the metadata of the list."""

    items: tuple[Stored, ...]
    metadata: JSONObject


async def list_objects(call: Call) -> Response:
    """Answer a list."""
    return await answer_list(call, await select(call))


async def answer_list(call: Call, selected: Selected) -> Response:
    """Answer a list in the form that was asked for."""
    if call.format.is_stored_form:
        return await store_list(call, selected)
    size = sum(len(item.value) for item in selected.items)
    await call.reserve(size)
    seconds = seconds_to_render(call, size)
    body = await call.work(seconds, _render_list, call, selected)
    return respond(body, content_type=call.format.content_type)


async def store_list(call: Call, selected: Selected) -> Response:
    """Answer a list in the usual form, which is joined from stored bytes."""
    size = sum(len(item.value) for item in selected.items)
    await call.reserve(size)
    body = await call.work(
        size * _COPY,
        make_served_list,
        selected.items,
        selected.metadata,
        call.target.resource,
    )
    return respond(body)


def _render_list(call: Call, selected: Selected) -> bytes:
    resource, metadata = call.target.resource, selected.metadata
    objects = [unpack(item, resource) for item in selected.items]
    if call.format.form == "table":
        rendered = render_table(call, objects, metadata)
    elif call.format.form == "metadata":
        items: list[JSON] = [metadata_only(obj) for obj in objects]
        rendered = {**_METADATA_LIST, "metadata": metadata, "items": items}
    else:
        rendered = {
            "apiVersion": resource.api_version,
            "kind": resource.list_kind,
            "metadata": metadata,
            "items": [*objects],
        }
    return encode_as(call.format.content_type, rendered)


async def select(call: Call) -> Selected:
    """Return the selected objects, all of one snapshot.

    Raises Expired, FutureRevisionError and RefusalError.
    """
    # A resourceVersion that is not to be matched exactly asks for a list that is not
    # older. The newest always is, so revision 0, the newest, is read.
    store, target, options = call.state.store, call.target, call.list_options
    after, revision = "", 0
    if options.after:
        after, revision = options.after.after, options.after.revision
    elif options.exact:
        revision = options.revision or 0
    prefix = key_prefix(target, options)
    if options.limit and not options.has_selector:
        # Every object is selected, so no more than the limit needs to be read.
        pages = snapshot(
            store, prefix, after=after, revision=revision, size=options.limit
        )
    else:
        pages = snapshot(store, prefix, after=after, revision=revision)
    items: list[Stored] = []
    # A token of a list that goes on is from this server: its history was lost.
    with lost_revisions() if options.after else nullcontext():
        async with aclosing(pages):
            async for page in pages:
                # "Not older than" a revision that this store never had cannot be met.
                check_reached(options.revision or 0, page.revision)
                room = options.limit - len(items) if options.limit else None
                taken, read = await call.work(
                    options.seconds_to_select(page.items),
                    options.select,
                    page.items,
                    room,
                )
                items += taken
                if options.limit and len(items) == options.limit:
                    remaining = page.remaining + len(page.items) - read
                    metadata: JSONObject = {"resourceVersion": str(page.revision)}
                    if remaining:
                        rest = Continue(page.revision, items[-1].key)
                        metadata["continue"] = rest.token
                    # With a selector the number is not known (API conventions).
                    if remaining and not options.has_selector:
                        metadata["remainingItemCount"] = remaining
                    return Selected(tuple(items), metadata)
    return Selected(tuple(items), {"resourceVersion": str(page.revision)})
