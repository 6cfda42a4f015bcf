"""What an API server adds to Pods, Jobs and nodes, and what it counts of a DaemonSet.

The count of the templates of a DaemonSet cannot be changed by a client. Go:
daemonSetStrategy in k8s.io/kubernetes/pkg/registry/apps/daemonset; the internal type
has the count as a field, which apps/v1 prints as an annotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from smp._values.api_objects import annotations_of, metadata_of, set_metadata
from smp._values.quantities import Quantity, read_quantity
from smp._values.times import timestamp
from smp._values.values import (
    JSON,
    JSONObject,
    as_object,
    as_text,
    objects_in,
    same,
    value_at,
)
from smp.paths import Path
from smp.violations import Violation, forbidden

# Go: plugin/pkg/admission/defaulttolerationseconds.
_CONDITIONS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATED_SECONDS: Final = 300
_PREEMPTION: Final = "PreemptLowerPriority"
_COUNTED: Final = ("cpu", "memory")
_NOT_READY: Final[JSONObject] = {"key": _CONDITIONS[0], "effect": "NoSchedule"}


def add_not_ready(node: JSONObject) -> JSONObject:
    """Return a new node with the taint of one that is not ready yet.

    Go: TaintNodesByCondition, plugin/pkg/admission/nodetaint. A client that sets the
    taint itself is not overruled.
    """
    spec = as_object(node.get("spec"))
    taints = objects_in(spec.get("taints"))
    if _NOT_READY["key"] in [taint.get("key") for taint in taints]:
        return node
    return {**node, "spec": {**spec, "taints": [*taints, _NOT_READY]}}


def add_tolerations(pod: JSONObject) -> JSONObject:
    """Return a Pod that tolerates a node without answer for five minutes."""
    spec = as_object(pod.get("spec"))
    tolerations = objects_in(spec.get("tolerations"))
    added: list[JSON] = [
        {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _TOLERATED_SECONDS,
        }
        for key in _CONDITIONS
        if not any(_tolerates(toleration, key) for toleration in tolerations)
    ]
    if not added:
        return pod
    return {**pod, "spec": {**spec, "tolerations": [*tolerations, *added]}}


def _tolerates(toleration: JSONObject, key: str) -> bool:
    # Without a key it tolerates all taints, without an effect all effects.
    keys, effects = (key, "", None), ("NoExecute", "", None)
    return toleration.get("key") in keys and toleration.get("effect") in effects


def set_priority(pod: JSONObject, priority: JSONObject) -> tuple[JSONObject, str]:
    """Return a Pod with the value and the policy of a PriorityClass, or of none.

    The text says why a server forbids others (Go: plugin/pkg/admission/priority).
    """
    spec = {**as_object(pod.get("spec"))}
    problem = ""
    for name, what, default in (
        ("priority", "integer value of priority", 0),
        ("preemptionPolicy", "string value of PreemptionPolicy", _PREEMPTION),
    ):
        field = "value" if name == "priority" else name
        computed = priority.get(field, default)
        if spec.setdefault(name, computed) != computed and not problem:
            problem = (
                f"the {what} ({spec[name]}) must not be provided in pod spec; priority"
                f" admission controller computed {computed} from the given"
                " PriorityClass name"
            )
    return {**pod, "spec": spec}, problem


def find_unmade(pod: JSONObject) -> Iterator[Violation]:
    """Yield what a new Pod cannot have yet (Go: core ValidatePodCreate)."""
    if as_object(pod.get("spec")).get("ephemeralContainers"):
        path = Path(("spec", "ephemeralContainers"))
        yield forbidden(path, "cannot be set on create")


def add_gated_condition(pod: JSONObject, now: datetime) -> JSONObject:
    """Return a new Pod with the condition that its scheduling gates make.

    Go: k8s.io/kubernetes, pkg/registry/core/pod/strategy.go,
    applySchedulingGatedCondition.
    """
    if not as_object(pod.get("spec")).get("schedulingGates"):
        return pod
    condition: JSONObject = {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(now),
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }
    status = as_object(pod.get("status"))
    return {**pod, "status": {**status, "conditions": [condition]}}


def set_quality(pod: JSONObject) -> JSONObject:
    """Return a Pod with its class in the status. Go: PrepareForCreate of a Pod."""
    return {**pod, "status": {**as_object(pod.get("status")), "qosClass": quality(pod)}}


def quality(pod: JSONObject) -> str:
    """Return the quality of service of a Pod. Go: qos.ComputePodQOS."""
    spec = as_object(pod.get("spec"))
    holders = [
        *objects_in(spec.get("containers")),
        *objects_in(spec.get("initContainers")),
    ]
    # Resources of the whole Pod count instead of those of its containers.
    if isinstance(spec.get("resources"), dict):
        holders = [spec]
    # Guaranteed is a Pod all of whose containers have limits of both resources that
    # are their requests, BestEffort one without any.
    is_guaranteed, is_best_effort = True, True
    for holder in holders:
        requests = _count(value_at(holder, ("resources", "requests")))
        limits = _count(value_at(holder, ("resources", "limits")))
        if requests or limits:
            is_best_effort = False
        # Where only a limit is given, the request is the same.
        if len(limits) < len(_COUNTED):
            is_guaranteed = False
        for name, request in requests.items():
            if name not in limits or not request.equals(limits[name]):
                is_guaranteed = False
    if is_best_effort:
        return "BestEffort"
    return "Guaranteed" if is_guaranteed else "Burstable"


def _count(resources: JSON) -> dict[str, Quantity]:
    """Return the quantities that count; what is not above zero does not."""
    counted = {}
    for name in _COUNTED:
        quantity = read_quantity(as_object(resources).get(name))
        if quantity is not None and quantity.sign > 0:
            counted[name] = quantity
    return counted


# In both forms, with and without a prefix: the former is the older one.
_NAMES: Final = ("job-name", "batch.kubernetes.io/job-name")
_UIDS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")


def set_selector(job: JSONObject) -> JSONObject:
    """Return a new Job with a selector and labels of its own, unless it has some."""
    spec = as_object(job.get("spec"))
    # The client answers for the selector then.
    if spec.get("manualSelector") is True:
        return job
    metadata = metadata_of(job)
    template = as_object(spec.get("template"))
    former = as_object(metadata_of(template).get("labels"))
    generated: JSONObject = {
        **dict.fromkeys(_NAMES, metadata.get("name")),
        **dict.fromkeys(_UIDS, metadata.get("uid")),
    }
    # Labels that the client set are not overruled: they make the Job invalid.
    labels: JSONObject = {**generated, **former}
    selector = as_object(spec.get("selector"))
    selected: JSONObject = {
        _UIDS[1]: metadata.get("uid"),
        **as_object(selector.get("matchLabels")),
    }
    # Go: SetDefaults_Job gives a Job without labels the very map of its template, so
    # that it has these, too; labels that only equal those of the template are its own.
    # A retry of a generated name is made with a copy (Go: registry.Store.Create).
    own = as_object(metadata.get("labels"))
    if not own or (own is former and not metadata.get("generateName")):
        job = set_metadata(job, labels=labels)
    changed: JSONObject = {
        **spec,
        "selector": {**selector, "matchLabels": selected},
        "template": set_metadata(template, labels=labels),
    }
    return {**job, "spec": changed}


DAEMON_SETS: Final = ("apps", "daemonsets")
_COUNT: Final = "deprecated.daemonset.template.generation"
_NUMBER: Final = re.compile("[0-9]{1,18}")


def is_counted(obj: JSONObject) -> bool:
    """Tell whether an object is a DaemonSet that a server has stored."""
    is_built_in = (obj.get("apiVersion"), obj.get("kind")) == ("apps/v1", "DaemonSet")
    return is_built_in and _COUNT in annotations_of(obj)


def count_templates(old: JSONObject | None, new: JSONObject) -> JSONObject:
    """Return a DaemonSet with the count, one more where the template is another."""
    count = 1
    if old is not None:
        written = as_text(annotations_of(old).get(_COUNT))
        count = int(written) if _NUMBER.fullmatch(written) else 0
        if not same(_template(old), _template(new)):
            count += 1
    annotations = annotations_of(new)
    if annotations.get(_COUNT) == str(count):
        return new
    return set_metadata(new, annotations={**annotations, _COUNT: str(count)})


def _template(obj: JSONObject) -> JSONObject:
    return as_object(as_object(obj.get("spec")).get("template"))
