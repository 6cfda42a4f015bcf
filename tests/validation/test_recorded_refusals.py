"""What a kube-apiserver refuses in mutated objects, and what it accepts.

tests.record.refusals recorded it: each object is wrong, or another, in one place.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from smp._values.values import as_object
from tests.record.refusals import FILE
from tests.support.recorded_refusals import Causes, Refusal, compared, lines

# Fields that a server drops while a feature gate is off, before it validates. Here they
# are fields like any other.
GATED: Final = frozenset({"clusterTrustBundle", "podCertificate"})
# Of a sample of the requests: one of so many.
SHARE: Final = 8


def first_lines(causes: Causes | None) -> Causes:
    """Return causes without the comparison of Go structs that some end with."""
    return tuple(
        (reason, field, message.partition("\n")[0])
        for reason, field, message in causes or ()
    )


def figures(refusals: list[Refusal]) -> Counter[str]:
    """Count how the answers compare."""
    counted: Counter[str] = Counter()
    for each in refusals:
        if each.expected is None:
            counted["accepted"] += 1
            continue
        counted["refused"] += 1
        counted["refused by both"] += each.causes is not None
        causes, expected = first_lines(each.causes), first_lines(each.expected)
        counted["same causes"] += sorted(causes) == sorted(expected)
        counted["same causes in the same order"] += causes == expected
        fields = {field for _, field, _ in each.causes or ()}
        counted["a field in common"] += bool(
            fields & {field for _, field, _ in each.expected}
        )
    return counted


def false_refusals(refusals: list[Refusal]) -> list[Refusal]:
    return [
        each
        for each in refusals
        if each.expected is None
        and each.causes is not None
        and not GATED.intersection(map(str, each.mutation.path))
    ]


def test_the_recording_is_of_many_kinds_and_mutations() -> None:
    recorded = lines()
    kinds = {as_object(line["stored"])["kind"] for line in recorded[1:]}
    answers = [answer for line in recorded[1:] for answer in line["answers"]]
    assert recorded[0]["server"].startswith("kube-apiserver v1.36.3")
    assert len(kinds) >= 50
    assert len(answers) >= 6000
    assert FILE.stat().st_size < 2_000_000


def judged(share: int) -> None:
    refusals = [*compared(share)]
    assert false_refusals(refusals) == []
    counted = figures(refusals)
    refused = counted["refused"]
    assert counted["refused by both"] / refused >= 0.87, counted
    assert counted["a field in common"] / refused >= 0.85, counted
    assert counted["same causes"] / refused >= 0.55, counted
    in_order = counted["same causes in the same order"]
    assert in_order / counted["same causes"] >= 0.90, counted


def test_nothing_that_a_server_accepts_is_refused_in_a_sample() -> None:
    judged(SHARE)


@pytest.mark.exhaustive
def test_nothing_that_a_server_accepts_is_refused() -> None:
    judged(1)
