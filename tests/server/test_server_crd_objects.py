"""Objects of CustomResourceDefinitions: defaulted, pruned and validated.

Most expected values are what Kubernetes answers (tests.record.crds).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._values.values import JSON, JSONObject, as_list, as_object, same
from smp.custom_resources import find_prepared_violations, value_violations
from smp.errors import DepthError
from smp.handler import Accepted, Options, Refused, create
from smp.schema.catalog import Catalog
from smp.schema.structural import TooLargeDefaultsError, add_schema_defaults
from smp.server.objects.crds import Definition
from tests.record.crds import answers, definitions, schemas, thing
from tests.support.reference import as_go_prints
from tests.support.rows import each_row
from tests.support.server_app import Served, serving
from tests.support.server_definitions import (
    CRON_TABS,
    cron_tab,
    uniform_field,
    with_schema,
)
from tests.support.strategies import json_values

V1: Final = Definition.read(CRON_TABS).version("v1")


def schema_of(schema: JSON) -> JSONObject:
    """Return the schema of objects whose spec has a schema."""
    return Definition.read(with_schema(schema)).version("v1").schema


@pytest.mark.parametrize(
    ("value", "is_multiple"),
    # Go: MultipleOfInt, MultipleOf. An integer is divided by an integer, here by 0; a
    # kube-apiserver 1.36.3 answers "factor MultipleOf declared for spec must be
    # positive: 0".
    [(0.3, True), (7, False), (10**400, False), (0.35, False), (-0.1, True)],
)
def test_multiples_are_computed_as_in_go(value: JSON, is_multiple: bool) -> None:
    schema = schema_of({"type": "number", "multipleOf": 0.1})
    assert (value_violations({"spec": value}, schema) == ()) is is_multiple


def recorded_objects() -> list[Any]:
    """Return the definitions, the values of their objects and Kubernetes' answers."""
    recorded = []
    answers_to_objects = answers()[len(definitions()) :]
    for (definition, values), theirs in zip(schemas(), answers_to_objects, strict=True):
        versions = as_object(definition["spec"])["versions"]
        for value, answer in zip(values, theirs["objects"], strict=True):
            # Without the beginning of the versions, which is that of all definitions.
            name = f"{versions} {value!r}"[100:]
            recorded.append(pytest.param(definition, value, answer, id=name))
    return recorded


OBJECTS: Final = recorded_objects()


@each_row(("definition", "value", "answer"), OBJECTS)
def test_objects_are_defaulted_and_validated_as_by_kubernetes(
    definition: JSONObject, value: JSON, answer: Any
) -> None:
    """Defaults are the same, and so are the fields of errors.

    Only where Kubernetes names no field, for combinations of schemas, ours may differ.
    """
    schema = Definition.read(definition).version("v1").schema
    obj = thing(value)
    assert same(as_go_prints(add_schema_defaults(obj, schema)), answer["defaulted"])
    ours = {
        uniform_field(str(violation.cause["field"]))
        for violation in find_prepared_violations(obj, None, schema, {})
    }
    theirs = {uniform_field(field) for field, _ in answer["problems"]}
    if "<nil>" in theirs:
        assert len(ours) > 0
    else:
        assert ours == theirs


# Kubernetes empties an object in additional properties of any form, which the handler
# keeps; it keeps what the schema of a list preserves in its elements, which the handler
# prunes; it reads 2.0 as 2, which for the handler is a float.
PRUNED_OTHERWISE: Final[tuple[JSONObject, ...]] = (
    {"type": "object", "additionalProperties": True},
    {"type": "array", "x-kubernetes-preserve-unknown-fields": True},
    {"type": "integer"},
)


@each_row(("definition", "value", "answer"), OBJECTS)
def test_the_handler_prunes_by_the_schema_of_a_definition(
    definition: JSONObject, value: JSON, answer: Any
) -> None:
    """A valid object is stored as by Kubernetes, without fields outside its schema."""
    defined = Definition.read(definition)
    properties = as_object(defined.version("v1").schema["properties"])
    spec_schema = as_object(properties["spec"])
    outcome = create(
        json.dumps(thing(value)).encode(),
        defined.catalog.schema("example.com/v1", "Thing"),
        Options(custom=True, field_validation="Ignore"),
    )
    differs = any(schema.items() <= spec_schema.items() for schema in PRUNED_OTHERWISE)
    if not answer["problems"] and not differs:
        assert isinstance(outcome, Accepted)
        assert same(as_go_prints(outcome.object), answer["pruned"])


def test_defaults_are_not_shared() -> None:
    schema = schema_of(
        {
            "type": "object",
            "default": {"a": []},
            "x-kubernetes-preserve-unknown-fields": True,
        }
    )
    first = add_schema_defaults({}, schema)
    second = add_schema_defaults({}, schema)
    assert first == {"spec": {"a": []}}
    assert second == first
    assert as_object(first["spec"])["a"] is not as_object(second["spec"])["a"]


def test_the_documented_object_is_refused_for_the_documented_reasons() -> None:
    """The invalid CronTab of the documentation, section "Validation"."""
    image = "my-awesome-cron-image"
    invalid = cron_tab({"cronSpec": "* * * *", "image": image, "replicas": 15})
    fields = [
        violation.cause["field"] for violation in value_violations(invalid, V1.schema)
    ]
    assert fields == ["spec.cronSpec", "spec.replicas"]
    valid = cron_tab({"cronSpec": "* * * * */5", "image": image, "replicas": 5})
    assert value_violations(valid, V1.schema) == ()


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        (
            {"replicas": "x"},
            (
                "FieldValueTypeInvalid",
                (
                    'Invalid value: "string": spec.replicas in body must be of type '
                    'integer: "string"'
                ),
                "spec.replicas",
            ),
        ),
        (
            {"cronSpec": "x"},
            (
                "FieldValueInvalid",
                'Invalid value: "x": spec.cronSpec in body should match \'^(',
                "spec.cronSpec",
            ),
        ),
        (
            {"tags": ["a", 5]},
            (
                "FieldValueTypeInvalid",
                (
                    'Invalid value: "integer": spec.tags[1] in body must be of type '
                    'string: "integer"'
                ),
                "spec.tags[1]",
            ),
        ),
        (
            {"replicas": 11},
            (
                "FieldValueInvalid",
                "Invalid value: 11: spec.replicas in body should be less than",
                "spec.replicas",
            ),
        ),
    ],
)
def test_a_violation_is_a_cause(spec: JSON, cause: tuple[str, str, str]) -> None:
    (violation,) = value_violations(cron_tab(spec), V1.schema)
    reason, message, field = cause
    assert (violation.cause["reason"], violation.cause["field"]) == (reason, field)
    assert str(violation.cause["message"]).startswith(message)


def test_a_missing_required_field_is_named() -> None:
    schema: JSON = {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    }
    (violation,) = value_violations({"spec": {"a": "x"}}, schema_of(schema))
    assert violation.cause == {
        "reason": "FieldValueRequired",
        "message": "Required value",
        "field": "spec.b",
    }


def test_supported_values_are_listed() -> None:
    schema = schema_of({"type": "string", "enum": ["a", "b"]})
    (violation,) = value_violations({"spec": "c"}, schema)
    assert violation.reason == "FieldValueNotSupported"
    message = 'Unsupported value: "c": supported values: "a", "b"'
    assert violation.message == message


@pytest.mark.parametrize("pattern", [r"^\p{Greek}+$", "[[:alpha:]]", r"\A\pL\z"])
def test_patterns_are_those_of_go(pattern: str) -> None:
    schema = schema_of({"type": "string", "pattern": pattern})
    letter = "a" if pattern == "[[:alpha:]]" else "λ"  # that class is one of ASCII
    assert value_violations({"spec": letter}, schema) == ()
    (violation,) = value_violations({"spec": "1"}, schema)
    assert violation.path.pointer == "/spec"


def test_no_pattern_takes_exponential_time() -> None:
    schema = schema_of({"type": "string", "pattern": "^(a+)+$"})
    (violation,) = value_violations({"spec": "a" * 100_000 + "!"}, schema)
    assert violation.path.pointer == "/spec"


@pytest.mark.slow
def test_excessive_depth_is_an_error() -> None:
    deep: JSON = {}
    for _ in range(100_000):
        deep = {"a": deep}
    recursive: JSONObject = {"type": "object"}
    recursive["properties"] = {"a": recursive}
    schema: JSON = {"type": "object"}
    for _ in range(2000):
        schema = {"type": "object", "properties": {"a": schema}}
    for call in (
        lambda: add_schema_defaults({"a": deep}, recursive),
        lambda: value_violations({"a": deep}, recursive),
        lambda: Definition.read(with_schema(schema)),
    ):
        with pytest.raises(DepthError):
            call()


@given(json_values(), st.sampled_from(["spec", "status", "metadata"]))
def test_any_object_can_be_defaulted_and_validated_without_being_mutated(
    value: JSON, field: str
) -> None:
    obj: JSONObject = {**cron_tab({}), field: value}
    before = deepcopy(obj)
    defaulted = add_schema_defaults(obj, V1.schema)
    value_violations(defaulted, V1.schema)
    assert same(add_schema_defaults(defaulted, V1.schema), defaulted)
    assert same(obj, before)


def test_the_size_of_defaults_is_bounded() -> None:
    text: JSON = {"type": "string", "default": "x" * 1000}
    element: JSON = {
        "type": "object",
        "properties": {f"q{number}": text for number in range(1000)},
    }
    items: JSON = {"type": "array", "items": element}
    schema = schema_of({"type": "object", "properties": {"l": items}})
    defaulted = add_schema_defaults({"spec": {"l": [{}]}}, schema)
    (filled,) = as_list(as_object(defaulted["spec"])["l"])
    assert len(as_object(filled)) == 1000
    with pytest.raises(TooLargeDefaultsError):
        add_schema_defaults({"spec": {"l": [{}] * 2000}}, schema)
    # Their names are printed as well.
    short: JSON = {"type": "string", "default": "d"}
    names: JSON = {
        "type": "object",
        "properties": {f"q{number}": short for number in range(100)},
    }
    elements: JSON = {"type": "array", "items": names}
    schema = schema_of({"type": "object", "properties": {"l": elements}})
    with pytest.raises(TooLargeDefaultsError):
        add_schema_defaults({"spec": {"l": [{}] * 5000}}, schema)


# The causes of a kube-apiserver 1.36.3: a schema, a value of it, reason and message.
CAUSES: Final = [
    ({"maxLength": 3}, "abcd", "TooLong", "Too long: may not be more than 3 bytes"),
    (
        {"minLength": 3},
        "a",
        "Invalid",
        '"a": spec.x in body should be at least 3 chars long',
    ),
    (
        {"maximum": 5, "exclusiveMaximum": True},
        5,
        "Invalid",
        "5: spec.x in body should be less than 5",
    ),
    (
        {"minimum": 2},
        1,
        "Invalid",
        "1: spec.x in body should be greater than or equal to 2",
    ),
    ({"multipleOf": 3}, 4, "Invalid", "4: spec.x in body should be a multiple of 3"),
    ({"maxItems": 2}, [1, 2, 3], "TooMany", "Too many: 3: must have at most 2 items"),
    ({"minItems": 2}, [1], "Invalid", "1: spec.x in body should have at least 2 items"),
    (
        {"maxProperties": 1},
        {"a": "1", "b": "2"},
        "TooMany",
        "Too many: 2: must have at most 1 item",
    ),
    (
        {"minProperties": 2},
        {"a": "1"},
        "Invalid",
        "1: spec.x in body should have at least 2 properties",
    ),
    (
        {"format": "date-time"},
        "x",
        "TypeInvalid",
        '"x": spec.x in body must be of type date-time: "x"',
    ),
    (
        {"format": "duration"},
        "x",
        "TypeInvalid",
        '"x": spec.x in body must be of type duration: "x"',
    ),
    (
        {"type": "string"},
        5,
        "TypeInvalid",
        '"integer": spec.x in body must be of type string: "integer"',
    ),
    (
        {"x-kubernetes-int-or-string": True},
        True,
        "TypeInvalid",
        '"boolean": spec.x in body must be of type integer,string: "boolean"',
    ),
    (
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"a": 1, "b": 1},
        "Invalid",
        (
            '"": "spec.x" must validate one and only one schema (oneOf). '
            "Found 2 valid alternatives"
        ),
    ),
    (
        {"not": {"required": ["a"]}},
        {"a": 1},
        "Invalid",
        '"": "spec.x" must not validate the schema (not)',
    ),
]


@pytest.mark.parametrize(("schema", "value", "reason", "message"), CAUSES)
def test_a_cause_has_the_reason_and_the_words_of_a_server(
    schema: JSONObject, value: JSON, reason: str, message: str
) -> None:
    whole: JSONObject = {"properties": {"spec": {"properties": {"x": schema}}}}
    [violation] = value_violations({"spec": {"x": value}}, whole)
    assert violation.cause["reason"] == f"FieldValue{reason}"
    # Go: kubeOpenAPIResultToFieldErrors: an error of a condition has no field.
    assert violation.cause["field"] == ("<nil>" if "validate" in message else "spec.x")
    if reason in ("Invalid", "TypeInvalid"):
        message = f"Invalid value: {message}"
    assert violation.cause["message"] == message


def test_duplicates_are_reported_at_the_second_occurrence() -> None:
    listed: JSONObject = {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    schema: JSONObject = {"properties": {"a": listed}}
    obj: JSONObject = {"a": [{"k": "a"}, {"k": "a", "v": 1}, {"k": "a"}]}
    found = find_prepared_violations(obj, None, schema, {})
    assert [violation.cause for violation in found] == [
        {
            "reason": "FieldValueDuplicate",
            "message": 'Duplicate value: {"k":"a"}',
            "field": "a[1]",
        }
    ]


@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
        ("byte", "YQ==", "YQ"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("date", "2024-02-29", "2023-02-29"),
        ("datetime", "2024-01-01T00:00:00Z", "2024-01-01 00:00:00Z"),
        ("duration", "1h30m", "h"),
        ("duration", "22 ns", "22 x"),
        ("hexcolor", "#fff", "#ffff"),
        ("hostname", "a.example.com", "-a"),
        ("k8s-long-name", "a.b", "a..b"),
        ("k8s-short-name", "a-b", "A"),
        ("mac", "01:23:45:67:89:ab", "01:23"),
        ("rgbcolor", "rgb(1, 2,3)", "rgb(256,0,0)"),
        ("ssn", "123-45-6789", "123456789"),
        ("uri", "http://a", "a"),
        ("uuid4", "7d444840-9dc0-41d1-b245-5ffdce74fad2", "7d444840"),
    ],
)
def test_a_format_is_that_of_a_server(name: str, valid: str, invalid: str) -> None:
    assert value_violations(valid, {"format": name}) == ()
    assert len(value_violations(invalid, {"format": name})) == 1


_NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start"
    " and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or"
    " '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_EVENT = '{"apiVersion":"v1","kind":"Event","name":"x","uid":"1"}'


# What kube-apiserver 1.36.3 answers.
@pytest.mark.parametrize(
    ("metadata", "answer"),
    [
        ({"labels": {"a b": "c"}}, f'labels: Invalid value: "a b": {_NAME}'),
        ({"annotations": {"a b": ""}}, f'annotations: Invalid value: "a b": {_NAME}'),
        (
            {"finalizers": ["example.com/a", "no finalizer"]},
            f'finalizers: Invalid value: "no finalizer": {_NAME}',
        ),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            (
                'finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer'
                " orphan and foregroundDeletion cannot be both set"
            ),
        ),
        (
            {"ownerReferences": [json.loads(_EVENT)]},
            (
                f"ownerReferences: Invalid value: {_EVENT}: /v1, Kind=Event is"
                " disallowed from being an owner"
            ),
        ),
        (
            {
                "ownerReferences": [
                    {"apiVersion": "a/b/c", "kind": "X", "name": "x", "uid": "1"}
                ]
            },
            (
                'ownerReferences.apiVersion: Invalid value: "a/b/c": version must not'
                " be empty"
            ),
        ),
        # kube-apiserver wants a domain in front of those of its own kinds.
        ({"finalizers": ["plain"]}, ""),
    ],
)
def test_the_metadata_of_a_custom_resource_is_judged(
    metadata: JSONObject, answer: str
) -> None:
    schema = Catalog.from_crd(CRON_TABS).schema("stable.example.com/v1", "CronTab")
    body = json.dumps(
        {
            "apiVersion": "stable.example.com/v1",
            "kind": "CronTab",
            "metadata": {"name": "mine", **metadata},
        }
    ).encode()
    outcome = create(body, schema, Options(custom=True, validation=True))
    if not answer:
        assert isinstance(outcome, Accepted)
        return
    assert isinstance(outcome, Refused)
    assert outcome.status["message"] == (
        f'CronTab.stable.example.com "mine" is invalid: metadata.{answer}'
    )


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving() as running:
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        running.post(crds, CRON_TABS)
        yield running


def ask(
    server: Served, metadata: JSONObject, spec: JSONObject, validation: str = "Ignore"
) -> Any:
    """Create a CronTab, and return the Status that refuses it."""
    kind = {"apiVersion": "stable.example.com/v1", "kind": "CronTab"}
    path = "/apis/stable.example.com/v1/namespaces/default/crontabs"
    query = f"?dryRun=All&fieldValidation={validation}"
    return server.call(
        "POST", path + query, {**kind, "metadata": metadata, "spec": spec}
    ).json()


# What kube-apiserver 1.36.3 answers.
@pytest.mark.parametrize(
    ("metadata", "spec", "fields"),
    [
        (
            {"name": "A b", "labels": {"x": "a b"}},
            {"replicas": 99},
            ["metadata.name", "metadata.labels", "spec.replicas"],
        ),
        (
            {"name": "A b", "labels": {"x": "a b"}},
            {"image": 5, "replicas": 99},
            ["metadata.name", "metadata.labels", "spec.image", "spec.replicas"],
        ),
        ({}, {"replicas": 99}, ["metadata.name", "spec.replicas"]),
        ({"name": "a"}, {"tags": [[{"b": 1}]]}, ["spec.tags[0]"]),
    ],
)
def test_metadata_and_the_rest_are_refused_together(
    server: Served, metadata: JSONObject, spec: JSONObject, fields: list[str]
) -> None:
    causes = ask(server, metadata, spec)["details"]["causes"]
    assert [cause["field"] for cause in causes] == fields


@pytest.mark.parametrize(
    ("spec", "unknown"),
    [
        ({"image": {"b": 1, "a": 2}}, ["spec.image.a", "spec.image.b"]),
        ({"tags": {"b": 1}}, ["spec.tags.b"]),
        (
            {"tags": [[{"b": 1}]], "zz": 1, "aa": 2},
            ["spec.aa", "spec.tags[0][0].b", "spec.zz"],
        ),
    ],
)
def test_fields_in_values_of_a_wrong_type_are_unknown(
    server: Served, spec: JSONObject, unknown: list[str]
) -> None:
    answer = ask(server, {"name": "a"}, spec, "Strict")
    listed = ", ".join([f'unknown field "{path}"' for path in unknown])
    assert answer["code"] == 400
    assert answer["message"].endswith(f"strict decoding error: {listed}")
