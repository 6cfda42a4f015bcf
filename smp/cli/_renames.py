"""Objects that were renamed between two states, for reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from smp.cli._errors import Failure
from smp.cli._inputs import Inputs
from smp.cli._likeness import Leaves, alike, leaves_of
from smp.cli._objects import Entry
from smp.values import as_object

# Reports begin after all candidates are read, so there must not be many of them.
_MOST_OBJECTS: Final = 400

_Group = tuple[tuple[str, str], str]


def renamed_entries(
    new: Iterable[Entry], removed: Iterable[Entry], inputs: Inputs
) -> dict[int, Entry]:
    """Return by the number of a new entry the removed one that it was.

    They have the same kind and namespace, and share more than half of their scalars.
    """
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
    return found


def _leaves(entries: Iterable[Entry], inputs: Inputs) -> dict[int, Leaves]:
    leaves: dict[int, Leaves] = {}
    for entry in entries:
        # What cannot be read is reported when it is its turn.
        with suppress(Failure):
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
