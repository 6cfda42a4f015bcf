"""How an object goes: at once, or when its finalizers are gone; a parent, when its
contents are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from smp.handler import ForbiddenError, aretry
from smp.server.objects.deletion import begin_deletion
from smp.server.registry.admission import terminating
from smp.server.registry.api import API
from smp.server.registry.envelope import unpacked
from smp.server.registry.parents import PERMANENT
from smp.server.registry.storing import delete, find, replace
from smp.server.registry.target import NAMESPACES, Target
from smp.server.store import Stored
from smp.values import JSONObject


class Removal(NamedTuple):
    """What a deletion led to: the object as it was or is stored, and whether it is
    ``gone``.
    """

    stored: Stored
    gone: bool


class _Marked(NamedTuple):
    """An object that is being deleted, and whether that is new; None where it goes at
    once.
    """

    obj: JSONObject | None
    is_new: bool


async def remove(
    api: API,
    target: Target,
    *,
    check: Callable[[JSONObject, int], None] | None = None,
    dry_run: bool = False,
) -> Removal:
    """Delete an object, or mark it as being deleted; ``check`` sees it, and its
    revision, first.

    Raises NotFoundError, ForbiddenError, ModifiedError, and what ``check`` does.
    """
    if target.resource.key == NAMESPACES and target.name in PERMANENT:
        raise ForbiddenError("this namespace may not be deleted")

    async def read() -> Stored:
        return await find(api, target)

    def compute(stored: Stored) -> _Marked:
        obj = unpacked(stored, target.resource)
        if check:
            check(obj, stored.revision)
        when = api.circumstances()
        marked = (
            terminating(obj, when)
            if target.is_parent
            else begin_deletion(obj, when.now)
        )
        return _Marked(marked, is_new=marked is not obj)

    async def write(stored: Stored, marked: _Marked) -> Removal | None:
        if marked.obj is None:
            gone = stored if dry_run else await delete(api, target, stored)
            return Removal(gone, gone=True) if gone else None
        written = (
            await replace(api, target, stored, marked.obj)
            if marked.is_new and not dry_run
            else stored
        )
        return Removal(written, gone=False) if written else None

    async with api.turns.of(target.key):
        return await aretry(read, compute, write)
