"""Sequences of writes by field managers, step by step beside Kubernetes.

Kubernetes is k8s.io/apimachinery/pkg/util/managedfields, behind the Go program in
tests/managed_fields/oracle. Its answers to 1,500 sequences are recorded; where there is
Go it answers new ones. ``SMP_FUZZ_CASES`` sets how many, ``SMP_FUZZ_SEED`` the seed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import Final

import pytest

from tests.record.managed_chain import SEQUENCES, recorded
from tests.support.managed_chain import (
    Step,
    answered,
    comparable,
    difference,
    needs_oracle,
    ours,
)

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "800"))
SEED: Final = os.environ.get("SMP_FUZZ_SEED", "0")


def outcome(step: Step) -> str:
    """Name what a step was, and what came of it."""
    error = step.answer.get("error")
    if not isinstance(error, dict):
        result = "changed" if step.answer["changed"] else "the same"
    else:
        result = str(error.get("reason", "error"))
    return f"{step.request['op']}: {result}"


def failures(sequences: Iterable[list[Step]]) -> list[str]:
    """Return where smp answers otherwise."""
    return [
        f"{outcome(step)}\n{different}"
        for steps in sequences
        for step in steps
        if (different := difference(comparable(step.answer), ours(step)))
    ]


def require_agreement(sequences: list[list[Step]]) -> None:
    """Fail where more than one step in a thousand ends otherwise.

    Those are steps with entries in several versions of the API, for each of which Go
    converts, and so changes, the object.
    """
    found = failures(sequences)
    most = sum(map(len, sequences)) // 1000
    assert len(found) <= most, "\n\n".join(sorted(found, key=len)[:3])


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.slow
def test_every_step_ends_as_it_did_in_kubernetes(every: int) -> None:
    sequences = [*recorded()][::every]
    assert len(sequences) == SEQUENCES // every
    outcomes = Counter(outcome(step) for steps in sequences for step in steps)
    assert {name for name, count in outcomes.items() if count >= 10} >= {
        "apply: changed",
        "apply: the same",
        "apply: Conflict",
        "apply: BadRequest",
        "apply: error",
        "update: changed",
        "update: the same",
        "update: error",
        "scale: changed",
    }
    require_agreement(sequences)


@needs_oracle
def test_every_step_ends_as_it_does_in_kubernetes() -> None:
    require_agreement(answered(f"chain {SEED}", 100))


@pytest.mark.exhaustive
@needs_oracle
def test_every_step_of_many_ends_as_it_does_in_kubernetes() -> None:
    require_agreement(answered(f"long chain {SEED}", CASES))
