"""Work in threads: it ends with its request, and what is slow leaves room."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import sleep

import pytest

from smp.server.work import StoppedError, Workers
from tests.support.waiting import TIMEOUT, until

LONG = 1.0  # estimated seconds


class Spinning:
    """Work without end, which counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        while True:
            self.count += 1


def run(test: Callable[[Workers, asyncio.Event], Awaitable[None]]) -> None:
    async def body() -> None:
        stopping = asyncio.Event()
        await test(Workers(stopping), stopping)

    asyncio.run(body())


async def no_threads() -> None:
    """Wait until no thread works any more."""
    for thread in threading.enumerate():
        if thread.name == "smp-work":
            await asyncio.to_thread(thread.join, TIMEOUT)
            assert not thread.is_alive()


def working_threads() -> int:
    return len([each for each in threading.enumerate() if each.name == "smp-work"])


# While it may still be quick, and when it is slow.
@pytest.mark.parametrize("seconds", [0, 0.3])
def test_work_ends_with_its_request(seconds: float) -> None:
    async def test(workers: Workers, _stopping: asyncio.Event) -> None:
        work = Spinning()
        working = asyncio.create_task(workers.run(None, LONG, work))
        await until(lambda: work.count > 0)
        await asyncio.sleep(seconds)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        await no_threads()

    run(test)


def test_work_that_catches_every_exception_of_its_own_ends_too() -> None:
    def stubborn() -> None:
        while True:
            with suppress(Exception):
                sleep(0.001)

    async def test(workers: Workers, _stopping: asyncio.Event) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await workers.run(None, LONG, stubborn)
        await no_threads()

    run(test)


def test_slow_work_leaves_room_for_quick_work() -> None:
    async def test(workers: Workers, _stopping: asyncio.Event) -> None:
        slow = [
            asyncio.create_task(workers.run(None, LONG, Spinning())) for _ in range(12)
        ]
        await asyncio.sleep(0.3)
        async with asyncio.timeout(TIMEOUT):
            assert await workers.run(None, LONG, lambda: "quick") == "quick"
        # A thread that has ended its work is still there for a moment.
        await until(lambda: working_threads() <= 6)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        await no_threads()
        # All places are free again.
        several = [workers.run(None, LONG, sleep, 0.15) for _ in range(12)]
        async with asyncio.timeout(TIMEOUT):
            await asyncio.gather(*several)

    run(test)


def test_the_end_of_the_server_ends_slow_work() -> None:
    async def test(workers: Workers, stopping: asyncio.Event) -> None:
        task = asyncio.create_task(workers.run(None, LONG, Spinning()))
        await asyncio.sleep(0.2)
        stopping.set()
        with pytest.raises(StoppedError):
            await task
        await no_threads()

    run(test)


def test_work_returns_and_raises_as_it_would_in_the_loop() -> None:
    def failing(text: str) -> None:
        raise KeyError(text)

    async def test(workers: Workers, _stopping: asyncio.Event) -> None:
        for seconds in (0, LONG):
            assert await workers.run(None, seconds, divmod, 7, 2) == (3, 1)
            with pytest.raises(KeyError, match="a"):
                await workers.run(None, seconds, failing, "a")

    run(test)
