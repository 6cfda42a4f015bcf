"""What a write that is no apply makes of managedFields: a POST, a PUT, another PATCH.

Go: managedfields, internal.FieldManager.UpdateNoErrors, and the chain behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from smp._storage.typed_storage import is_typed, stored
from smp._values.api_objects import drop_managed_fields, metadata_of, set_metadata
from smp._values.plain import (
    over_json,
    require_object,
    require_object_or_none,
    require_texts,
)
from smp._values.sharing import share_object
from smp._values.values import JSONArray, JSONObject, as_list, as_object, same
from smp.errors import ObjectError, SmpError
from smp.managed_fields._creation import fields_of_creation
from smp.managed_fields._entries import (
    UPDATE,
    Identity,
    ManagedFields,
    Operation,
    Write,
    Writer,
    add_entries,
    entry_of,
    seconds,
)
from smp.managed_fields._field_set import EMPTY
from smp.managed_fields._ownership import NEVER_OWNED, Changes, reconcile, take_over
from smp.managed_fields._reset_fields import reset_fields
from smp.managed_fields._scale import SCALE, record_scale
from smp.managed_fields._typed import require_typed
from smp.managed_fields._versions import SERVING, Serving
from smp.schema.model import Schema

# Go: DefaultMaxUpdateManagers. The oldest ones become one entry.
MAX_UPDATE_MANAGERS: Final = 10
_ANCIENT: Final = "ancient-changes"


@over_json("the object", "old", "new")
def track(
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any],
    schema: Schema,
    *,
    manager: str,
    operation: Operation = "Update",
    subresource: str = "",
    serving: Serving = SERVING,
    now: datetime | None = None,
) -> dict[str, Any]:
    """Return the new object with the managedFields that a server stores for it.

    It is what they become on POST, PUT and every PATCH that is no apply. ``old`` is the
    stored object, None on create; ``new`` is what will be stored, with the
    managedFields that the client sent: ``[{}]`` resets them, and ``[]`` those of a
    built-in kind; without any, or with broken ones, those of the stored object count.
    Through a subresource they always do. ``serving`` says how the kind is served,
    ``now`` is the time of the write. An object that exists without managedFields is not
    tracked. Where fields cannot be tracked, the managedFields stay as they were, or a
    server before 1.37 drops them, but no write fails for that (Go:
    FieldManager.UpdateNoErrors).
    """
    old = require_object_or_none("old", old)
    new = require_object("new", new)
    require_texts(manager=manager, operation=operation, subresource=subresource)
    try:
        managed = _send_or_stored(old, new, schema, is_subresource=bool(subresource))
        if not managed.owners and old is not None:
            # Go: skipNonAppliedManager. It is tracked from its first apply on.
            return drop_managed_fields(new)
        if subresource == SCALE:
            record_scale(managed, old or {}, new, manager)
        else:
            writer = Writer(manager, operation, subresource, serving, now)
            reset = reset_fields(schema, subresource, has_status=serving.has_status)
            write = writer.write(new, reset)
            if not managed.owners:
                return _create(new, schema, write)
            record_update(managed, old or {}, new, schema, write)
    except SmpError:
        before = as_object(as_object(old).get("metadata")).get("managedFields")
        if before is None or not serving.keeps_untracked:
            return drop_managed_fields(new)
        return set_metadata(new, managedFields=before)
    tracked = managed.written_to(new)
    # The entries of a scale are compared as such: there are no times to be kept.
    if old is None or subresource == SCALE:
        return tracked
    return with_former_times(old, tracked)


def _send_or_stored(
    old: JSONObject | None, new: JSONObject, schema: Schema, *, is_subresource: bool
) -> ManagedFields:
    """Return the entries to start from (Go: decodeLiveOrNew)."""
    sent = as_object(new.get("metadata")).get("managedFields")
    if old is None and sent is None:
        return ManagedFields()
    if not is_subresource:
        # Go: isResetManagedFields. A list without entries is one as well, but not in
        # a custom resource: unstructured content has none then.
        is_reset = sent == [{}] or (sent == [] and is_typed(schema))
        if isinstance(sent, list) and is_reset:
            return ManagedFields()
        try:
            managed = ManagedFields.of(new)
        except ObjectError:
            pass
        else:
            if managed.owners:
                return managed
    try:
        return ManagedFields.of(old or {})
    except ObjectError:
        return ManagedFields()


def _create(new: JSONObject, schema: Schema, write: Write) -> JSONObject:
    """Return a new object with the entry of its only manager."""
    new = drop_managed_fields(new)
    fields = fields_of_creation(
        # Go: the object is converted to the typed struct of its version.
        stored(new, schema),
        stored({}, schema),
        schema,
        write.reset,
        NEVER_OWNED,
    )
    if not fields:
        return new
    return add_entries(new, [entry_of(write.owner(EMPTY, write.time), fields)])


def record_update(
    managed: ManagedFields,
    old: JSONObject,
    new: JSONObject,
    schema: Schema,
    write: Write,
) -> None:
    """Record an update from one object to another in the entries."""
    reconcile(managed, drop_managed_fields(old), schema, write.serving)
    # Go: the objects are converted to the typed structs of their version.
    before = stored(drop_managed_fields(old), schema)
    # What is equal is not visited again.
    after = stored(share_object(drop_managed_fields(new), before), schema, before)
    problem = "failed to convert live object ({}) to smd typed: "
    require_typed(before, schema, problem, allow_duplicates=True)
    problem = "failed to convert new object ({}) to smd typed: "
    require_typed(after, schema, problem, allow_duplicates=True, old=before)
    if write.serving.custom:
        schemas = [
            write.serving.schema_of(owner.api_version, schema)
            for owner in managed.owners.values()
        ]
        if any(its_schema is not schema for its_schema in schemas):
            # Go: versionConverter.Convert, as in ``reconcile``.
            require_typed(after, schema, "")
    changes = Changes(before, after, schema, write)
    # Go: managedFieldsUpdater. The operation is at first one of its own: its manager
    # loses what the operation changes as all others do.
    current = Identity("", "", "", "")
    take_over(managed, current, changes)
    owned = changes.comparison.changed.recursive_difference(write.reset)
    owned = owned.difference(NEVER_OWNED)
    if owned:
        former = managed.owners.get(write.identity)
        if former is not None:
            owned = owned.union(former.fields)
        managed.owners[write.identity] = write.owner(owned, write.time)
    _cap(managed)


def _cap(managed: ManagedFields) -> None:
    """Merge the oldest updates where there are too many (Go: capManagersManager)."""
    updates = [owner for owner in managed.owners.values() if owner.operation == UPDATE]
    count = len(updates)
    if count <= MAX_UPDATE_MANAGERS:
        return
    updates.sort(key=lambda owner: (seconds(owner.time), owner.identity.text))
    first: dict[str, Identity] = {}
    for owner in updates:
        if count <= MAX_UPDATE_MANAGERS:
            break
        version = owner.api_version
        bucket = Identity(_ANCIENT, UPDATE, version, "")
        if version not in first:
            # The first one is merged when there is a second one of its version.
            first[version] = owner.identity
            continue
        gathered = managed.owners.get(bucket)
        if gathered is None:
            gathered = managed.owners.pop(first[version])
        del managed.owners[owner.identity]
        managed.owners[bucket] = replace(
            owner,
            manager=_ANCIENT,
            subresource="",
            fields=owner.fields.union(gathered.fields),
        )
        count -= 1


@over_json("the object", "old", "new")
def with_former_times(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored object itself where nothing but times has changed.

    So a write that changes nothing has no effect (Go, k8s.io/apiserver:
    fieldmanager.IgnoreManagedFieldsTimestampsTransformer).
    """
    old = require_object("old", old)
    new = require_object("new", new)
    return old if same(_drop_times(old), _drop_times(new)) else new


def _drop_times(obj: JSONObject) -> JSONObject:
    entries: JSONArray = [
        {**as_object(entry), "time": None}
        for entry in as_list(metadata_of(obj).get("managedFields"))
    ]
    return set_metadata(obj, managedFields=entries)
