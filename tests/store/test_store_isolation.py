"""Snapshots beside namespaces and definitions that are emptied in the background."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Literal, TypeAlias

import httpx
import pytest

from smp._values.values import JSONObject
from smp.server.app import create_app
from smp.server.registry.state import ServerState
from smp.server.settings import Settings
from smp.testing._server import Snapshot, TestServer
from smp.testing._traffic import Traffic
from tests.support.server_app import URL, config_map
from tests.support.server_definitions import CRON_TABS, cron_tab
from tests.support.stores import opened_store
from tests.support.waiting import TIMEOUT

Parent: TypeAlias = Literal["namespace", "definition"]
# How many rounds are played with how many objects.
SAMPLE: Final = {1: 4, 5: 2, 20: 1}
ALL: Final = {1: 600, 5: 300, 20: 80, 100: 15, 300: 5}
PATHS: Final = {
    "namespace": "/api/v1/namespaces/shop",
    "definition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
    "crontabs.stable.example.com",
}
KEYS: Final = {
    "namespace": ("core/namespaces/shop", "core/configmaps/shop/"),
    "definition": (
        "apiextensions.k8s.io/customresourcedefinitions/crontabs.stable.example.com",
        "stable.example.com/crontabs/",
    ),
}


class Isolated:
    """A server of a test on a store, and its client."""

    def __init__(
        self, server: TestServer, state: ServerState, client: httpx.AsyncClient
    ) -> None:
        self.server = server
        self._state = state
        self._client = client

    async def delete(self, parent: Parent, turns: int) -> None:
        """Delete a parent, and let the event loop go on for a while."""
        answer = await self._client.delete(PATHS[parent])
        assert answer.status_code == 200
        for _ in range(turns):
            await asyncio.sleep(0)

    async def objects(self) -> dict[str, bytes]:
        """Return all objects once nothing is deleted in the background any more."""
        async with asyncio.timeout(TIMEOUT), self._state.at_rest():
            page = await self._state.store.list("")
        return {item.key: item.value for item in page.items}


@asynccontextmanager
async def isolated(url: str) -> AsyncIterator[Isolated]:
    async with opened_store(url) as store:
        app = create_app(store, Settings(seed=0))
        server = TestServer(app, store, Traffic(app))
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url=URL) as client,
        ):
            yield Isolated(server, app.state.server, client)


def contents(parent: Parent, count: int) -> list[JSONObject]:
    """Return a namespace, a definition, and objects of one of them."""
    shop: JSONObject = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop"},
    }
    found: list[JSONObject] = [shop, CRON_TABS]
    for number in range(count):
        obj: Any = config_map(f"c{number}")
        if parent == "definition":
            obj = cron_tab({})
        obj["metadata"] = {"name": f"c{number}", "namespace": "shop"}
        found.append(obj)
    return found


async def play(url: str, parent: Parent, rounds: Mapping[int, int]) -> None:
    """Delete a parent before a restore, and before a snapshot."""
    chance = random.Random(0)  # the points in time alone
    for size, times in rounds.items():
        async with isolated(url) as isolation:
            server = isolation.server
            await server.apply(contents(parent, size), "default")
            before: Snapshot = await server.snapshot()
            for _ in range(times):
                await isolation.delete(parent, chance.randrange(4 * size))
                await server.restore(before)
                # Nothing is lost.
                assert await isolation.objects() == before.objects

                await isolation.delete(parent, chance.randrange(4 * size))
                without = await server.snapshot()
                await server.restore(before)
                await server.restore(without)
                # Nothing is undead.
                found = await isolation.objects()
                assert not [key for key in found if key.startswith(KEYS[parent])]
                await server.restore(before)
            # For the next size in the same store.
            await isolation.delete(parent, 0)
            await isolation.objects()


@pytest.mark.parametrize("parent", ["namespace", "definition"])
@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(SAMPLE, id="sample"),
        pytest.param(ALL, id="1000", marks=pytest.mark.exhaustive),
    ],
)
async def test_nothing_is_lost_or_comes_back(
    url: str,
    parent: Parent,
    rounds: Mapping[int, int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    if url.startswith("etcd"):
        # A round takes ten times as long there: the sizes stay, the times do not.
        rounds = {size: max(1, times // 10) for size, times in rounds.items()}
    with caplog.at_level(logging.WARNING, "smp.server"):
        await play(url, parent, rounds)
    assert not caplog.messages
