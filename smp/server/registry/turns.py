"""How requests share the server: writers of one object take turns, and big work leaves
the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

P = ParamSpec("P")
R = TypeVar("R")

_SMALL: Final = 32 * 1024  # bytes that are handled at once: some milliseconds of work


class Turns:
    """A lock for each key that somebody holds, so that the writers of one server do not
    meet in the store.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: str) -> asyncio.Lock:
        """Return the lock of a key."""
        return self._locks.setdefault(key, asyncio.Lock())


async def apart(
    size: int, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Do work on so many bytes, in a thread where they are many, so that others are
    answered meanwhile.
    """
    if size <= _SMALL:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
