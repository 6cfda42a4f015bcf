"""Whole recorded sequences of writes: ``simulate`` ends as the kube-apiserver did.

Each step starts from what ``simulate`` made of the steps before, not from what was
recorded. tests/record/apply_sequences.py recorded them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pytest

from smp._values.values import JSONObject, as_object
from smp.managed_fields import State, Verb, simulate
from smp.managed_fields import Step as Write
from tests.managed_fields.test_recorded_sequences import recording
from tests.support.paths import DOCS
from tests.support.recorded_writes import (
    FIELD_MANAGER,
    Step,
    is_custom,
    main_version,
    object_problems,
    schema_of,
    serving_of,
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
VERSION: Final = "1.36.3"
# What tells an entry of managedFields from others.
IDENTITY: Final = ("manager", "operation", "apiVersion", "subresource")
# A server allocates values of these, or controllers inside it write to them.
LEFT_OUT: Final = ("Job", "Namespace", "Node", "Pod", "Service")
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
    for step in steps_of(number, sequence, VERSION):
        record = step.record
        verb, subresource = record["verb"], record.get("subresource", "")
        if verb == "delete":
            # With a body, a server reads no dryRun in the query.
            return
        if "dry_run" in record:
            continue
        if subresource == "scale" and verb != "apply":
            return
        if is_custom(step.kind) and verb == "strategic":
            return
        refused = record.get("refused")
        body = without_known_version(step)
        if refused and not refused["message"].startswith(FIELD_MANAGER):
            continue
        yield (
            step,
            Write(
                record["manager"],
                body,
                VERBS[verb],
                force=bool(record.get("force")),
                subresource=subresource,
                api_version=record.get("api_version", version),
            ),
        )
        if "live" in record and record["live"] is None:
            # Its last finalizer is gone, and so is the object.
            return


def without_known_version(step: Step) -> Any:
    """Return the body without the resourceVersion of the object as it is.

    Nobody knows which one a simulated write gives it.
    """
    body, live = step.record["body"], step.live
    if live is None or not isinstance(body, dict):
        return body
    metadata = {**as_object(body.get("metadata"))}
    version = as_object(live["metadata"])["resourceVersion"]
    if metadata.get("resourceVersion") != version or step.record["verb"] != "apply":
        return body
    del metadata["resourceVersion"]
    return {**body, "metadata": metadata}


def first_problem(number: int, sequence: dict[str, Any]) -> tuple[Step, str] | None:
    """Return the first step after which ``simulate`` has something else."""
    kind = sequence["kind"]
    pairs = [*writes_of(number, sequence)]
    run = simulate(
        None,
        [write for _, write in pairs],
        schema_of(main_version(kind), kind, VERSION),
        profile="off",
        serving=serving_of(kind, main_version(kind), VERSION),
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
    if "api_version" in step.record and "live" not in step.record:
        # Nothing is stored, and the answer is in another form.
        after = None
    if refused or after is None or after["kind"] != step.kind:
        return ""
    assert state.object is not None
    # The simulated object is of the version that most requests are of.
    after = {**after, "apiVersion": state.object["apiVersion"]}
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


@pytest.mark.slow
def test_some_sequences_end_as_they_did_on_a_server() -> None:
    simulated, classes = outcomes_of(250)
    assert simulated > 180
    assert not classes - Counter(CLASSES)


@pytest.mark.exhaustive
def test_sequences_end_as_they_did_on_a_server() -> None:
    simulated, classes = outcomes_of(2000)
    assert simulated > 1500
    assert classes == CLASSES
    text = (DOCS / "deviations.md").read_text()
    for name in CLASSES:
        assert f"| {name} |" in text
