"""What the API server of a test suite costs: its start, and each test.

    python benchmarks/fixtures.py --docs docs/performance.md

puts the figures into the documentation. The cost of a test is what the fixture does
before and after it, and not what the test itself asks of the server.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
STARTS: Final = 10
TESTS: Final = 200
# The fixture opens the first of these around a test, or the second.
ISOLATIONS: Final = {"store": "unchanged", "namespace": "in_namespace"}
FIRST_START: Final = (
    "from time import perf_counter_ns; begin = perf_counter_ns();"
    "from smp.testing import KubernetesApi; api = KubernetesApi();"
    "print(perf_counter_ns() - begin); api.stop()"
)


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    begin = perf_counter_ns()
    work()
    return (perf_counter_ns() - begin) / 1e6


def first_start() -> float:
    """Return how long the first start takes in a new process, imports and all."""
    command = [sys.executable, "-c", FIRST_START]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    return int(printed) / 1e6


def start(*, process: bool) -> float:
    """Return how long a later start takes."""
    from smp.testing import KubernetesApi  # noqa: PLC0415  # measured above

    made: list[KubernetesApi] = []
    took = milliseconds(lambda: made.append(KubernetesApi(process=process)))
    made[0].stop()
    return took


def isolated(isolation: str, objects: int, writes: int) -> list[float]:
    """Return what tests cost that make so many writes beside so many objects."""
    from smp.testing import KubernetesApi  # noqa: PLC0415  # measured above

    def config_map(name: str) -> str:
        return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}"

    costs = []
    with KubernetesApi() as api:
        api.apply([config_map(f"before-{number}") for number in range(objects)])
        for _ in range(TESTS):
            around = getattr(api, ISOLATIONS[isolation])()
            before = milliseconds(around.__enter__)
            api.apply([config_map(f"test-{number}") for number in range(writes)])
            after = milliseconds(lambda: around.__exit__(None, None, None))  # noqa: B023  # called at once
            costs.append(before + after)
    return costs


def figures() -> list[str]:
    """Measure everything; return the lines of a table."""
    starts = {
        "first start on a thread, with all imports": [
            first_start() for _ in range(STARTS)
        ],
        "later start on a thread": [start(process=False) for _ in range(STARTS)],
        "start as a process": [start(process=True) for _ in range(STARTS)],
    }
    for isolation in ISOLATIONS:
        for objects, writes in ((0, 0), (0, 10), (100, 10)):
            what = f"a test with {writes} writes beside {objects} objects: {isolation}"
            starts[what] = isolated(isolation, objects, writes)
    rows = [
        f"| {what} | {median(took):.1f} | {max(took):.1f} |"
        for what, took in starts.items()
    ]
    return ["| | median, ms | longest, ms |", "|---|---:|---:|", *rows]


def main() -> None:
    """Print the figures, or put them into a document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, help="the document to write them into")
    options = parser.parse_args()
    from benchmarks.report import Section, written_into  # noqa: PLC0415  # see below

    section = Section("fixtures", "The server of a test", figures(), None)
    print("\n".join(section.lines))
    if options.docs:
        options.docs.write_text(written_into(options.docs.read_text(), [section]))


if __name__ == "__main__":
    # As a script, its own directory is the path.
    sys.path.insert(0, str(ROOT))
    main()
