"""Garbage is collected when no thread works, and what is there stays where it is."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from contextlib import suppress

import pytest

from smp.server import garbage
from smp.server.garbage import collect_garbage
from smp.server.work import Workers
from tests.support.waiting import until

LONG = 1.0  # estimated seconds


class Cycle:
    """Garbage that only a collection finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(garbage, "_INTERVAL", 0.01)
    monkeypatch.setattr(garbage, "_DUE", 0)
    threshold = gc.get_threshold()
    yield
    assert gc.get_threshold() == threshold


def test_old_garbage_is_collected_in_the_pauses() -> None:
    async def run() -> None:
        workers = Workers(asyncio.Event())
        collecting = asyncio.create_task(collect_garbage(workers))
        await asyncio.sleep(0)
        old = Cycle()
        for generation in (0, 1):
            gc.collect(generation)
        gone = weakref.ref(old)
        del old
        await until(lambda: gone() is None)
        assert gc.get_freeze_count() > 0
        collecting.cancel()
        with suppress(asyncio.CancelledError):
            await collecting
        assert gc.get_freeze_count() == 0
        # As tests/conftest.py has it.
        gc.freeze()

    asyncio.run(run())


def test_no_thread_works_while_the_workers_rest() -> None:
    async def run() -> None:
        workers = Workers(asyncio.Event())
        finished: list[str] = []

        async def work(name: str) -> None:
            await workers.run(None, LONG, finished.append, name)

        async with workers.resting():
            waiting = asyncio.create_task(work("later"))
            await asyncio.sleep(0.05)
            assert not finished
            # Short work is not held up.
            assert await workers.run(None, 0, lambda: "at once") == "at once"
        await waiting
        assert finished == ["later"]

    asyncio.run(run())
