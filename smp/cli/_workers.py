"""Computing what a run prints: in this process, or by several ones in the same order.

An interrupt is for the process that prints; the others end with it. What a process
raises is raised here, when it is the turn of its result.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from smp.cli._interrupts import follow_parent
from smp.cli._objects import ObjectRow
from smp.errors import SmpError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

# From so many bytes on it pays to start processes; each gets so many at a time.
_LARGE: Final = 2**21
_SHARE: Final = 2**17
# So many shares wait for each process, so that none waits for the output.
_SHARES_AHEAD: Final = 3
# Windows waits for so many processes at most.
_MOST_PROCESSES: Final = 61

WorkerT = TypeVar("WorkerT")
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
RowT = TypeVar("RowT", bound=ObjectRow)


class WorkerPool(Generic[WorkerT]):
    """``jobs`` processes, once they are started, or this one. To be closed.

    0 is a process for each core. A process that is forked has all that was read so far;
    where that is not ``may_fork``, it is spawned and gets the worker. Each calls
    ``prepare`` before it works.
    """

    def __init__(
        self,
        worker: WorkerT,
        jobs: int,
        may_fork: Callable[[], bool] = lambda: True,
        prepare: Callable[[WorkerT], object] | None = None,
    ) -> None:
        self.worker: WorkerT = worker
        self._may_fork = may_fork
        self._prepare = prepare
        self._executor: ProcessPoolExecutor | None = None
        if not jobs and hasattr(os, "sched_getaffinity"):
            # The cores that this process may use.
            jobs = len(os.sched_getaffinity(0))
        # Not every system tells that.
        self._jobs = min(jobs or os.cpu_count() or 1, _MOST_PROCESSES)

    @property
    def may_start(self) -> bool:
        """Whether there can be other processes."""
        return self._jobs > 1 and (sys.platform == "linux" or not self._may_fork())

    @property
    def is_started(self) -> bool:
        """Whether there are other processes."""
        return self._executor is not None

    def start(self) -> None:
        """Start the processes, unless they are or there is to be one."""
        if self._executor is not None or not self.may_start:
            return
        import multiprocessing  # noqa: PLC0415  # 20 ms; small inputs need one process
        from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415  # it loads multiprocessing

        self._executor = ProcessPoolExecutor(
            self._jobs,
            multiprocessing.get_context("fork" if self._may_fork() else "spawn"),
            initializer=_begin_work,
            initargs=(os.getpid(), self.worker, self._prepare),
        )
        # The first call starts all processes.
        self._executor.submit(os.getpid)

    def results(
        self, shares: Iterable[list[ItemT]], work: Callable[[WorkerT, ItemT], ResultT]
    ) -> Generator[ResultT, None, None]:
        """Yield what a function makes of each item of the shares, in order."""
        executor = self._executor
        if executor is None:
            for item in chain.from_iterable(shares):
                yield work(self.worker, item)
            return
        # Items are listed, and results are kept, only some shares ahead of the output.
        pending: deque[Future[list[ResultT]]] = deque()
        for share in shares:
            with _ended_named():
                pending.append(executor.submit(_work_on_share, work, share))
            if len(pending) > _SHARES_AHEAD * self._jobs:
                yield from _finished(pending.popleft())
        while pending:
            yield from _finished(pending.popleft())

    def close(self) -> None:
        """End the processes; the output may end before all is computed."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)


_worker: Any


def _begin_work(
    parent: int, worker: WorkerT, prepare: Callable[[WorkerT], object] | None
) -> None:
    global _worker  # noqa: PLW0603  # what each process of a pool has
    if sys.platform == "linux":
        follow_parent(parent)
    if prepare is not None:
        prepare(worker)
    _worker = worker


def _finished(future: Future[list[ResultT]]) -> list[ResultT]:
    with _ended_named():
        return future.result()


@contextmanager
def _ended_named() -> Iterator[None]:
    # It is loaded where there are processes.
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415  # above

    try:
        yield
    except BrokenProcessPool:
        raise SmpError(
            "a process that computes was ended by the system",
            code="ended-process",
            hint="where memory is short, --jobs 1 needs less",
        ) from None


def _work_on_share(
    work: Callable[[Any, ItemT], ResultT], items: list[ItemT]
) -> list[ResultT]:
    return [work(_worker, item) for item in items]


def results_of(
    rows: Iterable[RowT],
    worker: WorkerT,
    work: Callable[[WorkerT, RowT], ResultT],
    jobs: int,
) -> Generator[ResultT, None, None]:
    """Yield the result of each row, in order; of large inputs by ``jobs`` processes."""
    pool = WorkerPool(worker, jobs)
    remaining = iter(rows)
    first: list[RowT] = []
    if pool.may_start:
        size = 0
        for row in remaining:
            first.append(row)
            size += _size_of(row)
            if size >= _LARGE:
                pool.start()
                break
    all_rows = chain(first, remaining)
    try:
        # One by one in this process, so that each is printed before the next is read.
        if pool.is_started:
            yield from pool.results(by_size(all_rows, _size_of, _SHARE), work)
        else:
            yield from pool.results(([row] for row in all_rows), work)
    finally:
        pool.close()


def by_size(
    items: Iterable[ItemT], size_of: Callable[[ItemT], int], enough: int
) -> Iterator[list[ItemT]]:
    """Divide items into shares of about one size, so that each takes about as long."""
    share: list[ItemT] = []
    size = 0
    for item in items:
        share.append(item)
        size += size_of(item)
        if size >= enough:
            yield share
            share, size = [], 0
    if share:
        yield share


def _size_of(row: ObjectRow) -> int:
    partners = [partner for partner in row.partners if partner is not None]
    return sum(entry.length for entry in (row.entry, *partners))
