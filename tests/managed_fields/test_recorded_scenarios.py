"""What a server makes of single requests, beside what field managers do.

tests/record/server_side_apply.py recorded them.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

import smp
from smp._values.values import ABSENT, JSONObject, as_object
from smp.managed_fields import Serving, Step, server_side_apply, simulate
from smp.paths import edited
from smp.schema.model import Schema
from tests.support.field_manager_requests import definitions
from tests.support.recorded_scenarios import owned, requests_of

CATALOG: Final = smp.kubernetes("1.36")
# What a server allocates for a Service.
ALLOCATED: Final = (
    "clusterIP",
    "clusterIPs",
    "healthCheckNodePort",
    "ipFamilies",
    "ipFamilyPolicy",
)


def stable(obj: JSONObject) -> JSONObject:
    """Return what of an object does not depend on its server."""
    spec = {**as_object(obj.get("spec"))}
    for name in ALLOCATED:
        spec.pop(name, None)
    rest = {name: obj[name] for name in obj if name not in ("spec", "metadata")}
    return {**rest, "spec": spec, "owners": owned(obj)}


@pytest.mark.parametrize(
    "name",
    [
        "empty values that are written again and again",
        "what a Service loses with its type",
        "an apply through the status that creates",
    ],
)
def test_a_request_leads_to_what_it_led_to_on_a_server(name: str) -> None:
    stored: dict[tuple[str, str], dict[str, Any]] = {}
    compared = 0
    differing: list[str] = []
    for number, (step, answer) in enumerate(requests_of(name)):
        if step is None or "object" not in answer:
            continue
        after = answer["object"]
        key = (after["kind"], after["metadata"]["name"])
        live = stored.get(key)
        stored[key] = after
        schema = CATALOG.schema_of(after)
        (state,) = simulate(live, [step], schema).states
        compared += 1
        if state.error is not None or state.object is None:
            differing.append(f"{number}: {state.error}")
            continue
        if stable(state.object) != stable(after):
            differing.append(f"{number}: {stable(state.object)}, not {stable(after)}")
        versions = [
            each["metadata"]["resourceVersion"] for each in (live, after) if each
        ]
        if state.changed != (len({*versions}) == len(versions)):
            differing.append(f"{number}: changed: {state.changed}")
    assert compared
    assert "\n".join(differing) == ""


def test_a_fight_is_what_conflicts_for_ever_on_a_server() -> None:
    name = "equal values that two managers fight over"
    fields: dict[str, set[str]] = {}
    bodies: dict[str, JSONObject] = {}
    for step, answer in requests_of(name):
        assert step is not None
        kind = step.body["kind"]
        bodies[kind] = step.body
        if answer["code"] == 409:
            causes = answer["details"]["causes"]
            fields.setdefault(kind, set()).update(each["field"] for each in causes)
    differing: list[str] = []
    for kind, body in bodies.items():
        schema, serving = kind_of(body)
        rounds = [Step(manager, body, force=True) for manager in "abab"]
        run = simulate(None, rounds, schema, serving=serving)
        words = {words_of(fight.path, body) for fight in run.fights}
        if words != fields[kind]:
            differing.append(f"{kind}: {sorted(words)}, not {sorted(fields[kind])}")
        # What is left out on one side is fought over no more.
        less = body
        for fight in run.fights:
            assert str(fight.path) in fight.remedy
            less = as_object(edited(less, fight.path, ABSENT))
        peace = [Step("a", body), Step("b", less), Step("a", body)]
        run = simulate(None, peace, schema, serving=serving)
        differing += [f"{kind}: {state.error}" for state in run.states if state.error]
        if run.fights:
            differing.append(f"{kind}: {run.fights}")
    assert "\n".join(differing) == ""


def words_of(path: smp.Path, body: JSONObject) -> str:
    """Return a path as a server prints it in a conflict."""
    schema, _ = kind_of(body)
    stored = server_side_apply(None, body, schema, manager="a", profile="off").object
    with pytest.raises(smp.ApplyConflictError) as caught:
        server_side_apply(stored, body, schema, manager="b", profile="off")
    (conflict,) = [each for each in caught.value.conflicts if each.path == path]
    return str(conflict.cause["field"])


def kind_of(body: JSONObject) -> tuple[Schema, Serving]:
    """Return the schema of a body, and how its kind is served."""
    if body["kind"] != "Widget":
        return CATALOG.schema_of(body), Serving(kubernetes="1.36.3")
    catalog = smp.Catalog.from_crd(definitions())
    return catalog.schema_of(body), Serving(custom=True, kubernetes="1.36.3")
