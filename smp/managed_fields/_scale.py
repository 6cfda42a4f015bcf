"""The managedFields of an object, as its subresource ``scale`` sees and changes them.

A scale has one field, the replicas of the object. Its entries are made of those of the
object that own this field, and are merged into these again after the write (Go:
managedfields.ScaleHandler). A server does not keep the time of entries that come back
as new ones, and an update of the object that owned its replicas comes back as one
entry for them and one for the rest.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from smp.managed_fields._entries import UPDATE, Identity, ManagedFields, Owner
from smp.managed_fields._field_set import FieldSet
from smp.paths import Path
from smp.values import JSON, JSONObject, as_object, as_text, same

SCALE: Final = "scale"
_API_VERSION: Final = "autoscaling/v1"
# A custom resource may have them elsewhere, but no schema says where.
_REPLICAS: Final = Path(("spec", "replicas"))
_FIELDS: Final = FieldSet.of(_REPLICAS)

ScaleEntries = dict[Identity, Owner]


def record_scale(
    managed: ManagedFields, old: JSONObject, new: JSONObject, manager: str
) -> None:
    """Record an update of the scale of an object in the entries of the object."""
    scale = scale_entries(managed)
    if not scale:
        # Go: skipNonAppliedManager. A scale is tracked if its replicas are owned.
        return
    before, after = _replicas(old), _replicas(new)
    if not same(before, after):
        scale.clear()
        # Go: ScaleSpec has no replicas where there are 0.
        if after != 0:
            identity = Identity(manager or "unknown", UPDATE, _API_VERSION, SCALE)
            scale[identity] = Owner(
                manager=identity.manager,
                operation=UPDATE,
                api_version=_API_VERSION,
                subresource=SCALE,
                time="",
                fields=_FIELDS,
            )
    merge_scale_entries(managed, scale, as_text(new.get("apiVersion")))


def scale_entries(managed: ManagedFields) -> ScaleEntries:
    """Return the entries of a scale (Go: ScaleHandler.ToSubresource)."""
    scale: ScaleEntries = {}
    for owner in managed.owners.values():
        if owner.fields.has(_REPLICAS):
            of_scale = replace(owner, api_version=_API_VERSION, fields=_FIELDS)
            scale[of_scale.identity] = of_scale
    return scale


def merge_scale_entries(
    managed: ManagedFields, scale: ScaleEntries, api_version: str
) -> None:
    """Merge the entries of a scale into those of its object (Go: ToParent)."""
    merged: dict[Identity, Owner] = {}
    returning = dict(scale)
    for identity, owner in managed.owners.items():
        if identity in returning or not owner.fields.has(_REPLICAS):
            returning.pop(identity, None)
            merged[identity] = owner
            continue
        rest = owner.fields.difference(_FIELDS)
        if rest:
            merged[identity] = replace(owner, fields=rest)
    for identity, owner in returning.items():
        merged[identity] = replace(owner, api_version=api_version, time="")
    managed.owners = merged


def _replicas(obj: JSONObject) -> JSON:
    return as_object(obj.get("spec")).get("replicas") or 0
