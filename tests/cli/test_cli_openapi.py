"""``smp openapi``: conversion, pruning and generation, driven through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from smp.cli._main import cli

DATA = Path(__file__).parents[1] / "data" / "cli"


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, input=given)


def test_convert_keeps_what_matters_both_ways() -> None:
    there = run("openapi", "convert", str(DATA / "openapi.json"), "--to", "v3")
    back = run("openapi", "convert", "-", "--to", "v2", given=there.stdout)
    assert there.exit_code == back.exit_code == 0
    assert json.loads(there.stdout)["openapi"].startswith("3.")
    assert (
        json.loads(back.stdout)["definitions"]
        == json.loads((DATA / "openapi.json").read_text())["definitions"]
    )


def test_convert_names_what_it_loses() -> None:
    document = {
        "swagger": "2.0",
        "info": {"title": "t", "version": "1"},
        "paths": {},
        "schemes": ["https"],
    }
    converted = run("openapi", "convert", "-", "--to", "v3", given=json.dumps(document))
    assert converted.exit_code == 0
    assert "smp: not converted: schemes, 1 time\n" in converted.stderr


def test_prune_enums_drops_the_listing_too() -> None:
    field = {
        "type": "string",
        "enum": ["A"],
        "description": 'Which.\n\nPossible enum values:\n - `"A"`',
    }
    document = {"definitions": {"t": {"type": "object", "properties": {"f": field}}}}
    pruned = run("openapi", "prune-enums", "-", given=json.dumps(document))
    assert json.loads(pruned.stdout)["definitions"]["t"]["properties"] == {
        "f": {"type": "string", "description": "Which."}
    }


def test_generate_writes_the_extension_of_the_profile() -> None:
    generated = run("openapi", "generate", str(DATA / "types.go"))
    payment = json.loads(generated.stdout)["components"]["schemas"]["v1.Payment"]
    assert (
        payment["properties"]["type"]["x-kubernetes-unions"]["fieldMembers"]["Cash"]
        is None
    )
    older = run("openapi", "generate", str(DATA / "types.go"), "--to", "v2")
    assert "v1.Payment" in json.loads(older.stdout)["definitions"]


def test_generate_names_file_and_line_of_a_misused_marker(tmp_path: Path) -> None:
    source = tmp_path / "bad.go"
    source.write_text(
        'package v1\n\ntype T struct {\n\t// +unionDiscriminator\n\tN int `json:"n"`\n}\n'
    )
    refused = run("openapi", "generate", str(source))
    assert refused.exit_code == 2
    assert f"{source}:" in refused.stderr


def test_what_is_generated_drives_a_patch(tmp_path: Path) -> None:
    schema = tmp_path / "shop.json"
    schema.write_text(run("openapi", "generate", str(DATA / "types.go")).stdout)
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
        given=json.dumps(live),
    )
    assert json.loads(patched.stdout)["spec"]["counters"] == [
        {"name": "a"},
        {"name": "b", "clerk": "Ann"},
    ]


@pytest.mark.parametrize("command", ["convert", "prune-enums"])
def test_what_is_no_openapi_is_an_error(command: str) -> None:
    options = ("--to", "v3") if command == "convert" else ()
    refused = run("openapi", command, "-", *options, given="[1]")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("smp: error: ")
