"""Measuring: how often something runs, and what is kept of it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns
from typing import Final, Self

Run = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Sample:
    """The times of some runs, in nanoseconds: the best one, the one in the middle, and how many there were."""

    minimum: int
    median: int
    runs: int

    @classmethod
    def of(cls, times: Sequence[int]) -> Self:
        """Make a sample of single times; there has to be one."""
        return cls(min(times), round(median(times)), len(times))


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure: ``seconds`` a contender, with at least ``runs`` unless that takes ``patience`` seconds.

    The first ``warm_up`` runs do not count, unless patience is at an end before any other.
    """

    warm_up: int
    runs: int
    seconds: float
    patience: float

    def suffices(self, runs: int, spent: int) -> bool:
        """Tell whether these are enough runs, those to warm up among them, and nanoseconds spent."""
        enough = spent >= self.seconds * 1e9 and runs >= self.warm_up + self.runs
        return enough or (runs > 0 and spent >= self.patience * 1e9)

    def sample(self, times: Sequence[int]) -> Sample:
        """Make a sample of times, without those to warm up."""
        return Sample.of(times[self.warm_up :] or times[-1:])

    def count(self, once: int) -> int:
        """Return how many runs of so many nanoseconds suffice: for a program that takes a number."""
        wished = max(self.runs, round(self.seconds * 1e9 / once))
        return self.warm_up + max(1, min(wished, round(self.patience * 1e9 / once)))


FULL: Final = Effort(warm_up=3, runs=10, seconds=1.0, patience=10.0)
QUICK: Final = Effort(warm_up=1, runs=3, seconds=0.05, patience=1.0)
ONCE: Final = Effort(warm_up=0, runs=1, seconds=0.0, patience=0.0)


def measure(run: Run, effort: Effort) -> Sample:
    """Time a call again and again.

    Every run is timed by itself, as the reference program does it. The garbage collector stays on, as it
    is for users and for Go, but what was there before is none of its business.
    """
    gc.collect()
    gc.freeze()
    try:
        times: list[int] = []
        spent = 0
        while not effort.suffices(len(times), spent):
            times.append(_timed(run))
            spent += times[-1]
        return effort.sample(times)
    finally:
        gc.unfreeze()


def _timed(run: Run) -> int:
    start = perf_counter_ns()
    run()
    return perf_counter_ns() - start
