"""Time the API server beside a kube-apiserver on the same machine, in turns.

    SMP_KUBE_APISERVER=PATH python benchmarks/server_beside.py --docs docs/server.md

It needs Go, for the program in benchmarks/load that makes the requests, etcd, and a
kube-apiserver (tests/support/apiserver.py says where it comes from). Every server has
TLS, a token and a store of its own. The servers take turns, so that other load on the
machine affects them equally; a cell is the rate of the median turn, and the median of
the ratios of the turns to the kube-apiserver. The second table has the processor time
of the server and its etcd, which other load disturbs less. Memory is the proportional
set size of both, of servers that were started for that and got 10,000 ConfigMaps.
``--tree`` is a folder with the compiled packages, without which this one is run as it
is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx

from benchmarks.report import Section, table, written_into
from benchmarks.server_load import MERGE, OBJECTS, STRATEGIC, deployment, dump
from tests.support import apiserver, etcd
from tests.support.certificates import make_certificate

ROOT: Final = Path(__file__).resolve().parent.parent
PROGRAM: Final = ROOT / "benchmarks" / "load"
REAL: Final = "kube-apiserver"
CONNECTIONS: Final = 16
WATCHERS: Final = 50
TOKEN: Final = "token"  # noqa: S105  (of servers that exist for this run)
_DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
_NEW: Final = "/apis/apps/v1/namespaces/new/deployments"
_PATIENCE: Final = 60.0  # seconds
_STARTS: Final = 3
CONFIG_MAPS: Final = 10_000
_CONFIG_MAPS: Final = "/api/v1/namespaces/new/configmaps"
# Starts the server of a test twice in one process, and prints the seconds of each.
_IN_PROCESS: Final = """
import time
from smp.testing import KubernetesApi
for _ in range(2):
    started = time.perf_counter()
    with KubernetesApi():
        print(time.perf_counter() - started)
"""
# In the paths and bodies @N@ is the number of the request and @O@ that of the object.
_HOT: Final[Mapping[str, object]] = {
    "Method": "PATCH",
    "Path": f"{_DEPLOYMENTS}/web-0",
    "MediaType": MERGE,
    "Body": '{"spec":{"replicas":@N@}}',
}
LOADS: Final[Mapping[str, Mapping[str, object]]] = {
    "get": {"Path": f"{_DEPLOYMENTS}/web-@O@"},
    f"list of {OBJECTS}": {"Path": _DEPLOYMENTS},
    "create": {
        "Method": "POST",
        "Path": _NEW,
        "Body": dump(deployment("new-@N@")).decode(),
    },
    "patch of different objects": {
        "Method": "PATCH",
        "Path": f"{_DEPLOYMENTS}/web-@O@",
        "MediaType": STRATEGIC,
        "Body": '{"spec":{"template":{"spec":{"containers":'
        '[{"name":"app","image":"registry.example.com/app:@N@"}]}}}}',
    },
    "patch of one object": _HOT,
    f"events to {WATCHERS} watchers": {
        **_HOT,
        "Watchers": WATCHERS,
        "WatchPath": f"{_DEPLOYMENTS}?watch=true",
    },
}


# A load that makes 10,000 objects of 1 KB, whatever time it takes.
FILLING: Final[Mapping[str, object]] = {
    "Method": "POST",
    "Path": _CONFIG_MAPS,
    "Body": dump(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "new-@N@"},
            "data": {f"key-{number}": "value " * 16 for number in range(8)},
        }
    ).decode(),
    "Requests": CONFIG_MAPS,
}


@dataclass
class Contender:
    """A running server, how long it took to start, and the turns of each load.

    ``start`` is in seconds, ``start_effort`` in seconds of the processor. ``rates`` are
    requests, or events, a second, and ``efforts`` the milliseconds of the processor for
    each.
    """

    name: str
    url: str
    token: str
    pids: Sequence[int]
    start: float
    start_effort: float
    rates: dict[str, list[float]] = field(default_factory=dict)
    efforts: dict[str, list[float]] = field(default_factory=dict)
    # How many connections it closed before they were answered, or during a watch.
    closed: int = 0
    # The number of the next request.
    first: int = 1

    def client(self) -> httpx.Client:
        """Return a client; the certificate is of this run."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(
            base_url=self.url,
            headers=headers,
            verify=False,  # noqa: S501
            trust_env=False,
            timeout=_PATIENCE,
        )

    def prepare(self) -> None:
        """Create the objects and the namespace that the loads use."""
        with self.client() as client:
            namespace = {"metadata": {"name": "new"}}
            client.post("/api/v1/namespaces", json=namespace).raise_for_status()
            # A kube-apiserver creates it some moments after its start.
            deadline = time.monotonic() + _PATIENCE
            path = "/api/v1/namespaces/default"
            while client.get(path).is_error and time.monotonic() < deadline:
                time.sleep(0.1)
            for number in range(OBJECTS):
                body = deployment(f"web-{number}")
                client.post(_DEPLOYMENTS, json=body).raise_for_status()

    def turn(self, program: Path, name: str, seconds: float) -> None:
        """Let it answer a load for so many seconds."""
        before = processor_seconds(self.pids)
        count, took = self.run(program, LOADS[name], seconds)
        effort = (processor_seconds(self.pids) - before) / max(count, 1)
        self.rates.setdefault(name, []).append(count / took)
        self.efforts.setdefault(name, []).append(effort * 1000)

    def run(
        self, program: Path, load: Mapping[str, object], seconds: float
    ) -> tuple[int, float]:
        """Make requests; return how many, or how many events, and the seconds."""
        job = {
            "Seconds": seconds,
            "URL": self.url,
            "Token": self.token,
            "Method": "GET",
            "MediaType": "application/json",
            "Connections": CONNECTIONS,
            "Objects": OBJECTS,
            # No number comes twice, also not in the next turn.
            "First": self.first,
            **load,
        }
        done = subprocess.run(
            [program],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self.name}: {done.stderr}")
        result = json.loads(done.stdout)
        # Some requests were sent and not counted.
        self.first += result["Count"] + 10 * CONNECTIONS
        self.closed += result["Closed"]
        return int(result["Count"]), float(result["Seconds"])

    def memory(self) -> float:
        """Return its proportional set size in MB, with that of its etcd."""
        total = 0
        for pid in self.pids:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        return total / 1024


def processor_seconds(pids: Sequence[int]) -> float:
    """Return the time of processors that a server and its etcd have used so far."""
    ticks = 0
    for pid in pids:
        # After the name of the program, in parentheses: proc(5), stat.
        numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(numbers[11]) + int(numbers[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def real() -> Iterator[Contender]:
    """Run a kube-apiserver with an etcd of its own."""
    before = _children()
    started = time.monotonic()
    with apiserver.running() as server:
        seconds = time.monotonic() - started
        token = server.headers["Authorization"].removeprefix("Bearer ")
        pids = [*(_children() - before)]
        effort = processor_seconds(pids)
        yield Contender(REAL, server.url, token, pids, seconds, effort)


@contextmanager
def ours(name: str, tree: Path) -> Iterator[Contender]:
    """Run ``smp serve`` of a tree on a store of its own: etcd, SQLite or memory."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        before = _children()
        store = "memory:"
        if name == "etcd":
            store = stack.enter_context(etcd.running()).url
        elif name == "SQLite":
            store = f"sqlite:{directory / 'objects.db'}"
        certificate, key = make_certificate(directory)
        token = directory / "token"
        token.touch(mode=0o600)
        token.write_text(TOKEN)
        command: list[str | Path] = [
            *(sys.executable, "-m", "smp", "serve", "--port", "0", "--store", store),
            *("--token-file", token, "--tls-cert", certificate, "--tls-key", key),
        ]
        # An installation has byte code: a first start writes it.
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        started = time.monotonic()
        process = stack.enter_context(
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                text=True,
                cwd=tree,
                env=environment,
            )
        )
        stack.callback(process.terminate)
        line = process.stdout.readline() if process.stdout else ""
        seconds = time.monotonic() - started
        url = line.rpartition(" at ")[2].strip()
        pids = [*(_children() - before)]
        yield Contender(name, url, TOKEN, pids, seconds, processor_seconds(pids))


def _children() -> set[int]:
    """Return the processes that this one started, and those that they started."""
    found: set[int] = set()
    parents = [os.getpid()]
    while parents:
        pid = parents.pop()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        parents += [int(child) for child in children]
        found |= {int(child) for child in children}
    return found


@contextmanager
def contender(name: str, tree: Path) -> Iterator[Contender]:
    """Run one of the servers."""
    with real() if name == REAL else ours(name, tree) as running:
        yield running


# The stores of the other contenders.
OURS: Final = ("etcd", "SQLite", "memory")
NAMES: Final = (REAL, *OURS)


@dataclass
class Measured:
    """The servers after their turns, the seconds of each start, and the memory in MB.

    ``start_efforts`` are seconds of the processor, ``in_process`` the seconds
    of a first and of a second start in one process.
    """

    contenders: Sequence[Contender]
    starts: Mapping[str, Sequence[float]]
    start_efforts: Mapping[str, Sequence[float]]
    memory: Mapping[str, float]
    in_process: Sequence[float]


def measured(options: argparse.Namespace) -> Measured:
    """Run all servers, and measure each load in turns, then memory and starts."""
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "load"
        subprocess.run(["go", "build", "-o", program], cwd=PROGRAM, check=True)  # noqa: S607
        contenders = _in_turns(program, options)
        memory: dict[str, float] = {}
        starts: dict[str, list[float]] = {}
        efforts: dict[str, list[float]] = {}
        for name in NAMES:
            print(f"memory: {name}", file=sys.stderr)
            with contender(name, options.tree) as each:
                starts[name] = [each.start]
                efforts[name] = [each.start_effort]
                each.prepare()
                each.run(program, FILLING, 10 * _PATIENCE)
                memory[name] = each.memory()
        for _ in range(_STARTS - 1):
            for name in NAMES:
                with contender(name, options.tree) as each:
                    starts[name].append(each.start)
                    efforts[name].append(each.start_effort)
    done = subprocess.run(
        [sys.executable, "-c", _IN_PROCESS],
        capture_output=True,
        text=True,
        check=True,
        cwd=options.tree,
        env={**os.environ, "PYTHONPATH": str(options.tree)},
    )
    in_process = [float(line) for line in done.stdout.split()]
    return Measured(contenders, starts, efforts, memory, in_process)


def _in_turns(program: Path, options: argparse.Namespace) -> Sequence[Contender]:
    with ExitStack() as stack:
        contenders = [
            stack.enter_context(contender(name, options.tree)) for name in NAMES
        ]
        for each in contenders:
            each.prepare()
        for name in LOADS:
            print(name, file=sys.stderr)
            for _ in range(options.turns):
                for each in contenders:
                    each.turn(program, name, options.seconds)
    return contenders


def section(measured: Measured) -> Section:
    """Report what was measured."""
    head = ["", *NAMES]
    rates: list[list[str]] = []
    efforts: list[list[str]] = []
    for name in LOADS:
        turns = {each.name: each.rates[name] for each in measured.contenders}
        rates.append([name, *_compared(turns)])
        cells = [f"{median(each.efforts[name]):.2f}" for each in measured.contenders]
        efforts.append([name, *cells])
    starts = ["start, seconds", *_compared(measured.starts)]
    start_efforts = ["start, seconds of processors", *_compared(measured.start_efforts)]
    memory = {name: [value] for name, value in measured.memory.items()}
    size = [f"memory after {CONFIG_MAPS:,} ConfigMaps, MB", *_compared(memory)]
    first, second = measured.in_process
    closed = [f"{each.name} {each.closed}" for each in measured.contenders]
    sooner = f"{median(measured.starts[REAL]) / second:,.0f} times sooner"
    lines = [
        *table(head, [*rates, size, starts, start_efforts]),
        "",
        "Milliseconds of processors for each request or event, of the server and etcd:",
        "",
        *table(head, efforts),
        "",
        "In a process that runs already (`KubernetesApi`) the first start takes",
        f"{first:.2f} s, with its imports, and the next {second * 1000:.0f} ms,",
        f"{sooner} than the kube-apiserver.",
        "",
        f"Watches that were closed, and resumed by the client: {', '.join(closed)}.",
    ]
    return Section("beside", "The server beside a kube-apiserver", lines, None)


def _compared(values: Mapping[str, Sequence[float]]) -> list[str]:
    """Return the medians, and those of the ratios to the kube-apiserver."""
    reference = values[REAL]
    cells: list[str] = []
    for name in NAMES:
        text = _number(median(values[name]))
        if name != REAL:
            pairs = zip(values[name], reference, strict=True)
            text += f" ({median(own / other for own, other in pairs):.2g}x)"
        cells.append(text)
    return cells


def _number(value: float) -> str:
    if value < 1:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"  # noqa: PLR2004


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="for each turn")
    parser.add_argument("--docs", metavar="FILE", type=Path)
    options: Any = parser.parse_args(arguments)
    if apiserver.binary() is None or etcd.BINARY is None:
        parser.error("there is no kube-apiserver (SMP_KUBE_APISERVER), or no etcd")
    report = section(measured(options))
    print("\n".join(report.lines))
    if options.docs:
        options.docs.write_text(written_into(options.docs.read_text(), [report]))


if __name__ == "__main__":
    main()
