"""CustomResourceDefinitions: what they define, what is wrong with them, their status.

Most expected values are what Kubernetes answers (tests.record.crds), the others those
of "Extend the Kubernetes API with CustomResourceDefinitions" in its documentation.
"""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp.errors import SmpError
from smp.server.errors import InvalidError, StatusError, UnknownResourceError
from smp.server.objects.crds import Definition, is_established, with_status
from smp.server.objects.crds.structural import with_schema_defaults
from smp.server.objects.crds.validation import violations
from smp.server.objects.resources import Resources, ScalePaths
from smp.values import JSON, JSONObject, as_list, as_object, same
from tests.record.crds import answers, definitions, edited
from tests.support.server_definitions import (
    CRON_TABS,
    cron_tab,
    uniform_field,
    with_schema,
)
from tests.support.strategies import json_values

BUILTIN: Final = Resources.builtin()
NOW: Final = datetime(2026, 11, 21, 18, 30, tzinfo=UTC)
V1: Final = Definition.read(CRON_TABS).version("v1")


def causes(error: SmpError) -> list[tuple[str, str]]:
    assert isinstance(error, InvalidError)
    return [
        (str(one.cause["field"]), str(one.cause["reason"])) for one in error.violations
    ]


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


def test_served_versions_are_resources_that_are_stored_in_one_version() -> None:
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


def test_a_definition_has_the_schemas_of_the_handler() -> None:
    schema = Definition.read(CRON_TABS).catalog.schema(
        "stable.example.com/v1", "CronTab"
    )
    assert schema.descend("spec", "tags").strategy.merge is False
    assert schema.descend("metadata", "finalizers").strategy.merge is True


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


def problems(definition: JSONObject) -> set[tuple[str, str]]:
    try:
        Definition.read(definition)
    except InvalidError as error:
        return {(uniform_field(field), reason) for field, reason in causes(error)}
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
def test_kubernetes_reports_the_same_errors(
    name: str, definition: JSONObject, answer: Any
) -> None:
    found = problems(definition)
    theirs = {
        (uniform_field(field), reason.replace("TypeInvalid", "Invalid"))
        for field, reason in answer["problems"] or ()
    }
    expected = {(field, reason) for field, reason in theirs if field not in ITS_OWN}
    if answer["unreadable"]:
        assert found == {UNTYPED}
    elif name in OTHERWISE:
        assert found
    else:
        assert found == expected


def test_all_errors_are_reported_at_once() -> None:
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


def test_versions_are_unique_and_one_is_the_storage_version() -> None:
    twice = as_list(as_object(CRON_TABS["spec"])["versions"]) * 2
    with pytest.raises(InvalidError) as caught:
        Definition.read(edited({"spec/versions": twice}))
    assert [str(one) for one in caught.value.violations] == [
        'spec.versions: Invalid value: "v1": must contain unique version names',
        'spec.versions: Invalid value: ["v1", "v1"]: must have exactly one version marked as storage version',
    ]


def test_at_least_one_version_is_served() -> None:
    """A definition that serves nothing is allowed in Kubernetes; here it has no use."""
    assert problems(edited({"spec/versions/0/served": False})) == {
        ("spec.versions", "FieldValueInvalid")
    }


def test_conversion_webhooks_are_not_supported() -> None:
    webhook: JSONObject = {"spec/conversion": {"strategy": "Webhook", "webhook": {}}}
    assert problems(edited(webhook)) == {
        ("spec.conversion.strategy", "FieldValueNotSupported")
    }


def test_multiple_of_zero_is_refused() -> None:
    """Nothing can be divided by it; Kubernetes takes the definition, and no object is a
    multiple of zero.
    """
    assert problems(with_schema({"type": "integer", "multipleOf": 0})) == {UNTYPED}


def test_null_is_read_as_absent() -> None:
    text = json.dumps(CRON_TABS).replace('"categories": ["all"]', '"categories": null')
    assert Definition.read(json.loads(text)).resources[0].categories == ()


def test_a_definition_warns_of_what_is_not_evaluated() -> None:
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


def test_the_status_does_not_change_with_time_alone() -> None:
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
def test_names_of_another_definition_are_not_accepted(
    names: JSONObject, reason: str
) -> None:
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


def test_an_established_definition_stays_established() -> None:
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


@given(json_values(), st.randoms(use_true_random=False))
def test_any_definition_is_read_or_refused_without_being_mutated(
    odd: JSON, chance: Any
) -> None:
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
