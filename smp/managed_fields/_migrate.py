"""Entries of managedFields for another operation or another version, or given up.

An entry names fields of the version that its manager wrote in. When that version is no
longer served, a server drops the entry, or refuses every apply to a custom resource;
and what two versions call by different names is not removed by an apply in the other.

A client-side ``kubectl apply`` is an update, so what it wrote belongs to an entry with
the operation ``Update``. A server-side apply does not remove what such an entry owns.
The upgrade makes that entry one of the manager that applies from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from smp._storage.typed_storage import counterparts, form_in
from smp._values.api_objects import (
    drop_managed_fields,
    keep_names,
    metadata_of,
    set_metadata,
)
from smp._values.plain import over_json, require_object, require_texts
from smp._values.values import JSONArray, JSONObject, as_list, as_object, as_text
from smp.errors import ObjectError
from smp.managed_fields._entries import (
    APPLY,
    UPDATE,
    Identity,
    ManagedFields,
    Owner,
    find_managed_fields_patch,
    owner_of_entry,
    seconds,
)
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._fields_below import fieldset_of
from smp.managed_fields._scale import SCALE, SCALE_SCHEMA
from smp.managed_fields._server_side import server_side_apply
from smp.managed_fields._shapes import (
    ATOMIC_LIST,
    ATOMIC_MAP,
    LIST,
    MAP,
    Shape,
    root_shape,
)
from smp.managed_fields._versions import SERVING, Serving, convert_to_form
from smp.schema.model import Schema


@over_json("the object", "obj")
def upgrade(
    obj: Mapping[str, Any],
    *,
    from_managers: Iterable[str],
    to_manager: str,
    subresource: str = "",
) -> dict[str, Any]:
    """Return the object with what managers own by update owned by an apply.

    It belongs to ``to_manager`` then. Of each of the managers that is the latest entry
    of the apiVersion that ``to_manager`` applies; their others are dropped. An entry of
    ``to_manager`` keeps its time. Where it has none, the first entry of the managers
    becomes it. Managers are taken in the order of their names; Go takes them in a
    random order. The object itself is returned where they own nothing by update. Raises
    ObjectError (code invalid-managed-fields), with the path, for an entry among these
    that a server could not read, and TypeError for one name in place of several (Go:
    csaupgrade.UpgradeManagedFields).
    """
    if isinstance(from_managers, str):
        raise TypeError("from_managers is a collection of names, not one name")
    obj = require_object("obj", obj)
    require_texts(to_manager=to_manager)
    entries = as_list(metadata_of(obj).get("managedFields"))
    # The places of the entries of each of the managers.
    former: dict[str, list[int]] = {name: [] for name in sorted(set(from_managers))}
    targets: list[int] = []
    for index, entry in enumerate(entries):
        names = as_object(entry)
        if as_text(names.get("subresource")) != subresource:
            continue
        manager = as_text(names.get("manager"))
        operation = as_text(names.get("operation"))
        if operation == UPDATE and manager in former:
            former[manager].append(index)
        elif operation == APPLY and manager == to_manager:
            targets.append(index)
    places = [indexes for indexes in former.values() if indexes]
    if not places:
        return obj
    # Go: upgradedManagedFields.
    target = targets[0] if targets else places[0][0]
    upgraded = _add_fields_of(entries, target, places, to_manager)
    return set_metadata(obj, managedFields=upgraded)


def upgrade_patch(
    obj: Mapping[str, Any],
    *,
    from_managers: Iterable[str],
    to_manager: str,
    subresource: str = "",
) -> list[dict[str, Any]] | None:
    """Return the upgrade as a JSON Patch (RFC 6902), or None where nothing changes.

    Replacing resourceVersion makes a server answer 409 Conflict for an object that was
    written since. Raises what ``upgrade`` raises (Go:
    csaupgrade.UpgradeManagedFieldsPatch).
    """
    upgraded = upgrade(
        obj, from_managers=from_managers, to_manager=to_manager, subresource=subresource
    )
    return None if upgraded is obj else find_managed_fields_patch(upgraded)


def _add_fields_of(
    entries: JSONArray, target: int, places: list[list[int]], to_manager: str
) -> JSONArray:
    """Return the entries with one that has the fields of those at the places.

    Go: csaupgrade.unionManagerIntoIndex. The entry that applies is of one apiVersion,
    and what another version calls a field may not be a field of it.
    """
    entry = as_object(entries[target])
    version = as_text(entry.get("apiVersion"))
    fields = owner_of_entry(entries, target).fields
    for indexes in places:
        for index in indexes:
            other = as_object(entries[index])
            if index != target and as_text(other.get("apiVersion")) == version:
                fields = fields.union(owner_of_entry(entries, index).fields)
                break
    dropped = {index for indexes in places for index in indexes}
    upgraded: JSONArray = []
    for index, other_entry in enumerate(entries):
        if index == target:
            upgraded.append(
                {
                    **entry,
                    "manager": to_manager,
                    "operation": APPLY,
                    "fieldsV1": fields.to_v1(),
                }
            )
        elif index not in dropped:
            upgraded.append(other_entry)
    return upgraded


@over_json("the object", "obj")
def migrate(
    obj: Mapping[str, Any], to: str, schema: Schema, *, serving: Serving = SERVING
) -> dict[str, Any]:
    """Return the object with all that managers own named in another version of it.

    ``to`` is the apiVersion, ``schema`` that of the object; ``serving`` has the schemas
    of other versions. The paths of an entry stay as they are, but where a built-in kind
    has another form in that version. Entries of one manager that are of one version
    then become one, with the later time. The object itself stays in its version, and is
    returned where all entries are of that version. Raises ObjectError (codes
    version-not-served, invalid-managed-fields) and UnknownFieldError.
    """
    obj = require_object("obj", obj)
    require_texts(to=to)
    target = serving.schema_of(to, schema)
    # A version of which nothing is known is not guessed to be one.
    if target is None or target.api_version != to:
        raise ObjectError(f"{to} is not a version of it", code="version-not-served")
    managed = ManagedFields.of(obj)
    if all(owner.api_version == to for owner in managed.owners.values()):
        return obj
    moved: dict[Identity, Owner] = {}
    for each in managed.owners.values():
        owner = each
        if owner.api_version != to:
            fields = _fields_in(target, owner, obj)
            owner = replace(owner, api_version=to, fields=fields)
        former = moved.get(owner.identity)
        if former is not None:
            later = max(former.time, owner.time, key=seconds)
            fields = former.fields.union(owner.fields)
            owner = replace(owner, time=later, fields=fields)
        moved[owner.identity] = owner
    managed.owners = moved
    return managed.written_to(obj)


def migrate_patch(
    obj: Mapping[str, Any], to: str, schema: Schema, *, serving: Serving = SERVING
) -> list[dict[str, Any]] | None:
    """Return the migration as a JSON Patch (RFC 6902), or None where nothing changes.

    It replaces the resourceVersion, as that of ``upgrade_patch`` does. Raises what
    ``migrate`` raises.
    """
    migrated = migrate(obj, to, schema, serving=serving)
    return None if migrated is obj else find_managed_fields_patch(migrated)


def _fields_in(target: Schema, owner: Owner, obj: JSONObject) -> FieldSet:
    """Return what an owner owns, as another version names it."""
    source = form_in(target, owner.api_version)
    if source is None:
        return owner.fields
    present = fieldset_of(convert_to_form(drop_managed_fields(obj), target), target)
    shapes = root_shape(source, {}), root_shape(target, {})
    fields = _share(owner.fields, present, *shapes)
    for path, other in counterparts(target):
        if owner.fields.has(path) or owner.fields.at(path):
            rest = present.recursive_difference(FieldSet.of(other))
            fields = fields.union(present.difference(rest))
    return fields


def _share(
    fields: FieldSet, present: FieldSet, source: Shape, target: Shape
) -> FieldSet:
    """Return what both versions name alike, below a value.

    What one of them owns as a whole may be granular in the other (Go:
    typed.ReconcileFieldSetWithSchema). ``present`` is what the object has there.
    """
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    for element in fields.members | fields.children.keys():
        before = source.of_path_element(element)
        after = target.of_path_element(element)
        if before is None or after is None:
            continue
        below = fields.children.get(element, EMPTY)
        there = present.children.get(element, EMPTY)
        if after.form in (ATOMIC_LIST, ATOMIC_MAP):
            members.add(element)
            continue
        was_whole = before.form in (ATOMIC_LIST, ATOMIC_MAP)
        if was_whole and after.form in (LIST, MAP) and there:
            children[element] = there
            continue
        if element in fields.members:
            members.add(element)
        inner = _share(below, there, before, after)
        if inner:
            children[element] = inner
    return FieldSet(frozenset(members), children) or EMPTY


@over_json("the object", "obj")
def release(
    obj: Mapping[str, Any],
    schema: Schema,
    manager: str,
    *,
    serving: Serving = SERVING,
    now: datetime | None = None,
) -> dict[str, Any]:
    """Return the object without what a manager owns, the inverse of its applies.

    It is what a server makes of an apply with nothing but the name of the object: what
    the manager applied, and no other manager owns, is removed, and has its default
    again. What the manager wrote by updates stays, without an owner. The object itself
    is returned where the manager owns nothing. ``serving`` says how the kind is served,
    ``now`` is the time of the write. Raises what ``server_side_apply`` raises.
    """
    obj = require_object("obj", obj)
    owned = [
        owner
        for owner in ManagedFields.of(obj).owners.values()
        if owner.manager == manager
    ]
    released = obj
    for owner in owned:
        if owner.operation == APPLY:
            released = server_side_apply(
                released,
                _make_empty_configuration(released, owner.subresource),
                schema,
                manager=manager,
                force=True,
                subresource=owner.subresource,
                profile="off",
                serving=serving,
                now=now,
            ).object
    managed = ManagedFields.of(released)
    left = {
        identity: owner
        for identity, owner in managed.owners.items()
        if owner.manager != manager
    }
    if len(left) == len(managed.owners):
        return released
    managed.owners = left
    return managed.written_to(released)


def _make_empty_configuration(obj: JSONObject, subresource: str) -> JSONObject:
    """Return a configuration that applies nothing to the object."""
    named = keep_names(obj)
    if subresource == SCALE:
        api_version, kind = SCALE_SCHEMA.api_version, SCALE_SCHEMA.kind
        named = {**named, "apiVersion": api_version, "kind": kind}
    return named
