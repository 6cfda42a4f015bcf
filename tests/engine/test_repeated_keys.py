"""Lists that repeat a patch merge key, such as the ports 53/TCP and 53/UDP.

``SMP_FUZZ_CASES`` sets the number of random cases, ``SMP_FUZZ_SEED`` the first seed.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Final

import pytest

from smp.errors import SmpError
from smp.schema.catalog import kubernetes
from smp.strategic import KUBECTL_PRECONDITIONS, apply_patch, three_way_patch
from smp.values import JSONObject, same
from tests.record.repeated_keys import recorded, sent_by_kubectl
from tests.support.differential import (
    Case,
    Verdict,
    agree,
    answer_of,
    contradicts_itself,
    describe,
)
from tests.support.kubectl import needs_kubectl
from tests.support.makers import Triple
from tests.support.reference import needs_go, reference
from tests.support.repeated_keys import random_case

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "3000"))
FIRST_SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "0"))
SHOWN: Final = 3


def patch_of(triple: Triple) -> JSONObject:
    schema = kubernetes().schema_of(triple.live)
    return three_way_patch(*triple, schema, preconditions=KUBECTL_PRECONDITIONS)


def is_usable(case: Case, answer: JSONObject) -> bool:
    """Tell whether our answer is a patch that applies to the live object."""
    live = case.documents.get("current") or case.document("original")
    patch = answer.get("result")
    if not isinstance(patch, dict):
        return False
    try:
        apply_patch(live, patch, case.subject.schema)
    except SmpError:
        return False
    return True


@pytest.mark.slow
@needs_go
def test_lists_that_repeat_a_key_are_compared_as_by_the_reference() -> None:
    go = reference()
    assert go is not None
    cases = [random_case(seed) for seed in range(FIRST_SEED, FIRST_SEED + CASES)]
    counts: Counter[str] = Counter()
    failures: list[str] = []
    answers = go.run([case.request for case in cases])
    for case, theirs in zip(cases, answers, strict=True):
        ours = answer_of(case)
        if agree(case, ours, theirs):
            counts["equal"] += 1
        elif "error" in theirs and is_usable(case, ours):
            counts["the reference fails"] += 1
        elif contradicts_itself(theirs.get("result")) and is_usable(case, ours):
            counts["the reference contradicts itself"] += 1
        else:
            failures.append(describe(Verdict(case, ours, theirs, None)))
    print(f"\n{dict(counts)}")  # noqa: T201  # ``pytest -s`` shows the counts
    assert not failures, "\n".join(sorted(failures, key=len)[:SHOWN])
    assert counts["equal"] > 0.8 * CASES


def test_an_apply_sends_what_kubectl_was_seen_to_send() -> None:
    applies = [*recorded()]
    assert len(applies) > 200
    for (name, triple), sent in applies:
        assert same(patch_of(triple), sent), name


def test_an_unchanged_manifest_sends_what_kubectl_was_seen_to_send() -> None:
    unchanged = [
        (triple, sent)
        for (_, triple), sent in recorded()
        if same(triple.modified, triple.last_applied or {})
    ]
    assert len(unchanged) > 20
    for triple, sent in unchanged:
        assert same(patch_of(triple), sent)


@pytest.mark.slow
@needs_kubectl
def test_what_was_recorded_is_what_kubectl_sends() -> None:
    for (name, triple), sent in [*recorded()][::16]:
        assert same(sent_by_kubectl(triple), sent), name
