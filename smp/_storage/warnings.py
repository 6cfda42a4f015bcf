"""What an API server warns of in objects that it accepts.

Go: GetWarningsForPodTemplate in pkg/api/pod, GetWarningsForService in pkg/api/service
and their like, WarningsOnCreate and WarningsOnUpdate of the strategies in pkg/registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from smp._storage.pod_warnings import (
    DEPRECATED_VOLUMES,
    NODE_LABELS,
    check_claim,
    check_node_terms,
    warnings_of_pod,
)
from smp._values.fields import objects_in, value_at
from smp._values.names import label
from smp._values.values import JSONObject, as_list, as_object, as_text, same
from smp.schema.bundle import version_number

# Where resources have a Pod, or the template of one.
_PODS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("", "Pod"): (),
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
    ("batch", "Job"): ("spec", "template"),
}
_SURPRISING: Final = (
    "metadata.name: this is used in {}, which can result in surprising behavior; a DNS"
    " label is recommended: [{}]"
)
# What the name of an object becomes, beside the host name of its Pods.
_NAMES: Final = {
    ("", "Pod"): "the Pod's hostname",
    **dict.fromkeys(
        (
            ("apps", "Deployment"),
            ("apps", "ReplicaSet"),
            ("", "ReplicationController"),
            ("batch", "CronJob"),
            ("batch", "Job"),
        ),
        "Pod names and hostnames",
    ),
}
_GENERATION: Final = ("metadata", "generation")
_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_OF_CLASS: Final = 'deprecated since v1.8; use "storageClassName" attribute instead'
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_OF_OPTIONS: Final = 'deprecated since v1.31; use "mountOptions" attribute instead'
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
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
        return tuple(_check_service(new, version))
    if kind == ("storage.k8s.io", "CSIDriver"):
        return tuple(_check_driver(as_object(new.get("spec")), old or {}))
    if kind == ("networking.k8s.io", "Ingress"):
        return () if old else tuple(_check_ingress(new))
    if kind == ("discovery.k8s.io", "EndpointSlice"):
        is_name = old is None and new.get("addressType") == "FQDN"
        return ("spec.addressType: FQDN endpoints are deprecated",) if is_name else ()
    if kind in _ALWAYS:
        return tuple(_ALWAYS[kind](new))
    return tuple(_check_workload(old, new, kind)) if kind in _PODS else ()


def _check_workload(
    old: JSONObject | None, new: JSONObject, kind: tuple[str, str]
) -> Iterator[str]:
    """Yield the warnings for a Pod, or for what makes Pods from a template."""
    if old is None and kind in _NAMES:
        problem = label(as_text(value_at(new, ("metadata", "name"))))
        if problem:
            yield _SURPRISING.format(_NAMES[kind], problem)
    path = _PODS[kind]
    # A Pod is updated by controllers, and what does not count says nothing new. Only a
    # DaemonSet counts its templates.
    counted = path if kind == ("apps", "DaemonSet") else _GENERATION
    is_same = old is not None and (
        kind == ("", "Pod") or same(value_at(old, counted), value_at(new, counted))
    )
    if not is_same:
        # A server looks at the former template (Go: rcStrategy.WarningsOnUpdate).
        told = old if old and kind == ("", "ReplicationController") else new
        template = as_object(value_at(told, path))
        yield from warnings_of_pod(template, "".join(f"{step}." for step in path))
    schedule = as_text(value_at(new, ("spec", "schedule")))
    if kind == ("batch", "CronJob") and old is not None and "TZ" in schedule:
        yield (
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see"
            " https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for"
            " more details"
        )
    if kind == ("apps", "StatefulSet"):
        yield from _check_stateful_set(as_object(new.get("spec")), is_new=old is None)


def _check_stateful_set(spec: JSONObject, *, is_new: bool) -> Iterator[str]:
    for index, claim in enumerate(objects_in(spec.get("volumeClaimTemplates"))):
        place = f"spec.volumeClaimTemplates[{index}]{'' if is_new else '.Spec'}"
        yield from check_claim(as_object(claim.get("spec")), place)
    limit = spec.get("revisionHistoryLimit")
    if isinstance(limit, int) and limit < 0:
        yield (
            "spec.revisionHistoryLimit: a negative value retains all historical"
            " revisions; a value >= 0 is recommended"
        )


def _check_driver(spec: JSONObject, old: JSONObject) -> Iterator[str]:
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


def _check_service(service: JSONObject, version: str) -> Iterator[str]:
    spec = as_object(service.get("spec"))
    if _HINTS in as_object(value_at(service, ("metadata", "annotations"))):
        yield (
            f"annotation {_HINTS} is deprecated, please use"
            " service.kubernetes.io/topology-mode instead"
        )
    is_deprecated = not version or version_number(version) >= _EXTERNAL_IPS_SINCE
    is_name = spec.get("type") == "ExternalName"
    is_headless = spec.get("clusterIP") == "None"
    has_external = bool(as_list(spec.get("externalIPs")))
    if is_headless and spec.get("type") == "ClusterIP":
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if has_external:
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    if has_external and is_deprecated and not (is_headless or is_name):
        yield (
            "spec.externalIPs is deprecated and may no longer be implemented in some "
            "clusters"
        )
    if is_name and has_external:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if not is_name and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield (
            'spec.trafficDistribution: "PreferClose" is deprecated; use'
            ' "PreferSameZone"'
        )


def _check_ingress(ingress: JSONObject) -> Iterator[str]:
    annotations = as_object(value_at(ingress, ("metadata", "annotations")))
    named = value_at(ingress, ("spec", "ingressClassName"))
    if _INGRESS_CLASS in annotations and named is None:
        yield (
            f'annotation "{_INGRESS_CLASS}" is deprecated, please use'
            " 'spec.ingressClassName' instead"
        )


def _check_persistent_volume(volume: JSONObject) -> Iterator[str]:
    spec = as_object(volume.get("spec"))
    annotations = as_object(value_at(volume, ("metadata", "annotations")))
    for key, problem in ((_STORAGE_CLASS, _OF_CLASS), (_MOUNT_OPTIONS, _OF_OPTIONS)):
        if key in annotations:
            yield f"metadata.annotations[{key}]: {problem}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is"
            " deprecated. Instead, the recommended approach is to use dynamic"
            " provisioning."
        )
    place = ("nodeAffinity", "required", "nodeSelectorTerms")
    yield from check_node_terms(value_at(spec, place), f"spec.{'.'.join(place)}")
    for name, problem in DEPRECATED_VOLUMES.items():
        if spec.get(name) is not None and name not in ("flocker", "quobyte"):
            yield f"spec.{name}: {problem}"


def _check_persistent_claim(claim: JSONObject) -> Iterator[str]:
    if _STORAGE_CLASS in as_object(value_at(claim, ("metadata", "annotations"))):
        yield f"metadata.annotations[{_STORAGE_CLASS}]: {_OF_CLASS}"
    yield from check_claim(as_object(claim.get("spec")), "spec")


def _check_storage_class(storage: JSONObject) -> Iterator[str]:
    for index, topology in enumerate(objects_in(storage.get("allowedTopologies"))):
        expressions = objects_in(topology.get("matchLabelExpressions"))
        for at, expression in enumerate(expressions):
            problem = NODE_LABELS.get(as_text(expression.get("key")), "")
            if problem:
                place = f"allowedTopologies[{index}].matchLabelExpressions[{at}].key"
                yield f"{place}: {problem}"


def _check_runtime_class(runtime: JSONObject) -> Iterator[str]:
    for key in sorted(as_object(value_at(runtime, ("scheduling", "nodeSelector")))):
        if key in NODE_LABELS:
            yield f"scheduling.nodeSelector: {NODE_LABELS[key]}"


def _check_node(node: JSONObject) -> Iterator[str]:
    spec = as_object(node.get("spec"))
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"


# Kinds of which an update is told what a new object is.
_ALWAYS: Final[dict[tuple[str, str], Callable[[JSONObject], Iterator[str]]]] = {
    ("", "PersistentVolume"): _check_persistent_volume,
    ("", "PersistentVolumeClaim"): _check_persistent_claim,
    ("", "Node"): _check_node,
    ("node.k8s.io", "RuntimeClass"): _check_runtime_class,
    ("storage.k8s.io", "StorageClass"): _check_storage_class,
}
