"""What a kube-apiserver made of histories: several versions of a kind, releases,
rollbacks, emptied parts, migrations, deletions.

tests/record/apply_sequences.py recorded 1,000; the first of them are in the file.
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

# Rows of docs/deviations.md, with the number of steps. No number may grow.
CLASSES: Final = {"text in etcd": 1}
SIMULATED: Final[dict[str, int]] = {}
VERSION: Final = "1.36.3"


def histories(file: Path = HISTORIES) -> list[dict[str, Any]]:
    heading, found = read(file)
    assert heading["kube-apiserver"] == f"v{VERSION}"
    return found


def class_of(step: Step, problem: str) -> str:
    """Return the class of a difference, a row of docs/deviations.md."""
    if problem == "changed: False" or "null" in str(step.live):
        return "text in etcd"
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


def test_the_library_makes_of_histories_what_the_server_made_of_them() -> None:
    found: Counter[str] = Counter()
    for number, history in enumerate(histories()):
        for step in steps_of(number, history, VERSION):
            for problem in problems_of(step)[:1]:
                found[class_of(step, problem)] += 1
    check(found, CLASSES)


@pytest.mark.slow
def test_simulated_histories_end_as_they_did_on_a_server() -> None:
    found: Counter[str] = Counter()
    for number, history in enumerate(histories()):
        if history["kind"] not in LEFT_OUT:
            problem = first_problem(number, history)
            if problem is not None:
                found[class_of(*problem)] += 1
    check(found, SIMULATED)


def check(found: Counter[str], classes: dict[str, int]) -> None:
    """Compare what differs with what is documented."""
    assert found == classes
    text = (DOCS / "deviations.md").read_text()
    for name in classes:
        assert f"| {name} |" in text
