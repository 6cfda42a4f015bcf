"""smp.custom_resources.definition_violations, beside a kube-apiserver 1.36.3.

tests.record.definitions asked it about damaged definitions.
"""

from __future__ import annotations

from typing import Final

import pytest

from smp import custom_resources, kubernetes
from smp.custom_resources import _expressions
from smp.lint import lint
from smp.testing import KubernetesApi
from tests.record.definitions import (
    STRICT,
    Edit,
    answers,
    bases,
    change,
    keywords,
    with_keyword,
)

_CREATED: Final = 201
_NOT_READ: Final = 400
_LEAST: Final = 0.97


@pytest.mark.parametrize(
    "every", [pytest.param(1, marks=pytest.mark.exhaustive), pytest.param(6)]
)
def test_verdicts_and_fields_are_those_of_a_server(every: int) -> None:
    """What rules cost is not estimated, and a list of mixed types is not found."""
    refused_here, others, count = [], [], 0
    for answer in answers()[::every]:
        # 400: what cannot be decoded comes before the rules.
        if answer["code"] not in (_CREATED, 422):
            continue
        count += 1
        definition = change(bases()[answer["base"]], answer["edits"])
        found = custom_resources.definition_violations(definition, written=False)
        ours = {violation.cause["field"] for violation in found}
        theirs = {field for _, field in answer["causes"]}
        if ours and not theirs:
            refused_here.append((answer["base"], answer["edits"], ours))
        elif ours != theirs:
            others.append((answer["base"], answer["edits"], ours, theirs))
    assert refused_here == []
    assert count - len(others) >= _LEAST * count, others


def test_keywords_of_another_type_are_not_decoded_at_any_depth() -> None:
    """What is read below items of a schema has no unknown fields, though."""
    schema = kubernetes().schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    missed = []
    with KubernetesApi() as api:
        client = api.client("httpx")
        for each in keywords():
            definition = with_keyword(each)
            codes = {hazard.code for hazard in lint(definition, schema, "manifest")}
            code = client.post(STRICT, json=definition).status_code
            if code != each["code"] or bool(
                codes & {"wrong-type", "unknown-field"}
            ) != (code == _NOT_READ):
                missed.append((each, code, codes))
    assert not missed


@pytest.mark.parametrize(
    ("steps", "value", "expected"),
    [
        (
            ["versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "type"],
            "text",
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].type",
        ),
        (
            ["versions", 0, "additionalPrinterColumns"],
            [{"name": "A", "type": "string"}],
            "spec.versions[0].additionalPrinterColumns[0].jsonPath",
        ),
        (
            ["conversion"],
            {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}},
            "spec.conversion.webhook.clientConfig",
        ),
    ],
)
def test_paths_are_those_of_the_document(
    steps: list[str | int], value: object, expected: str
) -> None:
    definition = change(bases()["approved"], [(["spec", *steps], value)])
    paths = {
        str(each.path) for each in custom_resources.definition_violations(definition)
    }
    assert paths == {expected}


_SPEC: Final = "spec.validation.openAPIV3Schema.properties[spec]"
_SPEC_OF_ONE: Final = "spec.versions[0].schema.openAPIV3Schema.properties[spec]"
_SCHEMA: Final = ["versions", 0, "schema", "openAPIV3Schema", "properties", "spec"]


@pytest.mark.parametrize(
    ("base", "steps", "value", "fields"),
    [
        # Two fields that Protocol Buffers would write alike.
        (
            "approved",
            _SCHEMA,
            {
                "type": "object",
                "properties": {
                    "jwks_uri": {"type": "string"},
                    "jwksUri": {"type": "string"},
                },
                "x-kubernetes-validations": [{"rule": "has(self.jwksUri)"}],
            },
            set(),
        ),
        ("approved", ["conversion"], {}, {"spec.conversion.strategy"}),
        ("approved", ["conversion"], None, set()),
        # A pointer to an empty text is not a missing one, null is.
        (
            "databases",
            [*_SCHEMA, "x-kubernetes-map-type"],
            "",
            {f"{_SPEC_OF_ONE}.x-kubernetes-map-type"},
        ),
        (
            "approved",
            _SCHEMA,
            {"type": "object", "properties": {"a": None}},
            {f"{_SPEC}.properties[a].type"},
        ),
        # A rule that does not compile is told where it judges a default.
        (
            "approved",
            _SCHEMA,
            {
                "type": "object",
                "properties": {
                    "a": {
                        "type": "boolean",
                        "default": True,
                        "x-kubernetes-validations": [{"rule": "self + 1"}],
                    }
                },
            },
            {f"{_SPEC}.properties[a].default"},
        ),
        (
            "approved",
            _SCHEMA,
            {
                "type": "object",
                "properties": {
                    "a": {
                        "type": "object",
                        "properties": {"b": {"type": "string"}},
                        "default": {"b": None},
                    }
                },
            },
            {f"{_SPEC}.properties[a].default.b"},
        ),
    ],
)
def test_what_random_changes_of_other_definitions_taught(
    base: str, steps: list[str | int], value: object, fields: set[str]
) -> None:
    """A kube-apiserver 1.36.3 answered so."""
    definition = change(bases()[base], [(["spec", *steps], value)])
    found = custom_resources.definition_violations(definition, written=False)
    assert {violation.cause["field"] for violation in found} == fields


def test_an_update_keeps_what_objects_are_stored_under() -> None:
    """Go: validateCustomResourceDefinitionSpecUpdate, ValidateStoredVersions."""
    old = bases()["databases"]
    status = {
        "storedVersions": ["v1", "v2"],
        "conditions": [{"type": "Established", "status": "True"}],
    }
    old = change(old, [(["status"], status)])
    assert custom_resources.definition_violations(old, old) == ()
    edits: list[Edit] = [
        (["spec", "scope"], "Cluster"),
        (["spec", "versions", 1], None),
    ]
    found = custom_resources.definition_violations(change(old, edits), old)
    assert {str(each.path) for each in found} == {
        "spec.scope",
        "status.storedVersions[0]",
    }


def test_rules_are_not_compiled_without_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = [{"rule": "self.nope == 1"}]
    steps = ["spec", "versions", 0, "schema", "openAPIV3Schema"]
    edits: list[Edit] = [([*steps, "x-kubernetes-validations"], rules)]
    definition = change(bases()["approved"], edits)
    assert len(custom_resources.definition_violations(definition)) == 1
    monkeypatch.setattr(_expressions, "cel", None)
    assert custom_resources.definition_violations(definition) == ()


def test_a_deep_schema_and_a_long_rule_end_in_bounded_time() -> None:
    steps = ["spec", "versions", 0, "schema", "openAPIV3Schema"]
    deep: dict[str, object] = {"type": "string"}
    for _ in range(100):
        deep = {"type": "object", "properties": {"a": deep}}
    definition = change(bases()["approved"], [(steps, deep)])
    assert custom_resources.definition_violations(definition) == ()
    for text in ("x" * 200_000, "self." * 19_000 + "a", "1 + " * 20_000 + "1 == 1"):
        rules = [{"rule": text}]
        edits: list[Edit] = [([*steps, "x-kubernetes-validations"], rules)]
        changed = change(bases()["approved"], edits)
        found = custom_resources.definition_violations(changed)
        assert [each.path.steps[-1] for each in found] == ["rule"]


def test_a_rule_deeper_than_the_compiler_goes_is_not_refused() -> None:
    steps = ["spec", "versions", 0, "schema", "openAPIV3Schema"]
    text = "true ? true : " * 60 + "true"
    rules = [{"rule": text}]
    edits: list[Edit] = [([*steps, "x-kubernetes-validations"], rules)]
    definition = change(bases()["approved"], edits)
    (violation,) = custom_resources.definition_violations(definition)
    assert violation.warning


def test_a_url_that_is_no_text_is_named_as_it_is() -> None:
    webhook = {"clientConfig": {"url": 1}, "conversionReviewVersions": ["v1"]}
    conversion = {"strategy": "Webhook", "webhook": webhook}
    definition = change(bases()["gateways"], [(["spec", "conversion"], conversion)])
    found = custom_resources.definition_violations(definition)
    place = "spec.conversion.webhook.clientConfig.url: Invalid value: 1: "
    assert any(str(violation).startswith(place) for violation in found)
