"""Objects of CustomResourceDefinitions: defaulted, pruned and validated.

Most expected values are what Kubernetes answers (tests.record.crds).
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp.errors import DepthError
from smp.handler import Accepted, Options, TooLargeError, create
from smp.server.objects.crds import Definition
from smp.server.objects.crds.structural import with_schema_defaults
from smp.server.objects.crds.validation import violations
from smp.values import JSON, JSONObject, as_object, same
from tests.record.crds import answers, definitions, schemas, thing
from tests.support.reference import as_go_prints
from tests.support.server_definitions import (
    CRON_TABS,
    cron_tab,
    uniform_field,
    with_schema,
)
from tests.support.strategies import json_values

V1: Final = Definition.read(CRON_TABS).version("v1")


@pytest.mark.parametrize(
    ("value", "is_good"),
    [(0.3, True), (7, True), (10**400, True), (0.35, False), (-0.1, True)],
)
def test_multiples_are_computed_exactly(value: JSON, is_good: bool) -> None:
    """Kubernetes divides floats: to it, 7 is no multiple of 0.1."""
    schema = (
        Definition.read(with_schema({"type": "number", "multipleOf": 0.1}))
        .version("v1")
        .schema
    )
    assert (not violations({"spec": value}, schema)) is is_good


OBJECTS: Final = [
    pytest.param(
        definition,
        value,
        answer,
        id=f"{as_object(definition['spec'])['versions']} {value!r}"[100:],
    )
    for (definition, values), theirs in zip(
        schemas(), answers()[len(definitions()) :], strict=True
    )
    for value, answer in zip(values, theirs["objects"], strict=True)
]


@pytest.mark.parametrize(("definition", "value", "answer"), OBJECTS)
def test_objects_are_defaulted_and_validated_as_by_kubernetes(
    definition: JSONObject, value: JSON, answer: Any
) -> None:
    """What is filled in is the same; and so is what is refused, if not always the field
    that is blamed.
    """
    schema = Definition.read(definition).version("v1").schema
    obj = thing(value)
    assert same(as_go_prints(with_schema_defaults(obj, schema)), answer["defaulted"])
    refused = {
        uniform_field(str(one.cause["field"])) for one in violations(obj, schema)
    }
    theirs = {uniform_field(field) for field, _ in answer["problems"]}
    # its combinations of schemas blame no field
    assert refused == theirs or (refused and "<nil>" in theirs)


# Kubernetes empties an object in additional properties of any form, which the handler
# keeps; it keeps what the schema of a list preserves in its elements, which the handler
# prunes; it reads 2.0 as 2, which for the handler is a float.
OTHERWISE_PRUNED: Final[tuple[JSONObject, ...]] = (
    {"type": "object", "additionalProperties": True},
    {"type": "array", "x-kubernetes-preserve-unknown-fields": True},
    {"type": "integer"},
)


@pytest.mark.parametrize(("definition", "value", "answer"), OBJECTS)
def test_the_handler_prunes_by_the_schema_of_a_definition(
    definition: JSONObject, value: JSON, answer: Any
) -> None:
    """An object that is valid is stored as Kubernetes stores it: without the fields
    that its schema does not know.
    """
    defined = Definition.read(definition)
    own = as_object(as_object(defined.version("v1").schema["properties"])["spec"])
    outcome = create(
        json.dumps(thing(value)).encode(),
        defined.catalog.schema("example.com/v1", "Thing"),
        Options(custom=True, field_validation="Ignore"),
    )
    if not answer["problems"] and not any(
        other.items() <= own.items() for other in OTHERWISE_PRUNED
    ):
        assert isinstance(outcome, Accepted)
        assert same(as_go_prints(outcome.object), answer["pruned"])


def test_defaults_are_not_shared() -> None:
    schema = Definition.read(
        with_schema(
            {
                "type": "object",
                "default": {"a": []},
                "x-kubernetes-preserve-unknown-fields": True,
            }
        )
    )
    first, second = (
        with_schema_defaults({}, schema.version("v1").schema) for _ in range(2)
    )
    assert first == second == {"spec": {"a": []}}
    assert as_object(first["spec"])["a"] is not as_object(second["spec"])["a"]


def test_the_documented_object_is_refused_for_the_documented_reasons() -> None:
    """The documentation's invalid CronTab ("Validation"): kubectl prints these fields."""
    found = violations(
        cron_tab(
            {"cronSpec": "* * * *", "image": "my-awesome-cron-image", "replicas": 15}
        ),
        V1.schema,
    )
    assert [one.cause["field"] for one in found] == ["spec.cronSpec", "spec.replicas"]
    valid = cron_tab(
        {"cronSpec": "* * * * */5", "image": "my-awesome-cron-image", "replicas": 5}
    )
    assert violations(valid, V1.schema) == ()


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        (
            {"replicas": "x"},
            (
                "FieldValueInvalid",
                'Invalid value: "x": must be of type integer',
                "spec.replicas",
            ),
        ),
        (
            {"cronSpec": "x"},
            (
                "FieldValueInvalid",
                'Invalid value: "x": must match \'^(',
                "spec.cronSpec",
            ),
        ),
        (
            {"tags": ["a", 5]},
            (
                "FieldValueInvalid",
                "Invalid value: 5: must be of type string",
                "spec.tags[1]",
            ),
        ),
        (
            {"replicas": 11},
            (
                "FieldValueInvalid",
                "Invalid value: 11: 11 is greater than the maximum of 10",
                "spec.replicas",
            ),
        ),
    ],
)
def test_a_violation_is_a_cause(spec: JSON, cause: tuple[str, str, str]) -> None:
    (found,) = violations(cron_tab(spec), V1.schema)
    reason, message, field = cause
    assert (found.cause["reason"], found.cause["field"]) == (reason, field)
    assert str(found.cause["message"]).startswith(message)


def test_a_missing_required_field_is_named() -> None:
    schema: JSON = {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    }
    own = Definition.read(with_schema(schema)).version("v1").schema
    assert [one.cause for one in violations({"spec": {"a": "x"}}, own)] == [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.b"}
    ]


def test_supported_values_are_listed() -> None:
    own = (
        Definition.read(with_schema({"type": "string", "enum": ["a", "b"]}))
        .version("v1")
        .schema
    )
    (found,) = violations({"spec": "c"}, own)
    assert (found.reason, found.message) == (
        "FieldValueNotSupported",
        'Unsupported value: "c": supported values: "a", "b"',
    )


@pytest.mark.parametrize("pattern", [r"^\p{Greek}+$", "[[:alpha:]]", r"\A\pL\z"])
def test_patterns_are_those_of_go(pattern: str) -> None:
    own = (
        Definition.read(with_schema({"type": "string", "pattern": pattern}))
        .version("v1")
        .schema
    )
    assert violations({"spec": "λ"}, own) == () or pattern == "[[:alpha:]]"
    assert [found.path.pointer for found in violations({"spec": "1"}, own)] == ["/spec"]


def test_no_pattern_takes_exponential_time() -> None:
    own = (
        Definition.read(with_schema({"type": "string", "pattern": "^(a+)+$"}))
        .version("v1")
        .schema
    )
    assert violations({"spec": "a" * 100_000 + "!"}, own)


def test_excessive_depth_is_an_error() -> None:
    deep: JSON = {}
    for _ in range(100_000):
        deep = {"a": deep}
    endless: JSONObject = {"type": "object"}
    endless["properties"] = {"a": endless}
    schema: JSON = {"type": "object"}
    for _ in range(2000):
        schema = {"type": "object", "properties": {"a": schema}}
    for act in (
        lambda: with_schema_defaults({"a": deep}, endless),
        lambda: violations({"a": deep}, endless),
        lambda: Definition.read(with_schema(schema)),
        lambda: Definition.read({"spec": deep}),
    ):
        with pytest.raises(DepthError):
            act()


@given(json_values(), st.sampled_from(["spec", "status", "metadata"]))
def test_any_object_can_be_defaulted_and_validated_without_being_mutated(
    value: JSON, word: str
) -> None:
    obj: JSONObject = {**cron_tab({}), word: value}
    before = deepcopy(obj)
    filled = with_schema_defaults(obj, V1.schema)
    violations(filled, V1.schema)
    assert same(with_schema_defaults(filled, V1.schema), filled)
    assert same(obj, before)


def test_the_size_of_defaults_is_bounded() -> None:
    element: JSON = {
        "type": "object",
        "properties": {
            f"q{at}": {"type": "string", "default": "x" * 1000} for at in range(1000)
        },
    }
    own = with_schema(
        {"type": "object", "properties": {"l": {"type": "array", "items": element}}}
    )
    schema = Definition.read(own).version("v1").schema
    assert with_schema_defaults({"spec": {"l": [{}]}}, schema)
    with pytest.raises(TooLargeError):
        with_schema_defaults({"spec": {"l": [{}] * 2000}}, schema)
