"""Servers, stores and clients that fail or are slow, under load.

No acknowledged write is lost or done twice, and no watcher misses or repeats a version.
SMP_FAULTS=20 makes everything twenty times as long.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.support.etcd import Etcd, needs_etcd, running
from tests.support.link import Link, linked
from tests.support.server_app import CONFIG_MAPS, MERGE, config_map
from tests.support.server_faults_load import (
    PAUSE,
    TIMEOUT,
    UNCOUNTED,
    Load,
    Watcher,
    client,
    watching,
)
from tests.support.server_process import ServerProcess, serving

pytestmark = pytest.mark.exhaustive

SECRETS: Final = CONFIG_MAPS.replace("configmaps", "secrets")
SCALE: Final = int(os.environ.get("SMP_FAULTS", "1"))


class Cluster:
    """Servers on one store, to be killed and started again; ``urls`` are theirs.

    ``stores`` has for each server how it reaches the store.
    """

    def __init__(self, directory: Path, stores: Sequence[str]) -> None:
        self._directory = directory
        self._stores = stores
        self._servers = [self._start(number) for number in range(len(stores))]
        self.urls = [server.url for server, _ in self._servers]

    def _start(self, number: int) -> tuple[ServerProcess, ExitStack]:
        stack = ExitStack()
        directory, store = self._directory / str(number), self._stores[number]
        server = stack.enter_context(serving(directory, "--store", store))
        return server, stack

    def restart(self, number: int) -> None:
        """Kill a server, and start another in its place, on another port."""
        _, stack = self._servers[number]
        stack.close()
        self._servers[number] = self._start(number)
        server, _ = self._servers[number]
        self.urls[number] = server.url

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
        cluster = Cluster(self._directory, [self._url(store)] * replicas)
        self._request.addfinalizer(cluster.close)
        return cluster

    def _url(self, store: str) -> str:
        if store == "etcd":
            etcd: Etcd = self._request.getfixturevalue("etcd")
            return f"{etcd.url}/{self._directory.name}"
        if store == "sqlite":
            return f"sqlite:{self._directory / 'objects.db'}"
        return "memory:"


@pytest.fixture
def clusters(tmp_path: Path, request: pytest.FixtureRequest) -> Clusters:
    return Clusters(tmp_path, request)


async def run_load(
    cluster: Cluster,
    fault: Callable[[Load], Awaitable[object]],
    *,
    increments: int = 15,
) -> Load:
    """Increment counters while two clients watch and a fault happens.

    Then check that every increment was done once, and that the watchers saw it once.
    """
    load = Load(cluster.urls, increments=increments * SCALE)
    async with asyncio.timeout(TIMEOUT * SCALE):
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
    """Return the version of the last write."""
    async with client() as http:
        response = await http.get(cluster.urls[0] + CONFIG_MAPS)
    items = response.raise_for_status().json()["items"]
    return max(int(item["metadata"]["resourceVersion"]) for item in items)


async def no_fault(_load: Load) -> None:
    pass


MEMORY: Final = pytest.param("memory", 1, id="memory")
ONE: Final = pytest.param("sqlite", 1, id="SQLite")
TWO: Final = pytest.param("sqlite", 2, id="SQLite, two servers")
ON_ETCD: Final = pytest.param("etcd", 2, id="etcd, two servers", marks=needs_etcd)


@pytest.mark.parametrize(("store", "replicas"), [MEMORY, TWO, ON_ETCD])
def test_every_increment_is_done_once(
    clusters: Clusters, store: str, replicas: int
) -> None:
    load = asyncio.run(run_load(clusters.start(store, replicas), no_fault))
    for counter in load.counters:
        assert set(counter.outcomes.values()) == {"acknowledged"}
    assert load.retried > 0, "no write met a concurrent one"


@pytest.mark.parametrize(("store", "replicas"), [ONE, TWO, ON_ETCD])
def test_a_killed_server_loses_no_write(
    clusters: Clusters, store: str, replicas: int
) -> None:
    cluster = clusters.start(store, replicas)

    async def kill_servers(load: Load) -> None:
        for kill in range(2 * SCALE):
            await load.wait_for(30 * (kill + 1))
            await asyncio.to_thread(cluster.restart, kill % replicas)

    asyncio.run(run_load(cluster, kill_servers, increments=25))


@needs_etcd
def test_servers_survive_a_restart_of_etcd(tmp_path: Path) -> None:
    with running() as etcd, ExitStack() as stack:
        cluster = Cluster(tmp_path, [etcd.url] * 2)
        stack.callback(cluster.close)

        async def restart_etcd(load: Load) -> None:
            for number in range(2 * SCALE):
                await load.wait_for(40 * (number + 1), "acknowledged")
                end = etcd.stop if number % 2 == 0 else etcd.kill
                await asyncio.to_thread(end)
                assert await health(cluster) == {"/livez": 200, "/readyz": 503}
                await asyncio.to_thread(etcd.start)
                assert await health(cluster) == {"/livez": 200, "/readyz": 200}

        asyncio.run(run_load(cluster, restart_etcd, increments=25))


@needs_etcd
def test_a_server_that_is_cut_off_from_etcd_answers_nothing_old(
    tmp_path: Path, etcd: Etcd
) -> None:
    port = urlsplit(etcd.url).port
    assert port
    with linked(port) as link, ExitStack() as stack:
        stores = [
            f"etcd://127.0.0.1:{each}/{tmp_path.name}" for each in (port, link.port)
        ]
        cluster = Cluster(tmp_path, stores)
        stack.callback(cluster.close)

        async def partition(load: Load) -> None:
            for number in range(SCALE):
                # Shorter than a server waits for an answer of etcd.
                await load.wait_for(40 * number + 20)
                link.cut()
                name = await created(cluster, f"first-{number}")
                await asyncio.gather(read_by_other(cluster, name), mend_after(link, 1))
                # As long as it waits.
                await load.wait_for(40 * number + 40)
                link.cut()
                name = await created(cluster, f"second-{number}")
                assert await read_by_other(cluster, name) in {503, 504}
                link.mend()
                async with asyncio.timeout(TIMEOUT):
                    await ready(cluster, 1)
                assert await read_by_other(cluster, name) == 200

        load = asyncio.run(run_load(cluster, partition, increments=25))
        assert load.count("acknowledged")


async def created(cluster: Cluster, name: str) -> str:
    """Create an object that is not a counter, through the first server."""
    async with client() as http:
        body = {"metadata": {"name": name}, "type": "Opaque"}
        answer = await http.post(cluster.urls[0] + SECRETS, json=body)
    assert answer.status_code == 201, answer.text
    return name


async def read_by_other(cluster: Cluster, name: str) -> int:
    """Ask the second server for an object: it answers with it, or with an error."""
    async with client() as http:
        answer = await http.get(f"{cluster.urls[1]}{SECRETS}/{name}")
    assert answer.status_code in {200, 503, 504}, answer.text
    return answer.status_code


async def ready(cluster: Cluster, number: int) -> None:
    while True:
        answered = await health(cluster, number)
        if answered["/readyz"] == 200:
            return
        await asyncio.sleep(PAUSE)


async def mend_after(link: Link, seconds: float) -> None:
    await asyncio.sleep(seconds)
    link.mend()


async def health(cluster: Cluster, number: int = 0) -> dict[str, int]:
    async with client() as http:
        return {
            path: (await http.get(cluster.urls[number] + path)).status_code
            for path in ("/livez", "/readyz")
        }


CREATED: Final = json.dumps(config_map("slow", k="v" * 200)).encode()
RECEIVE_BUFFER: Final = 4096  # bytes that the kernel keeps for a client


def request(
    method: str, path: str, body: bytes = b"", media_type: str = "application/json"
) -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        f"Content-Type: {media_type}",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


@asynccontextmanager
async def connected(
    cluster: Cluster,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect to a server; at the end reset the connection, as a killed client does."""
    url = urlsplit(cluster.urls[0])
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    connection.settimeout(0)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, (url.hostname, url.port))
    reader, writer = await asyncio.open_connection(
        sock=connection, limit=RECEIVE_BUFFER
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with suppress(ConnectionError):
            await writer.wait_closed()


def test_slow_clients_do_not_block_others(clusters: Clusters) -> None:
    cluster = clusters.start("sqlite", 1)

    async def be_slow(load: Load) -> None:
        async with AsyncExitStack() as stack:
            for _ in range(5):  # watchers that never read
                _, watcher = await stack.enter_async_context(connected(cluster))
                watcher.write(request("GET", f"{CONFIG_MAPS}?watch=true"))
            reader, slow = await stack.enter_async_context(connected(cluster))
            for byte in request("POST", CONFIG_MAPS, CREATED):
                slow.write(bytes([byte]))
                await asyncio.sleep(0.002)
            await flood(cluster)
            assert (await reader.readline()).startswith(b"HTTP/1.1 201 ")
            await load.wait_for(20, "acknowledged")

    load = asyncio.run(run_load(cluster, be_slow))
    increments = sum(len(counter.outcomes) for counter in load.counters)
    assert load.count("acknowledged") == increments


async def flood(cluster: Cluster) -> None:
    """Write more than the connections of watchers that do not read can hold."""
    large = config_map("large", v="v" * 200_000)
    collection = cluster.urls[0] + CONFIG_MAPS
    headers = {"content-type": MERGE}
    async with client() as http:
        response = await http.post(collection, json=large)
        response.raise_for_status()
        for number in range(30 * SCALE):
            patch = {"data": {"number": str(number)}}
            response = await http.patch(
                f"{collection}/large", json=patch, headers=headers
            )
            response.raise_for_status()
        await http.delete(f"{collection}/large")


def test_a_write_of_a_client_that_disconnects_is_done_whole_or_not_at_all(
    clusters: Clusters,
) -> None:
    cluster = clusters.start("sqlite", 2)

    async def disconnect(load: Load) -> None:
        counter = load.counters[0]
        for number in range(40 * SCALE):
            key = f"left-{number}"
            body = json.dumps({"data": {key: UNCOUNTED}}).encode()
            data = request("PATCH", counter.path, body, MERGE)
            if number % 2 == 0:  # a complete request: it may be done
                counter.outcomes[key] = "unknown"
            else:  # without its last byte: it must not be done
                counter.outcomes[key] = "refused"
                data = data[:-1]
            async with connected(cluster) as (_, writer):
                writer.write(data)
                await writer.drain()
                await asyncio.sleep(0.001 * (number % 5))

    load = asyncio.run(run_load(cluster, disconnect))
    assert load.count("acknowledged") == 6 * 15 * SCALE
