"""Opening a store, closing it, and what remains of it after that."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from smp.server.store import Store, Stored, StoreError, open_store
from tests.support.etcd import needs_etcd
from tests.support.stores import opened_store, put, take_changes, take_revisions
from tests.support.waiting import TIMEOUT, until

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "backend", ["sqlite", pytest.param("etcd", marks=needs_etcd)], indirect=True
)
async def test_data_outlives_the_store(url: str) -> None:
    async with opened_store(url) as store:
        start = await store.revision()
        kept = await store.create("kept", b"1") or 0
        gone = await store.create("gone", b"2") or 0
        deleted = await store.delete("gone", gone) or 0
    async with opened_store(url) as store:
        assert (await store.list("")).items == (Stored("kept", b"1", kept),)
        old = await store.list("", revision=gone)
        assert {item.key for item in old.items} == {"kept", "gone"}
        assert await store.revision() == deleted
        async with aclosing(store.watch("", start)) as events:
            assert await take_revisions(events, 3) == [kept, gone, deleted]
            more = await store.create("more", b"3") or 0
            assert await take_revisions(events, 1) == [more]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def tasks_of_loop() -> int:
    return len(asyncio.all_tasks())


def sqlite_threads() -> set[threading.Thread]:
    return {
        thread for thread in threading.enumerate() if thread.name.startswith("sqlite")
    }


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(),
    reason="open files are counted where Linux lists them",
)
async def test_a_closed_store_leaves_no_task_thread_or_file_open(url: str) -> None:
    # What the first store loads stays: not one for each store.
    stores = 6
    await use_store_with_watches(url)
    files, tasks, threads = open_files(), tasks_of_loop(), sqlite_threads()
    for _ in range(stores):
        await use_store_with_watches(url)
    await until(lambda: tasks_of_loop() <= tasks)
    assert not sqlite_threads() - threads
    await until(lambda: open_files() < files + stores)


async def use_store_with_watches(url: str) -> None:
    """Open a store, end some of its watches, and have closing end the others."""
    started = asyncio.Semaphore(0)

    async def follow(store: Store, since: int) -> None:
        async with aclosing(store.watch("", since)) as events:
            await take_changes(events, 1)
            started.release()
            await take_changes(events, 1)

    tasks = tasks_of_loop()
    async with opened_store(url) as store:
        start = await store.revision()
        watches = [asyncio.create_task(follow(store, start)) for _ in range(30)]
        await put(store, "a")
        async with asyncio.timeout(TIMEOUT):
            for _ in watches:
                await started.acquire()
        for watch in watches[:20]:
            watch.cancel()
        await asyncio.gather(*watches[:20], return_exceptions=True)
        # 10 watches and the task of the cache, which may be opening connections.
        await until(lambda: tasks_of_loop() < tasks + 20)
    outcomes = await asyncio.gather(*watches[20:], return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StopAsyncIteration] * 10


async def test_every_call_of_a_closed_store_is_an_error(store: Store) -> None:
    start = await store.revision()
    revision = await store.create("a", b"1") or 0
    events = store.watch("", start)
    assert await take_revisions(events, 1) == [revision]
    waiting = asyncio.create_task(take_changes(events, 1))
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises(StopAsyncIteration):
        await waiting
    calls: tuple[Callable[[], Any], ...] = (
        lambda: store.get("a"),
        lambda: store.list(""),
        lambda: store.create("b", b"1"),
        lambda: store.swap("a", b"2", revision),
        lambda: store.delete("a", revision),
        store.revision,
        lambda: anext(store.watch("", revision)),
    )
    for call in calls:
        with pytest.raises(StoreError) as caught:
            await call()
        assert (caught.value.code, caught.value.status) == ("store-closed", 503)
    await store.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory",
        "memory:x",
        "sqlite:",
        "sqlite::memory:",
        "/srv/x.db",
        "redis://user:secret@h",
        "etcd:",
        "etcd://",
        "etcd://h:port",
        "etcd://user:secret@h:1",
        "etcd://h:1?a=b",
        "etcd://[::1",
        "etcd://h/a/b",
        "etcd://h,",
        "etcds://h:1",
    ],
)
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(url)
    assert caught.value.code == "invalid-store-url"
    assert "secret" not in str(caught.value)


def modes_of_files(directory: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in directory.iterdir()}


async def test_a_file_is_accessible_to_its_owner_only(tmp_path: Path) -> None:
    async with opened_store(f"sqlite:{tmp_path / 'store.db'}") as store:
        await store.create("a", b"1")
        assert modes_of_files(tmp_path) == {0o600}


def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(
        "not a database, but text that is long enough to be seen as such" * 20
    )
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE letters (a)")
    other.close()
    before = (tmp_path / "other").read_bytes()
    for name in ("text", "other", "missing/file", "."):
        with pytest.raises(StoreError) as caught:
            open_store(f"sqlite:{tmp_path / name}")
        assert caught.value.code == "unusable-store"
    assert (tmp_path / "other").read_bytes() == before
