"""Drivers: they do what the steps of a plan say, over a transport."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol, TypeVar

from smp.cluster.plan.exchange import (
    Answer,
    BrokenConnection,
    Pause,
    Plan,
    PlannedRequest,
    Progress,
    Response,
    Step,
)

T = TypeVar("T")

# Plans that run at one time, where a plan says that they may.
PARALLEL: Final = 16


class Transport(Protocol):
    """Sends a request over a client."""

    def __call__(self, request: PlannedRequest) -> Response | BrokenConnection:
        """Send it, and return the answer, whatever its status is."""


class AsyncTransport(Protocol):
    """Sends a request over a client with asyncio."""

    def __call__(
        self, request: PlannedRequest
    ) -> Awaitable[Response | BrokenConnection]:
        """Send it, and return the answer, whatever its status is."""


def no_progress(_progress: Progress) -> None:
    """Do nothing with what was done."""


def run(
    plan: Plan[T],
    transport: Transport,
    *,
    parallel: int = PARALLEL,
    progress: Callable[[Progress], None] = no_progress,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """Run a plan, and return its result.

    Plans that may run together run on up to ``parallel`` threads; with 1 they run one
    after the other on this one. Raises what the plan raises.
    """
    # Pauses are answered with the time of the run: a plan has no clock.
    began = clock()

    def answer(step: Step) -> Answer:
        if isinstance(step, PlannedRequest):
            return transport(step)
        if isinstance(step, Progress):
            progress(step)
            return None
        if isinstance(step, Pause):
            if step.seconds:
                sleep(step.seconds)
            return clock() - began
        # Without threads, a client that is not made for them can be used.
        if parallel == 1 or len(step.plans) == 1:
            return [drive(inner) for inner in step.plans]
        with ThreadPoolExecutor(min(parallel, len(step.plans))) as threads:
            return list(threads.map(drive, step.plans))

    def drive(inner: Plan[Any]) -> Any:
        try:
            step = next(inner)
            while True:
                step = inner.send(answer(step))
        except StopIteration as end:
            return end.value

    result: T = drive(plan)
    return result


async def run_async(
    plan: Plan[T],
    transport: AsyncTransport,
    *,
    parallel: int = PARALLEL,
    progress: Callable[[Progress], None] = no_progress,
) -> T:
    """Run a plan with asyncio, and return its result; the same as ``run`` otherwise."""
    began = time.monotonic()
    turns = asyncio.Semaphore(parallel)

    async def answer(step: Step) -> Answer:
        if isinstance(step, PlannedRequest):
            return await transport(step)
        if isinstance(step, Progress):
            progress(step)
            return None
        if isinstance(step, Pause):
            if step.seconds:
                await asyncio.sleep(step.seconds)
            return time.monotonic() - began
        return list(await asyncio.gather(*map(take_turn, step.plans)))

    async def take_turn(inner: Plan[Any]) -> Any:
        async with turns:
            return await drive(inner)

    async def drive(inner: Plan[Any]) -> Any:
        try:
            step = next(inner)
            while True:
                step = inner.send(await answer(step))
        except StopIteration as end:
            return end.value

    result: T = await drive(plan)
    return result
