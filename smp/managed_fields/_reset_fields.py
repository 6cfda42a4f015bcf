"""What a write never owns: the fields that a server resets before it stores an object.

A write through the main resource cannot change the status, one through ``/status``
nothing but the status, so that neither may own what it cannot change. Go: the
GetResetFields of the strategies in k8s.io/kubernetes, pkg/registry, in kube-aggregator
and in apiextensions-apiserver.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from smp._values.api_objects import is_stated, metadata_of, set_metadata
from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_object
from smp.errors import bounded
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.paths import Path, Step
from smp.schema.model import ObjectType, Schema

_METADATA: Final = FieldSet.of(Path(("metadata",)))
_SPEC: Final = FieldSet.of(Path(("spec",)))
_STATUS: Final = FieldSet.of(Path(("status",)))

# Older kinds, whose metadata can be written through the status.
_SPEC_ALONE: Final = frozenset(
    {
        ("", "Namespace"),
        ("", "Node"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "ReplicationController"),
        ("", "ResourceQuota"),
        ("", "Service"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apps", "DaemonSet"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("batch", "CronJob"),
        ("batch", "Job"),
        ("networking.k8s.io", "Ingress"),
        ("policy", "PodDisruptionBudget"),
    }
)

# By group, kind and subresource: what has a rule of its own.
_OWN_RULES: Final = {
    ("", "Pod", "status"): _SPEC.union(
        FieldSet.of(
            Path(("metadata", "deletionTimestamp")),
            Path(("metadata", "ownerReferences")),
        )
    ),
    ("", "Namespace", "finalize"): _STATUS,
    ("apps", "Deployment", "status"): _SPEC.union(
        FieldSet.of(Path(("metadata", "labels")))
    ),
    # Its spec is written once, by its creation, and belongs to no manager.
    ("certificates.k8s.io", "CertificateSigningRequest", ""): _SPEC.union(_STATUS),
    ("certificates.k8s.io", "CertificateSigningRequest", "status"): _SPEC.union(
        FieldSet.of(Path(("status", "conditions")))
    ),
    ("certificates.k8s.io", "CertificateSigningRequest", "approval"): _SPEC.union(
        FieldSet.of(Path(("status", "certificate")))
    ),
}
# In Kubernetes 1.36, which alone has this version, its main storage has no strategy of
# reset fields.
_WITH_STATUS: Final = frozenset({("scheduling.k8s.io/v1alpha2", "PodGroup")})


@bounded("the object")
def reset_fields(
    schema: Schema, subresource: str = "", *, has_status: bool = True
) -> FieldSet:
    """Return the fields that a write through a subresource resets, and all below them.

    ``subresource`` is empty for the main resource. A custom resource whose definition
    does not declare the subresource ``status`` has no reset fields. A schema that was
    made of a definition tells; for one of a cluster's OpenAPI it is ``has_status``.

    The answer is that of Kubernetes 1.37; 1.36 differs for a PodCertificateRequest,
    whose metadata can be written through the status, and whose status through the main
    resource. The filters of a Pod's ``ephemeralcontainers`` and ``resize``, which name
    what is owned, are no such sets.
    """
    type_ = schema.type
    if not has_status or (isinstance(type_, ObjectType) and type_.no_status):
        return EMPTY
    return _reset_fields(schema.api_version, schema.kind, subresource)


@cache
def _reset_fields(api_version: str, kind: str, subresource: str) -> FieldSet:
    group = api_version.rpartition("/")[0]
    own_rule = _OWN_RULES.get((group, kind, subresource))
    if own_rule is not None:
        return own_rule
    if subresource == "":
        return EMPTY if (api_version, kind) in _WITH_STATUS else _STATUS
    if subresource != "status":
        return EMPTY
    return _SPEC if (group, kind) in _SPEC_ALONE else _SPEC.union(_METADATA)


# Of the spec of a Pod, what a subresource writes (Go: GetResetFieldsFilter of
# podEphemeralContainersStrategy and podResizeStrategy). Of a container that is only its
# resources, which a set of fields cannot say.
_WRITTEN_OF_POD: Final = {
    "ephemeralcontainers": ("ephemeralContainers",),
    "resize": ("containers", "initContainers"),
}


def reset_fields_of(
    objects: Iterable[JSONObject], schema: Schema, subresource: str, *, has_status: bool
) -> FieldSet:
    """Return the fields of these objects that a write through a subresource resets."""
    reset = reset_fields(schema, subresource, has_status=has_status)
    written = _WRITTEN_OF_POD.get(subresource, ())
    if not written or (schema.api_version, schema.kind) != ("v1", "Pod"):
        return reset
    paths: list[Path] = []
    for obj in objects:
        paths += [Path((name,)) for name in ("metadata", "status") if name in obj]
        for name in as_object(obj.get("spec")):
            if name not in written:
                paths.append(Path(("spec", name)))
    return reset.union(FieldSet.of(*paths))


def add_reset(new: JSONObject, old: JSONObject, fields: FieldSet) -> JSONObject:
    """Return an object with reset fields as they were before, absent on create.

    Both objects are without managedFields.
    """
    result = new
    for path in fields.paths():
        result = _reset(result, old, path.steps)
    return result


def _reset(new: JSONObject, old: JSONObject, steps: tuple[Step, ...]) -> JSONObject:
    name = str(steps[0])
    before: JSON | Absent = old.get(name, ABSENT)
    if len(steps) > 1 and name in new:
        before = _reset(as_object(new[name]), as_object(old.get(name)), steps[1:])
    if before is new.get(name, ABSENT):
        return new
    if before is not ABSENT:
        return {**new, name: before}
    rest = {**new}
    del rest[name]
    return rest


# Metadata that a write may leave out; the namespace is that of the request.
_SYSTEM_METADATA: Final = (
    "deletionGracePeriodSeconds",
    "namespace",
    "resourceVersion",
    "uid",
)
# What it cannot change, whatever it says.
_FIXED_METADATA: Final = ("creationTimestamp", "deletionTimestamp", "generation")


def add_system_metadata(new: JSONObject, old: JSONObject) -> JSONObject:
    """Return an object with the metadata that a server sets and no write changes.

    Clients write ``creationTimestamp: null`` and ``uid: ""`` (Go: rest.BeforeUpdate,
    validation.ValidateObjectMetaAccessorUpdate).
    """
    metadata, before = metadata_of(new), metadata_of(old)
    restored: dict[str, JSON | Absent] = {}
    for name, value in before.items():
        absent = name in _SYSTEM_METADATA and not is_stated(metadata, name)
        if absent or name in _FIXED_METADATA:
            restored[name] = value
    if "namespace" in metadata and "uid" in before and "namespace" not in before:
        # The object of a kind without namespaces (Go: rest.BeforeUpdate).
        restored["namespace"] = ABSENT
    return set_metadata(new, **restored) if restored else new
