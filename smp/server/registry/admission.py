"""From an object as the handler accepts it to the object that is stored.

Pure: time and chance are in the ``AdmissionContext``. Most of admission is the same for
every resource; namespaces and CustomResourceDefinitions have a state that the server
keeps.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from smp._storage.events import find_event_violations
from smp._storage.typed_storage import convert
from smp._storage.update import find_violations, put_at_rest
from smp._storage.warnings import warnings_of
from smp._storage.workloads import DAEMON_SETS, add_tolerations, count_templates
from smp._values.api_objects import metadata_of, set_metadata
from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.custom_resources import (
    describe_unevaluated,
    find_expression_violations,
    find_prepared_violations,
)
from smp.schema.resources import Resource, Resources
from smp.schema.structural import add_schema_defaults, make_numbers_whole, prune
from smp.server.errors import raise_invalid
from smp.server.objects import crds, metadata
from smp.server.registry.kinds import Kind
from smp.server.registry.target import CRDS, NAMESPACES

_ADMISSION: Final = "admissionregistration.k8s.io"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


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
        metadata.in_namespace(obj, resource, namespace),
        resource,
        now=context.now,
        uid=context.uid,
        suffix=context.suffix,
    )
    # A typed server always answers a status, even an empty one.
    if resource.status and not resource.custom and "status" not in obj:
        obj = {**obj, "status": resource.strategy.initial_status}
    admitted = _add_server_state({}, obj, resource, context)
    _check_custom(None, admitted.object, kind)
    _check_event(None, admitted.object, resource)
    return _admit(admitted, _at_rest(admitted.object, kind), None, kind)


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
            read = crds.Definition.read(new, context.schema_settings, old)
            warnings = read.warnings
        new = _prepare_for_update(old, new, kind, subresource)
        _check_custom(old, new, kind, subresource)
        return Admitted(new, warnings)
    admitted = _add_server_state(old, new, resource, context)
    _check_custom(old, admitted.object, kind, subresource)
    _check_event(old, admitted.object, resource)
    obj = _prepare_for_update(old, admitted.object, kind, subresource)
    if subresource:
        return Admitted(obj, admitted.warnings)
    return _admit(admitted, obj, old, kind)


def _prepare_for_update(
    old: JSONObject, new: JSONObject, kind: Kind, subresource: str
) -> JSONObject:
    """Return an object as it is read after an update, with its new generation.

    That grows where something is different in the end; of a custom resource also where
    the version that is stored does not know it.
    """
    if kind.defined is None:
        new = _at_rest(new, kind, None if subresource == "finalize" else old)
    new = metadata.prepare_for_update(old, new, kind.resource, subresource)
    return new if kind.defined is None else _at_rest(new, kind, old)


def _admit(
    admitted: Admitted, obj: JSONObject, old: JSONObject | None, kind: Kind
) -> Admitted:
    """Return an object with the warnings of its strategy besides.

    Raises InvalidError for the expressions of policies and webhooks.
    """
    if kind.resource.group == _ADMISSION:
        raise_invalid(find_expression_violations(obj))
        return Admitted(obj, (*admitted.warnings, *describe_unevaluated(obj)))
    version = kind.schema.types.version if kind.schema else ""
    warnings = warnings_of(old, obj, (kind.resource.group, kind.resource.kind), version)
    return Admitted(obj, (*admitted.warnings, *warnings))


def _at_rest(obj: JSONObject, kind: Kind, old: JSONObject | None = None) -> JSONObject:
    if kind.defined is None:
        return obj if kind.schema is None else put_at_rest(obj, kind.schema, old)
    # What the version in which a custom resource is stored does not know is pruned, and
    # its defaults are there, those of the status as well (Go: apiextensions-apiserver,
    # pkg/apiserver, schemaCoercingDecoder and unstructuredDefaulter). Only now numbers
    # are made whole: to all before it 1.0 is a float, which is no duplicate of 1.
    obj, storage = as_object(make_numbers_whole(obj)), kind.defined.storage
    if storage is not kind.defined.schema:
        obj = prune(obj, storage)
    return add_schema_defaults(obj, storage)


def _check_custom(
    old: JSONObject | None, obj: JSONObject, kind: Kind, subresource: str = ""
) -> None:
    """Validate the metadata and the rest of a custom resource. Raises InvalidError.

    Go: apiextensions-apiserver, pkg/registry/customresource/validator.go.
    """
    defined = kind.defined
    if defined is None or kind.schema is None:
        return
    of_metadata = find_violations(old, obj, kind.schema)
    found = find_prepared_violations(
        obj,
        old,
        defined.schema,
        defined.subresources,
        subresource=subresource,
        of_metadata=of_metadata,
    )
    refused = [violation for violation in found if not violation.warning]
    raise_invalid([*of_metadata, *refused])


def _add_server_state(
    old: JSONObject, new: JSONObject, resource: Resource, context: AdmissionContext
) -> Admitted:
    """Set the state that the server keeps; ``old`` is {} for a new object."""
    if resource.key == NAMESPACES:
        return Admitted(_set_namespace_state(old, new))
    if resource.key == DAEMON_SETS and old:
        return Admitted(count_templates(old, new))
    if resource.key == ("", "pods") and old:  # tolerations count as the spec
        return Admitted(add_tolerations(new))
    if resource.key != CRDS:
        return Admitted(new)
    # Before the state: reading validates the definition, and raises InvalidError.
    definition = crds.Definition.read(new, context.schema_settings, old or None)
    new = crds.set_status(new, context.resources, now=context.now)
    return Admitted(new, definition.warnings)


def _check_event(old: JSONObject | None, new: JSONObject, resource: Resource) -> None:
    """Validate an event, in whichever group it is written. Raises InvalidError."""
    if resource.plural != "events" or resource.custom:
        return
    core = [
        each and convert(each, resource.kind, resource.storage_api_version)
        for each in (new, old)
    ]
    strict = resource.api_version != resource.storage_api_version
    raise_invalid(find_event_violations(core[0] or {}, core[1], strict=strict))


def _set_namespace_state(old: JSONObject, new: JSONObject) -> JSONObject:
    """Return a namespace with its name as a label, the finalizer, and the phase.

    In a cluster a controller removes the finalizer when the namespace is empty; here
    the server deletes the namespace then.
    """
    # The label cannot be changed (Kubernetes documentation: "Automatic labelling").
    spec, labels = as_object(new.get("spec")), as_object(metadata_of(new).get("labels"))
    labels = {**labels, _NAME_LABEL: metadata_of(new).get("name")}
    finalizers = as_list(spec.get("finalizers"))
    if not old and "kubernetes" not in finalizers:  # Go: namespaceStrategy
        spec = {**spec, "finalizers": [*finalizers, "kubernetes"]}
    # The phase changes by deletion only.
    status: JSON = old.get("status") or {"phase": "Active"}
    return {**set_metadata(new, labels=labels), "spec": spec, "status": status}
