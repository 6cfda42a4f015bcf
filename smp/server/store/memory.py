"""A store that lives as long as its process."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import AsyncGenerator
from contextlib import aclosing

from smp.server.store.errors import ClosedError, Expired, check_reached
from smp.server.store.feed import HISTORY, PROGRESS, Log, watch
from smp.server.store.model import (
    FIRST_REVISION,
    Event,
    Page,
    Stored,
    Writes,
    change_event,
)


class MemoryStore(Writes):
    """A dictionary, its keys in order, and the log of the last changes.

    A snapshot of the past is the present with the changes of the log undone.
    """

    def __init__(self, *, history: int = HISTORY, progress: float = PROGRESS) -> None:
        self._stored: dict[str, Stored] = {}
        self._keys: list[str] = []
        self._log = Log(FIRST_REVISION, events=history)
        self._progress = progress

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
        keys = self._keys[start:end]
        # What the keys that changed since the revision held then.
        replaced: dict[str, Stored | None] = {}
        if revision:
            check_reached(revision, self._log.revision)
            if revision < self._log.start:
                raise Expired(revision)
            # Backwards, so that the oldest of several changes of a key counts.
            for event in reversed(self._log.after(revision)):
                replaced[event.key] = event.before
        if replaced:
            # Keys that were deleted since are in the snapshot, too.
            for key in replaced:
                if key.startswith(prefix) and key > after:
                    keys.append(key)
            keys = sorted(set(keys))
        items: list[Stored] = []
        for key in keys:
            item = replaced[key] if key in replaced else self._stored[key]
            if item is not None:  # None: created since the revision
                items.append(item)
        size = limit or len(items)
        return Page(
            tuple(items[:size]),
            revision or self._log.revision,
            max(0, len(items) - size),
        )

    async def revision(self) -> int:
        """Return the revision of the last write."""
        self._check_open()
        return self._log.revision

    async def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix."""
        check_reached(since, await self.revision())
        events = watch(self._log, None, prefix, since, progress=self._progress)
        async with aclosing(events):
            async for event in events:
                yield event

    async def close(self) -> None:
        """End the watches."""
        self._log.close()

    async def _change(self, key: str, value: bytes | None, last: int) -> int | None:
        self._check_open()
        # There is no await in here, so nothing happens between comparing and writing.
        before = self._stored.get(key)
        if (before.revision if before else 0) != last:
            return None
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
        if self._log.closed:
            raise ClosedError
