"""What was renamed: of what is removed and what is added, those that are alike.

Two values are alike where they share more than half of their scalars. The work is
bounded: among many candidates only values that are equal are found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Final, TypeAlias, TypeVar

from smp.values import JSON, scalar_key

Removed = TypeVar("Removed")
Added = TypeVar("Added")

# How often each scalar is at each path; the paths have no indices.
Leaves: TypeAlias = Counter[int]

_ENOUGH: Final = 0.5
_MOST_PAIRS: Final = 400


def leaves_of(value: JSON) -> Leaves:
    """Return the scalars of a value, each as a number that is likely its own."""
    leaves: Leaves = Counter()
    pending: list[tuple[int, JSON]] = [(0, value)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, dict):
            pending += [(hash((path, name)), child) for name, child in node.items()]
        elif isinstance(node, list):
            pending += [(path, element) for element in node]
        elif node is not None:
            leaves[hash((path, scalar_key(node)))] += 1
    return leaves


def alike(
    removed: Mapping[Removed, Leaves], added: Mapping[Added, Leaves]
) -> dict[Added, Removed]:
    """Return for what was added what it was before, the most alike pairs first."""
    if len(removed) * len(added) > _MOST_PAIRS:
        return _equal(removed, added)
    scores = [
        (-_likeness(removed[old], added[new]), number, old, new)
        for number, (old, new) in enumerate(product(removed, added))
    ]
    scores.sort(key=lambda score: score[:2])
    found: dict[Added, Removed] = {}
    taken: set[Removed] = set()
    for score, _number, old, new in scores:
        if -score > _ENOUGH and new not in found and old not in taken:
            found[new] = old
            taken.add(old)
    return found


def _equal(
    removed: Mapping[Removed, Leaves], added: Mapping[Added, Leaves]
) -> dict[Added, Removed]:
    by_leaves: dict[frozenset[tuple[int, int]], list[Removed]] = {}
    for old, leaves in removed.items():
        if leaves:
            by_leaves.setdefault(frozenset(leaves.items()), []).append(old)
    for candidates in by_leaves.values():
        # The first one is taken first.
        candidates.reverse()
    found: dict[Added, Removed] = {}
    for new, leaves in added.items():
        same = by_leaves.get(frozenset(leaves.items()))
        if same:
            found[new] = same.pop()
    return found


def _likeness(left: Leaves, right: Leaves) -> float:
    """Return the part of the scalars that two values share, from 0 to 1."""
    total = left.total() + right.total()
    # Two values that have only their names are not alike.
    return 2 * (left & right).total() / total if total else 0.0
