"""Record what the real kubectl and Cluster.apply do in the situations of an apply.

``python -m tests.record.cluster_applies`` plays every situation of tests/data/cluster
on a kube-apiserver and on the server of smp.testing, with kubectl and with
Cluster.apply, through one proxy. It prints each difference between the two, and writes
kube-apiserver.json.xz and smp-serve.json.xz in tests/data/cluster: what kubectl did,
and the requests and answers of Cluster.apply, which the tests replay.

``--server NAME`` records one of them; ``--only REGEX`` plays the situations whose names
match, ``--ours`` asks Cluster.apply again and keeps what is recorded of kubectl.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec

from smp.cluster import Cluster
from smp.testing import KubernetesApi
from tests.support import apiserver
from tests.support.cluster_proxy import RecordingProxy, recording
from tests.support.cluster_recordings import Entry, read, write
from tests.support.cluster_sides import (
    Played,
    cluster_apply,
    kubectl_apply,
    played,
)
from tests.support.cluster_situations import Situation, situations
from tests.support.kubectl import kubectl_path

# Of a line in a difference.
_LONGEST: Final = 2000
SERVERS: Final = ("kube-apiserver", "smp-serve")


def main() -> None:
    """Play situations, print the differences, and write what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=SERVERS)
    parser.add_argument("--only", default="")
    parser.add_argument("--ours", action="store_true")
    arguments = parser.parse_args()
    chosen = [each for each in situations() if re.search(arguments.only, each.name)]
    for server in [arguments.server] if arguments.server else SERVERS:
        before = read(server).entries
        found = {} if not arguments.only and not arguments.ours else {**before}
        known = before if arguments.ours else {}
        differing = 0
        try:
            with proxy_of(server) as proxy, tempfile.TemporaryDirectory() as name:
                for situation in chosen:
                    entry = _entry(situation, proxy, Path(name), known)
                    found[situation.name] = entry
                    text = "" if situation.differs else difference(entry)
                    differing += bool(text)
                    if text:
                        print(f"--- {server}: {situation.name}\n{text}", flush=True)  # noqa: T201  # a program
        finally:
            # What was recorded before an error is kept.
            names = {each.name for each in situations()}
            kept = {name: entry for name, entry in found.items() if name in names}
            write(server, kubectl_version(), kept)
        print(f"{server}: {len(chosen)} situations, {differing} differ")  # noqa: T201  # a program


def _entry(
    situation: Situation, proxy: RecordingProxy, home: Path, known: dict[str, Entry]
) -> Entry:
    """Play a situation with both."""
    before = known.get(situation.name)
    if before is None:
        theirs, _ = played(situation, proxy, kubectl_apply(proxy, home))
    else:
        theirs = before.kubectl
    with httpx.Client(base_url=proxy.url, trust_env=False, timeout=300) as client:
        # In turn, so that a recording does not depend on the machine.
        cluster = Cluster(client, documents={}, parallel=1)
        ours, exchanges = played(situation, proxy, cluster_apply(cluster))
    return Entry(theirs, ours, exchanges)


def difference(entry: Entry) -> str:
    """Return the lines in which a Cluster differs from kubectl."""
    return "\n".join(
        difflib.unified_diff(
            _lines(entry.kubectl), _lines(entry.ours), "kubectl", "smp", "", "", 1, ""
        )
    )


def _lines(one: Played) -> list[str]:
    value: Any = msgspec.to_builtins(one)
    lines = json.dumps(value, indent=1, sort_keys=True).splitlines()
    return [line[:_LONGEST] for line in lines]


@contextmanager
def proxy_of(server: str) -> Iterator[RecordingProxy]:
    """Run a server, and a proxy to it."""
    if server == "smp-serve":
        with KubernetesApi() as api, recording(api.client("httpx")) as proxy:
            yield proxy
        return
    with apiserver.running() as running, recording(running.client) as proxy:
        yield proxy


def kubectl_version() -> str:
    """Return the version of the kubectl that is asked."""
    done = subprocess.run(
        [str(kubectl_path()), "version", "--client", "-o", "json"],
        capture_output=True,
        check=True,
    )
    version: str = msgspec.json.decode(done.stdout)["clientVersion"]["gitVersion"]
    return version


if __name__ == "__main__":
    main()
