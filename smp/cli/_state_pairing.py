"""Which documents of two states of files are about one object.

Unlike a manifest and what is live, of which the one is applied to the other, each
document of a state has one partner at most: an object that is in five files of one
state and in one of the other has been removed from four.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import TypeAlias

from smp._values.values import value_key
from smp.cli._errors import CommandFailure
from smp.cli._identity import Key
from smp.cli._inputs import Inputs
from smp.cli._objects import Entry, Listing, ambiguous_namespace

_Namespaces: TypeAlias = dict[str, list[Entry]]


class StatePairing:
    """The partners of the entries of one state among those of another one.

    Of the documents of one object those of equal content are paired first, wherever
    they are, and the others in their order. Where one state leaves out a namespace, its
    object is that of the only namespace of the other state, if each has one document.
    """

    def __init__(self, entries: Listing, others: Listing, inputs: Inputs) -> None:
        self._entries = entries
        self._others = others
        self._inputs = inputs
        self._partners: dict[int, Entry] = {}
        self._ambiguous: dict[int, list[Entry]] = {}
        self._paired: set[Key] = set()

    def partner(self, entry: Entry) -> Entry | None:
        """Return the document of the same object in the other state, or None.

        Raises Failure where it may be that of several objects.
        """
        key = entry.identity.key
        if key not in self._paired:
            self._paired.add(key)
            entries, others = self._sides
            self._pair(entries.get(key, {}), others.get(key, {}))
        if entry.number in self._ambiguous:
            raise ambiguous_namespace(entry, self._ambiguous[entry.number])
        return self._partners.get(entry.number)

    @cached_property
    def _sides(self) -> tuple[dict[Key, _Namespaces], dict[Key, _Namespaces]]:
        return _by_key(self._entries), _by_key(self._others)

    def unpaired(self) -> list[Entry]:
        """Return the entries of the other state that were no partner so far."""
        paired = {other.number for other in self._partners.values()}
        return [other for other in self._others if other.number not in paired]

    def _pair(self, entries: _Namespaces, others: _Namespaces) -> None:
        """Pair all documents of one group, kind and name."""
        for namespace, found in entries.items():
            if namespace in others:
                self._pair_documents(found, others[namespace])
        mine = {name: entries[name] for name in entries if name not in others}
        theirs = {name: others[name] for name in others if name not in entries}
        # What one of them leaves out may be any namespace that is not accounted for.
        if ("" in mine) == ("" in theirs):
            return
        unnamed = "" in mine
        claiming = {"": mine[""]} if unnamed else mine
        possible = theirs if unnamed else {"": theirs[""]}
        if len(possible) > 1 or len(claiming) > 1:
            every = [each for side in (possible, claiming) for each in _all(side)]
            for entry in _all(claiming):
                self._ambiguous[entry.number] = [e for e in every if e is not entry]
            return
        left, right = _all(claiming), _all(possible)
        if len(left) == len(right) == 1:
            self._partners[left[0].number] = right[0]

    def _pair_documents(self, entries: list[Entry], others: list[Entry]) -> None:
        """Pair the documents of one object: equal ones, and then in their order."""
        if len(entries) == len(others) == 1:
            self._partners[entries[0].number] = others[0]
            return
        equal: defaultdict[object, list[Entry]] = defaultdict(list)
        for other in reversed(others):
            content = self._content(other)
            if content is not None:
                equal[content].append(other)
        left: list[Entry] = []
        taken: set[int] = set()
        for entry in entries:
            content = self._content(entry)
            if content is not None and equal[content]:
                other = equal[content].pop()
                self._partners[entry.number] = other
                taken.add(other.number)
            else:
                left.append(entry)
        remaining = [other for other in others if other.number not in taken]
        for entry, other in zip(left, remaining, strict=False):
            self._partners[entry.number] = other

    def _content(self, entry: Entry) -> object:
        # What cannot be read is reported when it is its turn.
        with suppress(CommandFailure, RecursionError):
            return value_key(self._inputs.load(entry).value)
        return None


def _by_key(entries: Iterable[Entry]) -> dict[Key, _Namespaces]:
    by_key: dict[Key, _Namespaces] = {}
    for entry in entries:
        identity = entry.identity
        by_namespace = by_key.setdefault(identity.key, {})
        by_namespace.setdefault(identity.namespace, []).append(entry)
    return by_key


def _all(namespaces: _Namespaces) -> list[Entry]:
    return [entry for entries in namespaces.values() for entry in entries]
