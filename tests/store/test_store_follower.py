"""The log of a store: it follows changes that may break off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from smp.server.store import (
    Event,
    Expired,
    FutureRevisionError,
    Page,
    Store,
    Stored,
    StoreError,
)
from smp.server.store.base import Batch, Log
from tests.support.stores import take_changes, take_revisions
from tests.support.waiting import TIMEOUT

pytestmark = pytest.mark.anyio


class ScriptedStore(Store):
    """A store whose changes follow a script, one step for each call of ``changes``.

    A step raises an exception, or goes through its actions: it gives a batch, raises an
    exception or waits for an event. After the last step it gives nothing more.
    """

    def __init__(
        self,
        *script: Sequence[Batch | asyncio.Event | Exception] | Exception,
        history: int = 10,
    ) -> None:
        super().__init__(history=history, progress=TIMEOUT)
        self.script = list(script)
        self.followed: list[int] = []
        self.present = 10

    async def get(self, key: str) -> Stored | None:
        raise NotImplementedError(key)

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        raise NotImplementedError(prefix, limit, after, revision)

    async def _change(
        self, key: str, value: bytes | None, last: int, unchanged: Sequence[Stored]
    ) -> int | None:
        raise NotImplementedError(key, value, last, unchanged)

    async def revision(self) -> int:
        return self.present

    async def changes(self, since: int) -> AsyncGenerator[Batch, None]:
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


async def test_a_log_resumes_where_its_store_failed() -> None:
    store = ScriptedStore(
        [([change(11)], 11)],
        StoreError("away"),
        StoreError("still away"),
        [([change(12), change(13)], 13)],
    )
    assert await take_revisions(store.watch("", 10), 3) == [11, 12, 13]
    assert store.followed == [10, 11, 11, 11]
    await store.close()


async def test_a_watch_does_not_get_earlier_changes_that_its_log_receives_late() -> (
    None
):
    store = ScriptedStore(
        [([change(11)], 11)], StoreError("away"), [([change(12), change(13)], 13)]
    )
    assert len(await take_changes(store.watch("", 10), 1)) == 1
    store.present = 12
    assert await take_revisions(store.watch("", 12), 1) == [13]
    await store.close()


async def test_a_watch_expires_when_its_log_missed_changes() -> None:
    away, waiting = asyncio.Event(), asyncio.Event()
    store = ScriptedStore(
        [([change(11)], 11), away, Expired(11)], Expired(11), [waiting]
    )
    events = store.watch("", 10)
    assert len(await take_changes(events, 1)) == 1
    store.present = 20
    away.set()
    with pytest.raises(Expired):
        await take_changes(events, 1)
    await store.close()


async def test_a_watch_that_is_behind_when_the_store_closes_skips_nothing() -> None:
    closed = asyncio.Event()
    store = ScriptedStore(
        [([change(11), change(12), change(13)], 13), closed],
        [([change(11)], 11), closed, StoreError("closed")],
        history=1,
    )
    events = store.watch("", 10)
    assert await take_revisions(events, 1) == [11]
    await store.close()
    closed.set()
    with pytest.raises(StopAsyncIteration):
        await take_changes(events, 1)


@pytest.mark.parametrize(
    "error", [FutureRevisionError(11, 3), RuntimeError("a defect")]
)
async def test_a_log_that_cannot_resume_ends_its_watches_and_restarts(
    error: Exception,
) -> None:
    reported: list[object] = []
    loop = asyncio.get_running_loop()
    handler = loop.get_exception_handler()
    loop.set_exception_handler(
        lambda _, context: reported.append(context.get("exception"))
    )
    store = ScriptedStore([([change(11)], 11)], error, [([change(12)], 12)])
    events = store.watch("", 10)
    assert len(await take_changes(events, 1)) == 1
    with pytest.raises(StopAsyncIteration):
        await take_changes(events, 1)
    assert await take_revisions(store.watch("", 10), 1) == [12]
    await store.close()
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
