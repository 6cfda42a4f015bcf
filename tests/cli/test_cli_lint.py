"""``smp lint``: what documents are, where findings stand, exit codes and formats."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.custom_resources import _expressions
from smp.errors import QUOTE_BOOLEANS
from tests.support.command import Ran, process, run
from tests.support.paths import DOCS, ROOT
from tests.support.server_definitions import definition_of

SAMPLE = ROOT / "tests" / "data" / "lint" / "sample"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: a}
"""
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n"
ORDERS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: orders.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Order, plural: orders}
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
            properties: {count: {type: integer, maximum: 9}}
            x-kubernetes-validations: [RULES]
"""
ORDER = """\
apiVersion: example.com/v1
kind: Order
metadata: {name: a-COUNT, namespace: default}
spec: {count: COUNT}
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def lint(text: str, *options: str) -> Ran:
    return run("lint", "-", *options, stdin=text)


def codes(ran: Ran) -> list[str]:
    """Return the place and the code of each finding."""
    pattern = r"^(?:\S+?):(\d+):(\d+): (?:error|warning|note): ([\w-]+): "
    return [":".join(found) for found in re.findall(pattern, ran.stdout, re.MULTILINE)]


def test_the_page_shows_what_the_installed_command_prints() -> None:
    text = (DOCS / "lint.md").read_text()
    shown = re.search(
        r"^```console\n\$ smp (.*?)\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    )
    assert shown
    arguments = [
        str(ROOT / word) if word.startswith("tests/") else word
        for word in shown[1].split()
    ]
    ran = process(*arguments)
    assert ran.returncode == 1
    output = f"{ran.stdout}{ran.stderr}"
    assert output.replace(f"{ROOT}/", "") == shown[2]


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (CONFIG_MAP, "1 manifest"),
        (CONFIG_MAP.replace("{name: a}", "{name: a, uid: b}"), "1 manifest"),
        (
            CONFIG_MAP.replace("{name: a}", '{name: a, uid: b, resourceVersion: "1"}'),
            "1 live object",
        ),
        (f"{CONFIG_MAP}data: {{$patch: delete}}\n", "1 strategic merge patch"),
        (DEPLOYMENT, "1 manifest"),
        (DEPLOYMENT.replace("image: a", "imag: a"), "1 manifest"),
        (DEPLOYMENT.replace("image: a", 'image: ""'), "1 manifest"),
        ('[{"op": "remove", "path": "/spec/paused"}]', "1 JSON Patch"),
        (f"{WIDGET}spec: {{$retainKeys: [a]}}\n", "1 JSON merge patch"),
    ],
)
def test_the_content_decides_what_a_document_is(text: str, summary: str) -> None:
    assert f"smp: {summary}: " in lint(text, "--severity", "note").stderr


def test_options_decide_what_all_documents_are() -> None:
    partial = "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: null}\n"
    assert "partial-object" in lint(partial, "--severity", "note").stdout
    assert "partial" not in lint(partial, "--as", "patch", "--severity", "note").stdout
    required = lint(partial, "--as", "manifest")
    assert "invalid-value: spec.selector: " in required.stdout
    assert "1 manifest: " in required.stderr
    assert "1 live object: " in lint(partial, "--as", "live").stderr
    directive = "spec: {template: {spec: {volumes: [{$patch: replace}]}}}\n"
    strategic = lint(directive, "--kind", "deploy")
    assert (strategic.exit_code, strategic.stdout) == (0, "")
    merge = lint(directive, "--kind", "deploy", "--type", "merge")
    assert codes(merge) == ["1:37:directive-in-merge-patch"]


def test_a_patch_without_a_kind_is_skipped_unless_the_kind_is_given() -> None:
    patch = "spec:\n  replica: 3\n"
    skipped = lint(patch)
    assert skipped.exit_code == 0
    assert "<stdin>:1: a patch without apiVersion and kind; --kind" in skipped.stderr
    assert codes(lint(patch, "--kind", "deployments.apps")) == ["2:3:unknown-field"]
    unknown = lint(patch, "--kind", "deployment.example.com")
    assert unknown.exit_code == 2


def test_places_are_those_of_each_document_of_a_file() -> None:
    wrong = f"{CONFIG_MAP}dat: {{}}\n"
    assert codes(lint(f"{wrong}---\n# more\n{wrong}")) == [
        "4:1:unknown-field",
        "9:12:repeated-object",
        "10:1:unknown-field",
    ]
    items = "".join(
        f"- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: {name}}}\n  dat: 1\n"
        for name in "ab"
    )
    assert codes(lint(f"apiVersion: v1\nkind: List\nitems:\n{items}")) == [
        "7:3:unknown-field",
        "11:3:unknown-field",
    ]


def test_a_second_document_of_one_object_is_found(
    directory: Path,
) -> None:
    folder = directory / "folder"
    folder.mkdir()
    (folder / "a.yaml").write_text(CONFIG_MAP)
    (folder / "b.yaml").write_text(CONFIG_MAP)
    assert codes(run("lint", "folder")) == ["3:12:repeated-object"]
    (folder / "kustomization.yaml").write_text("patches: [{path: b.yaml}]\n")
    assert run("lint", "folder").exit_code == 0
    (folder / "a.yaml").write_text(f"{CONFIG_MAP}---\n{CONFIG_MAP}")
    found = run("lint", "folder")
    assert codes(found) == ["7:12:repeated-object"]
    assert "the same object is also in folder/a.yaml:1" in found.stdout


@pytest.mark.parametrize("dump", ["a.yaml", "c.yaml"])
def test_a_dump_beside_its_manifest_is_no_second_one(
    directory: Path, dump: str
) -> None:
    """Whichever is read first."""
    folder = directory / "folder"
    folder.mkdir()
    (folder / "b.yaml").write_text(CONFIG_MAP)
    live = CONFIG_MAP.replace("{name: a}", "{name: a, uid: b, resourceVersion: '7'}")
    (folder / dump).write_text(live)
    found = codes(run("lint", "folder"))
    assert [each for each in found if "repeated" in each] == []


def test_repeated_names_and_kinds_that_no_server_has_are_errors() -> None:
    assert codes(lint(f"{CONFIG_MAP}data: {{a: b, a: c}}\n")) == ["4:14:repeated-name"]
    ran = lint(f"{CONFIG_MAP}data: {{y: b, on: c}}\n")
    assert codes(ran) == ["4:14:repeated-name"]
    assert QUOTE_BOOLEANS in ran.stdout
    unknown = lint(DEPLOYMENT.replace("apps/v1", "extensions/v1beta1"))
    assert codes(unknown) == ["2:1:unknown-kind"]
    assert "did you mean apps/v1 Deployment?" in unknown.stdout


def test_kinds_without_a_schema_are_counted_and_a_definition_describes_them(
    directory: Path,
) -> None:
    widget = f"{WIDGET}spec: 1\n"
    ran = lint(f"{widget}---\n{widget.replace('a}', 'b}')}")
    assert ran.exit_code == 0
    assert "2 documents without a schema: example.com/v1 Widget (2);" in ran.stderr
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object"}},
                        }
                    },
                }
            ],
        },
    }
    (directory / "crd.json").write_text(json.dumps(definition))
    assert codes(lint(widget, "--crd", "crd.json")) == ["4:1:wrong-type"]
    # One among the files will do.
    folder = directory / "folder"
    folder.mkdir()
    shutil.move(directory / "crd.json", folder)
    (folder / "widget.yaml").write_text(widget)
    assert codes(run("lint", "folder")) == ["4:1:wrong-type"]
    assert codes(lint(f"{json.dumps(definition)}\n")) == []


def test_kustomizations_name_patches_and_what_they_are_of(directory: Path) -> None:
    folder = directory / "folder"
    (folder / "patches").mkdir(parents=True)
    (folder / "kustomization.yaml").write_text(
        "patches:\n"
        "- {path: patches/of_target.yaml, target: {kind: Deployment, group: apps}}\n"
        "- path: ./patches/named.yaml\n"
        "- patch: '[]'\n"
        "patchesJson6902:\n"
        "- {path: patches/operations.yaml, target: {version: v1, kind: Deployment}}\n"
        "patchesStrategicMerge:\n"
        "- patches/old.yaml\n"
        "- |\n  apiVersion: v1\n"
    )
    patches = folder / "patches"
    (patches / "of_target.yaml").write_text("spec: {replica: 1}\n")
    named = DEPLOYMENT.replace("replicas", "replica")
    (patches / "named.yaml").write_text(named)
    (patches / "old.yaml").write_text(CONFIG_MAP)
    operations = "- {op: add, path: /spec/replica, value: 1}\n"
    (patches / "operations.yaml").write_text(operations)
    (patches / "unlisted.yaml").write_text("spec: {replica: 1}\n")
    ran = run("lint", "folder", "--severity", "note")
    assert codes(ran) == ["1:8:unknown-field", "1:13:unknown-field"]
    assert "of_target.yaml:1:8" in ran.stdout
    assert "3 strategic merge patches, 1 JSON Patch: 2 errors" in ran.stderr
    assert "unlisted.yaml:1: not a Kubernetes object" in ran.stderr


def test_severity_decides_what_is_shown_and_the_exit_code() -> None:
    patch = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
        "spec: {strategy: {$retainKeys: [typ]}}\n"
    )
    assert lint(patch).exit_code == 1
    errors = lint(patch, "--severity", "error")
    assert (errors.exit_code, errors.stdout) == (0, "")
    assert "1 warning, 0 notes (1 not shown, --severity note shows all)" in (
        errors.stderr
    )
    ignored = lint(patch, "--ignore", "retain-keys-unknown-field")
    assert (ignored.exit_code, ignored.stdout) == (0, "")
    unknown = lint(patch, "--ignore", "retain-keys-unknown-fields")
    assert unknown.exit_code == 2
    assert "did you mean retain-keys-unknown-field" in unknown.stderr


@pytest.mark.parametrize(
    ("comment", "exit_code"),
    [
        ("dat: 1  # smp-lint: ignore=unknown-field", 0),
        ("# smp-lint: ignore=wrong-type,unknown-field\ndat: 1", 0),
        ("# smp-lint: ignore=wrong-type\ndat: 1", 1),
        ("# smp-lint: ignore=unknown-field\n\ndat: 1", 1),
    ],
)
def test_a_comment_takes_back_what_is_on_its_line_or_below(
    comment: str, exit_code: int
) -> None:
    ran = lint(f"{CONFIG_MAP}{comment}\n")
    assert ran.exit_code == exit_code


def test_what_cannot_be_read_leaves_the_others_alone(directory: Path) -> None:
    folder = directory / "folder"
    folder.mkdir()
    (folder / "a.yaml").write_text(f"{CONFIG_MAP}dat: 1\n")
    (folder / "b.yaml").write_text("apiVersion: v1\nkind: {{ .Values.kind }}\n")
    (folder / "values.yaml").write_text("image: b\n")
    (folder / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    ran = run("lint", "folder")
    assert ran.exit_code == 3
    assert codes(ran) == ["4:1:unknown-field"]
    assert "it looks like a template" in ran.stderr
    assert "skipped 2 documents" in ran.stderr
    assert run("lint", "folder/b.yaml").exit_code == 2
    assert run("lint", "missing.yaml", "folder/a.yaml").exit_code == 3


def test_several_processes_print_what_one_prints(directory: Path) -> None:
    maps = [
        CONFIG_MAP.replace("name: a", f"name: a{number}")
        + f"dat: {number}\ndata: {{a: {'x' * 10_000}}}\n"
        for number in range(300)
    ]
    (directory / "many.yaml").write_text("---\n".join(maps))
    one = run("lint", "many.yaml", "--jobs", "1")
    two = run("lint", "many.yaml", "--jobs", "2")
    assert len(codes(one)) == 300
    assert (one.stdout, one.stderr) == (two.stdout, two.stderr)


def test_values_of_a_secret_are_not_shown() -> None:
    manifest = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
        "data: {pin: 73519}\nstringdata: {pin: '73519'}\n"
    )
    for form in ("", "json", "sarif", "junit", "markdown", "html"):
        ran = lint(manifest, *(("--format", form) if form else ()))
        assert ran.exit_code == 1
        assert "73519" not in ran.output
    operations = (
        '[{"op": "test", "path": "/data/pin", "value": 73519}, '
        '{"op": "add", "path": "/data/pin", "value": 73519}]'
    )
    ran = lint(operations, "--kind", "secret")
    assert codes(ran) == ["1:38:wrong-type", "1:90:wrong-type"]
    assert "73519" not in ran.output


def test_other_formats_have_all_findings() -> None:
    records = as_list(json.loads(run("lint", str(SAMPLE), "--format", "json").stdout))
    found = [
        as_object(finding)["code"]
        for record in records
        for finding in as_list(as_object(record)["findings"])
    ]
    assert "missing-merge-key" in found
    sarif = as_object(json.loads(run("lint", str(SAMPLE), "--format", "sarif").stdout))
    (results,) = [as_object(entry)["results"] for entry in as_list(sarif["runs"])]
    assert len(as_list(results)) == len(found)
    assert lint(CONFIG_MAP, "--format", "json", "-q").output == ""
    for form in ("junit", "markdown", "html"):
        assert "missing-merge-key" in run("lint", str(SAMPLE), "--format", form).stdout


def orders(tmp_path: Path, *counts: int) -> list[str]:
    """Write a definition with six rules, and objects; return the arguments."""
    rules = ", ".join(f"{{rule: self.count != {number}}}" for number in range(3, 9))
    definitions, objects = tmp_path / "definitions", tmp_path / "objects"
    for folder in (definitions, objects):
        folder.mkdir()
    (definitions / "a.yaml").write_text(ORDERS.replace("RULES", rules))
    for count in counts:
        text = ORDER.replace("COUNT", str(count))
        (objects / f"{count}.yaml").write_text(text)
    return ["--crd", str(definitions), "--as", "manifest", str(objects)]


def test_custom_resources_are_judged_by_their_definitions(tmp_path: Path) -> None:
    ran = run("lint", *orders(tmp_path, 1, 3, 10))
    assert codes(ran) == ["4:8:invalid-value", "4:1:invalid-value"]
    assert "should be less than or equal to 9" in ran.stdout
    assert "failed rule: self.count != 3" in ran.stdout
    assert "not checked" not in ran.stderr
    assert ran.exit_code == 1


def test_rules_that_were_not_checked_are_counted_once_for_each_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_expressions, "cel", None)
    arguments = [*orders(tmp_path, 1, 3), "--jobs", "1"]
    page = (DOCS / "accepted.md").read_text()
    shown = re.search(r"^smp: warning: .*$", page, re.MULTILINE)
    assert shown
    ran = run("lint", *arguments)
    assert ran.exit_code == 0
    assert ran.stderr.splitlines()[0] == shown[0]
    assert ran.stderr.count("not checked") == 1
    strict = run("lint", *arguments, "--strict")
    assert strict.exit_code == 3
    assert shown[0] in strict.stderr


@pytest.mark.parametrize("command", ["apply", "diff", "explain"])
def test_other_commands_say_what_was_not_checked(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_expressions, "cel", None)
    *given, folder = orders(tmp_path, 1, 3)
    options = given[:2] if command == "explain" else [*given[:2], "--jobs", "1"]
    paths = [folder, folder] if command == "diff" else ["-f", folder]
    ran = run(command, *options, *paths)
    assert ran.exit_code == 0
    assert ran.stderr.count("not checked") == 1
    assert "smp: warning: example.com/v1 Order: 6 rules were not checked" in ran.stderr
    if command != "explain":
        assert run(command, *options, *paths, "--strict").exit_code == 3


BROKEN = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: orders.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Order, plural: orders}
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
              tags:
                type: array
                x-kubernetes-list-type: map
              count:
                type: integer
                minLength: -1
                x-kubernetes-validations:
                - rule: self < 'a'
"""


def test_definitions_are_judged_where_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    ran = run("lint", str(path))
    assert ran.exit_code == 1
    # Two of them are about the elements that the list does not have.
    assert codes(ran) == ["19:15:invalid-value"] * 3
    # Rules are compiled where all else is right.
    path.write_text(
        BROKEN.replace("x-kubernetes-list-type: map", "items: {type: string}")
    )
    ran = run("lint", str(path))
    assert codes(ran) == ["26:19:invalid-value"]
    assert "found no matching overload for '_<_'" in ran.stdout


def test_rules_of_a_definition_are_counted_without_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_expressions, "cel", None)
    path = tmp_path / "broken.yaml"
    path.write_text(
        BROKEN.replace("x-kubernetes-list-type: map", "items: {type: string}")
    )
    ran = run("lint", str(path), "--jobs", "1")
    assert ran.exit_code == 0
    assert "example.com/v1 Order: 1 rule was not checked" in ran.stderr
    assert run("lint", str(path), "--jobs", "1", "--strict").exit_code == 3


def test_findings_name_the_elements_of_keyed_lists_and_the_others_by_index() -> None:
    text = DEPLOYMENT.replace(
        "- {name: app, image: a}",
        "- {name: b, image: a, ports: [{containerPort: 0}]}\n"
        "      - {name: app, image: a, volumeMounts: [{name: zz, mountPath: /a}]}",
    )
    Path("web.yaml").write_text(text)
    spec = "spec.template.spec.containers"
    assert re.findall(r"value: ([^ ]*):", run("lint", "web.yaml").stdout) == [
        f"{spec}[name=b].ports[containerPort=0].containerPort",
        f"{spec}[name=app].volumeMounts[mountPath=/a].name",
    ]


def test_a_time_that_a_server_cannot_read_is_an_error() -> None:
    # As kube-apiserver 1.36.3 answers it.
    text = 'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon"'
    Path("a.yaml").write_text(CONFIG_MAP.replace("a}", "a, creationTimestamp: soon}"))
    ran = run("lint", "a.yaml")
    assert ran.exit_code == 1
    assert f'an API server refuses it: {text} as "2006"' in ran.stdout


def test_findings_of_a_definition_name_the_elements_of_keyed_lists() -> None:
    """Also in the values of a map."""
    size: JSONObject = {"type": "integer", "maximum": 3}
    properties: JSONObject = {"name": {"type": "string"}, "size": size}
    keyed: JSONObject = {
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": ["name"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    parts: JSONObject = {"type": "object", "properties": {"parts": keyed}}
    defined = definition_of(
        "Order", {"v1": {"type": "object", "additionalProperties": parts}}
    )
    elements: JSON = [{"name": "a", "size": 1}, {"name": "b", "size": 9}]
    obj = {
        "apiVersion": "example.com/v1",
        "kind": "Order",
        "metadata": {"name": "a"},
        "spec": {"x": {"parts": elements}},
    }
    Path("crd.json").write_text(json.dumps(defined))
    Path("order.json").write_text(json.dumps(obj))
    ran = run("lint", "order.json", "--crd", "crd.json")
    assert "value: spec.x.parts[name=b].size: " in ran.stdout
