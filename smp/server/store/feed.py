"""Watching: the last changes in memory, and watchers that read them, each at its own
pace.

One task follows the source of changes, whatever the number of watchers. A watcher owns
nothing that it could leak: it is a position in the log. One that falls behind the log
reads the source itself until it has caught up.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from time import monotonic
from typing import Final, Protocol, TypeAlias

from smp.server.store.errors import (
    ClosedError,
    Expired,
    FutureRevisionError,
    StoreError,
)
from smp.server.store.model import FIRST_REVISION, Event

# Changes in order, and the revision up to which they are complete.
Batch: TypeAlias = tuple[Sequence[Event], int]
Changes: TypeAlias = Callable[[int], AsyncGenerator[Batch, None]]

HISTORY: Final = 10_000  # changes
PROGRESS: Final = 5.0  # quiet seconds after which a watcher is told the revision
_RETRY: Final = 0.2  # seconds before the source is asked again after it failed


class Source(Protocol):
    """A durable history of changes."""

    async def revision(self) -> int:
        """Return the revision of the last write."""
        ...

    async def origin(self) -> int:
        """Return the present revision, which ``changes`` is sure to reach or to pass."""
        ...

    def changes(self, since: int) -> AsyncGenerator[Batch, None]:
        """Follow every change after a revision, without end. Raises Expired and
        StoreError.
        """
        ...


class Log:
    """The changes after ``start`` up to ``revision``, bounded in number and in bytes of
    values.
    """

    def __init__(
        self, revision: int, *, events: int = HISTORY, size: int = 64 << 20
    ) -> None:
        self.start = self.revision = revision
        self.closed = False
        # set once, then replaced: whoever holds it misses nothing
        self.changed = asyncio.Event()
        self._events: list[Event] = []
        self._size = 0
        self._limits = events, size

    def extend(self, events: Sequence[Event], revision: int) -> None:
        """Add what happened up to a revision."""
        self._events.extend(events)
        self._size += sum(len(event.value) for event in events)
        self.revision = revision
        self._trim()
        self._wake()

    def restart(self, revision: int) -> None:
        """Forget everything: what happened until now is not known."""
        self._events, self._size = [], 0
        self.start = self.revision = revision
        self._wake()

    def after(self, since: int) -> Sequence[Event]:
        """Return the changes after a revision, which must not be before ``start``."""
        return self._events[bisect_right(self._events, since, key=_revision) :]

    def close(self) -> None:
        """End the watches."""
        self.closed = True
        self._wake()

    def _trim(self) -> None:
        events, size = self._limits
        surplus = 0
        while len(self._events) - surplus > events or self._size > size:
            self._size -= len(self._events[surplus].value)
            surplus += 1
        if surplus:
            self.start = self._events[surplus - 1].revision
            del self._events[:surplus]

    def _wake(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class Feed:
    """A log that follows a source, from the first watch on until it is closed."""

    def __init__(self, source: Source, *, history: int, progress: float) -> None:
        self._source = source
        self._history = history
        self._progress = progress
        self._log = Log(0)
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix, see ``Store.watch``."""
        check_present(since, await self._source.revision())
        await self._start()
        async with aclosing(
            watch(
                self._log, self._source.changes, prefix, since, progress=self._progress
            )
        ) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """End the watches and the task."""
        async with self._starting:
            self._closed = True
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _start(self) -> None:
        async with self._starting:
            if self._closed:
                raise ClosedError
            if not self._task or self._task.done():
                self._log = Log(await self._source.origin(), events=self._history)
                self._task = asyncio.create_task(self._follow(self._log))

    async def _follow(self, log: Log) -> None:
        try:
            while True:
                with suppress(StoreError):
                    await self._extend(log)
                await asyncio.sleep(_RETRY)
        except FutureRevisionError:
            pass  # another history has taken the place of this one
        finally:
            log.close()

    async def _extend(self, log: Log) -> None:
        try:
            async with aclosing(self._source.changes(log.revision)) as batches:
                async for events, revision in batches:
                    log.extend(events, revision)
        except Expired:
            log.restart(await self._source.origin())


async def watch(
    log: Log, older: Changes | None, prefix: str, since: int, *, progress: float
) -> AsyncGenerator[Event, None]:
    """Give the changes of the keys with a prefix, and after so many quiet seconds a
    progress.
    """
    due = monotonic() + progress
    async with aclosing(
        _batches(log, older, max(since, FIRST_REVISION), progress)
    ) as batches:
        async for events, revision in batches:
            for event in events:
                if event.key.startswith(prefix):
                    yield event
                    due = monotonic() + progress
            if monotonic() >= due:
                yield Event("progress", "", b"", revision)
                due = monotonic() + progress


async def _batches(
    log: Log, older: Changes | None, since: int, seconds: float
) -> AsyncGenerator[Batch, None]:
    while not log.closed:
        if since < log.start:
            if not older:
                raise Expired(since)
            async with aclosing(_older(log, older, since)) as batches:
                async for batch in batches:
                    yield batch
                    since = batch[1]
            continue
        changed = log.changed
        events, since = log.after(since), max(since, log.revision)
        yield events, since
        await wait(changed, seconds)


async def _older(log: Log, changes: Changes, since: int) -> AsyncGenerator[Batch, None]:
    """Read what is not in the log any more."""
    try:
        async with aclosing(changes(since)) as batches:
            async for batch in batches:
                yield batch
                if batch[1] >= log.start:
                    return
    except StoreError:
        if not log.closed:
            raise


async def wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but not longer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def check_present(revision: int, current: int) -> None:
    """Raise FutureRevisionError for a revision that the store has not reached."""
    if revision > current:
        raise FutureRevisionError(revision, current)


def _revision(event: Event) -> int:
    return event.revision
