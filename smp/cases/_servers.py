"""What an API server answers to ``kubectl apply``, with and without --server-side."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from smp import merge_patch
from smp._strategic import three_way_patch
from smp._values import codec
from smp._values.api_objects import annotations_of, set_metadata
from smp._values.last_applied import LAST_APPLIED, with_last_applied
from smp._values.values import ABSENT, JSON, JSONObject, as_list, as_object, same
from smp.cases._case import SpecCase, last_applied
from smp.errors import SmpError
from smp.handler import APPLY, STOCK_SERVER, STRATEGIC, Options, Outcome, Refused, patch
from smp.managed_fields import Step, simulate
from smp.schema.model import Schema

# Go: k8s.io/kubectl, pkg/cmd/apply.
_MANAGER: Final = "kubectl"
_CLIENT_SIDE: Final = "kubectl-client-side-apply"


def client_side(case: SpecCase, schema: Schema) -> JSON:
    """Return what a server answers to the strategic merge patch that kubectl sends."""
    live = case.required("live")
    modified = case.required("modified")
    sent = three_way_patch(last_applied(case), modified, live, schema)
    outcome = patch(
        live, codec.encode(sent), STRATEGIC, schema, _options(schema, _CLIENT_SIDE)
    )
    return _answer(outcome, live)


def server_side(case: SpecCase, schema: Schema) -> JSON:
    """Return what a server answers to ``kubectl apply --server-side``.

    What is stored is that after all requests: an object that client-side apply has
    written is changed to server-side apply.
    """
    live = case.required("live")
    modified = case.required("modified")
    applied = last_applied(case)
    if applied is not None:
        # Cases leave out the annotation.
        text = annotations_of(with_last_applied(applied))[LAST_APPLIED]
        annotations = {**annotations_of(live), LAST_APPLIED: text}
        live = set_metadata(live, annotations=annotations)
    outcome = patch(
        live, codec.encode(modified), APPLY, schema, _options(schema, _MANAGER)
    )
    if isinstance(outcome, Refused):
        return _answer(outcome, live)
    step = Step(_MANAGER, modified, "kubectl apply")
    (state,) = simulate(live, [step], schema, profile=STOCK_SERVER.profile).states
    if state.error is not None:
        raise SmpError(str(state.error), code="not-migrated")
    return find_changes_of(live, as_object(state.object))


def find_changes_of(live: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return what a write changed, as the results of cases state it.

    It is the JSON merge patch from one object to the other, without managed fields and
    without kubectl's annotation.
    """
    return {"changed": merge_patch.diff(_content(live), _content(new))}


def word_refusal(status: dict[str, Any], code: int) -> dict[str, Any]:
    """Return a refusal as the results of cases state it."""
    details = as_object(status.get("details"))
    causes: list[JSON] = []
    for cause in as_list(details.get("causes")):
        entry = as_object(cause)
        place: JSONObject = {"field": entry.get("field"), "reason": entry.get("reason")}
        # One field may be wrong twice for one reason.
        if not any(same(place, other) for other in causes):
            causes.append(place)
    causes.sort(key=lambda cause: str(as_object(cause)["field"]))
    answer: JSONObject = {"code": code, "reason": status.get("reason")}
    if causes:
        answer["causes"] = causes
    else:
        answer["message"] = status.get("message")
    return {"refused": answer}


def _answer(outcome: Outcome, live: JSONObject) -> JSONObject:
    if isinstance(outcome, Refused):
        return word_refusal(outcome.status, outcome.code)
    return find_changes_of(live, outcome.object)


def _options(schema: Schema, manager: str) -> Options:
    def prepared(old: JSONObject | None, new: JSONObject) -> JSONObject:
        # The status is written through its subresource only.
        kept = {name: value for name, value in new.items() if name != "status"}
        return {**kept, "status": old["status"]} if old and "status" in old else kept

    return replace(
        STOCK_SERVER,
        field_validation="Strict",
        manager=manager,
        prepare=prepared if schema.type.field("status") else None,
    )


def _content(obj: JSONObject) -> JSONObject:
    annotations = {**annotations_of(obj)}
    annotations.pop(LAST_APPLIED, None)
    return set_metadata(obj, managedFields=ABSENT, annotations=annotations or ABSENT)
