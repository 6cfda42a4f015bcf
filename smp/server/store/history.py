"""Watching: the last changes in memory, and watchers that each read at its own pace.

A store that is not in memory is followed: one task extends the log by its changes, for
all watchers.

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
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from operator import attrgetter
from time import monotonic
from typing import Final, Protocol, TypeAlias

from smp.server.store.model import (
    FIRST_REVISION,
    ClosedError,
    Event,
    Expired,
    FutureRevisionError,
    StoreError,
    check_reached,
)

# Changes in order, and the revision up to which they are complete.
Batch: TypeAlias = tuple[Sequence[Event], int]
Changes: TypeAlias = Callable[[int], AsyncGenerator[Batch, None]]

HISTORY: Final = 10_000  # changes
PROGRESS: Final = 5.0  # seconds without changes before a progress event
_LOG_SIZE: Final = 64 << 20  # bytes of values
_RETRY: Final = 0.2  # seconds before a source that failed is followed again


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


async def watch(
    log: Log, older: Changes | None, prefix: str, since: int, *, progress: float
) -> AsyncGenerator[Event, None]:
    """Follow the changes of the keys with a prefix in a log.

    ``older`` reads what the log does not have any more; without it, that is Expired.
    """
    due = monotonic() + progress
    batches = _batches(log, older, max(since, FIRST_REVISION), progress)
    async with aclosing(batches):
        async for events, revision in batches:
            for event in events:
                if event.key.startswith(prefix):
                    yield event
                    due = monotonic() + progress
            # Changes of other keys are progress, too: clients that resume from its
            # revision need not read them again.
            if monotonic() >= due:
                yield Event("progress", "", b"", revision)
                due = monotonic() + progress


async def _batches(
    log: Log, older: Changes | None, since: int, seconds: float
) -> AsyncGenerator[Batch, None]:
    """Yield all changes after a revision; an empty batch after so many idle seconds."""
    while not log.closed:
        if since < log.start:
            # Fallen behind: read the durable history until the position is in the log.
            if not older:
                raise Expired(since)
            try:
                changes = older(since)
                async with aclosing(changes):
                    async for batch in changes:
                        yield batch
                        since = batch[1]
                        if since >= log.start:
                            break
            except StoreError:
                if not log.closed:  # a store that is being closed fails as well
                    raise
            continue
        # First the event, then the changes: see ``Log.changed``.
        changed = log.changed
        events = log.after(since)
        since = max(since, log.revision)
        yield events, since
        await wait(changed, seconds)


async def wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but not longer than so many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class Source(Protocol):
    """A durable store, and the history of its changes."""

    async def revision(self) -> int:
        """Return the revision of the last write."""
        ...

    def changes(self, since: int) -> AsyncGenerator[Batch, None]:
        """Follow every change after a revision, without end.

        Raises Expired, FutureRevisionError and StoreError.
        """
        ...


class Follower:
    """The log of a source, which is followed from the first watch on."""

    def __init__(self, source: Source, *, history: int, progress: float) -> None:
        self._source = source
        self._history = history
        self._progress = progress
        self._log: Log | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix, see ``Store.watch``."""
        present = await self._source.revision()
        check_reached(since, present)
        if self._closed:
            raise ClosedError
        if self._log is None or self._log.closed:
            self._log = Log(present, events=self._history)
            self._task = asyncio.create_task(self._follow(self._log))
        older = self._source.changes
        events = watch(self._log, older, prefix, since, progress=self._progress)
        async with aclosing(events):
            async for event in events:
                yield event

    async def close(self) -> None:
        """End the watches and the task."""
        self._closed = True
        if self._log and self._task:
            self._log.close()
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _follow(self, log: Log) -> None:
        """Extend a log by every change of the source, until cancelled."""
        try:
            while True:
                try:
                    changes = self._source.changes(log.revision)
                    async with aclosing(changes):
                        async for events, revision in changes:
                            log.extend(events, revision)
                except Expired:
                    # The source was compacted beyond the log. Watchers within the gap
                    # read the source, and get Expired from it.
                    with suppress(StoreError):
                        log.restart(await self._source.revision())
                except StoreError:
                    pass
                await asyncio.sleep(_RETRY)
        except FutureRevisionError:
            # The source is behind the log: it was replaced by another history. Watches
            # end, and clients list again.
            pass
        finally:
            log.close()
