"""``smp openapi``: conversion, pruning and generation, driven through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import run


def test_convert_to_v3_and_back_keeps_the_definitions() -> None:
    there = run("openapi", "convert", "openapi.json", "--to", "v3")
    back = run("openapi", "convert", "-", "--to", "v2", stdin=there.stdout)
    assert there.exit_code == back.exit_code == 0
    assert json.loads(there.stdout)["openapi"].startswith("3.")
    assert (
        json.loads(back.stdout)["definitions"]
        == json.loads(Path("openapi.json").read_text())["definitions"]
    )


def test_convert_names_what_it_cannot_convert() -> None:
    document = {
        "swagger": "2.0",
        "info": {"title": "t", "version": "1"},
        "paths": {},
        "schemes": ["https"],
    }
    converted = run("openapi", "convert", "-", "--to", "v3", stdin=json.dumps(document))
    assert converted.exit_code == 0
    assert "smp: not converted: schemes, 1 time\n" in converted.stderr


def test_prune_enums_removes_enums_and_their_descriptions() -> None:
    field = {
        "type": "string",
        "enum": ["A"],
        "description": 'Which.\n\nPossible enum values:\n - `"A"`',
    }
    document = {"definitions": {"t": {"type": "object", "properties": {"f": field}}}}
    pruned = run("openapi", "prune-enums", "-", stdin=json.dumps(document))
    assert json.loads(pruned.stdout)["definitions"]["t"]["properties"] == {
        "f": {"type": "string", "description": "Which."}
    }


def test_generate_writes_the_extension_of_the_profile() -> None:
    generated = run("openapi", "generate", "types.go")
    payment = json.loads(generated.stdout)["components"]["schemas"]["v1.Payment"]
    assert (
        payment["properties"]["type"]["x-kubernetes-unions"]["fieldMembers"]["Cash"]
        is None
    )
    older = run("openapi", "generate", "types.go", "--to", "v2")
    assert "v1.Payment" in json.loads(older.stdout)["definitions"]


def test_generate_reports_a_misused_marker_with_its_file(tmp_path: Path) -> None:
    source = tmp_path / "bad.go"
    source.write_text(
        "package v1\n\n"
        'type T struct {\n\t// +unionDiscriminator\n\tN int `json:"n"`\n}\n'
    )
    failed = run("openapi", "generate", str(source))
    assert failed.exit_code == 2
    assert f"{source}:" in failed.stderr


def test_generate_says_that_a_directory_has_no_go_files(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    failed = run("openapi", "generate", str(empty))
    assert failed.exit_code == 2
    assert "there is no Go file in the directory" in failed.stderr
    assert f"{empty}\n" in failed.stderr


def test_a_generated_document_describes_a_kind_for_patch(tmp_path: Path) -> None:
    schema = tmp_path / "shop.json"
    schema.write_text(run("openapi", "generate", "types.go").stdout)
    head = {
        "apiVersion": "shop.example.com/v1",
        "kind": "Shop",
        "metadata": {"name": "s"},
    }
    live = {
        **head,
        "spec": {
            "counters": [{"name": "a"}, {"name": "b"}],
            "payment": {"type": "Cash"},
        },
    }
    patch = '{"spec":{"counters":[{"name":"b","clerk":"Ann"}]}}'
    patched = run(
        "patch",
        "-",
        "-p",
        patch,
        "--openapi",
        str(schema),
        "-o",
        "json",
        stdin=json.dumps(live),
    )
    assert json.loads(patched.stdout)["spec"]["counters"] == [
        {"name": "a"},
        {"name": "b", "clerk": "Ann"},
    ]


@pytest.mark.parametrize("command", ["convert", "prune-enums"])
def test_a_document_other_than_openapi_is_an_error(command: str) -> None:
    options = ("--to", "v3") if command == "convert" else ()
    failed = run("openapi", command, "-", *options, stdin="[1]")
    assert failed.exit_code == 2
    assert failed.stderr.startswith("smp: error: ")


def test_generate_prints_every_problem_on_its_line() -> None:
    Path("two.go").write_text(
        "package v1\n\n"
        "type T struct {\n"
        "\t// +listType=sorted\n"
        '\tA []string `json:"a"`\n'
        "\t// +listType=sorted\n"
        '\tB []string `json:"b"`\n'
        "}\n"
    )
    ran = run("openapi", "generate", "two.go")
    assert ran.exit_code == 2
    first, second, third, *_ = ran.stderr.splitlines()
    assert first == "smp: error: 2 problems"
    assert "two.go:4" in second
    assert "two.go:6" in third
