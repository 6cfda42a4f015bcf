"""The cells of all kinds but Pods that no form can show.

Go: the functions named below, in k8s.io/kubernetes,
pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from smp._values.times import read_time
from smp._values.values import JSON, JSONObject, as_text
from smp.server.objects.fields import strings_in
from smp.server.objects.metadata import metadata_of
from smp.server.objects.selectors import selector_text
from smp.server.objects.tables.columns import (
    NONE,
    UNKNOWN,
    UNSET,
    abridge,
    at,
    condition_of,
    human_duration,
    integer_at,
    is_deleted,
    is_true,
    join,
    object_at,
    objects_at,
    strings_at,
    text_at,
    time_since,
    time_until,
)

_SHOWN_METRICS: Final = 2


def job_status(obj: JSONObject, _now: datetime) -> JSON:
    """Show in one word what a job is doing (Go: printJob)."""
    # The end of a job counts more than its deletion, and that more than the rest.
    for condition_type in ("Complete", "Failed"):
        if is_true(obj, condition_type):
            return condition_type
    if is_deleted(obj):
        return "Terminating"
    for condition_type in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if is_true(obj, condition_type):
            return condition_type
    return "Running"


def job_completions(obj: JSONObject, _now: datetime) -> JSON:
    """Show how many pods of a job have succeeded, of how many (Go: printJob)."""
    succeeded = integer_at(obj, "status.succeeded")
    wanted = integer_at(obj, "spec.completions", 1)
    text = f"{succeeded}/{wanted}"
    # "Setting to null means that the success of any pod signals the success of all
    # pods" (JobSpec.completions): one success of several pods is enough.
    parallelism = integer_at(obj, "spec.parallelism")
    if at(obj, "spec.completions") is None and parallelism > 1:
        text += f" of {parallelism}"
    return text


def job_duration(obj: JSONObject, now: datetime) -> JSON:
    """Show how long a job took, or has taken until now (Go: printJob)."""
    # A suspended job has not started.
    start = at(obj, "status.startTime")
    if not start:
        return ""
    end = read_time(at(obj, "status.completionTime"))
    return time_since(start, now) if end is None else time_until(start, end[0])


def is_suspended(obj: JSONObject, _now: datetime) -> JSON:
    """Show whether a cron job is suspended, as a word (Go: printBoolPtr)."""
    return str(at(obj, "spec.suspend") is True)


def autoscaler_metrics(obj: JSONObject, _now: datetime) -> JSON:
    """Show what an autoscaler measures and aims at (Go: formatHPAMetrics)."""
    specs = objects_at(obj, "spec.metrics")
    statuses = objects_at(obj, "status.currentMetrics")
    texts = []
    for index, spec in enumerate(specs):
        # A metric and its status have the same place in their lists.
        status = statuses[index] if index < len(statuses) else {}
        texts.append(_metric(spec, status))
    return abridge(texts, _SHOWN_METRICS, ", ")


def _metric(spec: JSONObject, status: JSONObject) -> str:
    """Print one metric: ``cpu: 35%/80%``, ``120m/250m (avg)``.

    ``{"type": "Resource", "resource": ..}`` has its values in the field that is named
    as its type.
    """
    # "ContainerResource" and its field "containerResource".
    type_name = text_at(spec, "type")
    source = type_name[:1].lower() + type_name[1:]
    # Only the metric of a resource has a name at this place; it is printed.
    name = text_at(spec, f"{source}.name")

    # The target has one of three fields, and the status has the same one.
    if text_at(spec, f"{source}.target.averageValue"):
        field = "averageValue"
    elif name:
        field = "averageUtilization"
    else:
        field = "value"
    current = text_at(status, f"{source}.current.{field}")
    target = text_at(spec, f"{source}.target.{field}")
    percent = "%" if field == "averageUtilization" else ""

    text = f"{name}: " if name else ""
    text += f"{current}{percent}" if current else UNKNOWN
    text += "/"
    text += f"{target}{percent}" if target else "<auto>"
    # For these two an average is the exception, so it is marked.
    if field == "averageValue" and source in {"external", "object"}:
        text += " (avg)"
    return text


_ROLE_LABEL_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE_LABEL: Final = "kubernetes.io/role"
_DEFAULT_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"
# In the order in which they are shown.
_ACCESS_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_SHOWN: Final = 3
# States of a migration, and of a request for a certificate, by type of condition.
_MIGRATIONS: Final = frozenset({"Running", "Failed", "Succeeded"})
_REQUESTS: Final = frozenset({"Issued", "Denied", "Failed"})


def node_status(obj: JSONObject, _now: datetime) -> JSON:
    """Show whether a node is ready and whether it takes new pods (Go: printNode)."""
    if is_true(obj, "Ready"):
        text = "Ready"
    else:
        text = "NotReady" if condition_of(obj, "Ready") else "Unknown"
    # kubectl cordon sets this field.
    if at(obj, "spec.unschedulable") is True:
        text += ",SchedulingDisabled"
    return text


def node_roles(obj: JSONObject, _now: datetime) -> JSON:
    """Show the roles of a node, from a label for each or a label with one as its value.

    Go: findNodeRoles.
    """
    labels = object_at(obj, "metadata.labels")
    roles = {str(labels.get(_ROLE_LABEL, ""))}
    for key in labels:
        if key.startswith(_ROLE_LABEL_PREFIX):
            roles.add(key.removeprefix(_ROLE_LABEL_PREFIX))
    return join(sorted(roles), NONE)


def access_modes(modes: JSON) -> str:
    """Abbreviate access modes.

    Go: helper.GetAccessModesAsString, which has a fixed order and no duplicates.
    """
    found = strings_in(modes)
    return join(short for mode, short in _ACCESS_MODES.items() if mode in found)


def external_ip(obj: JSONObject, now: datetime) -> JSON:
    """Show the addresses of a service outside of the cluster.

    Go: getServiceExternalIP.
    """
    service_type = text_at(obj, "spec.type")
    external_ips = strings_at(obj, "spec.externalIPs")
    # An alias for a DNS name has no address.
    if service_type == "ExternalName":
        return text_at(obj, "spec.externalName")
    # The addresses of a load balancer come from its provider, sooner or later.
    if service_type == "LoadBalancer":
        return join([load_balancer(obj, now), *external_ips], "<pending>")
    return join(external_ips, NONE)


def load_balancer(obj: JSONObject, _now: datetime) -> str:
    """Show the addresses of a load balancer (Go: ingressLoadBalancerStatusStringer)."""
    # Some providers give a load balancer a name instead of an address.
    ingresses = objects_at(obj, "status.loadBalancer.ingress")
    return join(
        sorted({text_at(each, "ip", text_at(each, "hostname")) for each in ingresses})
    )


def endpoints(obj: JSONObject, _now: datetime) -> JSON:
    """Show the first addresses of endpoints, each with each port.

    Go: formatEndpoints.
    """
    texts = []
    for subset in objects_at(obj, "subsets"):
        addresses = [
            text_at(address, "ip") for address in objects_at(subset, "addresses")
        ]
        ports = objects_at(subset, "ports")
        # A headless service may have no ports.
        if not ports:
            texts += addresses
        for port in ports:
            suffix = f":{port['port']}" if "port" in port else ""
            texts += [address + suffix for address in addresses]
    return abridge(texts, _SHOWN)


def ingress_hosts(obj: JSONObject, _now: datetime) -> JSON:
    """Show the first hosts of an ingress, ``*`` for all hosts (Go: formatHosts)."""
    rules = objects_at(obj, "spec.rules")
    hosts = [text_at(rule, "host") for rule in rules if rule.get("host")]
    text = join(hosts[:_SHOWN], "*")
    # What follows is counted in rules, with and without a host.
    if len(hosts) >= _SHOWN and len(rules) > _SHOWN:
        text += f" + {len(rules) - _SHOWN} more..."
    return text


def ingress_class_name(obj: JSONObject, _now: datetime) -> JSON:
    """Show the name of an ingress class, and whether it is the default one."""
    name = as_text(metadata_of(obj).get("name"))
    annotations = object_at(obj, "metadata.annotations")
    return f"{name} (default)" if annotations.get(_DEFAULT_CLASS) == "true" else name


def quota_requests(obj: JSONObject, _now: datetime) -> JSON:
    """Show what is used of a quota but of limits (Go: printResourceQuota)."""
    return _quota(obj, limits=False)


def quota_limits(obj: JSONObject, _now: datetime) -> JSON:
    """Show what is used of the limits of a quota (Go: printResourceQuota)."""
    return _quota(obj, limits=True)


def _quota(obj: JSONObject, *, limits: bool) -> str:
    hard, used = object_at(obj, "status.hard"), object_at(obj, "status.used")
    # "limits.cpu" is a limit, "requests.cpu" and "pods" are requests.
    names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
    return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)


def param_ref(obj: JSONObject, _now: datetime) -> JSON:
    """Show the parameters of the binding of a policy."""
    reference = object_at(obj, "spec.paramRef")
    # Parameters are named, or selected by their labels.
    name = text_at(reference, "name")
    if name:
        return f"{text_at(reference, 'namespace', '*')}/{name}"
    selector = reference.get("selector")
    return selector_text(selector) if selector else UNSET


def claim_state(obj: JSONObject, _now: datetime) -> JSON:
    """Show what became of a claim (Go: resourceClaimState)."""
    states = ["deleted"] if is_deleted(obj) else []
    if isinstance(at(obj, "status.allocation"), dict):
        states.append("allocated")
        if objects_at(obj, "status.reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return ",".join(states)


def request_state(obj: JSONObject, _now: datetime) -> JSON:
    """Show what became of a request for a certificate (Go: extractCSRStatus)."""
    types = {each.get("type") for each in objects_at(obj, "status.conditions")}
    # A denial counts more than an approval.
    state = "Pending"
    if "Approved" in types:
        state = "Approved"
    if "Denied" in types:
        state = "Denied"
    if "Failed" in types:
        state += ",Failed"
    if text_at(obj, "status.certificate"):
        state += ",Issued"
    return state


def find_requested_duration(obj: JSONObject, _now: datetime) -> JSON:
    """Show for how long a certificate is asked for."""
    seconds = at(obj, "spec.expirationSeconds")
    return human_duration(seconds) if isinstance(seconds, int) else NONE


def pod_request_state(obj: JSONObject, _now: datetime) -> JSON:
    """Show what became of a Pod's request for a certificate."""
    state = "Pending"
    for condition in objects_at(obj, "status.conditions"):
        if condition.get("type") in _REQUESTS:
            state = text_at(condition, "type")
    return state


def migration_state(obj: JSONObject, _now: datetime) -> JSON:
    """Show how far a migration is (Go: printStorageVersionMigration)."""
    state = "Unknown"
    for condition in objects_at(obj, "status.conditions"):
        if condition.get("status") == "True" and condition.get("type") in _MIGRATIONS:
            state = text_at(condition, "type")
    return state


def component_health(obj: JSONObject, _now: datetime) -> JSON:
    """Show whether a component is healthy (Go: printComponentStatus)."""
    condition = condition_of(obj, "Healthy", "conditions")
    if condition is None:
        return "Unknown"
    return "Healthy" if condition.get("status") == "True" else "Unhealthy"


def api_service_available(obj: JSONObject, _now: datetime) -> JSON:
    """Show whether an API is available, and why not.

    Go: kube-aggregator, apiservice.REST.ConvertToTable.
    """
    condition = condition_of(obj, "Available")
    if condition is None:
        return "Unknown"
    status, reason = text_at(condition, "status"), text_at(condition, "reason")
    return status if status == "True" or not reason else f"{status} ({reason})"
