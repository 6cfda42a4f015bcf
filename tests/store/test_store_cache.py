"""The cache of a store: it follows a source that may break off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

import pytest

from smp.server.store import (
    Event,
    Expired,
    FutureRevisionError,
    Page,
    Stored,
    StoreError,
)
from smp.server.store import cache as module
from smp.server.store.cache import Cache
from smp.server.store.history import Batch, Log
from tests.support.stores import take_changes, take_revisions
from tests.support.waiting import TIMEOUT, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have reads wait for the cache, however long the machine does something else."""
    monkeypatch.setattr(module, "_PATIENCE", TIMEOUT)


class ScriptedSource:
    """A source of changes that follows a script, one step for each call of ``changes``.

    A step raises an exception, or goes through its actions: it gives a batch, raises an
    exception or waits for an event. After the last step it gives nothing more.
    """

    def __init__(
        self, *script: Sequence[Batch | asyncio.Event | Exception] | Exception
    ) -> None:
        self.script = list(script)
        self.followed: list[int] = []
        self.present = 10
        self.reads = 0

    async def revision(self) -> int:
        return self.present

    async def advance(self) -> None:
        pass

    async def read(self, key: str) -> Stored | None:
        self.reads += 1
        return Stored(key, b"source", self.present)

    async def read_page(
        self,
        prefix: str,  # noqa: ARG002  (there is nothing in the source)
        *,
        limit: int,  # noqa: ARG002
        after: str,  # noqa: ARG002
        revision: int,
    ) -> Page:
        return Page((), revision or self.present)

    async def changes(
        self,
        since: int,
        known: Callable[[], int] | None = None,  # noqa: ARG002  (a source may)
    ) -> AsyncGenerator[Batch, None]:
        self.followed.append(since)
        step = self.script.pop(0)
        for action in [step] if isinstance(step, Exception) else step:
            if isinstance(action, Exception):
                raise action
            if isinstance(action, asyncio.Event):
                await action.wait()
            else:
                yield action
        if not self.script:
            await asyncio.Event().wait()


def change(revision: int) -> Event:
    return Event("put", "a", b"", revision)


async def test_a_cache_resumes_where_its_source_failed() -> None:
    source = ScriptedSource(
        [([change(11)], 11)],
        StoreError("away"),
        StoreError("still away"),
        [([change(12), change(13)], 13)],
    )
    cache = Cache(source, history=10, progress=TIMEOUT)
    assert await take_revisions(cache.watch("", 10), 3) == [11, 12, 13]
    assert source.followed == [10, 11, 11, 11]
    await cache.close()


async def test_a_watch_does_not_get_earlier_changes_that_its_cache_receives_late() -> (
    None
):
    source = ScriptedSource(
        [([change(11)], 11)], StoreError("away"), [([change(12), change(13)], 13)]
    )
    cache = Cache(source, history=10, progress=TIMEOUT)
    assert len(await take_changes(cache.watch("", 10), 1)) == 1
    source.present = 12
    assert await take_revisions(cache.watch("", 12), 1) == [13]
    await cache.close()


async def test_a_watch_expires_when_its_cache_missed_changes() -> None:
    away, waiting = asyncio.Event(), asyncio.Event()
    source = ScriptedSource(
        [([change(11)], 11), away, Expired(11)], [waiting], Expired(11)
    )
    cache = Cache(source, history=10, progress=TIMEOUT)
    events = cache.watch("", 10)
    assert len(await take_changes(events, 1)) == 1
    source.present = 20
    away.set()
    with pytest.raises(Expired):
        await take_changes(events, 1)
    await cache.close()


async def test_a_watch_that_is_behind_when_the_store_closes_skips_nothing() -> None:
    closed = asyncio.Event()
    source = ScriptedSource(
        [([change(11), change(12), change(13)], 13), closed],
        [([change(11)], 11), closed, StoreError("closed")],
    )
    cache = Cache(source, history=1, progress=TIMEOUT)
    events = cache.watch("", 10)
    assert await take_revisions(events, 1) == [11]
    await cache.close()
    closed.set()
    with pytest.raises(StopAsyncIteration):
        await take_changes(events, 1)


@pytest.mark.parametrize(
    "error", [FutureRevisionError(11, 3), RuntimeError("a defect")]
)
async def test_a_cache_that_cannot_resume_ends_its_watches_and_restarts(
    error: Exception,
) -> None:
    reported: list[object] = []
    loop = asyncio.get_running_loop()
    handler = loop.get_exception_handler()
    loop.set_exception_handler(
        lambda _, context: reported.append(context.get("exception"))
    )
    source = ScriptedSource([([change(11)], 11)], error, [([change(12)], 12)])
    cache = Cache(source, history=10, progress=TIMEOUT)
    events = cache.watch("", 10)
    assert len(await take_changes(events, 1)) == 1
    with pytest.raises(StopAsyncIteration):
        await take_changes(events, 1)
    assert await take_revisions(cache.watch("", 10), 1) == [12]
    await cache.close()
    loop.set_exception_handler(handler)
    # A lost history is expected; any other error is reported to the loop.
    expected = [error] if isinstance(error, RuntimeError) else []
    assert reported == expected


def test_a_log_is_bounded_in_bytes() -> None:
    log = Log(1, size=100)
    for revision in range(2, 12):
        log.extend([Event("put", "a", bytes(30), revision)], revision)
    assert (log.start, log.revision) == (8, 11)
    assert [event.revision for event in log.after(8)] == [9, 10, 11]


@pytest.mark.usefixtures("patient")
async def test_a_read_waits_for_what_was_written_before_it() -> None:
    arrives = asyncio.Event()
    source = ScriptedSource([arrives, ([change(11)], 11)])
    cache = Cache(source, history=10, progress=TIMEOUT)
    await cache.get("a", None)  # begins to follow the source
    await until(lambda: cache.revision == 10)
    source.present = 11
    reading = asyncio.create_task(cache.get("a", None))
    await asyncio.sleep(0.01)
    assert not reading.done()
    arrives.set()
    assert await reading == Stored("a", b"", 11)
    assert source.reads == 1  # the first one, while the cache was being loaded
    await cache.close()


async def test_a_read_asks_the_source_where_the_cache_does_not_get_there() -> None:
    source = ScriptedSource([])
    cache = Cache(source, history=10, progress=TIMEOUT)
    await cache.get("a", None)
    await until(lambda: cache.revision == 10)
    assert await cache.get("a", None) is None
    source.present = 11
    assert await cache.get("a", None) == Stored("a", b"source", 11)
    assert await cache.get("a", 0) is None
    assert await cache.get("a", 11) == Stored("a", b"source", 11)
    await cache.close()


async def test_a_read_of_a_source_that_was_replaced_does_not_use_the_cache() -> None:
    source = ScriptedSource([([change(11)], 11), asyncio.Event()], [])
    cache = Cache(source, history=10, progress=TIMEOUT)
    await cache.get("a", None)
    await until(lambda: cache.revision == 11)
    source.present = 11
    assert await cache.get("a", None) == Stored("a", b"", 11)
    source.present = 5
    assert await cache.get("a", None) == Stored("a", b"source", 5)
    await cache.close()


@pytest.mark.usefixtures("patient")
async def test_a_write_of_this_process_is_known_before_it_is_delivered() -> None:
    arrives = asyncio.Event()
    source = ScriptedSource([arrives, ([change(11), change(14)], 14)])
    cache = Cache(source, history=10, progress=TIMEOUT)
    await cache.get("a", None)
    await until(lambda: cache.revision == 10)
    # Another process wrote 11, which has not been delivered.
    cache.add("a", b"13", 13)
    cache.add("a", b"12", 12)
    assert await cache.get("a", 0) == Stored("a", b"13", 13)
    arrives.set()
    assert await cache.get("a", 13) == Stored("a", b"", 14)
    await cache.close()


async def test_a_write_of_this_process_reaches_its_watchers_once_and_at_once() -> None:
    arrives = asyncio.Event()
    source = ScriptedSource([arrives, ([change(11), change(12), change(13)], 13)])
    cache = Cache(source, history=10, progress=TIMEOUT)
    events = cache.watch("", 10)
    taking = asyncio.create_task(take_changes(events, 3))
    await until(lambda: cache.revision == 10)
    # The answers of a store to several writes may come in any order.
    cache.add("a", b"12", 12)
    assert cache.revision == 10
    cache.add("a", b"11", 11)
    assert cache.revision == 12
    arrives.set()
    first, second, third = await taking
    assert first == Event("put", "a", b"11", 11)
    assert second == Event("put", "a", b"12", 12, Stored("a", b"11", 11))
    assert third.revision == 13
    await cache.close()
