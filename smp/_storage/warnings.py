"""What an API server warns of in objects that it accepts.

Go: GetWarningsForPodTemplate in pkg/api/pod, GetWarningsForService in pkg/api/service
and their like, WarningsOnCreate and WarningsOnUpdate of the strategies in pkg/registry.

For Pods, and the templates of Pods: pkg/api/pod/warnings.go, pkg/api/node/util.go, and
pkg/api/persistentvolumeclaim for the claims of volumes. Not told are overlapping paths
in a volume, addresses in another form than the canonical one, and annotations of
AppArmor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from smp._values.names import label, label_value
from smp._values.quantities import read_quantity
from smp._values.values import (
    JSON,
    JSONObject,
    as_list,
    as_object,
    as_text,
    objects_in,
    quote,
    same,
    value_at,
)
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


_AFFINITIES: Final = ("podAffinity", "podAntiAffinity")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NULL_SELECTOR: Final = "{}: a null labelSelector results in matching no pod"
_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_SYSCTLS: Final = 'non-functional in v1.11+; use the "sysctls" field instead'
# In the order of Go: pods.VisitContainersWithPath.
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_BYTES: Final = ("memory", "ephemeral-storage")
# Go: deprecatedNodeLabels.
NODE_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch"'
    " instead",
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": "deprecated since v1.17; use"
    ' "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": "deprecated since v1.17; use"
    ' "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": "deprecated since v1.17; use"
    ' "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use"
    " Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane"'
    " instead",
}
_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": "non-functional in v1.16+; use the"
    ' "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": _SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _SYSCTLS,
}
# Volumes of a Pod, and of a PersistentVolume.
DEPRECATED_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageOS": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}


class _Port(msgspec.Struct, frozen=True):
    """A port of a container, and where it stands."""

    place: str
    name: str
    number: JSON
    protocol: str
    host_ip: str
    host_port: JSON


def warnings_of_pod(pod: JSONObject, above: str = "") -> Iterator[str]:
    """Yield the warnings for a Pod, or for the template at the path ``above``."""
    spec, path = as_object(pod.get("spec")), f"{above}spec"
    annotations = as_object(value_at(pod, ("metadata", "annotations")))
    yield from _check_node_labels(spec, path)
    yield from _check_constraints(spec, path)
    for key, problem in _ANNOTATIONS.items():
        if key in annotations:
            yield f"{above}metadata.annotations[{key}]: {problem}"
    yield from _check_volumes(spec, path)
    yield from _check_repeated(spec.get("hostAliases"), "ip", f"{path}.hostAliases")
    secrets = f"{path}.imagePullSecrets"
    yield from _check_repeated(spec.get("imagePullSecrets"), "name", secrets)
    for index, secret in enumerate(objects_in(spec.get("imagePullSecrets"))):
        if not secret.get("name"):
            yield f'{secrets}[{index}].name: invalid empty name ""'
    yield from fractions_in(spec.get("overhead"), _BYTES, f"{path}.overhead")
    profile = value_at(spec, ("securityContext", "seccompProfile"))
    key = "seccomp.security.alpha.kubernetes.io/pod"
    if profile is None and key in annotations:
        yield f"{above}metadata.annotations[{key}]: {_SECCOMP}"
    for container, place in _containers(spec, path):
        key = f"container.seccomp.security.alpha.kubernetes.io/{container.get('name')}"
        own = value_at(container, ("securityContext", "seccompProfile"))
        if own is None and key in annotations:
            yield f"{above}metadata.annotations[{key}]: {_SECCOMP}"
        for name in _BYTES:
            for kind in ("limits", "requests"):
                amounts = value_at(container, ("resources", kind))
                yield from fractions_in(amounts, (name,), f"{place}.resources.{kind}")
        yield from _check_variables(container, f"{place}.env")
    ports = [*_ports(spec, path)]
    yield from _check_ports(ports)
    yield from _check_port_names(ports)
    grace = spec.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace < 0:
        yield (
            f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are"
            " invalid and will be treated as 1"
        )
    yield from _check_affinity(spec, path)


def fractions_in(amounts: JSON, resources: tuple[str, ...], path: str) -> Iterator[str]:
    """Yield a warning for each amount of bytes that is no whole number."""
    for name in resources:
        quantity = read_quantity(as_object(amounts).get(name))
        if quantity is not None and quantity.round_up_to_milli().exponent < 0:
            yield (
                f"{path}[{name}]: fractional byte value {quote(quantity.text)} is"
                " invalid, must be an integer"
            )


def check_node_terms(terms: JSON, path: str) -> Iterator[str]:
    """Yield the warnings for the terms of a node selector."""
    for index, term in enumerate(objects_in(terms)):
        yield from _check_node_term(term, f"{path}[{index}]")


def _check_node_term(
    term: JSONObject, path: str, *, checks_values: bool = False
) -> Iterator[str]:
    """Yield the warnings of Go's GetWarningsForNodeSelectorTerm."""
    for index, expression in enumerate(objects_in(term.get("matchExpressions"))):
        place = f"{path}.matchExpressions[{index}]"
        key = as_text(expression.get("key"))
        if key in NODE_LABELS:
            yield f"{place}.key: {key} is {NODE_LABELS[key]}"
        for at, value in enumerate(as_list(expression.get("values"))):
            problem = label_value(as_text(value)) if checks_values else ""
            if problem:
                yield f"{place}.values[{at}]: {as_text(value)} is invalid, {problem}"


def _check_node_labels(spec: JSONObject, path: str) -> Iterator[str]:
    for key in sorted(as_object(spec.get("nodeSelector"))):
        if key in NODE_LABELS:
            yield f"{path}.nodeSelector[{key}]: {NODE_LABELS[key]}"
    affinity = as_object(value_at(spec, ("affinity", "nodeAffinity")))
    place = f"{path}.affinity.nodeAffinity"
    terms = value_at(affinity, (_REQUIRED, "nodeSelectorTerms"))
    yield from check_node_terms(terms, f"{place}.{_REQUIRED}.nodeSelectorTerms")
    for index, preferred in enumerate(objects_in(affinity.get(_PREFERRED))):
        where = f"{place}.{_PREFERRED}[{index}].preference"
        term = as_object(preferred.get("preference"))
        yield from _check_node_term(term, where, checks_values=True)


def _check_constraints(spec: JSONObject, path: str) -> Iterator[str]:
    constraints = objects_in(spec.get("topologySpreadConstraints"))
    for index, constraint in enumerate(constraints):
        place = f"{path}.topologySpreadConstraints[{index}]"
        key = as_text(constraint.get("topologyKey"))
        if key in NODE_LABELS:
            yield f"{place}.topologyKey: {key} is {NODE_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield _NULL_SELECTOR.format(f"{place}.labelSelector")


def _check_volumes(spec: JSONObject, path: str) -> Iterator[str]:
    for index, volume in enumerate(objects_in(spec.get("volumes"))):
        place = f"{path}.volumes[{index}]"
        for name, problem in DEPRECATED_VOLUMES.items():
            if volume.get(name) is not None:
                yield f"{place}.{name}: {problem}"
        claim = value_at(volume, ("ephemeral", "volumeClaimTemplate", "spec"))
        where = f"{place}.ephemeral.volumeClaimTemplate.spec"
        yield from check_claim(as_object(claim), where)


def check_claim(spec: JSONObject, path: str) -> Iterator[str]:
    """Yield the warnings of Go's GetWarningsForPersistentVolumeClaimSpec."""
    for kind in ("requests", "limits"):
        amounts = value_at(spec, ("resources", kind))
        yield from fractions_in(amounts, ("storage",), f"{path}.resources.{kind}")


def _check_repeated(listed: JSON, field: str, path: str) -> Iterator[str]:
    """Yield a warning for each element whose field an element before it has."""
    seen: set[str] = set()
    for index, element in enumerate(objects_in(listed)):
        text = as_text(element.get(field))
        if text in seen:
            yield f"{path}[{index}].{field}: duplicate {field} {quote(text)}"
        seen.add(text)


def _containers(spec: JSONObject, path: str) -> Iterator[tuple[JSONObject, str]]:
    for field in _CONTAINERS:
        for index, container in enumerate(objects_in(spec.get(field))):
            yield container, f"{path}.{field}[{index}]"


def _check_variables(container: JSONObject, path: str) -> Iterator[str]:
    """Yield a warning for each variable that hides one before it, and has it not."""
    seen: set[str] = set()
    for index, variable in enumerate(objects_in(container.get("env"))):
        name, value = as_text(variable.get("name")), as_text(variable.get("value"))
        reference = f"$({name})"
        extends = reference in value and value != reference
        if name in seen and (variable.get("valueFrom") is not None or not extends):
            yield (
                f"{path}[{index}]: hides previous definition of {quote(name)}, which"
                " may be dropped when using apply"
            )
        seen.add(name)


def _ports(spec: JSONObject, path: str) -> Iterator[_Port]:
    for container, place in _containers(spec, path):
        for index, port in enumerate(objects_in(container.get("ports"))):
            yield _Port(
                f"{place}.ports[{index}]",
                as_text(port.get("name")),
                port.get("containerPort"),
                as_text(port.get("protocol")),
                as_text(port.get("hostIP")),
                port.get("hostPort") or 0,
            )


def _check_ports(ports: list[_Port]) -> Iterator[str]:
    """Yield the warnings for ports that have the number and protocol of another."""
    before: dict[tuple[JSON, str], list[_Port]] = {}
    for port in ports:
        if port.host_ip and not port.host_port:
            yield (
                f"{port.place}: hostIP set without hostPort: {{Name:{port.name}"
                f" HostPort:0 ContainerPort:{port.number} Protocol:{port.protocol}"
                f" HostIP:{port.host_ip}}}"
            )
        others = before.setdefault((port.number, port.protocol), [])
        for other in others:
            relation = _relate(port, other)
            if relation:
                yield f"{port.place}: {relation} port definition with {other.place}"
        others.append(port)


def _relate(port: _Port, other: _Port) -> str:
    """Return how two ports of one number and protocol get in each other's way."""
    if (port.host_ip, port.host_port) == (other.host_ip, other.host_port):
        return "duplicate"
    if not port.host_port or not other.host_port:
        return "overlapping"
    is_one_open = bool(port.host_ip) != bool(other.host_ip)
    same_port = port.host_port == other.host_port
    return "dangerously ambiguous" if same_port and is_one_open else ""


def _check_port_names(ports: list[_Port]) -> Iterator[str]:
    places: dict[str, str] = {}
    for port in ports:
        first = places.setdefault(port.name, port.place)
        if port.name and first != port.place:
            yield (
                f"{port.place}: duplicate port name {quote(port.name)} with {first},"
                f" services and probes that select ports by name will use {first}"
            )


def _check_affinity(spec: JSONObject, path: str) -> Iterator[str]:
    affinity = as_object(spec.get("affinity"))
    for kind in _AFFINITIES:
        terms = as_object(affinity.get(kind))
        where = f"{path}.affinity.{kind}"
        for index, term in enumerate(objects_in(terms.get(_REQUIRED))):
            yield from _check_affinity_term(term, f"{where}.{_REQUIRED}[{index}]")
        for index, weighted in enumerate(objects_in(terms.get(_PREFERRED))):
            place = f"{where}.{_PREFERRED}[{index}].podAffinityTerm"
            yield from _check_affinity_term(weighted.get("podAffinityTerm"), place)


def _check_affinity_term(term: JSON, path: str) -> Iterator[str]:
    if as_object(term).get("labelSelector") is None:
        yield _NULL_SELECTOR.format(f"{path}.labelSelector")
