"""A store that lives as long as its process."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from smp.server.store.errors import ClosedError, Expired
from smp.server.store.feed import HISTORY, PROGRESS, Log, check_present, watch
from smp.server.store.model import FIRST_REVISION, Event, Page, Stored, Writes, changed


class MemoryStore(Writes):
    """A dictionary, its keys in order, and the log of the last changes, from which
    snapshots are made.
    """

    def __init__(self, *, history: int = HISTORY, progress: float = PROGRESS) -> None:
        self._stored: dict[str, Stored] = {}
        self._keys: list[str] = []
        self._log = Log(FIRST_REVISION, events=history)
        self._progress = progress

    async def get(self, key: str) -> Stored | None:
        """Return the present value of a key."""
        self._check_open()
        return self._stored.get(key)

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return a page of a snapshot."""
        self._check_open()
        replaced = self._replaced_since(revision) if revision else {}
        keys = self._keys_from(prefix, after)
        if replaced:
            keys = sorted(
                {
                    *keys,
                    *(
                        key
                        for key in replaced
                        if key.startswith(prefix) and key > after
                    ),
                }
            )
        items = [
            item for key in keys if (item := replaced.get(key, self._stored.get(key)))
        ]
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
        check_present(since, await self.revision())
        async with aclosing(
            watch(self._log, None, prefix, since, progress=self._progress)
        ) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """End the watches."""
        self._log.close()

    async def _change(self, key: str, value: bytes | None, last: int) -> int | None:
        self._check_open()
        before = self._stored.get(key)
        if (before.revision if before else 0) != last:
            return None
        revision = self._log.revision + 1
        self._put(key, Stored(key, value, revision) if value is not None else None)
        self._log.extend([changed(key, value, revision, before)], revision)
        return revision

    def _put(self, key: str, stored: Stored | None) -> None:
        if stored is None:
            del self._stored[key]
            del self._keys[bisect_left(self._keys, key)]
            return
        if key not in self._stored:
            insort(self._keys, key)
        self._stored[key] = stored

    def _keys_from(self, prefix: str, after: str) -> Sequence[str]:
        start = max(
            bisect_left(self._keys, prefix),
            bisect_right(self._keys, after) if after else 0,
        )
        end = bisect_right(self._keys, prefix, key=lambda key: key[: len(prefix)])
        return self._keys[start:end]

    def _replaced_since(self, revision: int) -> dict[str, Stored | None]:
        """Return what the keys that changed after a revision held at it."""
        check_present(revision, self._log.revision)
        if revision < self._log.start:
            raise Expired(revision)
        return {
            event.key: event.before for event in reversed(self._log.after(revision))
        }

    def _check_open(self) -> None:
        if self._log.closed:
            raise ClosedError
