"""How many objects a second are applied to a kube-apiserver, beside kubectl apply.

``SMP_KUBE_APISERVER=build python benchmarks/cluster_apply.py [--objects 1000]`` starts
a kube-apiserver with an etcd, and applies as many objects (Deployments, ConfigMaps and
Services in turn), new, unchanged and changed: with the real kubectl, with Cluster, and
with AsyncCluster, in turn. It prints objects a second, and the processor time of the
client for each object; ``--docs docs/performance.md`` writes them there as well.
``--profile`` prints where Cluster spends its time where nothing has changed.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.report import Section, table, times, written_into
from smp._values.values import JSON, JSONObject
from smp.cluster import AsyncCluster, Cluster
from smp.cluster.plan.apply import Run
from tests.support.apiserver import ApiServer, running
from tests.support.kubectl import kubectl_path

_NAMESPACES: Final = ("kubectl", "sync", "async")
_NAMES: Final = {"sync": "`Cluster`", "async": "`AsyncCluster`"}
# Connections of a client; the driver has as many requests under way.
_LIMITS: Final = httpx.Limits(max_connections=32, max_keepalive_connections=32)


class Measured(NamedTuple):
    """What applying some objects took: seconds, and processor time of the client."""

    seconds: float
    processor: float


def manifests(count: int, namespace: str, revision: int) -> list[JSONObject]:
    """Make objects of three kinds in turn."""
    found = []
    for number in range(count):
        name = f"o{number}"
        labels: JSONObject = {"app": name}
        metadata: JSONObject = {"name": name, "namespace": namespace, "labels": labels}
        containers: JSON = [{"name": "app", "image": f"app:{revision}"}]
        made: tuple[JSONObject, ...] = (
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": metadata,
                "spec": {
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"containers": containers},
                    },
                },
            },
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": metadata,
                "data": {"revision": str(revision)},
            },
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": metadata,
                "spec": {
                    "clusterIP": "None",
                    "selector": labels,
                    "ports": [{"port": 80 + revision}],
                },
            },
        )
        found.append(made[number % len(made)])
    return found


def measured(apply: Callable[[], None], *, of_children: bool) -> Measured:
    """Apply once, and measure it."""
    who = resource.RUSAGE_CHILDREN if of_children else resource.RUSAGE_SELF
    before = resource.getrusage(who)
    began = time.perf_counter()
    apply()
    seconds = time.perf_counter() - began
    after = resource.getrusage(who)
    processor = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    return Measured(seconds, processor)


def with_kubectl(server: ApiServer, home: Path, objects: list[JSONObject]) -> None:
    """Apply with the real kubectl, from one file."""
    file = home / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    token = server.headers["Authorization"].removeprefix("Bearer ")
    subprocess.run(
        [
            str(kubectl_path()),
            "apply",
            "-f",
            str(file),
            f"--server={server.url}",
            f"--token={token}",
            "--insecure-skip-tls-verify",
        ],
        check=True,
        capture_output=True,
        env={"HOME": str(home), "PATH": os.defpath, "KUBECONFIG": os.devnull},
    )


def _require(run: Run, action: str) -> None:
    run.raise_for_errors()
    actions = {result.action for result in run.results}
    if actions != {action}:
        raise ValueError(f"{action} was expected, not {actions}")


def _compared(one: Measured, found: dict[str, Measured], count: int) -> str:
    """Print objects a second, and how many times those of kubectl."""
    ratio = found["kubectl"].seconds / one.seconds
    return f"{count / one.seconds:,.0f} ({times(ratio)})"


def section(rows: list[list[str]]) -> Section:
    """Report what was measured."""
    ways = ("kubectl", *_NAMES.values())
    efforts = [f"ms of {way}" for way in ways]
    return Section(
        "cluster",
        "Apply to a live cluster",
        table(["", *ways, *efforts], rows),
        None,
    )


def main() -> None:
    """Measure, and print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--docs", metavar="FILE", type=Path)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with running() as server, tempfile.TemporaryDirectory() as name:
        for namespace in _NAMESPACES:
            body: JSONObject = {"metadata": {"name": namespace}}
            server.request("POST", "/api/v1/namespaces", body)
        arguments = {
            "base_url": server.url,
            "headers": server.headers,
            "limits": _LIMITS,
            "timeout": 60,
            "trust_env": False,
            # Its certificate is its own, and it listens on loopback only.
            "verify": False,
        }
        documents: dict[str, bytes] = {}
        client = httpx.Client(**arguments)  # type: ignore[arg-type]  # see above
        cluster = Cluster(client, documents=documents)

        def sync(objects: list[JSONObject], action: str) -> None:
            _require(cluster.apply(objects), action)

        async def asynchronous(objects: list[JSONObject], action: str) -> None:
            async with httpx.AsyncClient(**arguments) as inner:  # type: ignore[arg-type]  # see above
                found = await AsyncCluster(inner, documents=documents).apply(objects)
                _require(found, action)

        rows: list[list[str]] = []
        cases = (("new", 1, "created"), ("unchanged", 1, "unchanged"))
        for case, revision, action in (*cases, ("changed", 2, "configured")):
            made = {
                namespace: manifests(options.objects, namespace, revision)
                for namespace in _NAMESPACES
            }
            ways: dict[str, Callable[[], None]] = {
                "kubectl": lambda: with_kubectl(server, Path(name), made["kubectl"]),  # noqa: B023  # it is called in this turn
                "sync": lambda: sync(made["sync"], action),  # noqa: B023  # as above
                "async": lambda: asyncio.run(asynchronous(made["async"], action)),  # noqa: B023  # as above
            }
            found = {
                way: measured(apply, of_children=way == "kubectl")
                for way, apply in ways.items()
            }
            cells = [f"{options.objects / found['kubectl'].seconds:,.0f}"]
            cells += [_compared(found[way], found, options.objects) for way in _NAMES]
            efforts = [
                f"{one.processor / options.objects * 1000:.1f}"
                for one in found.values()
            ]
            rows.append([case, *cells, *efforts])
            print(f"{case}: {', '.join(rows[-1][1:])}", file=sys.stderr)
        if options.profile:
            profile = cProfile.Profile()
            profile.runcall(sync, manifests(options.objects, "sync", 2), "unchanged")
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        client.close()
    report = section(rows)
    print("\n".join(report.lines))
    if options.docs:
        options.docs.write_text(written_into(options.docs.read_text(), [report]))


if __name__ == "__main__":
    main()
