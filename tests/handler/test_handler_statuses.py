"""The texts of Status objects, and warnings as headers."""

from __future__ import annotations

import pytest

from smp import handler
from smp._values.values import JSONObject
from smp.handler import MERGE, Options
from smp.paths import Path
from smp.violations import Violation
from tests.support.handler_objects import causes, dump, message_of


def test_a_message_lists_equal_violations_once() -> None:
    # Go: k8s.io/apimachinery, util/validation/field, ErrorList.ToAggregate.
    violation = Violation(
        "x", Path(("spec", "a")), "FieldValueRequired", "Required value"
    )
    outcome = handler.to_status([violation, violation], name="web", kind="Pod")
    assert outcome.status["message"] == 'Pod "web" is invalid: spec.a: Required value'
    assert len(causes(outcome)) == 2


def test_creating_an_existing_name_is_a_conflict() -> None:
    outcome = handler.to_status(
        handler.AlreadyExistsError("taken"),
        name="web",
        group="apps",
        resource="deployments",
    )
    assert outcome.status["message"] == 'deployments.apps "web" already exists'
    assert (outcome.code, outcome.status["reason"]) == (409, "AlreadyExists")


def test_a_missing_object_is_not_found() -> None:
    outcome = handler.to_status(
        handler.NotFoundError("gone"), name="web", resource="pods"
    )
    assert outcome.status["message"] == 'pods "web" not found'
    assert outcome.status["details"] == {"name": "web", "kind": "pods"}


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Endpoints", "endpoints"),
        ("Pod", "pods"),
    ],
)
def test_the_plural_is_guessed_as_kubernetes_guesses_it(
    kind: str, resource: str
) -> None:
    stored: JSONObject = {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "x", "resourceVersion": "1"},
    }
    body = dump({"metadata": {"resourceVersion": "2"}})
    guessed = handler.patch(stored, body, MERGE, None)
    assert f" {resource} " in message_of(guessed)
    options = Options(resource="things.example.com")
    named = handler.patch(stored, body, MERGE, None, options)
    assert " things " in message_of(named)


def test_warnings_are_headers() -> None:
    # Go: k8s.io/apimachinery, util/net, NewWarningHeader.
    texts = [
        'unknown field "spec.a"',
        "a\\b",
        'unknown field "spec.a"',
        "line\nbreak",
        "\u00e9",
        "\n",
    ]
    assert [value.decode() for value in handler.warning_headers(texts)] == [
        '299 - "unknown field \\"spec.a\\""',
        '299 - "a\\\\b"',
        '299 - "linebreak"',
        '299 - "\u00e9"',
    ]


def test_too_many_warnings_are_cut() -> None:
    # Go: k8s.io/apiserver, endpoints/filters/warning.go: texts of 4096 characters in
    # all, or 256 characters of each.
    texts = [f"{number:03}{'x' * 500}" for number in range(100)]
    values = list(handler.warning_headers(texts))
    assert len(values) == 16
    assert {len(value) for value in values} == {256 + len('299 - ""')}
