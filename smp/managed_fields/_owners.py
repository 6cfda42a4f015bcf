"""The owners of the fields of an object, as its metadata.managedFields names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smp._values.api_objects import keep_names, metadata_of, set_metadata
from smp._values.plain import over_json, require_object, require_texts
from smp._values.values import JSONArray, JSONObject, as_list, as_object, as_text
from smp.managed_fields._entries import APPLY, Owner, readable_owners
from smp.managed_fields._field_set import FieldSet
from smp.managed_fields._items import extracted
from smp.paths import Path
from smp.schema.model import Schema


@over_json("the object", "obj")
def owners(obj: Mapping[str, Any]) -> tuple[Owner, ...]:
    """Return the owners of the fields of an object, in the order of managedFields.

    Raises ObjectError (code invalid-managed-fields), with the path, for managedFields
    that a server could not read.
    """
    obj = require_object("obj", obj)
    found, problems = readable_owners(obj)
    if problems:
        raise problems[0]
    return found


def owners_of(obj: Mapping[str, Any], path: Path) -> tuple[Owner, ...]:
    """Return the owners of the field at a path.

    Where no manager owns the path itself, these are the owners of the nearest value
    above it that is owned as a whole: an atomic list, map or struct. Raises what
    ``owners`` raises.
    """
    all_owners = owners(obj)
    found = tuple(owner for owner in all_owners if owner.fields.has(path))
    above = path
    while not found and above.steps:
        above = Path(above.steps[:-1])
        found = tuple(
            owner
            for owner in all_owners
            if owner.fields.has(above) and not owner.fields.at(above)
        )
    return found


@over_json("the object", "obj")
def owners_of_fields(
    obj: Mapping[str, Any], fields: FieldSet, *, operation: str
) -> tuple[Owner, ...]:
    """Return the owners that own all fields of a set, by one operation.

    An entry that cannot be read owns nothing. The managers that own the last-applied
    configuration by ``Update`` are those whose fields kubectl upgrades (Go:
    csaupgrade.FindFieldsOwners).
    """
    obj = require_object("obj", obj)
    found, _problems = readable_owners(obj)
    return tuple(
        owner
        for owner in found
        if owner.operation == operation and not fields.difference(owner.fields)
    )


@over_json("the object", "obj")
def extract(
    obj: Mapping[str, Any], schema: Schema, manager: str, subresource: str = ""
) -> dict[str, Any]:
    """Return the configuration that a manager applied, as the object has it now.

    It has apiVersion, kind, name and namespace of the object, and what the manager owns
    by apply: to be changed and applied again. Raises what ``owners`` and
    ``fieldset_of`` raise (Go: managedfields.ExtractInto, and the Extract functions of
    client-go).
    """
    obj = require_object("obj", obj)
    configuration: JSONObject = {}
    for owner in owners(obj):
        identity = (owner.manager, owner.operation, owner.subresource)
        if identity == (manager, APPLY, subresource):
            configuration = as_object(extracted(obj, schema, owner.fields.leaves()))
            break
    named = keep_names(obj)
    metadata = {**metadata_of(named), **metadata_of(configuration)}
    return {**named, **configuration, "metadata": metadata}


@over_json("the object", "obj")
def rename(obj: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """Return the object with what one manager owns in the hands of another.

    Where the other has an entry for the same operation, apiVersion and subresource, the
    two become one, with the later time. The object itself is returned where the old
    manager owns nothing. Raises what ``owners`` raises.
    """
    obj = require_object("obj", obj)
    require_texts(old=old, new=new)
    all_owners = owners(obj)
    if old == new or all(owner.manager != old for owner in all_owners):
        return obj
    places: dict[tuple[str, str, str, str], int] = {}
    merged: list[FieldSet] = []
    entries: JSONArray = []
    pairs = zip(all_owners, as_list(metadata_of(obj).get("managedFields")), strict=True)
    for owner, original in pairs:
        manager = new if owner.manager == old else owner.manager
        identity = (manager, owner.operation, owner.api_version, owner.subresource)
        entry = as_object(original)
        if manager != owner.manager:
            entry = {**entry, "manager": manager}
        # Other managers than these two may have several entries that look alike.
        place = places.get(identity) if manager == new else None
        if place is None:
            places[identity] = len(entries)
            entries.append(entry)
            merged.append(owner.fields)
            continue
        merged[place] = merged[place].union(owner.fields)
        former = as_object(entries[place])
        joined = {**former, "fieldsV1": merged[place].to_v1()}
        if as_text(former.get("time")) < owner.time:
            joined["time"] = owner.time
        entries[place] = joined
    return set_metadata(obj, managedFields=entries)
