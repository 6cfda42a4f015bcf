"""Lists: pages of a snapshot, of what labels and fields select."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from smp.server.endpoints.answers import printed, respond, rows
from smp.server.endpoints.call import Call
from smp.server.endpoints.negotiation import JSON_TYPE
from smp.server.endpoints.query import Continue, ListOptions
from smp.server.endpoints.selection import scope, selection
from smp.server.registry.api import API
from smp.server.registry.envelope import partial, served_list, unpacked
from smp.server.registry.snapshots import check_reached, from_another_store, snapshot
from smp.server.registry.target import Target
from smp.server.registry.turns import apart
from smp.server.store import Page, Store, Stored
from smp.values import JSON, JSONObject

_PARTIAL: Final = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList"}


@dataclass(frozen=True, slots=True)
class Selected:
    """The objects of one page, and the metadata of their list."""

    items: tuple[Stored, ...]
    metadata: JSONObject


async def list_objects(call: Call) -> Response:
    """Answer a list."""
    listed = await selected(call.api, call.target, ListOptions.read(call.query))
    form, content_type = call.answer
    if (form, content_type) == ("object", JSON_TYPE):
        return respond(served_list(listed.items, listed.metadata, call.target.resource))
    body = await apart(
        sum(len(one.value) for one in listed.items), _printed, call, listed
    )
    return respond(body, content_type=content_type)


def _printed(call: Call, listed: Selected) -> bytes:
    objects = [unpacked(one, call.target.resource) for one in listed.items]
    return printed(_shown(call, objects, listed.metadata), call.answer.content_type)


def _shown(call: Call, objects: list[JSONObject], metadata: JSONObject) -> JSONObject:
    if call.answer.form == "table":
        return rows(call, objects, metadata)
    if call.answer.form == "metadata":
        return {**_PARTIAL, "metadata": metadata, "items": [*map(partial, objects)]}
    resource = call.target.resource
    items: list[JSON] = [*objects]
    return {
        "apiVersion": resource.api_version,
        "kind": resource.list_kind,
        "metadata": metadata,
        "items": items,
    }


async def selected(api: API, target: Target, options: ListOptions) -> Selected:
    """Return what is selected, from one snapshot. Raises Expired and LostRevisionError."""
    selects = selection(options)
    found: list[Stored] = []
    with from_another_store():
        async with aclosing(_read(api.store, target, options)) as pages:
            async for page in pages:
                check_reached(options.revision, page.revision)
                for index, item in enumerate(page.items, 1):
                    if selects(item.value):
                        found.append(item)
                    if options.limit and len(found) == options.limit:
                        left = page.remaining + len(page.items) - index
                        return Selected(
                            tuple(found),
                            _metadata(options, page.revision, item.key, left),
                        )
    return Selected(tuple(found), _metadata(options, page.revision, "", 0))


def _read(
    store: Store, target: Target, options: ListOptions
) -> AsyncGenerator[Page, None]:
    after, revision = "", (options.revision or 0) if options.exact else 0
    if options.after:
        after, revision = options.after.after, options.after.revision
    prefix = scope(target, options)
    if options.limit and not options.selects:
        return snapshot(
            store, prefix, after=after, revision=revision, size=options.limit
        )
    return snapshot(store, prefix, after=after, revision=revision)


def _metadata(options: ListOptions, revision: int, after: str, left: int) -> JSONObject:
    metadata: JSONObject = {"resourceVersion": str(revision)}
    if left:
        metadata["continue"] = Continue(revision, after).token
    if left and not options.selects:
        metadata["remainingItemCount"] = left
    return metadata
