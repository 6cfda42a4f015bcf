"""The goals, which are bounds of ratios, and whether the measurements meet them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from benchmarks import server_side, whole_job
from benchmarks.growth import JSON_ALONE, LINEAR, LINEAR_IN_CALLS
from benchmarks.memory import INPUTS_AND_OUTPUT
from benchmarks.processes import BARE, KUBECTL
from benchmarks.report import Section, table
from benchmarks.timing import Ratio


class Goal(NamedTuple):
    """A bound of all ratios whose name a pattern matches, but not ``other_than``.

    The time is at most so many times that of ``against``, or, where it has to be
    ``faster``, ``against`` takes at least so many times as long.
    """

    what: str
    against: str
    bound: float
    faster: bool = False
    other_than: str = ""

    def __str__(self) -> str:
        if self.faster:
            return f"at least {self.bound:g}x faster than {self.against}"
        return f"at most {self.bound:g} x {self.against}"

    def worst(self, ratios: Iterable[Ratio]) -> Ratio | None:
        """Return the worst of the ratios that the goal bounds; None without any."""
        bounded = [
            ratio
            for ratio in ratios
            if ratio.against == self.against
            and ratio.what != self.other_than
            and fnmatchcase(ratio.what, self.what)
        ]
        return max(bounded, key=lambda ratio: ratio.best, default=None)

    def met(self, ratio: Ratio) -> bool:
        """Return whether a ratio is within the bound, by the best times."""
        bound = 1 / self.bound if self.faster else self.bound
        return ratio.best <= bound


# A row, at least how many times faster than Go, and at most how many times orjson.
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


def _goals_of_rows() -> Iterator[Goal]:
    for row, of_go, of_orjson in _ROWS:
        yield Goal(row, "Go", of_go, faster=True)
        yield Goal(row, "orjson", of_orjson)


# A fixed cost counts for more where there is little to patch.
_SMALL_PATCH: Final = "whole job: handler.patch: ConfigMap, small"
_WHOLE_JOB: Final = (
    Goal("whole job: three_way_apply: *", whole_job.STEPS, 2.5),
    Goal("whole job: explain_apply: *", whole_job.STEPS, 20),
    Goal("whole job: three_way_apply, *", whole_job.FEWER, 5),
    Goal("whole job: explain_apply, *", whole_job.FEWER, 5),
    Goal(
        "whole job: handler.patch: *",
        whole_job.WIRE_APPLY,
        2.5,
        other_than=_SMALL_PATCH,
    ),
    Goal(_SMALL_PATCH, whole_job.WIRE_APPLY, 4),
    Goal("whole job: handler.create: *", whole_job.JSON_ALONE, 6),
    Goal("whole job: wire.three_way_apply: *", whole_job.GO_STEPS, 0.5),
    Goal("whole job: unions, nothing changed: *", whole_job.APPLY, 0.3),
    Goal("whole job: unions and enums, all: *", whole_job.DECODING, 2),
)

GOALS: Final = (
    *_goals_of_rows(),
    Goal("elsewhere: *", "10 elements", 1.2),
    Goal("growth: *", LINEAR, 1.2),
    Goal("growth: *", LINEAR_IN_CALLS, 1.2),
    Goal("growth: *", JSON_ALONE, 1.2),
    Goal("process: import smp", BARE, 1.5),
    Goal("process: smp --version", BARE, 2.5),
    Goal("process: smp apply*", BARE, 4),
    Goal("process: smp patch, one object", KUBECTL, 1.2),
    Goal("process: smp patch, 1,000 objects", KUBECTL, 0.5),
    Goal("memory: *", INPUTS_AND_OUTPUT, 1),
    *_WHOLE_JOB,
    Goal("server-side apply, bytes: *", server_side.GO, 1),
)


def section(ratios: Sequence[Ratio]) -> Section:
    """Compare the ratios with the goals."""
    worst = [(goal, goal.worst(ratios)) for goal in GOALS]
    rows = [_cells(goal, ratio) for goal, ratio in worst if ratio is not None]
    lines = table(["what", "goal", "measured", "met"], rows)
    unmeasured = len(GOALS) - len(rows)
    if unmeasured:
        lines += ["", f"{unmeasured} more goals are about what was not measured."]
    return Section(
        "goals", "Goals", lines, [_as_data(goal, ratio) for goal, ratio in worst]
    )


def _cells(goal: Goal, ratio: Ratio) -> list[str]:
    best, typical = ratio.best, ratio.typical
    if goal.faster:  # shown as how many times faster
        best, typical = 1 / best, 1 / typical
    return [
        ratio.what,
        str(goal),
        f"{best:.2f} ({typical:.2f})",
        "yes" if goal.met(ratio) else "**no**",
    ]


def _as_data(goal: Goal, ratio: Ratio | None) -> dict[str, object]:
    data: dict[str, object] = {"what": goal.what, "goal": str(goal)}
    if ratio is None:
        return {**data, "measured": None, "met": None}
    measured = {"what": ratio.what, "best": ratio.best, "typical": ratio.typical}
    return {**data, "measured": measured, "met": goal.met(ratio)}
