"""The managedFields of an object, as its subresource ``scale`` sees and changes them.

A scale has one field, the replicas of the object. Its entries are made of those of the
object that own this field, and are merged into these again after the write (Go:
managedfields.ScaleHandler). A server does not keep the time of entries that come back
as new ones, and an update of the object that owned its replicas comes back as one
entry for them and one for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from smp._values.api_objects import drop_managed_fields
from smp._values.plain import over_json, require_object
from smp._values.values import JSON, JSONObject, as_object, as_text, same
from smp.errors import ObjectError, SmpError
from smp.managed_fields._entries import UPDATE, Identity, ManagedFields, Owner
from smp.managed_fields._field_set import FieldSet
from smp.paths import Path
from smp.schema.model import Schema

SCALE: Final = "scale"
_API_VERSION: Final = "autoscaling/v1"
# A custom resource may have them elsewhere: its schema does not say where, its
# definition does.
_REPLICAS: Final = Path(("spec", "replicas"))
_FIELDS: Final = FieldSet.of(_REPLICAS)

SCALE_SCHEMA: Final = replace(
    Schema.inline(
        {
            "fields": {
                "apiVersion": "string",
                "kind": "string",
                "metadata": {"fields": {}, "any": True},
                "spec": {"fields": {"replicas": "integer"}},
                "status": {"fields": {"replicas": "integer", "selector": "string"}},
            }
        }
    ),
    api_version=_API_VERSION,
    kind="Scale",
)
"""The schema of a Scale, as far as a write to it needs one."""

ScaleEntries: TypeAlias = dict[Identity, Owner]
# By apiVersion; None in a version without the subresource.
ReplicasPaths: TypeAlias = Mapping[str, Path | None]


def record_scale(
    managed: ManagedFields, old: JSONObject, new: JSONObject, manager: str
) -> None:
    """Record an update of the scale of an object in the entries of the object."""
    scale = scale_entries(managed)
    if not scale:
        # Go: skipNonAppliedManager. A scale is tracked if its replicas are owned.
        return
    # Go: replicas that were not set before are no 0.
    before = as_object(old.get("spec")).get("replicas")
    after = replica_count(new)
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


def scale_entries(
    managed: ManagedFields, paths: ReplicasPaths | None = None
) -> ScaleEntries:
    """Return the entries of a scale (Go: ScaleHandler.ToSubresource)."""
    scale: ScaleEntries = {}
    for owner in managed.owners.values():
        if _owns_replicas(owner, paths):
            of_scale = replace(owner, api_version=_API_VERSION, fields=_FIELDS)
            scale[of_scale.identity] = of_scale
    return scale


def merge_scale_entries(
    managed: ManagedFields,
    scale: ScaleEntries,
    api_version: str,
    paths: ReplicasPaths | None = None,
) -> None:
    """Merge the entries of a scale into those of its object (Go: ToParent)."""
    merged: dict[Identity, Owner] = {}
    returning = dict(scale)
    for identity, owner in managed.owners.items():
        # What is of a version that is not served any more is dropped.
        if paths is not None and owner.api_version not in paths:
            continue
        if identity in returning or not _owns_replicas(owner, paths):
            returning.pop(identity, None)
            merged[identity] = owner
            continue
        replicas = FieldSet.of(_path_of(owner.api_version, paths) or _REPLICAS)
        rest = owner.fields.difference(replicas)
        if rest:
            merged[identity] = replace(owner, fields=rest)
    fields = FieldSet.of(_path_of(api_version, paths) or _REPLICAS)
    for identity, owner in returning.items():
        if owner.fields.has(_REPLICAS):
            merged[identity] = replace(
                owner, api_version=api_version, time="", fields=fields
            )
    managed.owners = merged


@over_json("the object", "scale", "obj")
def with_scale_managers(
    scale: Mapping[str, Any], obj: Mapping[str, Any], paths: ReplicasPaths
) -> dict[str, Any]:
    """Return the Scale of an object with the managers of its replicas.

    ``paths`` says where the objects of each apiVersion have their replicas. Managed
    fields that cannot be read are none.
    """
    scale = require_object("scale", scale)
    managed = ManagedFields()
    managed.owners = scale_entries(_read(require_object("obj", obj)), paths)
    return managed.written_to(scale)


@over_json("the object", "obj", "scale")
def with_managers_of_scale(
    obj: Mapping[str, Any], scale: Mapping[str, Any], paths: ReplicasPaths
) -> dict[str, Any]:
    """Return an object with the managers that its Scale has after a request.

    ``paths`` and what cannot be read are as for ``with_scale_managers``.
    """
    obj = require_object("obj", obj)
    scale = require_object("scale", scale)
    managed = _read(obj)
    api_version = as_text(obj.get("apiVersion"))
    merge_scale_entries(managed, _read(scale).owners, api_version, paths)
    return managed.written_to(obj)


def _read(obj: JSONObject) -> ManagedFields:
    try:
        return ManagedFields.of(obj)
    except SmpError:
        return ManagedFields()


def _path_of(api_version: str, paths: ReplicasPaths | None) -> Path | None:
    return _REPLICAS if paths is None else paths.get(api_version)


def _owns_replicas(owner: Owner, paths: ReplicasPaths | None) -> bool:
    path = _path_of(owner.api_version, paths)
    return path is not None and owner.fields.has(path)


def scale_of(obj: JSONObject) -> JSONObject:
    """Return the scale of an object, without its managedFields.

    Go: ScaleSpec and ScaleStatus have no replicas where there are 0.
    """
    scale: JSONObject = {"apiVersion": _API_VERSION, "kind": "Scale"}
    scale["metadata"] = as_object(obj.get("metadata"))
    for part in ("spec", "status"):
        count = as_object(obj.get(part)).get("replicas")
        scale[part] = {"replicas": count} if count else {}
    return drop_managed_fields(scale)


@over_json("the object", "obj")
def unconvertible_scale(obj: Mapping[str, Any] | None) -> ObjectError:
    """Return the error of an apply to the scale of a custom resource.

    No server converts that to a Scale (Go: apiextensions-apiserver, conversion). Where
    nobody owns the replicas, the live scale is not converted, which is that of None;
    otherwise it is the new one, of an object.
    """
    what = "create manager for existing fields: failed to convert live object (/"
    if obj is not None:
        metadata = as_object(require_object("obj", obj).get("metadata"))
        name = f"{as_text(metadata.get('namespace'))}/{as_text(metadata.get('name'))}"
        what = f"convert new object ({name}"
    return ObjectError(
        f"failed to {what}; autoscaling/v1, Kind=Scale) to proper version: request to "
        "convert CR to an invalid group/version: autoscaling/v1",
        code="invalid-applied",
    )


def replica_count(obj: JSONObject) -> JSON:
    """Return the replicas of an object or a scale; none are 0."""
    return as_object(obj.get("spec")).get("replicas") or 0


def set_replicas(obj: JSONObject, count: JSON) -> JSONObject:
    """Return an object with a number of replicas."""
    return {**obj, "spec": {**as_object(obj.get("spec")), "replicas": count}}
