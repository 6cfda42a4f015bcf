"""Attack the API server, and show how long other clients wait for their answers.

    python benchmarks/attacks.py             about five minutes
    python benchmarks/attacks.py --short

Each attack is a few requests that ask for a lot of work. Another client asks for a
small object all the time; the longest answer is shown for each attack, and for the
server at rest, which is what the machine does by itself.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import sleep

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.environment import environment
from tests.support import attacks
from tests.support.attacks import Attack, Request, probing
from tests.support.server_process import serving


def main() -> None:
    """Attack a server of its own for each group of attacks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--store", default="memory:")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if options.short:
        several, over_many = attacks.short(), attacks.over_many(1_000, 1_000)
    else:
        several, over_many = attacks.long(), attacks.over_many(10_000, 4_000)
    groups = [[attack] for attack in several] + [over_many]
    worst = 0.0
    print(environment())
    for group in groups:
        chosen = [attack for attack in group if options.only in attack.name]
        with (
            tempfile.TemporaryDirectory() as directory,
            serving(Path(directory), "--store", options.store) as server,
        ):
            for attack in chosen:
                worst = max(worst, longest_wait(server.url, attack))
            if chosen:
                print(f"    ended {server.stop()}")
    print(f"longest of all: {worst * 1000:.0f} ms")


def longest_wait(url: str, attack: Attack) -> float:
    """Attack, and return the longest wait of another client, in seconds."""
    for request in attack.before:
        attacks.send(url, request)
    with probing(url) as idle:
        sleep(2)
    with probing(url) as probe:
        for request in attack.requests:
            attacks.run(url, Attack("", [request]), _print)
            print(f"        waited {probe.longest * 1000:.0f} ms so far")
    print(
        f"{attack.name}: others waited up to {probe.longest * 1000:.0f} ms "
        f"(at rest {idle.longest * 1000:.0f} ms; {len(probe.waits)} answers)",
        flush=True,
    )
    return probe.longest


def _print(request: Request, status: int, seconds: float) -> None:
    what = f"{request.method} {request.path:.60}"
    print(f"    {what}: {status} after {seconds:.2f} s")


if __name__ == "__main__":
    main()
