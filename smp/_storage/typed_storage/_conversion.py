"""Versions of a built-in kind that have different forms, and their conversion.

A server serves an object in all versions of its kind, whichever it stores. Most differ
in nothing but apiVersion; those that differ otherwise, and are served by default, are
converted here.

autoscaling/v1 has one metric, the CPU utilization, in fields of its own. All else that
v2 has is in annotations of a v1 object, so that nothing is lost between the versions:
the metrics in a shape of v1, in which what v2 has in ``metric``, ``target`` and
``current`` is one level up, and the behavior with the names of Go's fields.
Go: k8s.io/kubernetes, pkg/apis/autoscaling/v1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from smp._values.codec import decode, encode
from smp._values.values import JSON, JSONObject, as_list, as_object, as_text
from smp.errors import SchemaError, SmpError
from smp.paths import Path
from smp.schema.model import Schema

# The fields of Go's HPAScalingRules and HPAScalingPolicy, in their order.
_RULES: Final = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_POLICY: Final = ("Type", "Value", "PeriodSeconds")
_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT_METRICS: Final = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
_BEHAVIOR: Final = "autoscaling.alpha.kubernetes.io/behavior"
# Go: pkg/apis/autoscaling, DefaultCPUUtilization.
_USUAL_UTILIZATION: Final = 80
_ANNOTATIONS: Final = (_METRICS, _CURRENT_METRICS, _CONDITIONS, _BEHAVIOR)

# What v1 has elsewhere than v2: the path in v1, the path in v2.
AUTOSCALER_FIELDS: Final = (
    (Path(("spec", "targetCPUUtilizationPercentage")), Path(("spec", "metrics"))),
    (Path(("metadata", "annotations", _METRICS)), Path(("spec", "metrics"))),
    (Path(("metadata", "annotations", _BEHAVIOR)), Path(("spec", "behavior"))),
    (
        Path(("status", "currentCPUUtilizationPercentage")),
        Path(("status", "currentMetrics")),
    ),
    (
        Path(("metadata", "annotations", _CURRENT_METRICS)),
        Path(("status", "currentMetrics")),
    ),
    (Path(("metadata", "annotations", _CONDITIONS)), Path(("status", "conditions"))),
)

_Members: TypeAlias = dict[str, dict[str, tuple[str, ...]]]

# Where v2 has a member of v1, for each type of metric: what is the same in spec and
# status, and the values, which v1 names by the side that they are of.
_SHARED: Final[_Members] = {
    "resource": {"name": ("name",)},
    "containerResource": {"name": ("name",), "container": ("container",)},
    "pods": {"metricName": ("metric", "name"), "selector": ("metric", "selector")},
    "object": {
        "target": ("describedObject",),
        "metricName": ("metric", "name"),
        "selector": ("metric", "selector"),
    },
    "external": {
        "metricName": ("metric", "name"),
        "metricSelector": ("metric", "selector"),
    },
}
_AVERAGES: Final = {
    "{}AverageUtilization": "averageUtilization",
    "{}AverageValue": "averageValue",
}
_VALUES: Final = {
    "resource": _AVERAGES,
    "containerResource": _AVERAGES,
    "pods": {"{}AverageValue": "averageValue"},
    "object": {"{}Value": "value", "averageValue": "averageValue"},
    "external": {"{}Value": "value", "{}AverageValue": "averageValue"},
}


def _members_of(side: str) -> _Members:
    return {
        kind: {
            **_SHARED[kind],
            **{name.format(side): (side, field) for name, field in values.items()},
        }
        for kind, values in _VALUES.items()
    }


_OF_SPEC: Final = _members_of("target")
_OF_STATUS: Final = _members_of("current")


def autoscaler_to_v2(obj: JSONObject) -> JSONObject:
    """Convert an autoscaler of v1 to v2."""
    metadata, annotations = _drop_annotations(obj)
    spec = _spec_to_v2(as_object(obj.get("spec")), annotations)
    status = _status_to_v2(as_object(obj.get("status")), annotations)
    return _join(obj, "autoscaling/v2", metadata, spec, status)


def _spec_to_v2(of_v1: JSONObject, annotations: JSONObject) -> JSONObject:
    spec = {**of_v1}
    metrics = [
        _convert_to_v2(as_object(metric), _OF_SPEC)
        for metric in _read_list(annotations, _METRICS)
    ]
    utilization = spec.pop("targetCPUUtilizationPercentage", None)
    if utilization is None and not metrics:
        # Not a default of v1: the conversion fills it in.
        utilization = _USUAL_UTILIZATION
    if utilization is not None:
        target: JSONObject = {"type": "Utilization", "averageUtilization": utilization}
        metrics.append(
            {"type": "Resource", "resource": {"name": "cpu", "target": target}}
        )
    spec["metrics"] = [*metrics]
    behavior = _read(annotations, _BEHAVIOR)
    if isinstance(behavior, dict):
        spec["behavior"] = _convert_internal(behavior)
        if not spec["behavior"]:
            # Go moves one that has nothing to no field.
            del spec["behavior"]
    return spec


def _status_to_v2(of_v1: JSONObject, annotations: JSONObject) -> JSONObject:
    current = [
        _convert_to_v2(as_object(metric), _OF_STATUS)
        for metric in _read_list(annotations, _CURRENT_METRICS)
    ]
    # What Go always prints of a status, and what it does not.
    status = {"currentMetrics": None, "desiredReplicas": 0, **of_v1}
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    # The annotation has more of the same: the value beside the utilization.
    utilization = status.pop("currentCPUUtilizationPercentage", None)
    if utilization is not None:
        value: JSONObject = {"averageUtilization": utilization}
        cpu: JSONObject = {
            "type": "Resource",
            "resource": {"name": "cpu", "current": value},
        }
        current = current or [cpu]
    if current:
        status["currentMetrics"] = [*current]
    conditions = _read_list(annotations, _CONDITIONS)
    if conditions:
        status["conditions"] = conditions
    return status


def autoscaler_to_v1(obj: JSONObject) -> JSONObject:
    """Convert an autoscaler of v2 to v1."""
    spec = {**as_object(obj.get("spec"))}
    status = {**as_object(obj.get("status"))}
    metadata, _annotations = _drop_annotations(obj)
    added: JSONObject = {}

    others: list[JSON] = []
    for metric in as_list(spec.pop("metrics", [])):
        utilization = _cpu_utilization(metric, "target")
        if utilization is not None:
            spec["targetCPUUtilizationPercentage"] = utilization
        else:
            others.append(_convert_to_v1(as_object(metric), _OF_SPEC))
    if others:
        added[_METRICS] = encode(others).decode()
    if "behavior" in spec:
        behavior = _internal_behavior(as_object(spec.pop("behavior")))
        added[_BEHAVIOR] = encode(behavior).decode()

    # What Go always prints of a status.
    status = {"currentReplicas": 0, "desiredReplicas": 0, **status}
    current = as_list(status.pop("currentMetrics", []))
    for metric in current:
        utilization = _cpu_utilization(metric, "current")
        if utilization is not None:
            status["currentCPUUtilizationPercentage"] = utilization
    if current:
        shown: JSON = [
            _convert_to_v1(as_object(metric), _OF_STATUS) for metric in current
        ]
        added[_CURRENT_METRICS] = encode(shown).decode()
    if "conditions" in status:
        added[_CONDITIONS] = encode(status.pop("conditions")).decode()

    if added:
        metadata["annotations"] = {**as_object(metadata.get("annotations")), **added}
    return _join(obj, "autoscaling/v1", metadata, spec, status)


def _cpu_utilization(metric: JSON, side: str) -> JSON:
    resource = as_object(as_object(metric).get("resource"))
    if resource.get("name") != "cpu":
        return None
    return as_object(resource.get(side)).get("averageUtilization")


def _join(
    obj: JSONObject,
    api_version: str,
    metadata: JSONObject,
    spec: JSONObject,
    status: JSONObject,
) -> JSONObject:
    """Return an object with other parts; one that it does not have stays absent."""
    joined = {**obj, "apiVersion": api_version, "metadata": metadata}
    if "spec" in obj or spec:
        joined["spec"] = spec
    if "status" in obj or status:
        joined["status"] = status
    return joined


def _drop_annotations(obj: JSONObject) -> tuple[JSONObject, JSONObject]:
    """Return the metadata without those of the conversion, and all annotations."""
    metadata = {**as_object(obj.get("metadata"))}
    annotations = as_object(metadata.get("annotations"))
    kept = {
        name: value for name, value in annotations.items() if name not in _ANNOTATIONS
    }
    if kept:
        metadata["annotations"] = kept
    elif len(annotations) > len(kept):
        del metadata["annotations"]
    return metadata, annotations


def _read(annotations: JSONObject, name: str) -> JSON:
    # Go ignores an annotation that is not what it should be.
    try:
        return decode(as_text(annotations.get(name, "null")).encode())
    except SmpError:
        return None


def _read_list(annotations: JSONObject, name: str) -> list[JSON]:
    value = _read(annotations, name)
    return value if isinstance(value, list) else []


def _convert_to_v2(metric: JSONObject, members: _Members) -> JSON:
    converted: JSONObject = {"type": metric.get("type", "")}
    for kind, of_kind in members.items():
        if not isinstance(metric.get(kind), dict):
            continue
        source = as_object(metric[kind])
        place: dict[str, JSONObject] = {"metric": {}, "target": {}, "current": {}}
        result: JSONObject = {}
        for name, path in of_kind.items():
            if name in source and len(path) == 1:
                result[path[0]] = source[name]
            elif name in source:
                place[path[0]][path[1]] = source[name]
        if place["target"]:
            place["target"]["type"] = _target_type(kind, place["target"])
        result |= {name: value for name, value in place.items() if value}
        converted[kind] = result
    return converted


def _target_type(kind: str, target: JSONObject) -> str:
    if "averageUtilization" in target:
        return "Utilization"
    # With both values that of an object is an average, and that of an external metric
    # is not.
    decisive = "averageValue" if kind == "object" else "value"
    if decisive in target:
        return decisive[0].upper() + decisive[1:]
    return "Value" if "value" in target else "AverageValue"


def _convert_to_v1(metric: JSONObject, members: _Members) -> JSON:
    converted: JSONObject = {"type": metric.get("type", "")}
    for kind, of_kind in members.items():
        if not isinstance(metric.get(kind), dict):
            continue
        result: JSONObject = {}
        for name, path in of_kind.items():
            value: JSON = metric[kind]
            for step in path:
                value = as_object(value).get(step)
            if value is not None:
                result[name] = value
        converted[kind] = result
    return converted


def _internal_behavior(behavior: JSONObject) -> JSONObject:
    """Return a behavior as Go prints its internal type, which has no JSON names."""
    internal: JSONObject = {}
    for name in ("ScaleUp", "ScaleDown"):
        rules = behavior.get(_make_json_name(name))
        if not isinstance(rules, dict):
            internal[name] = None
            continue
        internal[name] = _add_fields(rules, _RULES)
        if isinstance(rules.get("policies"), list):
            policies = [
                _add_fields(as_object(policy), _POLICY)
                for policy in as_list(rules["policies"])
            ]
            internal[name] = {**as_object(internal[name]), "Policies": [*policies]}
    return internal


def _add_fields(value: JSONObject, names: tuple[str, ...]) -> JSONObject:
    return {name: value.get(_make_json_name(name)) for name in names}


def _make_json_name(name: str) -> str:
    return name[0].lower() + name[1:]


def _convert_internal(value: JSON) -> JSON:
    """Return what Go printed of internal types with names of JSON, without nulls."""
    if isinstance(value, list):
        return [_convert_internal(element) for element in value]
    if not isinstance(value, dict):
        return value
    return {
        _make_json_name(name): _convert_internal(member)
        for name, member in value.items()
        if name and member is not None
    }


_Conversion: TypeAlias = Callable[[JSONObject], JSONObject]

# How an event of the core group calls what events.k8s.io/v1 calls so (Go: pkg/apis/
# events/v1/conversion.go).
_CORE_NAMES: Final = {
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_EVENT_NAMES: Final = {core: name for name, core in _CORE_NAMES.items()}


def _core_event(obj: JSONObject) -> JSONObject:
    """Return an event as the core group has it, which always prints who reports."""
    result: JSONObject = {"reportingComponent": "", "reportingInstance": ""}
    for name, value in obj.items():
        result[_CORE_NAMES.get(name, name)] = value
    return {**result, "apiVersion": "v1"}


def _event(obj: JSONObject) -> JSONObject:
    """Return an event as events.k8s.io has it."""
    result: JSONObject = {}
    for name, value in obj.items():
        if value != "" or name not in ("reportingComponent", "reportingInstance"):
            result[_EVENT_NAMES.get(name, name)] = value
    return {**result, "apiVersion": "events.k8s.io/v1"}


# By kind: the versions, each with the name of its type and the conversion to it.
_FORMS: Final[dict[str, dict[str, tuple[str, _Conversion]]]] = {
    "HorizontalPodAutoscaler": {
        "autoscaling/v1": (
            "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler",
            autoscaler_to_v1,
        ),
        "autoscaling/v2": (
            "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
            autoscaler_to_v2,
        ),
    },
    "Event": {
        "v1": ("io.k8s.api.core.v1.Event", _core_event),
        "events.k8s.io/v1": ("io.k8s.api.events.v1.Event", _event),
    },
}


def form_in(schema: Schema, api_version: str) -> Schema | None:
    """Return the schema of a kind in another version that has another form.

    None where there is no such version, or the source of the schema does not have it.
    """
    forms = _FORMS.get(schema.kind, {})
    both = api_version in forms and schema.api_version in forms
    if not both or api_version == schema.api_version:
        return None
    name, _ = forms[api_version]
    try:
        schema.types.named(name)
    except SchemaError:
        return None
    return Schema(f"#{name}", schema.types, api_version, schema.kind, schema.source)


def convert(obj: JSONObject, kind: str, api_version: str) -> JSONObject:
    """Return an object of a kind in another version (Go: Scheme.ConvertToVersion)."""
    if obj.get("apiVersion") == api_version:
        return obj
    form = _FORMS.get(kind, {}).get(api_version)
    if form is None:
        return {**obj, "apiVersion": api_version}
    _, conversion = form
    return conversion(obj)


def counterparts(target: Schema) -> tuple[tuple[Path, Path], ...]:
    """Return where another form has fields, and where this one has them."""
    if target.api_version == "autoscaling/v2":
        return AUTOSCALER_FIELDS
    return tuple((other, path) for path, other in AUTOSCALER_FIELDS)
