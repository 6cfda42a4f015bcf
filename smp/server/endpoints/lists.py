"""Lists: the objects of a snapshot that labels and fields select, in pages."""

from __future__ import annotations

from contextlib import aclosing, nullcontext
from typing import Final

import msgspec
from starlette.responses import Response

from smp._values.values import JSON, JSONObject
from smp.server.endpoints.answers import respond
from smp.server.endpoints.call import Call
from smp.server.endpoints.list_options import (
    Continue,
    ListOptions,
    key_prefix,
)
from smp.server.endpoints.rendering import (
    encode_as,
    render_table,
    seconds_to_render,
)
from smp.server.endpoints.reviews import components
from smp.server.registry.envelope import make_served_list, metadata_only, unpack
from smp.server.registry.objects import lost_revisions, snapshot
from smp.server.store import Stored, check_reached

_COPY: Final = 5e-9  # seconds for each byte
_METADATA_LIST: Final = {
    "apiVersion": "meta.k8s.io/v1",
    "kind": "PartialObjectMetadataList",
}


class Selected(msgspec.Struct, frozen=True):
    """The objects of one page of a list, and the metadata of the list."""

    items: tuple[Stored, ...]
    metadata: JSONObject


async def list_objects(call: Call) -> Response:
    """Answer a list."""
    if call.target.resource.is_stored:
        options = call.list_options
        selected = await select(call, options)
    else:
        selected = Selected(await components(call), {})
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
    """Return a list in the form that was asked for, encoded."""
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


async def select(call: Call, options: ListOptions) -> Selected:
    """Return the selected objects, all of one snapshot.

    Raises Expired, FutureRevisionError and LostRevisionError.
    """
    # A resourceVersion that is not to be matched exactly asks for a list that is not
    # older. The newest always is, so revision 0, the newest, is read.
    store, target = call.state.store, call.target
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
