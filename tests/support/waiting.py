"""Waiting for a condition, as no fixed time is long enough on every machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from time import monotonic, sleep
from typing import Final

TIMEOUT: Final = 60.0  # seconds, for what comes at once on a machine without load
_PAUSE: Final = 0.01  # seconds between two looks


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is true, while other tasks run."""
    async with asyncio.timeout(TIMEOUT):
        while not condition():  # noqa: ASYNC110  (no event tells)
            await asyncio.sleep(_PAUSE)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until something is true, while other threads and processes run."""
    end = monotonic() + TIMEOUT
    while not condition():
        assert monotonic() < end, "what the test waits for did not come"
        sleep(_PAUSE)


@contextmanager
def refusing_port() -> Iterator[int]:
    """Yield a port that refuses connections, and that no other process takes."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
