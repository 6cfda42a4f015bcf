"""What causes, hazards and violations say of an object, and the table of all rules.

Most causes say what is as expected: a field is set by the manifest, or kept because
the manifest does not have it. Those are in every report that has the causes, but they
are no findings: a tool that counts findings, or a comment on a pull request, is for
what a user should look at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from smp.explain import CAUSES, Cause
from smp.hazards import HAZARDS, Hazard
from smp.lint import LINT
from smp.reports._model import Finding, Level, Origin
from smp.violations import VIOLATIONS, Meaning, Violation

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
_BLANK: Final = re.compile(r"\{(\w+)\}")
# What stands for the blanks of a sentence in the text of its rule.
_BLANKS: Final = {
    "controller": "a controller",
    "owners": "other managers",
    "by": "",
    "unknown": "it was never applied",
    "key": "",
    "why": "the rules of a union change it",
    "rule": "the profile of unions",
    "count": "several",
    "other_keys": "other keys",
}

# A violation of a code that VIOLATIONS does not have.
_REFUSED: Final = Meaning(
    "an API server would refuse the object", "", "the validation of an API server"
)


class Rule(msgspec.Struct, frozen=True):
    """What the findings of one origin and code have in common.

    ``id`` is their origin and their code. A rule without a code stands for all codes of
    its origin.
    """

    id: str
    level: Level
    sentence: str
    remedy: str = ""
    source: str = ""


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
    meaning = VIOLATIONS.get(violation.code, _REFUSED)
    return Finding(
        violation.code,
        "violation",
        level,
        violation.path,
        violation.message,
        meaning.remedy,
        meaning.source,
    )


def rules() -> Iterator[Rule]:
    """Yield the rules of all findings that there can be."""
    for code, level in CAUSE_LEVELS.items():
        reason = CAUSES[code]
        sentence, source = _general(reason.sentence), _general(reason.source)
        yield Rule(f"cause/{code}", level, sentence, source=source)
    # What lint finds is reported as hazards are.
    for code, described in {**HAZARDS, **LINT}.items():
        yield Rule(
            f"hazard/{code}",
            described.severity,
            _general(described.sentence),
            _general(described.remedy),
            described.rule,
        )
    for code, meaning in VIOLATIONS.items():
        sentence, remedy, source = meaning.sentence, meaning.remedy, meaning.source
        yield Rule(f"violation/{code}", "error", sentence, remedy, source)
    yield Rule("violation", "error", _REFUSED.sentence, source=_REFUSED.source)
    yield Rule("warning", "warning", "a user should know this about the operation")
    yield Rule("failure", "error", "the object could not be read or computed")


def rule_id(origin: Origin, code: str) -> str:
    """Return the id of the rule of a finding, or one below it."""
    return f"{origin}/{code}" if code else origin


def counted(findings: Iterable[Finding]) -> dict[Level, int]:
    """Count findings by their levels, the worst level first."""
    counts: dict[Level, int] = {"error": 0, "warning": 0, "note": 0}
    for finding in findings:
        counts[finding.level] += 1
    return counts


def _general(sentence: str) -> str:
    """Fill in the blanks of a sentence, for a rule that has no values."""

    def words(blank: re.Match[str]) -> str:
        return _BLANKS.get(blank[1], "...")

    return " ".join(_BLANK.sub(words, sentence).split())
