"""Server-side apply on field sets: merge, prune, and who owns what afterwards.

Go: merge.Updater.Apply, and managedFieldsUpdater around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from smp._values.values import JSONObject
from smp.managed_fields._compare import equal
from smp.managed_fields._conflicts import ApplyConflictError
from smp.managed_fields._entries import ManagedFields, Write
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._merge import merge
from smp.managed_fields._object_fields import fieldset_of
from smp.managed_fields._ownership import (
    NEVER_OWNED,
    conflicts,
    reconcile,
    take_over,
)
from smp.managed_fields._prune import prune
from smp.managed_fields._versions import Changes
from smp.schema.model import Schema

# Takes the merged object, and returns it with normalized unions.
Normalize: TypeAlias = "Callable[[JSONObject], JSONObject]"


def apply_configuration(
    live: JSONObject,
    applied: JSONObject,
    schema: Schema,
    managed: ManagedFields,
    write: Write,
    *,
    force: bool,
    normalize: Normalize,
) -> JSONObject:
    """Return the live object with the applied configuration, and update the entries.

    Both objects are without managedFields. Raises ApplyConflictError, and what
    ``fieldset_of`` raises.
    """
    identity = write.identity
    serving = write.serving
    # Go: the times of a server have those of entries that it drops.
    dropped = managed.owners.get(identity)
    reconcile(managed, live, schema, serving)
    former = managed.owners.get(identity)
    new = merge(live, applied, schema)
    own = fieldset_of(applied, schema).recursive_difference(write.reset)
    if former is not None:
        owned = _find_owned_by_version(managed, write, own)
        new = prune(new, schema, former, owned, serving)
    new = normalize(new)
    changes = Changes(live, new, schema, serving, write.reset)
    if not force:
        found = conflicts(managed, identity, changes)
        if found:
            raise ApplyConflictError.of(found)
    take_over(managed, identity, changes)
    # Go: an apply that changes nothing leaves the object and the time as they are. 1
    # and 1.0 are nothing that changes.
    time = write.time
    if equal(live, new):
        new = live
        time = "" if dropped is None else dropped.time
    managed.owners[identity] = write.owner(own.difference(NEVER_OWNED), time)
    return new


def _find_owned_by_version(
    managed: ManagedFields, write: Write, own: FieldSet
) -> dict[str, FieldSet]:
    """Return what managers own after a write that owns a set, by apiVersion."""
    owned = {write.api_version: own}
    for identity, owner in managed.owners.items():
        if identity != write.identity:
            before = owned.get(owner.api_version, EMPTY)
            owned[owner.api_version] = before.union(owner.fields)
    return owned
