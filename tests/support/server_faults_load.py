"""Writers whose every increment can be accounted for, and watchers that disconnect, of
ConfigMaps behind some servers.

A ConfigMap counts in ``data.count``. An increment adds a key of its own, whose value is
the count that it led to, or ``FREE`` for a key that was added without looking at the
count. So one that is lost or done twice shows."""

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

FREE: Final = "free"
PAUSE: Final = 0.02  # seconds before a server that cannot be reached is asked again
TIMEOUT: Final = 120.0  # seconds after which a test is stuck

Outcome: TypeAlias = Literal["acknowledged", "refused", "unknown"]
# The URLs of the servers that run at this moment.
Servers: TypeAlias = MutableSequence[str]


@dataclass
class Counter:
    """A ConfigMap, and the outcome of each increment, by its key."""

    name: str
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{CONFIG_MAPS}/{self.name}"

    def keys(self, outcome: Outcome) -> set[str]:
        return {key for key, actual in self.outcomes.items() if actual == outcome}

    def check(self, data: dict[str, str]) -> None:
        """Check that what was acknowledged is there once, and what was refused is not."""
        present = data.keys() - {"count"}
        assert self.keys("acknowledged") <= present, "an acknowledged increment is lost"
        assert not present & self.keys("refused"), (
            "an increment that was refused was done"
        )
        assert present <= self.outcomes.keys()
        counted = sorted(
            int(value)
            for key, value in data.items()
            if key in present and value != FREE
        )
        assert counted == [*range(1, int(data["count"]) + 1)], (
            "an increment is lost or was done twice"
        )


class Load:
    """Some writers of some counters, who go from server to server."""

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
        """Create the counters; return the resource version from which a watch sees
        every increment.
        """
        async with client() as http:
            for counter in self.counters:
                url = self.servers[0] + CONFIG_MAPS
                created = (
                    await http.post(url, json=config_map(counter.name, count="0"))
                ).raise_for_status()
        return int(created.json()["metadata"]["resourceVersion"])

    async def run(self) -> None:
        """Do all increments."""
        async with client() as http:
            await asyncio.gather(
                *(self._write(http, number) for number in range(self._writers))
            )

    async def wait_for(self, number: int, *outcomes: Outcome) -> None:
        """Wait until so many increments had one of these outcomes; all of them by
        default.
        """
        wanted = outcomes or ("acknowledged", "refused", "unknown")
        async with self._counted:
            await self._counted.wait_for(lambda: self.count(*wanted) >= number)

    def count(self, *outcomes: Outcome) -> int:
        """Return how many increments had one of these outcomes."""
        return sum(
            len(counter.keys(outcome))
            for counter in self.counters
            for outcome in outcomes
        )

    async def check(self) -> dict[str, dict[str, str]]:
        """Check every counter as every server has it; return the data of the counters."""
        async with client() as http:
            listed = [
                (await http.get(url + CONFIG_MAPS)).raise_for_status().json()
                for url in self.servers
            ]
        found = [
            {item["metadata"]["name"]: item["data"] for item in each["items"]}
            for each in listed
        ]
        assert all(each == found[0] for each in found)
        for counter in self.counters:
            counter.check(found[0][counter.name])
        return {counter.name: found[0][counter.name] for counter in self.counters}

    async def _write(self, http: httpx.AsyncClient, writer: int) -> None:
        random = Random(writer)
        for number in range(self._increments):
            counter, way = random.choice(self.counters), random.choice(WAYS)
            key = f"w{writer}-{number}"
            outcome = await self._increment(http, random, counter, key, way)
            async with self._counted:
                counter.outcomes[key] = outcome
                self._counted.notify_all()

    async def _increment(
        self,
        http: httpx.AsyncClient,
        random: Random,
        counter: Counter,
        key: str,
        way: Way,
    ) -> Outcome:
        while True:
            url = random.choice(self.servers) + counter.path
            present = await read(http, url)
            if present is None:
                await asyncio.sleep(PAUSE)
                continue
            media_type, body = way(present, key)
            outcome = await patched(http, url, media_type, body)
            if outcome:
                return outcome
            self.retried += 1
            await asyncio.sleep(random.random() * PAUSE)


Way: TypeAlias = Callable[[Any, str], tuple[str, Any]]


def by_test(present: Any, key: str) -> tuple[str, Any]:
    """Increment where the count is still the one that was read: JSON Patch."""
    count = present["data"]["count"]
    more = str(int(count) + 1)
    operations = [
        ("test", "count", count),
        ("replace", "count", more),
        ("add", key, more),
    ]
    return JSON_PATCH, [
        {"op": op, "path": f"/data/{name}", "value": value}
        for op, name, value in operations
    ]


def by_version(present: Any, key: str) -> tuple[str, Any]:
    """Increment where the object is still the one that was read: a merge patch with its
    version.
    """
    more = str(int(present["data"]["count"]) + 1)
    version = present["metadata"]["resourceVersion"]
    return MERGE, {
        "metadata": {"resourceVersion": version},
        "data": {"count": more, key: more},
    }


def by_version_strategic(present: Any, key: str) -> tuple[str, Any]:
    """Do the same with a strategic merge patch."""
    return STRATEGIC, by_version(present, key)[1]


def freely(_present: Any, key: str) -> tuple[str, Any]:
    """Add a key, whatever else there is: the server itself must not lose what others
    add.
    """
    return MERGE, {"data": {key: FREE}}


WAYS: Final[Sequence[Way]] = (by_test, by_version, by_version_strategic, freely)


def client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=30, trust_env=False, verify=False)


async def read(http: httpx.AsyncClient, url: str) -> Any:
    """Return an object; None where it cannot be had at this moment."""
    try:
        answer = await http.get(url)
    except httpx.TransportError:
        return None
    if answer.status_code in {503, 504}:
        return None
    return answer.raise_for_status().json()


async def patched(
    http: httpx.AsyncClient, url: str, media_type: str, body: Any
) -> Outcome | None:
    """Send a patch; None where nothing happened because somebody else was faster, or
    nobody was there.
    """
    try:
        answer = await http.patch(url, json=body, headers={"content-type": media_type})
    except httpx.ConnectError:
        return None
    except httpx.TransportError:
        return "unknown"
    if answer.status_code == 409 or (
        answer.status_code == 422 and media_type == JSON_PATCH
    ):
        return None
    outcome = _TOLD.get(answer.status_code)
    assert outcome, f"{answer.status_code} {answer.text}"
    return outcome


# 503 says that nothing happened, 504 that nobody knows.
_TOLD: Final[dict[int, Outcome]] = {200: "acknowledged", 503: "refused", 504: "unknown"}


# --- watching --------------------------------------------------------------------------------------------------------


class Watcher:
    """A client that watches all ConfigMaps, goes away after a few events, and comes
    back to any server.
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
        """Wait until a version, or a later one, was seen."""
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
        left = self._random.randint(1, 25)
        async with http.stream("GET", url, params=query) as response:
            assert response.status_code == 200
            async for line in response.aiter_lines():
                left -= 1
                async with self._seen:
                    goes_on = self._take(json.loads(line))
                    self._seen.notify_all()
                if not goes_on or not left:
                    return

    def _take(self, event: Any) -> bool:
        """Note an event, and tell whether more can come."""
        if event["type"] == "ERROR":
            assert event["object"]["code"] in {503, 504}, event
            return False
        version = int(event["object"]["metadata"]["resourceVersion"])
        if event["type"] == "BOOKMARK":
            assert version >= self.version
        else:
            assert version > self.version, "a version came again, or out of order"
            self.events.append(event)
        self.version = version
        return True

    async def check_every_resumption(self) -> None:
        """Check that a watch from any version that was seen gives just what came after
        it, on every server.
        """
        seen = [versioned(event) for event in self.events]
        async with client() as http:
            for at in range(0, len(seen), 1 + len(seen) // 10):
                for server in self.servers:
                    query = {"watch": "true", "resourceVersion": str(seen[at][0])}
                    async with http.stream(
                        "GET", server + CONFIG_MAPS, params=query
                    ) as response:
                        lines = response.aiter_lines()
                        assert [
                            versioned(json.loads(await anext(lines)))
                            for _ in seen[at + 1 :]
                        ] == seen[at + 1 :]

    def check(self, data: dict[str, dict[str, str]]) -> None:
        """Check that each counter grew by one key with each event, up to what is there
        now.
        """
        for name, final in data.items():
            seen = [
                one["object"]["data"]
                for one in self.events
                if one["object"]["metadata"]["name"] == name
            ]
            assert [len(each) for each in seen] == [*range(2, len(final) + 1)], (
                "an event is missing"
            )
            assert not seen or seen[-1] == final


def versioned(event: Any) -> tuple[int, str, str]:
    """Return the version, the type and the object of an event."""
    metadata = event["object"]["metadata"]
    return int(metadata["resourceVersion"]), event["type"], metadata["name"]


@asynccontextmanager
async def watching(watchers: Iterable[Watcher]) -> AsyncIterator[None]:
    """Let watchers run beside the block, which is stuck where one of them fails."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(watcher.run()) for watcher in watchers]
        yield
        for task in tasks:
            task.cancel()
