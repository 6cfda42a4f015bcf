"""How fast this machine is, for bounds that were measured on another one."""

from __future__ import annotations

from time import process_time
from typing import Final

_ROUNDS: Final = 300_000
_SECONDS: Final = 0.017  # that the rounds took where the bounds were measured


def slowness() -> float:
    """Return how many times as long the interpreter takes here, 1 at least."""
    return max(1.0, min(_seconds() for _ in range(3)) / _SECONDS)


def _seconds() -> float:
    started = process_time()
    total = 0
    for number in range(_ROUNDS):
        total += number * number
    return process_time() - started
