"""What happens between the steps of a request: other writes, failures, restarts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from smp.server.app import create_app
from smp.server.settings import Settings
from smp.server.store import Event, Expired, Store, Stored, StoreError, open_store
from smp.server.store.memory import MemoryStore
from tests.support.server_app import (
    CONFIG_MAPS,
    MERGE,
    Served,
    config_map,
    serving,
    until,
)
from tests.support.server_definitions import CRON_TABS, cron_tab

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES = "/api/v1/namespaces"


class InterruptedStore(MemoryStore):
    """A store that lets other tasks run after each read and before the next create."""

    before_create: Callable[[], Awaitable[Any]] | None = None

    async def get(self, key: str) -> Stored | None:
        stored = await super().get(key)
        await asyncio.sleep(0)
        return stored

    async def create(
        self, key: str, value: bytes, unchanged: Sequence[Stored] = ()
    ) -> int | None:
        interruption, self.before_create = self.before_create, None
        if interruption:
            await interruption()
        return await super().create(key, value, unchanged)


def test_servers_on_one_store_lose_no_patch() -> None:
    async def scenario(server: Served) -> None:
        app = create_app(server.store, Settings())
        other = server.replica(app)
        await server.acall("POST", CONFIG_MAPS, config_map("a"))
        path = f"{CONFIG_MAPS}/a"
        calls = []
        for number in range(10):
            first = {"data": {f"a{number}": "v"}}
            second = {"data": {f"b{number}": "v"}}
            calls += [
                server.acall("PATCH", path, first, content_type=MERGE),
                other.acall("PATCH", path, second, content_type=MERGE),
            ]
        answers = await asyncio.gather(*calls)
        assert {answer.status_code for answer in answers} == {200}
        stored = await server.acall("GET", path)
        assert len(stored.json()["data"]) == 20
        # Some writes met a newer version and were computed again.
        counter = (
            'smp_write_conflicts_total{group="",resource="configmaps",version="v1"}'
        )
        metrics = [
            await replica.acall("GET", "/metrics") for replica in (server, other)
        ]
        assert any(counter in answer.text for answer in metrics)

    with serving(store=InterruptedStore) as server:
        server.run(scenario(server))


def test_an_object_created_during_the_deletion_of_its_namespace_is_deleted() -> None:
    path = f"{NAMESPACES}/away/configmaps"

    async def scenario(server: Served, store: InterruptedStore) -> None:
        async def interruption() -> None:
            await server.acall("DELETE", f"{NAMESPACES}/away")
            await until(lambda: answers_with(server, f"{NAMESPACES}/away", 404))

        await server.acall("POST", NAMESPACES, {"metadata": {"name": "away"}})
        store.before_create = interruption
        answer = await server.acall("POST", path, config_map("late"))
        assert answer.status_code == 404
        assert answer.json()["message"] == 'namespaces "away" not found'
        assert await answers_with(server, f"{path}/late", 404)

    with serving(store=InterruptedStore) as server:
        assert isinstance(server.store, InterruptedStore)
        server.run(scenario(server, server.store))


async def answers_with(server: Served, path: str, code: int) -> bool:
    return (await server.acall("GET", path)).status_code == code


def test_nothing_is_created_in_a_terminating_namespace() -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    with serving() as server:
        server.post(NAMESPACES, {"metadata": {"name": "away"}})
        path = f"{NAMESPACES}/away/configmaps"
        server.post(path, held)
        server.call("DELETE", f"{NAMESPACES}/away")
        server.run(until(lambda: is_marked(server, f"{path}/held")))
        refused = server.call("POST", path, config_map("late"))
        assert (refused.status_code, refused.json()["reason"]) == (403, "Forbidden")
        assert "because it is being terminated" in refused.json()["message"]
        server.patch(f"{path}/held", {"metadata": {"finalizers": []}})
        server.run(until(lambda: answers_with(server, f"{NAMESPACES}/away", 404)))


async def is_marked(server: Served, path: str) -> bool:
    answer = await server.acall("GET", path)
    return "deletionTimestamp" in answer.json()["metadata"]


def test_an_unfinished_deletion_is_finished_by_the_next_process(tmp_path: Path) -> None:
    def store() -> Store:
        return open_store(f"sqlite:{tmp_path / 'objects.db'}")

    with serving(store=store) as server:
        server.post(NAMESPACES, {"metadata": {"name": "away"}})
        server.post(f"{NAMESPACES}/away/configmaps", config_map("a"))
    asyncio.run(mark(store, "core/namespaces/away"))
    with serving(store=store) as server:
        server.run(until(lambda: answers_with(server, f"{NAMESPACES}/away", 404)))
        assert server.get("/api/v1/configmaps")["items"] == []


async def mark(store: Callable[[], Store], key: str) -> None:
    """Mark an object as deleted, as a process does that is killed right after that."""
    opened = store()
    stored = await opened.get(key)
    assert stored
    obj = json.loads(stored.value)
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    marked = json.dumps(obj, separators=(",", ":")).encode()
    assert await opened.swap(key, marked, stored.revision)
    await opened.close()


class ForgetfulStore(MemoryStore):
    """A store that cannot be watched from the revision of its first watch on."""

    def __init__(self, failure: Exception) -> None:
        super().__init__()
        self._failure = failure
        self._failing: int | None = None

    async def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        if self._failing is None:
            self._failing = since
        if since == self._failing:
            raise self._failure
        async for event in super().watch(prefix, since):
            yield event


@pytest.mark.parametrize("failure", [Expired(1), StoreError("the connection is lost")])
def test_definitions_are_watched_again_after_a_failure(failure: Exception) -> None:
    async def scenario(server: Served) -> None:
        other = create_app(server.store, Settings())
        await server.replica(other).acall("POST", DEFINITIONS, CRON_TABS)
        await until(lambda: lists(server, "stable.example.com"))

    async def lists(server: Served, group: str) -> bool:
        return group in (await server.acall("GET", "/apis")).text

    with serving(store=lambda: ForgetfulStore(failure)) as server:
        server.run(scenario(server))


def test_a_resource_deleted_during_a_request_is_not_found() -> None:
    path = "/apis/stable.example.com/v1/namespaces/default/crontabs"

    async def scenario(server: Served, store: InterruptedStore) -> None:
        async def interruption() -> None:
            definition = f"{DEFINITIONS}/crontabs.stable.example.com"
            await server.acall("DELETE", definition)
            await until(lambda: answers_with(server, definition, 404))

        await server.acall("POST", DEFINITIONS, CRON_TABS)
        store.before_create = interruption
        answer = await server.acall("POST", path, cron_tab({"image": "x"}, name="c"))
        assert answer.status_code == 404

    with serving(store=InterruptedStore) as server:
        assert isinstance(server.store, InterruptedStore)
        server.run(scenario(server, server.store))
