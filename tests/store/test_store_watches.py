"""Watches: every change once and in order, progress, and forgotten revisions."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from smp.server.store import Event, Expired, FutureRevisionError, Store, Stored
from tests.support.etcd import needs_etcd
from tests.support.stores import (
    forget_history,
    next_event,
    opened_store,
    put,
    take_changes,
    take_revisions,
)
from tests.support.waiting import TIMEOUT

pytestmark = pytest.mark.anyio


async def test_a_watch_gives_every_change_in_order(store: Store) -> None:
    start = await store.revision()
    acknowledged: dict[int, tuple[str, str, bytes]] = {}

    async def write(task: int) -> None:
        for number in range(4):
            key = f"k{task % 4}/{task}-{number}"
            value = b"%d" % number
            created = await store.create(key, value) or 0
            acknowledged[created] = ("put", key, value)
            swapped = await store.swap(key, b"new", created) or 0
            acknowledged[swapped] = ("put", key, b"new")
            if number % 2:
                deleted = await store.delete(key, swapped) or 0
                acknowledged[deleted] = ("delete", key, b"new")

    async with (
        aclosing(store.watch("", start)) as all_keys,
        aclosing(store.watch("k3/", start)) as some_keys,
    ):
        watches = asyncio.gather(
            take_changes(all_keys, 80), take_changes(some_keys, 20)
        )
        await asyncio.gather(*(write(task) for task in range(8)))
        seen, seen_of_k3 = await watches
    assert [event.revision for event in seen] == sorted(acknowledged)
    assert {
        event.revision: (event.type, event.key, event.value) for event in seen
    } == acknowledged
    assert seen_of_k3 == [event for event in seen if event.key.startswith("k3/")]


async def test_a_change_comes_with_the_value_before_it(store: Store) -> None:
    start = await store.revision()
    first = await store.create("a", b"1") or 0
    second = await store.swap("a", b"2", first) or 0
    third = await store.delete("a", second) or 0
    fourth = await store.create("a", b"3") or 0
    async with aclosing(store.watch("a", start)) as events:
        seen = await take_changes(events, 4)
    assert seen == [
        Event("put", "a", b"1", first, before=None),
        Event("put", "a", b"2", second, before=Stored("a", b"1", first)),
        Event("delete", "a", b"2", third, before=Stored("a", b"2", second)),
        Event("put", "a", b"3", fourth, before=None),
    ]


async def test_a_watch_of_a_prefix_sees_no_other_keys(store: Store) -> None:
    start = await store.revision()
    for key in ("a/1", "a", "a0", "b/1", "a/2", "a.", "a/\U0010ffff", "A/1"):
        await store.create(key, b"1")
    async with aclosing(store.watch("a/", start)) as events:
        seen = await take_changes(events, 3)
        assert [event.key for event in seen] == ["a/1", "a/2", "a/\U0010ffff"]
        await store.create("b/2", b"1")
        assert (await next_event(events)).type == "progress"


@pytest.mark.parametrize("step", [1, 3])
async def test_a_watch_resumes_where_another_ended(store: Store, step: int) -> None:
    position = await store.revision()
    revisions = [await store.create(f"a/{number}", b"1") for number in range(9)]
    seen: list[int] = []
    while len(seen) < 9:
        async with aclosing(store.watch("a/", position)) as events:
            seen += await take_revisions(events, step)
            position = seen[-1]
    assert seen == revisions


async def test_a_watch_without_changes_gives_progress_events(store: Store) -> None:
    start = await store.revision()
    async with aclosing(store.watch("a/", start)) as events:
        assert (await next_event(events)).revision >= start
        elsewhere = await store.create("b", b"1") or 0
        reached = 0
        async with asyncio.timeout(TIMEOUT):
            while reached < elsewhere:
                event = await next_event(events)
                assert event == Event("progress", "", b"", event.revision, before=None)
                assert event.revision >= reached
                reached = event.revision
        here = await store.create("a/1", b"1") or 0
        assert await take_revisions(events, 1) == [here]
        assert (await next_event(events)).revision >= here


async def test_a_watch_from_a_future_revision_is_an_error(store: Store) -> None:
    revision = await store.create("a", b"1") or 0
    for future in (revision + 1, 2**63, 2**70):
        with pytest.raises(FutureRevisionError):
            await anext(store.watch("", future))


async def test_a_watch_of_a_forgotten_revision_has_expired(
    url: str, backend: str, request: pytest.FixtureRequest
) -> None:
    async with opened_store(url, history=10) as store:
        old = await store.create("a", b"1") or 0
        await forget_history(store, request, backend)
        with pytest.raises(Expired) as caught:
            await anext(store.watch("", old))
        assert caught.value.status == 410
        recent = await put(store, "b")
        later = await put(store, "b")
        async with aclosing(store.watch("", recent)) as events:
            assert await take_revisions(events, 1) == [later]


async def test_a_watch_that_falls_behind_misses_nothing_or_expires(
    url: str, backend: str
) -> None:
    async with opened_store(url, history=10) as store:
        start = await store.revision()
        async with aclosing(store.watch("", start)) as events:
            first = await store.create("a", b"0") or 0
            seen = await take_changes(events, 1)
            assert seen[0].revision == first
            revisions = [await put(store, "a", b"%d" % number) for number in range(40)]
            if backend == "etcd":  # it keeps its history until it is compacted
                assert await take_revisions(events, 40) == revisions
            else:
                with pytest.raises(Expired):
                    await take_changes(events, 40)


@pytest.mark.parametrize(
    "backend", ["sqlite", pytest.param("etcd", marks=needs_etcd)], indirect=True
)
async def test_a_watch_sees_what_another_store_writes(url: str) -> None:
    async with opened_store(url) as store, opened_store(url) as other:
        start = await store.revision()
        async with aclosing(store.watch("", start)) as events:
            first = await store.create("a", b"1") or 0
            second = await other.swap("a", b"2", first) or 0
            third = await store.swap("a", b"3", second) or 0
            assert await take_revisions(events, 3) == [first, second, third]
