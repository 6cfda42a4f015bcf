"""How long a custom resource takes to be judged, by its definition with all rules.

    python -m benchmarks.custom_resources httproutes.yaml [OBJECT ..] --runs 1000

The definition is that of a project, such as HTTPRoute of the Gateway API, of which an
object of 3 KB is here. Other objects are files, or directories of them. Printed are the
size of each, the best and the middle time of ``--runs`` once the definition is read,
and the seconds of processor for all of them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.environment import environment
from smp import custom_resources
from smp.documents import read
from smp.schema.catalog import Catalog

_WARM: int = 20


def objects_in(paths: list[Path]) -> Iterator[dict[str, Any]]:
    """Yield the objects of files and directories."""
    for path in paths:
        files = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        for file in files:
            for document in read(file.read_bytes(), source=str(file)):
                if isinstance(document.value, dict):
                    yield document.value


def http_route() -> dict[str, Any]:
    """Return an HTTPRoute of 3 KB: six rules with matches, filters and backends."""
    rules = []
    for number in range(6):
        header = {"name": "x-shop-version", "value": f"v{number}", "type": "Exact"}
        path = {"type": "PathPrefix", "value": f"/shop/part-{number}"}
        modifier = {"set": [{"name": "x-shop-part", "value": f"part-{number}"}]}
        filters = {"type": "RequestHeaderModifier", "requestHeaderModifier": modifier}
        backends = [
            {"name": f"part-{number}-{name}", "port": 8080, "weight": weight}
            for name, weight in (("stable", 90), ("canary", 10))
        ]
        rules.append(
            {
                "matches": [
                    {"path": path, "headers": [header], "method": "GET"},
                    {"path": {**path, "type": "Exact"}, "method": "POST"},
                ],
                "filters": [filters],
                "backendRefs": backends,
                "timeouts": {"request": "10s", "backendRequest": "5s"},
            }
        )
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {
            "parentRefs": [{"name": "public", "sectionName": "https"}],
            "hostnames": ["shop.example.com", "www.shop.example.com"],
            "rules": rules,
        },
    }


def main(arguments: list[str] | None = None) -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("definition", type=Path)
    parser.add_argument("objects", type=Path, nargs="*")
    parser.add_argument("--runs", type=int, default=1000)
    asked = parser.parse_args(arguments)
    [document] = read(asked.definition.read_bytes(), source=str(asked.definition))
    started = time.process_time()
    catalog = Catalog.from_crd(document.value)
    taken = time.process_time() - started
    engine = environment()["engine"]
    print(f"{engine}; the definition is read in {1000 * taken:.0f} ms")
    for obj in objects_in(asked.objects) if asked.objects else [http_route()]:
        schema = catalog.schema_of(obj)
        refused = custom_resources.validate(obj, schema)
        for _ in range(_WARM):
            custom_resources.validate(obj, schema)
        times: list[float] = []
        for _ in range(asked.runs):
            before = time.process_time()
            custom_resources.validate(obj, schema)
            times.append(time.process_time() - before)
        size = len(json.dumps(obj, separators=(",", ":")))
        best, middle = 1000 * min(times), 1000 * median(times)
        print(
            f"{size} bytes, refusals: {len(refused)}, best {best:.2f} ms, middle"
            f" {middle:.2f} ms, {asked.runs} in {sum(times):.2f} s of processor"
        )


if __name__ == "__main__":
    main()
