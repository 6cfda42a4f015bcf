"""Ask a server for one small object all the time.

``python -m tests.support.probe URL PID`` is a process of its own, so that what the
attackers do in theirs is not measured. It prints a line when it begins, and at the end
of its input a line of JSON: which statuses there were, for each answer how many seconds
it took, and how many seconds of processor time the server used meanwhile, and how slow
this machine is. The processor time is how long the answer would have taken on a machine
that does nothing else.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
from time import clock_gettime, perf_counter, sleep
from urllib.parse import urlsplit

from tests.support.speed import slowness

PAUSE = 0.002  # seconds between two requests


def main(url: str, pid: int) -> None:
    # Linux: the clock of the processor time of a process (clock_getcpuclockid(3)).
    server_clock = (~pid << 3) | 2
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port, timeout=60
    )
    ending = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ending.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    waits: list[float] = []
    worked: list[float] = []
    statuses: set[int] = set()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not ending.is_set():
        started, work = perf_counter(), clock_gettime(server_clock)
        connection.request("GET", parts.path)
        answer = connection.getresponse()
        answer.read()
        waits.append(perf_counter() - started)
        worked.append(clock_gettime(server_clock) - work)
        statuses.add(answer.status)
        sleep(PAUSE)
    found = {
        "waits": waits,
        "worked": worked,
        "statuses": sorted(statuses),
        "slowness": slowness(),
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
