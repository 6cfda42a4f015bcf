"""A store that lives as long as its process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from smp.server.store.contents import Contents
from smp.server.store.errors import ChangedError, ClosedError, check_reached
from smp.server.store.history import HISTORY, PROGRESS, watch
from smp.server.store.model import (
    FIRST_REVISION,
    Event,
    Page,
    Stored,
    Writes,
    change_event,
)


class MemoryStore(Writes):
    """The contents of a store, and nothing behind them."""

    def __init__(self, *, history: int = HISTORY, progress: float = PROGRESS) -> None:
        self._contents = Contents((), FIRST_REVISION, history=history)
        self._progress = progress

    async def get(self, key: str, *, not_older: int | None = None) -> Stored | None:  # noqa: ARG002 - the newest never is older
        """Return the current value of a key."""
        self._check_open()
        return self._contents.get(key)

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return a page of a snapshot."""
        self._check_open()
        return self._contents.page(prefix, limit=limit, after=after, revision=revision)

    async def revision(self) -> int:
        """Return the revision of the last write."""
        self._check_open()
        return self._contents.log.revision

    async def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix."""
        check_reached(since, await self.revision())
        log = self._contents.log
        events = watch(log, None, prefix, since, progress=self._progress)
        async with aclosing(events):
            async for event in events:
                yield event

    async def maintain(self) -> None:
        """Return at once: there is nothing to do."""

    async def close(self) -> None:
        """End the watches."""
        self._contents.log.close()

    async def _change(
        self,
        key: str,
        value: bytes | None,
        last: int,
        unchanged: Sequence[Stored] = (),
    ) -> int | None:
        self._check_open()
        # There is no await in here, so nothing happens between comparing and writing.
        before = self._contents.get(key)
        if (before.revision if before else 0) != last:
            return None
        for other in unchanged:
            current = self._contents.get(other.key)
            if current is None or current.revision != other.revision:
                raise ChangedError
        revision = self._contents.log.revision + 1
        event = change_event(key, value, revision, before)
        self._contents.extend([event], revision)
        return revision

    def _check_open(self) -> None:
        if self._contents.log.closed:
            raise ClosedError
