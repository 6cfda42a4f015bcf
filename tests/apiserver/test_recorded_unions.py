"""Unions are judged as a kube-apiserver judges them, as it was recorded.

tests/record/unions.py recorded it, and tests/data/apiserver/fields.json describes it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import Any, Final, TypeAlias

import pytest

import smp
from smp._storage.enums import validate_enums
from smp._values.values import JSON, as_list, as_object, same
from smp.handler import APPLY, Accepted, Options, patch
from smp.schema.model import ObjectType
from smp.three_way import ApplyResult
from smp.unions import validate_unions
from tests.record.applies import read
from tests.record.unions import (
    FILE,
    PATCHES,
    fields_at,
    object_with,
    patchable,
    rows,
    union_of,
)

HEADING, LINES = read(FILE)
CATALOG: Final = smp.kubernetes(HEADING["kube-apiserver"])
ROWS: Final = {row["type"]: row for row in rows()}
# A PriorityLevelConfiguration of type Exempt has to have that name, which an apply
# does not know.
UNKNOWN_RULES: Final = {"PriorityLevelConfigurationSpec"}

Causes: TypeAlias = set[tuple[str, str, str]]


def causes_of(causes: JSON) -> Causes:
    """Return the causes of a refusal: field, reason and message of each."""
    found: Causes = set()
    for cause in as_list(causes):
        about = as_object(cause)
        texts = [str(about.get(name)) for name in ("field", "reason", "message")]
        found.add((texts[0], texts[1], texts[2]))
    return found


def without_values(causes: Causes) -> Causes:
    """Leave out the values that messages print: a server prints structs of Go."""
    value = re.compile(r'^Invalid value: (\{.*\}|"[^"]*"|null): ')
    return {(at, why, value.sub("Invalid value: ", text)) for at, why, text in causes}


def spelled(causes: Causes) -> Causes:
    """Correct two fields that a server misspells, and a key that it brackets."""
    found: Causes = set()
    for at, why, text in causes:
        corrected = at.replace("cephFS", "cephfs").replace("downwarAPI", "downwardAPI")
        found.add((corrected.replace("attributes[a]", "attributes.a"), why, text))
    return found


@cache
def details_of(type_name: str) -> re.Pattern[str]:
    """Return a pattern of what a server says of a union of a type."""
    type_ = smp.Schema(f"#{type_name}", CATALOG.schema("v1", "Pod").types).type
    assert isinstance(type_, ObjectType)
    answers = [
        answer
        for union in type_.unions
        for answers in union.answers.values()
        for answer in answers
    ]
    details = [re.escape(answer.detail) for answer in answers if answer.detail]
    if not details:
        return re.compile("(?!)")
    placeholder = re.compile(r"\\\{\w+\\\}")
    return re.compile("|".join(placeholder.sub(".+", detail) for detail in details))


def about_the_union(type_name: str, causes: Causes) -> Causes:
    """Return those of a server's causes that its rules for the union have."""
    place = re.sub(r"\.(\d+)", r"[\1]", ROWS[type_name]["at"])
    discriminator = f"{place}.{union_of(type_name).discriminator}"
    found: Causes = set()
    for at, why, text in causes:
        # A Pod is also looked at as the template of a Deployment.
        if at.removeprefix("spec.template.") == discriminator:
            is_about = "if and only if" not in text
        else:
            is_about = bool(details_of(type_name).search(text))
        if is_about:
            found.add((at, why, text))
    return found


def difference(type_name: str, theirs: Causes, ours: Causes) -> str:
    """Name how causes of a server and ours differ, by docs/union_types.md."""
    if theirs == ours:
        return "none"
    theirs, ours = without_values(theirs), without_values(ours)
    if theirs == ours:
        return "a printed value"
    theirs = spelled(theirs)
    if theirs == ours:
        return "a spelling"
    unknown = [text for _, why, text in ours if why == "FieldValueNotSupported"]
    if unknown and len(theirs) == len(ours) == 1:
        return "the place of an unknown value"
    if ours <= theirs and not about_the_union(type_name, theirs - ours):
        return "another rule"
    if theirs < ours:
        return "one more cause"
    return "unexplained"


@pytest.mark.parametrize("profile", ["kep1027", "validate-only"])
def test_an_object_is_refused_as_by_the_server(profile: str) -> None:
    verdicts: Counter[bool] = Counter()
    differences: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for line in LINES:
        row = ROWS[line["type"]]
        obj = object_with(row, line["fields"])
        schema = CATALOG.schema(*row["kind"].split())
        found = (
            *validate_unions(None, obj, schema, profile=profile),
            *validate_enums(obj, schema),
        )
        ours = causes_of([violation.cause for violation in found])
        theirs = causes_of(line.get("refused", {}).get("causes"))
        # What cannot be decoded is refused without causes.
        is_decoded = bool(theirs) or "refused" not in line
        named = "another rule"
        if is_decoded:
            named = difference(line["type"], theirs, ours)
        assert named != "unexplained", (line, ours)
        assert bool(ours) == bool(theirs) or named == "another rule"
        verdicts[bool(ours) == bool(theirs)] += 1
        differences[named] += 1
        refused[line["type"]] += "refused" in line
    assert verdicts == {True: 2032, False: 107}
    # docs/union_types.md has a reason for each.
    assert differences == {
        "none": 1814,
        "a printed value": 17,
        "a spelling": 55,
        "the place of an unknown value": 12,
        "one more cause": 17,
        "another rule": 224,
    }
    # Two are not validated by a server, and each other one refuses some.
    assert [type_name for type_name in ROWS if not refused[type_name]] == [
        "io.k8s.api.autoscaling.v2.MetricStatus",
        "io.k8s.api.core.v1.ContainerState",
    ]


def outcome_of(line: dict[str, Any], request: dict[str, Any], profile: str) -> str:
    """Compare what becomes of a request here with what a server answered to it."""
    live = line["live"]
    media_type = request["media_type"]
    manager = "one" if media_type == APPLY else None
    outcome = patch(
        live,
        json.dumps(request["body"]),
        media_type,
        CATALOG.schema_of(live),
        Options(profile=profile, typed=True, manager=manager),
    )
    theirs = causes_of(request.get("refused", {}).get("causes"))
    of_union = about_the_union(line["type"], theirs)
    if "refused" in request and not of_union:
        return "another rule"
    if isinstance(outcome, Accepted):
        if theirs:
            return "accepted here only"
        row = patchable(ROWS[line["type"]])
        fields = fields_at(row, as_object(outcome.object))
        return "accepted" if same(fields, request["stored"]) else "stored otherwise"
    if not theirs:
        return "refused here only"
    details = as_object(outcome.status.get("details"))
    ours = causes_of(details.get("causes"))
    # An immutable field may be another cause here.
    is_same = without_values(spelled(of_union)) <= without_values(ours)
    return "refused" if is_same else "refused in other words"


def test_a_patch_is_judged_as_by_the_server_under_validate_only() -> None:
    _, lines = read(PATCHES)
    outcomes: Counter[str] = Counter()
    for line in lines:
        for request in line["requests"]:
            outcomes[outcome_of(line, request, "validate-only")] += 1
    assert outcomes == {
        "accepted": 848,
        "refused": 694,
        # webhook: {} of a conversion
        "refused here only": 2,
        "another rule": 191,
    }


@pytest.mark.slow
def test_the_default_profile_accepts_what_a_server_refuses() -> None:
    _, lines = read(PATCHES)
    outcomes: Counter[str] = Counter()
    for line in lines:
        for request in line["requests"]:
            outcomes[outcome_of(line, request, "kep1027")] += 1
    assert outcomes == {
        "accepted": 843,
        "refused": 440,
        # Normalized unions, those of a DaemonSet among them.
        "accepted here only": 193,
        "stored otherwise": 5,
        "refused in other words": 61,
        "refused here only": 2,
        "another rule": 191,
    }


def is_warned_of(causes: Causes, result: ApplyResult) -> bool:
    """Tell whether the warnings of an apply have the reason of each cause."""
    texts = " ".join([warning.message for warning in result.warnings])
    return all(text.rpartition(": ")[2] in texts for _, _, text in causes)


def test_the_patch_of_an_apply_is_accepted_by_the_server() -> None:
    """``patch`` leads a server to ``object``; of ``kubectl_patch`` warnings tell."""
    _, lines = read(PATCHES)
    answers: Counter[str] = Counter()
    for line in lines:
        row = patchable(ROWS[line["type"]])
        for request in line["requests"]:
            if "way" not in request:
                continue
            before = object_with(row, line["from"]) if request["owned"] else None
            result = smp.three_way_apply(
                before,
                object_with(row, request["to"]),
                line["live"],
                CATALOG.schema_of(line["live"]),
            )
            way = request["way"]
            sent = result.patch if way == "apply" else result.kubectl_patch
            assert same(sent, request["body"])
            theirs = causes_of(request.get("refused", {}).get("causes"))
            of_union = about_the_union(line["type"], theirs)
            if "stored" in request:
                answers[f"{way}: accepted"] += 1
            elif not of_union:
                answers[f"{way}: another rule"] += 1
                name = line["type"].rpartition(".")[2]
                assert result.violations or name in UNKNOWN_RULES
            elif way == "kubectl" and is_warned_of(of_union, result):
                # What the normalization clears is left in the object by kubectl.
                answers["kubectl: refused as warned"] += 1
            else:
                assert result.violations
                answers[f"{way}: refused as predicted"] += 1
    assert answers == {
        "apply: accepted": 178,
        "apply: refused as predicted": 16,
        "apply: another rule": 28,
        "kubectl: accepted": 144,
        "kubectl: refused as predicted": 16,
        "kubectl: refused as warned": 44,
        "kubectl: another rule": 18,
    }
