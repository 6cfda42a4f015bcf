"""Load for the fault tests: writers that increment counters, and watchers of them.

A counter is a ConfigMap with the number in ``data.count``. An increment adds a key of
its own, whose value is the new number, or ``UNCOUNTED`` where the key is added without
reading the number. So the data show an increment that is lost or done twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, MutableSequence, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal, TypeAlias

import httpx

from tests.support.server_app import (
    CONFIG_MAPS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    config_map,
)

UNCOUNTED: Final = "uncounted"
PAUSE: Final = 0.02  # seconds before a server that cannot be reached is asked again
TIMEOUT: Final = 300.0  # seconds after which a test is stuck

WriteOutcome: TypeAlias = Literal["acknowledged", "refused", "unknown"]
# The URLs of the servers that run at this moment.
Servers: TypeAlias = MutableSequence[str]


@dataclass
class Counter:
    """A ConfigMap, and the outcome of each increment, by its key."""

    name: str
    outcomes: dict[str, WriteOutcome] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{CONFIG_MAPS}/{self.name}"

    def keys(self, outcome: WriteOutcome) -> set[str]:
        return {key for key, actual in self.outcomes.items() if actual == outcome}

    def check(self, data: dict[str, str]) -> None:
        """Check that acknowledged increments were done once, and refused ones never."""
        values = {**data}
        total = int(values.pop("count"))
        present = values.keys()
        assert self.keys("acknowledged") <= present, "an acknowledged increment is lost"
        assert not self.keys("refused") & present, "a refused increment was done"
        assert present <= self.outcomes.keys()
        numbers = [int(value) for value in values.values() if value != UNCOUNTED]
        message = "an increment is lost or was done twice"
        assert sorted(numbers) == [*range(1, total + 1)], message


class Load:
    """Writers that increment counters, each time on any of the servers."""

    def __init__(
        self,
        servers: Servers,
        *,
        counters: int = 3,
        writers: int = 6,
        increments: int = 15,
    ) -> None:
        self.servers = servers
        self.counters = [Counter(f"counter-{number}") for number in range(counters)]
        self.retried = 0
        self._writers = writers
        self._increments = increments
        self._counted = asyncio.Condition()

    async def create(self) -> int:
        """Create the counters; return the version before the first increment."""
        url = self.servers[0] + CONFIG_MAPS
        async with client() as http:
            for counter in self.counters:
                body = config_map(counter.name, count="0")
                created = await http.post(url, json=body)
                created.raise_for_status()
        return int(created.json()["metadata"]["resourceVersion"])

    async def run(self) -> None:
        """Do all increments."""
        async with client() as http:
            await asyncio.gather(
                *(self._write(http, number) for number in range(self._writers))
            )

    async def wait_for(self, number: int, *outcomes: WriteOutcome) -> None:
        """Wait until so many increments had one of these outcomes; by default any."""
        expected = outcomes or ("acknowledged", "refused", "unknown")
        async with self._counted:
            await self._counted.wait_for(lambda: self.count(*expected) >= number)

    def count(self, *outcomes: WriteOutcome) -> int:
        """Return how many increments had one of these outcomes."""
        total = 0
        for counter in self.counters:
            for outcome in outcomes:
                total += len(counter.keys(outcome))
        return total

    async def check(self) -> dict[str, dict[str, str]]:
        """Check the counters, which must be equal on all servers; return their data."""
        data_by_server: list[dict[str, dict[str, str]]] = []
        async with client() as http:
            for url in self.servers:
                response = await http.get(url + CONFIG_MAPS)
                items = response.raise_for_status().json()["items"]
                data_by_server.append(
                    {item["metadata"]["name"]: item["data"] for item in items}
                )
        first = data_by_server[0]
        assert all(data == first for data in data_by_server)
        for counter in self.counters:
            counter.check(first[counter.name])
        return {counter.name: first[counter.name] for counter in self.counters}

    async def _write(self, http: httpx.AsyncClient, writer: int) -> None:
        random = Random(writer)
        for number in range(self._increments):
            counter = random.choice(self.counters)
            make_patch = random.choice(PATCHES)
            key = f"w{writer}-{number}"
            outcome = await self._increment(http, random, counter, key, make_patch)
            async with self._counted:
                counter.outcomes[key] = outcome
                self._counted.notify_all()

    async def _increment(
        self,
        http: httpx.AsyncClient,
        random: Random,
        counter: Counter,
        key: str,
        make_patch: MakePatch,
    ) -> WriteOutcome:
        """Read the counter and patch it, until the patch meets no concurrent write."""
        while True:
            url = random.choice(self.servers) + counter.path
            present = await read(http, url)
            if present is None:
                await asyncio.sleep(PAUSE)
                continue
            media_type, body = make_patch(present, key)
            outcome = await send_patch(http, url, media_type, body)
            if outcome:
                return outcome
            self.retried += 1
            await asyncio.sleep(random.random() * PAUSE)


# Makes a patch, with its media type, of the present counter and a key.
MakePatch: TypeAlias = Callable[[Any, str], tuple[str, Any]]


def json_patch_with_test(present: Any, key: str) -> tuple[str, Any]:
    """Increment unless the number has changed since it was read."""
    count = present["data"]["count"]
    incremented = str(int(count) + 1)
    return JSON_PATCH, [
        {"op": "test", "path": "/data/count", "value": count},
        {"op": "replace", "path": "/data/count", "value": incremented},
        {"op": "add", "path": f"/data/{key}", "value": incremented},
    ]


def merge_patch_with_version(present: Any, key: str) -> tuple[str, Any]:
    """Increment unless the object has changed since it was read."""
    incremented = str(int(present["data"]["count"]) + 1)
    version = present["metadata"]["resourceVersion"]
    return MERGE, {
        "metadata": {"resourceVersion": version},
        "data": {"count": incremented, key: incremented},
    }


def strategic_patch_with_version(present: Any, key: str) -> tuple[str, Any]:
    """Increment unless the object has changed since it was read."""
    _, patch = merge_patch_with_version(present, key)
    return STRATEGIC, patch


def merge_patch_of_key(_present: Any, key: str) -> tuple[str, Any]:
    """Add a key only: the server itself must keep the keys that others add."""
    return MERGE, {"data": {key: UNCOUNTED}}


PATCHES: Final[Sequence[MakePatch]] = (
    json_patch_with_test,
    merge_patch_with_version,
    strategic_patch_with_version,
    merge_patch_of_key,
)


def client() -> httpx.AsyncClient:
    """Return a client for HTTP, so it loads no certificates."""
    return httpx.AsyncClient(
        timeout=30,
        trust_env=False,
        verify=False,  # noqa: S501 - no HTTPS here
    )


async def read(http: httpx.AsyncClient, url: str) -> Any:
    """Return an object; None where the server cannot be reached or is not ready."""
    try:
        answer = await http.get(url)
    except httpx.TransportError:
        return None
    if answer.status_code in {503, 504}:
        return None
    return answer.raise_for_status().json()


async def send_patch(
    http: httpx.AsyncClient, url: str, media_type: str, body: Any
) -> WriteOutcome | None:
    """Send a patch and return its outcome.

    None means that it was not done, because of a concurrent write or because the server
    could not be reached, and can be sent again.
    """
    try:
        answer = await http.patch(url, json=body, headers={"content-type": media_type})
    except httpx.ConnectError:
        return None
    except httpx.TransportError:
        return "unknown"
    is_failed_test = answer.status_code == 422 and media_type == JSON_PATCH
    if answer.status_code == 409 or is_failed_test:
        return None
    outcome = _OUTCOMES.get(answer.status_code)
    assert outcome, f"{answer.status_code} {answer.text}"
    return outcome


# 503 means that the write was not done, 504 that its outcome is unknown.
_OUTCOMES: Final[dict[int, WriteOutcome]] = {
    200: "acknowledged",
    503: "refused",
    504: "unknown",
}


class Watcher:
    """A client that watches all ConfigMaps.

    After a few events it disconnects, and resumes the watch on any of the servers.
    """

    def __init__(self, servers: Servers, version: int, *, seed: int = 0) -> None:
        self.servers = servers
        self.version = version
        self.events: list[Any] = []
        self.resumed = 0
        self._random = Random(seed)
        self._seen = asyncio.Condition()

    async def run(self) -> None:
        """Watch until the task is cancelled."""
        async with client() as http:
            while True:
                try:
                    await self._watch(http)
                except httpx.TransportError:
                    await asyncio.sleep(PAUSE)
                self.resumed += 1

    async def seen(self, version: int) -> None:
        """Wait until this version, or a later one, was seen."""
        async with self._seen:
            await self._seen.wait_for(lambda: self.version >= version)

    async def _watch(self, http: httpx.AsyncClient) -> None:
        query = {
            "watch": "true",
            "resourceVersion": str(self.version),
            "timeoutSeconds": "5",
        }
        if self._random.random() < 0.5:
            query["allowWatchBookmarks"] = "true"
        url = self._random.choice(self.servers) + CONFIG_MAPS
        remaining = self._random.randint(1, 25)
        async with http.stream("GET", url, params=query) as response:
            assert response.status_code == 200
            async for line in response.aiter_lines():
                remaining -= 1
                async with self._seen:
                    is_last = self._take(json.loads(line))
                    self._seen.notify_all()
                if is_last or remaining == 0:
                    return

    def _take(self, event: Any) -> bool:
        """Record an event; return whether it is the last one of its watch."""
        if event["type"] == "ERROR":
            assert event["object"]["code"] in {503, 504}, event
            return True
        version = int(event["object"]["metadata"]["resourceVersion"])
        if event["type"] == "BOOKMARK":
            assert version >= self.version
        else:
            assert version > self.version, "a version came again, or out of order"
            self.events.append(event)
        self.version = version
        return False

    async def check_every_resumption(self) -> None:
        """Check that a watch from a version gives all later events, on every server.

        About ten of the versions that were seen are checked.
        """
        seen = [summary(event) for event in self.events]
        async with client() as http:
            for index in range(0, len(seen), 1 + len(seen) // 10):
                version, _, _ = seen[index]
                query = {"watch": "true", "resourceVersion": str(version)}
                later = seen[index + 1 :]
                for server in self.servers:
                    url = server + CONFIG_MAPS
                    async with http.stream("GET", url, params=query) as response:
                        lines = response.aiter_lines()
                        events = [json.loads(await anext(lines)) for _ in later]
                    assert [summary(event) for event in events] == later

    def check(self, data: dict[str, dict[str, str]]) -> None:
        """Check that each event of a counter has one key more, up to the final data."""
        for name, final in data.items():
            seen = [
                event["object"]["data"]
                for event in self.events
                if event["object"]["metadata"]["name"] == name
            ]
            sizes = [len(data_of_event) for data_of_event in seen]
            assert sizes == [*range(2, len(final) + 1)], "an event is missing"
            if seen:
                assert seen[-1] == final


def summary(event: Any) -> tuple[int, str, str]:
    """Return the version, the type and the object's name of an event."""
    metadata = event["object"]["metadata"]
    return int(metadata["resourceVersion"]), event["type"], metadata["name"]


@asynccontextmanager
async def watching(watchers: Iterable[Watcher]) -> AsyncIterator[None]:
    """Run watchers during the block; the failure of one cancels it."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(watcher.run()) for watcher in watchers]
        yield
        for task in tasks:
            task.cancel()
