"""``smp blame``: the managers of each field, on objects of a real kube-apiserver."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from smp._values.values import JSONObject, as_list, as_object
from smp.documents import dump_yaml, read
from tests.record.owned import OWNED
from tests.support.command import config_map, run


@pytest.fixture(autouse=True)
def owned(directory: Path) -> Path:
    """Copy the dump of the objects."""
    return Path(shutil.copy(OWNED, directory / "owned.yaml"))


def objects() -> list[JSONObject]:
    return [as_object(document.value) for document in read(OWNED.read_bytes())]


def managed(obj: JSONObject, *entries: JSONObject) -> str:
    """Write an object with these entries of managedFields as a line of JSON."""
    metadata = {**as_object(obj["metadata"]), "managedFields": [*entries]}
    return json.dumps({**obj, "metadata": metadata}) + "\n"


def entry(manager: str, **fields: JSONObject) -> JSONObject:
    document = {f"f:{name}": fields[name] for name in fields}
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {**document},
    }


def test_each_line_is_behind_its_owners() -> None:
    shown = run("blame", "owned.yaml", "--include-kind", "deploy")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0] == "# apps/v1 Deployment default/web"
    assert (
        "  alice       Apply           2026-01-01T00:00:00Z |     app: web\n"
        "+ bob         Apply           2026-01-01T00:00:01Z |\n"
        "  bob         Apply           2026-01-01T00:00:01Z |     team: b\n"
    ) in shown.stdout
    # A write through /scale has no time.
    assert "  scaler      Update  scale                        |   replicas: 5" in lines
    unowned = f"{'  no manager':51}|   progressDeadlineSeconds: 600"
    assert unowned in lines
    assert f"{' ' * 51}| kind: Deployment" in lines
    # A text of several lines belongs to its owner with each line.
    bob = "  bob         Apply           2026-01-01T00:00:01Z |"
    text = [f"{bob}           value: |", f"{bob}             one"]
    start = lines.index(text[0])
    assert lines[start : start + 2] == text
    path = "spec.template.spec.containers[name=app].env[name=A].value"
    assert lines[-1].endswith(f" | # not in the object: {path}")


def test_the_lines_are_those_of_the_object() -> None:
    shown = run("blame", "owned.yaml", "--show-secrets")
    printed: list[str] = []
    for line in shown.stdout.splitlines():
        _, bar, text = line.partition("|")
        # An owner has nothing behind its line where it is not the first.
        if bar and not line.startswith("+ ") and "# not in the object" not in text:
            printed.append(text.removeprefix(" "))
        elif line == "---":
            printed.append(line)
    expected = []
    for obj in objects():
        metadata = {**as_object(obj["metadata"])}
        del metadata["managedFields"]
        expected.append({**obj, "metadata": metadata})
    assert "\n".join([*printed, ""]) == dump_yaml(expected)


def test_elements_of_sets_and_lists_with_several_keys_have_their_owners() -> None:
    shown = run("blame", "owned.yaml", "--include-kind", "Every").stdout
    alice = "  alice       Apply  2026-01-01T00:00:00Z |"
    bob = "  bob         Apply  2026-01-01T00:00:01Z |"
    also_bob = f"+ {bob[2:]}"
    assert (
        f"{' ' * 42}|   texts:\n{alice}   - a\n{alice}   - b\n{also_bob}\n{bob}   - c\n"
    ) in shown
    assert f"{alice}   - port: 1\n{'  no manager':42}|     protocol: TCP\n" in shown
    assert f"{alice}   - port: 1\n{also_bob}\n{alice}     protocol: UDP\n" in shown


def test_the_values_of_secrets_are_masked() -> None:
    for output in ("yaml", "report", "json"):
        shown = run("blame", "owned.yaml", "--include-kind", "secret", "-o", output)
        assert "c2VjcmV0" not in shown.output
    shown = run("blame", "owned.yaml", "--include-kind", "secret")
    assert "creator  Update  2026-01-01T00:00:01Z |   key: '***'\n" in shown.stdout
    shown = run("blame", "owned.yaml", "--include-kind", "secret", "--show-secrets")
    assert "|   key: c2VjcmV0\n" in shown.stdout


def test_the_report_has_managers_and_paths() -> None:
    shown = run("blame", "owned.yaml", "-o", "report", "--include-kind", "secret")
    assert shown.stdout == (
        "v1 Secret default/password: 2 managers\n"
        "  alice    Apply   2026-01-01T00:00:00Z  1 field\n"
        "  creator  Update  2026-01-01T00:00:01Z  3 fields\n"
        "    data: creator (Update)\n"
        "    data.key: creator (Update)\n"
        "    data.more: alice (Apply)\n"
        "    type: creator (Update)\n"
        "\n"
        "1 object: 1 with managed fields\n"
    )


def test_records_have_fields_owners_and_what_no_manager_owns() -> None:
    shown = run("blame", "owned.yaml", "--format", "json", "--include-kind", "deploy")
    [record] = json.loads(shown.stdout)
    identity = ("apiVersion", "kind", "namespace", "name", "file")
    assert [record[name] for name in identity] == [
        "apps/v1",
        "Deployment",
        "default",
        "web",
        "owned.yaml:1",
    ]
    fields = {field["path"]: field["owners"] for field in record["fields"]}
    assert fields["spec.replicas"] == [
        {
            "manager": "scaler",
            "operation": "Update",
            "apiVersion": "apps/v1",
            "subresource": "scale",
            "time": "",
        }
    ]
    path = "spec.template.spec.containers[name=app]"
    assert [owner["manager"] for owner in fields[path]] == ["alice", "bob"]
    # What is in an atomic list is not listed.
    assert f"{path}.args" in fields
    assert not any(field.startswith(f"{path}.args[") for field in fields)
    assert "spec.strategy" in record["unowned"]
    assert "spec.strategy.type" not in record["unowned"]
    assert "metadata.uid" not in record["unowned"]
    [absent] = record["absent"]
    assert absent["path"] == f"{path}.env[name=A].value"


def paths(*arguments: str) -> list[str]:
    """Return the paths that are shown of the Deployment, with or without owners."""
    shown = run(
        "blame",
        "owned.yaml",
        "--format",
        "json",
        "--include-kind",
        "deploy",
        *arguments,
    )
    assert shown.exit_code == 0
    records = json.loads(shown.stdout)
    return [
        *(
            field["path"].removeprefix("spec.template.spec.containers")
            for record in records
            for field in (*record["fields"], *record["absent"])
        ),
        *(path for record in records for path in record["unowned"]),
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("spec.replicas", ["spec.replicas"]),
        ("metadata.annotations", ["metadata.annotations", "metadata.annotations.note"]),
        (
            "metadata.finalizers[=example.com/a]",
            ["metadata.finalizers[=example.com/a]"],
        ),
        (
            "spec.template.spec.containers.image",
            ["[name=app].image", "[name=side].image"],
        ),
        (
            "spec.template.spec.containers[*].image",
            ["[name=app].image", "[name=side].image"],
        ),
        ("spec.template.spec.containers[name=side].image", ["[name=side].image"]),
        ("spec.template.spec.containers[1].image", ["[name=side].image"]),
        (
            "spec.template.spec.containers.env[name=A]",
            [
                "[name=app].env[name=A]",
                "[name=app].env[name=A].name",
                "[name=app].env[name=A].value",
            ],
        ),
        ("spec.*.app", []),
        ("spec.strategy.type", ["spec.strategy.type"]),
    ],
)
def test_a_path_selects(path: str, expected: list[str]) -> None:
    assert paths("--path", path) == expected


def test_managers_and_what_no_manager_owns_are_selected() -> None:
    assert paths("--manager", "scaler") == ["spec.replicas"]
    both = paths("--manager", "scaler", "--manager", "carol")
    assert both == [
        "metadata.annotations",
        "metadata.annotations.note",
        "spec.replicas",
        "spec.paused",
    ]
    unowned = paths("--unowned")
    assert "spec.strategy" in unowned
    assert "spec.replicas" not in unowned
    assert paths("--unowned", "--path", "spec.replicas") == []
    assert paths("--unowned", "--manager", "scaler") == ["spec.replicas", *unowned]


def test_what_selects_nothing_is_noted() -> None:
    shown = run("blame", "owned.yaml", "--path", "spec.replica")
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert shown.stderr == "smp: note: no field is selected\n"
    shown = run("blame", "owned.yaml", "--path", "spec..x")
    assert shown.exit_code == 2
    assert "Invalid value for '--path': not a path: 'spec..x'" in shown.stderr


def test_inputs_are_those_of_the_other_commands(directory: Path) -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": [*objects()]}
    text = json.dumps(items)
    from_list = run("blame", "-", stdin=text)
    assert from_list.stdout == run("blame", "owned.yaml").stdout
    assert from_list.stderr == "smp: 3 objects: 3 with managed fields\n"
    (directory / "dumps").mkdir()
    shutil.copy(OWNED, directory / "dumps" / "a.yaml")
    assert run("blame", "dumps").stdout == from_list.stdout
    assert run("blame", "dumps", "owned.yaml").stdout.count("kind: Every") == 2
    assert run("blame", "missing.yaml").exit_code == 2
    assert run("blame").exit_code == 2
    assert run("blame", "owned.yaml", "-n", "other").stdout == ""
    assert run("blame", "owned.yaml", "-l", "team=b").stdout.count("\n# ") == 0


def test_an_object_without_managed_fields_is_warned_of(directory: Path) -> None:
    (directory / "plain.json").write_text(config_map(x="1"))
    shown = run("blame", "plain.json")
    assert shown.exit_code == 0
    assert "no manager | data:\n" in shown.stdout
    assert shown.stderr == (
        "smp: warning: v1 ConfigMap a: it has no managedFields; kubectl get prints "
        "them with --show-managed-fields\n"
    )
    shown = run("blame", "plain.json", "--strict")
    assert shown.exit_code == 1


def test_an_entry_that_cannot_be_read_leaves_the_rest(directory: Path) -> None:
    obj: JSONObject = json.loads(config_map(x="1", y="2"))
    broken: JSONObject = {**entry("bad"), "fieldsV1": {"y": {}}}
    text = managed(obj, entry("good", data={"f:x": {}}), broken) + config_map("b")
    (directory / "broken.json").write_text(text)
    shown = run("blame", "broken.json")
    assert shown.exit_code == 0
    assert "good        Update |   x: '1'\n" in shown.stdout
    assert "no manager         |   'y': '2'\n" in shown.stdout
    assert (
        "smp: warning: v1 ConfigMap a: metadata.managedFields[1].fieldsV1: 'y' is not "
        "a path element: f:, k:, v: or i: is expected\n"
    ) in shown.stderr
    assert "smp: 2 objects: 1 with managed fields, 1 without managed fields\n" in (
        shown.stderr
    )
    assert run("blame", "broken.json", "--strict").exit_code == 1
    [first, _] = json.loads(run("blame", "broken.json", "--format", "json").stdout)
    [warning] = first["warnings"]
    assert warning.startswith("metadata.managedFields[1].fieldsV1: ")


def test_managed_fields_are_printed_on_demand() -> None:
    shown = run("blame", "owned.yaml", "--include-kind", "secret")
    assert "managedFields" not in shown.stdout
    shown = run(
        "blame", "owned.yaml", "--include-kind", "secret", "--show-managed-fields"
    )
    assert re.search(r"^ +\|   managedFields:$", shown.stdout, re.MULTILINE)


def test_colours_tell_owners_from_what_no_manager_owns() -> None:
    shown = run(
        "blame", "owned.yaml", "--path", "spec.paused", "--color", "always"
    ).stdout
    assert "\x1b[36mcarol  Update  2026-01-01T00:00:03Z\x1b[0m |   paused: true\n" in (
        shown
    )
    shown = run(
        "blame", "owned.yaml", "--path", "spec.strategy.type", "--color", "always"
    ).stdout
    assert "\x1b[33mno manager\x1b[0m |     type: RollingUpdate\n" in shown


def test_a_manager_cannot_write_to_the_terminal(directory: Path) -> None:
    obj: JSONObject = json.loads(config_map(x="1"))
    (directory / "bad.json").write_text(managed(obj, entry("a\x1b[2J", data={})))
    for output in ("yaml", "report"):
        shown = run("blame", "bad.json", "-o", output)
        assert "\x1b" not in shown.output
        assert "a\\x1b[2J" in shown.stdout


def test_the_dump_has_all_types_of_path_elements() -> None:
    texts = {
        text[:2]
        for obj in objects()
        for item in as_list(as_object(obj["metadata"])["managedFields"])
        for text in re.findall(r'"([fkv]:)', json.dumps(item))
    }
    assert texts == {"f:", "k:", "v:"}
