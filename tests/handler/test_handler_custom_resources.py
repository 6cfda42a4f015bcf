"""Patches of custom resources, and of objects without a schema."""

from __future__ import annotations

from typing import Any, Final

import yaml

from smp import handler
from smp._values.values import JSONObject
from smp.handler import APPLY, JSON_PATCH, MERGE, STRATEGIC, Options
from smp.schema.catalog import Catalog
from tests.support.handler_objects import (
    STRICT,
    accepted,
    causes,
    dump,
    message_of,
    refused,
)

DEFINITION: Final = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  names: {kind: CronTab, plural: crontabs}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              note: {type: string, nullable: true}
              mode: {type: string, enum: [Fast, Slow]}
              bare: {type: object}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
CRON: Final = Catalog.from_crd(yaml.safe_load(DEFINITION)).schema(
    "example.com/v1", "CronTab"
)
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
    cause = (
        'Invalid value: "string": spec.replicas in body must be of type integer: '
        '"string"'
    )
    message = f'CronTab.example.com "tab" is invalid: spec.replicas: {cause}'
    outcome = patch_tab({"spec": {"replicas": "1"}})
    assert causes(outcome) == [("FieldValueTypeInvalid", "spec.replicas", cause)]
    assert message_of(outcome) == message


def test_a_strategic_patch_of_a_custom_resource_is_refused_unless_enabled() -> None:
    message = message_of(patch_tab({}, STRATEGIC))
    media_types = f"{JSON_PATCH}, {MERGE}, {APPLY}"
    assert message.endswith(f"accepted media types include: {media_types}")
    enabled = Options(custom=True, strategic=True)
    outcome = accepted(patch_tab({"spec": {"replicas": 2}}, STRATEGIC, enabled))
    assert outcome.object["spec"] == {"replicas": 2, "mode": "Odd"}


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


def test_an_enum_is_checked_where_the_patch_changes_the_value() -> None:
    outcome = accepted(patch_tab({"spec": {"replicas": 2}}))
    assert outcome.object["spec"] == {"replicas": 2, "mode": "Odd"}
    message = 'Unsupported value: "Even": supported values: "Fast", "Slow"'
    assert causes(patch_tab({"spec": {"mode": "Even"}})) == [
        ("FieldValueNotSupported", "spec.mode", message)
    ]


def test_an_object_without_a_schema_takes_merge_and_json_patches() -> None:
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
    add_null = b'[{"op":"add","path":"/b","value":null}]'
    outcome = accepted(handler.patch(odd, add_null, JSON_PATCH, None))
    assert outcome.object == {**odd, "b": None}
    assert refused(handler.patch(odd, body, STRATEGIC, None)).code == 415
    refused_patches: tuple[object, ...] = (
        {"metadata": []},
        {"metadata": {"labels": {"a": 1}}},
        {"kind": 1},
    )
    for wrong in refused_patches:
        assert refused(handler.patch(odd, dump(wrong), MERGE, None)).code == 422
    misnamed = dump({"metadata": {"name": "y"}})
    assert refused(handler.patch(odd, misnamed, MERGE, None)).code == 400
