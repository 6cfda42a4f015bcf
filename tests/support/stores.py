"""Stores under test: their URLs, what tests do with them, and a model of a store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from smp.server.store import Event, Store, Stored, StoreError, open_store
from smp.server.store.etcd import EtcdStore
from tests.support.etcd import Etcd, needs_etcd
from tests.support.waiting import TIMEOUT

BACKENDS: Final = ("memory", "sqlite", pytest.param("etcd", marks=needs_etcd))
PROGRESS_INTERVAL: Final = 0.2  # seconds without a change before a progress event


def new_url(backend: str, request: pytest.FixtureRequest, directory: Path) -> str:
    """Return the URL of an empty store."""
    if backend == "sqlite":
        return f"sqlite:{directory / uuid4().hex}.db"
    if backend == "etcd":
        server: Etcd = request.getfixturevalue("etcd")
        return f"{server.url}/{uuid4().hex}"
    return "memory:"


@asynccontextmanager
async def opened_store(url: str, *, history: int = 10_000) -> AsyncIterator[Store]:
    """Open a store for the length of a context."""
    store = open_store(url, history=history, progress=PROGRESS_INTERVAL)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def opened_etcd_store(url: str, *, limit: float = 5) -> AsyncIterator[EtcdStore]:
    """Open a store in etcd whose calls take at most ``limit`` seconds."""
    store = EtcdStore(url, timeout=limit, progress=PROGRESS_INTERVAL)
    try:
        yield store
    finally:
        await store.close()


async def put(store: Store, key: str, value: bytes = b"1") -> int:
    """Create or replace a key, as often as others are faster; return the revision."""
    while True:
        present = await store.get(key)
        if present:
            revision = await store.swap(key, value, present.revision)
        else:
            revision = await store.create(key, value)
        if revision is not None:
            return revision


async def fill_store(store: Store, size: int) -> tuple[int, StoreError]:
    """Write values until one fails; return how many were written, and the error."""
    for number in range(100):
        try:
            assert await store.create(f"a/{number}", bytes(size))
        except StoreError as error:
            return number, error
    pytest.fail("100 values fit into the store")


async def forget_history(
    store: Store, request: pytest.FixtureRequest, backend: str
) -> None:
    """Make a store with a history of 10 changes forget all changes so far."""
    for number in range(30):
        revision = await put(store, "z/filler", b"%d" % number)
    if backend == "etcd":
        server: Etcd = request.getfixturevalue("etcd")
        server.call("kv/compaction", {"revision": revision, "physical": True})


async def take_changes(events: AsyncIterator[Event], count: int) -> list[Event]:
    """Take changes from a watch; progress events are left out."""
    changes: list[Event] = []
    async with asyncio.timeout(TIMEOUT):
        while len(changes) < count:
            event = await anext(events)
            if event.type != "progress":
                changes.append(event)
    return changes


async def take_revisions(events: AsyncIterator[Event], count: int) -> list[int]:
    """Take changes from a watch and return their revisions."""
    changes = await take_changes(events, count)
    return [change.revision for change in changes]


async def next_event(events: AsyncIterator[Event]) -> Event:
    """Take one event from a watch, a change or a progress event."""
    async with asyncio.timeout(TIMEOUT):
        return await anext(events)


class StoreModel:
    """A dictionary, all its former states by revision, and the changes between them."""

    def __init__(self, start: int) -> None:
        self.present: dict[str, Stored] = {}
        self.states: dict[int, dict[str, Stored]] = {start: {}}
        self.events: list[Event] = []

    def change(self, key: str, value: bytes | None, revision: int) -> None:
        """Put a value at a revision; None deletes the key."""
        before = self.present.get(key)
        if value is None:
            assert before
            self.events.append(Event("delete", key, before.value, revision, before))
            del self.present[key]
        else:
            self.events.append(Event("put", key, value, revision, before))
            self.present[key] = Stored(key, value, revision)
        self.states[revision] = dict(self.present)
