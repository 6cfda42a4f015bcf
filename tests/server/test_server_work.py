"""Work in threads: what is slow leaves room, and nobody waits in vain."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from smp.server.errors import RefusalError
from smp.server.work import Workers
from tests.support.waiting import TIMEOUT

SLOW = 1.0  # estimated seconds
QUICK = 0.05


def run(test: Callable[[Workers, asyncio.Event], Awaitable[None]]) -> None:
    async def body() -> None:
        stopping = asyncio.Event()
        async with asyncio.timeout(TIMEOUT):
            await test(Workers(stopping), stopping)

    asyncio.run(body())


def test_slow_work_leaves_room_for_quick_work() -> None:
    is_done = threading.Event()

    async def test(workers: Workers, _stopping: asyncio.Event) -> None:
        slow = [
            asyncio.create_task(workers.run(None, SLOW, partial(is_done.wait, TIMEOUT)))
            for _ in range(12)
        ]
        for _ in range(5):
            assert await workers.run(None, QUICK, lambda: "quick") == "quick"
        is_done.set()
        assert await asyncio.gather(*slow) == [True] * 12

    run(test)


def test_work_that_was_left_keeps_its_place_until_its_end() -> None:
    is_done = threading.Event()

    async def test(workers: Workers, _stopping: asyncio.Event) -> None:
        for _ in range(4):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await workers.run(None, SLOW, partial(is_done.wait, TIMEOUT))
        waiting = asyncio.create_task(workers.run(None, SLOW, lambda: "next"))
        await asyncio.sleep(0)
        assert not waiting.done()
        is_done.set()
        assert await waiting == "next"

    run(test)


def test_nobody_waits_for_work_when_the_server_stops() -> None:
    is_done = threading.Event()

    async def test(workers: Workers, stopping: asyncio.Event) -> None:
        task = asyncio.create_task(
            workers.run(None, SLOW, partial(is_done.wait, TIMEOUT))
        )
        await asyncio.sleep(0)
        stopping.set()
        with pytest.raises(RefusalError):
            await task
        is_done.set()

    run(test)


def test_work_returns_and_raises_as_it_would_in_the_loop() -> None:
    def failing() -> None:
        raise KeyError("a")

    async def test(workers: Workers, _stopping: asyncio.Event) -> None:
        for seconds in (0, QUICK, SLOW):
            assert await workers.run(None, seconds, lambda: 7) == 7
            with pytest.raises(KeyError, match="a"):
                await workers.run(None, seconds, failing)

    run(test)
