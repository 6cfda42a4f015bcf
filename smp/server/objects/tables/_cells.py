"""The cells that no form can show: those of Pods, and a few of other kinds.

Go: the functions named below, in k8s.io/kubernetes,
pkg/printers/internalversion/printers.go.

The status of a Pod is one word, from the phase and the states of its containers
(printPod). For a pod whose phase is Pending, with the init containers "fetch" and
"migrate" of which the first has ended with exit code 0 and the second waits for its
image, it is made as follows:

1. The reason is "Pending", from the phase.
2. "fetch" has done its work and is passed over.
3. "migrate" waits: the reason becomes "Init:ImagePullBackOff", or "Init:1/2" as long as
   it waits for no particular reason. The other containers are not looked at.

Without step 3 the states of the other containers would follow, the last container
first, so that the reason of the first one remains. A pod that is being deleted is
"Terminating", regardless of its containers.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from smp._values.api_objects import metadata_of
from smp._values.values import (
    JSON,
    JSONObject,
    as_object,
    as_text,
    strings_in,
    value_at,
)
from smp.server.objects.tables.columns import (
    NONE,
    abridge,
    at,
    has,
    integer_at,
    join,
    objects_at,
    text_at,
    time_since,
)


class _Summary(msgspec.Struct, frozen=True):
    """The states of some containers of a pod, summed up.

    ``restarted`` are the states of those whose restarts count.
    """

    reason: str
    ready: int
    restarted: Sequence[JSONObject]
    is_pending: bool = False


def pod_ready(pod: JSONObject, _now: datetime) -> JSON:
    """Show how many containers are ready, of how many; sidecars count as containers."""
    total = len(objects_at(pod, "spec.containers")) + len(_sidecars(pod))
    return f"{_summarize(pod).ready}/{total}"


def pod_status(pod: JSONObject, _now: datetime) -> JSON:
    """Show the state of the pod in one word."""
    if "deletionTimestamp" in metadata_of(pod):
        # The node controller sets this reason on the pods of an unreachable node.
        if text_at(pod, "status.reason") == "NodeLost":
            return "Unknown"
        # A pod that has ended keeps its own status while it is being deleted.
        if text_at(pod, "status.phase") not in {"Failed", "Succeeded"}:
            return "Terminating"
    return _summarize(pod).reason


def pod_restarts(pod: JSONObject, now: datetime) -> JSON:
    """Show how often containers were restarted, and how long ago the last time was."""
    states = _summarize(pod).restarted
    count = sum(integer_at(state, "restartCount") for state in states)
    # Times of one format in UTC sort as strings.
    ends = [text_at(state, "lastState.terminated.finishedAt") for state in states]
    last = max(ends, default="")
    return f"{count} ({time_since(last, now)} ago)" if count and last else str(count)


def pod_readiness_gates(pod: JSONObject, _now: datetime) -> JSON:
    """Show how many readiness gates have a true condition, of how many."""
    gates = objects_at(pod, "spec.readinessGates")
    types = {
        condition.get("type")
        for condition in objects_at(pod, "status.conditions")
        if condition.get("status") == "True"
    }
    is_open = [text_at(gate, "conditionType") in types for gate in gates]
    return f"{is_open.count(True)}/{len(gates)}" if gates else NONE


def _sidecars(pod: JSONObject) -> list[str]:
    """Return the init containers that run as long as the pod does (KEP-753)."""
    return [
        text_at(container, "name")
        for container in objects_at(pod, "spec.initContainers")
        if container.get("restartPolicy") == "Always"
    ]


def _summarize(pod: JSONObject) -> _Summary:
    """Go through the states of the containers, as the head of this module explains."""
    init = _summarize_init_containers(pod)
    # The condition outlives a restart of the init containers.
    if init.is_pending and not has(pod, "status.conditions.@Initialized!"):
        return init
    sidecars = _sidecars(pod)
    reason, ready, failure, is_running = init.reason, init.ready, "", False
    states = objects_at(pod, "status.containerStatuses")
    # In reverse, so that the reason of the first container remains.
    for state in reversed(states):
        terminated = at(state, "state.terminated")
        waiting = text_at(state, "state.waiting.reason")
        if waiting:
            reason = waiting
        elif isinstance(terminated, dict):
            reason = _reason_of_termination(terminated)
            if terminated.get("exitCode"):
                failure = reason
        elif state.get("ready") is True and at(state, "state.running") is not None:
            is_running = True
            ready += 1
    # A container has completed, but the pod has not if another one runs or has failed.
    if reason == "Completed" and is_running:
        is_ready = has(pod, "status.conditions.@Ready!")
        reason = "Running" if is_ready else failure or "NotReady"
    elif reason == "Completed":
        reason = failure or reason
    # The restarts of sidecars count once all init containers are done.
    running = [each for each in init.restarted if text_at(each, "name") in sidecars]
    return _Summary(reason, ready, [*running, *states])


def _summarize_init_containers(pod: JSONObject) -> _Summary:
    """Go through the init containers up to the first one that is not done."""
    phase = text_at(pod, "status.phase", "Pending")
    reason, ready = text_at(pod, "status.reason", phase), 0
    if text_at(pod, "status.conditions.@PodScheduled.reason") == "SchedulingGated":
        reason = "SchedulingGated"
    states = objects_at(pod, "status.initContainerStatuses")
    sidecars = _sidecars(pod)
    for index, state in enumerate(states):
        terminated = at(state, "state.terminated")
        # A completed container does not hold up the next one.
        if isinstance(terminated, dict) and not terminated.get("exitCode"):
            continue
        # A running sidecar does not hold anything up either.
        if text_at(state, "name") in sidecars and state.get("started") is True:
            ready += state.get("ready") is True
            continue
        total = len(objects_at(pod, "spec.initContainers"))
        reason = f"Init:{_reason_of_init_container(state) or f'{index}/{total}'}"
        return _Summary(reason, ready, states[: index + 1], is_pending=True)
    return _Summary(reason, ready, states)


def _reason_of_init_container(state: JSONObject) -> str:
    """Return why an init container is not done; "" if it gives no particular reason."""
    terminated = at(state, "state.terminated")
    if isinstance(terminated, dict):
        return _reason_of_termination(terminated)
    waiting = text_at(state, "state.waiting.reason")
    # Every container has this reason until the init containers before it are done.
    return "" if waiting == "PodInitializing" else waiting


def _reason_of_termination(terminated: JSONObject) -> str:
    reason = text_at(terminated, "reason")
    signal, code = (integer_at(terminated, each) for each in ("signal", "exitCode"))
    return reason or (f"Signal:{signal}" if signal else f"ExitCode:{code}")


_SHOWN_METRICS: Final = 2
_ROLE_LABEL: Final = "kubernetes.io/role"
_ROLE_LABEL_PREFIX: Final = "node-role.kubernetes.io/"
_DEFAULT_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"
# In the order in which they are shown.
_ACCESS_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_SHOWN: Final = 3


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


def autoscaler_metrics(obj: JSONObject, _now: datetime) -> JSON:
    """Show what an autoscaler measures and aims at (Go: formatHPAMetrics)."""
    specs = objects_at(obj, "spec.metrics")
    statuses = objects_at(obj, "status.currentMetrics")
    # A metric and its status have the same place in their lists.
    statuses += [{}] * len(specs)
    texts = [_metric(*each) for each in zip(specs, statuses, strict=False)]
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
    field = "averageUtilization" if name else "value"
    if text_at(spec, f"{source}.target.averageValue"):
        field = "averageValue"
    current = text_at(status, f"{source}.current.{field}")
    target = text_at(spec, f"{source}.target.{field}")
    percent = "%" if field == "averageUtilization" else ""
    text = f"{name}: " if name else ""
    text += f"{current}{percent}/" if current else "<unknown>/"
    text += f"{target}{percent}" if target else "<auto>"
    # For these two an average is the exception, so it is marked.
    if field == "averageValue" and source in {"external", "object"}:
        text += " (avg)"
    return text


def node_roles(obj: JSONObject, _now: datetime) -> JSON:
    """Show the roles of a node, from a label for each or a label with one as its value.

    Go: findNodeRoles.
    """
    labels = as_object(at(obj, "metadata.labels"))
    roles = {str(labels.get(_ROLE_LABEL, ""))}
    for key in labels:
        if key.startswith(_ROLE_LABEL_PREFIX):
            roles.add(key.removeprefix(_ROLE_LABEL_PREFIX))
    return join(sorted(roles), NONE)


def abbreviate_access_modes(modes: JSON) -> str:
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
    external_ips = strings_in(at(obj, "spec.externalIPs"))
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
        # A headless service may have no ports.
        for port in objects_at(subset, "ports") or [{}]:
            suffix = f":{port['port']}" if "port" in port else ""
            addresses = objects_at(subset, "addresses")
            texts += [text_at(each, "ip") + suffix for each in addresses]
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
    is_default = value_at(obj, ("metadata", "annotations", _DEFAULT_CLASS)) == "true"
    return f"{name} (default)" if is_default else name


def quota_requests(obj: JSONObject, _now: datetime) -> JSON:
    """Show what is used of a quota but of limits (Go: printResourceQuota)."""
    return _quota(obj, limits=False)


def quota_limits(obj: JSONObject, _now: datetime) -> JSON:
    """Show what is used of the limits of a quota (Go: printResourceQuota)."""
    return _quota(obj, limits=True)


def _quota(obj: JSONObject, *, limits: bool) -> str:
    hard, used = (as_object(at(obj, f"status.{each}")) for each in ("hard", "used"))
    # "limits.cpu" is a limit, "requests.cpu" and "pods" are requests.
    names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
    return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)
