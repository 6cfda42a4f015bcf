"""Time the API server beside a kube-apiserver on the same machine, in turns.

    SMP_KUBE_APISERVER=PATH python benchmarks/server_beside.py --docs docs/server.md

It needs Go, for the program in benchmarks/load that makes the requests, etcd, and a
kube-apiserver (tests/support/apiserver.py says where it comes from). Every server has
TLS, a token and a store of its own. The servers take turns, so that other load on the
machine affects them equally; a cell is the rate of the median turn, and the median of
the ratios of the turns to the kube-apiserver. ``--tree`` is a folder with the compiled
packages, without which this one is run as it is.
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

ROOT: Final = Path(__file__).resolve().parent.parent
PROGRAM: Final = ROOT / "benchmarks" / "load"
REAL: Final = "kube-apiserver"
CONNECTIONS: Final = 16
WATCHERS: Final = 50
TOKEN: Final = "token"  # noqa: S105  (of servers that exist for this run)
_DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
_NEW: Final = "/apis/apps/v1/namespaces/new/deployments"
_PATIENCE: Final = 60.0  # seconds
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


@dataclass
class Contender:
    """A running server, how long it took to start, and the rates of each load."""

    name: str
    url: str
    token: str
    pids: Sequence[int]
    start: float
    rates: dict[str, list[float]] = field(default_factory=dict)

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

    def rate(self, program: Path, load: Mapping[str, object], seconds: float) -> float:
        """Return how many requests, or events, it answers a second."""
        job = {
            "Seconds": seconds,
            "URL": self.url,
            "Token": self.token,
            "Method": "GET",
            "MediaType": "application/json",
            "Connections": CONNECTIONS,
            "Objects": OBJECTS,
            # No number comes twice, also not in the next turn.
            "First": time.time_ns() // 1_000_000 % 1_000_000_000,
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
        return float(result["Count"] / result["Seconds"])

    def memory(self) -> int:
        """Return the resident memory in MB, with that of its etcd."""
        total = 0
        for pid in self.pids:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    total += int(line.split()[1]) // 1024
        return total


@contextmanager
def real() -> Iterator[Contender]:
    """Run a kube-apiserver with an etcd of its own."""
    started = time.monotonic()
    with apiserver.running() as server:
        seconds = time.monotonic() - started
        token = server.headers["Authorization"].removeprefix("Bearer ")
        yield Contender(REAL, server.url, token, _children(), seconds)


@contextmanager
def ours(name: str, store: str, tree: Path, directory: Path) -> Iterator[Contender]:
    """Run ``smp serve`` of a tree on a store."""
    certificates = etcd.Certificates(_made(directory / "certificates"))
    token = directory / "token"
    token.write_text(TOKEN)
    command: list[str | Path] = [
        *(sys.executable, "-m", "smp", "serve", "--port", "0", "--store", store),
        *("--token-file", token, "--tls-cert", certificates.certificate),
        *("--tls-key", certificates.key),
    ]
    started = time.monotonic()
    before = set(_children())
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=tree, env=environment
    ) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            seconds = time.monotonic() - started
            url = line.rpartition(" at ")[2].strip()
            pids = [process.pid, *(before if store.startswith("etcd") else ())]
            yield Contender(name, url, TOKEN, pids, seconds)
        finally:
            process.terminate()


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True)
    return directory


def _children() -> list[int]:
    """Return the processes that this one started."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(pid) for pid in path.read_text().split()]


def measured(options: argparse.Namespace) -> list[Contender]:
    """Run all servers, and measure each load in turns."""
    contenders: list[Contender] = []
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program = directory / "load"
        subprocess.run(["go", "build", "-o", program], cwd=PROGRAM, check=True)  # noqa: S607
        store = stack.enter_context(etcd.running())
        stores = {
            "etcd": store.url,
            "SQLite": f"sqlite:{directory / 'objects.db'}",
            "memory": "memory:",
        }
        for name, url in stores.items():
            server = ours(name, url, options.tree, directory / name)
            contenders.append(stack.enter_context(server))
        contenders.insert(0, stack.enter_context(real()))
        for each in contenders:
            each.prepare()
        for name, load in LOADS.items():
            print(name, file=sys.stderr)
            for _ in range(options.turns):
                for each in contenders:
                    rate = each.rate(program, load, options.seconds)
                    each.rates.setdefault(name, []).append(rate)
        for each in contenders:
            each.rates["start, seconds"] = [each.start]
            each.rates["memory at the end, MB"] = [float(each.memory())]
    return contenders


def section(contenders: Sequence[Contender]) -> Section:
    """Report what was measured."""
    theirs, *others = contenders
    rows: list[list[str]] = []
    for name, reference in theirs.rates.items():
        cells = [name, _number(median(reference))]
        for each in others:
            rates = each.rates[name]
            ratio = median(
                own / other for own, other in zip(rates, reference, strict=True)
            )
            cells.append(f"{_number(median(rates))} ({ratio:.2g}x)")
        rows.append(cells)
    lines = table(["", *(each.name for each in contenders)], rows)
    return Section("beside", "The server beside a kube-apiserver", lines, None)


def _number(value: float) -> str:
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
