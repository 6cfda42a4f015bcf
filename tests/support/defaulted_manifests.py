"""Valid objects of built-in kinds, and the object that an API server would store.

The manifests are the objects of tests/data/defaults/bases.yaml, each of them varied in
one field, and those of tests.support.makers.manifests. What a server allocates, or its
admission plugins fill in, is no default: ``ALLOCATED`` lists it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import smp
from smp._values.values import JSON, JSONObject, as_object
from smp.documents import read
from smp.schema.bundle import read_bundled_file
from smp.schema.model import ListType, ObjectType, ScalarType, Type
from tests.support.makers.manifests import KINDS, ManifestMaker
from tests.support.paths import DATA
from tests.support.typed_objects import VERSION

BASES: Final = DATA / "defaults" / "bases.yaml"

# By kind, and for all kinds under "": what is not compared. ``*`` is any element.
ALLOCATED: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "metadata.uid",
        "metadata.creationTimestamp",
        "metadata.generation",
        "metadata.managedFields",
        "metadata.namespace",
        "metadata.resourceVersion",
        # A create resets it, and an update keeps the stored one.
        "status",
    ),
    # Who asks; an update keeps what was asked for.
    "CertificateSigningRequest": ("spec",),
    "DaemonSet": ("metadata.annotations.deprecated~daemonset~template~generation",),
    "Job": (
        "metadata.labels",
        "spec.selector",
        "spec.template.metadata.labels",
    ),
    "Namespace": ("spec.finalizers",),
    "Node": ("spec.taints",),
    "PersistentVolume": ("metadata.finalizers",),
    "PersistentVolumeClaim": ("metadata.finalizers",),
    "Pod": ("spec.preemptionPolicy", "spec.priority", "spec.tolerations"),
    "Service": (
        "spec.clusterIP",
        "spec.clusterIPs",
        "spec.healthCheckNodePort",
        "spec.ipFamilies",
        "spec.ipFamilyPolicy",
        "spec.ports.*.nodePort",
    ),
    "VolumeAttributesClass": ("metadata.finalizers",),
}


def compared(obj: JSONObject) -> JSONObject:
    """Return an object without what is allocated."""
    result = obj
    for path in ALLOCATED[""] + ALLOCATED.get(str(obj["kind"]), ()):
        names = [name.replace("~", ".") for name in path.split(".")]
        result = as_object(_without(result, names))
    return result


def _without(value: JSON, path: list[str]) -> JSON:
    name, below = path[0], path[1:]
    if isinstance(value, list) and name == "*":
        return [_without(element, below) for element in value]
    if not isinstance(value, dict) or name not in value:
        return value
    rest = {key: member for key, member in value.items() if key != name}
    if not below:
        return rest
    left = _without(value[name], below)
    # A map whose only entry was allocated would not be there.
    return rest if name == "annotations" and not left else {**rest, name: left}


def bases() -> Iterator[JSONObject]:
    """Yield the objects of the file."""
    for document in read(BASES.read_bytes(), source=str(BASES)):
        yield as_object(document.value)


def manifests(seed: int, of_each_kind: int) -> Iterator[JSONObject]:
    """Yield manifests as people write them."""
    for kind in KINDS:
        for number in range(of_each_kind):
            yield ManifestMaker(f"defaults {seed} {number}", kind, "x").manifest()


def variations(obj: JSONObject, random: Random, most: int) -> list[JSONObject]:
    """Return an object varied in one field each: removed, null, empty or zero."""
    schema = smp.kubernetes(VERSION).schema_of(obj)
    made = [as_object(varied) for varied in _varied(obj, schema.type, top=True)]
    return made if len(made) <= most else random.sample(made, most)


_ZEROS: Final[dict[str, JSON]] = {"integer": 0, "boolean": False, "number": 0}


def _varied(value: JSON, type_: Type, *, top: bool = False) -> Iterator[JSON]:
    if isinstance(value, list):
        for index, element in enumerate(value):
            for varied in _varied(element, type_.items):
                yield [*value[:index], varied, *value[index + 1 :]]
    if not isinstance(value, dict) or not isinstance(type_, ObjectType):
        return
    for field in type_:
        if top and field.name in ("apiVersion", "kind", "metadata", "status"):
            continue
        others = {name: v for name, v in value.items() if name != field.name}
        if field.name in value:
            yield others
            yield {**others, field.name: None}
            for varied in _varied(value[field.name], field.type):
                yield {**value, field.name: varied}
        elif isinstance(field.type, ScalarType):
            yield {**others, field.name: _ZEROS.get(field.type.name, "")}
        elif isinstance(field.type, ListType):
            yield {**others, field.name: []}
            yield {**others, field.name: [{}]}
        else:
            yield {**others, field.name: {}}


def resource_path(obj: JSONObject) -> str:
    """Return the path of the collection of an object in the default namespace."""
    api_version, kind = str(obj["apiVersion"]), str(obj["kind"])
    group, _, version = api_version.rpartition("/")
    resources: Any = json.loads(read_bundled_file("resources.json"))
    for resource in resources["resources"]:
        if (resource["group"], resource["kind"]) == (group, kind):
            prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
            space = "/namespaces/default" if resource["namespaced"] else ""
            return f"{prefix}{space}/{resource['plural']}"
    raise LookupError(f"{api_version} {kind}")
