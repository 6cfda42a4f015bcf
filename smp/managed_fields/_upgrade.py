"""The migration of an object from client-side to server-side apply.

A client-side ``kubectl apply`` is an update, so what it wrote belongs to an entry with
the operation ``Update``. A server-side apply does not remove what such an entry owns.
The upgrade makes that entry one of the manager that applies from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from smp._values.api_objects import metadata_of, set_metadata
from smp._values.plain import over_json, require_object, require_texts
from smp._values.values import JSONArray, as_list, as_object, as_text
from smp.managed_fields._entries import (
    APPLY,
    UPDATE,
    find_managed_fields_patch,
    owner_of_entry,
)


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
