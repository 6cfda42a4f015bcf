"""The subresources ``status`` and ``scale``: what each of them shows of an object and
what it may change. Pure.

Source: "Custom Resources" in the Kubernetes documentation ("Status subresource", "Scale
subresource"), which says of custom resources what holds for the built-in ones.
"""

from __future__ import annotations

from typing import Final

from smp.errors import SmpError
from smp.paths import Path
from smp.server.errors import InvalidError, StatusError, UnknownResourceError, invalid
from smp.server.objects.metadata import metadata_of
from smp.server.objects.resources import FieldPath, Resource, ScalePaths
from smp.server.objects.selectors import selector_text
from smp.values import ABSENT, JSON, Absent, JSONObject

SCALE_API_VERSION: Final = "autoscaling/v1"
_SHARED: Final = ("creationTimestamp", "name", "namespace", "resourceVersion", "uid")
_REGISTER_THEMSELVES: Final = {("", "nodes")}  # with their status


class NoReplicasError(SmpError):
    """A custom resource that has no replicas where its definition says that they are."""

    default_code = "no-replicas"
    status = 422  # a real server says 500, of what the author of the object did


def on_create(obj: JSONObject, resource: Resource) -> JSONObject:
    """Return a new object without the status, which is for its subresource to set."""
    if not resource.status or resource.key in _REGISTER_THEMSELVES:
        return obj
    return {name: value for name, value in obj.items() if name != "status"}


def on_update(old: JSONObject, new: JSONObject, resource: Resource) -> JSONObject:
    """Return the new object with the status of the old one, where status is a
    subresource.
    """
    return with_status(new, old.get("status", ABSENT)) if resource.status else new


def on_status_update(old: JSONObject, new: JSONObject) -> JSONObject:
    """Return the old object with the status of the new one."""
    return with_status(old, new.get("status", ABSENT))


def with_status(obj: JSONObject, status: JSON | Absent) -> JSONObject:
    """Return an object with a status; ABSENT takes it away."""
    others = {name: value for name, value in obj.items() if name != "status"}
    return others if isinstance(status, Absent) else {**others, "status": status}


def scale_of(obj: JSONObject, resource: Resource) -> JSONObject:
    """Return the Scale of an object: the replicas that are wanted and there, and the
    selector of the pods.

    Raises UnknownResourceError for a resource without the subresource, NoReplicasError.
    """
    paths = _paths(resource)
    selector = selector_text(_at(obj, paths.selector)) if paths.selector else ""
    return {
        "kind": "Scale",
        "apiVersion": SCALE_API_VERSION,
        "metadata": {
            name: value for name, value in metadata_of(obj).items() if name in _SHARED
        },
        "spec": {"replicas": _wanted(obj, paths)},
        "status": {"replicas": _count(_at(obj, paths.status_replicas))}
        | ({"selector": selector} if selector else {}),
    }


def with_scale(obj: JSONObject, scale: JSONObject, resource: Resource) -> JSONObject:
    """Return an object with the replicas that its changed Scale wants; none are 0.

    Raises UnknownResourceError for a resource without the subresource, StatusError for what
    is no Scale, and InvalidError for replicas that are no number from 0.
    """
    if (scale.get("kind"), scale.get("apiVersion")) != ("Scale", SCALE_API_VERSION):
        raise StatusError(f"a Scale in {SCALE_API_VERSION} is expected")
    wanted = _at(scale, ("spec", "replicas"))
    replicas = 0 if wanted is None else wanted
    if type(replicas) is not int or not 0 <= replicas < 2**31:
        raise InvalidError(
            [
                invalid(
                    Path(("spec", "replicas")),
                    replicas,
                    "must be an integer greater than or equal to 0",
                )
            ]
        )
    return _with(obj, _paths(resource).spec_replicas, replicas)


def _paths(resource: Resource) -> ScalePaths:
    if resource.scale is None:
        raise UnknownResourceError(f"{resource.qualified} have no scale")
    return resource.scale


def _wanted(obj: JSONObject, paths: ScalePaths) -> int:
    replicas = _at(obj, paths.spec_replicas)
    if replicas is not None:
        return _count(replicas)
    if paths.default_replicas is None:
        raise NoReplicasError(
            "there is no value for the replicas of the scale",
            path=Path(paths.spec_replicas),
        )
    return paths.default_replicas


def _count(value: JSON) -> int:
    return value if type(value) is int else 0


def _at(value: JSON, path: FieldPath) -> JSON:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with(value: JSON, path: FieldPath, leaf: JSON) -> JSONObject:
    members = value if isinstance(value, dict) else {}
    name, *below = path
    return {
        **members,
        name: _with(members.get(name), tuple(below), leaf) if below else leaf,
    }
