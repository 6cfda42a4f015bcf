"""What every store promises of reading and writing keys, by one task and by many."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from typing import Final

import pytest

from smp.server.store import Event, Store, Stored, StoreError
from tests.support.stores import take_changes

pytestmark = pytest.mark.anyio


# Separators, wildcards of SQL and globs, quotes, surrogates and the code points around
# them, in the order of code points.
UNUSUAL_KEYS: Final = sorted(
    [
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
        "\ud7ff",
        "\ud800",
        "\udfff",
        "\ue000",
        "\uffff",
        "\U00010000",
        "\U0001f600",
        "\U0010ffff",
    ]
)
VALUES: Final = {
    "empty": b"",
    "every byte": bytes(range(256)),
    "a megabyte": os.urandom(1 << 20),
    "JSON": b'{"a": "\xc3\xa4"}',
}


async def test_a_key_is_created_once(store: Store) -> None:
    revision = await store.create("a", b"1")
    assert revision
    assert await store.create("a", b"2") is None
    assert await store.get("a") == Stored("a", b"1", revision)
    assert await store.revision() == revision


async def test_a_value_is_swapped_only_at_its_present_revision(store: Store) -> None:
    first = await store.create("a", b"1") or 0
    second = await store.swap("a", b"2", first) or 0
    assert second > first
    for stale in (first, second + 1, 0, -1, 2**63, 2**70):
        assert await store.swap("a", b"3", stale) is None
    assert await store.get("a") == Stored("a", b"2", second)


async def test_a_key_is_deleted_only_at_its_present_revision(store: Store) -> None:
    first = await store.create("a", b"1") or 0
    for stale in (first - 1, first + 1, 0, -1, 2**63):
        assert await store.delete("a", stale) is None
    deleted = await store.delete("a", first) or 0
    assert deleted > first
    assert await store.get("a") is None
    assert await store.revision() == deleted


async def test_an_absent_key_is_neither_swapped_nor_deleted(store: Store) -> None:
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


@pytest.mark.parametrize("backend", ["memory", "sqlite"], indirect=True)
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
    other = value[::-1]
    created = await store.create("a", value) or 0
    swapped = await store.swap("a", other, created) or 0
    deleted = await store.delete("a", swapped) or 0
    async with aclosing(store.watch("", start)) as events:
        seen = await take_changes(events, 3)
    before_swap = Stored("a", value, created)
    before_delete = Stored("a", other, swapped)
    assert seen == [
        Event("put", "a", value, created, before=None),
        Event("put", "a", other, swapped, before_swap),
        Event("delete", "a", other, deleted, before_delete),
    ]


async def test_a_key_is_any_text(store: Store) -> None:
    start = await store.revision()
    for key in reversed(UNUSUAL_KEYS):
        await store.create(key, key.encode("utf-8", "surrogatepass"))
    page = await store.list("")
    assert [item.key for item in page.items] == UNUSUAL_KEYS
    async with aclosing(store.watch("", start)) as events:
        seen = await take_changes(events, len(UNUSUAL_KEYS))
    assert [event.key for event in seen] == UNUSUAL_KEYS[::-1]
    for key in UNUSUAL_KEYS:
        present = await store.get(key)
        assert present
        assert present.value == key.encode("utf-8", "surrogatepass")
        page = await store.list(key)
        assert [item.key for item in page.items] == [
            each for each in UNUSUAL_KEYS if each.startswith(key)
        ]


async def test_an_empty_key_is_an_error(store: Store) -> None:
    with pytest.raises(StoreError) as caught:
        await store.create("", b"1")
    assert caught.value.code == "empty-key"
    assert await store.get("") is None


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
            value = b"%d" % (int(present.value) + 1)
            revision = await store.swap("counter", value, present.revision)
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
            if number == 0:
                revision = await store.create(key, value) or 0
            else:
                revision = await store.swap(key, value, revision) or 0
            assert await store.get(key) == Stored(key, value, revision)
            assert (await store.list(key)).items == (Stored(key, value, revision),)
            assert await store.revision() >= revision

    await asyncio.gather(*(write_and_read(f"k{number}/") for number in range(8)))


async def test_a_cancelled_write_does_not_affect_other_writes(store: Store) -> None:
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
