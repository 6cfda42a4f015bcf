"""``smp diff --rules``: the verdict, what was set aside, and the patch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import smp
from smp import documents
from tests.support.command import run

MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: "app:1"
        resources: {limits: {cpu: %s, memory: 1Gi}}
"""
RULES = """\
version: 1
rules:
- reason: the autoscaler scales it
  kinds: [Deployment.apps]
  paths: [spec.replicas]
"""


@pytest.fixture(autouse=True)
def files(directory: Path) -> None:
    (directory / "old.yaml").write_text(MANIFEST % '"1"')
    (directory / "new.yaml").write_text(MANIFEST % "1000m")
    live = (MANIFEST % '"1"').replace("replicas: 2", "replicas: 5")
    live = live.replace("namespace: shop", "namespace: shop, uid: u")
    (directory / "stored.yaml").write_text(live)
    (directory / "rules.yaml").write_text(RULES)


def record(*arguments: str) -> tuple[int, dict[str, Any]]:
    ran = run("diff", *arguments, "--format", "json")
    [found] = json.loads(ran.stdout)
    return ran.exit_code, found


def test_two_manifests_are_compared_as_they_are_written() -> None:
    code, found = record("old.yaml", "new.yaml")
    assert code == 1
    assert len(found["changes"]) == 1
    assert "setAside" not in found


def test_rules_compare_what_values_mean() -> None:
    code, found = record("old.yaml", "new.yaml", "--rules", "rules.yaml")
    assert (code, found["verdict"], found["changes"]) == (0, "unchanged", [])
    assert found["setAside"] == [
        {
            "path": "spec.template.spec.containers[name=app].resources.limits.cpu",
            "by": "quantity",
            "reason": "the same quantity",
        },
    ]


@pytest.mark.parametrize("output", ["json", "jsonpatch", "patch"])
@pytest.mark.parametrize("live", [(), ("--live", "stored.yaml")])
def test_a_normalizer_never_changes_a_patch(output: str, live: tuple[str, ...]) -> None:
    arguments = ("diff", "old.yaml", "new.yaml", *live, "-o", output)
    Path("empty.yaml").write_text("version: 1\nrules: []\n")
    plain = run(*arguments, "--all-fields").stdout
    ruled = run(*arguments, "--rules", "empty.yaml").stdout
    assert "1000m" in ruled
    assert plain == ruled


def test_a_rule_leaves_its_paths_out_of_the_patch() -> None:
    arguments = ("old.yaml", "new.yaml", "--live", "stored.yaml")
    _, found = record(*arguments)
    assert found["patch"]["spec"]["replicas"] == 2
    _, found = record(*arguments, "--rules", "rules.yaml")
    assert "replicas" not in found["patch"]["spec"]
    assert [entry["by"] for entry in found["setAside"]] == ["rule", "quantity"]


def test_what_is_set_aside_makes_no_last_applied_configuration_stale(
    directory: Path,
) -> None:
    old = documents.read((MANIFEST % '"1"').encode())[0].value
    live = smp.with_last_applied(smp.as_object(old))
    (directory / "last.json").write_text(json.dumps(old))
    live = {**live, "spec": {**smp.as_object(live["spec"]), "replicas": 5}}
    (directory / "live.json").write_text(json.dumps(live))
    paths = ["last.json", "old.yaml", "--live", "live.json"]
    ran = run("diff", *paths, "--rules", "rules.yaml", "--strict", "-o", "patch")
    assert (ran.exit_code, ran.stdout) == (0, "")
    assert "stale-last-applied" not in ran.stderr
    # It is another one than the annotation has.
    (directory / "last.json").write_text(json.dumps(live))
    ran = run("diff", *paths, "--rules", "rules.yaml", "-o", "patch")
    assert "stale-last-applied" in ran.stderr


def test_nothing_is_set_aside_without_being_counted() -> None:
    arguments = ("diff", "new.yaml", "stored.yaml", "--rules", "rules.yaml")
    ran = run(*arguments, "-o", "report")
    assert ran.exit_code == 0
    # What does not change has no line of its own.
    [summary] = ran.stdout.splitlines()
    assert "1 the autoscaler scales it" in summary
    assert summary.startswith("1 object: 1 unchanged; 3 differences set aside: ")
    # So it is where only standard error is for a reader.
    assert "3 differences set aside" in run(*arguments, "-o", "patch").stderr
    counted = run(*arguments, "--stat").stdout
    assert "set aside: 1 quantity, 1 server-field, 1 the" in counted
    assert run(*arguments, "-q").output == ""


def test_paths_of_options_are_counted_as_rules() -> None:
    arguments = ("diff", "old.yaml", "stored.yaml", "--ignore", "spec.replicas")
    assert "1 --ignore spec.replicas" in run(*arguments, "-o", "patch").stderr
    Path("ignored").write_text("# x\nspec.replicas\n")
    arguments = ("diff", "old.yaml", "stored.yaml", "--ignore-file", "ignored")
    assert "1 ignored:2" in run(*arguments, "-o", "patch").stderr


def test_a_rule_for_another_kind_changes_nothing() -> None:
    Path("rules.yaml").write_text(RULES.replace("Deployment.apps", "StatefulSet"))
    _, found = record("old.yaml", "stored.yaml", "--rules", "rules.yaml")
    assert [change["path"] for change in found["changes"]] == ["spec.replicas"]


def test_an_error_in_a_file_of_rules_has_its_place() -> None:
    Path("rules.yaml").write_text(RULES.replace("paths", "path"))
    ran = run("diff", "old.yaml", "new.yaml", "--rules", "rules.yaml", "-o", "patch")
    assert ran.exit_code == 2
    assert "smp: error: unknown member 'path'\n" in ran.stderr
    assert "path:   rules[0].path\n" in ran.stderr
    assert "file:   rules.yaml:5\n" in ran.stderr
    assert "did you mean paths?" in ran.stderr


def test_the_schema_of_the_files_is_printed() -> None:
    schema = json.loads(run("schema", "rules").stdout)
    assert schema["title"] == "Rules of a comparison"


def test_secrets_are_compared_by_their_values_and_not_shown() -> None:
    obj = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b%s}\n%s\n"
    Path("a.yaml").write_text(obj % ("", "stringData: {key: hidden-word}"))
    data = "data: {key: aGlkZGVuLXdvcmQ=}\ntype: Opaque"
    Path("b.yaml").write_text(obj % (", uid: u", data))
    for output in ("patch", "json", "jsonpatch", "report", "unified"):
        ran = run("diff", "a.yaml", "b.yaml", "-o", output)
        assert ran.exit_code == 0
        assert "hidden" not in ran.output
        assert "aGlk" not in ran.output
    assert run("diff", "a.yaml", "b.yaml", "--all-fields", "-o", "patch").exit_code == 1
