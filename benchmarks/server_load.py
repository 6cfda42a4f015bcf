"""The requests of the server's benchmark, and the client that makes and times them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Final, NamedTuple
from urllib.parse import urlsplit

OBJECTS: Final = 100
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"

NUMBERS: Final = count(1)  # of requests; no two of a run are the same
_REPLICAS: Final = re.compile(rb'"replicas":(\d+)')


class Request(NamedTuple):
    """One request."""

    method: str
    path: str
    body: bytes = b""
    media_type: str = "application/json"

    @property
    def data(self) -> bytes:
        """Its bytes."""
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            "Host: localhost",
            f"Content-Type: {self.media_type}",
            f"Content-Length: {len(self.body)}",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


# Makes the request of a number.
Load = Callable[[int], Request]


def deployment(name: str) -> dict[str, object]:
    """Return a Deployment of a usual size: two containers, some 1.5 KB."""
    variables = [
        {"name": f"VARIABLE_{number}", "value": f"value {number}"}
        for number in range(8)
    ]
    containers = [
        {
            "name": container,
            "image": f"registry.example.com/{container}:1.0",
            "env": variables,
            "ports": [{"containerPort": 8080, "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "1", "memory": "256Mi"}},
        }
        for container in ("app", "proxy")
    ]
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": containers},
            },
        },
    }


def dump(value: object) -> bytes:
    """Print JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


def _get(number: int) -> Request:
    return Request("GET", f"{DEPLOYMENTS}/web-{number % OBJECTS}")


def _list(_number: int) -> Request:
    return Request("GET", DEPLOYMENTS)


def _create(number: int) -> Request:
    path = DEPLOYMENTS.replace("default", "new")
    name = f"new-{os.getpid()}-{number}"
    return Request("POST", path, dump(deployment(name)))


def _merge(number: int) -> Request:
    return _patch(number, MERGE, {"spec": {"replicas": number}})


def _strategic(number: int) -> Request:
    containers = [{"name": "app", "image": f"registry.example.com/app:{number}"}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    return _patch(number, STRATEGIC, patch)


def _json_patch(number: int) -> Request:
    operation = {"op": "replace", "path": "/spec/replicas", "value": number}
    return _patch(number, JSON_PATCH, [operation])


def _merge_first(number: int) -> Request:
    patch = dump({"spec": {"replicas": number}})
    return Request("PATCH", f"{DEPLOYMENTS}/web-0", patch, MERGE)


def _patch(number: int, media_type: str, patch: object) -> Request:
    path = f"{DEPLOYMENTS}/web-{number % OBJECTS}"
    return Request("PATCH", path, dump(patch), media_type)


LOADS: Final[dict[str, Load]] = {
    "get": _get,
    "list 100": _list,
    "create": _create,
    "merge patch": _merge,
    "strategic merge patch": _strategic,
    "JSON patch": _json_patch,
    "merge patch, all of one object": _merge_first,
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """Requests a second, and their latencies in milliseconds."""

    rate: float
    latencies: Sequence[float]


@asynccontextmanager
async def connection(
    url: str,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect to a server."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(
        parts.hostname, parts.port, limit=1 << 20
    )
    try:
        yield reader, writer
    finally:
        writer.close()


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request
) -> bytes:
    """Make a request, which must succeed; return the body of the answer."""
    writer.write(request.data)
    head = await reader.readuntil(b"\r\n\r\n")
    _, _, after_name = head.lower().partition(b"content-length:")
    length, _, _ = after_name.partition(b"\r\n")
    body = await reader.readexactly(int(length))
    if not head.startswith(b"HTTP/1.1 2"):
        raise RuntimeError(
            f"{request.method} {request.path}: {head.decode()}{body.decode()}"
        )
    return body


async def request_once(url: str, request: Request) -> bytes:
    """Make one request over a connection of its own."""
    async with connection(url) as (reader, writer):
        return await exchange(reader, writer, request)


async def prepare(url: str) -> None:
    """Create the objects and the namespace that the loads use."""
    namespace = dump({"metadata": {"name": "new"}})
    await request_once(url, Request("POST", "/api/v1/namespaces", namespace))
    for number in range(OBJECTS):
        body = dump(deployment(f"web-{number}"))
        await request_once(url, Request("POST", DEPLOYMENTS, body))


async def measure(
    url: str, load: Load, *, connections: int, seconds: float
) -> Measurement:
    """Make requests for so many seconds, one at a time on each connection."""
    started = time.perf_counter()
    until = started + seconds
    latencies: list[float] = []

    async def client() -> None:
        async with connection(url) as (reader, writer):
            while (sent := time.perf_counter()) < until:
                await exchange(reader, writer, load(next(NUMBERS)))
                latencies.append((time.perf_counter() - sent) * 1000)

    await asyncio.gather(*(client() for _ in range(connections)))
    return Measurement(len(latencies) / (time.perf_counter() - started), latencies)


async def measure_events(url: str, *, watchers: int, seconds: float) -> Measurement:
    """Patch one object for so many seconds, and time the events of all watchers.

    The number of a patch is the value that it writes. A latency is the time from the
    patch to the event at one watcher.
    """
    sent: dict[int, float] = {}
    latencies: list[float] = []
    watching = asyncio.Semaphore(0)
    listed = json.loads(await request_once(url, _list(0)))
    version = listed["metadata"]["resourceVersion"]
    path = f"{DEPLOYMENTS}?watch=true&resourceVersion={version}"
    last = next(NUMBERS)  # after the event of this patch the watchers stop

    async def watch() -> None:
        async with connection(url) as (reader, writer):
            writer.write(Request("GET", path).data)
            await reader.readuntil(b"\r\n\r\n")
            watching.release()
            number = -1
            while number != last:
                # A chunk: its length in hexadecimal digits, and the event with a CRLF.
                length = int(await reader.readline(), 16)
                event = await reader.readexactly(length + 2)
                number = int(_REPLICAS.findall(event)[0])
                latencies.append((time.perf_counter() - sent[number]) * 1000)

    tasks = [asyncio.create_task(watch()) for _ in range(watchers)]
    for _ in tasks:
        await watching.acquire()
    started = time.perf_counter()
    async with connection(url) as (reader, writer):
        number = 0
        while number != last:
            is_over = time.perf_counter() >= started + seconds
            number = last if is_over else next(NUMBERS)
            sent[number] = time.perf_counter()
            await exchange(reader, writer, _merge_first(number))
    await asyncio.gather(*tasks)
    return Measurement(len(latencies) / (time.perf_counter() - started), latencies)
