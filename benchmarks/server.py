"""Time the API server under load, next to the floor: the same framework answering the
same bytes, without the server.

    python benchmarks/server.py                        all stores; about two minutes
    python benchmarks/server.py --seconds 0.5 --store memory
    python benchmarks/server.py --docs docs/server.md

Requests come from a process of its own over raw connections that stay open, each with
one request at a time. The floor gets the same requests and answers the same bytes. Both
have their turns, so that other load on the machine hits them alike: a rate is that of
the middle turn, latencies are those of all turns, the last column is the middle one of
the ratios of a turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.environment import environment
from benchmarks.report import Section, table, written_into
from tests.support import etcd

ROOT: Final = Path(__file__).resolve().parent.parent
OBJECTS: Final = 100
WATCHERS: Final = 50
TURNS: Final = 5
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
_READY: Final = re.compile(r"at (http://\S+)\n")


# --- what is asked ---------------------------------------------------------------------------------------------------


class Request(NamedTuple):
    """One request."""

    method: str
    path: str
    body: bytes = b""
    media_type: str = "application/json"

    @property
    def data(self) -> bytes:
        """Its bytes."""
        head = f"{self.method} {self.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {self.media_type}\r\n"
        return f"{head}Content-Length: {len(self.body)}\r\n\r\n".encode() + self.body


# The request of a number; no two numbers in a run are the same.
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
    return Request("POST", path, dump(deployment(f"new-{os.getpid()}-{number}")))


def _merge(number: int) -> Request:
    return _patch(number, MERGE, {"spec": {"replicas": number}})


def _strategic(number: int) -> Request:
    containers = [{"name": "app", "image": f"registry.example.com/app:{number}"}]
    return _patch(
        number, STRATEGIC, {"spec": {"template": {"spec": {"containers": containers}}}}
    )


def _json_patch(number: int) -> Request:
    return _patch(
        number,
        JSON_PATCH,
        [{"op": "replace", "path": "/spec/replicas", "value": number}],
    )


def _same(number: int) -> Request:
    return Request(
        "PATCH", f"{DEPLOYMENTS}/web-0", dump({"spec": {"replicas": number}}), MERGE
    )


def _patch(number: int, media_type: str, patch: object) -> Request:
    return Request(
        "PATCH", f"{DEPLOYMENTS}/web-{number % OBJECTS}", dump(patch), media_type
    )


LOADS: Final[dict[str, Load]] = {
    "get": _get,
    "list 100": _list,
    "create": _create,
    "merge patch": _merge,
    "strategic merge patch": _strategic,
    "JSON patch": _json_patch,
    "merge patch, all of one object": _same,
}


# --- who asks --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """Requests a second, and their latencies in milliseconds."""

    rate: float
    latencies: Sequence[float]


@asynccontextmanager
async def connection(
    url: str,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect to a server."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(
        place.hostname, place.port, limit=1 << 20
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
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    body = await reader.readexactly(length)
    if head[9:10] != b"2":
        raise RuntimeError(
            f"{request.method} {request.path}: {head.decode()}{body.decode()}"
        )
    return body


async def measure(
    url: str, load: Load, *, connections: int, seconds: float
) -> Measured:
    """Ask for so many seconds."""
    started = time.perf_counter()
    latencies = await _ask(url, load, connections, seconds)
    return Measured(len(latencies) / (time.perf_counter() - started), latencies)


async def _ask(url: str, load: Load, connections: int, seconds: float) -> list[float]:
    until = time.perf_counter() + seconds
    latencies: list[float] = []

    async def client() -> None:
        async with connection(url) as (reader, writer):
            while (started := time.perf_counter()) < until:
                await exchange(reader, writer, load(next(_NUMBERS)))
                latencies.append((time.perf_counter() - started) * 1000)

    await asyncio.gather(*(client() for _ in range(connections)))
    return latencies


_NUMBERS: Final = iter(range(1, 1 << 60))


async def once(url: str, request: Request) -> bytes:
    """Make one request over a connection of its own."""
    async with connection(url) as (reader, writer):
        return await exchange(reader, writer, request)


async def prepare(url: str) -> None:
    """Create what the loads are about."""
    await once(
        url, Request("POST", "/api/v1/namespaces", dump({"metadata": {"name": "new"}}))
    )
    for number in range(OBJECTS):
        await once(url, Request("POST", DEPLOYMENTS, dump(deployment(f"web-{number}"))))


async def fan_out(url: str, *, watchers: int, seconds: float) -> Measured:
    """Patch one object for so many seconds; a latency is from a patch to an event of it
    at one of the watchers.
    """
    sent: dict[int, float] = {}
    latencies: list[float] = []
    watching = asyncio.Semaphore(0)
    version = json.loads(await once(url, _list(0)))["metadata"]["resourceVersion"]

    async def watch() -> None:
        async with connection(url) as (reader, writer):
            writer.write(
                Request(
                    "GET", f"{DEPLOYMENTS}?watch=true&resourceVersion={version}"
                ).data
            )
            await reader.readuntil(b"\r\n\r\n")
            watching.release()
            number = -1
            while number != last:
                event = await reader.readexactly(int(await reader.readline(), 16) + 2)
                number = int(_REPLICAS.findall(event)[0])
                latencies.append((time.perf_counter() - sent[number]) * 1000)

    last = next(_NUMBERS)
    tasks = [asyncio.create_task(watch()) for _ in range(watchers)]
    for _ in tasks:
        await watching.acquire()
    started, until = time.perf_counter(), time.perf_counter() + seconds
    async with connection(url) as (reader, writer):
        number = next(_NUMBERS)
        while number != last:
            number = next(_NUMBERS) if time.perf_counter() < until else last
            sent[number] = time.perf_counter()
            await exchange(reader, writer, _same(number))
    await asyncio.gather(*tasks)
    return Measured(len(latencies) / (time.perf_counter() - started), latencies)


_REPLICAS: Final = re.compile(rb'"replicas":(\d+)')


# --- who answers -----------------------------------------------------------------------------------------------------


@contextmanager
def process(*command: str) -> Iterator[str]:
    """Run a server; give its URL."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as running:
        try:
            ready = _READY.search(running.stdout.readline() if running.stdout else "")
            if not ready:
                raise RuntimeError(f"{command[1:]} did not start")
            yield ready[1]
        finally:
            running.terminate()


def server(store: str) -> list[str]:
    """Return the command of the server."""
    return [sys.executable, "-m", "smp", "serve", "--port", "0", "--store", store]


def floor(file: Path) -> list[str]:
    """Return the command of the floor."""
    return [sys.executable, str(Path(__file__).resolve()), "--echo", str(file)]


def echo(file: Path) -> None:
    """Answer every request with the bytes of a file, after reading its body: Starlette
    and uvicorn, set up alike.
    """
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request as Received
    from starlette.responses import Response
    from starlette.routing import Route

    answer = file.read_bytes()

    async def endpoint(request: Received) -> Response:
        await request.body()
        return Response(answer, media_type="application/json")

    app = Starlette(
        routes=[Route("/{path:path}", endpoint, methods=["GET", "POST", "PATCH"])]
    )
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
    )
    # With the protocol said, asyncio sends small packets at once.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen(1024)
        print(f"at http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        uvicorn.Server(config).run(sockets=[bound])


@contextmanager
def opened(store: str, directory: str) -> Iterator[str]:
    """Give the URL of a new store of a kind."""
    if store == "etcd":
        with etcd.running() as running:
            yield running.url
    else:
        yield "memory:" if store == "memory" else f"sqlite:{directory}/objects.db"


# --- the report ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """What was asked for, and how long it took here and, if that can be compared, on
    the floor, turn by turn.
    """

    name: str
    size: int
    ours: Sequence[Measured]
    floor: Sequence[Measured] = ()

    def cells(self) -> list[str]:
        """Return the cells of a line of the table."""
        latencies = sorted(latency for turn in self.ours for latency in turn.latencies)
        percentiles = [
            f"{latencies[len(latencies) * percent // 100]:.1f}"
            for percent in (50, 95, 99)
        ]
        size = f"{self.size:,}" if self.size else "-"
        return [self.name, size, _rate(self.ours), *percentiles, *self._compared()]

    def _compared(self) -> list[str]:
        if not self.floor:
            return ["-", "-"]
        ratios = (
            ours.rate / least.rate
            for ours, least in zip(self.ours, self.floor, strict=True)
        )
        return [_rate(self.floor), f"{median(ratios):.2f}"]


def _rate(turns: Sequence[Measured]) -> str:
    return f"{median(turn.rate for turn in turns):,.0f}"


HEAD: Final = [
    "",
    "answer, bytes",
    "a second",
    "p50, ms",
    "p95, ms",
    "p99, ms",
    "floor, a second",
    "of the floor",
]


def rows(stores: Sequence[str], *, connections: int, seconds: float) -> Iterator[Row]:
    """Measure everything."""
    for store in stores:
        with (
            tempfile.TemporaryDirectory() as directory,
            opened(store, directory) as url,
            process(*server(url)) as ours,
        ):
            asyncio.run(prepare(ours))
            for name, load in LOADS.items():
                print(f"{store}: {name}", file=sys.stderr)
                file = Path(directory) / "answer"
                file.write_bytes(asyncio.run(once(ours, load(next(_NUMBERS)))))
                turns = _in_turns(ours, file, load, connections, seconds)
                yield Row(f"{store}: {name}", file.stat().st_size, *turns)
            told = asyncio.run(fan_out(ours, watchers=WATCHERS, seconds=seconds))
            yield Row(f"{store}: events to {WATCHERS} watchers", 0, [told])


def _in_turns(
    ours: str, answer: Path, load: Load, connections: int, seconds: float
) -> tuple[list[Measured], list[Measured]]:
    measured: tuple[list[Measured], list[Measured]] = [], []
    with process(*floor(answer)) as least:
        for turn in range(TURNS + 1):
            for found, url in zip(measured, (ours, least), strict=True):
                one = asyncio.run(
                    measure(url, load, connections=connections, seconds=seconds / TURNS)
                )
                found.extend([one] if turn else [])  # the first warms up
    return measured


def section(found: Sequence[Row], connections: int) -> Section:
    """Report what was measured."""
    lines = table(HEAD, [row.cells() for row in found])
    named = environment()
    about = ", ".join(f"{name} {named[name]}" for name in ("Python", "processor"))
    lines += [
        "",
        f"{connections} connections; {about.replace('Python CPython', 'CPython')}.",
    ]
    return Section("figures", "The server under load", lines, None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    options = _parser().parse_args(arguments)
    if options.echo:
        echo(options.echo)
        return
    stores = options.store or ["memory", "sqlite", *(["etcd"] if etcd.BINARY else [])]
    found = section(
        [*rows(stores, connections=options.connections, seconds=options.seconds)],
        options.connections,
    )
    print("\n".join(found.lines))
    if options.docs:
        options.docs.write_text(written_into(options.docs.read_text(), [found]))


def _parser() -> argparse.ArgumentParser:
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary,
        epilog=details,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--store",
        action="append",
        choices=["memory", "sqlite", "etcd"],
        help="repeatable",
    )
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=2, help="for each measurement")
    parser.add_argument(
        "--docs",
        metavar="FILE",
        type=Path,
        help="also write the table between a file's marks",
    )
    parser.add_argument("--echo", metavar="FILE", type=Path, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    main()
