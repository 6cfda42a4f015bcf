"""Histories of objects: the server answers and stores as a real kube-apiserver does.

tests/record/apply_sequences.py recorded them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pytest

from tests.managed_fields.test_recorded_histories import SAMPLE, histories
from tests.support.paths import DOCS
from tests.support.recorded_histories import Replayed, replayed

# Rows of docs/deviations.md, with the number of requests. No number may grow.
CLASSES: Final = {
    "texts of patches": 82,
    "other causes": 90,
    "accepted here": 10,
    "other answers": 23,
}


def class_of(step: Replayed) -> str:
    """Return the class of a request that is answered otherwise."""
    theirs = step.step.get("refused", {}).get("message", "")
    if "patch: Invalid value" in theirs or "rejected our request" in theirs:
        return "texts of patches"
    if not step.problems[0].startswith(("code:", "message:")):
        return "other answers"
    if step.problems[0].startswith("code: 20"):
        return "accepted here"
    return "other causes"


@pytest.mark.slow
def test_the_server_answers_histories_as_a_kube_apiserver() -> None:
    check(histories()[:SAMPLE], most=0.04)


@pytest.mark.exhaustive
def test_the_server_answers_all_histories_as_a_kube_apiserver() -> None:
    check(histories(), most=0.03)
    text = (DOCS / "deviations.md").read_text()
    for name in CLASSES:
        assert f"| {name} |" in text


def check(recorded: list[dict[str, Any]], most: float) -> None:
    """Replay histories, of which at most this part of requests may differ."""
    steps = [*replayed(recorded)]
    found = Counter(class_of(step) for step in steps if step.problems)
    assert found.total() < most * len(steps), found
    assert not found - Counter(CLASSES), found
