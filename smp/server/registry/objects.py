"""Reading and writing single objects, and the parents that they belong to.

A parent is a namespace, or the CustomResourceDefinition of a custom resource. Objects
are created only where their parents exist, and are deleted with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from smp._values.api_objects import metadata_of
from smp._values.values import JSONObject
from smp.handler import ForbiddenError, NotFoundError, TooLargeError
from smp.server.errors import RefusalError
from smp.server.metrics import labels_of
from smp.server.objects.deletion import is_deletion_finished
from smp.server.registry.envelope import pack, unpack
from smp.server.registry.state import ServerState
from smp.server.registry.target import CRDS, NAMESPACES, Target
from smp.server.store import ChangedError, FutureRevisionError, Page, Store, Stored

_PAGE: Final = 500


async def snapshot(
    store: Store, prefix: str, *, after: str = "", revision: int = 0, size: int = _PAGE
) -> AsyncGenerator[Page, None]:
    """Yield the pages of a snapshot: one at least, which may be empty.

    Raises Expired and FutureRevisionError.
    """
    while True:
        page = await store.list(prefix, limit=size, after=after, revision=revision)
        yield page
        await asyncio.sleep(0)  # other tasks run, even if the store never waits
        if not page.more:
            return
        after, revision = page.items[-1].key, page.revision


@contextmanager
def lost_revisions() -> Iterator[None]:
    """Raise RefusalError, a 410, for a FutureRevisionError in the block.

    The store is not the one that the client has seen, or was restored from a backup.
    API servers, whose stores lose nothing, answer such a revision with a timeout (it
    may come yet); this error makes the client list again.
    """
    try:
        yield
    except FutureRevisionError as error:
        raise RefusalError(410, f"{error.problem}: its history is incomplete") from None


class RelatedNotFoundError(NotFoundError):
    """What an object belongs to, or runs on, does not exist."""

    def __init__(self, target: Target) -> None:
        super().__init__(f"{target.resource.singular} {target.name} not found")
        self.target = target


async def find(state: ServerState, target: Target) -> Stored:
    """Return a stored object. Raises NotFoundError."""
    stored = await state.store.get(target.key)
    if stored is None:
        raise NotFoundError("object not found")
    return stored


def pack_within_limit(
    state: ServerState, target: Target, obj: JSONObject, old: bytes = b""
) -> bytes:
    """Return an object as it is stored. Raises TooLargeError.

    The limit is that of the body of a request: what is larger could not be sent again.
    An object that is beyond it already may still shrink.
    """
    value = pack(obj, target.resource)
    limit = state.settings.limits.body
    if len(value) > max(limit, len(old)):
        raise TooLargeError(
            f"the object would have {len(value)} bytes, limit is {limit}"
        )
    return value


async def insert(
    state: ServerState, target: Target, obj: JSONObject, found: Sequence[Stored] = ()
) -> Stored | None:
    """Store a new object; None where it exists already.

    ``found`` are its parents, as ``require_parents`` found them: nothing is written
    where one of them was changed or deleted since. Raises what ``pack_within_limit``
    and ``require_parents`` raise.
    """
    value = pack_within_limit(state, target, obj)
    while True:
        try:
            revision = await state.store.create(target.key, value, found)
        except ChangedError:
            found = await require_parents(state, target)
        else:
            break
    if revision is None:
        return None
    await _learn_definition(state, target, value, revision)
    return Stored(target.key, value, revision)


async def replace(
    state: ServerState,
    target: Target,
    old: Stored,
    obj: JSONObject,
    unchanged: Sequence[Stored] = (),
) -> Stored | None:
    """Replace a stored object; None where another writer was faster.

    An object that is being deleted, and has lost its last finalizer, is deleted. Raises
    what ``pack_within_limit`` raises, and ChangedError where one of the ``unchanged``
    was written since.
    """
    if not target.is_parent and is_deletion_finished(obj):
        deleted = await delete(state, target, old, unchanged)
        if deleted is None:
            return None
        # A parent that is being deleted may have waited for this object.
        for parent in parents(state, target):
            state.terminating.put_nowait(parent)
        return Stored(old.key, pack(obj, target.resource), deleted.revision)
    # A compare-and-swap: the write fails if the object was written since it was read.
    value = pack_within_limit(state, target, obj, old.value)
    revision = await state.store.swap(target.key, value, old.revision, unchanged)
    if revision is None:
        _count_conflict(state, target)
        return None
    # The deletion began, or a finalizer of the parent was removed.
    if target.is_parent and "deletionTimestamp" in metadata_of(obj):
        state.terminating.put_nowait(target)
    await _learn_definition(state, target, value, revision)
    return Stored(target.key, value, revision)


async def delete(
    state: ServerState, target: Target, old: Stored, unchanged: Sequence[Stored] = ()
) -> Stored | None:
    """Delete a stored object; None where another writer was faster.

    Returns the object as it was, with the revision of its deletion. Raises
    ChangedError where one of the ``unchanged`` was written since.
    """
    revision = await state.store.delete(target.key, old.revision, unchanged)
    if revision is None:
        _count_conflict(state, target)
        return None
    await _learn_definition(state, target, None, revision)
    return Stored(target.key, old.value, revision)


async def _learn_definition(
    state: ServerState, target: Target, value: bytes | None, revision: int
) -> None:
    """Serve what a written CustomResourceDefinition defines, before the answer."""
    if target.resource.key == CRDS:
        await state.kinds.learn(target.key, value, revision)


def _count_conflict(state: ServerState, target: Target) -> None:
    state.metrics.conflicts.labels(*labels_of(target.resource)).inc()


async def require_parents(state: ServerState, target: Target) -> Sequence[Stored]:
    """Return the parents of a new object, none of which is being deleted.

    Raises RelatedNotFoundError and ForbiddenError.
    """
    found: list[Stored] = []
    for parent in parents(state, target):
        stored = await state.store.get(parent.key)
        if stored is None:
            raise RelatedNotFoundError(parent)
        if not _accepts_contents(parent, stored):
            # The text of an API server (its plugin NamespaceLifecycle).
            name = f"{parent.resource.singular} {parent.name}"
            raise ForbiddenError(
                f"unable to create new content in {name} because it is being terminated"
            )
        found.append(stored)
    return found


def _accepts_contents(parent: Target, stored: Stored) -> bool:
    """Tell whether a parent is not being deleted."""
    # A definition may be large: it is decoded only where the name is somewhere in it.
    if b'"deletionTimestamp"' not in stored.value:
        return True
    return "deletionTimestamp" not in metadata_of(unpack(stored, parent.resource))


def parents(state: ServerState, target: Target) -> Iterator[Target]:
    """Yield the parents of an object."""
    if target.namespace:
        namespaces = state.kinds.resources.find("", "v1", "namespaces")
        yield Target(namespaces, name=target.namespace)
    if target.resource.custom:
        yield state.kinds.crds.named(target.resource.qualified)


def contents(state: ServerState, parent: Target) -> Iterator[Target]:
    """Yield the collections of what belongs to a parent."""
    # All versions of a resource are one collection: take one of them.
    resources = {Target(each).prefix: each for each in state.kinds.resources}
    for resource in resources.values():
        if parent.resource.key == NAMESPACES:
            if resource.namespaced:
                yield Target(resource, namespace=parent.name)
        elif resource.custom and resource.qualified == parent.name:
            yield Target(resource)
