"""Operations in any order, compared with a model of a store that is a dictionary."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from smp.server.store import ChangedError, Event, Expired, Store, Stored, open_store
from smp.server.store.sqlite import SQLiteStore
from tests.support.stores import (
    BACKENDS,
    StoreModel,
    new_url,
    opened_store,
    put,
    take_changes,
    take_revisions,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("backend", ["memory", "sqlite"], indirect=True)
async def test_the_history_is_complete_and_bounded(url: str, backend: str) -> None:
    chance = random.Random(7)
    async with opened_store(url, history=50) as store:
        model = StoreModel(await store.revision())
        for number in range(300):
            key = f"a/{chance.randrange(6)}"
            present = model.present.get(key)
            value: bytes | None = b"%d" % number
            if not present:
                revision = await store.create(key, b"%d" % number)
            elif chance.random() < 0.7:
                revision = await store.swap(key, b"%d" % number, present.revision)
            else:
                value = None
                revision = await store.delete(key, present.revision)
            model.change(key, value, revision or 0)
        newest = max(model.states)
        for since in range(newest - 50, newest):
            expected = [event for event in model.events if event.revision > since]
            async with aclosing(store.watch("", since)) as events:
                assert await take_changes(events, len(expected)) == expected
            state = model.states[since]
            page = await store.list("", revision=since)
            assert page.items == tuple(state[key] for key in sorted(state))
        with pytest.raises(Expired):
            await store.list("", revision=newest - 60)
    if backend == "sqlite":
        with sqlite3.connect(url.removeprefix("sqlite:")) as file:
            (rows,) = file.execute("SELECT count(*) FROM changes").fetchone()
        file.close()
        assert rows <= 60 + 6  # the bounded history, and the present value of each key


async def test_a_key_is_created_only_beside_unchanged_ones(url: str) -> None:
    async with opened_store(url) as store:
        first = await store.create("a", b"1") or 0
        a = Stored("a", b"1", first)
        other = Stored("b", b"1", await store.create("b", b"1") or 0)
        assert await store.create("c/1", b"1", [a, other])
        # Written, and deleted.
        second = await store.swap("a", b"2", first) or 0
        with pytest.raises(ChangedError):
            await store.create("c/2", b"1", [other, a])
        a = Stored("a", b"2", second)
        assert await store.create("c/2", b"1", [a])
        await store.delete("a", second)
        with pytest.raises(ChangedError):
            await store.create("c/3", b"1", [a])
        assert await store.get("c/3") is None
        # That the key exists already is said first.
        assert await store.create("c/2", b"2", [a]) is None
        assert await store.create("c/2", b"2", [other]) is None
        page = await store.list("c/")
        assert [(each.key, each.value) for each in page.items] == [
            ("c/1", b"1"),
            ("c/2", b"1"),
        ]


async def test_the_history_of_a_file_is_bounded_in_bytes(tmp_path: Path) -> None:
    size = 10_000
    store = SQLiteStore(str(tmp_path / "objects.db"), size=size)
    revision = await store.create("a", bytes(500)) or 0
    last = await store.create("b", bytes(100)) or 0
    for _ in range(100):
        last = await store.swap("b", bytes(1000), last) or 0
    # It is compacted in steps of a tenth of the size.
    within, beyond = last - 8, last - 13
    page = await store.list("", revision=within)
    assert [item.revision for item in page.items] == [revision, within]
    async with aclosing(store.watch("", within)) as events:
        assert await take_revisions(events, 8) == [*range(within + 1, last + 1)]
    # What the cache still has in memory is not what a new process finds.
    await store.close()
    reopened = SQLiteStore(str(tmp_path / "objects.db"), size=size)
    with pytest.raises(Expired):
        await reopened.list("", revision=beyond)
    assert await reopened.get("a") == Stored("a", bytes(500), revision)
    await reopened.close()
    with sqlite3.connect(tmp_path / "objects.db") as file:
        (stored,) = file.execute("SELECT sum(length(value)) FROM changes").fetchone()
    file.close()
    # The history, a tenth of it, the value that it began with, and the present ones.
    assert size / 2 < stored <= size * 1.1 + 1000 + 1500


KEYS: Final = st.sampled_from(
    ["a", "a/", "a/1", "a/2", "a0", "b/\ud800", "b/\U0010ffff"]
)
PREFIXES: Final = st.sampled_from(["", "a", "a/", "b/", "c"])
ANY_VALUE: Final = st.binary(max_size=20)


class StoreMachine(RuleBasedStateMachine):
    """A store beside its model, which takes over the revisions of the store."""

    runner: asyncio.Runner

    @staticmethod
    def open() -> Store:
        """Open an empty store; a subclass says which."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.store = self.runner.run(self._opened())
        self.model = StoreModel(self.runner.run(self.store.revision()))

    async def _opened(self) -> Store:
        return type(self).open()

    def teardown(self) -> None:
        self.runner.run(self.store.close())

    def expect(self, revision: int | None, *, done: bool) -> int:
        """Check that a write was done, or was not, and that its revision is new."""
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
        revisions = [*self.model.states, 0]
        if present:  # several times, so that it is drawn often
            revisions += [present.revision] * 3
        last = data.draw(st.sampled_from(revisions))
        if value is None:
            call = self.store.delete(key, last)
        else:
            call = self.store.swap(key, value, last)
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
        if revision:
            assert page.revision == revision
        else:
            assert page.revision >= max(self.model.states)

    @rule(prefix=PREFIXES, data=st.data())
    def watch(self, prefix: str, data: st.DataObject) -> None:
        since = data.draw(st.sampled_from([*self.model.states]))
        expected = [
            event
            for event in self.model.events
            if event.revision > since and event.key.startswith(prefix)
        ]
        seen = self.runner.run(self._take_all_changes(prefix, since, len(expected)))
        assert seen == expected

    async def _take_all_changes(
        self, prefix: str, since: int, count: int
    ) -> Sequence[Event]:
        """Take changes from a watch; after them nothing comes but a new change."""
        async with aclosing(self.store.watch(prefix, since)) as events:
            seen = await take_changes(events, count)
            last = await put(self.store, f"{prefix}last")
            assert await take_revisions(events, 1) == [last]
        self.model.change(f"{prefix}last", b"1", last)
        return seen


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_store_behaves_like_the_model(
    backend: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    class Machine(StoreMachine):
        @staticmethod
        def open() -> Store:
            return open_store(new_url(backend, request, tmp_path))

    examples = {"memory": 100, "sqlite": 40, "etcd": 12}[backend]
    with asyncio.Runner() as Machine.runner:
        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=examples, stateful_step_count=25, deadline=None
            ),
        )
        if backend == "etcd":
            # As in conftest.one_loop: what gRPC reports late finds its loop.
            Machine.runner.run(asyncio.sleep(1))
