"""Whoever dies, stops or dawdles: no acknowledged write is lost or done twice, no
watcher misses or repeats a version.

SMP_FAULTS=20 makes everything twenty times as long.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.support.etcd import Etcd, needs_etcd, running
from tests.support.server_app import CONFIG_MAPS, MERGE, config_map
from tests.support.server_faults_load import (
    FREE,
    PATIENCE,
    Load,
    Watcher,
    client,
    watching,
)
from tests.support.server_process import ServerProcess, serving

pytestmark = pytest.mark.slow

SCALE: Final = int(os.environ.get("SMP_FAULTS", "1"))


class Cluster:
    """Servers on one store, of which some may be killed and started again; ``urls``
    says where they are.
    """

    def __init__(self, directory: Path, store: str, replicas: int) -> None:
        self._directory = directory
        self._store = store
        self._servers = [self._started(number) for number in range(replicas)]
        self.urls = [server.url for server, _ in self._servers]

    def _started(self, number: int) -> tuple[ServerProcess, ExitStack]:
        stack = ExitStack()
        return stack.enter_context(
            serving(self._directory / str(number), "--store", self._store)
        ), stack

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
        return (
            "memory:"
            if store == "memory"
            else f"sqlite:{self._directory / 'objects.db'}"
        )


@pytest.fixture
def clusters(tmp_path: Path, request: pytest.FixtureRequest) -> Clusters:
    return Clusters(tmp_path, request)


async def accounted(
    cluster: Cluster,
    fault: Callable[[Load], Awaitable[object]],
    *,
    increments: int = 15,
) -> Load:
    """Increment while two clients watch and something happens; then account for
    everything.
    """
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
        await watchers[0].check_every_resumption()
    for watcher in watchers:
        watcher.check(data)
        assert watcher.resumed
    return load


async def newest(cluster: Cluster) -> int:
    """Return the version of what was written last."""
    async with client() as http:
        items = (
            (await http.get(cluster.urls[0] + CONFIG_MAPS))
            .raise_for_status()
            .json()["items"]
        )
    return max(int(item["metadata"]["resourceVersion"]) for item in items)


async def nothing(_load: Load) -> None:
    pass


MEMORY: Final = pytest.param("memory", 1, id="memory")
ONE: Final = pytest.param("sqlite", 1, id="SQLite")
TWO: Final = pytest.param("sqlite", 2, id="SQLite, two servers")
ON_ETCD: Final = pytest.param("etcd", 2, id="etcd, two servers", marks=needs_etcd)


@pytest.mark.parametrize(("store", "replicas"), [MEMORY, TWO, ON_ETCD])
def test_every_increment_is_done_once(
    clusters: Clusters, store: str, replicas: int
) -> None:
    load = asyncio.run(accounted(clusters.start(store, replicas), nothing))
    assert all(
        told == "acknowledged"
        for counter in load.counters
        for told in counter.told.values()
    )
    assert load.retried, "nobody met anybody"


@pytest.mark.parametrize(("store", "replicas"), [ONE, TWO, ON_ETCD])
def test_a_killed_server_loses_no_write(
    clusters: Clusters, store: str, replicas: int
) -> None:
    cluster = clusters.start(store, replicas)

    async def killing(load: Load) -> None:
        for kill in range(2 * SCALE):
            await load.told(30 * (kill + 1))
            await asyncio.to_thread(cluster.restart, kill % replicas)

    asyncio.run(accounted(cluster, killing, increments=25))


@needs_etcd
def test_servers_survive_a_restart_of_etcd(tmp_path: Path) -> None:
    with running() as etcd, ExitStack() as stack:
        cluster = Cluster(tmp_path, etcd.url, 2)
        stack.callback(cluster.close)

        async def ending(load: Load) -> None:
            for number in range(2 * SCALE):
                await load.told(40 * (number + 1), "acknowledged")
                await asyncio.to_thread(etcd.kill if number % 2 else etcd.stop)
                assert await health(cluster) == {"/livez": 200, "/readyz": 503}
                await asyncio.to_thread(etcd.start)
                assert await health(cluster) == {"/livez": 200, "/readyz": 200}

        asyncio.run(accounted(cluster, ending, increments=25))


async def health(cluster: Cluster) -> dict[str, int]:
    async with client() as http:
        return {
            path: (await http.get(cluster.urls[0] + path)).status_code
            for path in ("/livez", "/readyz")
        }


CREATED: Final = json.dumps(config_map("slow", k="v" * 200)).encode()
SMALL: Final = 4096  # bytes that the kernel keeps for a client that does not read


def request(
    method: str, path: str, body: bytes = b"", media_type: str = "application/json"
) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


@asynccontextmanager
async def connected(
    cluster: Cluster,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect to a server; the end is a reset, as when a client dies."""
    url = urlsplit(cluster.urls[0])
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    plain.setblocking(False)
    await asyncio.get_running_loop().sock_connect(plain, (url.hostname, url.port))
    reader, writer = await asyncio.open_connection(sock=plain, limit=SMALL)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with suppress(ConnectionError):
            await writer.wait_closed()


def test_slow_clients_do_not_block_others(clusters: Clusters) -> None:
    cluster = clusters.start("sqlite", 1)

    async def dawdling(load: Load) -> None:
        async with AsyncExitStack() as stack:
            for _ in range(5):
                _, deaf = await stack.enter_async_context(connected(cluster))
                deaf.write(request("GET", f"{CONFIG_MAPS}?watch=true"))
            reader, slow = await stack.enter_async_context(connected(cluster))
            for byte in request("POST", CONFIG_MAPS, CREATED):
                slow.write(bytes([byte]))
                await asyncio.sleep(0.002)
            await flood(cluster)
            assert (await reader.readline()).startswith(b"HTTP/1.1 201 ")
            await load.told(20, "acknowledged")

    load = asyncio.run(accounted(cluster, dawdling))
    assert load.count("acknowledged") == sum(
        len(counter.told) for counter in load.counters
    )


async def flood(cluster: Cluster) -> None:
    """Write more than the connections of those who watch and do not read can hold."""
    big = config_map("big", v="v" * 200_000)
    async with client() as http:
        (await http.post(cluster.urls[0] + CONFIG_MAPS, json=big)).raise_for_status()
        for number in range(30 * SCALE):
            patch = {"data": {"number": str(number)}}
            url = f"{cluster.urls[0]}{CONFIG_MAPS}/big"
            (
                await http.patch(url, json=patch, headers={"content-type": MERGE})
            ).raise_for_status()
        await http.delete(f"{cluster.urls[0]}{CONFIG_MAPS}/big")


def test_a_write_of_a_client_that_disconnects_is_done_whole_or_not_at_all(
    clusters: Clusters,
) -> None:
    cluster = clusters.start("sqlite", 2)

    async def leaving(load: Load) -> None:
        counter = load.counters[0]
        for number in range(40 * SCALE):
            key = f"left-{number}"
            body = json.dumps({"data": {key: FREE}}).encode()
            whole = request("PATCH", counter.path, body, MERGE)
            is_whole = number % 2 == 0
            counter.told[key] = "unknown" if is_whole else "refused"
            async with connected(cluster) as (_, writer):
                writer.write(whole if is_whole else whole[:-1])
                await writer.drain()
                await asyncio.sleep(0.001 * (number % 5))

    load = asyncio.run(accounted(cluster, leaving))
    assert load.count("acknowledged") == 6 * 15 * SCALE
