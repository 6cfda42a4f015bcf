"""Work that takes long, in threads: a few at one time.

While a thread works, the event loop answers other requests: Python lets a thread run
for some milliseconds at a time. So the number of threads is bounded:

- What is estimated to be short is done in the event loop at once.
- Other work is quick or slow, by its estimate, and has places of its own: slow work
  never keeps quick work waiting.

The sizes that a request may have bound its work, which goes on to its end: where the
deadline has passed, the client has left or the server stops, nobody waits for it. It
has to be free of side effects.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from starlette.requests import ClientDisconnect, Request

from smp.server.errors import RefusalError

R = TypeVar("R")

_SHORT: Final = 0.01  # seconds of work that the event loop does itself
_QUICK: Final = 0.1  # seconds; work that takes longer is slow
_QUICK_PLACES: Final = 2
_SLOW_PLACES: Final = 4
_POLL: Final = 0.5  # seconds between two looks at the connection of the client


class Workers:
    """The places for work; nobody waits for it once ``stopping`` is set."""

    def __init__(self, stopping: asyncio.Event) -> None:
        self._stopping = stopping
        self._quick = asyncio.Semaphore(_QUICK_PLACES)
        self._slow = asyncio.Semaphore(_SLOW_PLACES)

    async def run(
        self, request: Request | None, seconds: float, work: Callable[[], R]
    ) -> R:
        """Do work for a request that is estimated to take so many seconds.

        Raises what the work raises, RefusalError and ClientDisconnect.
        """
        if seconds <= _SHORT:
            return work()
        place = self._slow if seconds > _QUICK else self._quick
        await place.acquire()
        done = _start(work)
        # The place is free when the work has ended, whoever waits for it.
        done.add_done_callback(lambda _: place.release())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            while not done.done():
                await asyncio.wait(
                    (done, stopping), timeout=_POLL, return_when=asyncio.FIRST_COMPLETED
                )
                if stopping.done() and not done.done():
                    raise RefusalError(503, "the server is shutting down")
                if request and await request.is_disconnected():
                    raise ClientDisconnect
        finally:
            stopping.cancel()
        return done.result()

    async def wait(self, work: Callable[[], R]) -> R:
        """Do work that waits for others, such as webhooks; it takes no place."""
        return await _start(work)


def _start(work: Callable[[], R]) -> asyncio.Future[R]:
    """Begin work in a thread, which does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[R] = loop.create_future()

    def run() -> None:
        # RuntimeError: the event loop was closed meanwhile.
        with suppress(RuntimeError):
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - raised where it is awaited
                loop.call_soon_threadsafe(_fail, done, error)
            else:
                loop.call_soon_threadsafe(done.set_result, result)

    threading.Thread(target=run, name="smp-work", daemon=True).start()
    return done


def _fail(done: asyncio.Future[R], error: Exception) -> None:
    done.set_exception(error)
    # Where nobody waits for it any more, that is no error of the server.
    done.exception()
