"""False alarms and misses: what a real server stored, and what is known to be drift."""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from typing import Any

import pyarrow as pa
import pytest

import smp
from smp import fleet
from smp._values.last_applied import LAST_APPLIED
from smp.comparison import read_rules
from smp.fleet._rows import Rows
from smp.schema.catalog import Catalog
from tests.support.paths import DATA
from tests.support.planted_drift import PLANTS, Pair, planted_pairs, pod_spec

PAIRS: list[Pair] = [
    (line["desired"], line["live"])
    for line in map(
        json.loads, (DATA / "fleet" / "stored.jsonl").read_text().splitlines()
    )
]
CATALOG = smp.kubernetes() | Catalog.from_crd(
    [manifest for manifest, _ in PAIRS if manifest["kind"].startswith("CustomResource")]
)


def rows(pairs: list[Pair]) -> list[dict[str, Any]]:
    """Compare pairs."""
    identity = dict.fromkeys(fleet.INPUT_COLUMNS[:6], "")
    batch = pa.RecordBatch.from_pylist(
        [
            {**identity, "desired": json.dumps(manifest), "live": json.dumps(live)}
            for manifest, live in pairs
        ]
    )
    found: list[dict[str, Any]] = fleet.compare(batch, catalog=CATALOG).to_pylist()
    return found


RULES = {
    "none": "[]",
    "paths": "[{paths: [spec.replicas]}]",
    "names": "[{names: ['w*'], paths: ['metadata.labels']}]",
    "namespaces": "[{namespaces: [shop], kinds: [Service], paths: [spec.ports]}]",
    "labels": "[{selector: cluster=eu-1, paths: ['data', 'spec']}]",
    "managers": "[{managers: ['kubectl-e*'], paths: ['spec']}]",
    "normalizers": "[{paths: [data], normalizers: {quantity: true}}]",
}


def of_cluster(obj: dict[str, Any], cluster: str) -> dict[str, Any]:
    """Return an object with the name of its cluster in labels and variables."""
    obj = deepcopy(obj)
    metadata = obj["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), "cluster": cluster}
    for container in pod_spec(obj).get("containers", []):
        variable = {"name": "CLUSTER", "value": f"{cluster}.example"}
        container["env"] = [*container.get("env", []), variable]
    annotations = metadata.get("annotations") or {}
    if LAST_APPLIED in annotations:
        applied = of_cluster(json.loads(annotations[LAST_APPLIED]), cluster)
        annotations[LAST_APPLIED] = json.dumps(applied)
    return obj


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_what_is_remembered_is_what_would_be_found_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = read_rules(f"version: 1\nrules: {RULES[name]}")
    sides = []
    for number, (manifest, live, _) in enumerate(
        planted_pairs(PAIRS, 30, 3, drifted=0.4)
    ):
        cluster = ("eu-1", "us-22", "web")[number % 3]
        if number % 4 == 0:
            # Somebody else has written, so that a rule trusts nobody, or somebody.
            entries = live["metadata"]["managedFields"]
            entries[0]["manager"] = f"kubectl-{'edit' if number % 8 else 'patch'}"
        texts = [json.dumps(of_cluster(obj, cluster)) for obj in (manifest, live)]
        # A value of one cluster that has the name of another.
        other = texts[1].replace(f"{cluster}.example", "us-22.example")
        sides.append((texts[0].encode(), texts[1].encode(), cluster))
        sides.append((texts[0].encode(), other.encode(), cluster))
    judges = Rows(CATALOG, rules)
    remembered = [
        judges.outcome(manifest, live, cluster=cluster)
        for manifest, live, cluster in sides * 2
    ]
    monkeypatch.setattr("smp.fleet._rows.content_of", lambda *_: None)
    judges = Rows(CATALOG, rules)
    found = [judges.outcome(manifest, live) for manifest, live, _ in sides]
    assert remembered == found * 2


def live_of(kind: str) -> Pair:
    """Return a recorded pair of a kind, to be changed."""
    return deepcopy(next(pair for pair in PAIRS if pair[0]["kind"] == kind))


def test_what_a_server_stored_of_a_manifest_is_no_drift() -> None:
    found = {
        f"{manifest['kind']} {manifest['metadata']['name']}": row
        for (manifest, _), row in zip(PAIRS, rows(PAIRS), strict=True)
        if row["verdict"] != "same"
    }
    assert found == {}


@pytest.mark.slow
def test_all_that_was_planted_is_found_and_nothing_else() -> None:
    planted = [*planted_pairs(PAIRS, 300, 1, drifted=0.3)]
    answers = rows([(manifest, live) for manifest, live, _ in planted])
    wrong = [
        (name, manifest["kind"], row["verdict"], row["paths"])
        for (manifest, _, name), row in zip(planted, answers, strict=True)
        if (row["verdict"] in {"drift", "hazard"}) != bool(name)
    ]
    assert wrong == []
    kinds = Counter(name for _, _, name in planted)
    assert not PLANTS.keys() - kinds.keys()


def test_an_apply_heals_only_what_a_server_would_store() -> None:
    manifest, changed = live_of("Deployment")
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "b:1"
    other = deepcopy(manifest)
    other["metadata"]["uid"] = "5a3c2f7e-0000-4000-8000-000000000000"
    pod, immutable = live_of("Pod")
    immutable["spec"]["containers"][0]["command"] = ["planted"]
    pod["spec"]["containers"][0]["command"] = ["run"]
    selector, moved = live_of("Deployment")
    for labels in (
        selector["spec"]["selector"]["matchLabels"],
        selector["spec"]["template"]["metadata"]["labels"],
    ):
        labels["app"] = "other"
    # What a server answers to the patch: 200, and three times 422 (kube-apiserver
    # 1.36: field is immutable; pod updates may not change fields other than ...).
    cases = [
        (manifest, changed, True),
        (other, changed, False),
        (pod, immutable, False),
        (selector, moved, False),
    ]
    found = rows([(ours, theirs) for ours, theirs, _ in cases])
    assert [row["heals"] for row in found] == [heals for *_, heals in cases]
