"""Record what kstatus says of objects, for smp.cluster.plan.readiness.

``python -m tests.record.readiness`` writes tests/data/cluster/readiness.jsonl.xz: on
each line an object, and what sigs.k8s.io/cli-utils says of it. Objects are those of
tests/data/apiserver/applies.jsonl.xz as a server had them, and generated statuses of
all kinds that kstatus has rules for. ``--seed S --objects N --to FILE`` records others.
"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from smp._values.values import JSON, JSONArray, JSONObject, as_object
from tests.record.applies import FILE as APPLIES
from tests.record.applies import read
from tests.support.paths import DATA, ROOT

FILE: Final = DATA / "cluster" / "readiness.jsonl.xz"
SEED: Final = 1
OBJECTS: Final = 6000
_GO_MODULE: Final = ROOT / "tests" / "cluster" / "oracle"
_KINDS: Final = (
    ("v1", "Service"),
    ("v1", "Pod"),
    ("v1", "Secret"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "ConfigMap"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("extensions/v1beta1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("extensions/v1beta1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("extensions/v1beta1", "ReplicaSet"),
    ("policy/v1", "PodDisruptionBudget"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("example.com/v1", "Widget"),
    ("v1", "Namespace"),
)
# Numbers of the specification and of the status that rules look at.
_COUNTS: Final = (
    "replicas",
    "readyReplicas",
    "updatedReplicas",
    "availableReplicas",
    "currentReplicas",
    "fullyLabeledReplicas",
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberReady",
    "succeeded",
    "failed",
    "active",
)
_CONDITIONS: Final = (
    "Ready",
    "Available",
    "Progressing",
    "Reconciling",
    "Stalled",
    "ReplicaFailure",
    "PodScheduled",
    "Complete",
    "Failed",
    "Suspended",
    "SuccessCriteriaMet",
    "NamesAccepted",
    "Established",
)
_REASONS: Final = (
    "ProgressDeadlineExceeded",
    "NewReplicaSetAvailable",
    "Unschedulable",
    "Installing",
    "Other",
)
_LONG_AGO: Final = "2020-01-01T00:00:00Z"
_IN_FUTURE: Final = "2100-01-01T00:00:00Z"


def _condition(random: Random) -> JSONObject:
    type_ = random.choice(_CONDITIONS)
    status = random.choices(("True", "False", "Unknown", ""), (6, 3, 1, 1))[0]
    condition: JSONObject = {"type": type_, "status": status}
    if random.random() < 0.7:
        condition["reason"] = random.choice(_REASONS)
    if random.random() < 0.7:
        condition["message"] = f"{type_} is {status}"
    return condition


def generated(random: Random, number: int) -> JSONObject:
    """Make an object of a kind with a rule, whose numbers are mostly near its goal."""
    api_version, kind = _KINDS[number % len(_KINDS)]
    goal = random.choice((0, 1, 3))
    status: JSONObject = {}
    spec: JSONObject = {}
    for name in _COUNTS:
        if random.random() < 0.93:
            value = goal if random.random() < 0.93 else random.choice((0, 1, 2, 4))
            status[name] = value
    if random.random() < 0.8:
        spec["replicas"] = goal
    conditions: JSONArray = [
        _condition(random) for _ in range(random.choice((0, 0, 1, 1, 2, 3)))
    ]
    # Without these a Deployment is never current.
    if random.random() < 0.6:
        conditions.append({"type": "Available", "status": "True"})
        reason = "NewReplicaSetAvailable"
        conditions.append({"type": "Progressing", "status": "True", "reason": reason})
    if conditions or random.random() < 0.3:
        status["conditions"] = conditions
    _of_kinds(random, spec, status)
    metadata: JSONObject = {"name": f"o{number}"}
    metadata["creationTimestamp"] = random.choice((_LONG_AGO, _IN_FUTURE))
    if random.random() < 0.6:
        metadata["generation"] = 2
    if random.random() < 0.6:
        status["observedGeneration"] = random.choice((2, 2, 2, 2, 2, 1, 3))
    if random.random() < 0.04:
        metadata["deletionTimestamp"] = _LONG_AGO
    obj: JSONObject = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    if random.random() < 0.95:
        obj["spec"] = spec
    if random.random() < 0.95:
        obj["status"] = status
    return obj


def _of_kinds(random: Random, spec: JSONObject, status: JSONObject) -> None:
    """Add what only some kinds have."""
    if random.random() < 0.7:
        status["phase"] = random.choice(
            ("Running", "Pending", "Succeeded", "Failed", "Bound", "Lost", "")
        )
    if random.random() < 0.5:
        reasons = ("CrashLoopBackOff", "CrashLoopBackOff", "ImagePullBackOff")
        containers: JSONArray = [
            {"name": name, "state": {"waiting": {"reason": random.choice(reasons)}}}
            for name in ("a", "b")[: random.choice((1, 2))]
        ]
        status["containerStatuses"] = containers
    if random.random() < 0.3:
        spec["progressDeadlineSeconds"] = random.choice((600, 2147483647))
    if random.random() < 0.2:
        type_ = random.choice(("OnDelete", "RollingUpdate"))
        strategy: JSONObject = {"type": type_}
        if random.random() < 0.5:
            strategy["rollingUpdate"] = {"partition": random.choice((0, 1, 3))}
        spec["updateStrategy"] = strategy
    for name in ("currentRevision", "updateRevision"):
        if random.random() < 0.5:
            status[name] = random.choice(("a", "a", "b"))
    if random.random() < 0.3:
        spec["type"] = random.choice(("LoadBalancer", "ClusterIP"))
    if random.random() < 0.5:
        spec["clusterIP"] = random.choice(("10.0.0.1", "None", ""))
    for name in ("completions", "parallelism"):
        if random.random() < 0.4:
            spec[name] = random.choice((1, 3))
    if random.random() < 0.6:
        status["startTime"] = _LONG_AGO


def objects(seed: int, count: int) -> Iterator[JSONObject]:
    """Yield the objects: some of a server, then generated ones."""
    _, cases = read(APPLIES)
    for case in cases[::10]:
        live = as_object(case["live"])
        yield live
    random = Random(seed)  # no secrets
    for number in range(count):
        yield generated(random, number)


def main() -> None:
    """Ask the Go program, and write its answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--objects", type=int, default=OBJECTS)
    parser.add_argument("--to", type=Path, default=FILE)
    options = parser.parse_args()
    made = [*objects(options.seed, options.objects)]
    asked = "".join(json.dumps(obj) + "\n" for obj in made)
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "oracle"
        subprocess.run(
            ["go", "build", "-o", program, "."],  # noqa: S607
            cwd=_GO_MODULE,
            check=True,
        )
        done = subprocess.run(
            [program], input=asked, capture_output=True, text=True, check=True
        )
    lines: list[JSON] = [
        {"object": obj, **json.loads(line)}
        for obj, line in zip(made, done.stdout.splitlines(), strict=True)
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    options.to.write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()
