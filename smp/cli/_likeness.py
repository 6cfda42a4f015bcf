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
    candidates: list[tuple[float, Removed, Added]] = []
    for old, new in product(removed, added):
        total = removed[old].total() + added[new].total()
        # The part of the scalars that both have, from 0 to 1. Two values that have only
        # their names are not alike.
        shared = 2 * (removed[old] & added[new]).total()
        if total and shared / total > _ENOUGH:
            candidates.append((shared / total, old, new))
    candidates.sort(key=lambda candidate: candidate[0], reverse=True)
    found: dict[Added, Removed] = {}
    taken: set[Removed] = set()
    for _likeness, old, new in candidates:
        if new not in found and old not in taken:
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
