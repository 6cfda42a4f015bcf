"""``smp diff``: patches between two states of objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smp import documents, json_patch
from smp._values.last_applied import LAST_APPLIED
from tests.support.command import config_map, run, values


def test_each_patch_is_printed_under_the_name_of_its_object() -> None:
    ran = run("diff", "old.yaml", "new.yaml", "--show-secrets", "-o", "patch")
    assert ran.exit_code == 1
    expected = """\
# apps/v1 Deployment shop/web
metadata:
  labels: null
spec:
  replicas: 3
  strategy:
    type: Recreate
  template:
    spec:
      $setElementOrder/containers:
      - name: app
      containers:
      - image: nginx:1.26
        name: app
      - $patch: delete
        name: log
---
# v1 Secret shop/key
stringData:
  password: second-word
"""
    assert ran.stdout == expected
    assert ran.stderr == "smp: 2 objects: 2 changed\n"


def test_equal_objects_give_no_yaml_and_empty_json_patches() -> None:
    ran = run("diff", "old.yaml", "old.yaml", "-o", "patch")
    assert (ran.stdout, ran.stderr) == ("", "smp: 2 objects: 2 unchanged\n")
    records = json.loads(run("diff", "old.yaml", "old.yaml", "--format", "json").stdout)
    assert [record["patch"] for record in records] == [{}, {}]
    assert [record["verdict"] for record in records] == ["unchanged", "unchanged"]
    assert values(run("diff", "old.yaml", "old.yaml", "-o", "jsonpatch").stdout) == [
        [],
        [],
    ]


def test_a_kind_of_a_former_version_is_compared_and_never_applied() -> None:
    ingress = (
        "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n"
        "spec: {backend: {serviceName: s, servicePort: 80}}\n"
    )
    Path("former.yaml").write_text(ingress)
    Path("latter.yaml").write_text(ingress.replace("80", "81"))
    Path("other.yaml").write_text(ingress.replace("name: a", "name: b"))
    no_match = 'has no matches for kind "Ingress" in version "extensions/v1beta1"'

    changed = run("diff", "former.yaml", "latter.yaml", "-o", "report")
    assert changed.exit_code == 1
    assert f"{no_match}; patched as JSON (RFC 7396)\n" in changed.stdout
    assert "~ spec.backend.servicePort: 80 -> 81\n" in changed.stdout
    removed = run("diff", "former.yaml", "new.yaml", "-o", "report")
    assert "extensions/v1beta1 Ingress a: to be removed\n" in removed.stdout
    # What is new, or goes to a server, has to be of a kind that the server has.
    for arguments in (
        ["new.yaml", "other.yaml"],
        ["latter.yaml", "--live", "old.yaml"],
    ):
        refused = run("diff", *arguments, "-o", "report")
        assert no_match in refused.stderr
        assert refused.exit_code in (2, 3)


SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: "a b"}}
spec: {type: Former, ports: [{port: 80}]}
"""


def errors_of_diff(old: str, new: str) -> list[str]:
    Path("former.yaml").write_text(old)
    Path("changed.yaml").write_text(new)
    (record,) = json.loads(
        run("diff", "former.yaml", "changed.yaml", "--format", "json").stdout
    )
    return [f"{found['path']} {found['code']}" for found in record["findings"]]


def test_another_wrong_value_in_place_of_a_wrong_one_is_told() -> None:
    changed = SERVICE.replace("a b", "a c").replace("Former", "Other")
    assert errors_of_diff(SERVICE, changed) == [
        "metadata.labels invalid-value",
        "spec.type unsupported-value",
    ]
    # What is wrong on both sides is what somebody has accepted.
    assert errors_of_diff(SERVICE, SERVICE.replace("80", "81")) == []


def test_all_rules_that_refuse_a_custom_resource_are_told_and_no_status() -> None:
    rules = [{"rule": f"self.{name} < 5", "message": name} for name in ("a", "b")]
    number = {"type": "integer", "maximum": 9}
    spec = {
        "type": "object",
        "properties": {"a": number, "b": number},
        "x-kubernetes-validations": rules,
    }
    status = {"type": "object", "properties": {"size": number}}
    properties = {"spec": spec, "status": status}
    names = {"plural": "things", "kind": "Thing", "singular": "thing"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {**names, "listKind": "ThingList"},
            "versions": [version],
        },
    }
    Path("definition.json").write_text(json.dumps(definition))
    for name, size in (("former", 1), ("changed", 10)):
        thing = {
            "apiVersion": "example.com/v1",
            "kind": "Thing",
            "metadata": {"name": "x"},
            "spec": {"a": size % 8 * 3, "b": size % 8 * 4},
            "status": {"size": size},
        }
        Path(f"{name}.json").write_text(json.dumps(thing))
    ran = run("diff", "former.json", "changed.json", "--crd", "definition.json")
    # The status is not what an update writes, so that 10 is not refused.
    errors = [line.strip() for line in ran.stdout.splitlines() if "error" in line]
    why = "(a server would reject this)"
    assert errors == [f"error: spec: Invalid value: {name} {why}" for name in "ab"]


def test_with_live_objects_the_patch_is_the_three_way_patch() -> None:
    ran = run("diff", "old.yaml", "new.yaml", "--live", "live.yaml", "--format", "json")
    assert ran.exit_code == 1
    record = json.loads(ran.stdout)[0]
    assert record["patch"]["spec"] == {
        "replicas": 3,
        "strategy": {"type": "Recreate", "$retainKeys": ["type"]},
        "template": {
            "spec": {
                "containers": [
                    {"image": "nginx:1.26", "name": "app"},
                    {"$patch": "delete", "name": "log"},
                ],
                "$setElementOrder/containers": [{"name": "app"}],
            }
        },
    }


def test_with_live_objects_the_modified_ones_may_be_alone() -> None:
    live: Any = values(config_map(kept="1", old="1"))[0]
    manifest: Any = values(config_map(old="1"))[0]
    # What kubectl adds is nothing that the manifest no longer has.
    manifest["metadata"]["annotations"] = {}
    live["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(manifest)}
    Path("live.json").write_text(json.dumps(live))
    Path("new.yaml").write_text(config_map(new="1"))
    ran = run("diff", "new.yaml", "--live", "live.json", "-o", "patch")
    assert values(ran.stdout) == [{"data": {"new": "1", "old": None}}]
    # An object without the annotation was not applied: nothing is to be removed.
    Path("live.json").write_text(config_map(kept="1", old="1"))
    ran = run("diff", "new.yaml", "--live", "live.json", "-o", "patch")
    assert values(ran.stdout) == [{"data": {"new": "1"}}]


@pytest.mark.parametrize(
    "arguments", [("new.yaml",), ("--live", "live.yaml"), ("a", "b", "-k", "c"), ()]
)
def test_it_is_reported_which_paths_are_missing(arguments: tuple[str, ...]) -> None:
    ran = run("diff", *arguments)
    assert ran.exit_code == 2
    assert "give ORIGINAL and MODIFIED" in ran.stderr


def test_the_json_patch_turns_the_original_into_the_modified_object() -> None:
    old, new = (
        documents.read(Path(name).read_bytes()) for name in ("old.yaml", "new.yaml")
    )
    ran = run("diff", "old.yaml", "new.yaml", "-o", "jsonpatch", "--show-secrets")
    for before, patch, after in zip(old, values(ran.stdout), new, strict=True):
        operations = json.loads(json.dumps(patch))
        assert json_patch.apply(before.value, operations) == after.value


def test_the_report_lists_the_changed_fields() -> None:
    ran = run("diff", "old.yaml", "new.yaml", "-o", "report")
    expected = """\
apps/v1 Deployment shop/web: changed (old.yaml:1 -> new.yaml:1)
  - metadata.labels:
      - tier: front
  ~ spec.replicas: 2 -> 3
  + spec.strategy:
      + type: Recreate
  ~ spec.template.spec.containers[name=app].image: "nginx:1.25" -> "nginx:1.26"
  - spec.template.spec.containers[name=log]:
      - image: busybox:1
      - name: log

v1 Secret shop/key: changed (old.yaml:15 -> new.yaml:14)
  ~ stringData.password: "*** (original)" -> "*** (modified)"

2 objects: 2 changed
"""
    assert ran.stdout == expected


def test_elements_that_several_keys_tell_apart_are_named_by_all() -> None:
    head = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n"
    ports = [("dns", 53, "UDP"), ("dns-tcp", 53, "TCP"), ("web", 80, "TCP")]
    for name, kept in (("old", ports), ("new", ports[2:])):
        rows = [
            f"  - {{name: {name}, port: {port}, protocol: {protocol}}}\n"
            for name, port, protocol in kept
        ]
        Path(f"{name}.yaml").write_text(head + "".join(rows))
    report = run("diff", "old.yaml", "new.yaml", "-o", "report").stdout
    assert "  - spec.ports[port=53,protocol=UDP]:\n" in report
    assert "  - spec.ports[port=53,protocol=TCP]:\n" in report


def test_the_report_of_equal_objects_counts_them_as_unchanged() -> None:
    ran = run("diff", "old.yaml", "old.yaml", "-o", "report")
    assert ran.exit_code == 0
    assert ran.stdout.endswith("2 objects: 2 unchanged\n")


def test_the_patch_of_a_new_object_is_the_object() -> None:
    Path("a.yaml").write_text(config_map("a"))
    Path("both.yaml").write_text(config_map("a") + config_map("b", x="1"))
    ran = run("diff", "a.yaml", "both.yaml", "-o", "patch")
    assert ran.exit_code == 1
    assert ran.stdout.startswith("# v1 ConfigMap b (to be created)\n")
    assert values(run("diff", "a.yaml", "both.yaml", "-o", "jsonpatch").stdout)[1] == [
        {"op": "add", "path": "", "value": json.loads(config_map("b", x="1"))}
    ]
    assert "+ data:" in run("diff", "a.yaml", "both.yaml", "-o", "report").stdout


def test_a_removed_object_is_in_every_output() -> None:
    Path("a.yaml").write_text(config_map("a"))
    Path("both.yaml").write_text(config_map("a") + config_map("b"))
    ran = run("diff", "both.yaml", "a.yaml", "-o", "patch")
    assert ran.exit_code == 1
    assert ran.stdout == "# v1 ConfigMap b (removed)\n$patch: delete\n"
    assert ran.stderr == "smp: 2 objects: 1 unchanged, 1 removed\n"
    report = run("diff", "both.yaml", "a.yaml", "-o", "report").stdout
    assert "v1 ConfigMap b: to be removed\n      - apiVersion: v1\n" in report
    assert report.endswith("2 objects: 1 unchanged, 1 removed\n")
    _, removed = json.loads(
        run("diff", "both.yaml", "a.yaml", "--format", "json").stdout
    )
    assert (removed["verdict"], removed["patch"]) == ("removed", {"$patch": "delete"})
    operations = run("diff", "both.yaml", "a.yaml", "-o", "jsonpatch").stdout
    assert values(operations)[1] == [{"op": "remove", "path": ""}]


def test_an_object_with_a_generated_name_is_one_object_in_both_states() -> None:
    Path("job.yaml").write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: run-}\n"
    )
    assert run("diff", "job.yaml", "job.yaml", "-o", "patch").exit_code == 0


def test_the_json_output_describes_each_object() -> None:
    Path("one.yaml").write_text(config_map("a", "shop", x="1"))
    Path("two.yaml").write_text(config_map("a", "shop", x="2"))
    ran = run("diff", "one.yaml", "two.yaml", "--format", "json")
    [found] = json.loads(ran.stdout)
    assert {name: found[name] for name in found if name not in ("live", "result")} == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": "shop",
        "name": "a",
        "file": "two.yaml",
        "line": 1,
        "verdict": "changed",
        "patch": {"data": {"x": "2"}},
        "changes": [{"path": "data.x", "old": "1", "new": "2"}],
        "findings": [],
        "causes": [],
        "notes": [],
    }


@pytest.mark.parametrize("output", ["patch", "json", "jsonpatch", "report"])
def test_no_output_shows_the_values_of_a_secret(output: str) -> None:
    for live in ((), ("--live", "live.yaml")):
        shown = run("diff", "old.yaml", "new.yaml", *live, "-o", output).output
        assert "-word" not in shown
        assert "***" in shown
        with_secrets = ("diff", "old.yaml", "new.yaml", "--show-secrets")
        assert "second-word" in run(*with_secrets, *live, "-o", output).output
