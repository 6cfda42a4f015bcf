"""Giving up what a manager owns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smp.api_objects import without_managed_fields
from smp.managed_fields._entries import APPLY, Identity, ManagedFields
from smp.managed_fields._field_set import EMPTY
from smp.managed_fields._ownership import reconcile, take_over
from smp.managed_fields._prune import pruned
from smp.managed_fields._versions import SERVING, Changes
from smp.plain import over_json, require_object
from smp.schema.model import Schema
from smp.typed_storage import stored

# Of no manager.
_NONE = Identity("", "", "", "")


@over_json("the object", "obj")
def release(obj: Mapping[str, Any], schema: Schema, manager: str) -> dict[str, Any]:
    """Return the object without what a manager owns, the inverse of its applies.

    What it applied, and no other manager owns, is removed, as an apply of an empty
    configuration removes it. What it wrote by updates stays, without an owner. The
    object itself is returned where the manager owns nothing. Raises what ``owners`` and
    ``fieldset_of`` raise.
    """
    obj = require_object("obj", obj)
    managed = ManagedFields.of(obj)
    owned = [owner for owner in managed.owners.values() if owner.manager == manager]
    if not owned:
        return obj
    reconcile(managed, obj, schema, SERVING)
    old = without_managed_fields(obj)
    new = old
    for owner in owned:
        released = managed.owners.pop(owner.identity)
        if released.operation == APPLY:
            others = [other.fields for other in managed.owners.values()]
            new = pruned(new, schema, released.fields, EMPTY, others)
    take_over(managed, _NONE, Changes(old, new, schema, SERVING, EMPTY))
    return managed.written_to(stored(new, schema, old))
