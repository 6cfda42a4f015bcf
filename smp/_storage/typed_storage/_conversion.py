"""Versions of a built-in kind that have different forms, and their conversion.

A server serves an object in all versions of its kind, whichever it stores. Most differ
in nothing but apiVersion; those that differ otherwise, and are served by default, are
converted here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from smp._storage.typed_storage._autoscalers import (
    AUTOSCALER_FIELDS,
    autoscaler_to_v1,
    autoscaler_to_v2,
)
from smp._values.values import JSONObject
from smp.errors import SchemaError
from smp.paths import Path
from smp.schema.model import Schema

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
