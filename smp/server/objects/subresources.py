"""Subresources: what each shows and may change.

Source: "Custom Resources" in the Kubernetes documentation ("Status subresource", "Scale
subresource"), which states for custom resources what is true of built-in ones too.
"""

from __future__ import annotations

from typing import Final

from smp._storage.workloads import quality
from smp._values.api_objects import metadata_of, set_metadata
from smp._values.label_selectors import selector_text
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_object,
    as_text,
    drop_absent,
    objects_in,
    same,
    value_at,
)
from smp.handler import InternalFailureError
from smp.paths import Path
from smp.schema.resources import FieldPath, Resource, ScalePaths
from smp.server.errors import (
    InvalidError,
    StatusError,
    UnknownResourceError,
    forbidden,
    invalid,
)

SCALE_API_VERSION: Final = "autoscaling/v1"
# The metadata that a Scale has in common with its object.
_SCALE_METADATA: Final = (
    "creationTimestamp",
    "name",
    "namespace",
    "resourceVersion",
    "uid",
)
_PODS: Final = ("", "pods")
_MAX_REPLICAS: Final = 2**31 - 1


class NoReplicasError(InternalFailureError):
    """A custom resource without replicas, whose scale is read.

    Go: apiextensions-apiserver, pkg/registry/customresource, scaleFromCustomResource.
    """

    default_code = "no-replicas"


def on_create(obj: JSONObject, resource: Resource) -> JSONObject:
    """Return a new object without the status, which only its subresource sets."""
    # A kubelet registers its node and reports its status in one request.
    if not resource.status or resource.strategy.created_with_status:
        return obj
    return _with(obj, status=ABSENT)


def on_update(old: JSONObject, new: JSONObject, resource: Resource) -> JSONObject:
    """Return the new object with the old status, where status is a subresource.

    "PUT/POST/PATCH requests to the custom resource ignore changes to the status
    stanza."
    """
    return _with(new, status=old.get("status", ABSENT)) if resource.status else new


def on_status_update(
    old: JSONObject, new: JSONObject, resource: Resource
) -> JSONObject:
    """Return the old object with the new status, and for most kinds new metadata.

    "PUT requests to the /status subresource take a custom resource object and ignore
    changes to anything except the status stanza." Go: PrepareForUpdate of the status
    strategies in k8s.io/kubernetes/pkg/registry.
    """
    status = new.get("status", ABSENT)
    former_class = value_at(old, ("status", "qosClass"))
    if resource.key == _PODS and former_class is not None:
        # Go: podStatusStrategy.PrepareForUpdate.
        status = {"qosClass": former_class, **as_object(new.get("status"))}
    changed = _with(old, status=status)
    strategy = resource.strategy
    if strategy.status_keeps_all:
        return changed
    metadata = metadata_of(old)
    former = {name: metadata.get(name, ABSENT) for name in strategy.status_keeps}
    return {**changed, "metadata": metadata_of(set_metadata(new, **former))}


def on_subresource_update(
    subresource: str, old: JSONObject, new: JSONObject, resource: Resource
) -> JSONObject:
    """Return the old object with what a subresource writes of the new one.

    Go: the strategies in pkg/registry whose names end so: podEphemeralContainers,
    podResize, csrApproval, namespaceFinalize.
    """
    old_spec, new_spec = as_object(old.get("spec")), as_object(new.get("spec"))
    match subresource:
        case "ephemeralcontainers":
            containers = new_spec.get("ephemeralContainers", ABSENT)
            _check_kept(old_spec.get("ephemeralContainers"), containers)
            return {**old, "spec": _with(old_spec, ephemeralContainers=containers)}
        case "resize":
            spec = {**old_spec}
            for name in ("containers", "initContainers"):
                if name in spec:
                    spec[name] = _resize(spec[name], new_spec.get(name))
            resized = {**old, "spec": spec}
            if quality(resized) != quality(old):
                detail = "Pod QOS Class may not change as a result of resizing"
                raise InvalidError([invalid(Path(("spec",)), quality(old), detail)])
            return resized
        case "approval":
            conditions = as_object(new.get("status")).get("conditions", ABSENT)
            status = as_object(old.get("status"))
            return {**old, "status": _with(status, conditions=conditions)}
        case "finalize":
            finalizers = new_spec.get("finalizers", ABSENT)
            return {**old, "spec": _with(old_spec, finalizers=finalizers)}
        case _:
            return on_status_update(old, new, resource)


def _check_kept(old: JSON, new: JSON | Absent) -> None:
    """Raise InvalidError unless all ephemeral containers stay as they are.

    Go: ValidatePodEphemeralContainersUpdate.
    """
    remaining = {as_text(each.get("name")): each for each in objects_in(new)}
    for container in objects_in(old):
        name = as_text(container.get("name"))
        if name not in remaining:
            detail = f'existing ephemeral containers "{name}" may not be removed\n'
        elif not same(remaining[name], container):
            detail = f'existing ephemeral containers "{name}" may not be changed\n'
        else:
            continue
        raise InvalidError([forbidden(Path(("spec", "ephemeralContainers")), detail)])


def _resize(old: JSON, new: JSON) -> JSON:
    """Return containers with the new resources of those of the same names."""
    # Containers that are added or removed here are ignored.
    changed = {
        as_text(container.get("name")): container for container in objects_in(new)
    }
    resized: list[JSON] = []
    for container in objects_in(old):
        other = changed.get(as_text(container.get("name")), container)
        members = {
            name: other.get(name, ABSENT) for name in ("resources", "resizePolicy")
        }
        resized.append(_with(container, **members))
    return resized


def _with(obj: JSONObject, **members: JSON | Absent) -> JSONObject:
    """Return an object with other members; those that are ABSENT are removed."""
    return drop_absent({**obj, **members})


def scale_of(obj: JSONObject, resource: Resource) -> JSONObject:
    """Return the Scale of an object: its replicas and the selector of its pods.

    Raises UnknownResourceError for a resource without the subresource.
    """
    paths = _scale_paths(resource)
    # A built-in object without replicas has the default that a typed server would have
    # stored.
    replicas = value_at(obj, paths.spec_replicas)
    if replicas is None:
        replicas = paths.default_replicas
    status: JSONObject = {"replicas": _integer(value_at(obj, paths.status_replicas))}
    # Autoscalers find the pods by the selector, as text.
    if paths.selector:
        selector = selector_text(value_at(obj, paths.selector))
        if selector:
            status["selector"] = selector
    metadata = metadata_of(obj)
    return {
        "kind": "Scale",
        "apiVersion": SCALE_API_VERSION,
        "metadata": {
            name: value for name, value in metadata.items() if name in _SCALE_METADATA
        },
        # In Go the field is an int32 that is left out where it is 0.
        "spec": {"replicas": replicas} if _integer(replicas) else {},
        "status": status,
    }


def readable_scale_of(obj: JSONObject, resource: Resource) -> JSONObject:
    """Return the Scale of an object to a client that reads it.

    Raises what ``scale_of`` raises, and NoReplicasError for a custom resource without
    replicas, which a server scales all the same.
    """
    paths = _scale_paths(resource)
    if resource.custom and value_at(obj, paths.spec_replicas) is None:
        path = ".".join(["", *paths.spec_replicas])
        raise NoReplicasError(f'the spec replicas field "{path}" does not exist')
    return scale_of(obj, resource)


def set_scale(obj: JSONObject, scale: JSONObject, resource: Resource) -> JSONObject:
    """Return an object with the replicas of a changed Scale; absent replicas are 0.

    Raises UnknownResourceError for a resource without the subresource, StatusError for
    an object of another kind, and InvalidError for replicas other than an
    integer from 0 to 2^31 - 1.
    """
    if (scale.get("kind"), scale.get("apiVersion")) != ("Scale", SCALE_API_VERSION):
        raise StatusError(f"the object must be a Scale in {SCALE_API_VERSION}")
    # In Go the field is an int32 that is left out when it is 0.
    replicas = value_at(scale, ("spec", "replicas"))
    if replicas is None:
        replicas = 0
    # bool is a subclass of int, so isinstance does not suffice.
    if type(replicas) is not int or not 0 <= replicas <= _MAX_REPLICAS:
        detail = "must be an integer greater than or equal to 0"
        raise InvalidError([invalid(Path(("spec", "replicas")), replicas, detail)])
    return _set_value_at(obj, _scale_paths(resource).spec_replicas, replicas)


def _scale_paths(resource: Resource) -> ScalePaths:
    if resource.scale is None:
        raise UnknownResourceError(f"{resource.qualified} have no scale subresource")
    return resource.scale


def _integer(value: JSON) -> int:
    return value if type(value) is int else 0


def _set_value_at(value: JSON, path: FieldPath, leaf: JSON) -> JSONObject:
    """Return an object with a value at a path; objects on the way are added."""
    fields = as_object(value)
    name, *rest = path
    if rest:
        leaf = _set_value_at(fields.get(name), tuple(rest), leaf)
    return {**fields, name: leaf}
