"""Whether an object is what its specification says, as kstatus judges it.

Go: sigs.k8s.io/cli-utils/pkg/kstatus/status, Compute. First the properties that most
kinds have, then the rule of the kind, then the condition Ready. An object that says
nothing of itself is current.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from smp._values.values import JSON, Absent, JSONObject, as_list, as_object, as_text

# Seconds. Go: ScheduleWindow: a Pod may be unschedulable at first.
SCHEDULE_WINDOW: Final = 15
_NO_DEADLINE: Final = 2**31 - 1


class Readiness(msgspec.Struct, frozen=True):
    """The state of an object, and one sentence about it."""

    state: Literal["current", "in-progress", "failed", "terminating"]
    message: str


_Rule: TypeAlias = Callable[[JSONObject, float], Readiness]


def readiness(obj: JSONObject, *, waited: float = 0) -> Readiness:
    """Return the state of an object.

    ``waited`` are the seconds since a wait for it began: a Pod that cannot be
    scheduled has failed only after some of them.
    """
    metadata = as_object(obj.get("metadata"))
    # Go: checkGenericProperties, as are the two rules after it.
    if as_text(metadata.get("deletionTimestamp")):
        return Readiness("terminating", "Resource scheduled for deletion")
    generation = metadata.get("generation")
    observed = _read_at(obj, "status.observedGeneration")
    # Go: checkGeneration, which leaves out what has no such fields.
    if type(generation) is int and type(observed) is int and observed != generation:
        return _make_in_progress(
            f"{obj.get('kind')} generation is {generation}, but latest observed"
            f" generation is {observed}"
        )
    # A controller that sets these two says all that there is to know.
    for condition in _conditions(obj):
        if condition.is_true("Reconciling"):
            return _make_in_progress(condition.message)
        if condition.is_true("Stalled"):
            return Readiness("failed", condition.message)
    group, _, _ = as_text(obj.get("apiVersion")).rpartition("/")
    rule = _RULES.get((group, as_text(obj.get("kind"))))
    if rule is not None:
        return rule(obj, waited)
    # Go: checkReadyCondition. Whether a False will ever be True cannot be known.
    for condition in _conditions(obj):
        if condition.type == "Ready" and condition.status in ("False", "Unknown"):
            return _make_in_progress(condition.message)
        if condition.is_true("Ready"):
            return Readiness("current", "Resource is Ready")
    # It has none of the known conditions, so there is nothing to wait for.
    return Readiness("current", "Resource is current")


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str
    reason: str
    message: str

    def is_true(self, type_: str) -> bool:
        return self.type == type_ and self.status == "True"

    def is_false(self, type_: str) -> bool:
        return self.type == type_ and self.status == "False"


def _conditions(obj: JSONObject) -> Iterator[_Condition]:
    for entry in as_list(_read_at(obj, "status.conditions")):
        members = as_object(entry)
        texts = [as_text(members.get(name)) for name in _Condition.__struct_fields__]
        yield _Condition(*texts)


def _read_at(obj: JSONObject, path: str) -> JSON | Absent:
    value: JSON | Absent = obj
    for name in path.split("."):
        value = as_object(value).get(name)
    return value


def _number(obj: JSONObject, path: str, default: int = 0) -> int:
    value = _read_at(obj, path)
    return value if type(value) is int else default


def _make_in_progress(message: str) -> Readiness:
    return Readiness("in-progress", message)


def _too_few(*counts: tuple[str, int, int]) -> Readiness | None:
    """Return the first count that is below what is wanted: a name, and both."""
    for name, count, wanted in counts:
        if wanted > count:
            return _make_in_progress(f"{name}: {count}/{wanted}")
    return None


def _deployment(obj: JSONObject, _waited: float) -> Readiness:
    """Judge a Deployment. Go: deploymentConditions."""
    # Without a deadline the controller sets no condition Progressing.
    deadline = _number(obj, "spec.progressDeadlineSeconds", _NO_DEADLINE)
    progressing = deadline == _NO_DEADLINE
    available = False
    for condition in _conditions(obj):
        if condition.type == "Progressing":
            if condition.reason == "ProgressDeadlineExceeded":
                return Readiness("failed", "Progress deadline exceeded")
            if condition.status == "True":
                progressing |= condition.reason == "NewReplicaSetAvailable"
        available |= condition.is_true("Available")
    # The controller takes 1 where there is no number.
    wanted = _number(obj, "spec.replicas", 1)
    replicas = _number(obj, "status.replicas")
    updated = _number(obj, "status.updatedReplicas")
    few = _too_few(("Replicas", replicas, wanted), ("Updated", updated, wanted))
    if few is not None:
        return few
    # Pods of the former ReplicaSet are still there.
    if replicas > wanted:
        return _make_in_progress(f"Pending termination: {replicas - wanted}")
    few = _too_few(
        ("Available", _number(obj, "status.availableReplicas"), updated),
        ("Ready", _number(obj, "status.readyReplicas"), wanted),
    )
    if few is not None:
        return few
    if not progressing:
        return _make_in_progress("ReplicaSet not Available")
    if not available:
        return _make_in_progress("Deployment not Available")
    return Readiness("current", f"Deployment is available. Replicas: {replicas}")


def _replica_set(obj: JSONObject, _waited: float) -> Readiness:
    """Judge a ReplicaSet. Go: replicasetConditions."""
    if any(condition.is_true("ReplicaFailure") for condition in _conditions(obj)):
        return _make_in_progress("Replica Failure condition. Check Pods")
    wanted = _number(obj, "spec.replicas", 1)
    replicas = _number(obj, "status.replicas")
    few = _too_few(
        ("Labelled", _number(obj, "status.fullyLabeledReplicas"), wanted),
        ("Available", _number(obj, "status.availableReplicas"), wanted),
        ("Ready", _number(obj, "status.readyReplicas"), wanted),
    )
    if few is not None:
        return few
    if replicas > wanted:
        return _make_in_progress(f"Pending termination: {replicas - wanted}")
    return Readiness("current", f"ReplicaSet is available. Replicas: {replicas}")


def _stateful_set(obj: JSONObject, _waited: float) -> Readiness:
    """Judge a StatefulSet. Go: stsConditions."""
    # A user decides when its Pods are replaced.
    if _read_at(obj, "spec.updateStrategy.type") == "OnDelete":
        return Readiness("current", "StatefulSet is using the ondelete update strategy")
    wanted = _number(obj, "spec.replicas", 1)
    replicas = _number(obj, "status.replicas")
    few = _too_few(
        ("Replicas", replicas, wanted),
        ("Ready", _number(obj, "status.readyReplicas"), wanted),
    )
    if few is not None:
        return few
    if replicas > wanted:
        return _make_in_progress(f"Pending termination: {replicas - wanted}")
    # Only the Pods from the partition on are updated.
    partition = _number(obj, "spec.updateStrategy.rollingUpdate.partition", -1)
    if partition != -1:
        updated = _number(obj, "status.updatedReplicas")
        few = _too_few(("updated", updated, wanted - partition))
        complete = f"Partition rollout complete. updated: {updated}"
        return few or Readiness("current", complete)
    few = _too_few(("current", _number(obj, "status.currentReplicas"), wanted))
    if few is not None:
        return few
    # All Pods are there, some of them of the former revision.
    current = as_text(_read_at(obj, "status.currentRevision"))
    if current != as_text(_read_at(obj, "status.updateRevision")):
        return _make_in_progress("Waiting for updated revision to match current")
    message = f"All replicas scheduled as expected. Replicas: {replicas}"
    return Readiness("current", message)


def _daemon_set(obj: JSONObject, _waited: float) -> Readiness:
    """Judge a DaemonSet. Go: daemonsetConditions."""
    # The controller always sets these, so it has not seen an object without them.
    for path in ("metadata.generation", "status.observedGeneration"):
        if type(_read_at(obj, path)) is not int:
            return _make_in_progress(f"{obj.get('kind')} {path} not found")
    wanted = _number(obj, "status.desiredNumberScheduled", -1)
    if wanted == -1:
        return _make_in_progress("Missing .status.desiredNumberScheduled")
    few = _too_few(
        ("Current", _number(obj, "status.currentNumberScheduled"), wanted),
        ("Updated", _number(obj, "status.updatedNumberScheduled"), wanted),
        ("Available", _number(obj, "status.numberAvailable"), wanted),
        ("Ready", _number(obj, "status.numberReady"), wanted),
    )
    message = f"All replicas scheduled as expected. Replicas: {wanted}"
    return few or Readiness("current", message)


def _claim(obj: JSONObject, _waited: float) -> Readiness:
    """Judge a PersistentVolumeClaim. Go: pvcConditions."""
    phase = _read_at(obj, "status.phase")
    if not isinstance(phase, str):
        phase = "unknown"
    if phase != "Bound":
        return _make_in_progress(f"PVC is not Bound. phase: {phase}")
    return Readiness("current", "PVC is Bound")


def _pod(obj: JSONObject, waited: float) -> Readiness:
    """Judge a Pod. Go: podConditions."""
    phase = as_text(_read_at(obj, "status.phase"))
    # It has done what it had to do, well or not.
    if phase == "Succeeded":
        return Readiness("current", "Pod has completed successfully")
    if phase == "Failed":
        return Readiness("current", "Pod has completed, but not successfully")
    if phase == "Running":
        if any(condition.is_true("Ready") for condition in _conditions(obj)):
            return Readiness("current", "Pod is Ready")
        containers = map(as_object, as_list(_read_at(obj, "status.containerStatuses")))
        crashing = [
            as_text(container.get("name"))
            for container in containers
            if _read_at(container, "state.waiting.reason") == "CrashLoopBackOff"
        ]
        if crashing:
            names = ",".join(crashing)
            return Readiness("failed", f"Containers in CrashLoop state: {names}")
        return _make_in_progress("Pod is running but is not Ready")
    if phase == "Pending":
        for condition in _conditions(obj):
            unscheduled = condition.is_false("PodScheduled")
            if unscheduled and condition.reason == "Unschedulable":
                if waited < SCHEDULE_WINDOW:
                    return _make_in_progress("Pod has not been scheduled")
                return Readiness("failed", "Pod could not be scheduled")
        return _make_in_progress("Pod is in the Pending phase")
    # No kubelet has seen it yet.
    return _make_in_progress("Pod phase not available")


def _job(obj: JSONObject, _waited: float) -> Readiness:
    """Judge a Job, which is current while it runs. Go: jobConditions."""
    completions = _number(obj, "spec.completions", _number(obj, "spec.parallelism", 1))
    succeeded = _number(obj, "status.succeeded")
    failed = _number(obj, "status.failed")
    for condition in _conditions(obj):
        if condition.is_true("Complete"):
            message = f"Job Completed. succeeded: {succeeded}/{completions}"
            return Readiness("current", message)
        if condition.is_true("Failed"):
            return Readiness("failed", f"Job Failed. failed: {failed}/{completions}")
    # The controller has not seen it yet, or it is suspended.
    if not as_text(_read_at(obj, "status.startTime")):
        return _make_in_progress("Job not started")
    active = _number(obj, "status.active")
    return Readiness(
        "current",
        f"Job in progress. success:{succeeded}, active: {active}, failed: {failed}",
    )


def _service(obj: JSONObject, _waited: float) -> Readiness:
    """Judge a Service. Go: serviceConditions."""
    is_balanced = _read_at(obj, "spec.type") == "LoadBalancer"
    if is_balanced and not as_text(_read_at(obj, "spec.clusterIP")):
        return _make_in_progress("ClusterIP not set. Service type: LoadBalancer")
    return Readiness("current", "Service is ready")


def _definition(obj: JSONObject, _waited: float) -> Readiness:
    """Judge a CustomResourceDefinition. Go: crdConditions."""
    for condition in _conditions(obj):
        if condition.is_false("NamesAccepted"):
            return Readiness("failed", condition.message)
        if condition.is_false("Established") and condition.reason != "Installing":
            return Readiness("failed", condition.message)
        if condition.is_true("Established"):
            return Readiness("current", "CRD is established")
    return _make_in_progress("Install in progress")


def _disruption_budget(_obj: JSONObject, _waited: float) -> Readiness:
    """Judge a PodDisruptionBudget whose generation was observed. Go: pdbConditions."""
    return Readiness("current", "AllowedDisruptions has been computed.")


def _always(_obj: JSONObject, _waited: float) -> Readiness:
    return Readiness("current", "Resource is always ready")


# Go: legacyTypes.
_RULES: Final[dict[tuple[str, str], _Rule]] = {
    ("", "Service"): _service,
    ("", "Pod"): _pod,
    ("", "Secret"): _always,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "ConfigMap"): _always,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("extensions", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("extensions", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("extensions", "ReplicaSet"): _replica_set,
    ("policy", "PodDisruptionBudget"): _disruption_budget,
    ("batch", "CronJob"): _always,
    ("batch", "Job"): _job,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
}
