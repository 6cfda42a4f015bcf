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

import smp
from smp._storage.update import decode_object
from smp._values.values import JSON, JSONObject, as_list, as_object, same
from smp.custom_resources import _expressions, value_violations
from smp.errors import SchemaError, SmpError
from smp.schema.resources import Resources, ScalePaths
from smp.schema.structural import add_schema_defaults
from smp.server.errors import InvalidError, UnknownResourceError
from smp.server.objects.crds import Definition, is_established, set_status
from tests.record.crds import answers, definitions, edited
from tests.support.rows import each_row
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
        (str(violation.cause["field"]), str(violation.cause["reason"]))
        for violation in error.violations
    ]


def test_a_definition_becomes_a_resource() -> None:
    (resource,) = Definition.read(CRON_TABS).resources
    assert (resource.group, resource.version) == ("stable.example.com", "v1")
    assert (resource.kind, resource.list_kind) == ("CronTab", "CronTabList")
    assert (resource.plural, resource.singular) == ("crontabs", "crontab")
    assert (resource.short_names, resource.categories) == (("ct",), ("all",))
    assert (resource.namespaced, resource.custom) == (True, True)
    assert [*resource.subresources] == ["scale", "status"]
    assert resource.scale == ScalePaths(selector=("status", "labelSelector"))


def test_names_have_defaults() -> None:
    (resource,) = Definition.read(with_schema({"type": "object"})).resources
    assert (resource.singular, resource.list_kind) == ("thing", "ThingList")
    assert resource.namespaced is False
    assert not resource.subresources


def test_served_versions_are_resources_that_are_stored_in_one_version() -> None:
    (v1,) = as_list(as_object(CRON_TABS["spec"])["versions"])
    other = {**as_object(v1), "storage": False}
    versions: list[JSON] = [
        {**other, "name": "v1beta1"},
        v1,
        {**other, "name": "v1alpha1", "served": False},
    ]
    definition = Definition.read(edited({"spec/versions": versions}))
    stored_in = {
        resource.version: resource.storage_api_version
        for resource in definition.resources
    }
    assert stored_in == {
        "v1beta1": "stable.example.com/v1",
        "v1": "stable.example.com/v1",
    }
    resources = BUILTIN.with_resources(definition.resources)
    assert resources.versions("stable.example.com") == ("v1", "v1beta1")
    assert definition.version("v1beta1").resource is definition.resources[0]
    with pytest.raises(UnknownResourceError):
        definition.version("v1alpha1")


def test_a_definition_has_the_schemas_of_the_handler() -> None:
    catalog = Definition.read(CRON_TABS).catalog
    schema = catalog.schema("stable.example.com/v1", "CronTab")
    assert schema.descend("spec", "tags").strategy.merge is False
    assert schema.descend("metadata", "finalizers").strategy.merge is True


_SCHEMA: Final = smp.kubernetes().schema(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition"
)


def problems(definition: JSONObject) -> set[tuple[str, str]]:
    """Return the field and the reason of each error of a definition."""
    # The handler decodes it first.
    if decode_object(definition, None, _SCHEMA, typed=True, custom=False).misfits:
        return {UNREADABLE}
    try:
        Definition.read(definition)
    except InvalidError as error:
        return {(uniform_field(field), reason) for field, reason in causes(error)}
    except SchemaError:
        return {UNREADABLE}
    return set()


UNREADABLE: Final = ("", "unreadable")
DEFINITIONS: Final = [
    pytest.param(definition, answer, id=name)
    for (name, definition), answer in zip(definitions(), answers(), strict=False)
]


@each_row(("definition", "answer"), DEFINITIONS)
def test_kubernetes_reports_the_same_errors(
    definition: JSONObject, answer: Any
) -> None:
    ours = problems(definition)
    theirs = {
        (uniform_field(field), reason) for field, reason in answer["problems"] or ()
    }
    assert ours == ({UNREADABLE} if answer["unreadable"] else theirs)


def test_all_errors_are_reported_at_once() -> None:
    with pytest.raises(InvalidError) as caught:
        Definition.read({"metadata": {}, "spec": {}})
    assert caught.value.status == 422
    assert {field for field, _ in causes(caught.value)} == {
        "metadata.name",
        "spec.group",
        "spec.scope",
        "spec.versions",
        "spec.names.plural",
        "spec.names.singular",
        "spec.names.kind",
        "spec.names.listKind",
        "status.storedVersions",
    }


def test_versions_are_unique_and_one_is_the_storage_version() -> None:
    twice = as_list(as_object(CRON_TABS["spec"])["versions"]) * 2
    with pytest.raises(InvalidError) as caught:
        Definition.read(edited({"spec/versions": twice}))
    assert [str(violation) for violation in caught.value.violations] == [
        'spec.versions: Invalid value: ["v1","v1"]: must contain unique version names',
        (
            'spec.versions: Invalid value: ["v1","v1"]: '
            "must have exactly one version marked as storage version"
        ),
        (
            'status.storedVersions: Invalid value: ["v1"]: '
            "must have the storage version v1"
        ),
    ]


def test_a_definition_may_serve_nothing() -> None:
    assert Definition.read(edited({"spec/versions/0/served": False})).resources == ()


def test_a_conversion_webhook_is_stored_with_a_warning() -> None:
    webhook: JSONObject = {
        "clientConfig": {"service": {"name": "a", "namespace": "b"}},
        "conversionReviewVersions": ["v1"],
    }
    conversion: JSONObject = {"strategy": "Webhook", "webhook": webhook}
    definition = Definition.read(edited({"spec/conversion": conversion}))
    (warning,) = definition.warnings
    assert warning.startswith(
        "spec.conversion.strategy: this server calls no webhook of it"
    )
    assert [resource.kind for resource in definition.resources] == ["CronTab"]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://a.example.com/path", ""),
        ("http://a.example.com", "'https' is the only allowed URL scheme"),
        ("https:///path", "host must be specified"),
        ("https://a@a.example.com", "user information is not permitted"),
        ("https://a.example.com#a", "fragments are not permitted"),
        ("https://a.example.com?a=b", "query parameters are not permitted"),
        ("https://[", "url must be a valid URL"),
    ],
)
def test_the_url_of_a_webhook_is_checked(url: str, problem: str) -> None:
    webhook: JSONObject = {
        "clientConfig": {"url": url},
        "conversionReviewVersions": ["v1"],
    }
    document = edited({"spec/conversion": {"strategy": "Webhook", "webhook": webhook}})
    if not problem:
        assert Definition.read(document).resources
        return
    with pytest.raises(InvalidError) as caught:
        Definition.read(document)
    assert problem in str(caught.value.violations[0])


def test_multiple_of_zero_is_taken() -> None:
    assert problems(with_schema({"type": "integer", "multipleOf": 0})) == set()


def test_null_is_read_as_absent() -> None:
    text = json.dumps(CRON_TABS).replace('"categories": ["all"]', '"categories": null')
    assert Definition.read(json.loads(text)).resources[0].categories == ()


def test_a_definition_warns_of_what_is_not_evaluated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Without the packages of the extra.
    monkeypatch.setattr(_expressions, "cel", None)
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
        "spec.versions[0].schema.openAPIV3Schema",
        "spec.versions[0].additionalPrinterColumns[0].jsonPath",
    ]


def conditions(document: JSONObject) -> dict[str, tuple[str, str, str]]:
    """Return status, reason and time of each condition by its type."""
    by_type: dict[str, tuple[str, str, str]] = {}
    listed: Any = as_object(document["status"])["conditions"]
    for condition in listed:
        status, reason = condition["status"], condition["reason"]
        time = condition["lastTransitionTime"]
        by_type[condition["type"]] = (status, reason, time)
    return by_type


def test_a_new_definition_is_established() -> None:
    """The reasons are those of the controllers in k8s.io/apiextensions-apiserver."""
    document = set_status(CRON_TABS, BUILTIN, now=NOW)
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
    assert spec["names"] == status["acceptedNames"]
    assert spec["conversion"] == {"strategy": "None"}


def test_the_status_does_not_change_with_time_alone() -> None:
    first = set_status(CRON_TABS, BUILTIN, now=NOW)
    resources = BUILTIN.with_resources(Definition.read(first).resources)
    assert set_status(first, resources, now=NOW + timedelta(days=1)) == first


def test_versions_that_were_stored_are_remembered() -> None:
    first = set_status(CRON_TABS, BUILTIN, now=NOW)
    second = set_status(edited({"spec/versions/0/name": "v2"}, first), BUILTIN, now=NOW)
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
    document = set_status(other, served, now=NOW)
    assert conditions(document)["NamesAccepted"][:2] == ("False", reason)
    assert conditions(document)["Established"][:2] == ("False", "NotAccepted")
    assert not is_established(document)
    assert as_object(document["status"])["acceptedNames"] == {}
    # In another group the names are free.
    elsewhere = edited(
        {
            "spec/group": "other.example.com",
            "metadata/name": "others.other.example.com",
        },
        other,
    )
    assert is_established(set_status(elsewhere, served, now=NOW))


def test_an_established_definition_stays_established() -> None:
    first = set_status(CRON_TABS, BUILTIN, now=NOW)
    names: JSONObject = {"plural": "others", "kind": "Other", "shortNames": ["o"]}
    other = edited({"metadata/name": "others.stable.example.com", "spec/names": names})
    served = BUILTIN.with_resources(Definition.read(other).resources)
    changed = set_status(
        edited({"spec/names/shortNames": ["o"]}, first), served, now=NOW
    )
    assert conditions(changed)["NamesAccepted"][:2] == ("False", "ShortNamesConflict")
    assert is_established(changed)
    accepted = as_object(first["status"])["acceptedNames"]
    assert as_object(changed["status"])["acceptedNames"] == accepted


@given(json_values(), st.randoms(use_true_random=False))
def test_any_definition_is_read_or_refused_without_being_mutated(
    odd: JSON, chance: Any
) -> None:
    document = json.loads(json.dumps(CRON_TABS))
    replace_below(document, odd, chance)
    before = deepcopy(document)
    try:
        definition = Definition.read(document)
        obj = cron_tab({"replicas": odd})
        schema = definition.version("v1").schema
        value_violations(add_schema_defaults(obj, schema), schema)
        status = as_object(set_status(document, BUILTIN, now=NOW)["status"])
        assert {"acceptedNames", "conditions", "storedVersions"} <= status.keys()
    except SmpError:
        pass
    assert same(document, before)


def replace_below(parent: Any, odd: JSON, chance: Any) -> None:
    """Replace a random value anywhere below an object or a list."""
    keys = [*parent] if isinstance(parent, dict) else [*range(len(parent))]
    key = chance.choice(keys)
    value = parent[key]
    if isinstance(value, dict | list) and value and chance.random() < 0.9:
        replace_below(value, odd, chance)
    else:
        parent[key] = odd
