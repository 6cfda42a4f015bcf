"""Deleting one object, or all that are selected."""

from __future__ import annotations

from contextlib import suppress

from starlette.responses import Response

from smp import codec
from smp.handler import NotFoundError, UnsupportedMediaTypeError
from smp.server.endpoints.answers import answer, respond
from smp.server.endpoints.call import Call
from smp.server.endpoints.lists import selected
from smp.server.endpoints.negotiation import JSON_TYPE
from smp.server.endpoints.query import ListOptions
from smp.server.objects.deletion import DeleteOptions
from smp.server.objects.metadata import metadata_of
from smp.server.registry.envelope import served, served_list, unpacked
from smp.server.registry.removal import Removal, remove
from smp.server.registry.target import Target
from smp.server.store import Stored
from smp.values import JSONObject


async def delete(call: Call) -> Response:
    """Delete an object: answer what is left of it while its finalizers, or its
    contents, are there.
    """
    options = await _options(call)
    removal = await remove(
        call.api,
        call.target,
        check=options.check_preconditions,
        dry_run=options.is_dry_run,
    )
    if removal.gone:
        return respond(codec.encode(_success(call.target, removal)))
    return answer(call, served(removal.stored, call.target.resource))


async def delete_collection(call: Call) -> Response:
    """Delete the objects that are selected, and answer them."""
    options, listing = await _options(call), ListOptions.read(call.query)
    page = await selected(call.api, call.target, listing)
    removed: list[Stored] = []
    for one in page.items:
        with suppress(NotFoundError):
            removed.append(
                (
                    await remove(
                        call.api, call.target.at(one.key), dry_run=options.is_dry_run
                    )
                ).stored
            )
    return respond(served_list(removed, page.metadata, call.target.resource))


async def _options(call: Call) -> DeleteOptions:
    body = await call.body()
    if body and call.content_type not in ("", JSON_TYPE):
        raise UnsupportedMediaTypeError(f"DeleteOptions are read as {JSON_TYPE}")
    return DeleteOptions.read(codec.decode(body) if body.strip() else None, call.query)


def _success(target: Target, removal: Removal) -> JSONObject:
    resource = target.resource
    about: JSONObject = {
        "name": target.name,
        "group": resource.group,
        "kind": resource.plural,
    }
    uid = metadata_of(unpacked(removal.stored, resource)).get("uid")
    details: JSONObject = {
        name: value for name, value in {**about, "uid": uid}.items() if value
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
