"""Containers that are being deleted are emptied in the background, and deleted when
they are empty.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, suppress
from typing import Final

from smp.errors import SmpError
from smp.handler import ModifiedError, NotFoundError
from smp.server.objects.metadata import metadata_of
from smp.server.registry.admission import admit_new
from smp.server.registry.api import API
from smp.server.registry.envelope import unpacked
from smp.server.registry.parents import PERMANENT, contents
from smp.server.registry.removal import remove
from smp.server.registry.snapshots import snapshot
from smp.server.registry.storing import delete, find, insert
from smp.server.registry.target import Target
from smp.values import JSONObject

_LOG: Final = logging.getLogger("smp.server")
_INITIAL: Final = (*PERMANENT, "kube-node-lease")
_PAUSE: Final = 1.0  # seconds before another try


async def prepare(api: API) -> None:
    """Create the namespaces that every cluster has, and go on with deletions that
    another process left unfinished.
    """
    namespaces = Target(api.kinds.resources.find("", "v1", "namespaces"))
    for name in _INITIAL:
        given: JSONObject = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name},
        }
        obj = admit_new(
            given, api.kinds.of(namespaces.resource), "", api.circumstances()
        )
        await insert(api, namespaces.named(name), obj)
    for collection in (namespaces, api.kinds.crds):
        for stored in (await api.store.list(collection.prefix)).items:
            api.leaving.put_nowait(collection.at(stored.key))


async def sweep(api: API) -> None:
    """Empty and delete the parents that are being deleted, without end."""
    while True:
        parent = await api.leaving.get()
        try:
            await _sweep(api, parent)
        except NotFoundError:
            continue
        except SmpError as error:
            fields = {"name": parent.name, "error": str(error)}
            _LOG.warning("a parent cannot be emptied yet", extra={"fields": fields})
            await asyncio.sleep(_PAUSE)
            api.leaving.put_nowait(parent)


async def _sweep(api: API, parent: Target) -> None:
    stored = await find(api, parent)
    metadata = metadata_of(unpacked(stored, parent.resource))
    if "deletionTimestamp" not in metadata:
        return
    waiting = 0
    for collection in contents(api, parent):
        waiting += await _remove_all(api, collection)
    if (
        not waiting
        and not metadata.get("finalizers")
        and not await delete(api, parent, stored)
    ):
        raise ModifiedError


async def _remove_all(api: API, collection: Target) -> int:
    """Delete the objects of a collection; return how many wait for their finalizers."""
    waiting = 0
    async with aclosing(snapshot(api.store, collection.prefix)) as pages:
        async for page in pages:
            for stored in page.items:
                with suppress(NotFoundError):
                    waiting += not (await remove(api, collection.at(stored.key))).gone
    return waiting
