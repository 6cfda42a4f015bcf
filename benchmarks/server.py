"""Time the API server under load, beside the same framework without the server.

    python benchmarks/server.py                        all stores; about two minutes
    python benchmarks/server.py --seconds 0.5 --store memory
    python benchmarks/server.py --docs docs/server.md

Requests come from this process over connections that stay open, each with one request
at a time. The framework alone is the floor: it gets the same requests and answers with
the same bytes. Server and floor take turns, so that other load on the machine affects
both equally. A rate is that of the median turn, latencies are those of all turns, and
the last column is the median of the ratios of the turns. ``--tree`` is a folder with
the compiled packages, without which this one is run as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.environment import environment
from benchmarks.report import Section, table, written_into
from benchmarks.server_load import (
    LOADS,
    NUMBERS,
    Load,
    Measurement,
    measure,
    measure_events,
    prepare,
    request_once,
)
from tests.support import etcd

ROOT: Final = Path(__file__).resolve().parent.parent
WATCHERS: Final = 50
TURNS: Final = 5
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
_READY: Final = re.compile(r"at (http://\S+)\n")


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of request, and its measurements by turn, of the server and of the floor.

    ``size`` is the number of bytes of an answer. ``floor`` is empty where the server
    cannot be compared with it.
    """

    name: str
    size: int
    server: Sequence[Measurement]
    floor: Sequence[Measurement] = ()

    def cells(self) -> list[str]:
        """Return the cells of a line of the table."""
        size = f"{self.size:,}" if self.size else "-"
        cells = [self.name, size, _rate(self.server)]
        latencies: list[float] = []
        for turn in self.server:
            latencies += turn.latencies
        latencies.sort()
        positions = [len(latencies) * percent // 100 for percent in (50, 95, 99)]
        cells += [f"{latencies[position]:.1f}" for position in positions]
        if not self.floor:
            return [*cells, "-", "-"]
        ratios = [
            server.rate / floor.rate
            for server, floor in zip(self.server, self.floor, strict=True)
        ]
        return [*cells, _rate(self.floor), f"{median(ratios):.2f}"]


def _rate(turns: Sequence[Measurement]) -> str:
    return f"{median(turn.rate for turn in turns):,.0f}"


@contextmanager
def running(*command: str, tree: Path = ROOT) -> Iterator[str]:
    """Run a server that prints its URL; give the URL."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=tree, env=environment
    ) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            ready = _READY.search(line)
            if not ready:
                raise RuntimeError(f"{command[1:]} did not start")
            yield ready[1]
        finally:
            process.terminate()


@contextmanager
def new_store(backend: str, directory: str) -> Iterator[str]:
    """Give the URL of an empty store."""
    if backend == "etcd":
        with etcd.running() as server:
            yield server.url
    elif backend == "sqlite":
        yield f"sqlite:{directory}/objects.db"
    else:
        yield "memory:"


def rows(
    backends: Sequence[str], *, tree: Path, connections: int, seconds: float
) -> Iterator[Row]:
    """Measure every load on every store, and the events to watchers."""
    serve = [sys.executable, "-m", "smp", "serve", "--port", "0", "--store"]
    for backend in backends:
        with (
            tempfile.TemporaryDirectory() as directory,
            new_store(backend, directory) as store,
            running(*serve, store, tree=tree) as url,
        ):
            asyncio.run(prepare(url))
            for name, load in LOADS.items():
                print(f"{backend}: {name}", file=sys.stderr)
                answer = Path(directory) / "answer"
                request = load(next(NUMBERS))
                answer.write_bytes(asyncio.run(request_once(url, request)))
                server, floor = _in_turns(url, answer, load, connections, seconds)
                size = answer.stat().st_size
                yield Row(f"{backend}: {name}", size, server, floor)
            events = asyncio.run(
                measure_events(url, watchers=WATCHERS, seconds=seconds)
            )
            yield Row(f"{backend}: events to {WATCHERS} watchers", 0, [events])


def _in_turns(
    url: str, answer: Path, load: Load, connections: int, seconds: float
) -> tuple[list[Measurement], list[Measurement]]:
    """Measure the server and the floor in turns, after one turn that is not counted."""

    def measured(target: str) -> Measurement:
        return asyncio.run(
            measure(target, load, connections=connections, seconds=seconds / TURNS)
        )

    program = Path(__file__).with_name("server_floor.py")
    server: list[Measurement] = []
    floor: list[Measurement] = []
    with running(sys.executable, str(program), str(answer)) as floor_url:
        measured(url)
        measured(floor_url)
        for _ in range(TURNS):
            server.append(measured(url))
            floor.append(measured(floor_url))
    return server, floor


def section(measured: Sequence[Row], connections: int) -> Section:
    """Report what was measured."""
    facts = environment()
    machine = f"{facts['Python']}, processor {facts['processor']}"
    lines = table(HEAD, [row.cells() for row in measured])
    lines += ["", f"{connections} connections; {machine}."]
    return Section("figures", "The server under load", lines, None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    options = _parser().parse_args(arguments)
    backends = options.store or ["memory", "sqlite"]
    if not options.store and etcd.BINARY:
        backends = [*backends, "etcd"]
    measured = [
        *rows(
            backends,
            tree=options.tree,
            connections=options.connections,
            seconds=options.seconds,
        )
    ]
    report = section(measured, options.connections)
    print("\n".join(report.lines))
    if options.docs:
        options.docs.write_text(written_into(options.docs.read_text(), [report]))


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
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=2, help="for each measurement")
    parser.add_argument(
        "--docs",
        metavar="FILE",
        type=Path,
        help="also write the table between a file's marks",
    )
    return parser


if __name__ == "__main__":
    main()
