"""``smp patch``: documents with a patch applied."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.command import config_map, run, values


@pytest.mark.parametrize(
    ("patch_type", "patch"),
    [
        ("strategic", "data: {a: null, b: x}"),
        ("merge", '{"data": {"a": null, "b": "x"}}'),
        (
            "json",
            (
                '[{"op": "remove", "path": "/data/a"},'
                ' {"op": "add", "path": "/data/b", "value": "x"}]'
            ),
        ),
    ],
)
def test_patch_types(patch_type: str, patch: str) -> None:
    command = ("patch", "-", "-p", patch, "--type", patch_type)
    ran = run(*command, stdin=config_map(a="1"))
    assert values(ran.stdout) == [json.loads(config_map(b="x"))]
    Path("patch.yaml").write_text(patch)
    from_file = ("patch", "-", "--patch-file", "patch.yaml", "--type", patch_type)
    assert run(*from_file, stdin=config_map(a="1")).stdout == ran.stdout


def test_output_formats() -> None:
    command = ("patch", "-", "-p", "data: {b: x}", "-o")
    assert values(run(*command, "jsonpatch", stdin=config_map(a="1")).stdout) == [
        [{"op": "add", "path": "/data/b", "value": "x"}]
    ]
    report = run(*command, "report", stdin=config_map(a="1")).stdout
    assert report == 'v1 ConfigMap a: changed\n  + data.b: "x"\n\n1 object: 1 changed\n'


def test_only_a_strategic_patch_needs_kubernetes_objects() -> None:
    ran = run("patch", "-", "-p", "b: 2", "--type", "merge", stdin="a: 1")
    assert values(ran.stdout) == [{"a": 1, "b": 2}]
    merge = ("patch", "-", "-p", "[1]", "--type", "merge")
    report = run(*merge, "-o", "report", stdin="a: 1").stdout
    assert report.startswith(
        "<stdin>:1: changed\n  ~ the whole document:\n      - a: 1\n      + - 1\n"
    )
    strategic = run("patch", "-", "-p", "b: 2", stdin="a: 1")
    assert "no Kubernetes object found" in strategic.stderr


def test_the_report_masks_secrets_and_the_object_does_not() -> None:
    patch = "stringData: {password: third-word}"
    command = ("patch", "live.yaml", "-p", patch, "--type", "merge")
    assert "third-word" in run(*command).stdout
    report = run(*command, "-o", "report").stdout
    secret = report[report.index("v1 Secret") :]
    assert 'stringData.password: "*** (before)" -> "*** (after)"' in secret
    assert "-word" not in secret


def test_the_patch_comes_from_exactly_one_option() -> None:
    for sources in ((), ("-p", "a: 1", "--patch-file", "new.yaml")):
        ran = run("patch", "live.yaml", *sources)
        assert ran.exit_code == 2
        assert "either in --patch-file or in --patch" in ran.stderr


def test_the_error_for_an_invalid_patch_has_its_place() -> None:
    patch = "spec: {template: {spec: {containers: [{image: x}]}}}"
    ran = run("patch", "new.yaml", "-p", patch)
    assert ran.exit_code == 3
    assert ran.stderr.startswith(
        "smp: error: the element does not contain its merge key 'name'\n"
    )
    assert (
        "  path:   spec.template.spec.containers[0]\n  file:   --patch:1\n"
        in ran.stderr
    )
    patch = '[{"op": "remove", "path": "/stringData/none"}]'
    ran = run("patch", "live.yaml", "-p", patch, "--type", "json")
    assert ran.exit_code == 2
    assert "path not found in the document\n  path:   stringData.none\n" in ran.stderr
    assert "-word" not in ran.stderr
    assert "is an object, not array" in run("patch", "live.yaml", "-p", "[1]").stderr


def test_the_type_for_an_unknown_kind_is_advised() -> None:
    custom = "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a}\n"
    Path("custom.yaml").write_text(custom)
    ran = run("patch", "custom.yaml", "-p", '{"a": 1}')
    assert ran.exit_code == 2
    assert "hint:   --type merge patches objects of every kind" in ran.stderr
    assert (
        run("patch", "custom.yaml", "-p", '{"a": 1}', "--type", "merge").exit_code == 0
    )


@pytest.fixture(name="manifests")
def fixture_manifests() -> Path:
    """Make a directory with objects, and with much that is no object."""
    folder = Path("manifests")
    (folder / "sub").mkdir(parents=True)
    texts = {
        "two.yaml": config_map("a") + "---\n" + config_map("b"),
        "sub/list.json": '{"apiVersion": "v1", "kind": "List", "items": ['
        + config_map("c")
        + "]}",
        "sub/widget.yml": "{apiVersion: example.com/v1, kind: Widget,"
        " metadata: {name: w}}",
        "kustomization.yaml": "kind: Kustomization\nresources: []\n",
        "values.yaml": "image: x\n",
        "broken.yaml": "apiVersion: v1\nkind: [\n",
        "template.yaml": "a: {{ b }}\n",
        "empty.yaml": "",
        "notes.txt": "kind: ConfigMap\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def names(text: str) -> list[object]:
    found: list[object] = []
    for value in values(text):
        assert isinstance(value, dict)
        assert value["metadata"]["labels"] == {"a": "b"}
        found.append(value["metadata"]["name"])
    return found


@pytest.mark.parametrize("output", ["yaml", "json"])
@pytest.mark.parametrize(
    ("type_", "patch", "expected"),
    [
        ("strategic", "metadata: {labels: {a: b}}", ["c", "a", "b"]),
        ("merge", "metadata: {labels: {a: b}}", ["c", "w", "a", "b"]),
        (
            "json",
            '[{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]',
            ["c", "w", "a", "b"],
        ),
    ],
)
def test_the_objects_of_a_directory_are_patched_and_nothing_else(
    manifests: Path, type_: str, patch: str, expected: list[str], output: str
) -> None:
    ran = run("patch", str(manifests), "-p", patch, "--type", type_, "-o", output)
    assert ran.exit_code == 3
    assert names(ran.stdout) == expected
    # The broken file, and to a strategic merge patch a kind without a schema.
    failures = ran.stderr.count("smp: error:")
    assert failures == (2 if type_ == "strategic" else 1)
    assert f"{manifests}/broken.yaml:3:1" in ran.stderr
    for skipped in ("kustomization.yaml:1", "values.yaml:1", "template.yaml:1"):
        assert f"  {manifests}/{skipped}: " in ran.stderr
    last_line = ran.stderr.splitlines()[-1]
    assert last_line.startswith(f"smp: {len(expected) + failures} objects: ")
    for count in (f"{len(expected)} changed", f"{failures} failed", "3 skipped"):
        assert count in last_line


def test_any_document_of_a_file_that_is_named_is_patched(manifests: Path) -> None:
    for name in ("values.yaml", "kustomization.yaml"):
        file = str(manifests / name)
        ran = run("patch", file, "-p", "{more: 1}", "--type", "merge")
        assert ran.exit_code == 0
        assert "more: 1" in ran.stdout


def test_a_directory_without_objects_is_an_error() -> None:
    Path("none").mkdir()
    ran = run("patch", "none", "-p", "{}")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "no document found in the directory" in ran.stderr
    Path("none/values.yaml").write_text("image: x\n")
    for type_ in ("strategic", "merge"):
        ran = run("patch", "none", "-p", "{}", "--type", type_)
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert "no Kubernetes object found" in ran.stderr


DEFINED: Final = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              items:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  properties: {name: {type: string}, v: {type: string}}
"""


def test_a_keyed_list_of_a_definition_is_merged_as_by_an_apply() -> None:
    Path("crd.yaml").write_text(DEFINED)
    head = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"
    Path("w.yaml").write_text(f"{head}spec: {{items: [{{name: a}}, {{name: b}}]}}\n")
    patch = '{"spec": {"items": [{"name": "b", "v": "9"}]}}'
    ran = run("patch", "w.yaml", "--crd", "crd.yaml", "-p", patch, "-o", "json")
    patched: Any
    [patched] = values(ran.stdout)
    assert patched["spec"] == {"items": [{"name": "a"}, {"name": "b", "v": "9"}]}


def test_a_patch_of_another_object_is_refused_or_goes_to_its_target() -> None:
    Path("two.yaml").write_text(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n"
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"
    )
    patch = "{kind: ConfigMap, metadata: {name: b}, data: {x: '1'}}"
    refused = run("patch", "two.yaml", "-p", patch)
    assert refused.exit_code == 3
    assert "the patch is of another object: ConfigMap b" in refused.stderr
    assert "--target applies it" in refused.stderr
    ran = run("patch", "two.yaml", "-p", patch, "--target")
    assert ran.exit_code == 0
    first: Any
    second: Any
    first, second = values(ran.stdout)
    assert "data" not in first
    assert second["data"] == {"x": "1"}
    nothing = run("patch", "two.yaml", "-p", patch.replace("b}", "c}"), "--target")
    assert (nothing.exit_code, nothing.stdout) == (2, "")
    assert "the patch names ConfigMap c, which is not among" in nothing.stderr
    # Go: kyaml, ResId.Equals, of the version and the namespace too.
    for other in ("apiVersion: v2, ", "metadata: {name: b, namespace: other}, "):
        wrong = patch.replace("metadata: {name: b}, ", "") if "meta" in other else patch
        nothing = run("patch", "two.yaml", "-p", "{" + other + wrong[1:], "--target")
        assert (nothing.exit_code, nothing.stdout) == (2, ""), other
    nameless = run("patch", "two.yaml", "-p", "{data: {x: '1'}}", "--target")
    assert "--target needs a patch with the kind and the name" in nameless.stderr
    # kustomize leaves out what a patch deletes.
    deleting = "{kind: ConfigMap, metadata: {name: b}, $patch: delete}"
    for output in ("yaml", "json"):
        ran = run("patch", "two.yaml", "-p", deleting, "--target", "-o", output)
        left: Any
        [left] = values(ran.stdout)
        assert left["metadata"] == {"name": "a"}


ROUTE: Final = {
    "apiVersion": "example.com/v1",
    "kind": "Route",
    "metadata": {"name": "r"},
    "spec": {"groups": [{"id": 1, "rules": [{"name": "a", "v": 1}, {"name": "b"}]}]},
}


def _patched(*command: str, obj: dict[str, Any]) -> Any:
    (patched,) = values(run(*command, stdin=json.dumps(obj)).stdout)
    return patched


def test_a_list_without_a_schema_is_merged_by_the_key_that_is_given() -> None:
    """As kustomize merges with x-kubernetes-patch-merge-key in its field openapi."""
    patch = {"spec": {"groups": [{"id": 1, "rules": [{"name": "b", "v": 2}]}]}}
    command = ("patch", "-", "-p", json.dumps(patch))
    refused = run(*command, stdin=json.dumps(ROUTE))
    assert refused.exit_code == 2
    assert "--merge-key PATH=KEY" in refused.stderr
    keys = ("--merge-key", "spec.groups=id", "--merge-key", "spec.groups[].rules=name")
    merged = _patched(*command, *keys, obj=ROUTE)
    rules = [{"name": "a", "v": 1}, {"name": "b", "v": 2}]
    assert merged["spec"] == {"groups": [{"id": 1, "rules": rules}]}
    rule = {"name": "a", "$patch": "delete"}
    deleted = {"spec": {"groups": [{"id": 1, "rules": [rule]}]}}
    command = ("patch", "-", "-p", json.dumps(deleted))
    merged = _patched(*command, *keys, obj=ROUTE)
    assert merged["spec"] == {"groups": [{"id": 1, "rules": [{"name": "b"}]}]}


def test_a_merge_key_is_for_a_list_of_a_known_kind_too() -> None:
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
    live = {**ingress, "metadata": {"name": "i"}, "spec": {"rules": [{"host": "a"}]}}
    patch = json.dumps({"spec": {"rules": [{"host": "b"}]}})
    command = ("patch", "-", "-p", patch, "--merge-key")
    merged = _patched(*command, "spec.rules=host", obj=live)
    # What the patch has comes first, as in any list that is merged without an order.
    assert merged["spec"]["rules"] == [{"host": "b"}, {"host": "a"}]
    for wrong in ("spec.rules", "=host", "spec..rules=host", "spec.none=host"):
        assert run(*command, wrong, stdin=json.dumps(live)).exit_code == 2
    key = ("--merge-key", "spec.ingressClassName=x")
    of_a_list = '{"spec": {"ingressClassName": ["x"]}}'
    is_no_list = run("patch", "-", "-p", of_a_list, *key, stdin=json.dumps(live))
    assert "is no list" in is_no_list.stderr


def test_a_merge_key_of_no_list_of_the_patch_is_an_error() -> None:
    patch = json.dumps({"spec": {"groups": [{"rules": [{"name": "b"}]}], "a": {}}})
    command = ("patch", "-", "-p", patch, "--merge-key")
    for path in ("spec.group", "spec", "spec.a", "groups", "spec.groups.rules"):
        ran = run(*command, f"{path}=name", stdin=json.dumps(ROUTE))
        assert ran.exit_code == 2
        assert f"--merge-key {path}=name: the patch has no list there" in ran.stderr
        assert "its lists are at spec.groups, spec.groups[].rules" in ran.stderr
    ran = run(*command, "spec.groups=id", "--type", "merge", stdin=json.dumps(ROUTE))
    assert (ran.exit_code, "says nothing to --type merge" in ran.stderr) == (2, True)
