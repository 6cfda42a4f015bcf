"""Pairs a second of ``smp.fleet.compare``, beside the floor: orjson parsing both sides.

``python -m benchmarks.fleet [--pairs 4000] [--docs docs/performance.md]`` measures
processor time, in turns with that of the floor, and takes the medians of some rounds.
Each round is about other pairs of one fleet, so that nothing is known that a run over a
fleet would not know as well. Two fleets have no spec twice. ``smp drift`` is measured
over the same pairs with one process and with two.

With ``SMP_KUBE_APISERVER`` (tests/support/apiserver.py) a kube-apiserver is started,
and ``--objects`` objects are compared by ``kubectl diff --server-side``, one at a time.
Where openshift is installed, its ``apply_patch`` is measured over half drifted pairs.
``--docs`` puts the tables between their marks in a page. With ``--stored`` a fleet is
measured in place of these whose objects a server has stored: a file of lines with the
members desired and live.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Final, NamedTuple

import pyarrow as pa

import smp
from benchmarks.fleets import Pair, Rates, pairs, stored_pairs
from benchmarks.report import Section, table, written_into
from smp._values.values import COMPILED
from smp.comparison import Rules
from smp.fleet import INPUT_COLUMNS, compare

_ROUNDS: Final = 7
_MICRO: Final = 1e6
_BILLION: Final = 10**9
_HOUR: Final = 3600


class Fleet(NamedTuple):
    """A fleet to measure, and the goal: at most so many times the floor."""

    name: str
    rates: Rates
    goal: float | None
    repeats: bool = True
    rules: Rules = Rules()


_FEW: Final = Rates(drifted=10, missing=0, extra=0)
_LABELLED: Final = Rates(drifted=10, missing=0, extra=0, labelled=500)
_HALF: Final = Rates(drifted=500, missing=0, extra=0)
_SAME: Final = Rates(drifted=0, missing=0, extra=0, identical=1000)
FLEETS: Final = (
    Fleet("the same bytes on both sides", _SAME, 0.1),
    Fleet("1 in 100 drifts", _FEW, 2.0),
    Fleet("half drift", _HALF, 3.0),
    Fleet(
        "1 in 100 drifts, with a rule",
        _FEW,
        None,
        rules=Rules.ignoring("spec.replicas"),
    ),
    Fleet("1 in 100 drifts, half have the name of their cluster", _LABELLED, 4.0),
    Fleet("1 in 100 drifts, no spec repeats", _FEW, None, repeats=False),
    Fleet("half drift, no spec repeats", _HALF, None, repeats=False),
)


STORED: Final = (
    ("as they are", False, Rules()),
    ("half have a label and a variable with the name of their cluster", True, Rules()),
    (
        "the same with a rule about `spec.replicas`",
        True,
        Rules.ignoring("spec.replicas"),
    ),
)


class Measured(NamedTuple):
    """Microseconds of processor time for a pair, ours and the floor, and its bytes."""

    ours: float
    floor: float
    size: float

    @property
    def ratio(self) -> float:
        """How many times as long as the floor."""
        return self.ours / self.floor


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


def beside_the_floor(fleet: Fleet, count: int) -> Measured:
    """Measure the comparison of a fleet, round by round."""
    source = pairs(count * (_ROUNDS + 1), rates=fleet.rates, repeats=fleet.repeats)
    return measure(source, count, fleet.rules)


def measure(source: Iterator[Pair], count: int, rules: Rules) -> Measured:
    """Measure the comparison of some pairs a round, beside the floor."""
    catalog = smp.kubernetes()
    ours, floor, sizes = [], [], []
    # The first round is for what is loaded and compiled once.
    for number in range(_ROUNDS + 1):
        found = [*islice(source, count)]
        batch = batch_of(found)
        spent = [
            seconds(partial(parse, found)),
            seconds(partial(compare, batch, catalog=catalog, rules=rules)),
        ]
        if number:
            floor.append(spent[0])
            ours.append(spent[1])
            sizes.append(sum(len(s) for p in found for s in (p.desired, p.live) if s))
    scale = _MICRO / count
    return Measured(
        statistics.median(ours) * scale,
        statistics.median(floor) * scale,
        statistics.mean(sizes) / count,
    )


def with_openshift(count: int) -> Measured | None:
    """Measure apply_patch of openshift, with the parsing of both sides, if it is here.

    It raises for some objects; those take part with the time until then.
    """
    if find_spec("openshift") is None:
        return None
    apply_patch = import_module("openshift.dynamic.apply").apply_patch
    found = [*pairs(count, rates=_HALF)]

    def run() -> None:
        for pair in found:
            try:
                live, desired = (
                    json.loads(t or b"") for t in (pair.live, pair.desired)
                )
                apply_patch(live, desired)
            except Exception:  # noqa: BLE001, S112  # whatever it raises, see above
                continue

    floor = seconds(lambda: parse(found))
    return Measured(seconds(run) / count * _MICRO, floor / count * _MICRO, 0)


def with_processes(folder: Path, count: int) -> Iterator[tuple[int, float, float]]:
    """Run ``smp drift`` with one process and two: elapsed and processor seconds."""
    sides = {"desired": folder / "want.ndjson", "live": folder / "live.ndjson"}
    with sides["desired"].open("wb") as wanted, sides["live"].open("wb") as there:
        for pair in pairs(count, rates=_FEW):
            for file, text in ((wanted, pair.desired), (there, pair.live)):
                head = b'{"cluster":"%b","object":' % pair.cluster.encode()
                file.write(head + (text or b"null") + b"}\n")
    for jobs in (1, 2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = perf_counter()
        files = ("-f", str(sides["desired"]), "--live", str(sides["live"]))
        ran = subprocess.run(
            [sys.executable, "-m", "smp", "drift", *files, "--jobs", str(jobs)],
            check=False,
            capture_output=True,
        )
        # Some have drifted; an error takes no time.
        if ran.returncode != 1:
            raise RuntimeError(ran.stderr.decode())
        elapsed = perf_counter() - began
        yield jobs, elapsed, _processor(before)


def _processor(before: resource.struct_rusage) -> float:
    """Return the processor time of ended processes since then."""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def with_kubectl(count: int) -> tuple[float, float]:
    """Return elapsed and processor milliseconds of kubectl for an object."""
    # The heavy imports of tests are for those who have a kube-apiserver.
    from tests.support.apiserver import running  # noqa: PLC0415  # see above
    from tests.support.kubectl import kubectl_path  # noqa: PLC0415  # see above

    kinds = ("ConfigMap", "Deployment", "Service", "NetworkPolicy")
    manifests = []
    for pair in pairs(count * 5):
        if pair.kind in kinds and pair.desired:
            manifests.append(json.loads(pair.desired))
            manifests[-1]["metadata"]["namespace"] = "default"
    with running() as server, tempfile.TemporaryDirectory() as home:
        token = server.headers["Authorization"].removeprefix("Bearer ")
        options = (f"--server={server.url}", f"--token={token}")

        def kubectl(*arguments: str) -> None:
            subprocess.run(
                [
                    str(kubectl_path()),
                    *arguments,
                    *options,
                    "--insecure-skip-tls-verify",
                ],
                check=False,
                capture_output=True,
                env={"HOME": home, "PATH": os.environ["PATH"]},
            )

        files = []
        for number, manifest in enumerate(manifests[:count]):
            files.append(Path(home, f"{number}.json"))
            files[-1].write_text(json.dumps(manifest))
        kubectl("apply", "--server-side", "-f", home)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = perf_counter()
        for file in files:
            kubectl("diff", "--server-side", "-f", str(file))
        elapsed = perf_counter() - began
        used = _processor(before)
    return elapsed / len(files) * 1e3, used / len(files) * 1e3


def _goal(measured: Measured, goal: float | None) -> str:
    if goal is None:
        return "none"
    if measured.ratio <= goal:
        return f"{goal:g}, met"
    return f"{goal:g}, missed by a factor of {measured.ratio / goal:.1f}"


def _section(name: str, heads: tuple[str, ...], rows: list[list[str]]) -> Section:
    return Section(name, name, table(heads, rows), {})


def speed_section(count: int) -> tuple[Section, dict[str, Measured]]:
    """Measure the fleets."""
    found: dict[str, Measured] = {}
    rows = []
    for fleet in FLEETS:
        measured = beside_the_floor(fleet, count)
        found[fleet.name] = measured
        rows.append(
            [
                fleet.name,
                f"{measured.size:,.0f}",
                f"{measured.ours:.1f}",
                f"{_MICRO / measured.ours:,.0f}",
                f"{measured.floor:.1f}",
                f"{measured.ratio:.2f}",
                _goal(measured, fleet.goal),
            ]
        )
        print(rows[-1], flush=True)
    openshift = with_openshift(min(count, 1000))
    if openshift is not None:
        rows.append(
            [
                "half drift: openshift's apply_patch, which computes a patch only",
                "",
                f"{openshift.ours:.1f}",
                f"{_MICRO / openshift.ours:,.0f}",
                f"{openshift.floor:.1f}",
                f"{openshift.ratio:.2f}",
                "",
            ]
        )
        print(rows[-1], flush=True)
    heads = ("fleet", "bytes", "a pair, us", "a second", "floor, us", "ratio", "goal")
    return _section("fleet_speed", heads, rows), found


def main(arguments: list[str]) -> None:
    """Measure, print, and write into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=4_000)
    parser.add_argument("--processes", type=int, default=50_000)
    parser.add_argument("--objects", type=int, default=200)
    parser.add_argument("--stored", type=Path)
    parser.add_argument("--docs")
    options = parser.parse_args(arguments)
    print("compiled" if COMPILED else "interpreted")
    if options.stored:
        lines = options.stored.read_text().splitlines()
        for name, labelled, rules in STORED:
            count = options.pairs * (_ROUNDS + 1)
            found = stored_pairs(lines, count, labelled=labelled)
            each = measure(found, options.pairs, rules)
            print(f"{name}: {each.ours:.1f} {each.floor:.1f} {each.ratio:.2f}")
        return
    speed, measured = speed_section(options.pairs)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for jobs, elapsed, used in with_processes(Path(folder), options.processes):
            rows.append(
                [
                    f"`smp drift --jobs {jobs}`, {options.processes:,} pairs",
                    f"{elapsed:.1f} s",
                    f"{used:.1f} s",
                    f"{options.processes / elapsed:,.0f}",
                ]
            )
            print(rows[-1], flush=True)
    if "SMP_KUBE_APISERVER" in os.environ:
        elapsed, used = with_kubectl(options.objects)
        rows.append(
            [
                f"`kubectl diff --server-side`, each of {options.objects} objects",
                f"{elapsed:.0f} ms",
                f"{used:.0f} ms of kubectl's own",
                f"{1e3 / elapsed:,.1f}",
            ]
        )
        print(rows[-1], flush=True)
    heads = ("run", "elapsed", "processor time", "objects a second")
    whole = _section("fleet_runs", heads, rows)
    costs = []
    for name, each in measured.items():
        hours = each.ours / _MICRO * _BILLION / _HOUR
        terabytes = each.size * _BILLION / 1e12
        on_64 = f"{hours / 64:.1f}"
        costs.append([name, f"{terabytes:.1f} TB", f"{hours:,.1f}", on_64])
    heads = ("a billion pairs", "JSON", "core hours", "hours on 64 cores")
    sections = (speed, whole, _section("fleet_costs", heads, costs))
    for section in sections:
        print(f"\n## {section.name}", *section.lines, sep="\n")
    if options.docs:
        page = Path(options.docs)
        page.write_text(written_into(page.read_text(), sections))


if __name__ == "__main__":
    main(sys.argv[1:])
