"""Rules: which differences they set aside, and the files that they come from."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import smp
from smp._values.values import JSON, JSONObject
from smp.comparison import NORMALIZERS, SCHEMA_NAME, Rules, read_rules
from smp.documents import read_one
from smp.errors import DocumentError
from smp.schema.model import Schema
from tests.support.rows import each_row

CATALOG = smp.kubernetes()
VALIDATOR = Draft202012Validator(
    json.loads(resources.files("smp.comparison").joinpath(SCHEMA_NAME).read_text())
)
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
EITHER: list[JSON] = [{"type": "integer"}, {"type": "string"}]
CRD: JSONObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.norm.example.com"},
    "spec": {
        "group": "norm.example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {
                                        "anyOf": [*EITHER],
                                        "pattern": QUANTITY,
                                        "x-kubernetes-int-or-string": True,
                                    },
                                    "port": {"x-kubernetes-int-or-string": True},
                                    "wait": {"type": "string", "format": "duration"},
                                    "since": {"type": "string", "format": "date-time"},
                                    "text": {"type": "string"},
                                    "mode": {"type": "string", "default": "a"},
                                    "tags": {
                                        "type": "array",
                                        "items": {"type": "string"},
                                        "x-kubernetes-list-type": "set",
                                    },
                                    "steps": {
                                        "type": "array",
                                        "items": {"type": "string"},
                                    },
                                    "ratio": {"type": "number"},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}
WIDGETS = smp.Catalog.from_crd(CRD).schema("norm.example.com/v1", "Widget")


def widget(**spec: JSON) -> JSONObject:
    return {
        "apiVersion": "norm.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "labels": {"app": "w"}},
        "spec": spec,
    }


def reasons(
    desired: JSONObject, live: JSONObject, schema: Schema, rules: str = ""
) -> tuple[list[str], list[str]]:
    """Return the paths that differ, and what is set aside as ``path: label``."""
    text = f"version: 1\nrules:\n{rules}" if rules else "version: 1\nrules: []\n"
    VALIDATOR.validate(read_one(text).value)
    found = smp.compare(desired, live, schema, rules=read_rules(text))
    aside = [f"{entry.path}: {entry.label}" for entry in found.set_aside]
    return [str(difference.path) for difference in found.differences], aside


@pytest.mark.parametrize(
    ("field", "desired", "live", "by"),
    [
        ("size", "1000m", "1", "quantity"),
        ("size", 1, "1", "quantity"),
        ("wait", "5m0s", "300s", "duration"),
        ("since", "2024-01-01T01:00:00+01:00", "2024-01-01T00:00:00Z", "time"),
        ("tags", ["a", "b"], ["b", "a"], "set-order"),
        ("ratio", 1, 1.0, "number"),
        # The type says nothing of these.
        ("text", "1000m", "1", ""),
        ("text", "", None, ""),
        ("port", "80", 80, ""),
        ("port", "1000m", "1", ""),
        ("steps", ["a", "b"], ["b", "a"], ""),
        ("tags", ["a", "b"], ["b", "a", "c"], ""),
        ("wait", "1d", "24h", ""),
    ],
)
def test_the_definition_of_a_custom_resource_says_what_is_equal(
    field: str, desired: JSON, live: JSON, by: str
) -> None:
    differences, aside = reasons(
        widget(**{field: desired}), widget(**{field: live}), WIDGETS
    )
    assert differences == ([] if by else [f"spec.{field}"])
    assert aside == ([f"spec.{field}: {by}"] if by else [])


def test_a_default_of_a_definition_is_no_difference() -> None:
    assert reasons(widget(), widget(mode="a"), WIDGETS) == ([], ["spec.mode: default"])
    assert reasons(widget(), widget(mode="b"), WIDGETS) == (["spec.mode"], [])


@pytest.mark.parametrize(
    ("field", "desired", "live", "normalizer"),
    [
        ("text", "1000m", "1", "quantity"),
        ("text", "5m", "300s", "duration"),
        ("port", "80", 80, "int-or-string"),
        ("steps", ["a", "b"], ["b", "a"], "list-order"),
        ("unknown", "1Ki", "1024", "quantity"),
    ],
)
def test_a_rule_switches_a_normalizer_on(
    field: str, desired: JSON, live: JSON, normalizer: str
) -> None:
    rule = f"- paths: [spec.{field}]\n  normalizers: {{{normalizer}: true}}\n"
    sides = (widget(**{field: desired}), widget(**{field: live}))
    assert reasons(*sides, WIDGETS, rule) == ([], [f"spec.{field}: {normalizer}"])
    # It is about these paths, and about no others.
    elsewhere = rule.replace(f"spec.{field}", "spec.other")
    assert reasons(*sides, WIDGETS, elsewhere) == ([f"spec.{field}"], [])


def test_a_rule_takes_empty_values_for_none() -> None:
    rule = "- paths: [spec]\n  normalizers: {empty: true}\n"
    sides = (widget(port=1, text="", steps=[]), widget(port=1))
    assert reasons(*sides, WIDGETS)[0] == ["spec.steps", "spec.text"]
    aside = ["spec.steps: empty", "spec.text: empty"]
    assert reasons(*sides, WIDGETS, rule) == ([], aside)


@pytest.mark.parametrize(
    ("normalizer", "field", "desired", "live"),
    [
        ("quantity", "size", "1000m", "1"),
        ("duration", "wait", "5m0s", "300s"),
        ("default", "mode", "a", None),
        ("set-order", "tags", ["a", "b"], ["b", "a"]),
    ],
)
def test_a_rule_switches_a_normalizer_off(
    normalizer: str, field: str, desired: JSON, live: JSON
) -> None:
    rule = f"- normalizers: {{{normalizer}: false}}\n"
    present = {field: live} if live is not None else {}
    sides = (widget(**{field: desired}), widget(**present))
    assert reasons(*sides, WIDGETS)[0] == []
    assert reasons(*sides, WIDGETS, rule) == ([f"spec.{field}"], [])


@each_row(
    ("condition", "concerns"),
    [
        ("kinds: [Widget]", True),
        ("kinds: [Gadget, Widget]", True),
        ("kinds: [Widget.norm.example.com]", True),
        ("kinds: ['*.norm.example.com']", True),
        ("kinds: ['*.*.example.com']", True),
        ("kinds: ['*.example.com']", False),
        ("kinds: [W*]", True),
        ("kinds: [widget]", False),
        ("kinds: [Widget.apps]", False),
        ("kinds: [Widget.]", False),
        ("namespaces: [shop-*, shop]", True),
        ("namespaces: [shop-*]", False),
        ("names: [w]", True),
        ("names: [x]", False),
        ("selector: app=w", True),
        ("selector: app!=w", False),
        ("kinds: [Widget]\n  names: [x]", False),
    ],
)
def test_a_rule_is_about_some_objects(condition: str, *, concerns: bool) -> None:
    rule = f"- reason: why\n  {condition}\n  paths: [spec.text]\n"
    found = reasons(widget(text="a"), widget(text="b"), WIDGETS, rule)
    assert found == (([], ["spec.text: why"]) if concerns else (["spec.text"], []))


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("'metadata.annotations[example.com/*]'", ["metadata.annotations.b"]),
        ("metadata.annotations.*", []),
        ("metadata.annotations.b", ["metadata.annotations[example.com/a]"]),
        ("metadata", []),
        ("'*'", []),
    ],
)
def test_a_pattern_selects_names(path: str, left: list[str]) -> None:
    live = widget()
    live["metadata"] = {
        **dict(widget()["metadata"]),  # type: ignore[arg-type]
        "annotations": {"example.com/a": "1", "b": "2"},
    }
    rule = f"- reason: why\n  paths: [{path}]\n"
    assert reasons(widget(), live, WIDGETS, rule)[0] == left


def service(*ports: JSONObject) -> JSONObject:
    return {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [*ports]}}


def test_a_pattern_selects_elements_by_several_keys() -> None:
    schema = CATALOG.schema("v1", "Service")
    udp: JSONObject = {"port": 53, "protocol": "UDP", "name": "udp"}
    tcp: JSONObject = {"port": 53, "protocol": "TCP", "name": "tcp"}
    rule = "- reason: why\n  paths: ['spec.ports[port=53,protocol=UDP].targetPort']\n"
    sides = (
        service(tcp, {**udp, "targetPort": 1}),
        service(tcp, {**udp, "targetPort": 2}),
    )
    differences, aside = reasons(*sides, schema, rule)
    assert (differences, len(aside)) == ([], 1)


def deployment(**spec: JSON) -> JSONObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": spec,
    }


def owned_deployment() -> JSONObject:
    live = deployment(replicas=5, paused=True, minReadySeconds=3)
    owned: JSONObject = {"f:spec": {"f:replicas": {}, "f:minReadySeconds": {}}}
    other: JSONObject = {"f:spec": {"f:paused": {}}}
    entry = {"operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1"}
    live["metadata"] = {
        "name": "web",
        "uid": "u",
        "managedFields": [
            {**entry, "manager": "kube-controller-manager", "fieldsV1": owned},
            {**entry, "manager": "edit", "fieldsV1": other},
        ],
    }
    return live


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ("- managers: [kube-controller-manager]", ["spec.paused"]),
        ("- managers: ['kube-*', edit]", []),
        ("- managers: [other]", ["spec.minReadySeconds", "spec.paused"]),
        (
            "- managers: ['kube-*']\n  paths: [spec.minReadySeconds]",
            ["spec.paused"],
        ),
        (
            "- managers: ['kube-*']\n  paths: [spec.paused]",
            ["spec.minReadySeconds", "spec.paused"],
        ),
    ],
)
def test_a_rule_trusts_managers(rule: str, left: list[str]) -> None:
    schema = CATALOG.schema("apps/v1", "Deployment")
    desired = deployment(paused=False, minReadySeconds=1)
    live = owned_deployment()
    found, aside = reasons(desired, live, schema, f"{rule}\n")
    assert [path for path in found if path != "spec.replicas"] == left
    assert all("owned by" in entry for entry in aside if "spec.min" in entry)


def test_managed_fields_that_cannot_be_read_own_nothing() -> None:
    schema = CATALOG.schema("apps/v1", "Deployment")
    live = owned_deployment()
    dict(live["metadata"])["managedFields"][0]["fieldsV1"] = {"broken": {}}  # type: ignore[arg-type,index,call-overload]
    rule = "- managers: ['*']\n"
    desired = deployment(minReadySeconds=1)
    assert "spec.minReadySeconds" in reasons(desired, live, schema, rule)[0]


@pytest.mark.parametrize(
    ("rules", "path", "line", "hint"),
    [
        ("- path: [a]", "rules[0].path", 3, "did you mean paths"),
        ("- paths: [a..b]", "rules[0].paths[0]", 3, ""),
        ("- paths: []", "rules[0].paths", 3, ""),
        ("- paths: ['']", "rules[0].paths[0]", 3, ""),
        ("- paths: a", "rules[0].paths", 3, ""),
        ("- reason: x", "rules[0]", 3, "paths, managers or normalizers"),
        ("- paths: [a]\n- paths: [b]\n  kinds: [1]", "rules[1].kinds[0]", 5, ""),
        (
            "- normalizers: {quantty: true}",
            "rules[0].normalizers.quantty",
            3,
            "quantity",
        ),
        ("- normalizers: {quantity: 1}", "rules[0].normalizers.quantity", 3, ""),
        ("- normalizers: {}", "rules[0].normalizers", 3, ""),
        ("- paths: [a]\n  reason: 1", "rules[0].reason", 4, ""),
        ("- managers: [a]\n  normalizers: {time: true}", "rules[0].normalizers", 4, ""),
        ("- a", "rules[0]", 3, ""),
    ],
)
def test_an_error_in_a_file_has_its_place(
    rules: str, path: str, line: int, hint: str
) -> None:
    text = f"version: 1\nrules:\n{rules}\n"
    with pytest.raises(DocumentError) as caught:
        read_rules(text, source="r.yaml")
    error = caught.value
    assert (error.code, str(error.path)) == ("invalid-rules", path)
    assert (error.source, error.line) == ("r.yaml", line)
    assert hint in error.hint
    # The JSON Schema refuses it, too, but for what only a parser of paths can tell.
    if "a..b" not in rules:
        assert not VALIDATOR.is_valid(read_one(text).value)


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", "version: 1", "version: 2\nrules: []", "version: true\nrules: []"],
)
def test_a_file_has_a_version_and_rules(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_rules(text)
    assert caught.value.code == "invalid-rules"
    # To JSON Schema true is no 1, as to us.
    assert not VALIDATOR.is_valid(read_one(text).value)


def test_a_selector_that_cannot_be_parsed_has_its_place() -> None:
    with pytest.raises(DocumentError) as caught:
        read_rules("version: 1\nrules:\n- paths: [a]\n  selector: '='\n")
    assert (str(caught.value.path), caught.value.line) == ("rules[0].selector", 4)


def test_the_schema_has_all_normalizers() -> None:
    Draft202012Validator.check_schema(VALIDATOR.schema)
    schema: Any = VALIDATOR.schema
    properties = schema["$defs"]["rule"]["properties"]["normalizers"]["properties"]
    assert set(properties) == set(NORMALIZERS)


def test_rules_of_paths_are_made_of_texts() -> None:
    rules = Rules.ignoring("spec.text", reason="why")
    found = smp.compare(widget(text="a"), widget(text="b"), WIDGETS, rules=rules)
    assert found.counts == {"why": 1}
    with pytest.raises(ValueError, match="not a path"):
        Rules.ignoring("a..b")


def test_stored_secrets_are_compared_by_what_is_in_them() -> None:
    schema = CATALOG.schema("v1", "Secret")

    def secret(**members: JSON) -> JSONObject:
        return {"apiVersion": "v1", "kind": "Secret", **members}

    text = secret(stringData={"a": "x", "b": "y"})
    stored = secret(data={"a": "eA==", "b": "eQ=="}, type="Opaque")
    assert reasons(text, stored, schema)[0] == []
    other = secret(data={"a": "eA==", "b": "eA=="}, type="Opaque")
    assert reasons(text, other, schema)[0] == ["data.b", "stringData.b"]
    more = secret(data={"a": "eA==", "b": "eQ==", "c": "eA=="}, type="Opaque")
    assert reasons(text, more, schema)[0] == ["data.c"]
    # Two texts are not equal because both are moved away.
    changed = secret(stringData={"a": "x", "b": "z"})
    assert reasons(text, changed, schema)[0] == ["stringData.b"]
