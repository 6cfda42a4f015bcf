"""From an object as the handler accepts it to the object that is stored.

Pure: time and chance are in the ``AdmissionContext``. Most of admission is the same for
every resource; namespaces and CustomResourceDefinitions have a state that the server
keeps.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from smp.paths import Path
from smp.server.errors import invalid, raise_invalid
from smp.server.objects import crds, metadata
from smp.server.objects.crds.validation import violations
from smp.server.objects.daemon_sets import DAEMON_SETS, counted
from smp.server.objects.fields import value_at
from smp.server.objects.metadata import metadata_of, with_metadata
from smp.server.objects.resources import Resource, Resources
from smp.server.objects.services import SERVICES, without_fields_of_type
from smp.server.registry.kinds import Kind
from smp.server.registry.target import CRDS, NAMESPACES
from smp.update import put_at_rest
from smp.values import JSON, JSONObject, as_object, same

_NAME_LABEL: Final = "kubernetes.io/metadata.name"

# The objects of an established definition are stored under these, so they cannot change
# (k8s.io/apiextensions-apiserver: pkg/apis/apiextensions/validation).
_IMMUTABLE: Final = (("spec", "scope"), ("spec", "names", "kind"))

# The status that an API server answers where a controller has not set one yet; for
# resources that are not listed all of it is zero.
_PENDING: Final[JSONObject] = {"phase": "Pending"}
_INITIAL_STATUS: Final[dict[tuple[str, str], JSONObject]] = {
    ("", "persistentvolumeclaims"): _PENDING,
    ("", "persistentvolumes"): _PENDING,
    ("", "pods"): _PENDING,
}


class AdmissionContext(msgspec.Struct, frozen=True):
    """The time of a write, what is served then, and the random parts of a new object.

    ``schema_settings`` are those of CustomResourceDefinitions. ``uid`` is the identity
    of the object, ``suffix`` is appended to a generateName.
    """

    now: datetime
    resources: Resources
    schema_settings: crds.SchemaSettings = crds.SchemaSettings()
    uid: str = ""
    suffix: str = ""


class Admitted(msgspec.Struct, frozen=True):
    """An object to store, and warnings for the client."""

    object: JSONObject
    warnings: tuple[str, ...] = ()


def admit_new(
    obj: JSONObject, kind: Kind, namespace: str, context: AdmissionContext
) -> Admitted:
    """Admit a new object. Raises StatusError and InvalidError."""
    resource = kind.resource
    obj = metadata.prepare_for_create(
        obj,
        resource,
        namespace=namespace,
        now=context.now,
        uid=context.uid,
        suffix=context.suffix,
    )
    # A typed server always answers a status, even an empty one.
    if resource.status and not resource.custom and "status" not in obj:
        obj = {**obj, "status": _INITIAL_STATUS.get(resource.key, {})}
    admitted = _with_server_state({}, obj, resource, context)
    _check_custom(admitted.object, kind)
    return Admitted(_at_rest(admitted.object, kind), admitted.warnings)


def admit_change(
    old: JSONObject,
    new: JSONObject,
    kind: Kind,
    subresource: str,
    context: AdmissionContext,
) -> Admitted:
    """Admit an object that was changed through the object itself or a subresource.

    Raises StatusError and InvalidError.
    """
    resource = kind.resource
    if subresource in {"status", "finalize"}:
        # Here a client sets the status itself, as controllers do in a cluster: the
        # state that the server keeps is not computed again.
        warnings: tuple[str, ...] = ()
        if resource.key == CRDS:
            warnings = crds.Definition.read(new, context.schema_settings).warnings
        new = _at_rest(metadata.prepare_for_update(old, new, resource), kind, old)
        _check_custom(new, kind)
        return Admitted(new, warnings)
    admitted = _with_server_state(old, new, resource, context)
    _check_custom(admitted.object, kind)
    # Last, as the generation grows only where something is different in the end.
    obj = metadata.prepare_for_update(old, admitted.object, resource)
    return Admitted(_at_rest(obj, kind, old), admitted.warnings)


def _at_rest(obj: JSONObject, kind: Kind, old: JSONObject | None = None) -> JSONObject:
    """Return an object as it is read from the storage of a server."""
    if kind.defined or kind.schema is None:
        return obj
    return put_at_rest(obj, kind.schema, old)


def _check_custom(obj: JSONObject, kind: Kind) -> None:
    """Validate a custom resource against its schema. Raises InvalidError."""
    if kind.defined:
        raise_invalid(violations(obj, kind.defined.schema))


def _with_server_state(
    old: JSONObject, new: JSONObject, resource: Resource, context: AdmissionContext
) -> Admitted:
    """Set the state that the server keeps; ``old`` is {} for a new object."""
    if resource.key == NAMESPACES:
        return Admitted(_with_namespace_state(old, new))
    if resource.key == DAEMON_SETS and old:
        return Admitted(counted(old, new))
    if resource.key == SERVICES and old:
        return Admitted(without_fields_of_type(old, new))
    if resource.key != CRDS:
        return Admitted(new)
    # Before the state: reading validates the definition, and raises InvalidError.
    definition = crds.Definition.read(new, context.schema_settings)
    if crds.is_established(old):
        changed = [
            path
            for path in _IMMUTABLE
            if not same(value_at(old, path), value_at(new, path))
        ]
        raise_invalid(
            invalid(Path(path), value_at(new, path), "field is immutable")
            for path in changed
        )
    new = crds.with_status(new, context.resources, now=context.now)
    return Admitted(new, definition.warnings)


def _with_namespace_state(old: JSONObject, new: JSONObject) -> JSONObject:
    """Return a namespace with its name as a label, the finalizer, and the phase.

    In a cluster a controller removes the finalizer when the namespace is empty; here
    the server deletes the namespace then.
    """
    # The label cannot be changed (Kubernetes documentation: "Automatic labelling").
    labels = as_object(metadata_of(new).get("labels"))
    labels = {**labels, _NAME_LABEL: metadata_of(new).get("name")}
    finalizers = as_object(old.get("spec")).get("finalizers", ["kubernetes"])
    spec: JSONObject = {**as_object(new.get("spec")), "finalizers": finalizers}
    # The phase changes by deletion only.
    status: JSON = old.get("status") or {"phase": "Active"}
    return {**with_metadata(new, labels=labels), "spec": spec, "status": status}
