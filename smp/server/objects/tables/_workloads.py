"""The cells of workloads: deployments, jobs, cron jobs, autoscalers.

Go: the functions named below, in k8s.io/kubernetes,
pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from smp._values.times import read_time
from smp._values.values import JSON, JSONObject
from smp.server.objects.tables._cells import (
    UNKNOWN,
    abridge,
    at,
    integer_at,
    is_deleted,
    is_true,
    objects_at,
    text_at,
)
from smp.server.objects.tables.columns import time_since, time_until

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
