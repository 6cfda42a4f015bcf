"""Patches of custom resources, and of objects without a schema."""

from __future__ import annotations

from dataclasses import replace as changed
from typing import Any, Final

from smp import handler
from smp.handler import JSON_PATCH, MERGE, STRATEGIC, Options
from smp.schema.catalog import Catalog
from smp.values import JSONObject
from tests.support.handler_objects import STRICT, accepted, causes, dump, refused

CRON: Final = Catalog.from_crd(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com",
            "names": {"kind": "CronTab", "plural": "crontabs"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "replicas": {"type": "integer"},
                                        "note": {"type": "string", "nullable": True},
                                        "mode": {
                                            "type": "string",
                                            "enum": ["Fast", "Slow"],
                                        },
                                        "bare": {"type": "object"},
                                        "free": {
                                            "type": "object",
                                            "x-kubernetes-preserve-unknown-fields": True,
                                        },
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    }
).schema("example.com/v1", "CronTab")
TAB: Final[JSONObject] = {
    "apiVersion": "example.com/v1",
    "kind": "CronTab",
    "metadata": {"name": "tab"},
    "spec": {"replicas": 1, "mode": "Odd"},
}
CUSTOM: Final = Options(custom=True)


def patch_tab(
    body: object, media_type: str = MERGE, options: Options = CUSTOM
) -> handler.Outcome:
    return handler.patch(TAB, dump(body), media_type, CRON, options)


def test_wrong_types_of_a_custom_resource_are_invalid() -> None:
    # Go: k8s.io/apiextensions-apiserver, apiserver/validation, validation_test.go.
    message = 'Invalid value: "string": spec.replicas in body must be of type integer: "string"'
    outcome = patch_tab({"spec": {"replicas": "1"}})
    assert causes(outcome) == [("FieldValueInvalid", "spec.replicas", message)]
    assert (
        refused(outcome).status["message"]
        == f'CronTab.example.com "tab" is invalid: spec.replicas: {message}'
    )


def test_a_strategic_patch_of_a_custom_resource_is_refused_unless_asked_for() -> None:
    message = str(refused(patch_tab({}, STRATEGIC)).status["message"])
    assert message.endswith(f"accepted media types include: {JSON_PATCH}, {MERGE}")
    assert accepted(
        patch_tab({"spec": {"replicas": 2}}, STRATEGIC, changed(CUSTOM, strategic=True))
    ).changed


def test_a_custom_resource_is_pruned_and_keeps_nulls() -> None:
    body = [
        {"op": "add", "path": "/spec/note", "value": None},
        {"op": "add", "path": "/spec/free", "value": {"a": None, "b": {"c": 1}}},
        {"op": "add", "path": "/spec/bare", "value": {"bogus": 1}},
        {"op": "add", "path": "/spec/bogus", "value": 1},
    ]
    outcome = accepted(patch_tab(body, JSON_PATCH))
    kept = {
        "replicas": 1,
        "mode": "Odd",
        "note": None,
        "free": {"a": None, "b": {"c": 1}},
        "bare": {},
    }
    assert outcome.object["spec"] == kept
    assert outcome.warnings == (
        'unknown field "spec.bare.bogus"',
        'unknown field "spec.bogus"',
    )


def test_an_enum_counts_once_it_is_touched() -> None:
    assert accepted(patch_tab({"spec": {"replicas": 2}})).changed
    message = 'Unsupported value: "Even": supported values: "Fast", "Slow"'
    assert causes(patch_tab({"spec": {"mode": "Even"}})) == [
        ("FieldValueNotSupported", "spec.mode", message)
    ]


def test_a_kind_that_nobody_described() -> None:
    odd: Any = {
        "apiVersion": "odd/v1",
        "kind": "Odd",
        "metadata": {"name": "x"},
        "a": [1, {"b": 2}],
    }
    body = dump({"a": {"b": None, "c": 3}, "metadata": {"labels": {"x": "y"}}})
    outcome = accepted(handler.patch(odd, body, MERGE, None, STRICT))
    assert outcome.object == {
        **odd,
        "a": {"c": 3},
        "metadata": {"name": "x", "labels": {"x": "y"}},
    }
    null = accepted(
        handler.patch(odd, b'[{"op":"add","path":"/b","value":null}]', JSON_PATCH, None)
    )
    assert null.object == {**odd, "b": None}
    assert refused(handler.patch(odd, body, STRATEGIC, None)).code == 415
    wrongs: tuple[object, ...] = (
        {"metadata": []},
        {"metadata": {"labels": {"a": 1}}},
        {"kind": 1},
        {"metadata": {"name": "y"}},
    )
    for wrong in wrongs:
        assert refused(handler.patch(odd, dump(wrong), MERGE, None)).code == 400
