"""Entries of managedFields in the words of another version of the API.

An entry names fields of the version that its manager wrote in. When that version is no
longer served, a server drops the entry, or refuses every apply to a custom resource;
and what two versions call by different names is not removed by an apply in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from smp._storage.typed_storage import counterparts, form_in
from smp._values.api_objects import drop_managed_fields
from smp._values.plain import over_json, require_object, require_texts
from smp._values.values import JSONObject
from smp.errors import ObjectError
from smp.managed_fields._entries import (
    Identity,
    ManagedFields,
    Owner,
    find_managed_fields_patch,
    seconds,
)
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._fields_below import fieldset_of
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
