"""What ``smp diff`` leaves out: what a server sets, and the paths of --ignore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp import documents, json_patch, kubernetes
from smp._strategic import apply_patch
from smp._values.values import JSONObject
from smp.comparison import Rules, compared
from smp.schema.model import Schema
from tests.support.command import run, values
from tests.support.strategies import json_values

LIVE = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: 4d1c
  resourceVersion: "7"
  generation: 2
  creationTimestamp: "2024-01-01T00:00:00Z"
  selfLink: /apis/apps/v1/namespaces/shop/deployments/web
  managedFields: [{manager: kubectl}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - {name: app, image: "app:1", env: [{name: A, value: "1"}]}
      - {name: log, image: "log:1"}
status: {replicas: 2}
"""
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web%s}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - {name: log, image: "log:2"}
      - {name: app, image: "app:2", env: [{name: A, value: "2"}]}
"""


@pytest.fixture(autouse=True)
def files(directory: Path) -> None:
    (directory / "live.yaml").write_text(LIVE)
    (directory / "manifest.yaml").write_text(MANIFEST % "")


def paths(*arguments: str) -> list[str]:
    """Return the paths that differ."""
    ran = run("diff", *arguments, "--format", "json")
    return [
        change["path"]
        for record in json.loads(ran.stdout)
        for change in record["changes"]
    ]


POD = "spec.template.spec.containers"
CHANGED = [
    f"{POD}[name=app].env[name=A].value",
    f"{POD}[name=app].image",
    f"{POD}[name=log].image",
    POD,
]


def test_what_a_server_sets_is_no_difference_to_a_manifest() -> None:
    assert paths("live.yaml", "manifest.yaml") == CHANGED
    assert sorted(paths("manifest.yaml", "live.yaml")) == sorted(CHANGED)


def test_all_fields_shows_what_a_server_sets() -> None:
    found = paths("live.yaml", "manifest.yaml", "--all-fields")
    assert {"metadata.uid", "metadata.namespace", "status"} < set(found)


def test_two_dumps_of_live_objects_are_compared_in_all_fields() -> None:
    Path("later.yaml").write_text(LIVE.replace('"7"', '"8"'))
    assert paths("live.yaml", "later.yaml") == ["metadata.resourceVersion"]


@pytest.mark.parametrize("metadata", ["", ", annotations: {a: b}", ", annotations: "])
@pytest.mark.parametrize("is_live_first", [True, False])
def test_a_patch_without_server_fields_fits_the_object_before(
    metadata: str, is_live_first: bool
) -> None:
    Path("manifest.yaml").write_text(MANIFEST % metadata)
    sides = ["live.yaml", "manifest.yaml"]
    if not is_live_first:
        sides.reverse()
    before, after = (value_in(side) for side in sides)
    [patch] = values(run("diff", *sides, "-o", "patch").stdout)
    [operations] = values(run("diff", *sides, "-o", "jsonpatch").stdout)
    schema = kubernetes().schema("apps/v1", "Deployment")
    patched: Any = apply_patch(before, json.loads(json.dumps(patch)), schema)
    by_operations: Any = json_patch.apply(before, json.loads(json.dumps(operations)))
    # What the server has set stays as it is.
    for result in (patched, by_operations):
        assert result["spec"] == after["spec"]
        for name in ("uid", "resourceVersion", "managedFields"):
            assert result["metadata"].get(name) == before["metadata"].get(name)


def value_in(path: str) -> Any:
    [document] = documents.read(Path(path).read_bytes())
    return document.value


@pytest.mark.parametrize(
    ("ignored", "left"),
    [
        ((f"{POD}[name=app].image",), [CHANGED[0], *CHANGED[2:]]),
        ((f"{POD}[*].image",), [CHANGED[0], POD]),
        ((f"{POD}[*].*",), [POD]),
        ((f"{POD}[*]",), []),
        ((POD,), []),
        (("spec.*",), []),
        (("spec.nothing", "data[a.b/c]"), CHANGED),
        ((f"{POD}[name=app].env[name=A].value", f"{POD}[name=log]"), [CHANGED[1], POD]),
    ],
)
def test_an_ignored_path_is_no_difference(
    ignored: tuple[str, ...], left: list[str]
) -> None:
    options = [option for path in ignored for option in ("--ignore", path)]
    assert paths("live.yaml", "manifest.yaml", *options) == left


def test_a_patch_has_no_ignored_path() -> None:
    ran = run(
        "diff", "live.yaml", "manifest.yaml", "--ignore", f"{POD}[*].env", "-o", "patch"
    )
    [patch] = values(ran.stdout)
    assert "env" not in json.dumps(patch)
    assert "app:2" in json.dumps(patch)
    ran = run("diff", "live.yaml", "manifest.yaml", "--ignore", POD, "-o", "patch")
    assert (ran.exit_code, ran.stdout) == (0, "")


def test_a_three_way_patch_has_no_ignored_path() -> None:
    Path("old.yaml").write_text(MANIFEST.replace("replicas: 2", "replicas: 1") % "")
    arguments = (
        "diff",
        "old.yaml",
        "manifest.yaml",
        "--live",
        "live.yaml",
        "-o",
        "patch",
    )
    assert "app:2" in run(*arguments).stdout
    ran = run(*arguments, "--ignore", POD)
    assert (ran.exit_code, ran.stdout) == (0, "")


def test_a_file_has_a_path_on_each_line() -> None:
    Path("ignored").write_text(
        f"# images\n\n  {POD}[*].image\n{POD}[*].env # no comment\n"
    )
    ran = run(
        "diff", "live.yaml", "manifest.yaml", "--ignore-file", "ignored", "-o", "patch"
    )
    assert ran.exit_code == 2
    assert "file:   ignored:4\n" in ran.stderr
    Path("ignored").write_text(f"# images\n\n  {POD}[*].image\r\n{POD}[*].env\n")
    assert paths("live.yaml", "manifest.yaml", "--ignore-file", "ignored") == [POD]


@pytest.mark.parametrize("path", ["", ".", "a..b", "a.[b]", "[", "a]", "a b."])
def test_what_is_not_a_path_is_refused(path: str) -> None:
    ran = run("diff", "live.yaml", "manifest.yaml", "--ignore", path, "-o", "patch")
    assert ran.exit_code == 2
    assert "not a path" in ran.output


def aligned(before: JSONObject, after: JSONObject, path: str) -> JSONObject:
    """Return the object after, with the values before where the path is ignored."""
    schema = Schema.inline("any")
    rules = Rules.ignoring(path)
    found = compared(after, before, schema, rules=rules, reads=False, normalizes=False)
    return found.aligned


@pytest.mark.parametrize(
    ("path", "before", "after", "result"),
    [
        # A list without keys is compared by index.
        ("a[0]", {"a": [1, 2]}, {"a": [3, 4]}, {"a": [1, 4]}),
        ("a[1]", {"a": [1, 2]}, {"a": [3]}, {"a": [3, 2]}),
        ("a[1]", {"a": [1]}, {"a": [3, 4]}, {"a": [3]}),
        (
            "a[*].b",
            {"a": [{"b": 1}]},
            {"a": [{"b": 2, "c": 3}]},
            {"a": [{"b": 1, "c": 3}]},
        ),
        ("a[0]", {"a": {"0": 1}}, {"a": {"0": 2}}, {"a": {"0": 1}}),
        # Empty objects are as they were.
        ("a.b", {}, {"a": {"b": 1}}, {}),
        ("a.b", {"a": {"b": 1}}, {}, {"a": {"b": 1}}),
        ("a.b", {"a": {}}, {"a": {"b": 1}}, {"a": {}}),
        ("a.b", {}, {"a": {}}, {"a": {}}),
        ("a.b", {"a": {"b": 1}}, {"a": None}, {"a": {"b": 1}}),
        ("a.b", {"a": 1}, {"a": 2}, {"a": 2}),
        ("a.b", {"a": [1]}, {"a": {"b": 2}}, {"a": {"b": 2}}),
    ],
)
def test_a_value_is_taken_from_the_object_before(
    path: str, before: JSONObject, after: JSONObject, result: JSONObject
) -> None:
    assert aligned(before, after, path) == result


OBJECTS = st.dictionaries(st.text(max_size=2), json_values(), max_size=4)


@given(OBJECTS, OBJECTS)
def test_with_every_member_ignored_nothing_differs(
    before: JSONObject, after: JSONObject
) -> None:
    assert aligned(before, after, "*") == before


SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {ports: [{port: 80}], selector: {app: web}}
"""
STORED_SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default, uid: a, resourceVersion: "1"}
spec:
  ports: [{port: 80, protocol: TCP, targetPort: 80}]
  selector: {app: web}
  sessionAffinity: None
  type: ClusterIP
  internalTrafficPolicy: Cluster
status: {loadBalancer: {}}
"""


@pytest.mark.parametrize("files", [("a.yaml", "b.yaml"), ("b.yaml", "a.yaml")])
def test_a_default_of_a_server_is_no_difference(files: tuple[str, str]) -> None:
    Path("a.yaml").write_text(SERVICE)
    Path("b.yaml").write_text(STORED_SERVICE)
    assert run("diff", *files, "-o", "patch").exit_code == 0
    assert run("diff", *files, "--all-fields", "-o", "patch").exit_code == 1
    # A value that is not the default is one.
    Path("b.yaml").write_text(STORED_SERVICE.replace("Cluster", "Local"))
    assert "internalTrafficPolicy" in run("diff", *files, "-o", "report").stdout
