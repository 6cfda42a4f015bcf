"""The objects of a store in memory, and every snapshot that the last changes allow."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence

from smp.server.store.errors import Expired, check_reached
from smp.server.store.history import HISTORY, Log
from smp.server.store.model import Event, Page, Stored


class Contents:
    """A dictionary, its keys in order, and the log of the last changes.

    A snapshot of the past is the present with the changes of the log undone.
    """

    def __init__(
        self, items: Iterable[Stored], revision: int, *, history: int = HISTORY
    ) -> None:
        self.log: Log = Log(revision, events=history)
        self._stored = {item.key: item for item in items}
        self._keys = sorted(self._stored)

    def get(self, key: str) -> Stored | None:
        """Return the value of a key."""
        return self._stored.get(key)

    def extend(self, events: Sequence[Event], revision: int) -> None:
        """Take over the changes up to a revision."""
        for event in events:
            if event.type == "delete":
                if self._stored.pop(event.key, None):
                    del self._keys[bisect_left(self._keys, event.key)]
                continue
            if event.key not in self._stored:
                insort(self._keys, event.key)
            self._stored[event.key] = Stored(event.key, event.value, event.revision)
        self.log.extend(events, revision)

    def restart(self, items: Iterable[Stored], revision: int) -> None:
        """Take over a snapshot: the changes before it are not known."""
        self._stored = {item.key: item for item in items}
        self._keys = sorted(self._stored)
        self.log.restart(revision)

    def page(self, prefix: str, *, limit: int, after: str, revision: int) -> Page:
        """Return a page of a snapshot, see ``Store.list``.

        Raises Expired and FutureRevisionError.
        """
        # The keys are sorted, so those with the prefix are neighbours.
        start = bisect_left(self._keys, prefix)
        if after:
            start = max(start, bisect_right(self._keys, after))
        end = bisect_right(self._keys, prefix, key=lambda key: key[: len(prefix)])
        replaced = self._replaced_since(revision) if revision else {}
        if not replaced:
            size = min(limit, end - start) if limit else end - start
            size = max(0, size)
            keys = self._keys[start : start + size]
            return Page(
                tuple([self._stored[key] for key in keys]),
                revision or self.log.revision,
                max(0, end - start - size),
            )
        # Keys that were deleted since are in the snapshot, too.
        names = set(self._keys[start:end])
        for key in replaced:
            if key.startswith(prefix) and key > after:
                names.add(key)
        items: list[Stored] = []
        for key in sorted(names):
            item = replaced[key] if key in replaced else self._stored[key]
            if item is not None:  # None: created since the revision
                items.append(item)
        size = limit or len(items)
        return Page(tuple(items[:size]), revision, max(0, len(items) - size))

    def _replaced_since(self, revision: int) -> dict[str, Stored | None]:
        """Return what the keys that changed since a revision held then."""
        check_reached(revision, self.log.revision)
        if revision < self.log.start:
            raise Expired(revision)
        replaced: dict[str, Stored | None] = {}
        # Backwards, so that the oldest of several changes of a key counts.
        for event in reversed(self.log.after(revision)):
            replaced[event.key] = event.before
        return replaced
