"""What a kube-apiserver made of sequences of writes by several managers.

tests/record/apply_sequences.py recorded it, and tests/data/managed_fields/fields.json
describes the lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pytest

from tests.record.applies import read
from tests.record.apply_sequences import FILE, OTHER_VERSION, SEQUENCES
from tests.support.differences import Difference, differences
from tests.support.paths import DOCS
from tests.support.recorded_writes import Step, problems_of, steps_of

# Where smp and the server differ, and how often in the whole recording: rows of
# docs/deviations.md. No number may grow.
CLASSES: Final = {
    "text in etcd": 11,
    "decoding": 1,
    "released values": 2,
    "untracked writes": 1,
    "parsed values": 2,
}
# What 1.37 does differently in the recorded sequences.
NEWER = {
    # Its gate MaxUnavailableStatefulSet is on.
    "maxUnavailable of a StatefulSet": 8,
    "generation of a HorizontalPodAutoscaler": 6,
    # kubernetes#136949: a write that cannot be tracked keeps managedFields.
    "managedFields kept": 1,
    # More of it is declarative: other texts, other fields, no second cause.
    "validation": 12,
    # Go prints the members of a map in any order.
    "order of errors": 1,
}


@cache
def recording() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return read(FILE)


@pytest.mark.slow
def test_the_recording_is_of_many_kinds_and_outcomes() -> None:
    _, sequences = recording()
    assert len(sequences) == SEQUENCES
    assert len({sequence["kind"] for sequence in sequences}) >= 20
    outcomes: Counter[str] = Counter()
    for sequence in sequences:
        assert 4 <= len(sequence["steps"]) <= 14
        for step in sequence["steps"]:
            outcome = "accepted" if "answer" in step else str(step["code"])
            outcomes[f"{step['verb']} {outcome}"] += 1
            outcomes[step.get("subresource", "")] += 1
    for verb in ("apply", "create", "update", "merge", "strategic", "json"):
        assert outcomes[f"{verb} accepted"] > 500, verb
    assert outcomes["apply 409"] > 500
    assert outcomes["apply 500"] > 200
    assert outcomes["status"] > 400
    assert outcomes["scale"] > 100


def test_another_version_does_the_same_but_for_what_is_listed() -> None:
    (_, sequences), (heading, others) = recording(), read(OTHER_VERSION)
    assert heading["kube-apiserver"] == "v1.37.1"
    assert len(others) == 200
    found: Counter[str] = Counter()
    for sequence, other in zip(sequences, others, strict=False):
        for step, newer in zip(sequence["steps"], other["steps"], strict=True):
            # Later steps of the sequence depend on what is different in this one.
            if step != newer:
                first = next(differences(step, newer))
                found[difference_of(sequence["kind"], step["code"], first)] += 1
                break
    assert found == NEWER


def difference_of(kind: str, code: int, first: Difference) -> str:
    if kind == "StatefulSet" and "maxUnavailable" in first.path[-1]:
        return "maxUnavailable of a StatefulSet"
    if kind == "HorizontalPodAutoscaler" and first.path[-1] == "generation":
        return "generation of a HorizontalPodAutoscaler"
    if first.path[1:] == ("metadata", "managedFields"):
        return "managedFields kept"
    if code == 500 and sorted(str(first.predicted)) == sorted(str(first.stored)):
        return "order of errors"
    return "validation" if code == 422 else f"unknown: {first}"


def test_smp_makes_of_some_sequences_what_the_server_made_of_them() -> None:
    _, sequences = recording()
    # All kinds are among the first ones.
    replayed, classes = outcomes_of(sequences[:250])
    assert replayed > 1500
    assert not classes - Counter(CLASSES)


@pytest.mark.exhaustive
def test_smp_makes_of_sequences_what_the_server_made_of_them() -> None:
    _, sequences = recording()
    replayed, classes = outcomes_of(sequences)
    assert replayed > 12_000
    assert classes == CLASSES
    assert classes.total() < 0.0022 * replayed


def test_each_class_is_documented() -> None:
    text = (DOCS / "deviations.md").read_text()
    for name in CLASSES:
        assert f"| {name} |" in text


def test_a_newer_server_answers_as_smp_does() -> None:
    _, sequences = read(OTHER_VERSION)
    replayed, classes = outcomes_of(sequences, version="1.37")
    assert replayed > 1000
    assert classes == {"text in etcd": 2, "decoding": 1}


def outcomes_of(
    sequences: list[dict[str, Any]], version: str = "1.36"
) -> tuple[int, Counter[str]]:
    """Replay sequences, and return the number of steps and of each class."""
    replayed = 0
    classes: Counter[str] = Counter()
    unexplained: list[str] = []
    for step in _steps(sequences, version):
        replayed += 1
        problems = problems_of(step)
        if problems:
            name = class_of(step, problems[0])
            classes[name] += 1
            if not name:
                unexplained += [f"{step.where} {step.kind}", *problems]
    assert "\n".join(unexplained) == ""
    return replayed, classes


def _steps(sequences: list[dict[str, Any]], version: str) -> Iterator[Step]:
    for number, sequence in enumerate(sequences):
        yield from steps_of(number, sequence, version)


def class_of(step: Step, problem: str) -> str:
    """Return the class of a difference, a row of docs/deviations.md."""
    refused = step.record.get("refused", {})
    if "unable to convert unstructured object" in refused.get("message", ""):
        return "decoding"
    if problem == "changed: False":
        return "text in etcd"
    if step.kind == "Service" and "TrafficPolicy" in problem:
        return "released values"
    if step.kind == "Widget" and problem.startswith("managedFields"):
        return "untracked writes"
    if step.record["verb"] == "json" and problem.startswith("managedFields"):
        return "parsed values"
    return ""
