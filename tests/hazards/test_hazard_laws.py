"""Laws of hazards, over triples of objects that others change, too."""

from __future__ import annotations

import os
from functools import cache
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp._values.values import JSONObject, as_object, same
from tests.support.differential import AGREED, Case, compare, describe
from tests.support.differential.cases import Documents
from tests.support.leaves import (
    Place,
    indices,
    keys_of_path,
    leaves_of_object,
    lost_leaves,
    under,
)
from tests.support.makers import Subject
from tests.support.makers.triples import Triple
from tests.support.reference import needs_go, reference

# SMP_TRIPLES says how many triples each law looks at.
NUMBER: Final = int(os.environ.get("SMP_TRIPLES", "30"))
law = settings(max_examples=NUMBER, deadline=None)
TRIPLES = st.builds(Triple, st.integers(0, 2**32)).filter(Triple.is_applicable)
# What a repair is to keep, where the hazard is no note.
KEPT_BY_REPAIR = {"lost-with-list", "lost-with-object", "lost-by-ambiguous-key"}


def lost(triple: Triple, result: JSONObject) -> list[Place]:
    """Return the leaves that only live has, and that the result does not have."""
    configurations = (triple.last_applied, triple.manifest)
    return lost_leaves(configurations, triple.live, result, triple.schema.type)


def losses(hazards: tuple[smp.Hazard, ...]) -> set[tuple[str | int, ...]]:
    return {indices(each.path) for each in hazards if each.code.startswith("lost-")}


def is_serious(hazards: tuple[smp.Hazard, ...]) -> bool:
    return any(each.severity != "note" for each in hazards)


def applied(triple: Triple, policy: smp.hazards.Policy) -> smp.ApplyResult:
    return smp.three_way_apply(
        triple.last_applied,
        triple.manifest,
        triple.live,
        triple.schema,
        hazards=policy,
    )


@law
@given(TRIPLES)
def test_what_only_live_had_and_loses_is_in_a_hazard(triple: Triple) -> None:
    result = applied(triple, "warn")
    reported = losses(result.hazards)
    for place in lost(triple, result.object):
        assert under(place, reported), place


@law
@given(TRIPLES)
def test_an_apply_of_what_is_there_loses_nothing(triple: Triple) -> None:
    live, schema = triple.live, triple.schema
    for each in smp.find_hazards(live, live, live, schema):
        assert not each.code.startswith("lost-"), each


@law
@given(TRIPLES)
def test_a_repaired_apply_keeps_what_the_hazard_was_about(triple: Triple) -> None:
    warned, repaired = applied(triple, "warn"), applied(triple, "repair")
    dangerous = {
        indices(each.path)
        for each in warned.hazards
        if each.code in KEPT_BY_REPAIR and each.severity != "note"
    }
    # An element that the manifest has under another key is removed, and this is said.
    removed = {
        indices(each.path) for each in repaired.warnings if "removed" in each.message
    }
    remaining = losses(repaired.hazards)
    for place in lost(triple, repaired.object):
        assert under(place, remaining | removed), place
        assert not under(place, dangerous) or under(place, remaining | removed), place


@law
@given(TRIPLES)
def test_a_repaired_patch_leads_to_the_repaired_object(triple: Triple) -> None:
    result = applied(triple, "repair")
    patch = as_object(result.patch)
    assert same(smp.apply_patch(triple.live, patch, triple.schema), result.object)
    # Each repair is guarded, or it is said that it cannot be.
    codes = {warning.code for warning in result.warnings}
    is_guarded = "repaired" in codes and "unguarded" not in codes
    # A manifest may have a guard of its own.
    metadata = as_object(triple.manifest.get("metadata"))
    if is_guarded and "resourceVersion" not in metadata:
        version = as_object(triple.live["metadata"])["resourceVersion"]
        assert as_object(patch["metadata"])["resourceVersion"] == version


@law
@given(TRIPLES)
def test_what_a_repaired_apply_does_not_reach_is_unmet(triple: Triple) -> None:
    result = applied(triple, "repair")
    type_ = triple.schema.type
    reached: set[tuple[str, ...]] = set()
    keys_reached: set[tuple[str, ...]] = set()
    for place in leaves_of_object(result.object, type_):
        reached.add(place.identity)
        keys_reached.add(place.keys)
    # Elements are named by their patch merge keys: each of the objects has its indices.
    said = {keys_of_path(path) for path in result.unmet}
    said |= {keys_of_path(each.path) for each in result.warnings}
    for each in result.hazards:
        # Elements of one key are one element to a patch, and none of them has no key.
        if each.code in ("duplicate-key", "missing-key"):
            said.add(keys_of_path(each.path)[:-1])
        elif each.code == "deleted-with-duplicate":
            said.add(keys_of_path(each.path))
    for place in leaves_of_object(triple.manifest, type_):
        if place.is_null or place.is_empty or place.is_vague:
            continue
        if place.identity in reached:
            continue
        # kubectl apply sends nothing for a port without a protocol that live has with
        # UDP, and says "unchanged" (Go: strategicpatch.diffListsOfMaps).
        if not (place.is_open and place.keys in keys_reached):
            above = {place.keys[:n] for n in range(len(place.keys) + 1)}
            assert above & said, place


@law
@given(TRIPLES)
def test_the_policies_do_what_they_say(triple: Triple) -> None:
    warned, ignored = applied(triple, "warn"), applied(triple, "ignore")
    assert same(warned.object, ignored.object)
    assert same(warned.patch, ignored.patch)
    assert ignored.hazards == ()
    found = smp.find_hazards(
        triple.last_applied, triple.manifest, triple.live, triple.schema
    )
    assert found == warned.hazards
    if is_serious(found):
        with pytest.raises(smp.HazardError) as caught:
            applied(triple, "error")
        assert caught.value.hazards == found
    else:
        assert applied(triple, "error") == warned


@cache
def repaired_cases() -> list[tuple[Case, JSONObject]]:
    """Return repaired patches as questions to the reference, each with the object."""
    cases: list[tuple[Case, JSONObject]] = []
    for seed in range(6 * NUMBER):
        triple = Triple(seed)
        if not triple.is_applicable():
            continue
        result = applied(triple, "repair")
        if not any(warning.code == "repaired" for warning in result.warnings):
            continue
        schema = triple.schema
        kind = f"{schema.api_version} {schema.kind}"
        subject = Subject(kind, schema, {"kind": kind})
        documents: Documents = {
            "original": triple.live,
            "patch": as_object(result.patch),
        }
        cases.append((Case("apply", subject, documents), result.object))
    return cases


@needs_go
def test_the_reference_makes_the_same_of_a_repaired_patch() -> None:
    shared = reference()
    assert shared is not None
    cases = repaired_cases()
    assert len(cases) > NUMBER // 2
    verdicts = compare(shared, [case for case, _expected in cases])
    for verdict, (_case, expected) in zip(verdicts, cases, strict=True):
        assert same(verdict.ours["result"], expected)
        # Or by row 1 of docs/deviations.md: nulls in atomic lists.
        assert verdict.reason in (AGREED, "1"), describe(verdict)
