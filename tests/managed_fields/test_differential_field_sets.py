"""Field sets beside structured-merge-diff, on random sets and objects.

``SMP_FUZZ_CASES`` sets the number of requests, ``SMP_FUZZ_SEED`` the seed.
"""

from __future__ import annotations

import json
import os
from typing import Final

import pytest

from tests.support.field_sets import comparable, needs_oracle, oracle, ours, requests

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "6000"))
SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "0"))


@pytest.mark.slow
@needs_oracle
def test_smp_answers_what_structured_merge_diff_answers() -> None:
    program = oracle()
    assert program is not None
    asked = requests(SEED, CASES)
    failures = []
    for request, answer in zip(asked, program.run(asked), strict=True):
        expected = json.dumps(comparable(answer), sort_keys=True)
        if json.dumps(ours(request), sort_keys=True) != expected:
            failures.append(f"{json.dumps(request)}\n{answer}\n{ours(request)}")
    assert not failures, "\n\n".join(sorted(failures, key=len)[:3])
