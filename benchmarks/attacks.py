"""Attack the API server, and show how long other clients wait for their answers.

    python benchmarks/attacks.py             about five minutes
    python benchmarks/attacks.py --short
    python benchmarks/attacks.py --tree COMPILED --docs docs/server.md

Each attack is a few requests that ask for a lot of work. Another client asks for a
small object all the time. Shown is how much processor time the server used at most
between such a request and its answer, which does not depend on what else the machine
does; and its longest wait by the clock, also at rest, which is what the machine does by
itself. ``--tree`` is a folder with the compiled packages, without which this one is run
as it is.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.environment import environment
from benchmarks.report import Section, table, written_into
from tests.support import attacks
from tests.support.attacks import Attack, Request, probing
from tests.support.server_process import ServerProcess, serving

ROOT: Final = Path(__file__).resolve().parent.parent


def main() -> None:
    """Attack a server of its own for each group of attacks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--store", default="memory:")
    parser.add_argument("--only", default="")
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    if options.short:
        several, over_many = attacks.short(), attacks.over_many(1_000, 1_000)
    else:
        several, over_many = attacks.long(), attacks.over_many(10_000, 4_000)
    groups = [[attack] for attack in several] + [over_many]
    os.environ["PYTHONPATH"] = str(options.tree)
    # Before other programs of the machine, where that is allowed.
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    print(environment())
    rows: list[tuple[str, ...]] = []
    for group in groups:
        chosen = [attack for attack in group if options.only in attack.name]
        if not chosen:
            continue
        with (
            tempfile.TemporaryDirectory() as directory,
            serving(Path(directory), "--store", options.store) as server,
        ):
            rows += [measured(server, attack) for attack in chosen]
            print(f"    ended {server.stop()}")
    report = section(rows)
    print("\n".join(report.lines))
    if options.docs:
        options.docs.write_text(written_into(options.docs.read_text(), [report]))


def measured(server: ServerProcess, attack: Attack) -> tuple[str, ...]:
    """Attack, and return the row of the table."""
    with probing(server) as idle:
        sleep(2)
    with probing(server) as probe:
        attacks.run(server.url, attack, _print)
    row = (
        attack.name,
        _milliseconds(probe.most_worked),
        _milliseconds(probe.longest),
        _milliseconds(idle.longest),
    )
    print(" | ".join(row), f"({len(probe.waits)} answers)", flush=True)
    return row


def section(rows: list[tuple[str, ...]]) -> Section:
    """Return the table for the documentation."""
    head = ("milliseconds", "processor time", "by the clock", "at rest, by the clock")
    return Section("attacks", "Attacks", table(head, rows), rows)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f}"


def _print(request: Request, status: int, seconds: float) -> None:
    what = f"{request.method} {request.path:.60}"
    print(f"    {what}: {status} after {seconds:.2f} s")


if __name__ == "__main__":
    main()
