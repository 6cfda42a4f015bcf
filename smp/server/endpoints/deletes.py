"""Deleting one object, or all that are selected."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.responses import Response

from smp._values import codec
from smp._values.values import JSONObject
from smp.handler import NotFoundError
from smp.server.endpoints.answers import respond
from smp.server.endpoints.bodies import read_delete_options
from smp.server.endpoints.call import Call
from smp.server.endpoints.lists import Selected, select, store_list
from smp.server.endpoints.rendering import object_response
from smp.server.objects.deletion import DeleteOptions
from smp.server.objects.metadata import metadata_of
from smp.server.registry.deletion import remove
from smp.server.registry.envelope import served, unpack
from smp.server.registry.objects import find
from smp.server.registry.target import Target
from smp.server.store import Stored


async def delete(call: Call) -> Response:
    """Delete an object.

    The answer is a Status; while finalizers or contents remain, it is the object.
    """
    options = await _delete_options(call)
    await call.begin_admission("DELETE", options.stated)
    await _review(call, call.target)
    resource = call.target.resource
    removal = await remove(call.state, call.target, options=options)
    warnings = options.warnings(resource)
    if not removal.is_deleted or resource.strategy.answers_deleted:
        body = served(removal.stored, resource)
        return await object_response(call, body, warnings=warnings)
    # The object is gone: the answer is a Status with its uid, as of an API server.
    details: JSONObject = {"name": call.target.name}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    uid = metadata_of(unpack(removal.stored, resource)).get("uid")
    if uid:
        details["uid"] = uid
    status: JSONObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
    return respond(codec.encode(status), warnings=warnings)


async def delete_collection(call: Call) -> Response:
    """Delete the objects that are selected, and answer them as a list."""
    options = await _delete_options(call)
    await call.begin_admission("DELETE", options.stated)
    # limit and continue hold here, too: clients may delete page by page.
    selected = await select(call, call.list_options)
    removed: list[Stored] = []
    for item in selected.items:
        # One that was deleted meanwhile is left out.
        with suppress(NotFoundError):
            await _review(call, call.target.at(item.key))
            removal = await remove(
                call.state, call.target.at(item.key), options=options
            )
            removed.append(removal.stored)
        # Other requests are answered, even if the store never waits.
        await asyncio.sleep(0)
    return await store_list(call, Selected(tuple(removed), selected.metadata))


async def _review(call: Call, target: Target) -> None:
    """Ask webhooks and policies about the deletion of an object."""
    if call.admission is not None:
        stored = await find(call.state, target)
        old = unpack(stored, target.resource)
        await call.work(0, call.admission.review, old, None)


async def _delete_options(call: Call) -> DeleteOptions:
    """Read the options from the body of the request, or else from its query."""
    return DeleteOptions.read(await read_delete_options(call), call.query)
