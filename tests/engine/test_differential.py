"""The engine beside the reference: random cases without end, and recorded ones wherever
there is no Go.

``SMP_FUZZ_CASES`` sets the number of random cases for each operation, ``SMP_FUZZ_SEED``
the first seed; a failure prints the request and both answers. tests/differential.py
says which differences are explained."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.record import corpus as record_corpus
from tests.support import composition
from tests.support.differential import (
    OPERATIONS,
    Verdict,
    agree,
    compare,
    made,
    ours,
    prepared,
    shown,
)
from tests.support.reference import Reference, needs_go, reference

CASES = int(os.environ.get("SMP_FUZZ_CASES", "1400"))
SEED = int(os.environ.get("SMP_FUZZ_SEED", "0"))
BATCH = 1000


@pytest.fixture(scope="module")
def go() -> Reference:
    shared = reference()
    assert shared is not None
    return prepared(shared)


def batches() -> Iterator[range]:
    for first in range(SEED, SEED + CASES, BATCH):
        yield range(first, min(first + BATCH, SEED + CASES))


Record = Callable[[str, object], None]


def reported(counts: Counter[str], record: Record, name: str) -> None:
    """Print the counts (-s shows them), and record them in a report."""
    print(f"\n{name}: {dict(counts.most_common())}")
    record(name, dict(counts))


@pytest.mark.slow
@needs_go
@pytest.mark.parametrize("documents", ["valid", "broken"])
@pytest.mark.parametrize("op", OPERATIONS)
def test_smp_answers_what_the_reference_answers(
    go: Reference, op: str, documents: str, record_property: Record
) -> None:
    counts: Counter[str] = Counter()
    unexplained: list[Verdict] = []
    for batch in batches():
        for verdict in compare(
            go, [made(op, seed, broken=documents == "broken") for seed in batch]
        ):
            counts[
                "unexplained" if verdict.reason is None else verdict.reason or "agreed"
            ] += 1
            unexplained += [verdict] if verdict.reason is None else []
    reported(counts, record_property, f"{op} {documents}")
    unexplained.sort(key=lambda verdict: len(shown(verdict)))
    assert not unexplained, "\n".join(map(shown, unexplained[:5]))


@pytest.mark.slow
@needs_go
def test_a_composed_patch_does_what_its_patches_do_in_turn(
    go: Reference, record_property: Record
) -> None:
    counts: Counter[str] = Counter()
    broken: list[composition.Outcome] = []
    for batch in batches():
        for outcome in composition.outcomes(
            go, [composition.made(seed) for seed in batch]
        ):
            counts[outcome.word] += 1
            broken += [outcome] if outcome.word == composition.BROKEN else []
    reported(counts, record_property, "compose")
    broken.sort(key=lambda outcome: len(str(outcome)))
    assert not broken, "\n".join(map(str, broken[:5]))
    refused = counts[composition.REFUSED] + counts[composition.REFUSED_NEEDLESSLY]
    assert refused < 0.03 * counts.total()


def test_smp_answers_what_was_recorded() -> None:
    cases = list(record_corpus.cases())
    assert len(cases) >= 6000
    failures = []
    for case, answer in cases:
        own = ours(case)
        if not agree(case, own, answer):
            failures.append(shown(Verdict(case, own, answer, None)))
    assert not failures, "\n".join(failures[:5])


def test_compositions_do_what_was_recorded() -> None:
    chains = list(record_corpus.chains())
    assert len(chains) >= 500
    failures = [found for found in map(record_corpus.broken_law, chains) if found]
    assert not failures, "\n".join(failures[:5])
