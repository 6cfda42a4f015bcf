"""Whole recorded sequences of writes: ``simulate`` ends as the kube-apiserver did.

Each step starts from what ``simulate`` made of the steps before, not from what was
recorded. tests/record/apply_sequences.py recorded them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pytest

from smp.managed_fields import Serving, State, Verb, simulate
from smp.managed_fields import Step as Write
from smp.values import JSONObject
from tests.managed_fields.test_recorded_sequences import recording
from tests.support.makers.writes import WIDGET
from tests.support.paths import DOCS
from tests.support.recorded_writes import (
    FIELD_MANAGER,
    Step,
    main_version,
    object_problems,
    schema_of,
    steps_of,
)

VERBS: Final[dict[str, Verb]] = {
    "apply": "apply",
    "create": "update",
    "update": "update",
    "merge": "merge patch",
    "strategic": "strategic merge patch",
    "json": "JSON patch",
}
# What tells an entry of managedFields from others.
IDENTITY: Final = ("manager", "operation", "apiVersion", "subresource")
# A server allocates values of these, or controllers inside it write to them.
LEFT_OUT: Final = ("Job", "Namespace", "Pod", "Service")
# Rows of docs/deviations.md, with the number of sequences. No number may grow.
CLASSES: Final = {
    "finalizers of volumes": 33,
    "counted templates": 12,
    "owners that come twice": 2,
    "parsed values": 1,
    "decoding": 1,
}


def writes_of(number: int, sequence: dict[str, Any]) -> Iterator[tuple[Step, Write]]:
    """Yield the writes of a sequence up to one that ``simulate`` has no verb for.

    What is behind the field managers of a server refuses writes, too: those are left
    out, and so are dry runs.
    """
    version = main_version(sequence["kind"])
    for step in steps_of(number, sequence):
        record = step.record
        verb, subresource = record["verb"], record.get("subresource", "")
        if "dry_run" in record:
            continue
        if record.get("api_version", version) != version:
            return
        if subresource == "scale" and verb != "apply":
            return
        if step.kind == WIDGET and verb == "strategic":
            return
        refused = record.get("refused")
        if refused and not refused["message"].startswith(FIELD_MANAGER):
            continue
        yield (
            step,
            Write(
                record["manager"],
                record["body"],
                VERBS[verb],
                force=bool(record.get("force")),
                subresource=subresource,
            ),
        )


def first_problem(number: int, sequence: dict[str, Any]) -> tuple[Step, str] | None:
    """Return the first step after which ``simulate`` has something else."""
    kind = sequence["kind"]
    pairs = [*writes_of(number, sequence)]
    run = simulate(
        None,
        [write for _, write in pairs],
        schema_of(main_version(kind), kind, "1.36"),
        profile="off",
        serving=Serving(custom=kind == WIDGET, kubernetes="1.36.3"),
    )
    for (step, _), state in zip(pairs, run.states, strict=True):
        problem = problem_after(step, state)
        if problem:
            return step, problem
    return None


def problem_after(step: Step, state: State) -> str:
    refused = step.record.get("refused")
    expected = sorted(refused["message"].split("\n")) if refused else []
    text = state.error.problem if state.error else ""
    # Go prints the members of a map in any order.
    if sorted(text.split("\n") if text else []) != expected:
        return f"refused: {text!r}, not {expected}"
    after = step.record.get("live") or step.answer
    if refused or after is None or after["kind"] != step.kind:
        return ""
    assert state.object is not None
    found, expected_object = timeless(state.object), timeless(after)
    return next(iter(object_problems(found, expected_object, step.kind)), "")


def timeless(obj: JSONObject) -> JSONObject:
    """Return an object whose entries have no times, and are not in their order."""
    metadata: Any = obj["metadata"]
    entries = [{**entry, "time": ""} for entry in metadata.get("managedFields", [])]
    entries.sort(key=lambda entry: [str(entry.get(name)) for name in IDENTITY])
    return {**obj, "metadata": {**metadata, "managedFields": entries}}


def class_of(step: Step, problem: str) -> str:
    """Return the class of a difference, a row of docs/deviations.md."""
    is_volume = step.kind.startswith("PersistentVolume")
    if is_volume and ("f:finalizers" in problem or "path not found" in problem):
        return "finalizers of volumes"
    if step.kind == "DaemonSet" and "annotations" in problem:
        return "counted templates"
    if problem.startswith("object: ") and "'ownerReferences')" in problem:
        return "owners that come twice"
    if step.record["verb"] == "json" and problem.startswith("managedFields"):
        return "parsed values"
    if "unable to convert unstructured object" in str(step.record.get("refused")):
        return "decoding"
    return f"{step.where} {step.kind} {step.record['verb']}: {problem}"


def outcomes_of(count: int) -> tuple[int, Counter[str]]:
    """Simulate the first sequences; return how many, and how many of each class."""
    _, sequences = recording()
    simulated = 0
    classes: Counter[str] = Counter()
    for number, sequence in enumerate(sequences[:count]):
        if sequence["kind"] in LEFT_OUT:
            continue
        simulated += 1
        problem = first_problem(number, sequence)
        if problem is not None:
            classes[class_of(*problem)] += 1
    return simulated, classes


def test_some_sequences_end_as_they_did_on_a_server() -> None:
    simulated, classes = outcomes_of(250)
    assert simulated > 180
    assert not classes - Counter(CLASSES)


@pytest.mark.slow
def test_sequences_end_as_they_did_on_a_server() -> None:
    simulated, classes = outcomes_of(2000)
    assert simulated > 1500
    assert classes == CLASSES
    text = (DOCS / "deviations.md").read_text()
    for name in CLASSES:
        assert f"| {name} |" in text
