"""Optimistic concurrency: read, compute, and write if nothing was written since."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from smp.handler._status import ModifiedError

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")

# Go: k8s.io/apiserver, endpoints/handlers/patch.go, MaxRetryWhenPatchConflicts.
ATTEMPTS: Final = 5


def retry(
    read: Callable[[], T],
    compute: Callable[[T], U],
    write: Callable[[T, U], V | None],
    *,
    attempts: int = ATTEMPTS,
) -> V:
    """Read, compute from what was read, and write, until a write succeeds.

    ``write`` returns None where another writer was faster. Every attempt reads and
    computes again, without waiting. Raises ModifiedError after the last one.
    """
    for _ in range(attempts):
        fresh = read()
        written = write(fresh, compute(fresh))
        if written is not None:
            return written
    raise ModifiedError


async def aretry(
    read: Callable[[], Awaitable[T]],
    compute: Callable[[T], U],
    write: Callable[[T, U], Awaitable[V | None]],
    *,
    attempts: int = ATTEMPTS,
) -> V:
    """Do what ``retry`` does where reading and writing are awaited."""
    for _ in range(attempts):
        fresh = await read()
        written = await write(fresh, compute(fresh))
        if written is not None:
            return written
    raise ModifiedError
