"""What defaulting functions do that is not a constant, by the names in the table.

Each function takes an object of its type, whose fields have their defaults already, and
returns it, or a copy with what is added. The Go function is named in the docstring.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable
from typing import Final, TypeAlias

from smp._values.api_objects import metadata_of, set_metadata
from smp._values.quantities import sum_containers
from smp._values.values import JSON, JSONObject, as_list, as_object, as_text, same

Named: TypeAlias = Callable[[JSONObject], JSONObject]

# The names of images (Go: github.com/distribution/reference, ParseNormalizedNamed). A
# name of 64 hexadecimal digits is none: it is taken for the identifier of an image.
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[A-Fa-f0-9:]+\])(?::[0-9]+)?"
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"(?![a-f0-9]{{64}}\Z)(?:{_HOST}/)?{_PART}(?:/{_PART})*"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[+._-][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,})?",
    re.ASCII,
)
_MAX_INT32: Final = 2147483647
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
# Go: resource.IsSupportedPodLevelResource.
_POD_LEVEL: Final = frozenset({"cpu", "memory"})
_HUGE_PAGES: Final = "hugepages-"


# --- Pods ---


def image_pull_policy(container: JSONObject) -> JSONObject:
    """Pull images with the tag latest always (Go: SetDefaults_Container)."""
    return _add_pull_policy(container, "imagePullPolicy", "image")


def image_volume_pull_policy(source: JSONObject) -> JSONObject:
    """Pull images with the tag latest always (Go: SetDefaults_Volume)."""
    return _add_pull_policy(source, "pullPolicy", "reference")


def _add_pull_policy(obj: JSONObject, name: str, image: str) -> JSONObject:
    """Add the policy for an image (Go: parsers.ParseImageName)."""
    if obj.get(name):
        return obj
    # A name that cannot be parsed has no tag; validation refuses it.
    match = _IMAGE.fullmatch(as_text(obj.get(image)))
    tag = ""
    if match is not None:
        tag = match["tag"] or ("" if match["digest"] else "latest")
    return {**obj, name: "Always" if tag == "latest" else "IfNotPresent"}


def empty_dir_volume(volume: JSONObject) -> JSONObject:
    """Make a volume without a source an emptyDir (Go: SetDefaults_Volume)."""
    for name, value in volume.items():
        if name != "name" and value is not None:
            return volume
    return {**volume, "emptyDir": {}}


def service_account_alias(spec: JSONObject) -> JSONObject:
    """Keep serviceAccount and serviceAccountName the same; the latter wins.

    Go: Convert_v1_PodSpec_To_core_PodSpec, Convert_core_PodSpec_To_v1_PodSpec.
    """
    alias = as_text(spec.get("serviceAccount"))
    name = as_text(spec.get("serviceAccountName")) or alias
    if not name or alias == name == spec.get("serviceAccountName"):
        return spec
    return {**spec, "serviceAccountName": name, "serviceAccount": name}


def host_network_ports(spec: JSONObject) -> JSONObject:
    """Open container ports on the host under hostNetwork.

    Go: defaultHostNetworkPorts.
    """
    if spec.get("hostNetwork") is not True:
        return spec
    for containers in ("containers", "initContainers"):
        spec = _change_at(spec, (containers, "ports"), _add_host_port)
    return spec


def _add_host_port(port: JSONObject) -> JSONObject:
    if port.get("hostPort") or not port.get("containerPort"):
        return port
    return {**port, "hostPort": port["containerPort"]}


def pod_ips(status: JSONObject) -> JSONObject:
    """Keep podIP and the first of podIPs the same; the former wins.

    Go: Convert_v1_PodStatus_To_core_PodStatus, Convert_core_PodStatus_To_v1_PodStatus.
    """
    single = as_text(status.get("podIP"))
    listed = as_list(status.get("podIPs"))
    first = as_text(as_object(listed[0]).get("ip")) if listed else ""
    if single and single != first:
        return {**status, "podIPs": [{"ip": single}]}
    return _set_members(status, {"podIP": first}) if listed else status


def requests_from_limits(spec: JSONObject) -> JSONObject:
    """Request what is limited, in Pods but not in templates (Go: SetDefaults_Pod)."""
    for containers in ("containers", "initContainers"):
        spec = _change_at(spec, (containers, "resources"), _add_requests)
    return spec


def _add_requests(resources: JSONObject) -> JSONObject:
    return _add_missing(resources, "requests", as_object(resources.get("limits")))


def positive_grace_period(spec: JSONObject) -> JSONObject:
    """End a Pod after a second at least (Go: Convert_v1_Pod_To_core_Pod)."""
    seconds = spec.get("terminationGracePeriodSeconds")
    if isinstance(seconds, int) and seconds < 0:
        return {**spec, "terminationGracePeriodSeconds": 1}
    return spec


def pod_level_resources(spec: JSONObject) -> JSONObject:
    """Complete the resources of a Pod by those of its containers, and by its limits.

    Go: defaultHugePagePodLimits, defaultPodRequests.
    """
    resources = as_object(spec.get("resources"))
    limits = as_object(resources.get("limits"))
    requests = as_object(resources.get("requests"))
    if not limits and not requests:
        return spec
    added_limits: JSONObject = {}
    for name, amount in sum_containers(spec, "limits").items():
        is_set = name in limits or name in requests
        if name.startswith(_HUGE_PAGES) and not is_set:
            added_limits[name] = amount.text
    limits = {**limits, **added_limits}

    added: JSONObject = {}
    if limits:
        # Huge pages cannot be overcommitted: what is requested of them is the limit.
        for name, amount in sum_containers(spec, "requests").items():
            if name in _POD_LEVEL and name not in requests:
                added[name] = amount.text
        for name, limit in limits.items():
            known = name in _POD_LEVEL or name.startswith(_HUGE_PAGES)
            if known and name not in requests and name not in added:
                added[name] = limit
    if added_limits:
        resources = {**resources, "limits": limits}
    if added:
        resources = {**resources, "requests": {**requests, **added}}
    return {**spec, "resources": resources} if added_limits or added else spec


# --- Services ---


def service(obj: JSONObject) -> JSONObject:
    """Fill in what depends on the type of a Service (Go: SetDefaults_Service)."""
    obj = _change_at(obj, ("spec",), _service_spec)
    return _change_at(obj, ("spec", "ports"), _add_target_port)


def load_balancer_ip_mode(obj: JSONObject) -> JSONObject:
    """Take the addresses of load balancers for virtual ones.

    Go: SetDefaults_Service.
    """
    if as_text(as_object(obj.get("spec")).get("type")) != "LoadBalancer":
        return obj
    return _change_at(obj, ("status", "loadBalancer", "ingress"), _add_ip_mode)


def _service_spec(spec: JSONObject) -> JSONObject:
    affinity = as_text(spec.get("sessionAffinity")) or "None"
    added: JSONObject = {"sessionAffinity": affinity}
    if affinity == "ClientIP":
        config = as_object(spec.get("sessionAffinityConfig"))
        if as_object(config.get("clientIP")).get("timeoutSeconds") is None:
            added["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    type_ = as_text(spec.get("type")) or "ClusterIP"
    added["type"] = type_

    # Go: service.ExternallyAccessible.
    external = type_ in {"LoadBalancer", "NodePort"}
    external |= type_ == "ClusterIP" and bool(spec.get("externalIPs"))
    if external and not spec.get("externalTrafficPolicy"):
        added["externalTrafficPolicy"] = "Cluster"
    internal = type_ in {"NodePort", "LoadBalancer", "ClusterIP"}
    if internal and spec.get("internalTrafficPolicy") is None:
        added["internalTrafficPolicy"] = "Cluster"
    if type_ == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        added["allocateLoadBalancerNodePorts"] = True

    spec = _set_members(spec, added)
    if affinity == "None" and "sessionAffinityConfig" in spec:
        spec = {**spec}
        del spec["sessionAffinityConfig"]
    return spec


def _add_target_port(port: JSONObject) -> JSONObject:
    number = port.get("port")
    target = port.get("targetPort")
    # The zero value of an IntOrString is 0 or the empty string.
    if target or number is None or same(target, number):
        return port
    return {**port, "targetPort": number}


def _add_ip_mode(ingress: JSONObject) -> JSONObject:
    if not ingress.get("ip") or ingress.get("ipMode") is not None:
        return ingress
    return {**ingress, "ipMode": "VIP"}


# --- other kinds of core/v1 ---


def namespace_name_label(namespace: JSONObject) -> JSONObject:
    """Label a namespace with its name (Go: SetDefaults_Namespace)."""
    metadata = as_object(namespace.get("metadata"))
    name = as_text(metadata.get("name"))
    if not name:
        return namespace
    labels = as_object(metadata.get("labels"))
    if as_text(labels.get(_NAMESPACE_NAME)) == name:
        return namespace
    return set_metadata(namespace, labels={**labels, _NAMESPACE_NAME: name})


def allocatable_from_capacity(status: JSONObject) -> JSONObject:
    """Take all of a node for allocatable (Go: SetDefaults_NodeStatus)."""
    if status.get("allocatable") is not None or status.get("capacity") is None:
        return status
    return {**status, "allocatable": status["capacity"]}


def pod_cidrs(spec: JSONObject) -> JSONObject:
    """Keep podCIDR and the first of podCIDRs the same; the former wins.

    Go: Convert_v1_NodeSpec_To_core_NodeSpec, Convert_core_NodeSpec_To_v1_NodeSpec.
    """
    single = as_text(spec.get("podCIDR"))
    listed = as_list(spec.get("podCIDRs"))
    first = as_text(listed[0]) if listed else ""
    if single and single != first:
        return {**spec, "podCIDRs": [single]}
    return _set_members(spec, {"podCIDR": first}) if listed else spec


def limit_range_of_containers(item: JSONObject) -> JSONObject:
    """Derive the limits and requests of containers from another.

    The default limit is the maximum, the default request the default limit, or else the
    minimum (Go: SetDefaults_LimitRangeItem).
    """
    item = _add_missing(item, "default", as_object(item.get("max")))
    item = _add_missing(item, "defaultRequest", as_object(item.get("default")))
    return _add_missing(item, "defaultRequest", as_object(item.get("min")))


def string_data(secret: JSONObject) -> JSONObject:
    """Move the texts of a Secret to its data, which they overwrite.

    Go: Convert_v1_Secret_To_core_Secret.
    """
    if "stringData" not in secret:
        return secret
    moved = {name: value for name, value in secret.items() if name != "stringData"}
    data = {**as_object(secret.get("data"))}
    for name, text in as_object(secret["stringData"]).items():
        octets = as_text(text).encode(errors="replace")
        data[name] = b2a_base64(octets, newline=False).decode()
    if data:
        moved["data"] = data
    return moved


def replication_controller_labels(obj: JSONObject) -> JSONObject:
    """Take the labels of the template for the selector and the object's own labels.

    Go: SetDefaults_ReplicationController.
    """
    labels = _labels_of_template(obj)
    if not labels:
        return obj
    if not as_object(obj.get("spec")).get("selector"):
        obj = _change_at(
            obj, ("spec",), lambda spec: _set_members(spec, {"selector": labels})
        )
    return _add_labels(obj, labels)


def _labels_of_template(obj: JSONObject) -> JSONObject:
    template = as_object(as_object(obj.get("spec")).get("template"))
    return as_object(as_object(template.get("metadata")).get("labels"))


# --- apps, batch ---


def deployment_strategy(strategy: JSONObject) -> JSONObject:
    """Replace a quarter of the Pods at a time (Go: SetDefaults_Deployment)."""
    return _add_rolling_update(strategy, max_unavailable="25%", max_surge="25%")


def daemon_set_update_strategy(strategy: JSONObject) -> JSONObject:
    """Replace one Pod at a time (Go: SetDefaults_DaemonSet)."""
    return _add_rolling_update(strategy, max_unavailable=1, max_surge=0)


def _add_rolling_update(
    strategy: JSONObject, *, max_unavailable: JSON, max_surge: JSON
) -> JSONObject:
    parameters = strategy.get("rollingUpdate")
    if as_text(strategy.get("type")) != "RollingUpdate":
        if parameters is None:
            return strategy
        # The internal types have values here, so that a conversion writes the zero
        # value (Go: Convert_apps_RollingUpdateDeployment_To_v1_RollingUpdateDeployment
        # and its counterpart for DaemonSets).
        max_unavailable = max_surge = 0
    filled = as_object(parameters)
    added: JSONObject = {}
    if filled.get("maxUnavailable") is None:
        added["maxUnavailable"] = max_unavailable
    if filled.get("maxSurge") is None:
        added["maxSurge"] = max_surge
    return {**strategy, "rollingUpdate": {**filled, **added}} if added else strategy


def volume_claim_template_kinds(spec: JSONObject) -> JSONObject:
    """Name the kind of volume claim templates.

    Go: Convert_apps_StatefulSetSpec_To_v1_StatefulSetSpec.
    """
    kind: JSONObject = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return _change_at(
        spec, ("volumeClaimTemplates",), lambda claim: _set_members(claim, kind)
    )


def job_counts(spec: JSONObject) -> JSONObject:
    """Run one Pod; stop after six failures, or after those of each index.

    Go: SetDefaults_Job.
    """
    added: JSONObject = {}
    if spec.get("parallelism") is None:
        added["parallelism"] = 1
        # A Job with a parallelism of its own is a work queue, without completions.
        if spec.get("completions") is None:
            added["completions"] = 1
    if spec.get("backoffLimit") is None:
        each_index = spec.get("backoffLimitPerIndex") is not None
        added["backoffLimit"] = _MAX_INT32 if each_index else 6
    return _set_members(spec, added)


def job_pod_replacement_policy(spec: JSONObject) -> JSONObject:
    """Replace only failed Pods under a failure policy (Go: SetDefaults_Job)."""
    if spec.get("podReplacementPolicy") is not None:
        return spec
    policy = "TerminatingOrFailed"
    if spec.get("podFailurePolicy") is not None:
        policy = "Failed"
    return {**spec, "podReplacementPolicy": policy}


def job_labels(job: JSONObject) -> JSONObject:
    """Take the labels of the template where a Job has none (Go: SetDefaults_Job)."""
    return _add_labels(job, _labels_of_template(job))


# --- autoscaling ---


def cpu_utilization(autoscaler: JSONObject) -> JSONObject:
    """Scale by the CPU where autoscaling/v1 states no metric.

    Other metrics of v1 are in an annotation.
    Go: Convert_v1_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler.
    """
    annotations = as_object(as_object(autoscaler.get("metadata")).get("annotations"))
    if as_text(annotations.get("autoscaling.alpha.kubernetes.io/metrics")):
        return autoscaler
    return _change_at(autoscaler, ("spec",), _add_utilization)


def _add_utilization(spec: JSONObject) -> JSONObject:
    if spec.get("targetCPUUtilizationPercentage") is not None:
        return spec
    return {**spec, "targetCPUUtilizationPercentage": 80}


def fill_scaling_rules(behavior: JSONObject) -> JSONObject:
    """Complete the rules for scaling up and down.

    Go: GenerateHPAScaleUpRules, GenerateHPAScaleDownRules.
    """
    percent: JSONObject = {"type": "Percent", "value": 100, "periodSeconds": 15}
    pods: JSONObject = {"type": "Pods", "value": 4, "periodSeconds": 15}
    up: JSONObject = {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [pods, percent],
    }
    # How long to wait before scaling down is an option of the controller.
    down: JSONObject = {"selectPolicy": "Max", "policies": [{**percent}]}
    for name, default in (("scaleUp", up), ("scaleDown", down)):
        rules = as_object(behavior.get(name))
        missing: JSONObject = {
            field: value for field, value in default.items() if rules.get(field) is None
        }
        if missing:
            behavior = {**behavior, name: {**rules, **missing}}
    return behavior


# --- other groups ---


def network_policy_types(spec: JSONObject) -> JSONObject:
    """Apply to ingress, and to egress where there are rules for it.

    Go: SetDefaults_NetworkPolicy.
    """
    if spec.get("policyTypes"):
        return spec
    types: list[JSON] = ["Ingress"]
    if spec.get("egress"):
        types.append("Egress")
    return {**spec, "policyTypes": types}


def definition_names(names: JSONObject) -> JSONObject:
    """Derive names from the kind (Go: SetDefaults_CustomResourceDefinitionSpec)."""
    kind = as_text(names.get("kind"))
    added: JSONObject = {}
    if kind and not names.get("singular"):
        added["singular"] = kind.lower()
    if kind and not names.get("listKind"):
        added["listKind"] = f"{kind}List"
    return _set_members(names, added)


def definition_stored_versions(definition: JSONObject) -> JSONObject:
    """List the storage version as stored (Go: SetDefaults_CustomResourceDefinition)."""
    status = as_object(definition.get("status"))
    if status.get("storedVersions"):
        return definition
    for version in as_list(as_object(definition.get("spec")).get("versions")):
        about = as_object(version)
        if about.get("storage") is True:
            stored: JSONObject = {**status, "storedVersions": [about.get("name")]}
            return {**definition, "status": stored}
    return definition


def device_request_count(request: JSONObject) -> JSONObject:
    """Ask for one device, unless there are alternatives.

    Only a request without alternatives has a class (Go: SetDefaults_DeviceRequest).
    """
    if not request.get("deviceClassName"):
        return request
    mode = as_text(request.get("allocationMode")) or "ExactCount"
    added: JSONObject = {"allocationMode": mode}
    if mode == "ExactCount" and not request.get("count"):
        added["count"] = 1
    return _set_members(request, added)


RULES: Final[dict[str, Named]] = {
    "allocatable-from-capacity": allocatable_from_capacity,
    "cpu-utilization": cpu_utilization,
    "daemon-set-update-strategy": daemon_set_update_strategy,
    "definition-names": definition_names,
    "definition-stored-versions": definition_stored_versions,
    "deployment-strategy": deployment_strategy,
    "device-request-count": device_request_count,
    "empty-dir-volume": empty_dir_volume,
    "host-network-ports": host_network_ports,
    "image-pull-policy": image_pull_policy,
    "image-volume-pull-policy": image_volume_pull_policy,
    "job-counts": job_counts,
    "job-labels": job_labels,
    "job-pod-replacement-policy": job_pod_replacement_policy,
    "limit-range-of-containers": limit_range_of_containers,
    "load-balancer-ip-mode": load_balancer_ip_mode,
    "namespace-name-label": namespace_name_label,
    "network-policy-types": network_policy_types,
    "pod-cidrs": pod_cidrs,
    "pod-ips": pod_ips,
    "pod-level-resources": pod_level_resources,
    "positive-grace-period": positive_grace_period,
    "replication-controller-labels": replication_controller_labels,
    "requests-from-limits": requests_from_limits,
    "scaling-rules": fill_scaling_rules,
    "service": service,
    "service-account-alias": service_account_alias,
    "string-data": string_data,
    "volume-claim-template-kinds": volume_claim_template_kinds,
}


# --- changing objects without changing them in place ---


def _set_members(obj: JSONObject, added: JSONObject) -> JSONObject:
    """Return an object with other values for fields; itself where it has them.

    A value that is a list or an object counts as another one.
    """
    for name, value in added.items():
        if not isinstance(value, str) or obj.get(name) != value:
            return {**obj, **added}
    return obj


def _add_missing(obj: JSONObject, name: str, values: JSONObject) -> JSONObject:
    """Return an object whose field ``name`` has the values that it lacks."""
    found = as_object(obj.get(name))
    missing = {key: value for key, value in values.items() if key not in found}
    return {**obj, name: {**found, **missing}} if missing else obj


def _add_labels(obj: JSONObject, labels: JSONObject) -> JSONObject:
    """Return an object with labels, unless it has some."""
    if not labels or metadata_of(obj).get("labels"):
        return obj
    return set_metadata(obj, labels=labels)


def _change_at(obj: JSONObject, path: tuple[str, ...], change: Named) -> JSONObject:
    """Return an object with a change in the objects at a path of fields.

    The path goes on in each element of a list.
    """
    name = path[0]
    before = obj.get(name)
    elements = before if isinstance(before, list) else [before]
    changed: list[JSON] = []
    differs = False
    for element in elements:
        after = element
        if isinstance(element, dict):
            after = (
                _change_at(element, path[1:], change) if path[1:] else change(element)
            )
        differs = differs or after is not element
        changed.append(after)
    if not differs:
        return obj
    return {**obj, name: changed if isinstance(before, list) else changed[0]}
