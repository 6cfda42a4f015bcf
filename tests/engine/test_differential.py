"""The engine beside the reference: random cases, and recorded ones where Go is missing.

``SMP_FUZZ_CASES`` sets the number of random cases for each operation, ``SMP_FUZZ_SEED``
the first seed. A failure prints the request and both answers. The package
tests.support.differential says how a difference is explained.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.record import corpus as record_corpus
from tests.support import composition
from tests.support.differential import (
    AGREED,
    OPERATIONS,
    Verdict,
    agree,
    answer_of,
    compare,
    describe,
    prepared,
    random_case,
)
from tests.support.reference import Reference, needs_go, reference

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "1400"))
FIRST_SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "0"))
BATCH: Final = 1000
SHOWN: Final = 5

Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def go() -> Reference:
    shared = reference()
    assert shared is not None
    return prepared(shared)


def batches() -> Iterator[range]:
    """Yield the seeds in parts, so that not all requests are in memory at once."""
    end = FIRST_SEED + CASES
    for first in range(FIRST_SEED, end, BATCH):
        yield range(first, min(first + BATCH, end))


def report(counts: Counter[str], record: Record, name: str) -> None:
    """Print the counts (``pytest -s`` shows them), and put them into a JUnit report."""
    print(f"\n{name}: {dict(counts.most_common())}")  # noqa: T201  # the purpose
    record(name, dict(counts))


@pytest.mark.exhaustive
@needs_go
@pytest.mark.parametrize("documents", ["valid", "broken"])
@pytest.mark.parametrize("op", OPERATIONS)
def test_smp_answers_what_the_reference_answers(
    go: Reference, op: str, documents: str, record_property: Record
) -> None:
    counts: Counter[str] = Counter()
    unexplained: list[Verdict] = []
    for seeds in batches():
        broken = documents == "broken"
        cases = [random_case(op, seed, broken=broken) for seed in seeds]
        for verdict in compare(go, cases):
            if verdict.reason is None:
                unexplained.append(verdict)
                counts["unexplained"] += 1
            elif verdict.reason == AGREED:
                counts["agreed"] += 1
            else:
                counts[verdict.reason] += 1
    report(counts, record_property, f"{op} {documents}")
    assert counts.total() == CASES
    shortest = sorted((describe(verdict) for verdict in unexplained), key=len)
    assert not shortest, "\n".join(shortest[:SHOWN])


@pytest.mark.exhaustive
@needs_go
def test_a_composed_patch_does_what_its_patches_do_in_turn(
    go: Reference, record_property: Record
) -> None:
    counts: Counter[str] = Counter()
    broken: list[composition.ChainOutcome] = []
    for seeds in batches():
        chains = [composition.random_chain(seed) for seed in seeds]
        for outcome in composition.outcomes(go, chains):
            counts[outcome.verdict] += 1
            if outcome.verdict == composition.BROKEN:
                broken.append(outcome)
    report(counts, record_property, "compose")
    shortest = sorted((str(outcome) for outcome in broken), key=len)
    assert not shortest, "\n".join(shortest[:SHOWN])
    refused = counts[composition.REFUSED] + counts[composition.REFUSED_NEEDLESSLY]
    assert refused < 0.03 * counts.total()


def test_smp_answers_what_was_recorded() -> None:
    cases = list(record_corpus.cases())
    assert len(cases) >= 6000
    failures = []
    for case, expected in cases:
        ours = answer_of(case)
        if not agree(case, ours, expected):
            failures.append(describe(Verdict(case, ours, expected, None)))
    assert not failures, "\n".join(failures[:SHOWN])


def test_compositions_do_what_was_recorded() -> None:
    chains = list(record_corpus.chains())
    assert len(chains) >= 500
    failures = []
    for chain, results in chains:
        difference = record_corpus.difference(chain, results)
        if difference:
            failures.append(difference)
    assert not failures, "\n".join(failures[:SHOWN])
