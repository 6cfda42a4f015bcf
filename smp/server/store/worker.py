"""A thread that owns a SQLite connection, so that the event loop never waits for a
disk.

Whatever is asked for while a transaction runs goes into the next one. For writes this
is group commit: one flush to the disk for many of them.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final, Literal, TypeAlias, TypeVar

from smp.server.store.errors import ClosedError, OutcomeUnknownError, StoreError

T = TypeVar("T")
Job: TypeAlias = Callable[[sqlite3.Connection], T]

_BATCH: Final = 500
_FAILURES: Final = (sqlite3.Error, MemoryError)


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """A job, and who waits for it."""

    job: Job[Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop

    def settle(self, outcome: object) -> None:
        if self.future.done():  # cancelled meanwhile
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class Worker:
    """Runs jobs in the order in which they come, many in one transaction.

    An error of SQLite undoes the whole transaction; a job that raises any other has
    written nothing.
    """

    def __init__(
        self, connection: sqlite3.Connection, begin: Literal["BEGIN", "BEGIN IMMEDIATE"]
    ) -> None:
        self._connection = connection
        self._begin = begin
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(
            target=self._run, name=f"sqlite {begin}", daemon=True
        )
        self._thread.start()

    async def run(self, job: Job[T]) -> T:
        """Run a job and return what it returns, or raise what it raises. Raises
        StoreError.
        """
        if self._closed:
            raise ClosedError
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._calls.put(_Call(job, future, loop))
        return await future

    async def close(self) -> None:
        """Finish what was asked for, and close the connection."""
        if not self._closed:
            self._closed = True
            self._calls.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        taken: Sequence[_Call | None] = ()
        while None not in taken:
            taken = self._take()
            calls = [call for call in taken if call]
            _settle(calls, self._transact([call.job for call in calls]))
        self._connection.close()

    def _take(self) -> Sequence[_Call | None]:
        """Wait for a call, and take those behind it too; None is the end."""
        first = self._calls.get()
        return [
            first,
            *(self._calls.get() for _ in range(min(self._calls.qsize(), _BATCH))),
        ]

    def _transact(self, jobs: Sequence[Job[Any]]) -> Sequence[object]:
        """Return what each job returned or raised."""
        try:
            self._connection.execute(self._begin)
            outcomes = [self._attempt(job) for job in jobs]
        except _FAILURES as error:
            self._undo()
            return [StoreError(f"SQLite: {error}") for _ in jobs]
        try:
            self._connection.execute("COMMIT")
        except _FAILURES as error:
            self._undo()
            return [OutcomeUnknownError(f"SQLite: {error}") for _ in jobs]
        return outcomes

    def _attempt(self, job: Job[Any]) -> object:
        try:
            return job(self._connection)
        except _FAILURES:
            raise
        except Exception as error:
            return error

    def _undo(self) -> None:
        with suppress(*_FAILURES):
            self._connection.rollback()


def _settle(calls: Sequence[_Call], outcomes: Sequence[object]) -> None:
    """Wake the callers, with one wake-up for each of their loops."""
    for loop in {call.loop for call in calls}:
        with suppress(RuntimeError):  # a loop that is closed waits for nothing
            loop.call_soon_threadsafe(_settle_here, loop, calls, outcomes)


def _settle_here(
    loop: asyncio.AbstractEventLoop, calls: Sequence[_Call], outcomes: Sequence[object]
) -> None:
    for call, outcome in zip(calls, outcomes, strict=True):
        if call.loop is loop:
            call.settle(outcome)
