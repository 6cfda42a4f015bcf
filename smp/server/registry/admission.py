"""What becomes of an object between the handler and the store. Pure: time and chance
are arguments.

Most of it holds for every resource; namespaces and CustomResourceDefinitions have a
state that the server keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from smp.paths import Path
from smp.server.errors import invalid, raise_invalid
from smp.server.objects import crds, metadata, subresources
from smp.server.objects.crds.validation import violations
from smp.server.objects.metadata import metadata_of, with_metadata
from smp.server.objects.resources import Resource, Resources
from smp.server.registry.kinds import Kind
from smp.server.registry.target import CRDS, NAMESPACES
from smp.values import JSON, JSONObject, same

_NAME_LABEL: Final = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """When something happens, what is served then, and what chance gives a new object."""

    now: datetime
    resources: Resources
    uid: str = ""
    suffix: str = ""


def admit_new(
    obj: JSONObject, kind: Kind, namespace: str, when: Circumstances
) -> JSONObject:
    """Return a new object as it is stored. Raises StatusError and InvalidError."""
    placed = metadata.prepare_for_create(
        obj,
        kind.resource,
        namespace=namespace,
        now=when.now,
        uid=when.uid,
        suffix=when.suffix,
    )
    return _admitted(
        {},
        _with_initial_status(
            subresources.on_create(placed, kind.resource), kind.resource
        ),
        kind,
        when,
    )


def admit_change(
    old: JSONObject, new: JSONObject, kind: Kind, subresource: str, when: Circumstances
) -> JSONObject:
    """Return a changed object as it is stored; of a subresource only its own part is
    taken. Raises InvalidError.
    """
    resource = kind.resource
    if subresource == "status":
        changed = subresources.on_status_update(old, new)
        return _checked(metadata.prepare_for_update(old, changed, resource), kind)
    changed = subresources.on_update(old, new, resource)
    return metadata.prepare_for_update(
        old, _admitted(old, changed, kind, when), resource
    )


def terminating(obj: JSONObject, when: Circumstances) -> JSONObject:
    """Return a namespace, or a definition, that is being deleted: what belongs to it
    has to go first.
    """
    if "deletionTimestamp" in metadata_of(obj):
        return obj
    marked = with_metadata(
        obj,
        deletionTimestamp=metadata.timestamp(when.now),
        deletionGracePeriodSeconds=0,
    )
    return (
        {**marked, "status": {**_members(obj, "status"), "phase": "Terminating"}}
        if _is_namespace(obj)
        else marked
    )


def _admitted(
    old: JSONObject, new: JSONObject, kind: Kind, when: Circumstances
) -> JSONObject:
    own_state = _OWN_STATES.get(kind.resource.key)
    return _checked(own_state(old, new, when) if own_state else new, kind)


def _checked(obj: JSONObject, kind: Kind) -> JSONObject:
    if kind.defined:
        raise_invalid(violations(obj, kind.defined.schema))
    return obj


def _namespace(old: JSONObject, new: JSONObject, _when: Circumstances) -> JSONObject:
    labels = {
        **_members(metadata_of(new), "labels"),
        _NAME_LABEL: metadata_of(new).get("name"),
    }
    spec: JSONObject = {
        **_members(new, "spec"),
        "finalizers": _members(old, "spec").get("finalizers", ["kubernetes"]),
    }
    status: JSON = old.get("status") or {"phase": "Active"}
    return {**with_metadata(new, labels=labels), "spec": spec, "status": status}


def _definition(old: JSONObject, new: JSONObject, when: Circumstances) -> JSONObject:
    crds.Definition.read(new)
    if crds.is_established(old):
        changed = (path for path in _FIXED if not same(_at(old, path), _at(new, path)))
        raise_invalid(
            invalid(Path(path), _at(new, path), "field is immutable")
            for path in changed
        )
    return crds.with_status(new, when.resources, now=when.now)


# What the objects of an established definition are stored by.
_FIXED: Final = (("spec", "scope"), ("spec", "names", "kind"))


def _at(value: JSON, path: tuple[str, ...]) -> JSON:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with_initial_status(obj: JSONObject, resource: Resource) -> JSONObject:
    if resource.custom or not resource.status or "status" in obj:
        return obj
    return {**obj, "status": _INITIAL_STATUS.get(resource.key, {})}


# What a typed server prints where nobody has set a status yet; it is empty where
# nothing is said here.
_PENDING: Final[JSONObject] = {"phase": "Pending"}
_NO_ADDRESS: Final[JSONObject] = {"loadBalancer": {}}
_INITIAL_STATUS: Final[dict[tuple[str, str], JSONObject]] = {
    ("", "persistentvolumeclaims"): _PENDING,
    ("", "persistentvolumes"): _PENDING,
    ("", "pods"): _PENDING,
    ("", "services"): _NO_ADDRESS,
    ("networking.k8s.io", "ingresses"): _NO_ADDRESS,
    ("policy", "poddisruptionbudgets"): dict.fromkeys(
        ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"), 0
    ),
}

OwnState: TypeAlias = Callable[[JSONObject, JSONObject, Circumstances], JSONObject]
_OWN_STATES: Final[dict[tuple[str, str], OwnState]] = {
    NAMESPACES: _namespace,
    CRDS: _definition,
}


def _is_namespace(obj: JSONObject) -> bool:
    return obj.get("kind") == "Namespace"


def _members(obj: JSONObject, name: str) -> JSONObject:
    found = obj.get(name)
    return found if isinstance(found, dict) else {}
