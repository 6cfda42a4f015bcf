"""Reading and writing one object, and what every write entails."""

from __future__ import annotations

from smp.handler import NotFoundError, TooLargeError
from smp.server.objects.deletion import is_deletion_finished
from smp.server.objects.metadata import metadata_of
from smp.server.registry.api import API
from smp.server.registry.envelope import packed
from smp.server.registry.parents import parents
from smp.server.registry.target import CRDS, Target
from smp.server.store import Stored
from smp.values import JSONObject


async def find(api: API, target: Target) -> Stored:
    """Return a stored object. Raises NotFoundError."""
    stored = await api.store.get(target.key)
    if stored is None:
        raise NotFoundError("it is not there")
    return stored


def sized(api: API, target: Target, obj: JSONObject, old: bytes = b"") -> bytes:
    """Return an object as it is stored. Raises TooLargeError for what no request could
    say, unless it shrinks.
    """
    value, limit = packed(obj, target.resource), api.settings.limits.body
    if len(value) > max(limit, len(old)):
        raise TooLargeError(
            f"the object would have {len(value)} bytes, limit is {limit}"
        )
    return value


async def insert(api: API, target: Target, obj: JSONObject) -> Stored | None:
    """Store a new object; None where there is one. Raises TooLargeError."""
    value = sized(api, target, obj)
    revision = await api.store.create(target.key, value)
    return _written(api, target, value, revision) if revision else None


async def replace(
    api: API, target: Target, old: Stored, obj: JSONObject
) -> Stored | None:
    """Store an object in the place of another; None where somebody was faster. Raises
    TooLargeError.

    What was being deleted, and has lost its last finalizer, goes.
    """
    if not target.is_parent and is_deletion_finished(obj):
        gone = await delete(api, target, old)
        for parent in parents(api, target) if gone else ():
            api.leaving.put_nowait(parent)
        return (
            Stored(old.key, packed(obj, target.resource), gone.revision)
            if gone
            else None
        )
    value = sized(api, target, obj, old.value)
    revision = await api.store.swap(target.key, value, old.revision)
    if revision is None:
        _count_conflict(api, target)
        return None
    if target.is_parent and "deletionTimestamp" in metadata_of(obj):
        api.leaving.put_nowait(target)
    return _written(api, target, value, revision)


async def delete(api: API, target: Target, old: Stored) -> Stored | None:
    """Delete an object and return what it was, as of its end; None where somebody was
    faster.
    """
    revision = await api.store.delete(target.key, old.revision)
    if revision is None:
        _count_conflict(api, target)
        return None
    _learn(api, target, None, revision)
    return Stored(target.key, old.value, revision)


def _written(api: API, target: Target, value: bytes, revision: int) -> Stored:
    _learn(api, target, value, revision)
    return Stored(target.key, value, revision)


def _learn(api: API, target: Target, value: bytes | None, revision: int) -> None:
    if target.resource.key == CRDS:
        api.kinds.learn(target.key, value, revision)


def _count_conflict(api: API, target: Target) -> None:
    api.metrics.conflicts.add(
        target.resource.group, target.resource.version, target.resource.plural
    )
