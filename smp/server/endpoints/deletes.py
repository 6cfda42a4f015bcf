"""Deleting one object, or all that are selected."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.responses import Response

from smp import codec
from smp.handler import NotFoundError
from smp.server.endpoints.bodies import read_delete_options
from smp.server.endpoints.call import Call
from smp.server.endpoints.lists import Selected, select, stored_list
from smp.server.endpoints.rendering import object_response
from smp.server.endpoints.responses import respond
from smp.server.objects.deletion import DeleteOptions
from smp.server.objects.metadata import metadata_of
from smp.server.registry.deletion import remove
from smp.server.registry.envelope import served, unpack
from smp.server.store import Stored
from smp.values import JSONObject


async def delete(call: Call) -> Response:
    """Delete an object.

    The answer is a Status; while finalizers or contents remain, it is the object.
    """
    options = await _delete_options(call)
    resource = call.target.resource
    removal = await remove(
        call.state,
        call.target,
        check=options.check_preconditions,
        dry_run=options.is_dry_run,
    )
    if not removal.is_deleted or resource.answers_deleted:
        return await object_response(call, served(removal.stored, resource))
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
    return respond(codec.encode(status))


async def delete_collection(call: Call) -> Response:
    """Delete the objects that are selected, and answer them as a list."""
    options = await _delete_options(call)
    # limit and continue hold here, too: clients may delete page by page.
    selected = await select(call, call.list_options)
    removed: list[Stored] = []
    for item in selected.items:
        # One that was deleted meanwhile is left out.
        with suppress(NotFoundError):
            removal = await remove(
                call.state, call.target.at(item.key), dry_run=options.is_dry_run
            )
            removed.append(removal.stored)
        # Other requests are answered, even if the store never waits.
        await asyncio.sleep(0)
    return await stored_list(call, Selected(tuple(removed), selected.metadata))


async def _delete_options(call: Call) -> DeleteOptions:
    """Read the options from the body of the request, or else from its query."""
    return DeleteOptions.read(await read_delete_options(call), call.query)
