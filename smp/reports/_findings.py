"""What causes, hazards and violations say of an object.

Most causes say what is as expected: a field is set by the manifest, or kept because
the manifest does not have it. Those are in every report that has the causes, but they
are no findings: a tool that counts findings, or a comment on a pull request, is for
what a user should look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from smp.reports._model import Finding, Level, Origin
from smp.violations import VIOLATIONS, Meaning, Violation

if TYPE_CHECKING:
    from smp.explain import Cause
    from smp.hazards import Hazard

# The causes that are findings. What is lost without being asked for, and what is not
# as asked for.
CAUSE_LEVELS: Final[dict[str, Level]] = {
    "deleted-by-repeated-key": "error",
    "not-as-asked": "error",
    "not-pruned": "error",
    "repeated-key": "error",
    "unknown-field": "error",
    "lost-with-parent": "warning",
    "lost-in-list": "warning",
    "lost-by-ambiguous-key": "warning",
    "changed-by-ambiguous-key": "warning",
    "removed-by-repair": "warning",
    "overwritten": "warning",
    "overwrites-controller": "warning",
    "retain-keys": "note",
    "union": "note",
    "zero-value": "note",
}
# The causes of how a list is merged: what changes in its elements has causes below.
ABOUT_LISTS: Final = frozenset({"element-order", "matched-by-key"})
# A violation of a code that VIOLATIONS does not have.
REFUSED: Final = Meaning(
    "an API server would refuse the object", "", "the validation of an API server"
)


def finding_of_cause(cause: Cause) -> Finding | None:
    """Return what a cause says that a user should look at; None where it is usual."""
    level = CAUSE_LEVELS.get(cause.code)
    if level is None:
        return None
    remedy = "" if cause.remedy is None else cause.remedy.sentence
    return Finding(
        cause.code,
        "cause",
        level,
        cause.path,
        cause.sentence,
        remedy,
        cause.rule,
    )


def finding_of_hazard(hazard: Hazard) -> Finding:
    """Return a hazard as a finding."""
    return Finding(
        hazard.code,
        "hazard",
        hazard.severity,
        hazard.path,
        hazard.sentence,
        hazard.remedy,
        hazard.rule,
        hazard.input,
    )


def finding_of_violation(violation: Violation) -> Finding:
    """Return a violation as a finding: a server would refuse the object."""
    level: Level = "warning" if violation.warning else "error"
    meaning = VIOLATIONS.get(violation.code, REFUSED)
    return Finding(
        violation.code,
        "violation",
        level,
        violation.path,
        violation.message,
        meaning.remedy,
        meaning.source,
    )


def rule_id(origin: Origin, code: str) -> str:
    """Return the id of the rule of a finding, or one below it."""
    return f"{origin}/{code}" if code else origin
