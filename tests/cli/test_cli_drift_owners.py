"""``smp drift``: who must act, rules that expire, words and alerts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from junitparser import JUnitXml

from tests.support.command import Ran, run

SIDES = ("-f", "want.json", "--live", "live.json", "--jobs", "1")
RULES = """
version: 1
rules:
- reason: scaled by hand
  owner: shop-team
  ticket: OPS-7
  expires: {expires}
  paths: [data.scale]
owners:
- {{owner: platform}}
- {{owner: shop-team, namespaces: [shop*]}}
- {{label: team}}
"""


def config_map(name: str, namespace: str, **data: str) -> dict[str, Any]:
    labels = {"team": "blue"} if name == "labelled" else {}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a cluster in which five objects have drifted."""
    monkeypatch.chdir(tmp_path)
    names = {"a": "shop", "b": "shop-eu", "labelled": "shop", "c": "other"}
    want = [config_map(name, space, key="1") for name, space in names.items()]
    live = [config_map(name, space, key="2") for name, space in names.items()]
    want.append(config_map("scaled", "shop", scale="1"))
    live.append(config_map("scaled", "shop", scale="2"))
    for file, items in (("want.json", want), ("live.json", live)):
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        Path(file).write_text(json.dumps(listed))


def drift(*arguments: str, expires: str = "2999-12-31") -> Ran:
    Path("rules.yaml").write_text(RULES.format(expires=expires))
    return run("drift", *SIDES, "--rules", "rules.yaml", *arguments)


@pytest.mark.usefixtures("sides")
def test_what_is_found_has_its_owner_by_namespace_or_label() -> None:
    ran = drift("--format", "ndjson")
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    found = {row["name"]: row["owner"] for row in rows if "verdict" in row}
    assert found == {
        "a": "shop-team",
        "b": "shop-team",
        "labelled": "blue",
        "c": "platform",
    }
    summary = drift().stdout
    assert "by owner\n  shop-team: 2 drift\n  blue: 1 drift\n" in summary


@pytest.mark.usefixtures("sides")
def test_a_rule_that_has_expired_is_a_finding() -> None:
    ran = drift("--format", "ndjson", "--state", "state.db")
    assert ("scaled" in ran.stdout, "expired" in ran.stdout) == (False, False)
    options = ("--state", "state.db")
    old = "2020-01-31"
    text = (
        "rules.yaml:4: the rule expired after 2020-01-31:"
        " scaled by hand, shop-team, OPS-7"
    )
    # The state knows both answers apart.
    ran = drift("--format", "ndjson", *options, expires=old)
    assert '"name":"scaled"' in ran.stdout
    assert json.loads(ran.stdout.splitlines()[-1]) == {
        "rule": "rules.yaml:4",
        "expired": old,
        "owner": "shop-team",
        "ticket": "OPS-7",
        "reason": "scaled by hand",
    }
    assert text in drift(expires=old).stdout
    ran = drift("--format", "junit", expires=old)
    suites = [*JUnitXml.fromstring(ran.stdout_bytes)]
    [suite] = [each for each in suites if each.name == "Rule rules.yaml:4"]
    assert (suite.tests, suite.failures, suite.errors) == (1, 1, 0)
    Path("out.parquet").write_bytes(
        drift("--format", "parquet", expires=old).stdout_bytes
    )
    metadata = pq.read_metadata("out.parquet").metadata
    assert json.loads(metadata[b"smp.expired_rules"])[0]["ticket"] == "OPS-7"
    # Nothing else is wrong.
    Path("live.json").write_text(Path("want.json").read_text())
    assert (drift().exit_code, drift(expires=old).exit_code) == (0, 1)
    warning = "warning: scaled by hand: the rule expired after 2020-01-31"
    ran = run("diff", "want.json", "want.json", "--rules", "rules.yaml", "-o", "patch")
    assert warning in ran.stderr


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ("rules: [{paths: [a], expires: soon}]", "expected a day, not "),
        ("rules: []\nowners: [{namespaces: [a]}]", "expected either owner or label"),
        ("rules: []\nowners: [{owner: a, label: b}]", "expected either owner or label"),
        ("rules: []\nowners: [{owner: ''}]", "expected a text that is not empty"),
        ("rules: []\nowners: [{owner: a, name: b}]", "unknown member 'name'"),
    ],
)
@pytest.mark.usefixtures("sides")
def test_owners_and_days_that_cannot_be_read_are_errors_with_their_place(
    rules: str, problem: str
) -> None:
    Path("rules.yaml").write_text(f"version: 1\n{rules}\n")
    ran = run("drift", *SIDES, "--rules", "rules.yaml")
    assert (ran.exit_code, problem in ran.stderr) == (2, True)
    assert "rules.yaml" in ran.stderr


def families_of(text: str) -> dict[str, list[tuple[dict[str, str], int]]]:
    """Read the text format of Prometheus (Exposition formats, Text format details)."""
    families: dict[str, list[tuple[dict[str, str], int]]] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            families[line.split()[2]] = []
        elif not line.startswith("#"):
            sample = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\d+)", line)
            assert sample, line
            labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample[2] or "")
            families[sample[1]].append(
                (
                    {name: json.loads(f'"{value}"') for name, value in labels},
                    int(sample[3]),
                )
            )
    return families


@pytest.mark.usefixtures("sides")
def test_the_alerts_are_a_text_that_prometheus_reads() -> None:
    drift("--state", "state.db", "--metrics", "drift.prom", "--cluster", 'e"u\\1')
    drift("--state", "state.db", "--metrics", "drift.prom", "--cluster", 'e"u\\1')
    text = Path("drift.prom").read_text()
    families = families_of(text)
    cluster = {"cluster": 'e"u\\1', "verdict": "drift"}
    assert families["smp_drift_objects"] == [
        ({**cluster, "owner": "blue"}, 1),
        ({**cluster, "owner": "platform"}, 1),
        ({**cluster, "owner": "shop-team"}, 2),
    ]
    assert families["smp_drift_cluster_complete"] == [({"cluster": 'e"u\\1'}, 1)]
    assert ({"change": "still"}, 4) in families["smp_drift_changes"]
    assert families["smp_drift_expired_rules"] == [({}, 0)]
    assert len(families["smp_drift_oldest_timestamp_seconds"]) == 1
    assert not list(Path().glob(".smp-*"))
    ran = drift("--metrics", "nowhere/drift.prom")
    assert (ran.exit_code, "cannot write the file" in ran.stderr) == (2, True)


@pytest.mark.usefixtures("sides")
def test_the_page_begins_with_what_to_do_in_words() -> None:
    live = json.loads(Path("live.json").read_text())
    del live["items"][1]
    Path("live.json").write_text(json.dumps(live))
    page = drift("--format", "html", "--cluster", "eu-1", expires="2020-01-31").stdout
    sentence = "5 of 5 objects are not what they should be, in 1 of 1 clusters."
    assert sentence in page
    assert "the rule expired after 2020-01-31" in page
    headings = [page.index(f"<h2>{name}</h2>") for name in ("What first", "Clusters")]
    assert headings == sorted(headings)
    # What is missing comes before what the next apply mends.
    missing = page.index("it is not there")
    assert missing < page.index("it is not what its manifest says: ")
