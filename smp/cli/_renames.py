"""What was renamed: objects, and elements of lists, that are alike but for the name.

Two values are alike where they share more than half of their scalars. The work is
bounded: among many candidates only values that are equal are found.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import product
from typing import Final, TypeAlias, TypeVar

from smp._values.values import JSON, as_object, scalar_key
from smp.cli._errors import CommandFailure
from smp.cli._inputs import Inputs
from smp.cli._objects import Entry, ObjectRow

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


# Reports begin after all candidates are read, so there must not be many of them.
_MOST_OBJECTS: Final = 400

_Group = tuple[tuple[str, str], str]


def pair_renamed(
    rows: list[ObjectRow], removed: Iterable[Entry], inputs: Inputs
) -> list[ObjectRow]:
    """Pair the rows of renamed objects with the removed entries that they were.

    Both have the same kind and namespace, and share more than half of their scalars.
    """
    new = [row.entry for row in rows if row.partners and row.partners[0] is None]
    groups: defaultdict[_Group, tuple[list[Entry], list[Entry]]] = defaultdict(
        lambda: ([], [])
    )
    for side, entries in enumerate((removed, new)):
        for entry in entries:
            identity = entry.identity
            # generateName: a server makes a new name each time, so it was not renamed.
            if identity.is_generated:
                continue
            groups[identity.group_kind, identity.namespace][side].append(entry)
    found: dict[int, Entry] = {}
    budget = _MOST_OBJECTS
    for old_entries, new_entries in groups.values():
        if not old_entries or not new_entries:
            continue
        budget -= len(old_entries) + len(new_entries)
        if budget < 0:
            break
        old = {entry.number: entry for entry in old_entries}
        pairs = alike(_leaves(old_entries, inputs), _leaves(new_entries, inputs))
        found.update({number: old[former] for number, former in pairs.items()})
    return [
        ObjectRow(
            row.entry,
            (found[row.entry.number], *row.partners[1:]),
            notes=row.notes,
            is_renamed=True,
        )
        if row.entry.number in found
        else row
        for row in rows
    ]


def _leaves(entries: Iterable[Entry], inputs: Inputs) -> dict[int, Leaves]:
    leaves: dict[int, Leaves] = {}
    for entry in entries:
        # What cannot be read is reported when it is its turn.
        with suppress(CommandFailure):
            value = inputs.load(entry).value
            # The kind and the namespace are the same; of the metadata, the labels and
            # annotations are compared, as the name is another one.
            metadata = as_object(value.get("metadata"))
            compared = {
                name: member
                for name, member in value.items()
                if name not in {"apiVersion", "kind", "metadata", "status"}
            }
            compared["labels"] = metadata.get("labels")
            compared["annotations"] = metadata.get("annotations")
            leaves[entry.number] = leaves_of(compared)
    return leaves
