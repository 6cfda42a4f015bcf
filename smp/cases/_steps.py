"""The steps of a case: writes of one object by several managers, one after the other.

Each step is one write, and states what is stored after it, or why it is refused.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    as_object,
    as_text,
    type_name,
)
from smp.managed_fields import Step, Verb

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
# How a step writes, and the type of what it writes.
_WRITES: Final[dict[str, tuple[Verb, type]]] = {
    "apply": ("apply", dict),
    "update": ("update", dict),
    "merge_patch": ("merge patch", dict),
    "strategic_merge_patch": ("strategic merge patch", dict),
    "json_patch": ("JSON patch", list),
    "scale": ("scale", int),
}
_INPUTS: Final[dict[str, type]] = {
    **{name: type_ for name, (_verb, type_) in _WRITES.items()},
    "manager": str,
    "force": bool,
    "subresource": str,
    "crd": dict,
}
# What a step states: the object that is stored, that nothing was written, or what is
# wrong.
_RESULTS: Final[dict[str, type]] = {
    "object": dict,
    "owners": dict,
    "changed": bool,
    "conflicts": list,
    "error": str,
    "message": str,
}
STEP_RESULTS: Final = frozenset(_RESULTS)
_MEMBERS: Final = {**_INPUTS, **_RESULTS}


class CaseStep(msgspec.Struct, frozen=True):
    """One write, ``time`` as a server writes it into managedFields, and its result."""

    write: Step
    time: str
    crd: JSONObject | None
    result: JSONObject

    @classmethod
    def of(cls, index: int, document: JSONObject) -> CaseStep:
        """Read a step that has no ``step_problem``."""
        (name,) = _WRITES.keys() & document.keys()
        write = Step(
            as_text(document["manager"]),
            document[name],
            _WRITES[name][0],
            force=document.get("force") is True,
            subresource=as_text(document.get("subresource")),
        )
        return cls(
            write=write,
            time=step_time(index),
            crd=as_object(document["crd"]) if "crd" in document else None,
            result={name: document[name] for name in STEP_RESULTS & document.keys()},
        )


def step_time(index: int) -> str:
    """Return the time of a step: the first one is a second after the year began."""
    time = _START + timedelta(seconds=index + 1)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def in_order(conflicts: JSONArray) -> JSONArray:
    """Return conflicts in the order of a case: by the other manager, then by field."""

    def position(conflict: JSON) -> tuple[str, str]:
        members = as_object(conflict)
        return as_text(members.get("message")), as_text(members.get("field"))

    return sorted(conflicts, key=position)


def with_results(steps: JSONArray, results: JSONArray) -> JSONArray:
    """Return steps with other results."""
    new: JSONArray = []
    for step, result in zip(steps, results, strict=True):
        inputs = {
            name: value
            for name, value in as_object(step).items()
            if name not in STEP_RESULTS
        }
        new.append({**inputs, **as_object(result)})
    return new


def step_problem(document: JSON) -> str:
    """Return what is wrong with a step, or an empty text."""
    if not isinstance(document, dict):
        return f"a step must be an object, not {type_name(document)}"
    for name, value in document.items():
        if name not in _MEMBERS:
            return f"unknown member {name!r} of a step"
        if type(value) is not _MEMBERS[name]:
            return f"{name!r} of a step cannot be {type_name(value)}"
    if len(_WRITES.keys() & document.keys()) != 1:
        return f"a step has one of {', '.join(_WRITES)}"
    if "manager" not in document:
        return "a step has a manager"
    return ""
