"""What ``kubectl get pods`` prints of the containers of a pod: how many are ready, what
keeps them, their restarts.

Source: "Pod Lifecycle" in the Kubernetes documentation, and printPod in
k8s.io/kubernetes, pkg/printers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from smp.server.objects.metadata import metadata_of
from smp.server.objects.tables._cells import (
    NONE,
    at,
    each,
    integer_at,
    is_true,
    members_at,
    text_at,
)
from smp.server.objects.tables.columns import time_since
from smp.values import JSON, JSONObject


@dataclass(frozen=True, slots=True)
class _Summary:
    """What the statuses of containers come to."""

    reason: str
    ready: int = 0
    restarts: int = 0
    restarted: str = ""

    def with_restarts(self, status: JSONObject) -> _Summary:
        """Count the restarts of one more container."""
        ended = text_at(status, "lastState.terminated.finishedAt")
        restarts = self.restarts + integer_at(status, "restartCount")
        return replace(self, restarts=restarts, restarted=max(self.restarted, ended))


def ready(pod: JSONObject, _now: datetime) -> JSON:
    """Print how many containers are ready, of how many."""
    sidecars = sum(map(_is_sidecar, each(pod, "spec.initContainers")))
    return f"{_summary(pod).ready}/{len(each(pod, 'spec.containers')) + sidecars}"


def status(pod: JSONObject, _now: datetime) -> JSON:
    """Print the state of the pod in one word."""
    phase = text_at(pod, "status.phase")
    if "deletionTimestamp" in metadata_of(pod):
        if text_at(pod, "status.reason") == "NodeLost":
            return "Unknown"
        if phase not in {"Failed", "Succeeded"}:
            return "Terminating"
    return _summary(pod).reason


def restarts(pod: JSONObject, now: datetime) -> JSON:
    """Print how often containers were restarted, and when the last time was."""
    found = _summary(pod)
    if not found.restarts or not found.restarted:
        return str(found.restarts)
    return f"{found.restarts} ({time_since(found.restarted, now)} ago)"


def readiness_gates(pod: JSONObject, _now: datetime) -> JSON:
    """Print how many readiness gates are open, of how many."""
    gates = [
        text_at(gate, "conditionType") for gate in each(pod, "spec.readinessGates")
    ]
    return (
        f"{sum(is_true(pod, gate) for gate in gates)}/{len(gates)}" if gates else NONE
    )


def _summary(pod: JSONObject) -> _Summary:
    """Go through the init containers, and where none of them holds the pod up through
    the others.
    """
    sidecars = {
        text_at(one, "name")
        for one in each(pod, "spec.initContainers")
        if _is_sidecar(one)
    }
    total = len(each(pod, "spec.initContainers"))
    initial = later = _Summary(_phase(pod))
    for index, one in enumerate(each(pod, "status.initContainerStatuses")):
        is_sidecar = text_at(one, "name") in sidecars
        initial = initial.with_restarts(one)
        later = later.with_restarts(one) if is_sidecar else later
        reason = _holds_up(one, is_sidecar=is_sidecar, progress=f"{index}/{total}")
        if reason:
            initial, later = (
                replace(initial, reason=f"Init:{reason}"),
                replace(later, reason=f"Init:{reason}"),
            )
            break
        ready_now = later.ready + (
            is_sidecar
            and at(one, "state.terminated") is None
            and one.get("ready") is True
        )
        initial, later = (
            replace(initial, ready=ready_now),
            replace(later, ready=ready_now),
        )
    is_initializing = initial.reason.startswith("Init:") and not is_true(
        pod, "Initialized"
    )
    return initial if is_initializing else _of_containers(pod, later)


def _is_sidecar(container: JSONObject) -> bool:
    return container.get("restartPolicy") == "Always"


def _phase(pod: JSONObject) -> str:
    gated = any(
        one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated"
        for one in each(pod, "status.conditions")
    )
    return (
        "SchedulingGated"
        if gated
        else text_at(pod, "status.reason") or text_at(pod, "status.phase", "Pending")
    )


def _holds_up(status: JSONObject, *, is_sidecar: bool, progress: str) -> str:
    """Say what an init container waits for; one that has done its work, or runs beside
    the pod, holds nothing up.
    """
    ended = members_at(status, "state.terminated")
    waiting = text_at(status, "state.waiting.reason")
    if (ended and not ended.get("exitCode")) or (
        is_sidecar and status.get("started") is True
    ):
        return ""
    if ended:
        return _end(ended)
    return waiting if waiting not in {"", "PodInitializing"} else progress


def _end(ended: JSONObject) -> str:
    signal = integer_at(ended, "signal")
    return text_at(ended, "reason") or (
        f"Signal:{signal}" if signal else f"ExitCode:{integer_at(ended, 'exitCode')}"
    )


def _of_containers(pod: JSONObject, found: _Summary) -> _Summary:
    is_running, failure = False, ""
    for one in reversed(each(pod, "status.containerStatuses")):
        found = found.with_restarts(one)
        ended = members_at(one, "state.terminated")
        if waiting := text_at(one, "state.waiting.reason"):
            found = replace(found, reason=waiting)
        elif ended:
            found = replace(found, reason=_end(ended))
            failure = found.reason if ended.get("exitCode") else failure
        elif one.get("ready") is True and at(one, "state.running") is not None:
            is_running, found = True, replace(found, ready=found.ready + 1)
    if found.reason != "Completed":
        return found
    reason = failure or ("NotReady" if is_running else found.reason)
    return replace(
        found, reason="Running" if is_running and is_true(pod, "Ready") else reason
    )
