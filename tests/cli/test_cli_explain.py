"""``smp explain``, and shell completion."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.command import process, run, values


def test_a_field_is_shown_with_the_fields_below_it() -> None:
    shown = run("explain", "apps/v1", "Deployment", "spec.template.spec.volumes").stdout
    assert (
        "type:         list of Volume\n"
        "strategy:     merge,retainKeys\n"
        "merge key:    name\n" in shown
    )
    assert re.search(r"^emptyDir +EmptyDirVolumeSource$", shown, re.MULTILINE)


def test_merge_keys_and_map_keys_are_shown_separately() -> None:
    path = "spec.containers[name=app].ports"
    answer = json.loads(run("explain", "v1", "Pod", path, "-o", "json").stdout)
    assert answer["merge_key"] == "containerPort"
    assert answer["map_keys"] == ["containerPort", "protocol"]
    rows = {row["field"]: row for row in answer["fields"]}
    assert rows["containerPort"]["type"] == "integer"


def test_a_whole_kind_a_map_and_a_scalar_are_shown() -> None:
    kind = run("explain", "v1", "ConfigMap").stdout
    assert re.search(r"^data +map of string$", kind, re.MULTILINE)
    map_ = run("explain", "v1", "ConfigMap", "data").stdout
    assert re.search(r"^\* +string$", map_, re.MULTILINE)
    scalar = run("explain", "v1", "Pod", "spec.nodeName").stdout
    assert "FIELD" not in scalar


def test_the_values_of_an_enum_are_shown_the_empty_string_in_quotes() -> None:
    shown = run("explain", "v1", "Pod", "spec.containers.ports.protocol").stdout
    assert "enum:         SCTP, TCP, UDP\n" in shown
    row = run("explain", "v1", "Pod", "spec.volumes.hostPath").stdout
    assert re.search(r'^type +string +"", BlockDevice, ', row, re.MULTILINE)
    path = "spec.accessModes"
    answer = run("explain", "v1", "PersistentVolumeClaim", path, "-o", "json").stdout
    assert "ReadWriteOncePod" in json.loads(answer)["enum"]


def test_the_facts_can_be_printed_as_yaml() -> None:
    [facts] = values(run("explain", "v1", "ConfigMap", "-o", "yaml").stdout)
    assert isinstance(facts, dict)
    assert facts["kind"] == "ConfigMap"


def test_a_union_is_shown_with_its_members() -> None:
    path = "spec.strategy"
    shown = run("explain", "apps/v1", "Deployment", path).stdout
    expected = (
        "union:        type: RollingUpdate -> rollingUpdate (optional), Recreate ["
    )
    assert expected in shown
    facts = json.loads(
        run("explain", "apps/v1", "Deployment", path, "-o", "json").stdout
    )
    [union] = facts["unions"]
    assert union["discriminator"] == "type"
    assert union["members"] == {"rollingUpdate": "RollingUpdate"}
    assert union["no_member"] == ["Recreate"]


def test_an_unknown_field_is_reported_with_similar_names() -> None:
    ran = run("explain", "apps/v1", "Deployment", "spec.tempate.spec")
    assert ran.exit_code == 2
    assert ran.stderr.endswith(
        "  path:   spec.tempate\n"
        "  hint:   did you mean template?\n"
        "  hint:   --kubernetes VERSION selects another version of the API\n"
    )
    assert "did you mean spec?" in run("explain", "v1", "Pod", "spce").stderr
    assert "did you mean" not in run("explain", "v1", "Pod", "zzz").stderr
    assert run("explain", "v1", "Pod", "[0]").exit_code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_click_prints_the_completion_script(shell: str) -> None:
    script = process(_SMP_COMPLETE=f"{shell}_source").stdout
    assert f"_SMP_COMPLETE={shell}_complete" in script


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("smp ex", "explain"),
        ("smp explain apps/", "apps/v1"),
        ("smp explain apps/v1 Deplo", "Deployment"),
        ("smp explain apps/v1 Deployment spec.te", "spec.template"),
        ("smp explain v1 Pod sp", "spec"),
        ("smp explain --kubernetes 1.3", "1.33"),
        ("smp diff --live li", "file,li"),
    ],
)
def test_completion_offers_names_from_the_schemas(words: str, expected: str) -> None:
    shown = process(
        COMP_WORDS=words,
        COMP_CWORD=str(words.count(" ")),
        _SMP_COMPLETE="bash_complete",
    ).stdout
    assert any(expected in line for line in shown.splitlines())


@pytest.mark.parametrize(
    "words",
    [
        "smp explain nope/v1 Nope sp",
        "smp explain v1 Pod spec.nope.",
        "smp explain --kubernetes 0.1 v",
    ],
)
def test_completion_of_unknown_names_offers_nothing(words: str) -> None:
    ran = process(
        COMP_WORDS=words,
        COMP_CWORD=str(words.count(" ")),
        _SMP_COMPLETE="bash_complete",
    )
    assert (ran.stdout.strip(), ran.stderr) == ("", "")
