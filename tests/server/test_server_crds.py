"""CustomResourceDefinitions, and the objects that they define: defaulted, pruned,
validated.

Most expected values are what Kubernetes answers (tests.record.crds), the others those
of "Extend the Kubernetes API with CustomResourceDefinitions" in its documentation."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp.errors import DepthError, SmpError
from smp.handler import Accepted, Options, TooLargeError, create
from smp.server.errors import InvalidError, StatusError, UnknownResourceError
from smp.server.objects.crds import Definition, is_established, with_status
from smp.server.objects.crds.structural import with_schema_defaults
from smp.server.objects.crds.validation import violations
from smp.server.objects.resources import Resources, ScalePaths
from smp.values import JSON, JSONObject, same
from tests.record.crds import answers, definitions, edited, schemas, thing
from tests.support.oracles import as_go_prints
from tests.support.server_definitions import CRON_TABS, cron_tab, with_schema
from tests.support.strategies import json_values

BUILTIN: Final = Resources.builtin()
NOW: Final = datetime(2026, 11, 21, 18, 30, tzinfo=UTC)
V1: Final = Definition.read(CRON_TABS).version("v1")


def as_object(value: JSON) -> JSONObject:
    assert isinstance(value, dict)
    return value


def causes(error: SmpError) -> list[tuple[str, str]]:
    assert isinstance(error, InvalidError)
    return [
        (str(one.cause["field"]), str(one.cause["reason"])) for one in error.violations
    ]


# --- what a definition becomes


def test_a_definition_becomes_a_resource() -> None:
    (resource,) = Definition.read(CRON_TABS).resources
    assert (resource.group, resource.version, resource.kind) == (
        "stable.example.com",
        "v1",
        "CronTab",
    )
    assert (resource.plural, resource.singular, resource.list_kind) == (
        "crontabs",
        "crontab",
        "CronTabList",
    )
    assert (resource.short_names, resource.categories) == (("ct",), ("all",))
    assert (resource.namespaced, resource.custom, resource.subresources) == (
        True,
        True,
        ("scale", "status"),
    )
    assert resource.scale == ScalePaths(selector=("status", "labelSelector"))


def test_names_have_defaults() -> None:
    (resource,) = Definition.read(with_schema({"type": "object"})).resources
    assert (resource.singular, resource.list_kind, resource.namespaced) == (
        "thing",
        "ThingList",
        False,
    )
    assert resource.subresources == ()


def test_versions_that_are_served_are_resources_stored_in_one_version() -> None:
    (own,) = as_list(as_object(CRON_TABS["spec"])["versions"])
    rest = {**as_object(own), "storage": False}
    versions = [
        {**rest, "name": "v1beta1"},
        own,
        {**rest, "name": "v1alpha1", "served": False},
    ]
    definition = Definition.read(edited({"spec/versions": [*versions]}))
    found = [(one.version, one.storage_api_version) for one in definition.resources]
    assert found == [
        ("v1beta1", "stable.example.com/v1"),
        ("v1", "stable.example.com/v1"),
    ]
    assert BUILTIN.with_resources(definition.resources).versions(
        "stable.example.com"
    ) == ("v1", "v1beta1")
    assert definition.version("v1beta1").resource is definition.resources[0]
    with pytest.raises(UnknownResourceError):
        definition.version("v1alpha1")


def as_list(value: JSON) -> list[JSON]:
    assert isinstance(value, list)
    return value


def test_a_definition_has_the_schemas_of_the_handler() -> None:
    schema = Definition.read(CRON_TABS).catalog.schema(
        "stable.example.com/v1", "CronTab"
    )
    assert schema.descend("spec", "tags").strategy.merge is False
    assert schema.descend("metadata", "finalizers").strategy.merge is True


# --- what is wrong with a definition

# Kubernetes reads a definition of one version into a form in which this version has no
# place of its own.
PLACES: Final = {
    "spec.versions[0].schema.": "spec.validation.",
    "spec.versions[0].subresources": "spec.subresources",
    "spec.versions[0].additionalPrinterColumns": "spec.additionalPrinterColumns",
    ".JSONPath": ".jsonPath",
}
# What it says of fields that it has filled in itself.
ITS_OWN: Final = ("spec.version", "status.storedVersions")
# Where the same is wrong for another reason, or at a field beside.
OTHERWISE: Final = {
    "{'spec/versions/0/schema/openAPIV3Schema': {'type': 'object', 'additionalProperties': {'type': 'string'}}}",
    "{'type': 'array', 'items': {'type': 'object'}, 'x-kubernetes-list-type': 'map'}",
    "{'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'bag'}",
    "{'type': 'array', 'items': [{'type': 'string'}]}",
    "{'x-kubernetes-int-or-string': True, 'anyOf': [{'type': 'text'}]}",
}


def normal(field: str) -> str:
    """Return a field in one notation: Kubernetes puts some names into brackets."""
    for theirs, ours in PLACES.items():
        field = field.replace(theirs, ours)
    return re.sub(r"\[([^\d\]][^\]]*)\]", r".\1", field)


def problems(definition: JSONObject) -> set[tuple[str, str]]:
    try:
        Definition.read(definition)
    except InvalidError as error:
        return {(normal(field), reason) for field, reason in causes(error)}
    except StatusError as error:
        if type(error) is not StatusError:
            raise
        return {UNTYPED}
    return set()


UNTYPED: Final = ("", "unreadable")
DEFINITIONS: Final = [
    pytest.param(name, definition, answer, id=name)
    for (name, definition), answer in zip(definitions(), answers(), strict=False)
]


@pytest.mark.parametrize(("name", "definition", "answer"), DEFINITIONS)
def test_kubernetes_finds_the_same_wrong(
    name: str, definition: JSONObject, answer: Any
) -> None:
    found = problems(definition)
    theirs = {
        (normal(field), reason.replace("TypeInvalid", "Invalid"))
        for field, reason in answer["problems"] or ()
    }
    expected = {(field, reason) for field, reason in theirs if field not in ITS_OWN}
    if answer["unreadable"]:
        assert found == {UNTYPED}
    elif name in OTHERWISE:
        assert found
    else:
        assert found == expected


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidError) as caught:
        Definition.read({"metadata": {}, "spec": {}})
    assert caught.value.status == 422
    assert {field for field, _ in causes(caught.value)} == {
        *("metadata.name", "spec.group", "spec.scope", "spec.versions"),
        *(
            "spec.names.plural",
            "spec.names.singular",
            "spec.names.kind",
            "spec.names.listKind",
        ),
    }


def test_a_version_is_there_once_and_one_is_stored() -> None:
    twice = as_list(as_object(CRON_TABS["spec"])["versions"]) * 2
    with pytest.raises(InvalidError) as caught:
        Definition.read(edited({"spec/versions": twice}))
    assert [str(one) for one in caught.value.violations] == [
        'spec.versions: Invalid value: "v1": must contain unique version names',
        'spec.versions: Invalid value: ["v1", "v1"]: must have exactly one version marked as storage version',
    ]


def test_a_version_is_served() -> None:
    """A definition that serves nothing is allowed in Kubernetes; here it has no use."""
    assert problems(edited({"spec/versions/0/served": False})) == {
        ("spec.versions", "FieldValueInvalid")
    }


def test_versions_are_not_converted() -> None:
    webhook: JSONObject = {"spec/conversion": {"strategy": "Webhook", "webhook": {}}}
    assert problems(edited(webhook)) == {
        ("spec.conversion.strategy", "FieldValueNotSupported")
    }


def test_a_divisor_is_not_zero() -> None:
    """Nothing can be divided by it; Kubernetes takes the definition, and no object is a
    multiple of zero.
    """
    assert problems(with_schema({"type": "integer", "multipleOf": 0})) == {UNTYPED}


@pytest.mark.parametrize(
    ("value", "is_good"),
    [(0.3, True), (7, True), (10**400, True), (0.35, False), (-0.1, True)],
)
def test_a_multiple_is_one_to_the_last_digit(value: JSON, is_good: bool) -> None:
    """Kubernetes divides floats: to it, 7 is no multiple of 0.1."""
    schema = (
        Definition.read(with_schema({"type": "number", "multipleOf": 0.1}))
        .version("v1")
        .schema
    )
    assert (not violations({"spec": value}, schema)) is is_good


def test_a_null_is_as_good_as_nothing() -> None:
    text = json.dumps(CRON_TABS).replace('"categories": ["all"]', '"categories": null')
    assert Definition.read(json.loads(text)).resources[0].categories == ()


# --- what is not evaluated


def test_what_is_not_evaluated_is_said() -> None:
    schema: JSON = {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "self.a == 'a'"}],
    }
    columns: JSON = [{"name": "X", "type": "string", "jsonPath": "..x"}]
    definition = edited(
        {"spec/versions/0/additionalPrinterColumns": columns}, with_schema(schema)
    )
    assert [
        warning.partition(":")[0] for warning in Definition.read(definition).warnings
    ] == [
        "spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations",
        "spec.versions[0].additionalPrinterColumns[0].jsonPath",
    ]


# --- status


def conditions(document: JSONObject) -> dict[str, tuple[str, str, str]]:
    found: Any = as_object(document["status"])["conditions"]
    return {
        one["type"]: (one["status"], one["reason"], one["lastTransitionTime"])
        for one in found
    }


def test_a_new_definition_is_established() -> None:
    """The reasons are those of the controllers in k8s.io/apiextensions-apiserver."""
    document = with_status(CRON_TABS, BUILTIN, now=NOW)
    assert conditions(document) == {
        "NamesAccepted": ("True", "NoConflicts", "2026-11-21T18:30:00Z"),
        "Established": ("True", "InitialNamesAccepted", "2026-11-21T18:30:00Z"),
    }
    assert is_established(document)
    assert not is_established(CRON_TABS)
    status = as_object(document["status"])
    assert status["storedVersions"] == ["v1"]
    assert status["acceptedNames"] == {
        "plural": "crontabs",
        "singular": "crontab",
        "kind": "CronTab",
        "listKind": "CronTabList",
        "shortNames": ["ct"],
        "categories": ["all"],
    }
    spec = as_object(document["spec"])
    assert (spec["names"], spec["conversion"]) == (
        status["acceptedNames"],
        {"strategy": "None"},
    )


def test_nothing_changes_with_time_alone() -> None:
    first = with_status(CRON_TABS, BUILTIN, now=NOW)
    resources = BUILTIN.with_resources(Definition.read(first).resources)
    assert with_status(first, resources, now=NOW + timedelta(days=1)) == first


def test_versions_that_were_stored_are_remembered() -> None:
    first = with_status(CRON_TABS, BUILTIN, now=NOW)
    second = with_status(
        edited({"spec/versions/0/name": "v2"}, first), BUILTIN, now=NOW
    )
    assert as_object(second["status"])["storedVersions"] == ["v1", "v2"]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ({"shortNames": ["ct"]}, "ShortNamesConflict"),
        ({"singular": "ct"}, "SingularConflict"),
        (
            {"kind": "CronTab", "singular": "other", "listKind": "OtherList"},
            "KindConflict",
        ),
        ({"listKind": "CronTabList"}, "ListKindConflict"),
    ],
)
def test_names_of_another_are_not_accepted(names: JSONObject, reason: str) -> None:
    served = BUILTIN.with_resources(Definition.read(CRON_TABS).resources)
    renamed: JSONObject = {"plural": "others", "kind": "Other", **names}
    other = edited(
        {"metadata/name": "others.stable.example.com", "spec/names": renamed}
    )
    document = with_status(other, served, now=NOW)
    assert {kind: found[:2] for kind, found in conditions(document).items()} == {
        "NamesAccepted": ("False", reason),
        "Established": ("False", "NotAccepted"),
    }
    assert not is_established(document)
    assert as_object(document["status"])["acceptedNames"] == {}
    # In another group they are free.
    apart = edited(
        {
            "spec/group": "other.example.com",
            "metadata/name": "others.other.example.com",
        },
        other,
    )
    assert is_established(with_status(apart, served, now=NOW))


def test_what_is_established_stays_so() -> None:
    first = with_status(CRON_TABS, BUILTIN, now=NOW)
    names: JSONObject = {"plural": "others", "kind": "Other", "shortNames": ["o"]}
    other = edited({"metadata/name": "others.stable.example.com", "spec/names": names})
    served = BUILTIN.with_resources(Definition.read(other).resources)
    changed = with_status(
        edited({"spec/names/shortNames": ["o"]}, first), served, now=NOW
    )
    assert conditions(changed)["NamesAccepted"][:2] == ("False", "ShortNamesConflict")
    assert is_established(changed)
    assert (
        as_object(changed["status"])["acceptedNames"]
        == as_object(first["status"])["acceptedNames"]
    )


# --- objects

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
def test_kubernetes_treats_objects_alike(
    definition: JSONObject, value: JSON, answer: Any
) -> None:
    """What is filled in is the same; and so is what is refused, if not always the field
    that is blamed.
    """
    schema = Definition.read(definition).version("v1").schema
    obj = thing(value)
    assert same(as_go_prints(with_schema_defaults(obj, schema)), answer["defaulted"])
    refused = {normal(str(one.cause["field"])) for one in violations(obj, schema)}
    theirs = {normal(field) for field, _ in answer["problems"]}
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


def test_what_is_missing_is_named() -> None:
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
def test_patterns_are_of_the_dialect_of_go(pattern: str) -> None:
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


def test_depth_is_an_error_and_no_crash() -> None:
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
def test_no_object_breaks_a_definition_and_nothing_is_mutated(
    value: JSON, word: str
) -> None:
    obj: JSONObject = {**cron_tab({}), word: value}
    before = deepcopy(obj)
    filled = with_schema_defaults(obj, V1.schema)
    violations(filled, V1.schema)
    assert same(with_schema_defaults(filled, V1.schema), filled)
    assert same(obj, before)


@given(json_values(), st.randoms(use_true_random=False))
def test_no_definition_breaks_the_reader(odd: JSON, chance: Any) -> None:
    document = json.loads(json.dumps(CRON_TABS))
    _put(document, odd, chance)
    before = deepcopy(document)
    try:
        definition = Definition.read(document)
        obj = cron_tab({"replicas": odd})
        schema = definition.version("v1").schema
        violations(with_schema_defaults(obj, schema), schema)
        assert with_status(document, BUILTIN, now=NOW)["status"]
    except SmpError:
        pass
    assert same(document, before)


def _put(place: Any, odd: JSON, chance: Any) -> None:
    """Replace something below a place."""
    key = chance.choice([*place] if isinstance(place, dict) else [*range(len(place))])
    if isinstance(place[key], dict | list) and place[key] and chance.random() < 0.9:
        _put(place[key], odd, chance)
    else:
        place[key] = odd


def test_defaults_do_not_grow_without_bound() -> None:
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
