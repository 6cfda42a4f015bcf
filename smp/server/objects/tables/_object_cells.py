"""Cells that take more than a path: what is printed of jobs, services, nodes and
others.

Source: the print functions in k8s.io/kubernetes, pkg/printers/internalversion.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeAlias

from smp.server.objects.metadata import metadata_of
from smp.server.objects.tables._cells import (
    NONE,
    abridged,
    at,
    each,
    integer_at,
    is_true,
    joined,
    members_at,
    text_at,
    texts_at,
)
from smp.server.objects.tables.columns import parse_time, time_since
from smp.values import JSON, JSONObject

Show: TypeAlias = Callable[[JSONObject], JSON]

_JOB_STATES: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
_ROLE: Final = "node-role.kubernetes.io/"
_ACCESS_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def of(done: str, wanted: str) -> Show:
    """Show how many of the replicas that are wanted there are; one is wanted where
    nothing is said.
    """
    return lambda obj: f"{integer_at(obj, done)}/{integer_at(obj, wanted, 1)}"


def names_of(path: str, word: str) -> Show:
    """Show a member of each object in a list."""
    return lambda obj: joined(text_at(one, word) for one in each(obj, path))


def count_of(*paths: str) -> Show:
    """Show how many members or elements there are at some paths."""
    return lambda obj: sum(
        len(found) for path in paths if isinstance(found := at(obj, path), dict | list)
    )


def job_status(obj: JSONObject) -> JSON:
    """Show in one word what a job is doing."""
    ended = [word for word in ("Complete", "Failed") if is_true(obj, word)]
    deleting = ["Terminating"] if "deletionTimestamp" in metadata_of(obj) else []
    held = [word for word in _JOB_STATES if is_true(obj, word)]
    return [*ended, *deleting, *held, "Running"][0]


def job_completions(obj: JSONObject) -> JSON:
    """Show how many pods of a job have succeeded, of how many."""
    wanted, parallel = at(obj, "spec.completions"), integer_at(obj, "spec.parallelism")
    several = f" of {parallel}" if wanted is None and parallel > 1 else ""
    return f"{integer_at(obj, 'status.succeeded')}/{integer_at(obj, 'spec.completions', 1)}{several}"


def job_duration(obj: JSONObject, now: datetime) -> JSON:
    """Show how long a job took, or has taken."""
    start, end = (
        at(obj, "status.startTime"),
        parse_time(at(obj, "status.completionTime")),
    )
    return time_since(start, end or now) if start else ""


def cluster_ip(obj: JSONObject) -> JSON:
    """Show the first address of a service inside the cluster."""
    return [*texts_at(obj, "spec.clusterIPs"), text_at(obj, "spec.clusterIP", NONE)][0]


def external_ip(obj: JSONObject) -> JSON:
    """Show the addresses of a service outside the cluster."""
    kind, own = text_at(obj, "spec.type"), texts_at(obj, "spec.externalIPs")
    if kind == "ExternalName":
        return text_at(obj, "spec.externalName")
    return (
        joined([*_balanced(obj), *own], "<pending>")
        if kind == "LoadBalancer"
        else joined(own, NONE)
    )


def balanced(obj: JSONObject) -> JSON:
    """Show the addresses of a load balancer."""
    return joined(_balanced(obj))


def _balanced(obj: JSONObject) -> list[str]:
    return sorted(
        {
            text_at(one, "ip", text_at(one, "hostname"))
            for one in each(obj, "status.loadBalancer.ingress")
        }
    )


def service_ports(obj: JSONObject) -> JSON:
    """Show the ports of a service, with those that nodes open for them."""
    return joined(map(_service_port, each(obj, "spec.ports")), NONE)


def _service_port(port: JSONObject) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{text_at(port, 'port')}{node}/{text_at(port, 'protocol', 'TCP')}"


def hosts(obj: JSONObject) -> JSON:
    """Show the first three hosts of an ingress."""
    rules, count = each(obj, "spec.rules"), 3
    found = [text_at(rule, "host") for rule in rules if rule.get("host")][:count]
    return joined(found, "*") + (
        f" + {len(rules) - count} more..." if len(found) == count < len(rules) else ""
    )


def endpoints(obj: JSONObject) -> JSON:
    """Show the first three addresses of endpoints, for each of their ports."""
    return abridged([*_endpoints(obj)], 3)


def _endpoints(obj: JSONObject) -> list[str]:
    return [
        text_at(address, "ip") + (f":{port['port']}" if "port" in port else "")
        for subset in each(obj, "subsets")
        for port in each(subset, "ports") or [{}]
        for address in each(subset, "addresses")
    ]


def node_status(obj: JSONObject) -> JSON:
    """Show whether a node is ready, and whether it takes pods."""
    known = any(one.get("type") == "Ready" for one in each(obj, "status.conditions"))
    state = "Ready" if is_true(obj, "Ready") else "NotReady" if known else "Unknown"
    return state + (
        ",SchedulingDisabled" if at(obj, "spec.unschedulable") is True else ""
    )


def node_roles(obj: JSONObject) -> JSON:
    """Show the roles that labels give to a node."""
    labels = members_at(obj, "metadata.labels")
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)}
    return joined(sorted({*roles, str(labels.get("kubernetes.io/role", ""))}), NONE)


def address(kind: str) -> Show:
    """Show the first address of a node of a kind."""
    return lambda obj: [
        *(
            text_at(one, "address")
            for one in each(obj, "status.addresses")
            if one.get("type") == kind
        ),
        NONE,
    ][0]


def kernel(obj: JSONObject) -> JSON:
    """Show the kernel of a node, and its architecture."""
    architecture = text_at(obj, "status.nodeInfo.architecture")
    version = text_at(obj, "status.nodeInfo.kernelVersion", "<unknown>")
    return f"{version} ({architecture})" if architecture else version


def subjects(kind: str) -> Show:
    """Show the subjects of a binding that are of a kind."""
    return lambda obj: joined(
        (
            (f"{text_at(one, 'namespace')}/" if kind == "ServiceAccount" else "")
            + text_at(one, "name")
            for one in each(obj, "subjects")
            if one.get("kind") == kind
        ),
        separator=", ",
    )


def access_modes(path: str) -> Show:
    """Show the modes of access in short."""
    return lambda obj: joined(
        short for mode, short in _ACCESS_MODES.items() if mode in texts_at(obj, path)
    )


def volume_phase(obj: JSONObject) -> JSON:
    """Show the phase of a volume or a claim."""
    return (
        "Terminating"
        if "deletionTimestamp" in metadata_of(obj)
        else text_at(obj, "status.phase")
    )


def claim(obj: JSONObject) -> JSON:
    """Show the claim that a volume is bound to."""
    reference = "spec.claimRef"
    return (
        f"{text_at(obj, f'{reference}.namespace')}/{text_at(obj, f'{reference}.name')}"
        if at(obj, reference)
        else ""
    )


def pod_ip(obj: JSONObject) -> JSON:
    """Show the first address of a pod."""
    return [
        *(text_at(one, "ip") for one in each(obj, "status.podIPs")),
        text_at(obj, "status.podIP", NONE),
    ][0]


def last_schedule(obj: JSONObject, now: datetime) -> JSON:
    """Show when a cron job last started a job."""
    time = at(obj, "status.lastScheduleTime")
    return time_since(time, now) if time else NONE


def if_bound(show: Show) -> Show:
    """Show something of a claim that has a volume."""
    return lambda obj: show(obj) if text_at(obj, "spec.volumeName") else ""


def metrics(obj: JSONObject) -> JSON:
    """Show what an autoscaler measures and aims at, the first two."""
    specs, states = each(obj, "spec.metrics"), each(obj, "status.currentMetrics")
    return abridged(
        [_metric(spec, [*states[index:], {}][0]) for index, spec in enumerate(specs)],
        2,
        ", ",
    )


def _metric(spec: JSONObject, status: JSONObject) -> str:
    kind = text_at(spec, "type")
    source = kind[:1].lower() + kind[1:]
    name = text_at(spec, f"{source}.name")  # only a resource has one here
    unit = (
        "averageValue"
        if text_at(spec, f"{source}.target.averageValue")
        else "averageUtilization"
        if name
        else "value"
    )
    sign = "%" if unit == "averageUtilization" else ""
    current, target = (
        text_at(status, f"{source}.current.{unit}"),
        text_at(spec, f"{source}.target.{unit}"),
    )
    average = (
        " (avg)" if unit == "averageValue" and source in {"external", "object"} else ""
    )
    shown = f"{current}{sign}" if current else "<unknown>"
    return (
        (f"{name}: " if name else "")
        + f"{shown}/"
        + (f"{target}{sign}" if target else "<auto>")
        + average
    )


def event_object(obj: JSONObject) -> JSON:
    """Show what an event is about."""
    kind, name = (
        text_at(obj, "involvedObject.kind").lower(),
        text_at(obj, "involvedObject.name"),
    )
    return f"{kind}/{name}" if name else kind


def event_source(obj: JSONObject) -> JSON:
    """Show who reports an event."""
    component = text_at(obj, "source.component", text_at(obj, "reportingComponent"))
    return joined(
        [component, text_at(obj, "source.host", text_at(obj, "reportingInstance"))],
        separator=", ",
    )


def event_last_seen(obj: JSONObject, now: datetime) -> JSON:
    """Show when an event was last seen."""
    return time_since(
        at(obj, "series.lastObservedTime")
        or at(obj, "lastTimestamp")
        or _first_seen(obj),
        now,
    )


def event_first_seen(obj: JSONObject, now: datetime) -> JSON:
    """Show when an event was first seen."""
    return time_since(_first_seen(obj), now)


def _first_seen(obj: JSONObject) -> JSON:
    return at(obj, "firstTimestamp") or at(obj, "eventTime")


def event_count(obj: JSONObject) -> JSON:
    """Show how often an event was seen."""
    return integer_at(obj, "series.count") or integer_at(obj, "count") or 1
