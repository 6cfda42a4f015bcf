"""What an API server warns of in objects that it accepts.

Go: GetWarningsForPodTemplate in pkg/api/pod, GetWarningsForService in pkg/api/service,
WarningsOnCreate and WarningsOnUpdate of the strategies in pkg/registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values.fields import objects_in, value_at
from smp._values.values import JSON, JSONObject, as_list, as_object, same
from smp.schema.bundle import version_number

# Where resources have the spec of a Pod.
_PODS: Final = {
    ("", "Pod"): ("spec",),
    ("", "PodTemplate"): ("template", "spec"),
    ("", "ReplicationController"): ("spec", "template", "spec"),
    ("apps", "DaemonSet"): ("spec", "template", "spec"),
    ("apps", "Deployment"): ("spec", "template", "spec"),
    ("apps", "ReplicaSet"): ("spec", "template", "spec"),
    ("apps", "StatefulSet"): ("spec", "template", "spec"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
    ("batch", "Job"): ("spec", "template", "spec"),
}
_AFFINITIES: Final = ("podAffinity", "podAntiAffinity")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_GENERATION: Final = ("metadata", "generation")
_NULL_SELECTOR: Final = "{}: a null labelSelector results in matching no pod"
# The version of Kubernetes that deprecates the field.
_EXTERNAL_IPS_SINCE: Final = [1, 36]


def warnings_of(
    old: JSONObject | None, new: JSONObject, kind: tuple[str, str], version: str
) -> tuple[str, ...]:
    """Return the warnings for an object that is written; ``old`` is None on create.

    ``kind`` is its group and its kind, ``version`` the minor version of Kubernetes,
    empty for the newest one.
    """
    if kind == ("", "Service"):
        return tuple(_of_service(as_object(new.get("spec")), version))
    if kind == ("storage.k8s.io", "CSIDriver"):
        return tuple(_of_driver(as_object(new.get("spec")), old or {}))
    place = _PODS.get(kind)
    if place is None:
        return ()
    if old is not None:
        # A Pod is updated by controllers, and what does not count says nothing new.
        before = value_at(old, _GENERATION)
        is_same = before == value_at(new, _GENERATION)
        if is_same or kind == ("", "Pod"):
            return ()
    return tuple(_of_pod(as_object(value_at(new, place)), ".".join(place)))


def _of_driver(spec: JSONObject, old: JSONObject) -> Iterator[str]:
    """Yield the warning of Go's csiDriverStrategy."""
    former = as_object(old.get("spec")).get("tokenRequests")
    is_new = not same(former, spec.get("tokenRequests"))
    asks = is_new and as_list(spec.get("tokenRequests"))
    if asks and spec.get("serviceAccountTokenInSecrets") is None:
        yield (
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI "
            "driver, set to true to prevent possible logging of tokens in volume "
            "attributes"
        )


def _of_service(spec: JSONObject, version: str) -> Iterator[str]:
    is_deprecated = not version or version_number(version) >= _EXTERNAL_IPS_SINCE
    is_headless = spec.get("clusterIP") == "None"
    if is_headless or spec.get("type") == "ExternalName" or not is_deprecated:
        return
    if as_list(spec.get("externalIPs")):
        yield (
            "spec.externalIPs is deprecated and may no longer be implemented in some "
            "clusters"
        )


def _of_pod(spec: JSONObject, path: str) -> Iterator[str]:
    constraints = objects_in(spec.get("topologySpreadConstraints"))
    for index, constraint in enumerate(constraints):
        if constraint.get("labelSelector") is None:
            place = f"{path}.topologySpreadConstraints[{index}].labelSelector"
            yield _NULL_SELECTOR.format(place)
    for index, secret in enumerate(objects_in(spec.get("imagePullSecrets"))):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'
    affinity = as_object(spec.get("affinity"))
    for kind in _AFFINITIES:
        terms = as_object(affinity.get(kind))
        where = f"{path}.affinity.{kind}"
        for index, term in enumerate(objects_in(terms.get(_REQUIRED))):
            yield from _of_term(term, f"{where}.{_REQUIRED}[{index}]")
        for index, weighted in enumerate(objects_in(terms.get(_PREFERRED))):
            place = f"{where}.{_PREFERRED}[{index}].podAffinityTerm"
            yield from _of_term(weighted.get("podAffinityTerm"), place)


def _of_term(term: JSON, path: str) -> Iterator[str]:
    if as_object(term).get("labelSelector") is None:
        yield _NULL_SELECTOR.format(f"{path}.labelSelector")
