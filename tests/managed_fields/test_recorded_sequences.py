"""What a kube-apiserver made of sequences of writes by several managers.

tests/record/apply_sequences.py recorded it, and tests/data/managed_fields/fields.json
describes the lines.
"""

from __future__ import annotations

from collections import Counter

from tests.record.applies import read
from tests.record.apply_sequences import FILE, OTHER_VERSION, SEQUENCES
from tests.support.differences import Difference, differences

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


def test_the_recording_is_of_many_kinds_and_outcomes() -> None:
    _, sequences = read(FILE)
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
    (_, sequences), (heading, others) = read(FILE), read(OTHER_VERSION)
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
