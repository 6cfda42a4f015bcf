"""Server-side apply on field sets: merge, prune, and who owns what afterwards.

Go: merge.Updater.Apply, and managedFieldsUpdater around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from smp.managed_fields._compare import equal
from smp.managed_fields._conflicts import ApplyConflictError
from smp.managed_fields._entries import ManagedFields, Write
from smp.managed_fields._merge import merged
from smp.managed_fields._object_fields import fieldset_of
from smp.managed_fields._ownership import (
    NEVER_OWNED,
    conflicts,
    reconcile,
    take_over,
)
from smp.managed_fields._prune import pruned
from smp.managed_fields._versions import Changes
from smp.schema.model import Schema
from smp.values import JSONObject

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
    reconcile(managed, live, schema, serving)
    former = managed.owners.get(identity)
    new = merged(live, applied, schema)
    own = fieldset_of(applied, schema).recursive_difference(write.reset)
    others = [
        owner.fields for other, owner in managed.owners.items() if other != identity
    ]
    if former is not None:
        # What was applied is known in the version in which it was.
        former_schema = serving.schema_of(former.api_version, schema) or schema
        new = pruned(
            new,
            former_schema,
            former.fields,
            own,
            others,
            keeps_emptied=serving.keeps_emptied,
        )
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
        time = "" if former is None else former.time
    managed.owners[identity] = write.owner(own.difference(NEVER_OWNED), time)
    return new
