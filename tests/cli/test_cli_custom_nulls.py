"""Nulls in the configuration of a custom kind, compared with the real kubectl apply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smp._values.last_applied import with_last_applied
from smp._values.values import JSONObject
from tests.support.command import run
from tests.support.kubectl import capture_apply, needs_kubectl, without_last_applied

CASES: list[tuple[JSONObject, JSONObject, JSONObject]] = [
    # What was applied last, what is live, what is applied.
    ({"a": None}, {}, {"a": None, "b": 1}),
    ({"a": None}, {"a": 5}, {"a": None, "b": 1}),
    ({}, {}, {"a": None, "b": 1}),
    ({}, {"a": 5}, {"a": None, "b": 1}),
    ({"a": 5}, {"a": 5}, {"a": None, "b": 1}),
    ({"a": {"x": None}}, {"a": {"x": 1, "y": 1}}, {"a": {"x": None, "z": 2}}),
    ({"a": [{"x": None}]}, {"a": [{"x": 1}]}, {"a": [{"x": None}], "b": 1}),
    ({"a": None, "c": {"d": 1}}, {"c": {"d": 1}}, {"a": None, "c": None}),
]


def widget(spec: JSONObject) -> JSONObject:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": spec,
    }


@needs_kubectl
@pytest.mark.slow
@pytest.mark.parametrize(("last", "live", "new"), CASES)
def test_the_patch_is_that_of_kubectl(
    last: JSONObject, live: JSONObject, new: JSONObject
) -> None:
    sent = capture_apply(widget(last), widget(new), widget(live))
    annotated = with_last_applied(widget(last))
    Path("live.json").write_text(json.dumps({**annotated, "spec": live}))
    Path("last.json").write_text(json.dumps(widget(last)))
    Path("new.json").write_text(json.dumps(widget(new)))
    ran = run("apply", "-f", "new.json", "--live", "live.json", "--format", "json")
    [record] = json.loads(ran.stdout)
    computed = record["kubectlPatch"]
    assert without_last_applied(computed) == without_last_applied(sent or {})
    # What a list that is replaced loses is a hazard, and no matter of nulls.
    codes = {each["code"] for each in record["findings"] if each["level"] != "note"}
    assert codes <= {"lost-in-list", "not-as-asked"}
    ran = run(
        "diff", "last.json", "new.json", "--live", "live.json", "--format", "json"
    )
    [record] = json.loads(ran.stdout)
    assert record["kubectlPatch"] == without_last_applied(sent or {})


def test_a_null_that_was_applied_last_as_well_leaves_the_live_value() -> None:
    specs: dict[str, JSONObject] = {
        "last": {"a": None},
        "live": {"a": 5},
        "new": {"a": None},
    }
    for name, spec in specs.items():
        Path(f"{name}.json").write_text(json.dumps(widget(spec)))
    arguments = ("diff", "last.json", "new.json", "--live", "live.json")
    assert run(*arguments, "--format", "json").exit_code == 0
