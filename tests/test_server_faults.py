"""No acknowledged write is lost or done twice, and no watcher misses or repeats a version: whoever dies, stops or dawdles.

SMP_FAULTS=20 makes everything twenty times as long.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import pytest

from tests.etcd import Etcd, needs_etcd, running
from tests.server_app import CONFIG_MAPS, JSON_PATCH, MERGE, config_map
from tests.server_faults_load import PATIENCE, PAUSE, Load, Watcher, client, watching
from tests.server_process import ServerProcess, serving

SCALE: Final = int(os.environ.get("SMP_FAULTS", "1"))


class Cluster:
    """Servers on one store, of which some may be killed and started again; ``urls`` says where they are."""

    def __init__(self, directory: Path, store: str, replicas: int) -> None:
        self._directory = directory
        self._store = store
        self._servers = [self._started(number) for number in range(replicas)]
        self.urls = [server.url for server, _ in self._servers]

    def _started(self, number: int) -> tuple[ServerProcess, ExitStack]:
        stack = ExitStack()
        return stack.enter_context(serving(self._directory / str(number), "--store", self._store)), stack

    def restart(self, number: int) -> None:
        """Kill a server, and start another in its place, on another port."""
        self._servers[number][1].close()
        self._servers[number] = self._started(number)
        self.urls[number] = self._servers[number][0].url

    def close(self) -> None:
        for _, stack in self._servers:
            stack.close()


@pytest.fixture(scope="module")
def etcd() -> Iterator[Etcd]:
    with running() as started:
        yield started


class Clusters:
    """Makes clusters that end with the test."""

    def __init__(self, directory: Path, request: pytest.FixtureRequest) -> None:
        self._directory = directory
        self._request = request

    def start(self, store: str, replicas: int) -> Cluster:
        """Start a cluster on a new store."""
        cluster = Cluster(self._directory, self._url(store), replicas)
        self._request.addfinalizer(cluster.close)
        return cluster

    def _url(self, store: str) -> str:
        if store == "etcd":
            etcd: Etcd = self._request.getfixturevalue("etcd")
            return f"{etcd.url}/{self._directory.name}"
        return "memory:" if store == "memory" else f"sqlite:{self._directory / 'objects.db'}"


@pytest.fixture
def clusters(tmp_path: Path, request: pytest.FixtureRequest) -> Clusters:
    return Clusters(tmp_path, request)


async def accounted(cluster: Cluster, fault: Callable[[Load], Awaitable[object]], *, increments: int = 15) -> Load:
    """Increment while two clients watch and something happens; then account for everything."""
    load = Load(cluster.urls, increments=increments * SCALE)
    async with asyncio.timeout(PATIENCE * SCALE):
        version = await load.create()
        watchers = [Watcher(cluster.urls, version, seed=seed) for seed in range(2)]
        async with watching(watchers):
            await asyncio.gather(load.run(), fault(load))
            data = await load.check()
            last = await newest(cluster)
            for watcher in watchers:
                await watcher.seen(last)
    for watcher in watchers:
        watcher.check(data)
        assert watcher.resumed
    return load


async def newest(cluster: Cluster) -> int:
    """Return the version of what was written last."""
    async with client() as http:
        items = (await http.get(cluster.urls[0] + CONFIG_MAPS)).raise_for_status().json()["items"]
    return max(int(item["metadata"]["resourceVersion"]) for item in items)


async def nothing(_load: Load) -> None:
    pass


STORES: Final = [
    pytest.param("memory", 1, id="memory"),
    pytest.param("sqlite", 1, id="SQLite"),
    pytest.param("sqlite", 2, id="SQLite, two servers"),
    pytest.param("etcd", 2, id="etcd, two servers", marks=needs_etcd),
]


@pytest.mark.parametrize(("store", "replicas"), STORES)
def test_every_increment_is_done_once(clusters: Clusters, store: str, replicas: int) -> None:
    load = asyncio.run(accounted(clusters.start(store, replicas), nothing))
    assert all(told == "acknowledged" for counter in load.counters for told in counter.told.values())
    assert load.retried, "nobody met anybody"


@pytest.mark.parametrize(("store", "replicas"), STORES[1:])
def test_a_killed_server_loses_nothing(clusters: Clusters, store: str, replicas: int) -> None:
    cluster = clusters.start(store, replicas)

    async def killing(load: Load) -> None:
        for kill in range(2 * SCALE):
            await load.told(30 * (kill + 1))
            await asyncio.to_thread(cluster.restart, kill % replicas)

    asyncio.run(accounted(cluster, killing, increments=25))


@needs_etcd
@pytest.mark.parametrize("end", [Etcd.stop, Etcd.kill])
def test_etcd_may_stop_and_start(tmp_path: Path, end: Callable[[Etcd], None]) -> None:
    with running() as etcd, ExitStack() as stack:
        cluster = Cluster(tmp_path, etcd.url, 2)
        stack.callback(cluster.close)

        async def stopping(load: Load) -> None:
            for stop in range(SCALE):
                await load.told(40 * (stop + 1), "acknowledged")
                await asyncio.to_thread(end, etcd)
                assert await health(cluster) == {"/livez": 200, "/readyz": 503}
                await asyncio.to_thread(etcd.start)
                assert await health(cluster) == {"/livez": 200, "/readyz": 200}

        asyncio.run(accounted(cluster, stopping, increments=25))


async def health(cluster: Cluster) -> dict[str, int]:
    async with client() as http:
        return {path: (await http.get(cluster.urls[0] + path)).status_code for path in ("/livez", "/readyz")}
