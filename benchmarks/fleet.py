"""Pairs a second of ``smp.fleet.compare``, beside the floor: orjson parsing both sides.

Run ``python -m benchmarks.fleet [PAIRS] [--kubectl]``. Times are of the processor, in
turns with those of the floor, the best of some rounds. With ``--kubectl`` a few objects
are compared by ``kubectl diff --server-side``, one at a time, in the cluster of the
current context: the namespace ``smp-fleet`` has to be there.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Final

import pyarrow as pa

import smp
from benchmarks.fleets import Pair, Rates, pairs
from smp.fleet import INPUT_COLUMNS, compare

_PAIRS: Final = 4_000
_ROUNDS: Final = 5
_ASKED: Final = 10
# The goals are at most so many times the floor.
FLEETS: Final = {
    "99 % do not drift": (Rates(drifted=10, missing=0, extra=0), 2.0),
    "half drift": (Rates(drifted=500, missing=0, extra=0), 3.0),
    "equal bytes": (Rates(drifted=0, missing=0, extra=0, identical=1000), 0.1),
}


def batch_of(found: list[Pair]) -> pa.RecordBatch:
    """Return pairs as a batch."""
    names = [name for name in INPUT_COLUMNS if name != "last_applied"]
    columns = {name: [getattr(pair, name) for pair in found] for name in names}
    return pa.RecordBatch.from_pydict(columns)


def seconds(run: Callable[[], object]) -> float:
    """Return the processor time of a run."""
    began = process_time()
    run()
    return process_time() - began


def parse(found: list[Pair]) -> None:
    """Parse both sides of pairs."""
    loads = import_module("orjson").loads  # only the extra bench has it
    for pair in found:
        for text in (pair.desired, pair.live):
            if text is not None:
                loads(text)


def beside_the_floor(count: int) -> None:
    """Print how long the comparison of each fleet takes."""
    catalog = smp.kubernetes()
    for name, (rates, goal) in FLEETS.items():
        found = [*pairs(count, rates=rates)]
        batch = batch_of(found)
        floor, ours = [], []
        for _ in range(_ROUNDS):
            floor.append(seconds(partial(parse, found)))
            ours.append(seconds(partial(compare, batch, catalog=catalog)))
        ratio = min(ours) / min(floor)
        each = min(ours) / count * 1e6
        size = sum(len(side) for p in found for side in (p.desired, p.live) if side)
        print(
            f"{name}: {each:.1f} us a pair of {size / count:.0f} bytes, "
            f"{count / min(ours):,.0f} pairs a second; floor "
            f"{min(floor) / count * 1e6:.1f} us; {ratio:.2f} x (goal {goal})"
        )


def with_kubectl() -> None:
    """Print how long kubectl takes for an object."""
    some = [pair for pair in pairs(400) if pair.kind == "ConfigMap" and pair.desired]
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = perf_counter()
        for pair in some[:_ASKED]:
            manifest = json.loads(pair.desired or b"")
            manifest["metadata"]["namespace"] = "smp-fleet"
            file = Path(folder, "one.json")
            file.write_text(json.dumps(manifest))
            subprocess.run(
                ["kubectl", "diff", "--server-side", "-f", str(file)],  # noqa: S607  # as installed
                check=False,
                capture_output=True,
            )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    elapsed = perf_counter() - began
    print(
        f"kubectl diff --server-side, an object: {elapsed / _ASKED * 1e3:.0f} ms, "
        f"{used / _ASKED * 1e3:.0f} ms of them its own processor time"
    )


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if each.isdecimal()]
    beside_the_floor(numbers[0] if numbers else _PAIRS)
    if "--kubectl" in sys.argv:
        with_kubectl()
