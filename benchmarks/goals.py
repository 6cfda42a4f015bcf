"""What is wanted, as ratios, and whether it was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import Final, NamedTuple

from benchmarks.growth import JSON_ALONE, LINEAR, LINEAR_IN_CALLS
from benchmarks.memory import INPUTS_AND_OUTPUT
from benchmarks.processes import BARE
from benchmarks.report import Section, table
from benchmarks.timing import Ratio


class Goal(NamedTuple):
    """A bound for all ratios whose name a pattern finds: at most so many times what it
    is compared with.

    The other way round where it has to be ``faster``: the other takes at least so many
    times as long.
    """

    what: str
    against: str
    bound: float
    faster: bool = False

    def __str__(self) -> str:
        if self.faster:
            return f"at least {self.bound:g}x faster than {self.against}"
        return f"at most {self.bound:g} x {self.against}"

    def worst(self, ratios: Iterable[Ratio]) -> Ratio | None:
        """Return the worst of the ratios that this is about, or None."""
        meant = [
            one
            for one in ratios
            if one.against == self.against and fnmatchcase(one.what, self.what)
        ]
        return max(meant, key=lambda ratio: ratio.best, default=None)

    def met(self, ratio: Ratio) -> bool:
        """Tell whether a ratio keeps the bound, by the best times."""
        return ratio.best <= (1 / self.bound if self.faster else self.bound)


# what, at least so many times faster than Go, at most so many times orjson
_ROWS: Final = (
    ("Deployment, 5 containers: apply", 6, 1.0),
    ("Pod, 100 containers, 200 env: apply", 8, 0.8),
    ("Pod, 100 containers x 200 env: apply", 12, 0.6),
    ("Pod, 1,000 volumes, one changed: apply", 100, 2.0),
    ("Pod, 1,000 volumes, all changed: apply", 60, 4.0),
    ("Deployment, 5 containers: two-way", 2.5, 3.0),
    ("Deployment, 5 containers: three-way", 3, 2.0),
    ("Pod, 100 containers, 200 env: three-way", 4, 2.0),
    ("Pod, 100 containers x 200 env: three-way", 4, 2.0),
    ("Pod, 1,000 volumes, one changed: three-way", 4, 3.0),
)
GOALS: Final = (
    *chain.from_iterable(
        (Goal(row, "Go", go, faster=True), Goal(row, "orjson", json))
        for row, go, json in _ROWS
    ),
    Goal("elsewhere: *", "10 elements", 1.2),
    Goal("growth: *", LINEAR, 1.2),
    Goal("growth: *", LINEAR_IN_CALLS, 1.2),
    Goal("growth: *", JSON_ALONE, 1.2),
    Goal("process: import smp", BARE, 1.5),
    Goal("process: smp --version", BARE, 2.5),
    Goal("process: smp apply*", BARE, 4),
    Goal("memory: *", INPUTS_AND_OUTPUT, 1),
)


def section(ratios: Sequence[Ratio]) -> Section:
    """Hold the goals against the ratios."""
    worst = [(goal, goal.worst(ratios)) for goal in GOALS]
    held = [(goal, ratio) for goal, ratio in worst if ratio is not None]
    lines = table(
        ["what", "goal", "measured", "met"],
        [_cells(goal, ratio) for goal, ratio in held],
    )
    if len(held) < len(GOALS):
        lines += [
            "",
            f"{len(GOALS) - len(held)} more goals are about what was not measured.",
        ]
    return Section(
        "goals", "Goals", lines, [_as_data(goal, ratio) for goal, ratio in worst]
    )


def _cells(goal: Goal, ratio: Ratio) -> list[str]:
    best, typical = (
        1 / one if goal.faster else one for one in (ratio.best, ratio.typical)
    )
    return [
        ratio.what,
        str(goal),
        f"{best:.2f} ({typical:.2f})",
        "yes" if goal.met(ratio) else "**no**",
    ]


def _as_data(goal: Goal, ratio: Ratio | None) -> dict[str, object]:
    return {
        "what": goal.what,
        "goal": str(goal),
        "measured": None
        if ratio is None
        else {"what": ratio.what, "best": ratio.best, "typical": ratio.typical},
        "met": None if ratio is None else goal.met(ratio),
    }
