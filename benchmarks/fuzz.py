"""Call every public function with random arguments, in processes of their own.

    python benchmarks/fuzz.py --inputs 1000000

A call may return, or raise an error of the library. Everything else is a finding: an
exception of another class, an error that cannot be printed, a call that takes longer
than ``SECONDS``, and a process that ends. Each is printed with the number of its input,
which ``--only NUMBER`` runs again. The exit code is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import faulthandler
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
# Of one call, on a slow machine. Inputs are small, so that a call takes milliseconds.
SECONDS: Final = 30
BATCH: Final = 5_000


def run(first: int, count: int) -> list[str]:
    """Run inputs in a process; return the findings, the end of the process included."""
    findings: list[str] = []
    last = first + count
    while first < last:
        ran = subprocess.run(
            [sys.executable, __file__, "--child", str(first), str(last - first)],
            capture_output=True,
            text=True,
            check=False,
        )
        numbers = [first]
        for line in ran.stdout.splitlines():
            number, _, problem = line.partition(" ")
            numbers.append(int(number))
            if problem:
                findings.append(line)
        if ran.returncode == 0:
            break
        # The child prints the number of each input before the call.
        findings.append(f"{numbers[-1]} the process ended: {ran.returncode}")
        findings.append(ran.stderr[-1_000:])
        first = numbers[-1] + 1
    return findings


def _child(first: int, count: int) -> None:
    # The path is set below, and the parent does not need it.
    from tests.support.hostile import attempt, prepare  # noqa: PLC0415  # see above

    prepare()
    for number in range(first, first + count):
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        problem = attempt(number)
        if problem:
            sys.stdout.write(f"{number} {problem!a}\n")
    faulthandler.cancel_dump_traceback_later()


def main() -> int:
    """Run all inputs, in batches."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _child(*arguments.child)
        return 0
    first, count = arguments.first, arguments.inputs
    if arguments.only is not None:
        first, count = arguments.only, 1
    started = monotonic()
    found = 0
    for begin in range(first, first + count, BATCH):
        size = min(BATCH, first + count - begin)
        for finding in run(begin, size):
            found += 1
            print(finding, flush=True)
        done = begin + size - first
        rate = done / (monotonic() - started)
        print(f"{done:,} inputs, {found} findings, {rate:,.0f} a second", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
