"""The contract of a store, its log of the last changes, and its watches.

A ``Log`` has the last changes, for any number of watchers. A watcher is only a position
in the log, so a slow or abandoned one keeps nothing in memory:

1. it takes the changes after its position from the log, and advances;
2. it waits until the log is extended, then takes again;
3. where the log was trimmed beyond its position, it reads the durable history itself
   until it has caught up with the log.

Example: a log of two changes holds revisions 8 and 9. A watcher at 8 takes 9 from the
log. A watcher at 5 reads 6, 7, 8 from the durable history, is then within the log, and
takes 9 from there. A watcher at 9 waits.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from operator import attrgetter
from time import monotonic
from typing import Final, TypeAlias

from smp.server.store.model import (
    FIRST_REVISION,
    ClosedError,
    Event,
    Expired,
    FutureRevisionError,
    Page,
    Stored,
    StoreError,
    check_reached,
)

# Changes in order, and the revision up to which they are complete.
Batch: TypeAlias = tuple[Sequence[Event], int]

HISTORY: Final = 10_000  # changes
PROGRESS: Final = 5.0  # seconds without changes before a progress event
_LOG_SIZE: Final = 64 << 20  # bytes of values
_RETRY: Final = 0.2  # seconds before a store that failed is followed again


class Log:
    """The changes after ``start`` up to ``revision``, the oldest dropped first.

    It is bounded in the number of changes and in the bytes of their values.
    """

    def __init__(
        self, revision: int, *, events: int = HISTORY, size: int = _LOG_SIZE
    ) -> None:
        self.start: int = revision
        self.revision: int = revision
        self.closed: bool = False
        # Set at the next change, and then replaced. A watcher that takes it before it
        # reads the log, and waits for it afterwards, misses no change in between.
        self.changed: asyncio.Event = asyncio.Event()
        self._events: list[Event] = []
        self._size = 0
        self._max_events = events
        self._max_size = size

    def extend(self, events: Sequence[Event], revision: int) -> None:
        """Append the changes up to a revision; drop the oldest beyond the bounds."""
        self._events.extend(events)
        self._size += sum(len(event.value) for event in events)
        self.revision = revision
        # Newly read changes may be more than the bounds allow: they are dropped, too.
        surplus = 0
        while (
            len(self._events) - surplus > self._max_events
            or self._size > self._max_size
        ):
            self._size -= len(self._events[surplus].value)
            surplus += 1
        if surplus:
            self.start = self._events[surplus - 1].revision
            del self._events[:surplus]
        self._wake()

    def restart(self, revision: int) -> None:
        """Drop everything: the changes before a revision are not known."""
        self._events = []
        self._size = 0
        self.start = self.revision = revision
        self._wake()

    def after(self, since: int) -> Sequence[Event]:
        """Return the changes after a revision, which must not be before ``start``."""
        first = bisect_right(self._events, since, key=attrgetter("revision"))
        return self._events[first:]

    def close(self) -> None:
        """End the watches."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class Store(ABC):
    """Keys and values with optimistic concurrency, snapshots and watches.

    The contract is that of etcd, on which Kubernetes builds its resourceVersion and its
    watches: one counter for the whole store grows with every write; a write names the
    revision that it replaces; a snapshot and a watch may begin at any revision that has
    not been compacted. A key is any text but the empty one; keys are ordered by code
    points. A read that starts after a write was acknowledged returns what was written.
    Any method may raise StoreError, a write also OutcomeUnknownError and TooLargeError;
    a write whose task is cancelled may or may not be executed.

    The last ``history`` changes are kept in memory for watches, which deliver a
    progress event after ``progress`` seconds without changes. From the first watch on
    one task extends the log by what ``changes`` yields.
    """

    def __init__(self, *, history: int = HISTORY, progress: float = PROGRESS) -> None:
        self._history = history
        self._progress = progress
        self._log: Log | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    @abstractmethod
    async def get(self, key: str) -> Stored | None:
        """Return the current value of a key."""

    @abstractmethod
    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return the keys with a prefix, in order, that come after a key.

        A ``limit`` of 0 means no limit. A revision other than 0 selects the snapshot.
        Raises Expired and FutureRevisionError.
        """

    @abstractmethod
    async def revision(self) -> int:
        """Return the revision of the last write."""

    @abstractmethod
    def changes(self, since: int) -> AsyncGenerator[Batch, None]:
        """Follow every change after a revision in the durable history, without end.

        Raises Expired, FutureRevisionError and StoreError.
        """

    @abstractmethod
    async def _change(
        self, key: str, value: bytes | None, last: int, unchanged: Sequence[Stored]
    ) -> int | None:
        """Write a value, or with None delete the key, if ``last`` wrote it last.

        A ``last`` of 0: the key must not exist. Returns the new revision, or None where
        the condition does not hold. Raises ChangedError where it holds, but one of the
        ``unchanged`` keys was written or deleted since it was read.
        """

    async def create(
        self, key: str, value: bytes, unchanged: Sequence[Stored] = ()
    ) -> int | None:
        """Write a new key: see ``_change``."""
        if not key:
            raise StoreError("a key must not be empty", code="empty-key")
        return await self._change(key, value, 0, unchanged)

    # A revision of 0 would mean "the key must not exist" to _change, so it is answered
    # here: no key was ever written at it.

    async def swap(
        self, key: str, value: bytes, revision: int, unchanged: Sequence[Stored] = ()
    ) -> int | None:
        """Replace the value written at a revision: see ``_change``."""
        if revision <= 0:
            return None
        return await self._change(key, value, revision, unchanged)

    async def delete(
        self, key: str, revision: int, unchanged: Sequence[Stored] = ()
    ) -> int | None:
        """Delete the value written at a revision: see ``_change``."""
        if revision <= 0:
            return None
        return await self._change(key, None, revision, unchanged)

    async def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix: every change after a revision, once, in order.

        Ends when the store is closed. Raises FutureRevisionError at the start, and
        Expired at any time, where the history was compacted.
        """
        present = await self.revision()
        check_reached(since, present)
        if self._is_closed:
            raise ClosedError
        if self._log is None or self._log.closed:
            self._log = Log(present, events=self._history)
            self._task = asyncio.create_task(self._follow(self._log))
        due = monotonic() + self._progress
        batches = self._batches(self._log, max(since, FIRST_REVISION))
        async with aclosing(batches):
            async for events, revision in batches:
                for event in events:
                    if event.key.startswith(prefix):
                        yield event
                        due = monotonic() + self._progress
                # Changes of other keys are progress, too: clients that resume from its
                # revision need not read them again.
                if monotonic() >= due:
                    yield Event("progress", "", b"", revision)
                    due = monotonic() + self._progress

    async def close(self) -> None:
        """End the watches, finish the writes and release all resources."""
        self._is_closed = True
        if self._log:
            self._log.close()
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _batches(self, log: Log, since: int) -> AsyncGenerator[Batch, None]:
        """Yield all changes after a revision; an empty batch after idle seconds."""
        while not log.closed:
            if since < log.start:
                # Fallen behind: read the durable history until the position is in the
                # log. A store that is being closed fails as well.
                try:
                    changes = self.changes(since)
                    async with aclosing(changes):
                        async for batch in changes:
                            yield batch
                            since = batch[1]
                            if since >= log.start:
                                break
                except StoreError:
                    if not log.closed:
                        raise
                continue
            # First the event, then the changes: see ``Log.changed``.
            changed = log.changed
            events = log.after(since)
            since = max(since, log.revision)
            yield events, since
            await wait(changed, self._progress)

    async def _follow(self, log: Log) -> None:
        """Extend a log by every change of the store, until cancelled."""
        try:
            while True:
                try:
                    changes = self.changes(log.revision)
                    async with aclosing(changes):
                        async for events, revision in changes:
                            log.extend(events, revision)
                except Expired:
                    # The store was compacted beyond the log. Watchers within the gap
                    # read the store, and get Expired from it.
                    with suppress(StoreError):
                        log.restart(await self.revision())
                except StoreError:
                    pass
                await asyncio.sleep(_RETRY)
        except FutureRevisionError:
            # The store is behind the log: it was replaced by another history. Watches
            # end, and clients list again.
            pass
        finally:
            log.close()


async def wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but not longer than so many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
