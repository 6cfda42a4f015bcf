"""A thread that owns a SQLite connection: the event loop never waits for a disk.

The jobs that arrive while a transaction runs share the next one. For writes this is
group commit: one flush to the disk for many of them.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from time import monotonic, sleep
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from smp.server.store.errors import ClosedError, OutcomeUnknownError, StoreError

T = TypeVar("T")
Job: TypeAlias = Callable[[sqlite3.Connection], T]

_BATCH: Final = 500  # jobs in a transaction, besides the first
_PATIENCE: Final = 20.0  # seconds to wait for the transactions of other processes
_PAUSE: Final = 0.0002  # seconds between two attempts to begin one
_SQLITE_ERRORS: Final = (sqlite3.Error, MemoryError)


def is_busy(error: Exception) -> bool:
    """Tell whether an error says that another process holds a lock of the file."""
    # The low byte is the primary result code, the others extend it.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


class _Call(msgspec.Struct, frozen=True, eq=False):
    """A job, and the future that waits for it."""

    job: Job[Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class Worker:
    """Runs jobs in the order in which they arrive, many in one transaction.

    An error of SQLite rolls back the whole transaction; a job that raises any other
    error must not have written anything.
    """

    def __init__(
        self, connection: sqlite3.Connection, begin: Literal["BEGIN", "BEGIN IMMEDIATE"]
    ) -> None:
        self._connection = connection
        self._begin = begin
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()  # None: the end
        self._closed = False
        self._thread = threading.Thread(
            target=self._run, name=f"sqlite {begin}", daemon=True
        )
        self._thread.start()

    async def run(self, job: Job[T]) -> T:
        """Run a job and return what it returns, or raise what it raises.

        Raises StoreError and OutcomeUnknownError.
        """
        if self._closed:
            raise ClosedError
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._calls.put(_Call(job, future, loop))
        return await future

    async def close(self) -> None:
        """Finish the jobs that were given, and close the connection."""
        if not self._closed:
            self._closed = True
            self._calls.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        is_closing = False
        while not is_closing:
            # Wait for one call, and take those that have arrived behind it.
            # The bound keeps a transaction short while calls keep arriving.
            first = self._calls.get()
            arrived = min(self._calls.qsize(), _BATCH)
            taken = [first, *(self._calls.get() for _ in range(arrived))]
            is_closing = None in taken
            calls = [call for call in taken if call]
            outcomes = self._transact([call.job for call in calls])
            _wake(calls, outcomes)
        self._connection.close()

    def _transact(self, jobs: Sequence[Job[Any]]) -> Sequence[object]:
        """Run jobs in one transaction; return what each returned or raised."""
        outcomes: list[object] = []
        try:
            self._begin_transaction()
            for job in jobs:
                try:
                    outcomes.append(job(self._connection))
                except _SQLITE_ERRORS:
                    raise
                except Exception as error:  # noqa: BLE001 - raised again in run()
                    outcomes.append(error)
        except _SQLITE_ERRORS as error:
            # Nothing of the transaction is written, also of the jobs that succeeded.
            self._roll_back()
            return [StoreError(f"SQLite: {error}") for _ in jobs]
        try:
            self._connection.execute("COMMIT")
        except _SQLITE_ERRORS as error:
            # The changes may be in the file already, and only the answer was lost.
            self._roll_back()
            return [OutcomeUnknownError(f"SQLite: {error}") for _ in jobs]
        return outcomes

    def _begin_transaction(self) -> None:
        """Begin a transaction, after those of other processes.

        SQLite waits up to 100 ms between two attempts (sqlite3.c,
        sqliteDefaultBusyCallback), and a process that writes all the time is faster
        each time: one that had to wait could wait for seconds.
        """
        deadline = monotonic() + _PATIENCE
        while True:
            try:
                self._connection.execute(self._begin)
            except sqlite3.OperationalError as error:
                if not is_busy(error) or monotonic() > deadline:
                    raise
                sleep(_PAUSE)
            else:
                return

    def _roll_back(self) -> None:
        with suppress(*_SQLITE_ERRORS):
            self._connection.rollback()


def _wake(calls: Sequence[_Call], outcomes: Sequence[object]) -> None:
    """Give the outcomes to the callers, with one wake-up for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Call, object]]] = {}
    for call, outcome in zip(calls, outcomes, strict=True):
        by_loop.setdefault(call.loop, []).append((call, outcome))
    for loop, settled in by_loop.items():
        # RuntimeError: the loop was closed, and nothing waits in it any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, settled)


def _settle(settled: Sequence[tuple[_Call, object]]) -> None:
    for call, outcome in settled:
        # The caller may have been cancelled; its write was executed all the same.
        if call.future.done():
            continue
        if isinstance(outcome, Exception):
            call.future.set_exception(outcome)
        else:
            call.future.set_result(outcome)
