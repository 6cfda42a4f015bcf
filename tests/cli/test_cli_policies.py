"""``--policies`` of lint and apply: what a kube-apiserver said of the same objects.

tests/data/apiserver/admission.jsonl has its answers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.record.policies import change, malformed
from tests.support import admission
from tests.support.command import run

CASES: Final = {case["name"]: case for case in admission.cases()}
# A server knows the namespaces, and in a file they stand beside the policies.
NAMESPACE: Final = admission.world()[0]
# Not of one object that is created in the namespace: of a name, of what is asked for.
EVALUATED: Final = [
    "a policy denies",
    "a policy of another team",
    "failures of a policy are ignored",
    "a policy warns and notes",
    "reasons and messages",
    "conditions of a policy",
    "parameters by name",
    "parameters by a selector",
    "an apply of what is atomic",
    "an apply of what is unknown",
    "a policy that mutates by an apply",
    "a policy that mutates by a patch",
    "a mutation that fails and is ignored",
]


def _write(folder: Path, name: str, objects: list[Any]) -> str:
    path = folder / name
    # As JSON, as YAML has two opinions about y.
    path.write_text("\n---\n".join(json.dumps(obj) for obj in objects))
    return str(path)


def _in_shop(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "namespace": "shop"}}


@pytest.mark.parametrize("name", EVALUATED)
def test_a_manifest_is_judged_as_by_a_kube_apiserver(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    policies = _write(tmp_path, "policies.yaml", [NAMESPACE, *case["objects"]])
    answers = admission.recorded()[name]["answers"]
    for request, answer in zip(case["requests"], answers, strict=True):
        if request["method"] != "POST":
            continue
        new = _write(tmp_path, "new.yaml", [_in_shop(request["body"])])
        linted = run("lint", new, "--policies", policies, "--as", "manifest")
        applied = run("apply", "-f", new, "--policies", policies, "--defaults")
        message = answer["body"].get("message", "").partition("is forbidden: ")[2]
        message = message or answer["body"].get("message", "")
        assert linted.exit_code == (answer["code"] != 201 or bool(answer["warnings"]))
        assert applied.exit_code == (2 if answer["code"] != 201 else 0)
        assert message in linted.stdout
        assert message in applied.stderr
        for warning in answer["warnings"]:
            assert warning.removeprefix('299 - "').removesuffix('"') in linted.stdout
        if answer["code"] == 201:
            after = yaml.safe_load(applied.stdout)
            stored = answer["body"]
            assert after["metadata"].get("labels") == stored["metadata"].get("labels")
            containers = stored.get("spec", {}).get("containers")
            assert after.get("spec", {}).get("containers") == containers


UNKNOWN: Final = [
    ("object.data.mode == 'x'", {"namespaceSelector": {"matchLabels": {"a": "b"}}}),
    ("namespaceObject.metadata.name == 'shop'", {}),
    ("request.userInfo.username == 'admin'", {}),
    ("authorizer.group('').resource('pods').check('get').allowed()", {}),
    ("variables.team == 'a'", {}),
]


def test_what_cannot_be_known_is_neither_passed_nor_denied(tmp_path: Path) -> None:
    # The binding of the case selects namespaces: here it selects all.
    policy, binding = CASES["a policy denies"]["objects"]
    new = _write(
        tmp_path, "new.yaml", [_in_shop(CASES[EVALUATED[0]]["requests"][0]["body"])]
    )
    for expression, resources in UNKNOWN:
        spec = {
            **policy["spec"],
            "variables": [
                {"name": "team", "expression": "namespaceObject.metadata.labels.team"}
            ],
            "validations": [{"expression": expression}],
        }
        bound = {**binding["spec"], "matchResources": resources}
        objects = [{**policy, "spec": spec}, {**binding, "spec": bound}]
        policies = _write(tmp_path, "policies.yaml", objects)
        linted = run("lint", new, "--policies", policies)
        assert linted.stdout.count("warning: unknown-to-policy: ") == 1, expression
        assert linted.exit_code == 1
        assert run("lint", new, "--severity", "error").exit_code == 0


def test_what_a_server_does_not_store_is_an_error_with_its_place_and_not_evaluated(
    tmp_path: Path,
) -> None:
    """malformed_policies.jsonl has what a kube-apiserver refuses."""
    bases, changes = malformed()
    objects = [change(bases, each) for each in changes]
    policies = _write(tmp_path, "policies.yaml", [*objects, *bases])
    new = _write(tmp_path, "new.yaml", [CASES[EVALUATED[0]]["requests"][0]["body"]])
    ran = run("lint", new, "--policies", policies)
    # A document has one line, and one with dashes is before it.
    told = {int(line) for line in re.findall(r"policies.yaml:(\d+)", ran.stderr)}
    wrong = [
        each
        for number, each in enumerate(changes)
        if bool(each["message"]) != (2 * number + 1 in told)
    ]
    assert not wrong
    assert ran.exit_code == 3
    # A policy that is not evaluated denies nothing.
    refused = [each for each in changes if each["path"] == ["spec", "variables"]]
    obj = change(bases, refused[-1])
    obj["spec"]["validations"] = [{"expression": "false"}]
    policies = _write(tmp_path, "policies.yaml", [obj, *bases])
    ran = run("lint", new, "--policies", policies)
    assert "denied-by-policy" not in ran.stdout
    assert "policies.yaml:1" in ran.stderr


def test_a_file_without_a_policy_in_force_is_an_error(tmp_path: Path) -> None:
    policies = _write(
        tmp_path, "policies.yaml", CASES["a policy denies"]["objects"][:1]
    )
    ran = run("lint", policies, "--policies", policies)
    assert "there is no policy with a binding in" in ran.stderr
    assert ran.exit_code == 2
