"""The garbage collector, once, where a test asks for it.

Go: k8s.io/kubernetes, pkg/controller/garbagecollector. What it does one after another
in a cluster is done here until nothing is left to do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import msgspec

from smp._values.api_objects import metadata_of, set_metadata
from smp._values.values import JSONObject, as_list, as_text, objects_in
from smp.handler import NotFoundError
from smp.server.registry.deletion import remove
from smp.server.registry.envelope import unpack
from smp.server.registry.objects import replace
from smp.server.registry.state import ServerState
from smp.server.registry.target import Target
from smp.server.store import Stored

_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"


class _Collected(msgspec.Struct, frozen=True):
    """An object of the store."""

    target: Target
    stored: Stored
    object: JSONObject

    @property
    def uid(self) -> str:
        return as_text(metadata_of(self.object).get("uid"))

    @property
    def owners(self) -> list[str]:
        references = objects_in(metadata_of(self.object).get("ownerReferences"))
        return [as_text(reference.get("uid")) for reference in references]

    def waits_for(self, finalizer: str) -> bool:
        """Tell whether its deletion waits for a finalizer of the collector."""
        metadata = metadata_of(self.object)
        finalizers = as_list(metadata.get("finalizers"))
        return "deletionTimestamp" in metadata and finalizer in finalizers

    def without(self, finalizer: str) -> JSONObject:
        finalizers = as_list(metadata_of(self.object).get("finalizers"))
        kept = [name for name in finalizers if name != finalizer]
        return set_metadata(self.object, finalizers=[*kept])

    def without_owners(self, uids: set[str]) -> JSONObject:
        references = objects_in(metadata_of(self.object).get("ownerReferences"))
        kept = [each for each in references if each.get("uid") not in uids]
        return set_metadata(self.object, ownerReferences=[*kept])


async def collect_garbage(state: ServerState) -> list[str]:
    """Delete the dependents of what is gone, and what waits for that.

    Returns the resources and names of what was deleted: ``pods/web-1``.
    """
    deleted: list[str] = []
    while found := await _collect(state, [item async for item in _objects(state)]):
        deleted += found
    return [name for name in deleted if name]


async def _objects(state: ServerState) -> AsyncIterator[_Collected]:
    resources = {resource.key: resource for resource in state.kinds.resources}
    page = await state.store.list("")
    for stored in page.items:
        group, plural, *_ = stored.key.split("/")
        resource = resources.get(("" if group == "core" else group, plural))
        if resource is not None:
            target = Target(resource).at(stored.key)
            yield _Collected(target, stored, unpack(stored, resource))


async def _collect(state: ServerState, objects: list[_Collected]) -> list[str]:
    """Do what is to be done now; empty names are those of what was only changed.

    Go: attemptToDeleteItem, orphanDependents, processDeletingDependentsItem.
    """
    by_uid = {item.uid: item for item in objects}
    done: list[str] = []
    for item in objects:
        dropped, gone = [], []
        for uid in item.owners:
            owner = by_uid.get(uid)
            if owner is not None and owner.waits_for(_ORPHAN):
                dropped.append(uid)
            elif owner is None or owner.waits_for(_FOREGROUND):
                gone.append(uid)
        # Another owner that stays keeps it.
        if dropped or 0 < len(gone) < len(item.owners):
            changed = item.without_owners({*dropped, *gone})
            await replace(state, item.target, item.stored, changed)
            done.append("")
        elif gone and "deletionTimestamp" not in metadata_of(item.object):
            with suppress(NotFoundError):
                await remove(state, item.target)
                done.append(f"{item.target.resource.qualified}/{item.target.name}")
    if done:
        return done
    owning = {uid for item in objects for uid in item.owners}
    for item in objects:
        for finalizer in (_ORPHAN, _FOREGROUND):
            if item.waits_for(finalizer) and item.uid not in owning:
                changed = item.without(finalizer)
                await replace(state, item.target, item.stored, changed)
                done.append(f"{item.target.resource.qualified}/{item.target.name}")
                break
    return done
