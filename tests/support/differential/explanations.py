"""Compares the answers to cases, and finds a reason for each difference."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple, TypeAlias

from smp._values.values import JSONObject, same
from smp.schema.catalog import kubernetes
from smp.schema.model import ObjectType
from tests.support.differential.answers import agree, agree_as_stored, answer_of
from tests.support.differential.cases import Case
from tests.support.differential.deviations import DEVIATIONS, DIFFS, RANDOM_OUTCOME
from tests.support.differential.equality import without_equal_parts
from tests.support.makers import EVERY
from tests.support.reference import Reference

AGREED: Final = ""
# A random outcome that has a chance of one in a hundred is missed once in fifty times.
_REPETITIONS: Final = 400


class Verdict(NamedTuple):
    """A case, both answers, and the reason of their difference.

    The reason is AGREED, a name of a deviation or of an explanation below, or None: the
    difference is unexplained.
    """

    case: Case
    ours: JSONObject
    theirs: JSONObject
    reason: str | None


def compare(go: Reference, cases: Sequence[Case]) -> list[Verdict]:
    """Ask both sides, and explain the differences."""
    answers = go.run([case.request for case in cases])
    verdicts = []
    for case, theirs in zip(cases, answers, strict=True):
        verdict = judge(case, theirs)
        if verdict.reason is None:
            verdict = _explained(go, verdict)
        verdicts.append(verdict)
    return verdicts


def judge(case: Case, theirs: JSONObject) -> Verdict:
    """Compare our answer with the reference's; explain by deviation 1 at most."""
    ours = answer_of(case)
    if agree(case, ours, theirs):
        return Verdict(case, ours, theirs, AGREED)
    if agree_as_stored(case, ours, theirs):
        return Verdict(case, ours, theirs, "1")
    return Verdict(case, ours, theirs, None)


def _explained(go: Reference, verdict: Verdict) -> Verdict:
    for explain in EXPLANATIONS:
        reason = explain(go, verdict)
        if reason is not None:
            return verdict._replace(reason=reason)
    return verdict


def _ask_and_judge(go: Reference, case: Case) -> Verdict:
    return judge(case, go.run([case.request])[0])


def explain_by_one_deviation(go: Reference, verdict: Verdict) -> str | None:
    """Find a deviation without which both sides agree."""
    for name, deviation in DEVIATIONS.items():
        case = deviation.rewrite(verdict.case, verdict.theirs)
        if case is not None and _ask_and_judge(go, case).reason is not None:
            return name
    return None


def explain_by_several_deviations(go: Reference, verdict: Verdict) -> str | None:
    """Take one deviation after the other out of a case until both sides agree.

    The table is tried twice: a deviation may show only when another one is gone.
    """
    deviations = [("2", RANDOM_OUTCOME), *DEVIATIONS.items(), *DEVIATIONS.items()]
    names: list[str] = []
    for name, deviation in deviations:
        case = deviation.rewrite(verdict.case, verdict.theirs)
        if case is None or name in names:
            continue
        names.append(name)
        verdict = _ask_and_judge(go, case)
        if verdict.reason is not None:
            return " and ".join(names)
    return None


def explain_by_random_outcome(go: Reference, verdict: Verdict) -> str | None:
    """Deviation 2: ours is one of the outcomes that the reference has at random."""
    request: JSONObject = {**verdict.case.request, "repeat": _REPETITIONS}
    outcomes = go.run([request])[0].get("results")
    for outcome in outcomes if isinstance(outcomes, list) else []:
        if not isinstance(outcome, dict):
            continue
        if judge(verdict.case, outcome).reason is not None:
            return "2"
    return None


def explain_by_schema_lookup(go: Reference, verdict: Verdict) -> str | None:
    """Ours is the answer of the reference when it looks into the OpenAPI definitions.

    Its two ways to look up a schema, Go types and OpenAPI, disagree in places.
    """
    schema = verdict.case.subject.schema
    if not schema.kind or not isinstance(schema.type, ObjectType):
        return None
    lookup: JSONObject = {
        "lookup": "openapi",
        "definitions_name": _define_kubernetes(go),
        "root": schema.type.name,
    }
    subject = verdict.case.subject._replace(reference=lookup)
    looked_up = _ask_and_judge(go, verdict.case._replace(subject=subject))
    if looked_up.reason is not None:
        return "lookups"
    for explain in (explain_by_several_deviations, explain_by_panic):
        if explain(go, looked_up) is not None:
            return "lookups"
    return None


def explain_by_equal_parts(go: Reference, verdict: Verdict) -> str | None:
    """Deviation 21: the reference finds a fault in values that are equal everywhere."""
    if verdict.case.op not in DIFFS:
        return None
    if "result" not in verdict.ours or "result" in verdict.theirs:
        return None
    documents = {
        name: document
        for name, document in verdict.case.documents.items()
        if document is not None
    }
    type_ = verdict.case.subject.schema.type
    parts = without_equal_parts([*documents.values()], type_)
    different = dict(zip(documents, parts, strict=True))
    if same({**different}, {**documents}):
        return None
    case = verdict.case._replace(documents={**verdict.case.documents, **different})
    asked = _ask_and_judge(go, case)
    if asked.reason is not None or explain_by_several_deviations(go, asked) is not None:
        return "21"
    return None


def explain_by_first_conflict(go: Reference, verdict: Verdict) -> str | None:
    """The reference stops at a conflict before what it cannot compare either.

    Then it answers each side compared with itself with an error, too.
    """
    if verdict.case.op != "conflicts" or "code" not in verdict.ours:
        return None
    if verdict.theirs.get("result") is not True:
        return None
    # A list mixes types only when the sides are compared: each by itself may be right.
    if verdict.ours["code"] == "mixed-list":
        return "first conflict"
    requests = []
    for document in verdict.case.documents.values():
        documents = {"left": document, "right": document}
        requests.append(verdict.case._replace(documents=documents).request)
    if all("result" in answer for answer in go.run(requests)):
        return None
    return "first conflict"


def explain_by_panic(_go: Reference, verdict: Verdict) -> str | None:
    """The reference panics on a structure where a scalar belongs (deviation 18)."""
    cause = str(verdict.theirs.get("panic"))
    if "uncomparable type" in cause or "unhashable type" in cause:
        return "panic"
    return None


Explanation: TypeAlias = Callable[[Reference, Verdict], "str | None"]
# The cheap and narrow ones come first.
EXPLANATIONS: Final[tuple[Explanation, ...]] = (
    explain_by_one_deviation,
    explain_by_random_outcome,
    explain_by_several_deviations,
    explain_by_equal_parts,
    explain_by_schema_lookup,
    explain_by_first_conflict,
    explain_by_panic,
)


@cache
def _define_kubernetes(go: Reference) -> str:
    """Give the reference the definitions of the newest Kubernetes, and name them."""
    version = f"v{kubernetes().version}.0-local"
    directory = files("kubernetes_validate") / "kubernetes-json-schema" / version
    text = (directory / "_definitions.json").read_text()
    text = text.replace("#/$defs/", "#/components/schemas/")
    go.define("kubernetes", json.loads(text)["$defs"])
    return "kubernetes"


def prepared(go: Reference) -> Reference:
    """Give the reference the schemas that are not built into it."""
    go.define("every", EVERY)
    return go


def describe(verdict: Verdict) -> str:
    """Print a verdict on one line; its request can be sent again."""
    return json.dumps(
        {
            "request": verdict.case.request,
            "ours": verdict.ours,
            "theirs": verdict.theirs,
        }
    )
