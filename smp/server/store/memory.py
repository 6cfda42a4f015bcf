"""A store that lives as long as its process."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import AsyncGenerator, Sequence

from smp.server.store.base import HISTORY, PROGRESS, Batch, Log, Store
from smp.server.store.model import (
    FIRST_REVISION,
    ChangedError,
    ClosedError,
    Expired,
    Page,
    Stored,
    change_event,
    check_reached,
)


class MemoryStore(Store):
    """A dictionary, its keys in order, and the log of the last changes.

    A snapshot of the past is the present with the changes of the log undone.
    """

    _log: Log

    def __init__(self, *, history: int = HISTORY, progress: float = PROGRESS) -> None:
        super().__init__(history=history, progress=progress)
        self._log = Log(FIRST_REVISION, events=history)
        self._stored: dict[str, Stored] = {}
        self._keys: list[str] = []

    async def get(self, key: str) -> Stored | None:
        """Return the current value of a key."""
        self._check_open()
        return self._stored.get(key)

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return a page of a snapshot."""
        self._check_open()
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
                revision or self._log.revision,
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

    async def revision(self) -> int:
        """Return the revision of the last write."""
        self._check_open()
        return self._log.revision

    async def changes(self, since: int) -> AsyncGenerator[Batch, None]:
        """Return what the log has, which is all that there is."""
        if since < self._log.start:
            raise Expired(since)
        yield self._log.after(since), self._log.revision

    async def _change(
        self, key: str, value: bytes | None, last: int, unchanged: Sequence[Stored]
    ) -> int | None:
        self._check_open()
        # There is no await in here, so nothing happens between comparing and writing.
        before = self._stored.get(key)
        if (before.revision if before else 0) != last:
            return None
        for other in unchanged:
            current = self._stored.get(other.key)
            if current is None or current.revision != other.revision:
                raise ChangedError
        revision = self._log.revision + 1
        if value is None:
            del self._stored[key]
            del self._keys[bisect_left(self._keys, key)]
        else:
            if before is None:
                insort(self._keys, key)
            self._stored[key] = Stored(key, value, revision)
        self._log.extend([change_event(key, value, revision, before)], revision)
        return revision

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError

    def _replaced_since(self, revision: int) -> dict[str, Stored | None]:
        """Return what the keys that changed since a revision held then."""
        check_reached(revision, self._log.revision)
        if revision < self._log.start:
            raise Expired(revision)
        # Backwards, so that the oldest of several changes of a key counts.
        changes = reversed(self._log.after(revision))
        return {event.key: event.before for event in changes}
