"""What a store keeps when etcd stops, hangs, is killed or loses its data."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress

import pytest

from smp.server.store import (
    Event,
    Expired,
    OutcomeUnknownError,
    Store,
    Stored,
    StoreError,
    ValueTooLargeError,
)
from tests.support.etcd import Etcd, needs_etcd, running
from tests.support.stores import (
    fill_store,
    opened_etcd_store,
    put,
    take_changes,
    take_revisions,
)
from tests.support.waiting import TIMEOUT, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def all_calls(store: Store) -> Sequence[Callable[[], Awaitable[object]]]:
    """Every method of a store, to be called."""
    return (
        lambda: store.get("a"),
        lambda: store.list(""),
        store.revision,
        lambda: store.create("b", b"1"),
        lambda: store.swap("a", b"2", 2),
        lambda: store.delete("a", 2),
        lambda: anext(store.watch("", 1)),
    )


async def answered_revision(store: Store) -> int:
    """Ask for the revision until etcd answers in time."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            with suppress(StoreError):
                return await store.revision()


@needs_etcd
async def test_a_watch_survives_a_stopped_etcd_and_other_calls_fail(
    etcd_server: Etcd,
) -> None:
    async with (
        opened_etcd_store(etcd_server.url) as store,
        aclosing(store.watch("", await store.revision())) as events,
    ):
        first = await store.create("a", b"1") or 0
        assert await take_revisions(events, 1) == [first]
        etcd_server.stop()
        for call in all_calls(store):
            with pytest.raises(StoreError) as caught:
                async with asyncio.timeout(TIMEOUT):
                    await call()
            assert caught.value.status in (503, 504)
        etcd_server.start()
        second = await store.swap("a", b"2", first) or 0
        assert await take_changes(events, 1) == [
            Event("put", "a", b"2", second, Stored("a", b"1", first))
        ]


@pytest.mark.exhaustive
@needs_etcd
async def test_calls_of_a_hanging_etcd_time_out(etcd_server: Etcd) -> None:
    async with opened_etcd_store(etcd_server.url, limit=0.5) as store:
        start = await answered_revision(store)
        etcd_server.pause()
        for call in all_calls(store):
            with pytest.raises(StoreError) as caught:
                async with asyncio.timeout(TIMEOUT):
                    await call()
            assert caught.value.code in ("store-unavailable", "outcome-unknown")
        etcd_server.resume()
        await answered_revision(store)
        last = await put(store, "b", b"2")
        async with aclosing(store.watch("b", start)) as events:
            seen = await take_changes(events, 1)
            while seen[-1].revision < last:
                seen += await take_changes(events, 1)
        first = Stored("b", b"1", seen[0].revision)
        if len(seen) == 1:  # the creation that timed out did not happen
            assert seen == [Event("put", "b", b"2", last, before=None)]
        else:  # it did, before the last write
            assert seen == [
                Event("put", "b", b"1", first.revision, before=None),
                Event("put", "b", b"2", last, before=first),
            ]


@needs_etcd
async def test_acknowledged_writes_survive_a_killed_etcd(etcd_server: Etcd) -> None:
    acknowledged: dict[int, str] = {}
    unknown: set[str] = set()
    progress = asyncio.Semaphore(0)

    async def write(store: Store, name: int) -> None:
        for number in range(1_000_000):
            key = f"{name}/{number}"
            try:
                revision = await store.create(key, key.encode())
            except OutcomeUnknownError:
                unknown.add(key)
            except StoreError:  # the write did not happen
                await asyncio.sleep(0.01)
            else:
                assert revision
                acknowledged[revision] = key
                progress.release()

    async with (
        opened_etcd_store(etcd_server.url) as store,
        aclosing(store.watch("", await store.revision())) as events,
    ):
        writers = [asyncio.create_task(write(store, name)) for name in range(8)]
        for _ in range(3):
            for _ in range(60):
                await progress.acquire()
            await asyncio.to_thread(etcd_server.kill)
            await asyncio.to_thread(etcd_server.start)
        before = len(acknowledged)
        await until(lambda: len(acknowledged) > before)
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
        last = await put(store, "last")
        seen = await take_changes(events, len(acknowledged))
        while seen[-1].revision < last:
            seen += await take_changes(events, 1)
        items = (await store.list("")).items
    keys = {event.revision: event.key for event in seen}
    assert keys | acknowledged == keys
    assert len(set(keys.values())) == len(seen) == len(items)
    # The write that was cancelled with its task may have happened: one for each writer.
    cancelled = set(keys.values()) - unknown - set(acknowledged.values()) - {"last"}
    assert len({key.split("/")[0] for key in cancelled}) == len(cancelled)
    written = [Stored(event.key, event.value, event.revision) for event in seen]
    assert written == sorted(items, key=revision_of)


def revision_of(item: Stored) -> int:
    return item.revision


@needs_etcd
async def test_a_watch_ends_when_etcd_has_lost_its_data(etcd_server: Etcd) -> None:
    async with opened_etcd_store(etcd_server.url) as store:
        for number in range(5):
            start = await store.create(f"a/{number}", b"1") or 0
        async with aclosing(store.watch("", start)) as events:
            assert (await anext(events)).type == "progress"
            etcd_server.stop()
            etcd_server.wipe()
            etcd_server.start()
            async with asyncio.timeout(TIMEOUT):
                assert {event.type async for event in events} <= {"progress"}
        assert await store.create("a/0", b"1")


@needs_etcd
async def test_keys_of_others_in_etcd_change_only_the_progress(
    etcd_server: Etcd,
) -> None:
    async with (
        opened_etcd_store(etcd_server.url + "/one") as one,
        opened_etcd_store(etcd_server.url + "/one-more") as other,
    ):
        start = await one.revision()
        async with aclosing(one.watch("", start)) as events:
            assert (await anext(events)).type == "progress"
            theirs = await other.create("a", b"1") or 0
            etcd_server.call("kv/put", {"key": "YQ==", "value": "YQ=="})
            reached = 0
            async with asyncio.timeout(TIMEOUT):
                while reached < theirs + 1:
                    event = await anext(events)
                    assert event.type == "progress"
                    reached = event.revision
        assert (await one.list("")).items == ()


@needs_etcd
async def test_a_change_whose_previous_value_is_compacted_has_expired(
    etcd_server: Etcd,
) -> None:
    async with opened_etcd_store(etcd_server.url) as store:
        first = await store.create("a", b"1") or 0
        second = await store.swap("a", b"2", first) or 0
        third = await store.swap("a", b"3", second) or 0
        etcd_server.call("kv/compaction", {"revision": second, "physical": True})
        with pytest.raises(Expired):
            await take_changes(store.watch("", first), 1)
        async with aclosing(store.watch("", second)) as events:
            assert await take_changes(events, 1) == [
                Event("put", "a", b"3", third, Stored("a", b"2", second))
            ]


@needs_etcd
@pytest.mark.parametrize("size", [1_600_000, 3_600_000])
async def test_a_value_that_is_too_large_is_an_error(
    etcd_server: Etcd, size: int
) -> None:
    async with opened_etcd_store(etcd_server.url) as store:
        with pytest.raises(ValueTooLargeError) as caught:
            await store.create("a", bytes(size))
        assert (caught.value.code, caught.value.status) == ("value-too-large", 413)
        assert await store.get("a") is None


@needs_etcd
async def test_a_full_etcd_is_an_error() -> None:
    with running("--quota-backend-bytes=2000000") as server:
        async with opened_etcd_store(server.url) as store:
            done, error = await fill_store(store, 500_000)
            assert type(error) is StoreError
            # etcd may report that it is full after it has written the value.
            assert len((await store.list("")).items) in (done, done + 1)
