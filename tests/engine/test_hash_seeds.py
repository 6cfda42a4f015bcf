"""Equal inputs have equal outputs: the order of no set reaches a result.

Python orders sets of texts by a hash that is another one in each process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

# Under any two seeds a set of two texts has one order with probability one half.
SEEDS = ("1", "2", "3")
CALLS = 600
# The time of what is written now, in managed fields.
_NOW = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_PROGRAM = """
import sys
from tests.support.hostile import answer, prepare
from tests.support.hash_seeds import conflicting
prepare()
for number in range(int(sys.argv[1])):
    print(number, ascii(answer(number)))
for conflict in conflicting():
    print(ascii(conflict))
"""


def _answers(seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(CALLS)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=ROOT,
    )
    return _NOW.sub("now", ran.stdout).splitlines()


@pytest.mark.slow
def test_answers_are_the_same_under_every_hash_seed() -> None:
    first, *others = [_answers(seed) for seed in SEEDS]
    assert len(first) > CALLS
    for other in others:
        assert [
            pair for pair in zip(first, other, strict=True) if pair[0] != pair[1]
        ] == []
