"""Measuring: runs in turns, how often, and the samples that they give."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from statistics import median
from time import perf_counter_ns
from typing import Final, NamedTuple, Self, TypeAlias, TypeVar

Key = TypeVar("Key")
Run: TypeAlias = Callable[[], object]
# Makes so many runs, and returns the nanoseconds of each.
Turn: TypeAlias = Callable[[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Sample:
    """The times of some runs in nanoseconds: the best, the median, the best by round.

    ``runs`` is how many there were.
    """

    minimum: int
    median: int
    runs: int
    rounds: tuple[int, ...]

    @classmethod
    def of(cls, rounds: Sequence[Sequence[int]]) -> Self:
        """Make a sample of the times of each round; there has to be one."""
        times = [*chain.from_iterable(rounds)]
        return cls(
            minimum=min(times),
            median=round(median(times)),
            runs=len(times),
            rounds=tuple(min(times_of_round) for times_of_round in rounds),
        )


class Ratio(NamedTuple):
    """How many times as long (or as much) something takes as ``against``.

    ``best`` is the ratio of the best times. ``typical`` is the median of the ratios of
    the single rounds, in which other load affected both equally.
    """

    what: str
    against: str
    best: float
    typical: float

    @classmethod
    def of(cls, what: str, against: str, ours: Sample, theirs: Sample) -> Self:
        """Compare two samples that were taken in turns."""
        best = ours.minimum / theirs.minimum
        # Not strict: what takes very long has fewer rounds.
        rounds = zip(ours.rounds, theirs.rounds, strict=False)
        typical = median(our_time / their_time for our_time, their_time in rounds)
        return cls(what, against, best, typical)


class Plan(NamedTuple):
    """How many rounds have a turn of something, and how many runs are in a turn."""

    rounds: int
    runs: int


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure: ``seconds`` in ``rounds``, after ``warm_up`` runs.

    A turn is at least one run. What takes longer has fewer turns, so that they take
    ``patience`` seconds in all, and its warm-up ends after ``seconds``.
    """

    warm_up: int
    rounds: int
    seconds: float
    patience: float

    def plan(self, once: int) -> Plan:
        """Plan for something that takes so many nanoseconds."""
        runs = max(1, round(self.seconds * 1e9 / self.rounds / once))
        affordable = round(self.patience * 1e9 / (runs * once))
        rounds = max(1, min(self.rounds, affordable))
        return Plan(rounds, runs)

    def warm(self, turn: Turn) -> Plan:
        """Warm something up, and plan its turns by the best time."""
        times: list[int] = []
        while len(times) < self.warm_up and sum(times) <= self.seconds * 1e9:
            times += turn(1)
        if not times:
            return Plan(1, 1)
        return self.plan(min(times))


FULL: Final = Effort(warm_up=3, rounds=20, seconds=0.5, patience=2.0)
QUICK: Final = Effort(warm_up=1, rounds=3, seconds=0.05, patience=1.0)
ONCE: Final = Effort(warm_up=0, rounds=1, seconds=0.0, patience=0.0)


def in_turns(turns: Mapping[Key, Turn], effort: Effort) -> dict[Key, Sample]:
    """Time some things in turns, so that other load on the machine affects all equally.

    Every run is timed by itself. The garbage collector stays on, as it is for users and
    for Go. It does not scan the objects that existed before, and starts each turn
    without garbage of the others.
    """
    plans = {name: effort.warm(turn) for name, turn in turns.items()}
    rounds: dict[Key, list[Sequence[int]]] = {name: [] for name in turns}
    with _frozen():
        for number in range(effort.rounds):
            for name, plan in plans.items():
                if number < plan.rounds:
                    gc.collect()
                    rounds[name].append(turns[name](plan.runs))
    return {name: Sample.of(times) for name, times in rounds.items()}


@contextmanager
def _frozen() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def timed(run: Run) -> Turn:
    """Make turns of a call in this process."""

    def turn(runs: int) -> Sequence[int]:
        return [_time(run) for _ in range(runs)]

    return turn


def _time(run: Run) -> int:
    start = perf_counter_ns()
    run()
    return perf_counter_ns() - start
