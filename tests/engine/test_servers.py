"""What a kube-apiserver answers to the patches of three-way applies, as recorded.

tests/record/answers.py records the answers; here the same applies are computed again.
"""

from __future__ import annotations

import json
from functools import cache
from http import HTTPStatus

import pytest

import smp
from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_object, same
from smp.handler import STRATEGIC, Accepted, Options, Refused, patch
from tests.support.paths import DATA

NOT_NORMALIZED = "not-normalized"
STRICT_DECODING = "strict-decoding"


@cache
def recorded() -> dict[str, JSONObject]:
    """Return the rows by name; the first line says which server answered."""
    _, *rows = (DATA / "servers" / "answers.jsonl").read_text().splitlines()
    return {row["name"]: row for row in map(json.loads, rows)}


def applied(row: JSONObject) -> smp.ApplyResult:
    last_applied = row["last_applied"]
    return smp.three_way_apply(
        None if last_applied is None else as_object(last_applied),
        as_object(row["modified"]),
        as_object(row["live"]),
        schema_of(row),
    )


def schema_of(row: JSONObject) -> smp.Schema:
    return smp.kubernetes("1.36").schema_of(as_object(row["live"]))


def value_at(value: JSON, path: smp.Path) -> JSON | Absent:
    for step in path.by_index.steps:
        if isinstance(value, dict) and isinstance(step, str):
            if step not in value:
                return ABSENT
            value = value[step]
        else:
            assert isinstance(value, list)
            assert isinstance(step, int)
            value = value[step]
    return value


@pytest.mark.parametrize("name", recorded())
def test_the_patches_are_those_that_the_server_was_sent(name: str) -> None:
    row = recorded()[name]
    result = applied(row)
    assert same(result.patch, row["patch"])
    assert same(result.kubectl_patch, row["kubectl_patch"])
    live, schema = as_object(row["live"]), schema_of(row)
    patch = smp.three_way_patch(
        as_object(row["last_applied"]), as_object(row["modified"]), live, schema
    )
    # Row 5 of docs/deviations.md: kubectl sends some objects that do not change.
    assert same(
        smp.apply_patch(live, result.kubectl_patch, schema),
        smp.apply_patch(live, patch, schema),
    )


@pytest.mark.parametrize("name", recorded())
def test_the_server_takes_the_patch_and_clears_what_was_predicted(name: str) -> None:
    row = recorded()[name]
    result = applied(row)
    answer = as_object(row["patch_answer"])
    assert answer["code"] == HTTPStatus.OK
    for change in result.changes:
        assert change.new is ABSENT
        assert value_at(answer["object"], change.path) is ABSENT
    assert lacking(result.object, answer["object"]) == []


def lacking(expected: JSON, actual: JSON | Absent, at: str = "") -> list[str]:
    """Return where a value lacks something of the expected one; it may have more."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return [at]
        below = [
            lacking(v, actual.get(k, ABSENT), f"{at}.{k}") for k, v in expected.items()
        ]
        return [path for paths in below for path in paths]
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return [at]
        below = [lacking(v, actual[i], f"{at}[{i}]") for i, v in enumerate(expected)]
        return [path for paths in below for path in paths]
    return [] if same(expected, actual) else [at]


@pytest.mark.parametrize("name", recorded())
def test_what_the_server_answers_to_the_patch_of_kubectl_is_a_warning(
    name: str,
) -> None:
    row = recorded()[name]
    warnings = applied(row).warnings
    answer = as_object(row["kubectl_patch_answer"])
    message = answer.get("message", "")
    assert isinstance(message, str)
    if answer["code"] == HTTPStatus.OK:
        # The server keeps the member, or normalizes it away by itself.
        for warning in warnings:
            assert warning.code == NOT_NORMALIZED
            assert warning.message.endswith(", and a server keeps it")
            assert value_at(answer["object"], warning.path) is not ABSENT
        return
    assert warnings
    for warning in warnings:
        reason = warning.message.partition(": ")[2]
        assert reason
        expected = NOT_NORMALIZED
        if reason.startswith("strict decoding error: "):
            expected = STRICT_DECODING
            reason = reason.removeprefix("strict decoding error: ")
            assert "strict decoding error: " in message
        assert warning.code == expected
        assert reason in message
    refused = message.count("unknown field")
    assert refused == [w.code for w in warnings].count(STRICT_DECODING)


@pytest.mark.parametrize("name", recorded())
def test_the_handler_finds_the_same_directives_in_new_values(name: str) -> None:
    row = recorded()[name]
    body = json.dumps(row["kubectl_patch"]).encode()
    answer = as_object(row["kubectl_patch_answer"])
    message = str(answer.get("message", ""))
    problem = message[message.find("strict decoding error: ") :]
    is_refused = "strict decoding error" in message
    arguments = (as_object(row["live"]), body, STRATEGIC, schema_of(row))
    strict = patch(*arguments, Options(field_validation="Strict"))
    if is_refused:
        assert isinstance(strict, Refused)
        # The message of a server quotes the object before the problem.
        assert strict.code == HTTPStatus.UNPROCESSABLE_ENTITY
        assert str(strict.status["message"]).endswith(problem)
    else:
        assert isinstance(strict, Accepted)
    warned = patch(*arguments, Options(field_validation="Warn"))
    assert isinstance(warned, Accepted)
    faults = problem.removeprefix("strict decoding error: ") if is_refused else ""
    assert ", ".join(warned.warnings) == faults
    ignored = patch(*arguments, Options(field_validation="Ignore"))
    assert isinstance(ignored, Accepted)
    assert ignored.warnings == ()
