"""Lists of keys: order, prefixes, pages and old revisions."""

from __future__ import annotations

import pytest

from smp.server.store import Expired, FutureRevisionError, Store, Stored, etcd
from tests.support.stores import forget_history, opened_store, put

pytestmark = pytest.mark.anyio


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
async def test_pages_add_up_to_the_list(
    store: Store, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(etcd, "_CHUNK", 2)
    for key in ("9", *(f"a/{number}" for number in range(6)), "b"):
        await store.create(key, b"1")
    whole = await store.list("a/")
    assert len(whole.items) == 6
    after, rest = "", list(whole.items)
    while True:
        page = await store.list("a/", limit=limit, after=after, revision=whole.revision)
        assert list(page.items) == rest[:limit]
        rest = rest[limit:]
        assert page.more == bool(rest)
        assert page.remaining == len(rest)
        assert page.revision == whole.revision
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
    assert await store.delete("a/8", revisions[8])
    await store.create("a/8", b"new")
    rest = await store.list("a/", after=first.items[-1].key, revision=first.revision)
    assert [*first.items, *rest.items] == [
        Stored(f"a/{number}", b"old", revisions[number]) for number in range(10)
    ]
    assert rest.revision == first.revision


async def test_a_list_can_start_after_an_absent_key(store: Store) -> None:
    for key in ("a/1", "a/3", "b"):
        await store.create(key, b"1")
    expected = {
        "a/2": ["a/3"],
        "a/3": [],
        "b": [],
        "0": ["a/1", "a/3"],
        "a/1\0": ["a/3"],
    }
    for after, keys in expected.items():
        page = await store.list("a/", after=after)
        assert [item.key for item in page.items] == keys


async def test_a_list_of_a_future_revision_is_an_error(store: Store) -> None:
    revision = await store.create("a", b"1") or 0
    for future in (revision + 1, 2**63, 2**70):
        with pytest.raises(FutureRevisionError) as caught:
            await store.list("", revision=future)
        assert (caught.value.code, caught.value.status) == ("future-revision", 504)


async def test_a_list_of_a_forgotten_revision_has_expired(
    url: str, backend: str, request: pytest.FixtureRequest
) -> None:
    async with opened_store(url, history=10) as store:
        old = await store.create("a", b"1") or 0
        await forget_history(store, request, backend)
        with pytest.raises(Expired) as caught:
            await store.list("", revision=old)
        assert (caught.value.code, caught.value.status) == ("expired", 410)
        recent = await put(store, "b")
        page = await store.list("", revision=recent)
        assert [item.key for item in page.items] == ["a", "b", "z/filler"]
