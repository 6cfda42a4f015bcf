"""Collecting garbage without stopping the server.

Python counts references, which frees most objects at once; what refers to itself is
found by looking at all objects, and while it looks, no thread runs. That is short for
young objects. A collection of all would look at each definition that is served, and at
everything that a large request has made so far: parts of a second. So

- what is there at the start, and what a collection has left, is not looked at again
  (``gc.freeze``), but for once an hour,
- old objects are collected when no thread works on a request,
- and young ones are looked at when there are more of them than a usual request makes,
  as those are freed at its end.
"""

from __future__ import annotations

import asyncio
import gc
from time import monotonic
from typing import Final

from smp.server.work import Workers

_INTERVAL: Final = 10.0  # seconds
# Objects, and collections of these: looking at so many takes a millisecond.
_YOUNG: Final = 5_000
_MIDDLE: Final = 2
# Collections of the middle generation after which old objects are collected: each is
# after some ten thousand new objects.
_DUE: Final = 30
_ALL: Final = 3600.0  # seconds between two collections of everything
_NEVER: Final = 1_000_000_000


async def collect_garbage(workers: Workers) -> None:
    """Collect the garbage of this process until cancelled."""
    young, middle, old = gc.get_threshold()
    gc.set_threshold(max(young, _YOUNG), min(middle, _MIDDLE), _NEVER)
    gc.freeze()
    seen, everything = _middle_collections(), monotonic()
    try:
        while True:
            await asyncio.sleep(_INTERVAL)
            if _middle_collections() - seen < _DUE:
                continue
            async with workers.resting():
                if monotonic() - everything > _ALL:
                    gc.unfreeze()
                    everything = monotonic()
                gc.collect()
                gc.freeze()
            seen = _middle_collections()
    finally:
        gc.set_threshold(young, middle, old)
        gc.unfreeze()


def _middle_collections() -> int:
    number: int = gc.get_stats()[1]["collections"]
    return number
