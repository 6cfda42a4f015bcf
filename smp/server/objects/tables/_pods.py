"""The cells of pods: how many containers are ready, the status, the restarts.

Go: printPod in k8s.io/kubernetes, pkg/printers/internalversion/printers.go. The status
is one word for the whole pod, from the phase and the states of its containers.

For a pod whose phase is Pending, with the init containers "fetch" and "migrate" of
which the first has ended with exit code 0 and the second waits for its image, it is
made as follows:

1. The reason is "Pending", from the phase.
2. "fetch" has done its work and is passed over.
3. "migrate" waits: the reason becomes "Init:ImagePullBackOff", or "Init:1/2" as long as
   it waits for no particular reason. The other containers are not looked at.

Without step 3 the states of the other containers would follow, the last container
first, so that the reason of the first one remains. A pod that is being deleted is
"Terminating", regardless of its containers.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from smp._values.values import JSON, JSONObject
from smp.server.objects.tables.columns import (
    NONE,
    at,
    integer_at,
    is_deleted,
    is_true,
    objects_at,
    text_at,
    time_since,
)


class _Summary(msgspec.Struct, frozen=True):
    """The states of the containers of a pod, summed up.

    ``last_restart`` is the time of the last one, or empty.
    """

    reason: str
    ready: int
    restarts: int
    last_restart: str


class _Restarts:
    """A count of restarts, and when a container last ended before one."""

    __slots__ = ("count", "last")

    def __init__(self) -> None:
        self.count = 0
        self.last = ""

    def add(self, status: JSONObject) -> None:
        """Add the restarts of a container."""
        self.count += integer_at(status, "restartCount")
        # Times of one format in UTC sort as strings.
        ended = text_at(status, "lastState.terminated.finishedAt")
        self.last = max(self.last, ended)


class _InitSummary:
    """The states of the init containers, summed up.

    ``sidecar_restarts`` are those that count once all init containers are done.
    """

    __slots__ = ("is_pending", "ready", "reason", "restarts", "sidecar_restarts")

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.is_pending = False
        self.ready = 0
        self.restarts = _Restarts()
        self.sidecar_restarts = _Restarts()


def pod_ready(pod: JSONObject, _now: datetime) -> JSON:
    """Show how many containers are ready, of how many; sidecars count as containers."""
    total = len(objects_at(pod, "spec.containers")) + len(_sidecars(pod))
    return f"{_summarize(pod).ready}/{total}"


def pod_status(pod: JSONObject, _now: datetime) -> JSON:
    """Show the state of the pod in one word."""
    if is_deleted(pod):
        # The node controller sets this reason on the pods of an unreachable node.
        if text_at(pod, "status.reason") == "NodeLost":
            return "Unknown"
        # A pod that has ended keeps its own status while it is being deleted.
        if text_at(pod, "status.phase") not in {"Failed", "Succeeded"}:
            return "Terminating"
    return _summarize(pod).reason


def pod_restarts(pod: JSONObject, now: datetime) -> JSON:
    """Show how often containers were restarted, and how long ago the last time was."""
    summary = _summarize(pod)
    if not summary.restarts or not summary.last_restart:
        return str(summary.restarts)
    return f"{summary.restarts} ({time_since(summary.last_restart, now)} ago)"


def pod_readiness_gates(pod: JSONObject, _now: datetime) -> JSON:
    """Show how many readiness gates have a true condition, of how many."""
    gates = objects_at(pod, "spec.readinessGates")
    if not gates:
        return NONE
    is_open = [is_true(pod, text_at(gate, "conditionType")) for gate in gates]
    return f"{is_open.count(True)}/{len(gates)}"


def _sidecars(pod: JSONObject) -> list[JSONObject]:
    """Return the init containers that run as long as the pod does (KEP-753)."""
    return [
        container
        for container in objects_at(pod, "spec.initContainers")
        if container.get("restartPolicy") == "Always"
    ]


def _summarize(pod: JSONObject) -> _Summary:
    """Go through the states of the containers, as the head of this module explains."""
    init = _summarize_init_containers(pod)
    # The condition outlives a restart of the init containers.
    if init.is_pending and not is_true(pod, "Initialized"):
        return _Summary(
            init.reason, init.ready, init.restarts.count, init.restarts.last
        )

    reason, ready, restarts = init.reason, init.ready, init.sidecar_restarts
    is_running = False
    failure = ""
    # In reverse, so that the reason of the first container remains.
    for state in reversed(objects_at(pod, "status.containerStatuses")):
        restarts.add(state)
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
        reason = "Running" if is_true(pod, "Ready") else failure or "NotReady"
    elif reason == "Completed":
        reason = failure or reason
    return _Summary(reason, ready, restarts.count, restarts.last)


def _summarize_init_containers(pod: JSONObject) -> _InitSummary:
    """Go through the init containers up to the first one that is not done."""
    summary = _InitSummary(_reason_of_phase(pod))
    sidecars = {text_at(container, "name") for container in _sidecars(pod)}
    for index, state in enumerate(objects_at(pod, "status.initContainerStatuses")):
        is_sidecar = text_at(state, "name") in sidecars
        summary.restarts.add(state)
        if is_sidecar:
            summary.sidecar_restarts.add(state)
        terminated = at(state, "state.terminated")
        # A completed container does not hold up the next one.
        if isinstance(terminated, dict) and not terminated.get("exitCode"):
            continue
        # A running sidecar does not hold anything up either.
        if is_sidecar and state.get("started") is True:
            if state.get("ready") is True:
                summary.ready += 1
            continue
        total = len(objects_at(pod, "spec.initContainers"))
        reason = _reason_of_init_container(state) or f"{index}/{total}"
        summary.reason = f"Init:{reason}"
        summary.is_pending = True
        break
    return summary


def _reason_of_phase(pod: JSONObject) -> str:
    for condition in objects_at(pod, "status.conditions"):
        if (
            condition.get("type") == "PodScheduled"
            and condition.get("reason") == "SchedulingGated"
        ):
            return "SchedulingGated"
    phase = text_at(pod, "status.phase", "Pending")
    return text_at(pod, "status.reason", phase)


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
    if reason:
        return reason
    signal = integer_at(terminated, "signal")
    if signal:
        return f"Signal:{signal}"
    return f"ExitCode:{integer_at(terminated, 'exitCode')}"
