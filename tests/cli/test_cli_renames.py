"""Renamed list elements and objects in what is for a reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._values.values import JSON, JSONObject
from smp.cli._renames import alike, leaves_of
from tests.support.command import config_map, run
from tests.support.strategies import json_values

CONTAINER: JSONObject = {
    "image": "nginx:1",
    "ports": [{"containerPort": 80}],
    "tty": True,
}


def write_pods(old: list[JSONObject], new: list[JSONObject]) -> tuple[str, str]:
    for name, containers in (("a", old), ("b", new)):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": containers},
        }
        Path(name).write_text(json.dumps(pod))
    return "a", "b"


def test_a_renamed_element_is_one_with_its_changes() -> None:
    sides = write_pods(
        [{"name": "app", **CONTAINER}, {"name": "log", "image": "log:1"}],
        [{"name": "log", "image": "log:1"}, {"name": "web", **CONTAINER, "tty": False}],
    )
    ran = run("diff", *sides, "-o", "report")
    assert ran.exit_code == 2
    # Go: ValidatePodUpdate.
    assert "  error: spec: Forbidden: pod updates may not change" in ran.stdout
    assert ran.stdout.startswith("""\
v1 Pod p: changed (a:1 -> b:1)
  ~ spec.containers[name=web].name: "app" -> "web" (renamed)
  ~ spec.containers[name=web].tty: true -> false
""")
    [record] = json.loads(run("diff", *sides, "--format", "json").stdout)
    assert record["changes"][0] == {
        "path": "spec.containers[name=web].name",
        "old": "app",
        "new": "web",
        "renamed": True,
    }
    # The patch cannot rename.
    assert {"$patch": "delete", "name": "app"} in record["patch"]["spec"]["containers"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"name": "app"}, {"name": "web"}),
        ({"name": "app", "image": "a"}, {"name": "web", "image": "b"}),
        (
            {"name": "app", "image": "a", "tty": True},
            {"name": "web", "image": "a", "stdin": True},
        ),
    ],
)
def test_what_is_not_alike_is_removed_and_added(
    old: JSONObject, new: JSONObject
) -> None:
    report = run("diff", *write_pods([old], [new]), "-o", "report").stdout
    assert "  - spec.containers[name=app]:\n" in report
    assert "  + spec.containers[name=web]:\n" in report


def test_a_pruned_element_is_still_called_pruned() -> None:
    last, new = write_pods(
        [{"name": "app", **CONTAINER}], [{"name": "web", **CONTAINER}]
    )
    live = json.loads(Path(last).read_text())
    # A server has put in defaults.
    live["spec"]["containers"][0] |= {f"x{number}": number for number in range(20)}
    Path("live").write_text(json.dumps(live))
    arguments = ("apply", "-f", new, "--live", "live", "--last-applied", last)
    options = ("-o", "report", "--validate", "keep")
    ran = run(*arguments, *options)
    assert "  - spec.containers[name=app] (pruned):" in ran.stdout


def test_a_renamed_object_is_one_with_its_changes() -> None:
    data = {"x": "1", "y": "2", "z": "3"}
    Path("a.yaml").write_text(
        config_map("old", "shop", **data) + config_map("gone", "shop", a="b")
    )
    Path("b.yaml").write_text(
        config_map("new", "shop", **{**data, "z": "4"})
        + config_map("more", "other", **data)
    )
    arguments = ("diff", "a.yaml", "b.yaml")
    ran = run(*arguments, "-o", "report")
    assert ran.exit_code == 1
    assert ran.stdout.startswith(
        "v1 ConfigMap shop/new: renamed from v1 ConfigMap shop/old"
        " (a.yaml:1 -> b.yaml:1)\n"
        '  ~ data.z: "3" -> "4"\n'
        '  ~ metadata.name: "old" -> "new"\n\n'
        "v1 ConfigMap other/more: to be created\n"
    )
    assert ran.stdout.endswith("3 objects: 1 renamed, 1 new, 1 removed\n")
    assert (
        "--- v1 ConfigMap shop/old\n+++ v1 ConfigMap shop/new\n"
        in run(*arguments, "-o", "unified").stdout
    )
    assert (
        "shop/new: renamed from v1 ConfigMap shop/old (2 differences)\n"
        in run(*arguments, "--stat").stdout
    )
    records = json.loads(run(*arguments, "--format", "json").stdout)
    assert [(record["name"], record["verdict"]) for record in records] == [
        ("new", "renamed"),
        ("more", "new"),
        ("gone", "removed"),
    ]
    assert records[0]["renamedFrom"] == "v1 ConfigMap shop/old"
    # A patch creates the one, and deletes the other.
    assert run(*arguments, "-o", "patch").stdout.count("# v1 ConfigMap") == 4


def test_an_object_that_cannot_be_read_is_reported_once() -> None:
    broken = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata: {a: b\n"
    Path("a.yaml").write_text(f"{broken % 'a'}---\n{config_map('c', x='1')}")
    Path("b.yaml").write_text(f"{broken % 'b'}---\n{config_map('d', x='1')}")
    ran = run("diff", "a.yaml", "b.yaml", "--stat")
    assert ran.exit_code == 3
    assert "v1 ConfigMap d: renamed from v1 ConfigMap c" in ran.stdout
    assert ran.stderr.count("a.yaml:") == 1
    assert ran.stderr.count("b.yaml:") == 1


def values_with_leaves() -> st.SearchStrategy[dict[int, JSON]]:
    return st.dictionaries(st.integers(0, 9), json_values(), max_size=4)


@given(values_with_leaves(), values_with_leaves())
def test_each_value_is_renamed_once_and_equal_ones_first(
    old: dict[int, JSON], new: dict[int, JSON]
) -> None:
    removed = {key: leaves_of(value) for key, value in old.items()}
    added = {key: leaves_of(value) for key, value in new.items()}
    found = alike(removed, added)
    assert len(set(found.values())) == len(found)
    assert found.keys() <= added.keys()
    assert set(found.values()) <= removed.keys()
    for key, leaves in added.items():
        if leaves and key not in found:
            assert leaves not in [removed[k] for k in removed.keys() - found.values()]


def test_among_many_candidates_equal_ones_are_found() -> None:
    # To compare each with each would take hours.
    count = 20_000
    removed = {n: leaves_of({"a": n, "b": [1, 2]}) for n in range(count)}
    added = {-number: leaves for number, leaves in removed.items()}
    assert alike(removed, added) == {-number: number for number in range(count)}
