"""No argument of a public function ends the process, or raises a foreign exception.

``benchmarks/fuzz.py`` calls every public function with random arguments in processes of
their own; a million of them are run by hand.
"""

from __future__ import annotations

import pytest

from benchmarks.fuzz import run

FEW = 2_000
MANY = 10_000


@pytest.mark.slow
def test_random_arguments_lead_to_results_and_errors_of_the_library() -> None:
    assert run(0, FEW) == []


@pytest.mark.exhaustive
def test_many_random_arguments_do_as_well() -> None:
    assert run(FEW, MANY - FEW) == []
