"""``smp drift``: sources, pairing, formats, state, history, interrupts."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from junitparser import JUnitXml

import smp
from benchmarks.fleets import Rates, pairs
from smp._values.values import JSONObject
from smp.cli._drift.comparing import Found
from smp.cli._drift.history import path_of
from smp.cli._drift.pairs import Parts
from smp.cli._workers import WorkerPool
from smp.cluster import Cluster
from smp.custom_resources import _expressions
from smp.documents import dump_yaml
from smp.testing import KubernetesApi
from tests.support.command import Ran, run
from tests.support.paths import ROOT
from tests.support.server_definitions import COUNTED_SPEC, definition_of

WANT, LIVE = "want.ndjson", "live.ndjson"
EMPTY_LIST: JSONObject = {"apiVersion": "v1", "kind": "List", "items": []}


def config_map(name: str, value: str, **metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": {"key": value},
    }


def drift(*arguments: str, stdin: str | None = None) -> Ran:
    return run("drift", "--jobs", "1", *arguments, stdin=stdin)


def rows_of(ran: Ran) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    return [row for row in found if "verdict" in row]


def without_history(ran: Ran) -> list[dict[str, Any]]:
    """Return the rows without what a state says of them."""
    rows = rows_of(ran)
    for row in rows:
        row.pop("change", None)
        row.pop("since", None)
    return rows


def clusters_of(ran: Ran) -> dict[str, dict[str, Any]]:
    """Return the rows of the clusters, which come last."""
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    there = found[len(rows_of(ran)) :]
    assert not [row for row in there if "verdict" in row]
    return {row["cluster"]: row for row in there}


def verdicts(ran: Ran) -> dict[str, str]:
    return {row["name"]: row["verdict"] for row in rows_of(ran)}


@pytest.fixture(scope="module")
def fleet() -> dict[str, str]:
    """Return the two sides of a small fleet as NDJSON."""
    sides: dict[str, list[str]] = {WANT: [], LIVE: []}
    rates = Rates(drifted=100, missing=60, extra=60)
    for pair in pairs(60, rates=rates):
        for name, text in ((WANT, pair.desired), (LIVE, pair.live)):
            if text is not None:
                value = {"cluster": pair.cluster, "object": json.loads(text)}
                sides[name].append(json.dumps(value))
        # Without any line of a cluster nothing is known of it.
        answer = {"cluster": pair.cluster, "object": EMPTY_LIST}
        sides[LIVE].append(json.dumps(answer))
    return {name: "".join(f"{line}\n" for line in sides[name]) for name in sides}


@pytest.fixture
def files(fleet: dict[str, str]) -> tuple[str, ...]:
    """Write both sides, and return the options that name them."""
    for name, text in fleet.items():
        Path(name).write_text(text)
    return "-f", WANT, "--live", LIVE


def test_each_object_has_a_verdict(files: tuple[str, ...]) -> None:
    ran = drift(*files, "--format", "ndjson", "--all")
    rows = rows_of(ran)
    assert ran.exit_code == 1
    assert {row["verdict"] for row in rows} >= {"same", "drift", "missing", "extra"}
    keys = [(row["cluster"], row["namespace"], row["group"]) for row in rows]
    assert keys == sorted(keys)
    changed = rows_of(drift(*files, "--format", "ndjson"))
    assert changed == [row for row in rows if row["verdict"] != "same"]
    summary = drift(*files).stdout
    assert f"\n\n{len(rows)} objects: " in summary
    for heading in ("by cluster", "by namespace", "by kind", "by cause"):
        assert heading in summary


def test_a_summary_names_the_first_objects() -> None:
    changed = config_map("web", "2", namespace="shop")
    fields: JSONObject = {"f:data": {"f:key": {}}}
    changed["metadata"]["managedFields"] = [
        {
            "manager": "kubectl-edit",
            "operation": "Update",
            "time": "2026-01-02T03:04:05Z",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
    ]
    many = {**config_map("z", "1"), "data": {str(number): "1" for number in range(7)}}
    left = config_map("left", "1", namespace="zone")
    wanted = [config_map("web", "1", namespace="shop"), many]
    wanted += [config_map(f"new-{number:02}", "1") for number in range(25)]
    live = [changed, left, {**many, "data": {}}]
    Path("want.yaml").write_text(dump_yaml([*wanted]))
    Path("live.yaml").write_text(dump_yaml([*live]))
    sides = ("-f", "want.yaml", "--live", "live.yaml")
    ran = drift(*sides)
    named, _, totals = ran.stdout.partition("\n\n")
    lines = named.splitlines()
    assert lines[:2] == ["v1 ConfigMap new-00: missing", "v1 ConfigMap new-01: missing"]
    assert lines[20:] == ["... 8 more, which --format ndjson has"]
    assert totals.startswith("28 objects: 25 missing, 2 drift, 1 extra\n")
    Path("want.yaml").write_text(dump_yaml([*wanted[:2]]))
    named = drift(*sides).stdout.partition("\n\n")[0]
    assert named.splitlines() == [
        "v1 ConfigMap z: drift",
        *(f"  data.{number}  set" for number in range(5)),
        "  ... 2 more paths",
        "v1 ConfigMap shop/web: drift",
        "  data.key  set  kubectl-edit Update 2026-01-02T03:04:05Z",
        "v1 ConfigMap zone/left: extra",
    ]


def test_what_was_added_by_hand_is_in_all_formats() -> None:
    live = config_map("a", "1")
    live["data"]["more"] = "2"
    live["metadata"]["managedFields"] = [
        {
            "manager": "kubectl-edit",
            "operation": "Update",
            "time": "2026-01-02T03:04:05Z",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:more": {}}},
        }
    ]
    Path("want.json").write_text(json.dumps(config_map("a", "1")))
    Path("live.json").write_text(json.dumps(live))
    sides = ("-f", "want.json", "--live", "live.json", "--state", "state.db")
    assert drift(*sides, "--format", "ndjson").exit_code == 0
    # The state knows both answers apart.
    ran = drift(*sides, "--format", "ndjson", "--additions")
    assert (ran.exit_code, verdicts(ran)) == (1, {"a": "extra-fields"})
    assert drift(*sides[:4], "--additions").stdout.startswith(
        "v1 ConfigMap a: extra-fields\n"
        "  data.more  extra-fields  kubectl-edit Update 2026-01-02T03:04:05Z\n"
    )
    for name in ("html", "junit", "sarif"):
        ran = drift(*sides, "--additions", "--format", name)
        assert "added by hand" in ran.stdout, name


def test_nothing_is_wrong_where_all_is_the_same() -> None:
    Path("a.json").write_text(json.dumps(config_map("a", "1")))
    ran = drift("-f", "a.json", "--live", "a.json")
    assert (ran.exit_code, ran.stdout) == (0, "1 object: 1 same\n")
    assert "read 1 desired, 1 live; 0 skipped" in ran.stderr


def test_sources_of_all_kinds_give_the_same_rows(
    files: tuple[str, ...], fleet: dict[str, str]
) -> None:
    def without_places(ran: Ran) -> list[dict[str, Any]]:
        found = rows_of(ran)
        for row in found:
            row.pop("desired_place", None)
            row.pop("live_place", None)
        return found

    expected = without_places(drift(*files, "--format", "ndjson"))
    lines = [json.loads(line) for line in fleet[WANT].splitlines()]
    # A folder of YAML files for each cluster, and of lists as kubectl dumps them.
    by_cluster: dict[str, list[JSONObject]] = {}
    for line in lines:
        by_cluster.setdefault(line["cluster"], []).append(line["object"])
    for cluster, objects in by_cluster.items():
        Path("yaml", cluster).mkdir(parents=True)
        Path("yaml", cluster, "all.yaml").write_text(dump_yaml([*objects]))
        Path("lists", cluster).mkdir(parents=True)
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        Path("lists", cluster, "all.json").write_text(json.dumps(listed, indent=4))
    table = [{**line, "object": json.dumps(line["object"])} for line in lines]
    pq.write_table(pa.Table.from_pylist(table), "want.parquet")
    for folder in ("yaml", "lists"):
        ran = drift("-f", folder, "--by-folder", "--live", LIVE, "--format", "ndjson")
        assert without_places(ran) == expected, folder
    ran = drift("-f", "want.parquet", "--live", LIVE, "--format", "ndjson")
    assert without_places(ran) == expected
    ran = drift("-f", "-", "--live", LIVE, "--format", "ndjson", stdin=fleet[WANT])
    assert without_places(ran) == expected


def test_standard_input_may_be_documents() -> None:
    Path("a.json").write_text(json.dumps(config_map("a", "1")))
    for text in (
        dump_yaml([config_map("a", "2")]),
        json.dumps(config_map("a", "2"), indent=1),
    ):
        ran = drift("-f", "-", "--live", "a.json", "--format", "ndjson", stdin=text)
        assert rows_of(ran)[0]["paths"] == ["data.key"]


def test_a_row_of_parquet_is_known_by_its_columns() -> None:
    row = {
        "cluster": "eu",
        "group": "",
        "version": "v1",
        "kind": "ConfigMap",
        "namespace": "shop",
        "name": "a",
    }
    live = [
        {**row, "live": b"{broken"},
        {**row, "name": "b", "live": json.dumps(config_map("b", "1")).encode()},
        {**row, "name": "c", "live": None},
        {**row, "name": "", "live": b"{}"},
    ]
    pq.write_table(pa.Table.from_pylist(live), "live.parquet")
    manifests = [config_map(name, "1", namespace="shop") for name in "ab"]
    Path("a.yaml").write_text(dump_yaml([*manifests]))
    options = ("--cluster", "eu", "-f", "a.yaml", "--live", "live.parquet")
    ran = drift(*options, "--format", "ndjson", "--all")
    assert verdicts(ran) == {"a": "unreadable", "b": "drift"}
    assert ran.exit_code == 3
    assert "live.parquet:3: there is no object in the row" in ran.stderr
    assert (
        "not a Kubernetes object: no apiVersion, no kind\n  file:   live.parquet:4"
        in (ran.stderr)
    )
    pq.write_table(pa.table({"a": [1]}), "other.parquet")
    ran = drift("-f", "a.yaml", "--live", "other.parquet")
    assert (ran.exit_code, "one column of objects" in ran.stderr) == (2, True)
    Path("no.parquet").write_text("nothing")
    assert drift("-f", "a.yaml", "--live", "no.parquet").exit_code == 3


def test_what_takes_no_part_is_named_and_counted() -> None:
    Path("want").mkdir()
    named = dump_yaml([config_map("a", "1")])
    chart = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    generated = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}\n"
    texts = (named, "a: 1\n", chart, generated, "apiVersion: [\n", named)
    Path("want", "a.yaml").write_text("---\n".join(texts))
    Path("live.ndjson").write_text(f"{json.dumps(config_map('a', '1'))}\n{{broken\n\n")
    ran = drift("-f", "want", "--live", "live.ndjson", "--format", "ndjson", "--all")
    assert verdicts(ran) == {"a": "same"}
    assert ran.exit_code == 3
    for reason in (
        "not a Kubernetes object",
        "another tool reads it",
        "it has no name",
        "the same object comes again; the last one counts",
    ):
        assert reason in ran.stderr
    assert "live.ndjson:2" in ran.stderr
    assert "read 2 desired, 1 live; 4 skipped, 2 could not be read" in ran.stderr


def test_a_manifest_may_leave_out_its_namespace() -> None:
    Path("want.yaml").write_text(
        dump_yaml([config_map("a", "1"), config_map("b", "1"), config_map("c", "1")])
    )
    live = [
        config_map("a", "1", namespace="one"),
        config_map("b", "1", namespace="one"),
        config_map("b", "1", namespace="two"),
    ]
    Path("live.yaml").write_text(dump_yaml([*live]))
    ran = drift("-f", "want.yaml", "--live", "live.yaml", "--format", "ndjson", "--all")
    found = [(row["namespace"], row["name"], row["verdict"]) for row in rows_of(ran)]
    assert found == [
        ("", "c", "missing"),
        ("one", "a", "same"),
        ("one", "b", "extra"),
        ("two", "b", "extra"),
    ]
    assert "several objects match without a namespace" in ran.stderr


def test_a_join_on_disk_finds_the_same_pairs(
    files: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = rows_of(drift(*files, "--format", "ndjson"))
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    # A part that is too large is divided, and those of it are in turn.
    for largest in (100_000, 10_000, 100):
        monkeypatch.setattr("smp.cli.drift.Parts", partial(Parts, 10_000, largest))
        found = rows_of(drift(*files, "--format", "ndjson"))
        assert sorted(found, key=str) == sorted(expected, key=str)
    # Nothing is left of the files.
    assert [*folder.iterdir()] == []


def test_any_number_of_processes_gives_the_same_rows(
    files: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = drift(*files, "--format", "ndjson").stdout
    monkeypatch.setattr("smp.cli._drift.sides.LARGE", 1)
    monkeypatch.setattr("smp.cli._drift.pairs._SHARE", 20_000)
    # Each process reads some lines of each file.
    monkeypatch.setattr("smp.cli._drift.reading._SHARE", 20_000)
    assert run("drift", *files, "--format", "ndjson", "--jobs", "2").stdout == expected


def test_a_state_has_what_did_not_change(files: tuple[str, ...]) -> None:
    options = (*files, "--state", "state.db", "--format", "ndjson")
    first = drift(*options)
    again = drift(*options)
    assert without_history(again) == without_history(first)
    assert "60 as before" in again.stderr
    text = Path(LIVE).read_text()
    Path(LIVE).write_text(text.replace('"kubectl-edit"', '"another"', 1))
    changed = drift(*options)
    assert "59 as before" in changed.stderr
    assert without_history(changed) != without_history(first)
    # What the answers depend on is part of what they are known by.
    assert "as before" not in drift(*options, "--show-secrets").stderr
    assert "as before" not in drift(*options, "--kubernetes", "1.36").stderr


def test_a_file_that_is_no_state_is_an_error(files: tuple[str, ...]) -> None:
    Path("state.db").write_text("no database" * 100)
    ran = drift(*files, "--state", "state.db")
    assert ran.exit_code == 3
    assert "cannot use the file of the state" in ran.stderr
    # It does not end the run.
    assert ran.stdout == drift(*files).stdout


def test_rules_set_aside_differences(files: tuple[str, ...]) -> None:
    Path("rules.yaml").write_text(
        "version: 1\nrules:\n- reason: all\n  paths: [metadata, spec, data]\n"
    )
    ran = drift(*files, "--rules", "rules.yaml", "--format", "ndjson")
    assert {*verdicts(ran).values()} <= {"missing", "extra"}


def test_reports_are_complete(files: tuple[str, ...]) -> None:
    rows = rows_of(drift(*files, "--format", "ndjson"))
    suites = JUnitXml.fromstring(drift(*files, "--format", "junit").stdout_bytes)
    assert len([*suites]) == len(rows)
    # What a CI server counts: an object that is not as it should be has failed.
    counts = [(s.tests, s.failures, s.errors, s.skipped) for s in suites]
    assert counts == [(1, 1, 0, 0) if "verdict" in row else None for row in rows]
    failed = [(case.name, case.result[0].type) for suite in suites for case in suite]
    assert [type_ for _, type_ in failed] == [row["verdict"] for row in rows]
    sarif = json.loads(drift(*files, "--format", "sarif").stdout)
    [one] = sarif["runs"]
    paths = sum(len(row.get("paths", [])) or 1 for row in rows)
    assert len(one["results"]) == paths
    page = drift(*files, "--format", "html").stdout
    assert all(row["name"] in page for row in rows)
    table = pq.read_table(BytesIO(drift(*files, "--format", "parquet").stdout_bytes))
    assert table.column("name").to_pylist() == [row["name"] for row in rows]
    assert table.column("paths").to_pylist() == [row.get("paths", []) for row in rows]


def test_sides_that_cannot_be_read_are_errors() -> None:
    Path("a.json").write_text(json.dumps(config_map("a", "1")))
    for options, message in (
        (("--live", "a.json"), "give manifests"),
        (("-f", "cluster", "--live", "a.json"), "are what a cluster should have"),
        (("-f", "-", "--live", "-"), "only one of"),
        (("-f", "missing", "--live", "a.json"), "cannot read the file"),
        (("-f", "a.json", "--live", "a.json", "--git", "/"), "git: "),
        (("-f", "a.json", "--live", "a.json", "--extra"), "'--live cluster'"),
    ):
        ran = drift(*options)
        assert (ran.exit_code, message in ran.stderr) == (2, True), ran.stderr


def git(*arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(
        ["git", *identity, *arguments],  # noqa: S607  # as installed
        check=True,
        capture_output=True,
        env={**os.environ, "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z"},
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_each_path_has_the_commit_that_last_set_it() -> None:
    Path("repo").mkdir()
    git("init", "-q", "repo")
    file = Path("repo", "a.yaml")
    manifest = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  one: '1'\n"
    )
    file.write_text(manifest)
    git("-C", "repo", "add", ".")
    git("-C", "repo", "commit", "-qm", "Add one")
    file.write_text(f"{manifest}  two: '2'\n")
    git("-C", "repo", "commit", "-qam", "Add two")
    file.write_text(f"{manifest}  two: '2'\n  three: '3'\n")
    Path("live.json").write_text(json.dumps(config_map("a", "1")))
    sides = ("-f", "repo/a.yaml", "--live", "live.json")
    [row] = rows_of(drift(*sides, "--git", "repo", "--format", "ndjson"))
    commits = dict(zip(row["paths"], row["commits"], strict=True))
    assert commits["data.one"].endswith("2026-01-02T03:04:05Z Ada: Add one")
    assert commits["data.two"].endswith("2026-01-02T03:04:05Z Ada: Add two")
    assert commits["data.three"] == "not committed yet"
    # A file that is in no repository has no commits.
    shutil.copy(file, "outside.yaml")
    sides = ("-f", "outside.yaml", "--live", "live.json")
    [row] = rows_of(drift(*sides, "--git", "repo", "--format", "ndjson"))
    assert {*row["commits"]} == {""}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_paths_of_lines_have_commits() -> None:
    Path("repo").mkdir()
    git("init", "-q", "repo")
    file = Path("repo", "all.ndjson")
    lines = [
        json.dumps(config_map("long", "0" * 200)),
        json.dumps(config_map("a", "1")),
        json.dumps({"cluster": "east", "object": config_map("b", "1")}),
    ]
    for number, line in enumerate(lines):
        with file.open("a") as all_lines:
            all_lines.write(f"{line}\n")
        git("-C", "repo", "add", ".")
        git("-C", "repo", "commit", "-qm", f"Add {number}")
    live = [
        config_map("a", "2"),
        {"cluster": "east", "object": config_map("b", "2")},
    ]
    Path("live.ndjson").write_text("".join(f"{json.dumps(each)}\n" for each in live))
    sides = ("-f", str(file), "--live", "live.ndjson")
    rows = rows_of(drift(*sides, "--git", "repo", "--format", "ndjson"))
    commits = {row["name"]: row.get("commits", []) for row in rows}
    [of_a], [of_b] = commits["a"], commits["b"]
    assert of_a.endswith("2026-01-02T03:04:05Z Ada: Add 1")
    assert of_b.endswith("2026-01-02T03:04:05Z Ada: Add 2")


def test_a_path_is_read_from_its_text() -> None:
    value: JSONObject = {"spec": {"ports": [{"port": 1}, {"port": 80}]}}
    assert path_of("spec.ports[port=80]", value) == smp.Path(("spec", "ports", 1))
    for text in (
        "spec.ports[port=80].name",
        "metadata.annotations[example.com/a=b]",
        "metadata.finalizers[=x]",
    ):
        assert str(path_of(text)) == text


def test_live_objects_may_be_those_of_a_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with KubernetesApi() as api:
        cluster = Cluster(api.client("kubernetes"))
        cluster.apply([config_map("a", "1"), config_map("b", "1")]).raise_for_errors()
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig))
        manifests = [config_map("a", "1"), config_map("b", "2"), config_map("c", "1")]
        odd: JSONObject = {
            "apiVersion": "x.io/v1",
            "kind": "Odd",
            "metadata": {"name": "odd"},
        }
        Path("want.yaml").write_text(dump_yaml([*manifests, odd]))
        ran = drift(
            "-f", "want.yaml", "--live", "cluster", "--format", "ndjson", "--all"
        )
    # It is not known whether one is missing that cannot be asked for.
    assert verdicts(ran) == {
        "a": "same",
        "b": "drift",
        "c": "missing",
        "odd": "unreadable",
    }
    [cluster_row] = clusters_of(ran).values()
    assert cluster_row == {
        "cluster": "",
        "expected": 4,
        "read": 2,
        "unreadable": 1,
        "complete": False,
        "reasons": [],
    }
    assert ran.exit_code == 3
    assert "Odd" in ran.stderr
    assert "read 4 desired, 2 live; 0 skipped, 1 could not be read" in ran.stderr


def test_extra_objects_of_a_cluster_are_found_where_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner: JSONObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "a",
        "uid": "1",
        "controller": True,
    }
    made = config_map("made", "1")
    made["metadata"]["ownerReferences"] = [owner]
    with KubernetesApi() as api:
        cluster = Cluster(api.client("kubernetes"))
        names: JSONObject = {"apiVersion": "v1", "kind": "Namespace"}
        spaces = [{**names, "metadata": {"name": name}} for name in ("one", "two")]
        cluster.apply(spaces).raise_for_errors()
        there = [
            config_map("a", "1"),
            config_map("left", "1"),
            config_map("b", "1", namespace="one"),
            config_map("b", "1", namespace="two"),
            made,
        ]
        cluster.apply(there).raise_for_errors()
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig))
        manifests = [
            config_map("a", "1"),
            config_map("c", "1", namespace="one"),
            {**names, "metadata": {"name": "one"}},
        ]
        Path("want.yaml").write_text(dump_yaml([*manifests]))
        sides = ("-f", "want.yaml", "--live", "cluster")
        without = drift(*sides, "--format", "ndjson", "--all")
        ran = drift(*sides, "--extra", "--format", "ndjson", "--all")
    assert verdicts(without) == {"a": "same", "c": "missing", "one": "same"}
    found = {
        (row["kind"], row["namespace"], row["name"]): row["verdict"]
        for row in rows_of(ran)
        if row["name"] != "kube-root-ca.crt"
    }
    assert found.pop(("Namespace", "", "two")) == "extra"
    # Those of a namespace that no manifest names are not looked for.
    assert {key: value for key, value in found.items() if key[0] == "ConfigMap"} == {
        ("ConfigMap", "default", "a"): "same",
        ("ConfigMap", "default", "left"): "extra",
        ("ConfigMap", "one", "b"): "extra",
        ("ConfigMap", "one", "c"): "missing",
    }
    assert "v1 ConfigMap default/made: a controller made it" in ran.stderr


def interrupted(*options: str) -> tuple[int, bytes]:
    """Interrupt a run that reads standard input, and return how it ended."""
    line = json.dumps(config_map("a", "1"))
    Path("want.ndjson").write_text(f"{line}\n")
    arguments = ("-f", "want.ndjson", "--live", "-", *options)
    process = subprocess.Popen(
        [sys.executable, "-m", "smp", "drift", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdin is not None
    # More than a pipe holds, so the process reads when all is written.
    process.stdin.write(f"{line}\n".encode() * 20_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(f"{line}\n".encode() * 20_000)
    return process.returncode, out


def test_an_interrupt_leaves_a_complete_file() -> None:
    code, out = interrupted("--format", "parquet")
    assert code == -signal.SIGINT
    assert pq.read_table(BytesIO(out)).num_rows == 0


class Requested:
    """An interrupt that comes when the first rows were found."""

    is_requested = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Leave the process to the test."""


@pytest.mark.parametrize("format_", ["ndjson", "parquet", "html", "junit", "sarif", ""])
def test_an_interrupt_after_some_rows_leaves_a_complete_output(
    files: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    requested = Requested()

    unpatched = WorkerPool.results

    def found(*arguments: Any) -> Iterator[Found]:
        for some in unpatched(*arguments):
            requested.is_requested = True
            yield some

    monkeypatch.setattr("smp.cli._drift.pairs._SHARE", 50_000)
    monkeypatch.setattr("smp.cli.drift.Interruption", lambda: requested)
    monkeypatch.setattr(WorkerPool, "results", found)
    broken = Path(LIVE).read_text() + "{broken\n"
    Path(LIVE).write_text(broken)
    ran = drift(*files, *(("--format", format_) if format_ else ()), "--all")
    [line] = re.findall(r"interrupted: .*", ran.stderr)
    total = re.search(r"(\d+) objects?: ", line)
    left = re.search(r"; (\d+) of the objects that were read were not", line)
    assert total is not None
    assert left is not None
    count = int(total[1])
    assert 0 < count < 60
    # All that was read is counted, and what could not be read is named.
    sides = re.search(r"read (\d+) desired, (\d+) live; 0 skipped, 1 could", ran.stderr)
    assert sides is not None
    # Behind the broken line may be any object.
    assert "missing" not in line
    alone = re.findall(r"(\d+) (?:unreadable|extra)", line)
    compared = 2 * count - sum(map(int, alone))
    assert int(sides[1]) + int(sides[2]) == compared + int(left[1])
    assert f"{LIVE}:" in ran.stderr
    if format_ == "ndjson":
        assert len(rows_of(ran)) == count
    elif format_ == "parquet":
        assert pq.read_table(BytesIO(ran.stdout_bytes)).num_rows == count
    elif format_ == "junit":
        suites = JUnitXml.fromstring(ran.stdout_bytes)
        names = [case.name for suite in suites for case in suite]
        clusters = [name for name in names if name.startswith("Cluster ")]
        assert clusters
        assert len(names) == count + len(clusters)
    elif format_ == "sarif":
        assert json.loads(ran.stdout)["runs"]
    elif format_ == "html":
        assert ran.stdout.count("<article ") > count
        assert ran.stdout.endswith("</body>\n</html>\n")
    else:
        assert f"\n\n{count} objects: " in ran.stdout


def test_a_run_that_was_killed_goes_on_with_the_same_output() -> None:
    rates = Rates(drifted=20, missing=20, extra=20, identical=900)
    with Path(WANT).open("wb") as wanted, Path(LIVE).open("wb") as there:
        for pair in pairs(500, rates=rates):
            for file, text in ((wanted, pair.desired), (there, pair.live)):
                if text is not None:
                    file.write(text + b"\n")
    options = ("-f", WANT, "--live", LIVE, "--format", "ndjson", "--all")
    with_state = (*options, "--state", "state.db")
    process = subprocess.Popen(
        [sys.executable, "-m", "smp", "drift", "--jobs", "1", *with_state],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    # The rows do not fit into the pipe, so the process waits among them.
    assert process.stdout.readline()
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    resumed = drift(*with_state)
    kept = re.search(r"; (\d+) as before", resumed.stderr)
    assert kept is not None
    assert 0 < int(kept[1]) < 500
    assert without_history(resumed) == rows_of(drift(*options))


def test_a_large_fleet_is_compared_where_the_system_tells_no_affinity(
    files: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS and on Windows."""
    monkeypatch.setattr("smp.cli._drift.sides.LARGE", 0)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    ran = run("drift", *files, "--format", "ndjson")
    assert (ran.exit_code, ran.stdout) == (
        1,
        drift(*files, "--format", "ndjson").stdout,
    )


def order(name: str, count: int, **metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Order",
        "metadata": {"name": name, "namespace": "shop", **metadata},
        "spec": {"count": count},
    }


def order_definition() -> dict[str, Any]:
    return definition_of("Order", {"v1": COUNTED_SPEC})


REFUSED = (
    "spec.count: Invalid value: 10: spec.count in body should be less than or equal "
    "to 9 (a server would reject this)"
)
SEVEN = "spec: Invalid value: seven (a server would reject this)"


def write_orders(folder: Path) -> tuple[str, ...]:
    wanted = [order("a", 10), order("b", 7), order("c", 2), order("d", 7)]
    live = [order(name, 1, uid=name) for name in "abc"]
    for name, objects in ((WANT, wanted), (LIVE, live)):
        lines = "".join(f"{json.dumps(obj)}\n" for obj in objects)
        (folder / name).write_text(lines)
    (folder / "crd.json").write_text(json.dumps(order_definition()))
    return "-f", WANT, "--live", LIVE, "--crd", "crd.json"


def test_what_a_definition_refuses_of_the_next_apply_is_told(tmp_path: Path) -> None:
    arguments = write_orders(tmp_path)
    rows = rows_of(drift(*arguments, "--format", "ndjson"))
    said = {
        row["name"]: (row["verdict"], row["heals"], row.get("refusals")) for row in rows
    }
    assert said == {
        "a": ("drift", False, [REFUSED]),
        "b": ("drift", False, [SEVEN]),
        "c": ("drift", True, None),
        "d": ("missing", False, [SEVEN]),
    }
    text = drift(*arguments).stdout
    assert text.count(f"  {REFUSED}\n") == 1
    assert text.count(f"  {SEVEN}\n") == 2
    report = drift(*arguments, "--format", "junit").stdout
    assert report.count("a server would reject this") >= 3


def test_without_the_package_for_rules_drift_warns_once_for_a_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_expressions, "cel", None)
    ran = drift(*write_orders(tmp_path))
    warnings = [line for line in ran.stderr.splitlines() if "not checked" in line]
    [warning] = warnings
    assert warning.startswith(
        "smp: warning: example.com/v1 Order: 1 rule was not checked: pip install "
    )
    assert SEVEN not in ran.stdout
    assert REFUSED in ran.stdout
