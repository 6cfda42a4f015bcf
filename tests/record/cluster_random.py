"""Compare Cluster.apply with the real kubectl on random manifests.

``SMP_CLUSTER_RANDOM=2000 python -m tests.record.cluster_random`` applies that many
objects twice, with changes of others between, on a kube-apiserver and on the server of
smp.testing: with kubectl, and, from the same start, with Cluster.apply. Kinds are those
of tests/support/makers/manifests.py and custom resources of all shapes of
tests/support/makers/custom_resources.py. It prints each difference, and writes the
first batch of each server to tests/data/cluster/random-*.json.xz.

``--seed S`` takes other objects, ``--server NAME`` one server, ``--no-record`` writes
nothing.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx

from smp._values.values import JSONObject, as_object
from smp.cluster import Cluster
from tests.record.applies import collection
from tests.record.cluster_applies import (
    SERVERS,
    difference,
    kubectl_version,
    proxy_of,
)
from tests.support.cluster_proxy import RecordingProxy
from tests.support.cluster_recordings import Entry, write
from tests.support.cluster_sides import cluster_apply, kubectl_apply, played
from tests.support.cluster_situations import Situation
from tests.support.makers.custom_resources import GROUP, SHAPES, definition, triple
from tests.support.makers.manifests import KINDS, ManifestMaker

OBJECTS: Final = int(os.environ.get("SMP_CLUSTER_RANDOM", "100"))
# Objects that one kubectl applies: it reads discovery and schemas once.
_BATCH: Final = 50
# One of so many is a custom resource.
_CUSTOM: Final = 6


class _Case:
    """An object: as it is applied first, as others change it, as it is applied next."""

    def __init__(self, seed: int, number: int) -> None:
        self._seed = f"{seed}-{number}"
        if number % _CUSTOM == 0:
            made = triple(seed, number // _CUSTOM)
            self.path = f"/apis/{GROUP}/v1/namespaces/default/{made.kind.lower()}s"
            self._changed: JSONObject | None = made.changed
            self.manifests = made.last_applied, made.modified
            self.kind = made.kind
        else:
            kinds = [*KINDS]
            self.kind = kinds[number % len(kinds)]
            maker = ManifestMaker(
                self._seed, self.kind, f"{self.kind.lower()}-{number}"
            )
            first = maker.manifest()
            self.path = collection(self.kind)
            self._changed = None
            self.manifests = first, maker.changed(first)
        self.path += f"/{as_object(self.manifests[0]['metadata'])['name']}"

    def interfere(self, web: httpx.Client) -> None:
        """Change the live object as others do; most times, and where that is valid."""
        maker = ManifestMaker(f"{self._seed}-others", self.kind, "")
        if maker.random.random() > 0.7:
            return
        answer = web.get(self.path)
        # The first apply may have been refused.
        if not answer.is_success:
            return
        live = answer.json()
        if self._changed is None:
            changed = maker.interfered(live)
        else:
            changed = {**live, "spec": self._changed["spec"]}
        web.put(self.path, params={"fieldManager": "others"}, json=changed)


def _situation(seed: int, numbers: range) -> Situation:
    cases = [_Case(seed, number) for number in numbers]

    def others(web: httpx.Client) -> None:
        for case in cases:
            case.interfere(web)

    first, second = zip(*(case.manifests for case in cases), strict=True)
    steps: list[dict[str, Any]] = [
        {"apply": [*first]},
        {"others": others},
        {"apply": [*second]},
    ]
    return Situation(f"{numbers.start} to {numbers.stop}", steps)


def _entries(
    proxy: RecordingProxy, seed: int, home: Path
) -> Iterator[tuple[Situation, Entry]]:
    kubectl = kubectl_apply(proxy, home)
    with httpx.Client(base_url=proxy.url, trust_env=False, timeout=300) as client:
        cluster = Cluster(client, documents={}, parallel=1)
        for first in range(0, OBJECTS, _BATCH):
            numbers = range(first, min(first + _BATCH, OBJECTS))
            situation = _situation(seed, numbers)
            theirs, _ = played(situation, proxy, kubectl)
            ours, exchanges = played(situation, proxy, cluster_apply(cluster))
            applies = [step for step in situation.steps if "apply" in step]
            yield situation, Entry(theirs, ours, exchanges, applies)


def main() -> None:
    """Compare, print the differences, and write the first batch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", choices=SERVERS)
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    for server in [arguments.server] if arguments.server else SERVERS:
        counts = {"applies": 0, "writes": 0, "errors": 0, "batches that differ": 0}
        with proxy_of(server) as proxy, tempfile.TemporaryDirectory() as name:
            for kind in SHAPES:
                path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
                proxy.client.post(path, json=definition(kind)).raise_for_status()
            _until_all_are_served(proxy)
            first: dict[str, Entry] = {}
            for situation, entry in _entries(proxy, arguments.seed, Path(name)):
                first = first or {situation.name: entry}
                for step, outcome in zip(
                    [each for each in situation.steps if "apply" in each],
                    entry.kubectl.outcomes,
                    strict=True,
                ):
                    counts["applies"] += len(step["apply"])
                    counts["writes"] += len(outcome.sent)
                    counts["errors"] += len(step["apply"]) - len(outcome.lines)
                text = difference(entry)
                counts["batches that differ"] += bool(text)
                print(f"{server}: {situation.name}\n{text}", flush=True)  # noqa: T201  # a program
        print(f"{server}: {counts}", flush=True)  # noqa: T201  # a program
        if not arguments.no_record:
            write(f"random-{server}", kubectl_version(), first)


def _until_all_are_served(proxy: RecordingProxy) -> None:
    """Wait until kubectl would find all custom resources, and their schemas."""
    names = [f'"kind":"{kind}"' for kind in SHAPES]
    while True:
        listed = proxy.client.get(f"/apis/{GROUP}/v1").text
        paths = proxy.client.get("/openapi/v3").json()["paths"]
        address = paths.get(f"apis/{GROUP}/v1", {}).get("serverRelativeURL")
        document = proxy.client.get(address).text if address else ""
        text = document.replace(" ", "")
        if all(name in listed and name in text for name in names):
            return


if __name__ == "__main__":
    main()
