"""A durable store's objects in memory, as exact as the durable store itself.

One task per store follows the durable history (its ``Source``), so that reads and
watches need not ask it for values. An API server has such a cache for each resource
(Go: k8s.io/apiserver, storage/cacher). A read that starts after a write was
acknowledged has to return what was written, through whichever server it was written:

1. it asks the source for its revision, which is cheap, and those that ask at the same
   time share the question;
2. it waits until the cache has every change up to that revision;
3. it reads the cache.

Where the cache does not get there, because it is being loaded or lost its connection,
the source is read instead. An acknowledged write of this process is in the cache at
once where every change before it is, so that its watchers need not wait until it comes
back from the source. Example: the cache is at 7, and another server wrote 8. A
read learns that the revision is 8, waits until the change 8 arrives, and returns it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from time import monotonic
from typing import Final, Protocol

from smp.server.store.contents import Contents
from smp.server.store.errors import (
    ClosedError,
    Expired,
    FutureRevisionError,
    StoreError,
    check_reached,
)
from smp.server.store.history import Batch, wait, watch
from smp.server.store.model import Event, Page, Stored, change_event

_RETRY: Final = 0.2  # seconds before a source that failed is read again
_PROMPT: Final = 0.05  # seconds in which changes usually arrive
_PATIENCE: Final = 0.5  # seconds after which a read does not wait for the cache
_PAGE: Final = 500  # objects that are loaded at a time


class Source(Protocol):
    """A durable store, and the history of its changes."""

    async def revision(self) -> int:
        """Return the revision of the last write."""
        ...

    async def advance(self) -> None:
        """Let ``changes`` reach the current revision of the store."""
        ...

    def changes(
        self, since: int, known: Callable[[], int] | None = None
    ) -> AsyncGenerator[Batch, None]:
        """Follow every change after a revision, without end.

        What is not after the revision that ``known`` returns need not be delivered.
        Raises Expired and StoreError.
        """
        ...

    async def read(self, key: str) -> Stored | None:
        """Return the current value of a key."""
        ...

    async def read_page(
        self, prefix: str, *, limit: int, after: str, revision: int
    ) -> Page:
        """Return a page of a snapshot, see ``Store.list``."""
        ...


class Cache:
    """What a store reads and watches; it follows the source from the first use on."""

    def __init__(self, source: Source, *, history: int, progress: float) -> None:
        self._source = source
        self._history = history
        self._progress = progress
        self._contents = Contents((), 0, history=history)
        # Acknowledged writes of this process that the source has not delivered yet: the
        # revision, and the value where the key was not deleted.
        self._written: dict[str, tuple[int, Stored | None]] = {}
        # The same by revision, to be taken over when all changes before have come.
        self._ahead: dict[int, tuple[str, bytes | None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._loaded = asyncio.Event()
        self._is_following = False
        self._closed = False
        # The question that was sent last, and the one that is sent after its answer.
        self._asked: asyncio.Task[bool] | None = None
        self._next: asyncio.Task[bool] | None = None

    async def get(self, key: str, not_older: int | None) -> Stored | None:
        """Return the value of a key, see ``Store.get``."""
        if not_older is None:
            is_current = await self._is_current()
        else:
            is_current = await self._has_reached(not_older)
        if not is_current:
            return await self._source.read(key)
        written = self._written.get(key)
        return written[1] if written else self._contents.get(key)

    async def list(self, prefix: str, *, limit: int, after: str, revision: int) -> Page:
        """Return a page of a snapshot, see ``Store.list``."""
        if revision:
            log = self._contents.log
            is_cached = self._is_following and log.start <= revision <= log.revision
        else:
            is_cached = await self._is_current()
        if is_cached:
            return self._contents.page(
                prefix, limit=limit, after=after, revision=revision
            )
        return await self._source.read_page(
            prefix, limit=limit, after=after, revision=revision
        )

    async def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix, see ``Store.watch``."""
        check_reached(since, await self._source.revision())
        await self._until_loaded(self._follow_source())
        log, older = self._contents.log, self._source.changes
        events = watch(log, older, prefix, since, progress=self._progress)
        async with aclosing(events):
            async for event in events:
                yield event

    @property
    def revision(self) -> int:
        """The revision up to which the cache has every change."""
        return self._contents.log.revision

    def add(self, key: str, value: bytes | None, revision: int) -> None:
        """Take over an acknowledged write; a value of None is a delete."""
        if revision <= self.revision:
            return  # its change has been delivered already
        known = self._written.get(key)
        if known is None or known[0] < revision:
            stored = None if value is None else Stored(key, value, revision)
            self._written[key] = revision, stored
        self._ahead[revision] = key, value
        if self._is_following:
            self._take_over(self._contents)

    def _take_over(self, contents: Contents) -> None:
        """Extend the contents by the writes that come directly after them.

        Revisions grow by one with each write to the store, so there is none between.
        """
        revision = contents.log.revision
        while written := self._ahead.pop(revision + 1, None):
            revision += 1
            key, value = written
            before = contents.get(key)
            contents.extend([change_event(key, value, revision, before)], revision)
        self._forget_written(contents.log.revision)

    async def close(self) -> None:
        """End the watches and the tasks."""
        self._closed = True
        # The end of the task closes the log, which ends the watches.
        tasks = [task for task in (self._task, self._asked, self._next) if task]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _is_current(self) -> bool:
        """Tell whether the cache has everything that was acknowledged before."""
        self._follow_source()
        if not self._is_following:
            return False
        # The answer to a question that was sent before may be older than this call.
        if self._next is None:
            self._next = asyncio.create_task(self._ask(self._asked))
            self._next.add_done_callback(_retrieve)
        question = self._next
        try:
            return await asyncio.shield(question)
        except asyncio.CancelledError:
            if self._closed and question.cancelled():
                raise ClosedError from None
            raise

    async def _ask(self, former: asyncio.Task[bool] | None) -> bool:
        """Ask the source for its revision; tell whether the cache reaches it."""
        if former:
            await asyncio.wait([former])
        self._asked, self._next = self._next, None
        known = self._contents.log.revision
        revision = await self._source.revision()
        # A store that is behind what it has delivered was replaced by another one, say
        # a restored backup: what is known of the former one is wrong.
        if revision < known and self._task:
            self._task.cancel()
            self._is_following = False
        return await self._has_reached(revision)

    async def _has_reached(self, revision: int) -> bool:
        """Wait until the cache has all changes up to a revision.

        False where that takes too long.
        """
        contents = self._contents
        log = contents.log
        started = monotonic()
        is_late = False
        while self._is_following and contents is self._contents:
            changed = log.changed
            if log.revision >= revision:
                return True
            waited = monotonic() - started
            if waited >= _PATIENCE:
                break
            # What another user of the source writes is not delivered: make the source
            # deliver something, which shows that there is nothing before.
            if waited >= _PROMPT and not is_late:
                is_late = True
                with suppress(StoreError):
                    await self._source.advance()
            await wait(changed, _PATIENCE if is_late else _PROMPT)
        return False

    async def _until_loaded(self, following: asyncio.Task[None]) -> None:
        """Wait until the contents are loaded. Raises ClosedError."""
        loaded = asyncio.create_task(self._loaded.wait())
        try:
            await asyncio.wait([following, loaded], return_when=asyncio.FIRST_COMPLETED)
        finally:
            loaded.cancel()
        if not self._loaded.is_set():
            raise ClosedError

    def _follow_source(self) -> asyncio.Task[None]:
        """Follow the source from now on, if that is not so yet. Raises ClosedError."""
        if self._closed:
            raise ClosedError
        if not self._task or self._task.done():
            self._contents = Contents((), 0, history=self._history)
            self._written = {}
            self._ahead = {}
            self._loaded.clear()
            self._task = asyncio.create_task(self._follow(self._contents))
        return self._task

    async def _follow(self, contents: Contents) -> None:
        """Load the contents and extend them by every change, until cancelled."""
        is_loaded = False
        try:
            while True:
                with suppress(StoreError, Expired):
                    if not is_loaded:
                        await self._load(contents)
                        is_loaded = True
                    try:
                        changes = self._source.changes(
                            contents.log.revision, lambda: contents.log.revision
                        )
                        async with aclosing(changes):
                            self._is_following = True
                            self._take_over(contents)
                            async for events, revision in changes:
                                self._extend(contents, events, revision)
                    except Expired:
                        # The source was compacted beyond the contents. Watchers within
                        # the gap read the source, and get Expired from it.
                        is_loaded = False
                self._is_following = False
                await asyncio.sleep(_RETRY)
        except FutureRevisionError:
            # The source is behind the contents: it was replaced by another history.
            # Watches end, and clients list again.
            pass
        finally:
            self._is_following = False
            contents.log.close()

    def _extend(
        self, contents: Contents, events: Sequence[Event], revision: int
    ) -> None:
        """Extend the contents by changes of the source."""
        known = contents.log.revision
        if revision > known:
            # Writes of this process may be there already.
            new = [event for event in events if event.revision > known]
            contents.extend(new, revision)
            self._take_over(contents)

    async def _load(self, contents: Contents) -> None:
        """Read the snapshot of now. Raises StoreError and Expired."""
        revision = await self._source.revision()
        items: list[Stored] = []
        after = ""
        while True:
            page = await self._source.read_page(
                "", limit=_PAGE, after=after, revision=revision
            )
            items.extend(page.items)
            if not page.more:
                break
            after = page.items[-1].key
        contents.restart(items, revision)
        self._forget_written(revision)
        self._loaded.set()

    def _forget_written(self, revision: int) -> None:
        """Forget the writes that the contents have now."""
        if self._written:
            self._written = {
                key: written
                for key, written in self._written.items()
                if written[0] > revision
            }
            self._ahead = {
                at: written for at, written in self._ahead.items() if at > revision
            }


def _retrieve(task: asyncio.Task[bool]) -> None:
    """Keep asyncio from reporting an error that no reader waits for any more."""
    if not task.cancelled():
        task.exception()
