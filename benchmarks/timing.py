"""Measuring: who runs when, how often, and what is kept of it."""

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
# runs so many times, and says how many nanoseconds each run took
Turn: TypeAlias = Callable[[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Sample:
    """The times of some runs, in nanoseconds: the best, the one in the middle, how
    many, and the best of each round.
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
            min(times), round(median(times)), len(times), tuple(map(min, rounds))
        )


class Ratio(NamedTuple):
    """How many times as long (or as much) something takes as what it is compared with.

    ``best`` is the ratio of the best times. ``typical`` is the middle one of the ratios
    of the single rounds, in which both were disturbed alike.
    """

    what: str
    against: str
    best: float
    typical: float

    @classmethod
    def of(cls, what: str, against: str, ours: Sample, theirs: Sample) -> Self:
        """Compare two samples that were taken in turns."""
        # one that takes very long leaves earlier
        rounds = zip(ours.rounds, theirs.rounds, strict=False)
        return cls(
            what,
            against,
            ours.minimum / theirs.minimum,
            median(our / their for our, their in rounds),
        )


class Plan(NamedTuple):
    """In how many rounds something has its turn, and how many runs are a turn."""

    rounds: int
    runs: int


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure: ``seconds`` for each that is compared, in ``rounds``, after
    ``warm_up`` runs.

    A turn is at least one run. What takes longer has fewer turns, so that they take
    ``patience`` seconds in all, and is warm after ``seconds``.
    """

    warm_up: int
    rounds: int
    seconds: float
    patience: float

    def plan(self, once: int) -> Plan:
        """Plan for something that takes so many nanoseconds."""
        runs = max(1, round(self.seconds * 1e9 / self.rounds / once))
        return Plan(
            max(1, min(self.rounds, round(self.patience * 1e9 / (runs * once)))), runs
        )

    def warm(self, turn: Turn) -> Plan:
        """Run something until it is warm, and plan its turns by the best time."""
        times: list[int] = []
        while len(times) < self.warm_up and sum(times) <= self.seconds * 1e9:
            times += turn(1)
        return self.plan(min(times)) if times else Plan(1, 1)


FULL: Final = Effort(warm_up=3, rounds=20, seconds=0.5, patience=2.0)
QUICK: Final = Effort(warm_up=1, rounds=3, seconds=0.05, patience=1.0)
ONCE: Final = Effort(warm_up=0, rounds=1, seconds=0.0, patience=0.0)


def in_turns(turns: Mapping[Key, Turn], effort: Effort) -> dict[Key, Sample]:
    """Time some things in turns, so that other load on the machine hits all of them
    alike.

    Every run is timed by itself. The garbage collector stays on, as it is for users and
    for Go, but what was there before is none of its business, nor what others left in
    their turns.
    """
    plans = {name: effort.warm(turn) for name, turn in turns.items()}
    rounds: dict[Key, list[Sequence[int]]] = {name: [] for name in turns}
    with _frozen():
        for at in range(effort.rounds):
            for name in (name for name, plan in plans.items() if at < plan.rounds):
                gc.collect()
                rounds[name].append(turns[name](plans[name].runs))
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
