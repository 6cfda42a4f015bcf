"""Work that takes long, in threads: a few at one time, and no longer than its request.

While a thread works, the event loop answers other requests: Python lets a thread run
for some milliseconds at a time. So the number of threads is bounded, and what a request
asks for cannot fill them for good:

- What is estimated to be short is done in the event loop at once.
- Other work begins in one of a few *quick* threads. What is not done there in a tenth
  of a second becomes *slow* work: it goes on where one of the few slow places is free.
  Where none is, it ends, waits for one, and begins again. So slow work never keeps
  quick work waiting.
- Work ends when its request is cancelled (the deadline), when the client has
  disconnected, and when the server stops.

Work has to be free of side effects, as it may begin twice and end at any point.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final, Generic, ParamSpec, TypeVar, cast

from starlette.requests import ClientDisconnect, Request

from smp.errors import SmpError

P = ParamSpec("P")
R = TypeVar("R")

_SHORT: Final = 0.01  # seconds of work that the event loop does itself
_QUICK: Final = 0.1  # seconds after which work is slow
_QUICK_PLACES: Final = 2
_SLOW_PLACES: Final = 4
_POLL: Final = 0.5  # seconds between two looks at the connection of the client
_RETRY: Final = 0.1  # seconds between two attempts to end a thread


class StoppedError(SmpError):
    """Work that ended because the server stops."""

    default_code = "stopping"
    status = 503


class _End(SystemExit):
    """Raised in a thread that is to end.

    As a SystemExit, for a thread that has just finished its work ignores it, and code
    that catches Exception does not catch it.
    """


class Workers:
    """The places for work; ``stopping`` ends all that is slow."""

    def __init__(self, stopping: asyncio.Event) -> None:
        self._stopping = stopping
        self._quick = asyncio.Semaphore(_QUICK_PLACES)
        self._slow = asyncio.Semaphore(_SLOW_PLACES)

    @asynccontextmanager
    async def resting(self) -> AsyncIterator[None]:
        """Wait until no thread works, and let none begin until the end of the block."""
        places = [self._slow] * _SLOW_PLACES + [self._quick] * _QUICK_PLACES
        async with AsyncExitStack() as stack:
            for place in places:
                await stack.enter_async_context(place)
            yield

    async def run(
        self,
        request: Request | None,
        seconds: float,
        work: Callable[P, R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        """Do work for a request that is estimated to take so many seconds.

        Raises what the work raises, StoppedError and ClientDisconnect.
        """
        if seconds <= _SHORT:
            return work(*args, **kwargs)

        def start(place: asyncio.Semaphore) -> _Job[R]:
            return _Job(lambda: work(*args, **kwargs), place)

        await self._quick.acquire()
        job = start(self._quick)
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            if await job.is_done_within(_QUICK):
                return job.done.result()
            if self._slow.locked():
                job.end()
                await self._slow.acquire()
                job = start(self._slow)
            else:
                await self._slow.acquire()
                job.move_to(self._slow)
            # Wait for it while the server and the client are there.
            while not job.done.done():
                await asyncio.wait(
                    (job.done, stopping),
                    timeout=_POLL,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if stopping.done() and not job.done.done():
                    raise StoppedError("the server is shutting down")
                if request and await request.is_disconnected():
                    raise ClientDisconnect
            return job.done.result()
        finally:
            stopping.cancel()
            job.end()


class _Job(Generic[R]):
    """Work in a thread of its own, which gives back its place when it has ended.

    ``done`` has the result. The thread does not keep the process from ending.
    """

    def __init__(self, work: Callable[[], R], place: asyncio.Semaphore) -> None:
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[R] = self._loop.create_future()
        self._work = work
        self._place = place
        self._is_ended = False
        self._has_worked = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="smp-work", daemon=True)
        self._thread.start()

    def move_to(self, place: asyncio.Semaphore) -> None:
        """Take another place, which was acquired, instead of the first one."""
        self._place.release()
        self._place = place

    async def is_done_within(self, seconds: float) -> bool:
        """Wait so long for the end of the work, and tell whether it has ended."""
        await asyncio.wait((self.done,), timeout=seconds)
        return self.done.done()

    def end(self) -> None:
        """End the work, where it has not ended yet."""
        if self.done.done():
            return
        self._is_ended = True
        if not self._thread.is_alive():
            self._finish(None, None)
            return
        with self._lock:
            # The number of a thread that has ended may be that of another one now.
            if not self._has_worked:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(_End)
                )
        # Again: Python ignores an exception that is raised in a destructor.
        self._loop.call_later(_RETRY, self.end)

    def _run(self) -> None:
        """Work, in the thread."""
        result: R | None = None
        error: BaseException | None = None
        try:
            result = self._work()
        except BaseException as raised:  # noqa: BLE001 - raised where it is awaited
            error = raised
        with self._lock:
            self._has_worked = True
        # RuntimeError: the event loop was closed meanwhile.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._finish, result, error)

    def _finish(self, result: R | None, error: BaseException | None) -> None:
        """Give the result to who waits for it, in the event loop."""
        if self.done.done():
            return
        self._place.release()
        if self._is_ended:
            self.done.cancel()
        elif error:
            self.done.set_exception(error)
        else:
            self.done.set_result(cast("R", result))
