"""Server-side apply on field sets: merge, prune, and who owns what afterwards.

Go: merge.Updater.Apply, and managedFieldsUpdater around it.
"""

from __future__ import annotations

from smp._values.values import JSONObject
from smp.managed_fields._compare import equal
from smp.managed_fields._conflicts import ApplyConflictError
from smp.managed_fields._entries import ManagedFields, Write
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._merge import merge
from smp.managed_fields._object_fields import fieldset_of
from smp.managed_fields._ownership import (
    NEVER_OWNED,
    Changes,
    conflicts,
    reconcile,
    take_over,
)
from smp.managed_fields._prune import prune
from smp.schema.model import Schema


class ConfigurationMerge:
    """A configuration of a write that is merged into an object, in two steps.

    In between, the merged object can be normalized. The entries are updated. Objects
    are without managedFields.
    """

    __slots__ = ("_dropped", "_managed", "_own", "_schema", "_write")

    def __init__(self, managed: ManagedFields, write: Write, schema: Schema) -> None:
        self._managed = managed
        self._write = write
        self._schema = schema
        # Go: the times of a server have those of entries that it drops.
        self._dropped = managed.owners.get(write.identity)
        self._own = EMPTY

    def merge(self, live: JSONObject, applied: JSONObject) -> JSONObject:
        """Return the live object with the configuration.

        What the manager has applied before, and nobody owns now, is not in it. Raises
        what ``fieldset_of`` raises.
        """
        write, schema = self._write, self._schema
        reconcile(self._managed, live, schema, write.serving)
        former = self._managed.owners.get(write.identity)
        new = merge(live, applied, schema)
        own = fieldset_of(applied, schema).recursive_difference(write.reset)
        self._own = own
        if former is None:
            return new
        owned = _find_owned_by_version(self._managed, write, own)
        return prune(new, schema, former, owned, write.serving)

    def take_over(
        self, live: JSONObject, new: JSONObject, *, force: bool
    ) -> JSONObject:
        """Give the manager what it applies, and return the new object.

        It is the live one where they are equal. Raises ApplyConflictError.
        """
        managed, write = self._managed, self._write
        changes = Changes(live, new, self._schema, write)
        if not force:
            found = conflicts(managed, write.identity, changes)
            if found:
                raise ApplyConflictError.of(found)
        take_over(managed, write.identity, changes)
        # Go: an apply that changes nothing leaves the object and the time as they are.
        # 1 and 1.0 are nothing that changes.
        time = write.time
        if equal(live, new):
            new = live
            time = "" if self._dropped is None else self._dropped.time
        owned = self._own.difference(NEVER_OWNED)
        managed.owners[write.identity] = write.owner(owned, time)
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
