"""Deleting objects, and the contents of the parents that are being deleted.

An object without finalizers is deleted at once. One with finalizers is only marked, by
a deletionTimestamp, and deleted when the last finalizer is removed. A parent (a
namespace or a definition) is always marked first: ``sweep`` deletes its contents in the
background, and then the parent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from typing import Any, Final

import msgspec

from smp._values.api_objects import metadata_of, set_metadata
from smp._values.times import timestamp
from smp._values.values import JSONObject, as_list, as_object, as_text
from smp.errors import SmpError
from smp.handler import ForbiddenError, NotFoundError
from smp.schema.bundle import read_bundled_table
from smp.server.objects.deletion import DeleteOptions, begin_deletion
from smp.server.registry.admission import admit_new
from smp.server.registry.envelope import unpack
from smp.server.registry.objects import (
    contents,
    delete,
    find,
    insert,
    replace,
    snapshot,
)
from smp.server.registry.state import ServerState
from smp.server.registry.target import NAMESPACES, Target
from smp.server.store import ChangedError, Stored

_LOG: Final = logging.getLogger("smp.server")
_RETRY: Final = 1.0  # seconds before another try
# How contents go with their parent (Go: the controller of namespaces, the finalizer of
# definitions): nothing waits for what no one does here.
AT_ONCE: Final = DeleteOptions(grace_period_seconds=0, propagation_policy="Background")


# Go: the plugin NamespaceLifecycle.
_PERMANENT_NAMESPACES: Final = ("default", "kube-system", "kube-public")


class _InitialTable(msgspec.Struct, frozen=True):
    """The content of initial.json: what a cluster has, each after what it is in."""

    source: str
    objects: tuple[dict[str, Any], ...]


class Removal(msgspec.Struct, frozen=True):
    """The result of a deletion.

    ``is_deleted`` is False while finalizers or contents remain. ``stored`` is the
    object as it is stored, or was last.
    """

    stored: Stored
    is_deleted: bool


async def remove(
    state: ServerState,
    target: Target,
    *,
    options: DeleteOptions = AT_ONCE,
    unchanged: Sequence[Stored] = (),
) -> Removal:
    """Delete an object, or mark it as being deleted.

    Raises NotFoundError, ForbiddenError, ModifiedError, PreconditionError, and
    ChangedError where one of the ``unchanged`` was written since.
    """
    if target.resource.key == NAMESPACES and target.name in _PERMANENT_NAMESPACES:
        raise ForbiddenError("this namespace may not be deleted")

    async with state.lock(target.key):
        while True:
            stored = await find(state, target)
            obj = unpack(stored, target.resource)
            options.check_preconditions(obj, stored.revision)
            now = state.admission_context().now
            if target.is_parent:
                marked: JSONObject | None = _begin_termination(obj, now)
            else:
                marked = begin_deletion(obj, options, target.resource, now)
            # To delete an object again changes nothing but its finalizers.
            if options.is_dry_run or marked is obj:
                return Removal(stored, is_deleted=marked is None)
            if marked is None:
                written = await delete(state, target, stored, unchanged)
            else:
                written = await replace(state, target, stored, marked, unchanged)
            if written is not None:
                return Removal(written, is_deleted=marked is None)


def _begin_termination(obj: JSONObject, now: datetime) -> JSONObject:
    """Return a namespace or a definition as it is stored until it is empty."""
    if "deletionTimestamp" in metadata_of(obj):
        return obj
    marked = set_metadata(
        obj, deletionTimestamp=timestamp(now), deletionGracePeriodSeconds=0
    )
    if obj.get("kind") != "Namespace":
        return marked
    status = {**as_object(obj.get("status")), "phase": "Terminating"}
    return {**marked, "status": status}


async def prepare(state: ServerState) -> None:
    """Create what every cluster has at its start, and resume unfinished deletions."""
    resources = state.kinds.resources
    # ``insert`` leaves those that exist already as they are.
    for obj in read_bundled_table("initial.json", _InitialTable).objects:
        resource = resources.of_kind(str(obj["apiVersion"]), str(obj["kind"]))
        metadata = metadata_of(obj)
        namespace = as_text(metadata.get("namespace"))
        target = Target(resource, namespace, as_text(metadata.get("name")))
        context = state.admission_context(obj)
        admitted = admit_new(obj, state.kinds.of(resource), namespace, context)
        await insert(state, target, admitted.object)
    # Another process may have stopped while it deleted contents.
    await resume_deletions(state)


async def resume_deletions(state: ServerState) -> None:
    """Go on with the deletions of all parents that are in the store."""
    namespaces = Target(state.kinds.resources.find("", "v1", "namespaces"))
    # ``sweep`` skips those that are not being deleted.
    for collection in (namespaces, state.kinds.crds):
        page = await state.store.list(collection.prefix)
        for stored in page.items:
            state.terminating.put_nowait(collection.at(stored.key))


async def sweep(state: ServerState) -> None:
    """Delete the contents of the parents that are being deleted, without end."""
    while True:
        parent = await state.terminating.get()
        try:
            async with state.sweeping:
                await _sweep(state, parent)
        except NotFoundError:  # deleted by another process
            continue
        except ChangedError:
            # Another request wrote the parent, which may not be deleted any more.
            state.terminating.put_nowait(parent)
        except SmpError as error:
            # The store is unavailable.
            _LOG.warning(
                "%s %s cannot be emptied yet",
                parent.resource.singular,
                parent.name,
                extra={"fields": {"name": parent.name, "error": str(error)}},
            )
            await asyncio.sleep(_RETRY)
            state.terminating.put_nowait(parent)
        finally:
            state.terminating.task_done()


async def _sweep(state: ServerState, parent: Target) -> None:
    """Delete the contents of a parent that is being deleted, then the parent.

    Raises NotFoundError, and ChangedError where the parent was written meanwhile:
    nothing is deleted but what belongs to the parent as it was read.
    """
    stored = await find(state, parent)
    metadata = metadata_of(unpack(stored, parent.resource))
    if "deletionTimestamp" not in metadata:
        return
    has_remaining = False
    for collection in contents(state, parent):
        pages = snapshot(state.store, collection.prefix)
        async with aclosing(pages):
            async for page in pages:
                for item in page.items:
                    # NotFoundError: a client deleted it first.
                    with suppress(NotFoundError):
                        target = collection.at(item.key)
                        removal = await remove(state, target, unchanged=(stored,))
                        if not removal.is_deleted:
                            has_remaining = True
                    # Requests are answered, even if the store never waits.
                    await asyncio.sleep(0)
    # What remains waits for its finalizers: the removal of the last one of an object
    # brings the parent here again (see ``replace``).
    # A namespace has finalizers in its spec as well; "kubernetes" stands for its
    # contents, which are gone now.
    spec = as_object(unpack(stored, parent.resource).get("spec"))
    others = [name for name in as_list(spec.get("finalizers")) if name != "kubernetes"]
    if has_remaining or metadata.get("finalizers") or others:
        return
    if not await delete(state, parent, stored):
        raise ChangedError
