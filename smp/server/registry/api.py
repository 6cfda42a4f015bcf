"""What the parts of a running server share: its store, what it serves, its settings,
its background work.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from smp.server.metrics import Metrics
from smp.server.objects.metadata import random_suffix
from smp.server.registry.admission import Circumstances
from smp.server.registry.kinds import Kinds
from smp.server.registry.target import Target
from smp.server.registry.turns import Turns
from smp.server.settings import Settings
from smp.server.store import Store

_LOG: Final = logging.getLogger("smp.server")


class API:
    """A server's state.

    ``stopping`` is set when it is to end; ``leaving`` has the parents whose contents
    may have to go; ``turns`` are for the writers of an object.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.kinds = Kinds(store, settings.catalog)
        self.metrics = Metrics()
        self.stopping = asyncio.Event()
        self.leaving: asyncio.Queue[Target] = asyncio.Queue()
        self.turns = Turns()

    def circumstances(self) -> Circumstances:
        """Return the time, what is served, and the draw of chance for a new object."""
        return Circumstances(
            datetime.now(UTC),
            self.kinds.resources,
            str(uuid4()),
            random_suffix(random.choice),
        )


@asynccontextmanager
async def background(*works: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Do some work beside the block, to the end of which it is cancelled."""
    tasks = [asyncio.create_task(work) for work in works]
    for task in tasks:
        task.add_done_callback(_report)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        _LOG.error("work in the background failed", exc_info=error)
