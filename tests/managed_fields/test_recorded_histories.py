"""What a kube-apiserver made of histories: several versions of a kind, releases,
rollbacks, emptied parts, migrations, deletions.

tests/record/apply_sequences.py recorded them. A run of the tests replays the first, an
exhaustive one all.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from tests.managed_fields.test_recorded_simulations import LEFT_OUT, first_problem
from tests.record.applies import read
from tests.record.apply_sequences import HISTORIES
from tests.support.makers.histories import subjects
from tests.support.paths import DOCS
from tests.support.recorded_writes import Step, problems_of, steps_of

# Rows of docs/deviations.md, with the number of steps, or of histories.
CLASSES: Final = {
    "text in etcd": 8,
    "texts of schema errors": 2,
    "repeated owners": 1,
    "time of a deletion": 1,
}
SIMULATED: Final = {
    "counted templates": 4,
    "texts of schema errors": 2,
    "untracked no-ops": 1,
    "times of taints": 1,
    "repeated owners": 1,
}
# What a difference says of itself, and its class.
_SIGNS: Final = (
    ("changed: False", "text in etcd"),
    ("error: ", "texts of schema errors"),
    ("refused: ", "texts of schema errors"),
    ("ownerReferences", "repeated owners"),
    ("deletionTimestamp", "time of a deletion"),
    ("timeAdded", "times of taints"),
)
VERSION: Final = "1.36.3"
SAMPLE: Final = 60


def histories(file: Path = HISTORIES) -> list[dict[str, Any]]:
    heading, found = read(file)
    assert heading["kube-apiserver"] == f"v{VERSION}"
    return found


def class_of(step: Step, problem: str) -> str:
    """Return the class of a difference, a row of docs/deviations.md."""
    for sign, name in _SIGNS:
        if sign in problem:
            return name
    if step.kind == "DaemonSet" and "f:annotations" in problem:
        return "counted templates"
    if step.kind == "ResourceSlice" and "f:devices" in problem:
        return "times of taints"
    if problem.startswith("managedFields") and problem.endswith("not []"):
        return "untracked no-ops"
    return f"{step.where} {step.kind} {step.record['verb']}: {problem}"


def test_histories_are_of_many_kinds_verbs_and_versions() -> None:
    steps = [step for history in histories() for step in history["steps"]]
    assert {history["kind"] for history in histories()} == {*subjects()}
    verbs = {"apply", "create", "update", "merge", "strategic", "json", "delete"}
    assert {step["verb"] for step in steps} == verbs
    versions = {step.get("api_version") for step in steps}
    assert {"autoscaling/v1", "events.k8s.io/v1", "example.org/v1beta1"} <= versions
    codes = Counter(step["code"] for step in steps)
    assert {200, 201, 400, 404, 409, 422, 500} <= {*codes}
    assert any("before" in step for step in steps)


def find_differences(read_histories: list[dict[str, Any]]) -> Counter[str]:
    """Count the classes of what the library makes otherwise of each step."""
    found: Counter[str] = Counter()
    for number, history in enumerate(read_histories):
        for step in steps_of(number, history, VERSION):
            for problem in problems_of(step)[:1]:
                found[class_of(step, problem)] += 1
    return found


def find_simulated_differences(read_histories: list[dict[str, Any]]) -> Counter[str]:
    """Count the classes of what ``simulate`` makes otherwise of each history."""
    found: Counter[str] = Counter()
    for number, history in enumerate(read_histories):
        if history["kind"] not in LEFT_OUT:
            problem = first_problem(number, history)
            if problem is not None:
                found[class_of(*problem)] += 1
    return found


def test_the_library_makes_of_histories_what_the_server_made_of_them() -> None:
    assert not find_differences(histories()[:SAMPLE]) - Counter(CLASSES)


@pytest.mark.exhaustive
def test_the_library_makes_of_all_histories_what_the_server_made_of_them() -> None:
    check(find_differences(histories()), CLASSES)


@pytest.mark.slow
def test_simulated_histories_end_as_they_did_on_a_server() -> None:
    assert not find_simulated_differences(histories()[:SAMPLE]) - Counter(SIMULATED)


@pytest.mark.exhaustive
def test_all_simulated_histories_end_as_they_did_on_a_server() -> None:
    check(find_simulated_differences(histories()), SIMULATED)


def check(found: Counter[str], classes: dict[str, int]) -> None:
    """Compare what differs with what is documented."""
    assert found == classes
    text = (DOCS / "deviations.md").read_text()
    for name in classes:
        assert f"| {name} |" in text
