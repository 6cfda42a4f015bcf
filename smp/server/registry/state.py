"""What the parts of a running server share."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID
from weakref import WeakValueDictionary

from smp._values.api_objects import metadata_of
from smp._values.values import JSONObject
from smp.server.metrics import Metrics
from smp.server.objects.metadata import random_suffix
from smp.server.registry.admission import AdmissionContext
from smp.server.registry.kinds import Kinds
from smp.server.registry.target import Target
from smp.server.settings import Settings
from smp.server.store import Store
from smp.server.work import Workers

_LOG: Final = logging.getLogger("smp.server")


_TURNS: Final = 32  # watches that get a change at one time


class ServerState:
    """The store, the kinds that are served, the settings, and the work in progress.

    ``stopping`` is set when the server shuts down. ``terminating`` has the namespaces
    and definitions that are being deleted, whose contents are to be deleted first;
    ``sweeping`` is held while they are. ``in_flight`` and ``watches`` are the requests
    that are being answered, ``incomplete`` are the requests whose
    bodies have not arrived as a whole, ``arriving`` the bytes that are there of them.
    ``randomness`` is the source of uids, of names and of what else is allocated;
    ``turns`` are those of the watches. ``service_values`` says which Service has which
    address and node port; what is in the store counts. ``webhook_urls`` are those of
    the settings, and of tests.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.webhook_urls: dict[str, str] = {**settings.webhooks}
        # What was read of the store about admission, see smp.server.admission.
        self.configurations: Any = None
        self.settings = settings
        self.metrics: Metrics = Metrics()
        self.stopping: asyncio.Event = asyncio.Event()
        self.workers: Workers = Workers(self.stopping)
        self.kinds: Kinds = Kinds(store, settings, self.workers)
        self.terminating: asyncio.Queue[Target] = asyncio.Queue()
        self.in_flight: int = 0
        self.watches: int = 0
        self.metrics.in_flight.set_function(lambda: self.in_flight)
        self.arriving: int = 0
        self.incomplete: int = 0
        self.sweeping: asyncio.Lock = asyncio.Lock()
        # A lock is forgotten when nothing holds it or waits for it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.service_values: dict[str, str] = {}
        # Without a seed it begins with randomness of the operating system.
        self.randomness: random.Random = random.Random(settings.seed)  # noqa: S311  # no secrets
        self.turns: asyncio.Semaphore = asyncio.Semaphore(_TURNS)

    @property
    def requests_under_way(self) -> int:
        """The requests in flight whose bodies have arrived."""
        return self.in_flight - self.incomplete

    def lock(self, key: str) -> asyncio.Lock:
        """Return the lock of a key, for those who write it.

        The store would detect that two writers change one object, and one of them would
        start again; within one process the second one waits for the first instead.
        """
        return self._locks.setdefault(key, asyncio.Lock())

    def admission_context(self, new: JSONObject | None = None) -> AdmissionContext:
        """Return the time, what is served, and the random parts of a new object."""
        uid = suffix = ""
        if new is not None:
            uid = str(UUID(int=self.randomness.getrandbits(128), version=4))
            if metadata_of(new).get("generateName"):
                suffix = random_suffix(self.randomness.choice)
        return AdmissionContext(
            now=datetime.now(UTC),
            resources=self.kinds.resources,
            schema_settings=self.kinds.schema_settings,
            uid=uid,
            suffix=suffix,
        )

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Wait until no contents of parents are to be deleted, and delete none then.

        What waits for finalizers stays.
        """
        while True:
            await self.terminating.join()
            async with self.sweeping:
                # Meanwhile another deletion may have begun.
                if self.terminating.empty():
                    yield
                    return


@asynccontextmanager
async def background(*works: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run coroutines while the block runs; they are cancelled at its end."""

    def report(task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error:
            _LOG.error("a background task failed", exc_info=error)

    tasks = [asyncio.create_task(work) for work in works]
    for task in tasks:
        task.add_done_callback(report)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
