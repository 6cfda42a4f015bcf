"""What every store promises, whatever it keeps its data in; the expected results come
from a dictionary.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from smp.server.store import (
    Event,
    Expired,
    FutureRevisionError,
    Store,
    Stored,
    StoreError,
    open_store,
)
from tests.support.etcd import Etcd, needs_etcd, running

pytestmark = pytest.mark.anyio

KINDS: Final = ("memory", "sqlite", pytest.param("etcd", marks=needs_etcd))
PATIENCE: Final = 20.0  # seconds, for what comes at once
QUIET: Final = 0.2  # seconds, after which a progress is due
WEIRD: Final = sorted(
    [
        *(
            "a",
            "a/b",
            "a/ b",
            "a\0b",
            "a\n",
            "a\x7f",
            "a" * 2000,
            "%",
            "_",
            "*",
            "'",
            '"',
            "\\",
            "/",
            "\u00e9",
            "e\u0301",
        ),
        *(
            "\ud7ff",
            "\ud800",
            "\udfff",
            "\ue000",
            "\uffff",
            "\U00010000",
            "\U0001f600",
            "\U0010ffff",
        ),
    ]
)
VALUES: Final = {
    "empty": b"",
    "every byte": bytes(range(256)),
    "a megabyte": os.urandom(1 << 20),
    "JSON": b'{"a": "\xc3\xa4"}',
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def etcd() -> Iterator[Etcd]:
    with running() as server:
        yield server


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_url(kind, request, tmp_path)


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with opened(url) as store:
        yield store


def new_url(kind: str, request: pytest.FixtureRequest, directory: Path) -> str:
    """Name a store that nobody has used."""
    if kind == "sqlite":
        return f"sqlite:{directory / uuid4().hex}.db"
    if kind == "etcd":
        server: Etcd = request.getfixturevalue("etcd")
        return f"{server.url}/{uuid4().hex}"
    return "memory:"


@asynccontextmanager
async def opened(url: str, *, history: int = 10_000) -> AsyncIterator[Store]:
    store = open_store(url, history=history, progress=QUIET)
    try:
        yield store
    finally:
        await store.close()


async def written(store: Store, key: str, value: bytes = b"1") -> int:
    """Write a key, whatever there is, and return the revision."""
    while True:
        present = await store.get(key)
        done = await (
            store.swap(key, value, present.revision)
            if present
            else store.create(key, value)
        )
        if done is not None:
            return done


async def forgotten(store: Store, request: pytest.FixtureRequest, kind: str) -> None:
    """Let a store with a history of 10 changes lose those until now."""
    for number in range(30):
        revision = await written(store, "z/filler", b"%d" % number)
    if kind == "etcd":
        server: Etcd = request.getfixturevalue("etcd")
        server.call("kv/compaction", {"revision": revision, "physical": True})


async def taken(events: AsyncIterator[Event], count: int) -> list[Event]:
    """Take some changes from a watch, without what it says of its progress."""
    found: list[Event] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < count:
            event = await anext(events)
            if event.kind != "progress":
                found.append(event)
    return found


async def progress(events: AsyncIterator[Event]) -> Event:
    async with asyncio.timeout(PATIENCE):
        return await anext(events)


# Reading and writing


async def test_a_key_is_created_once(store: Store) -> None:
    revision = await store.create("a", b"1")
    assert revision
    assert await store.create("a", b"2") is None
    assert await store.get("a") == Stored("a", b"1", revision)
    assert await store.revision() == revision


async def test_a_value_is_swapped_by_who_knows_its_revision(store: Store) -> None:
    first = await store.create("a", b"1") or 0
    second = await store.swap("a", b"2", first) or 0
    assert second > first
    assert [
        await store.swap("a", b"3", stale)
        for stale in (first, second + 1, 0, -1, 2**63, 2**70)
    ] == [None] * 6
    assert await store.get("a") == Stored("a", b"2", second)


async def test_a_key_is_deleted_by_who_knows_its_revision(store: Store) -> None:
    first = await store.create("a", b"1") or 0
    assert [
        await store.delete("a", stale) for stale in (first - 1, first + 1, 0, -1, 2**63)
    ] == [None] * 5
    deleted = await store.delete("a", first) or 0
    assert deleted > first
    assert await store.get("a") is None
    assert await store.revision() == deleted


async def test_what_is_not_there_is_neither_swapped_nor_deleted(store: Store) -> None:
    first = await store.create("a", b"1") or 0
    deleted = await store.delete("a", first) or 0
    for revision in (0, first, deleted):
        assert await store.swap("a", b"2", revision) is None
        assert await store.delete("a", revision) is None
    assert await store.get("a") is None


async def test_a_deleted_key_can_be_created_again(store: Store) -> None:
    first = await store.create("a", b"1") or 0
    deleted = await store.delete("a", first) or 0
    again = await store.create("a", b"2") or 0
    assert again > deleted
    assert await store.swap("a", b"3", first) is None
    assert await store.get("a") == Stored("a", b"2", again)


@pytest.mark.parametrize("kind", ["memory", "sqlite"], indirect=True)
async def test_a_new_store_is_at_revision_one(store: Store) -> None:
    assert await store.revision() == 1
    assert (await store.list("")).revision == 1
    assert await store.create("a", b"") == 2


async def test_a_new_store_is_empty(store: Store) -> None:
    page = await store.list("")
    assert (page.items, page.more, page.remaining) == ((), False, 0)
    assert page.revision == await store.revision()
    assert await store.get("a") is None


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
async def test_a_value_is_any_bytes(store: Store, value: bytes) -> None:
    start = await store.revision()
    created = await store.create("a", value) or 0
    swapped = await store.swap("a", value[::-1], created) or 0
    deleted = await store.delete("a", swapped) or 0
    async with aclosing(store.watch("", start)) as events:
        assert await taken(events, 3) == [
            Event("put", "a", value, created, None),
            Event("put", "a", value[::-1], swapped, Stored("a", value, created)),
            Event(
                "delete", "a", value[::-1], deleted, Stored("a", value[::-1], swapped)
            ),
        ]


async def test_a_key_is_any_text(store: Store) -> None:
    start = await store.revision()
    for key in reversed(WEIRD):
        await store.create(key, key.encode("utf-8", "surrogatepass"))
    assert [item.key for item in (await store.list("")).items] == WEIRD
    async with aclosing(store.watch("", start)) as events:
        assert [event.key for event in await taken(events, len(WEIRD))] == WEIRD[::-1]
    for key in WEIRD:
        found = await store.get(key)
        assert found
        assert found.value == key.encode("utf-8", "surrogatepass")
        assert [item.key for item in (await store.list(key)).items] == [
            each for each in WEIRD if each.startswith(key)
        ]


async def test_a_key_is_not_empty(store: Store) -> None:
    with pytest.raises(StoreError) as caught:
        await store.create("", b"1")
    assert caught.value.code == "empty-key"
    assert await store.get("") is None


# Lists


async def test_a_list_has_the_keys_with_a_prefix_in_order(store: Store) -> None:
    keys = ["a", "a.", "a/", "a/1", "a/10", "a/2", "a/\U0010ffff", "a0", "b/1"]
    for key in keys[::-1]:
        await store.create(key, key.encode())
    for prefix in ("", "a", "a/", "a/1", "b", "c", "a/1/"):
        page = await store.list(prefix)
        assert [item.key for item in page.items] == [
            key for key in keys if key.startswith(prefix)
        ]
        assert all(item.value == item.key.encode() for item in page.items)


@pytest.mark.parametrize("limit", [1, 3, 6, 7, 100])
async def test_pages_make_the_list(
    store: Store, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smp.server.store.etcd._CHUNK", 2)
    for key in ("9", *(f"a/{number}" for number in range(6)), "b"):
        await store.create(key, b"1")
    whole = await store.list("a/")
    assert len(whole.items) == 6
    after, rest = "", list(whole.items)
    while True:
        page = await store.list("a/", limit=limit, after=after, revision=whole.revision)
        assert list(page.items) == rest[:limit]
        rest = rest[limit:]
        assert (page.more, page.remaining, page.revision) == (
            bool(rest),
            len(rest),
            whole.revision,
        )
        if not page.more:
            break
        after = page.items[-1].key
    assert not rest


async def test_pages_of_a_revision_do_not_see_later_writes(store: Store) -> None:
    revisions = [await store.create(f"a/{number}", b"old") or 0 for number in range(10)]
    first = await store.list("a/", limit=4)
    for number in (2, 3, 4, 5):
        await store.swap(f"a/{number}", b"new", revisions[number])
    await store.delete("a/7", revisions[7])
    await store.create("a/55", b"new")
    await store.create("a/00", b"new")
    again = await store.delete("a/8", revisions[8])
    await store.create("a/8", b"new")
    assert again
    rest = await store.list("a/", after=first.items[-1].key, revision=first.revision)
    assert [
        (item.key, item.value, item.revision) for item in (*first.items, *rest.items)
    ] == [(f"a/{number}", b"old", revisions[number]) for number in range(10)]
    assert rest.revision == first.revision


async def test_a_list_after_a_key_that_is_not_there(store: Store) -> None:
    for key in ("a/1", "a/3", "b"):
        await store.create(key, b"1")
    for after, expected in {
        "a/2": ["a/3"],
        "a/3": [],
        "b": [],
        "0": ["a/1", "a/3"],
        "a/1\0": ["a/3"],
    }.items():
        assert [
            item.key for item in (await store.list("a/", after=after)).items
        ] == expected


async def test_no_list_is_of_the_future(store: Store) -> None:
    revision = await store.create("a", b"1") or 0
    for future in (revision + 1, 2**63, 2**70):
        with pytest.raises(FutureRevisionError) as caught:
            await store.list("", revision=future)
        assert (caught.value.code, caught.value.status) == ("future-revision", 504)


async def test_a_list_of_a_forgotten_revision_has_expired(
    url: str, kind: str, request: pytest.FixtureRequest
) -> None:
    async with opened(url, history=10) as store:
        old = await store.create("a", b"1") or 0
        await forgotten(store, request, kind)
        with pytest.raises(Expired) as caught:
            await store.list("", revision=old)
        assert (caught.value.code, caught.value.status) == ("expired", 410)
        recent = await written(store, "b")
        assert [item.key for item in (await store.list("", revision=recent)).items] == [
            "a",
            "b",
            "z/filler",
        ]


# Concurrency


async def test_of_many_creators_one_succeeds(store: Store) -> None:
    revisions = await asyncio.gather(
        *(store.create("a", b"%d" % number) for number in range(30))
    )
    (winner,) = [number for number, revision in enumerate(revisions) if revision]
    assert await store.get("a") == Stored("a", b"%d" % winner, revisions[winner] or 0)


async def test_every_acknowledged_increment_counts_once(store: Store) -> None:
    await store.create("counter", b"0")
    acknowledged: list[int] = []

    async def count(times: int) -> None:
        while times:
            present = await store.get("counter")
            assert present
            revision = await store.swap(
                "counter", b"%d" % (int(present.value) + 1), present.revision
            )
            if revision:
                acknowledged.append(revision)
                times -= 1

    await asyncio.gather(*(count(8) for _ in range(8)))
    assert await store.get("counter") == Stored("counter", b"64", max(acknowledged))
    assert len(set(acknowledged)) == 64


async def test_a_read_after_a_write_sees_it(store: Store) -> None:
    async def write_and_read(key: str) -> None:
        revision = 0
        for number in range(10):
            value = b"%d" % number
            revision = (
                await (
                    store.swap(key, value, revision)
                    if number
                    else store.create(key, value)
                )
                or 0
            )
            assert await store.get(key) == Stored(key, value, revision)
            assert (await store.list(key)).items == (Stored(key, value, revision),)
            assert await store.revision() >= revision

    await asyncio.gather(*(write_and_read(f"k{number}/") for number in range(8)))


async def test_a_cancelled_write_disturbs_nobody(store: Store) -> None:
    writes = [
        asyncio.create_task(store.create(f"a/{number}", b"1")) for number in range(40)
    ]
    await asyncio.sleep(0)
    for write in writes[::2]:
        write.cancel()
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    present = {item.key: item.revision for item in (await store.list("a/")).items}
    for number, outcome in enumerate(outcomes):
        if not isinstance(outcome, BaseException):
            assert present[f"a/{number}"] == outcome
    assert await store.create("b", b"1")


# Watches


async def test_a_watch_gives_every_change_in_order(store: Store) -> None:
    start = await store.revision()
    acknowledged: dict[int, tuple[str, str, bytes]] = {}

    async def write(name: int) -> None:
        for number in range(4):
            key, value = f"k{name % 4}/{name}-{number}", b"%d" % number
            created = await store.create(key, value) or 0
            swapped = await store.swap(key, b"new", created) or 0
            acknowledged[created], acknowledged[swapped] = (
                ("put", key, value),
                ("put", key, b"new"),
            )
            if number % 2:
                acknowledged[await store.delete(key, swapped) or 0] = (
                    "delete",
                    key,
                    b"new",
                )

    async with (
        aclosing(store.watch("", start)) as every,
        aclosing(store.watch("k3/", start)) as some,
    ):
        watches = asyncio.gather(taken(every, 80), taken(some, 20))
        await asyncio.gather(*(write(name) for name in range(8)))
        seen, fourth = await watches
    assert [event.revision for event in seen] == sorted(acknowledged)
    assert {
        event.revision: (event.kind, event.key, event.value) for event in seen
    } == acknowledged
    assert fourth == [event for event in seen if event.key.startswith("k3/")]


async def test_a_change_comes_with_what_was_before(store: Store) -> None:
    start = await store.revision()
    first = await store.create("a", b"1") or 0
    second = await store.swap("a", b"2", first) or 0
    third = await store.delete("a", second) or 0
    fourth = await store.create("a", b"3") or 0
    async with aclosing(store.watch("a", start)) as events:
        seen = await taken(events, 4)
    assert [
        (event.kind, event.value, event.revision, event.created, event.previous)
        for event in seen
    ] == [
        ("put", b"1", first, True, None),
        ("put", b"2", second, False, b"1"),
        ("delete", b"2", third, False, b"2"),
        ("put", b"3", fourth, True, None),
    ]


async def test_a_watch_of_a_prefix_sees_no_other_keys(store: Store) -> None:
    start = await store.revision()
    for key in ("a/1", "a", "a0", "b/1", "a/2", "a.", "a/\U0010ffff", "A/1"):
        await store.create(key, b"1")
    async with aclosing(store.watch("a/", start)) as events:
        assert [event.key for event in await taken(events, 3)] == [
            "a/1",
            "a/2",
            "a/\U0010ffff",
        ]
        await store.create("b/2", b"1")
        assert (await progress(events)).kind == "progress"


@pytest.mark.parametrize("step", [1, 3])
async def test_a_watch_resumes_where_another_ended(store: Store, step: int) -> None:
    position = await store.revision()
    revisions = [await store.create(f"a/{number}", b"1") for number in range(9)]
    seen: list[int] = []
    while len(seen) < 9:
        async with aclosing(store.watch("a/", position)) as events:
            seen += [event.revision for event in await taken(events, step)]
            position = seen[-1]
    assert seen == revisions


async def test_a_watch_in_quiet_tells_its_progress(store: Store) -> None:
    start = await store.revision()
    async with aclosing(store.watch("a/", start)) as events:
        assert (await progress(events)).revision >= start
        elsewhere = await store.create("b", b"1") or 0
        reached = 0
        async with asyncio.timeout(PATIENCE):
            while reached < elsewhere:
                event = await progress(events)
                assert (event.kind, event.key, event.value, event.previous) == (
                    "progress",
                    "",
                    b"",
                    None,
                )
                assert event.revision >= reached
                reached = event.revision
        here = await store.create("a/1", b"1") or 0
        assert [event.revision for event in await taken(events, 1)] == [here]
        assert (await progress(events)).revision >= here


async def test_no_watch_begins_in_the_future(store: Store) -> None:
    revision = await store.create("a", b"1") or 0
    for future in (revision + 1, 2**63, 2**70):
        with pytest.raises(FutureRevisionError):
            await anext(store.watch("", future))


async def test_a_watch_of_a_forgotten_revision_has_expired(
    url: str, kind: str, request: pytest.FixtureRequest
) -> None:
    async with opened(url, history=10) as store:
        old = await store.create("a", b"1") or 0
        await forgotten(store, request, kind)
        with pytest.raises(Expired) as caught:
            await anext(store.watch("", old))
        assert caught.value.status == 410
        recent = await written(store, "b")
        later = await written(store, "b")
        async with aclosing(store.watch("", recent)) as events:
            assert [event.revision for event in await taken(events, 1)] == [later]


async def test_a_watch_that_falls_behind_misses_nothing_or_expires(
    url: str, kind: str
) -> None:
    async with opened(url, history=10) as store:
        start = await store.revision()
        async with aclosing(store.watch("", start)) as events:
            first = await store.create("a", b"0") or 0
            seen = await taken(events, 1)
            assert seen[0].revision == first
            revisions = [
                await written(store, "a", b"%d" % number) for number in range(40)
            ]
            if kind == "etcd":  # which has forgotten nothing
                assert [
                    event.revision for event in await taken(events, 40)
                ] == revisions
            else:
                with pytest.raises(Expired):
                    await taken(events, 40)


@pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("etcd", marks=needs_etcd)], indirect=True
)
async def test_what_is_stored_outlives_the_store(url: str) -> None:
    async with opened(url) as store:
        start = await store.revision()
        kept = await store.create("kept", b"1") or 0
        gone = await store.create("gone", b"2") or 0
        deleted = await store.delete("gone", gone) or 0
    async with opened(url) as store:
        assert (await store.list("")).items == (Stored("kept", b"1", kept),)
        assert {item.key for item in (await store.list("", revision=gone)).items} == {
            "kept",
            "gone",
        }
        assert await store.revision() == deleted
        async with aclosing(store.watch("", start)) as events:
            assert [event.revision for event in await taken(events, 3)] == [
                kept,
                gone,
                deleted,
            ]
            more = await store.create("more", b"3") or 0
            assert [event.revision for event in await taken(events, 1)] == [more]


@pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("etcd", marks=needs_etcd)], indirect=True
)
async def test_a_watch_sees_what_another_store_writes(url: str) -> None:
    async with opened(url) as one, opened(url) as other:
        start = await one.revision()
        async with aclosing(one.watch("", start)) as events:
            mine = await one.create("a", b"1") or 0
            theirs = await other.swap("a", b"2", mine) or 0
            again = await one.swap("a", b"3", theirs) or 0
            assert [event.revision for event in await taken(events, 3)] == [
                mine,
                theirs,
                again,
            ]


# The end


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def ended_generators() -> None:
    """Let the loop end the generators that httpx leaves to it."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(),
    reason="open files are counted where Linux lists them",
)
async def test_nothing_is_left_of_a_store(url: str) -> None:
    async with opened(url) as store:  # what the first one loads, stays
        await store.revision()
    files, tasks = open_files(), len(asyncio.all_tasks())
    begun = asyncio.Semaphore(0)

    async def follow(store: Store, since: int) -> None:
        async with aclosing(store.watch("", since)) as events:
            await taken(events, 1)
            begun.release()
            await taken(events, 1)

    async with opened(url) as store:
        start = await store.revision()
        watches = [asyncio.create_task(follow(store, start)) for _ in range(30)]
        await store.create("a", b"1")
        async with asyncio.timeout(PATIENCE):
            for _ in watches:
                await begun.acquire()
        for watch in watches[:20]:
            watch.cancel()
        await asyncio.gather(*watches[:20], return_exceptions=True)
        await ended_generators()
        # 10 watches, one task for all of them, which may be connecting
        assert len(asyncio.all_tasks()) - tasks < 20
    outcomes = await asyncio.gather(*watches[20:], return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StopAsyncIteration] * 10
    await ended_generators()
    assert len(asyncio.all_tasks()) == tasks
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith("sqlite")
    ]
    assert open_files() <= files


async def test_a_closed_store_says_so(store: Store) -> None:
    start = await store.revision()
    revision = await store.create("a", b"1") or 0
    begun = store.watch("", start)
    assert [event.revision for event in await taken(begun, 1)] == [revision]
    waiting = asyncio.create_task(taken(begun, 1))
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


# Opening


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "memory",
            "memory:x",
            "sqlite:",
            "sqlite::memory:",
            "/srv/x.db",
            "redis://user:secret@h",
        ),
        *(
            "etcd:",
            "etcd://",
            "etcd://h:port",
            "etcd://user:secret@h:1",
            "etcd://h:1?a=b",
            "etcd://[::1",
            "etcd://h/a/b",
        ),
    ],
)
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(url)
    assert caught.value.code == "invalid-store-url"
    assert "secret" not in str(caught.value)


def modes(directory: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in directory.iterdir()}


async def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    async with opened(f"sqlite:{tmp_path / 'store.db'}") as store:
        await store.create("a", b"1")
        assert modes(tmp_path) == {0o600}


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


# Any operations, in any order


class Model:
    """A dictionary, and every state that it had."""

    def __init__(self, start: int) -> None:
        self.present: dict[str, Stored] = {}
        self.states: dict[int, dict[str, Stored]] = {start: {}}
        self.events: list[Event] = []

    def change(self, key: str, value: bytes | None, revision: int) -> None:
        before = self.present.get(key)
        if value is None:
            assert before
            self.events.append(Event("delete", key, before.value, revision, before))
            del self.present[key]
        else:
            self.events.append(Event("put", key, value, revision, before))
            self.present[key] = Stored(key, value, revision)
        self.states[revision] = dict(self.present)


@pytest.mark.parametrize("kind", ["memory", "sqlite"], indirect=True)
async def test_the_history_is_whole_and_bounded(url: str, kind: str) -> None:
    chance = random.Random(7)
    async with opened(url, history=50) as store:
        model = Model(await store.revision())
        for number in range(300):
            key = f"a/{chance.randrange(6)}"
            present = model.present.get(key)
            value = b"%d" % number if not present or chance.random() < 0.7 else None
            revision = await (
                store.create(key, value or b"")
                if not present
                else store.delete(key, present.revision)
                if value is None
                else store.swap(key, value, present.revision)
            )
            model.change(key, value, revision or 0)
        newest = max(model.states)
        for since in range(newest - 50, newest):
            expected = [event for event in model.events if event.revision > since]
            async with aclosing(store.watch("", since)) as events:
                assert await taken(events, len(expected)) == expected
            state = model.states[since]
            assert (await store.list("", revision=since)).items == tuple(
                state[key] for key in sorted(state)
            )
        with pytest.raises(Expired):
            await store.list("", revision=newest - 60)
    if kind == "sqlite":
        with sqlite3.connect(url.removeprefix("sqlite:")) as file:
            assert file.execute("SELECT count(*) FROM changes").fetchone()[0] <= 6 + 60
        file.close()


KEYS: Final = st.sampled_from(
    ["a", "a/", "a/1", "a/2", "a0", "b/\ud800", "b/\U0010ffff"]
)
PREFIXES: Final = st.sampled_from(["", "a", "a/", "b/", "c"])
ANY_VALUE: Final = st.binary(max_size=20)


class StoreMachine(RuleBasedStateMachine):
    """A store and the model side by side; the revisions are the store's, and must grow."""

    @staticmethod
    def open() -> Store:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.store = self.runner.run(self._opened())
        self.model = Model(self.runner.run(self.store.revision()))

    async def _opened(self) -> Store:
        return type(self).open()

    def teardown(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()

    def expect(self, revision: int | None, *, done: bool) -> int:
        assert (revision is not None) == done
        assert revision is None or revision > max(self.model.states)
        return revision or 0

    @rule(key=KEYS, value=ANY_VALUE)
    def create(self, key: str, value: bytes) -> None:
        free = key not in self.model.present
        revision = self.expect(
            self.runner.run(self.store.create(key, value)), done=free
        )
        if free:
            self.model.change(key, value, revision)

    @rule(key=KEYS, value=st.none() | ANY_VALUE, data=st.data())
    def replace(self, key: str, value: bytes | None, data: st.DataObject) -> None:
        present = self.model.present.get(key)
        last = data.draw(
            st.sampled_from(
                [*([present.revision] * 3 if present else []), *self.model.states, 0]
            )
        )
        call = (
            self.store.delete(key, last)
            if value is None
            else self.store.swap(key, value, last)
        )
        fits = present is not None and present.revision == last
        revision = self.expect(self.runner.run(call), done=fits)
        if fits:
            self.model.change(key, value, revision)

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        assert self.runner.run(self.store.get(key)) == self.model.present.get(key)

    @rule(
        prefix=PREFIXES,
        limit=st.integers(0, 4),
        after=st.just("") | KEYS,
        data=st.data(),
    )
    def pages(self, prefix: str, limit: int, after: str, data: st.DataObject) -> None:
        revision = data.draw(st.sampled_from([0, *self.model.states]))
        state = self.model.states[revision] if revision else self.model.present
        expected = [
            state[key]
            for key in sorted(state)
            if key.startswith(prefix) and key > after
        ]
        page = self.runner.run(
            self.store.list(prefix, limit=limit, after=after, revision=revision)
        )
        assert page.items == tuple(expected[: limit or None])
        assert page.remaining == len(expected) - len(page.items)
        assert page.revision == revision or (
            not revision and page.revision >= max(self.model.states)
        )

    @rule(prefix=PREFIXES, data=st.data())
    def watch(self, prefix: str, data: st.DataObject) -> None:
        since = data.draw(st.sampled_from([*self.model.states]))
        expected = [
            event
            for event in self.model.events
            if event.revision > since and event.key.startswith(prefix)
        ]
        assert self.runner.run(self._seen(prefix, since, len(expected))) == expected

    async def _seen(self, prefix: str, since: int, count: int) -> Sequence[Event]:
        """Watch, and see that nothing more comes before a new change does."""
        async with aclosing(self.store.watch(prefix, since)) as events:
            seen = await taken(events, count)
            last = await written(self.store, f"{prefix}last")
            assert [event.revision for event in await taken(events, 1)] == [last]
        self.model.change(f"{prefix}last", b"1", last)
        return seen


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_behaves_like_the_model(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    class Machine(StoreMachine):
        @staticmethod
        def open() -> Store:
            return open_store(new_url(kind, request, tmp_path))

    examples = {"memory": 100, "sqlite": 40, "etcd": 12}[kind]
    run_state_machine_as_test(
        Machine,
        settings=settings(max_examples=examples, stateful_step_count=25, deadline=None),
    )
