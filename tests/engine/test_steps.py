"""Loops over what a client sends offer other threads a turn, also where compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import smp
from smp._values.interpreted import offer_turn
from smp._values.sharing import share
from smp.documents import dump_yaml, read_one

MEMBERS = 10_000
POD = smp.kubernetes().schema("v1", "Pod")
TEXT = "".join(f"k{number}: value\n" for number in range(MEMBERS))
OBJECT: Any = {"data": {f"k{number}": "value" for number in range(MEMBERS)}}
MANY: Any = [{"name": f"a{number}"} for number in range(MEMBERS)]


def turns(work: Callable[[], object]) -> int:
    """Return how often a thread could have run while work was done."""
    count = 0

    def look(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is offer_turn.__code__

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "work",
    [
        lambda: read_one(TEXT),
        lambda: dump_yaml([OBJECT]),
        lambda: share(MANY, [{"name": ""}] * MEMBERS),
        lambda: smp.with_defaults({"spec": {"containers": MANY}}, POD),
    ],
    ids=["reading YAML", "writing YAML", "sharing", "defaults"],
)
def test_other_threads_get_their_turns(work: Callable[[], object]) -> None:
    # At least one for each 1,000 members, less what was counted before.
    assert turns(work) >= MEMBERS // 1000 - 1
