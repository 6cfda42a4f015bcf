"""No argument of a public function ends the process, or raises a foreign exception.

``benchmarks/fuzz.py`` calls every public function with random arguments in processes of
their own; a million of them are run by hand.
"""

from __future__ import annotations

import pytest

from benchmarks.fuzz import run
from tests.support.hostile import OWN_CALLS, arguments_of, public_functions
from tests.support.hostile_values import Hostile

FEW = 2_000
MANY = 10_000


def test_every_public_function_has_a_call() -> None:
    functions = public_functions()
    assert {*OWN_CALLS} <= functions.keys()
    for name, function in functions.items():
        if name not in OWN_CALLS:
            # A parameter that nothing is known to be made for raises TypeError.
            arguments_of(function, Hostile(0))


@pytest.mark.slow
def test_random_arguments_lead_to_results_and_errors_of_the_library() -> None:
    assert run(0, FEW) == []


@pytest.mark.exhaustive
def test_many_random_arguments_do_as_well() -> None:
    assert run(FEW, MANY - FEW) == []
