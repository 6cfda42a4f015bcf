"""Metadata that the server sets and protects, names, and deletion.

Expected values are those of the Kubernetes API conventions ("Metadata") and of "Object
Names and IDs", "Finalizers" and "Labels and Selectors" in the Kubernetes documentation.
Which names are valid is what Kubernetes answered (tests.record.facts).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from copy import deepcopy
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

import pytest
from hypothesis import given

from smp._values import names
from smp._values.times import timestamp
from smp._values.values import JSON, JSONObject, as_object, same
from smp.errors import SmpError
from smp.handler import ModifiedError
from smp.schema.resources import Resource, Resources
from smp.server.errors import InvalidError, StatusError
from smp.server.objects.deletion import (
    DeleteOptions,
    PreconditionError,
    begin_deletion,
    is_deletion_finished,
)
from smp.server.objects.metadata import (
    drop_resource_version,
    in_namespace,
    prepare_for_create,
    prepare_for_update,
    random_suffix,
    set_resource_version,
)
from smp.validation import judge_names
from smp.violations import Violation
from tests.record.facts import facts
from tests.support.rows import each_row
from tests.support.strategies import json_values

BUILTIN: Final = Resources.builtin()
PODS: Final = BUILTIN.of_kind("v1", "Pod")
NODES: Final = BUILTIN.of_kind("v1", "Node")
CONFIG_MAPS: Final = BUILTIN.of_kind("v1", "ConfigMap")
NOW: Final = datetime(2026, 11, 21, 18, 30, 5, 999999, tzinfo=UTC)
RULES: Final = {
    "label": names.label,
    "subdomain": names.subdomain,
    "rfc1035": names.rfc1035_label,
    "path": names.path_segment,
    "label key": names.label_key,
    "label value": names.label_value,
}


def create(metadata: JSON, resource: Resource = PODS, namespace: str = "shop") -> Any:
    obj: JSONObject = {"metadata": metadata, "spec": {}}
    obj = in_namespace(obj, resource, namespace)
    created = prepare_for_create(obj, resource, now=NOW, uid="7b0c", suffix="x7b2q")
    return created["metadata"]


def causes(error: SmpError) -> list[tuple[str, str]]:
    assert isinstance(error, InvalidError)
    assert error.status == 422
    return fields_and_reasons(error.violations)


def fields_and_reasons(violations: Iterable[Violation]) -> list[tuple[str, str]]:
    return [
        (str(violation.cause["field"]), str(violation.cause["reason"]))
        for violation in violations
    ]


def test_a_new_object_gets_its_identity() -> None:
    assert create({"name": "web"}) == {
        "name": "web",
        "namespace": "shop",
        "uid": "7b0c",
        "creationTimestamp": "2026-11-21T18:30:05Z",
        "generation": 1,
    }


def test_identity_set_by_a_client_is_ignored() -> None:
    sent: JSONObject = {
        "name": "web",
        "uid": "mine",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "generation": 7,
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 30,
        "resourceVersion": "5",
        "selfLink": "/x",
        "labels": {"a": "b"},
    }
    assert create(sent) == {**create({"name": "web"}), "labels": {"a": "b"}}


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"generateName": "web-"}, "web-x7b2q"),
        ({"generateName": "web-", "name": ""}, "web-x7b2q"),
        ({"generateName": "web-", "name": "mine"}, "mine"),
        ({"generateName": "a" * 70}, "a" * 58 + "x7b2q"),  # 63 characters at most
    ],
)
def test_a_name_is_generated(metadata: JSONObject, name: str) -> None:
    assert create(metadata)["name"] == name


def test_a_suffix_is_five_characters_without_vowels() -> None:
    suffixes = {random_suffix(random.choice) for _ in range(100)}
    assert len(suffixes) > 90
    assert all(
        re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", suffix) for suffix in suffixes
    )


def test_times_are_in_utc() -> None:
    two_hours_east = timezone(timedelta(hours=2))
    time = datetime(2026, 1, 1, 0, 30, tzinfo=two_hours_east)
    assert timestamp(time) == "2025-12-31T22:30:00Z"


def test_an_object_without_a_namespace_has_none() -> None:
    assert "namespace" not in create({"name": "node-1", "namespace": "shop"}, NODES, "")


def test_the_namespace_is_that_of_the_request() -> None:
    assert create({"name": "web", "namespace": "shop"})["namespace"] == "shop"
    with pytest.raises(StatusError) as caught:
        create({"name": "web", "namespace": "other"})
    assert caught.type is StatusError
    # The sentence of an API server (Go: k8s.io/apiserver, registry/rest/meta.go).
    assert caught.value.problem == (
        "the namespace of the provided object does not match the namespace sent on "
        "the request"
    )


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, [("metadata.name", "FieldValueRequired")]),
        ({"name": None}, [("metadata.name", "FieldValueRequired")]),
        ({"name": "Web"}, [("metadata.name", "FieldValueInvalid")]),
        ({"name": 5}, [("metadata.name", "FieldValueInvalid")]),
        # Go: ValidateObjectMetaAccessor judges both.
        (
            {"generateName": "Web-"},
            [
                ("metadata.generateName", "FieldValueInvalid"),
                ("metadata.name", "FieldValueInvalid"),
            ],
        ),
    ],
)
def test_names_that_are_not_allowed_are_refused(
    metadata: JSONObject, expected: list[tuple[str, str]]
) -> None:
    assert fields_and_reasons(judge_names(metadata, "", "Pod")) == expected


def test_a_namespace_is_a_label() -> None:
    metadata: JSONObject = {"name": "web", "namespace": "a.b"}
    found = fields_and_reasons(judge_names(metadata, "", "Pod"))
    assert found == [("metadata.namespace", "FieldValueInvalid")]


# "Object Names and IDs": most resources have DNS subdomains as names, some labels, some
# path segments.
@pytest.mark.parametrize(
    ("api_version", "kind", "allowed", "refused"),
    [
        ("v1", "Pod", "a.b", "A"),
        ("v1", "Namespace", "a-b", "a.b"),
        # Go: features.RelaxedServiceNameValidation, on since 1.36.
        ("v1", "Service", "1a", "a.b"),
        ("apps/v1", "StatefulSet", "1-a", "a.b"),
        ("rbac.authorization.k8s.io/v1", "Role", "system:Some one", "a/b"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "A", "a%b"),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "crontabs.example.com",
            "Crontabs.example.com",
        ),
    ],
)
def test_the_form_of_a_name_depends_on_the_kind(
    api_version: str, kind: str, allowed: str, refused: str
) -> None:
    group, _, _ = api_version.rpartition("/")
    assert [*judge_names({"name": allowed}, group, kind)] == []
    (violation,) = judge_names({"name": refused}, group, kind)
    assert str(violation.path) == "metadata.name"


@each_row(
    ("asked", "answer"),
    facts(*RULES),
    ids=lambda value: repr(value) if isinstance(value, dict) else "",
)
def test_names_are_valid_where_kubernetes_accepts_them(
    asked: Any, answer: bool
) -> None:
    assert (RULES[asked["op"]](asked["text"]) == "") is answer


OLD: Final[JSONObject] = {
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "7b0c",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "generation": 3,
        "labels": {"a": "b"},
    },
    "spec": {"replicas": 1},
    "status": {"replicas": 0},
}


def changed(**members: JSON) -> JSONObject:
    return {**OLD, **members}


@pytest.mark.parametrize(
    ("new", "resource", "generation"),
    [
        (OLD, PODS, 3),
        (changed(status={"replicas": 1}), PODS, 3),
        # A ConfigMap has no subresource status: any change is one of the desired state.
        (changed(status={"replicas": 1}), CONFIG_MAPS, 4),
        (changed(spec={"replicas": 2}), PODS, 4),
        (changed(spec={"replicas": 1.0}), PODS, 4),
        (changed(data={}), PODS, 4),
        (
            changed(
                metadata={"name": "web", "namespace": "shop", "labels": {"a": "c"}}
            ),
            PODS,
            3,
        ),
    ],
)
def test_the_generation_grows_with_changes_of_the_desired_state(
    new: JSONObject, resource: Resource, generation: int
) -> None:
    updated = prepare_for_update(OLD, new, resource)
    assert as_object(updated["metadata"])["generation"] == generation


def test_an_update_keeps_the_identity() -> None:
    new = changed(
        metadata={
            "name": "web",
            "namespace": "shop",
            "uid": "other",
            "generation": 9,
            "resourceVersion": "4",
        }
    )
    expected = {
        name: value
        for name, value in as_object(OLD["metadata"]).items()
        if name != "labels"
    }
    assert prepare_for_update(OLD, new, PODS) == changed(metadata=expected)
    # An object that was stored without a uid gets none from an update.
    bare: JSONObject = {"metadata": {"name": "web", "namespace": "shop"}}
    updated = prepare_for_update(deepcopy(bare), bare, PODS)
    assert updated["metadata"] == {"name": "web", "namespace": "shop"}


def test_an_update_that_changes_nothing_returns_the_same() -> None:
    answered = set_resource_version(OLD, 17)
    assert as_object(answered["metadata"])["resourceVersion"] == "17"
    assert same(prepare_for_update(OLD, answered, PODS), OLD)
    assert same(drop_resource_version(answered), OLD)


DELETED: Final[JSONObject] = {
    **OLD,
    "metadata": {
        **as_object(OLD["metadata"]),
        "finalizers": ["example.com/a", "example.com/b"],
        "deletionTimestamp": "2026-01-02T00:00:00Z",
    },
}


def with_finalizers(*finalizers: JSON, deleted: bool) -> JSONObject:
    metadata = {**as_object(DELETED["metadata"]), "finalizers": [*finalizers]}
    if not deleted:
        del metadata["deletionTimestamp"]
    return {**DELETED, "metadata": metadata}


def test_an_object_that_is_being_deleted_gets_no_new_finalizers() -> None:
    with pytest.raises(InvalidError) as caught:
        prepare_for_update(
            DELETED,
            with_finalizers("example.com/a", "example.com/c", deleted=True),
            PODS,
        )
    assert causes(caught.value) == [("metadata.finalizers", "FieldValueForbidden")]
    live = with_finalizers("example.com/a", deleted=False)
    more = with_finalizers("example.com/a", "example.com/c", deleted=False)
    updated = prepare_for_update(live, more, PODS)
    finalizers = as_object(updated["metadata"])["finalizers"]
    assert finalizers == ["example.com/a", "example.com/c"]


def test_a_deletion_cannot_be_undone() -> None:
    new = with_finalizers("example.com/a", deleted=False)
    updated = prepare_for_update(DELETED, new, PODS)
    metadata = as_object(updated["metadata"])
    assert metadata["deletionTimestamp"] == "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("obj", "finished"),
    [
        (DELETED, False),
        (with_finalizers("example.com/b", deleted=True), False),
        (with_finalizers(deleted=True), True),
        (with_finalizers(deleted=False), False),
        (OLD, False),
    ],
)
def test_an_update_without_finalizers_finishes_a_deletion(
    obj: JSONObject, finished: bool
) -> None:
    assert is_deletion_finished(obj) is finished


def test_finalizers_delay_a_deletion() -> None:
    live = with_finalizers("example.com/a", deleted=False)
    marked = begin_deletion(live, DeleteOptions(), PODS, NOW)
    assert marked is not None
    metadata = as_object(marked["metadata"])
    assert metadata["deletionTimestamp"] == "2026-11-21T18:30:05Z"
    assert metadata["generation"] == 4
    assert (
        begin_deletion(marked, DeleteOptions(), PODS, NOW + timedelta(days=1)) is marked
    )
    assert begin_deletion(OLD, DeleteOptions(), PODS, NOW) is None
    assert (
        begin_deletion(with_finalizers(deleted=False), DeleteOptions(), PODS, NOW)
        is None
    )


@pytest.mark.parametrize(
    ("body", "query", "dry_run"),
    [
        (None, {}, False),
        ({}, {"dryRun": "All"}, False),  # where there is a body, the query is ignored
        ({"propagationPolicy": "Background"}, {}, False),  # kubectl delete
        (
            {
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "dryRun": ["All"],
                "gracePeriodSeconds": 0,
            },
            {},
            True,
        ),
        (
            None,
            {
                "dryRun": "All",
                "gracePeriodSeconds": "30",
                "propagationPolicy": "Orphan",
                "pretty": "true",
            },
            True,
        ),
        (None, {"orphanDependents": "true"}, False),
    ],
)
def test_delete_options_are_read(
    body: JSON, query: dict[str, str], dry_run: bool
) -> None:
    assert DeleteOptions.read(body, query).is_dry_run is dry_run


@pytest.mark.parametrize(
    ("body", "query", "status"),
    [
        ([], {}, 400),
        ({"gracePeriodSeconds": "soon"}, {}, 400),
        ({"preconditions": {"uid": 5}}, {}, 400),
        (None, {"gracePeriodSeconds": "soon"}, 400),
        ({"propagationPolicy": "Maybe"}, {}, 422),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, {}, 422),
        ({"dryRun": ["All", "Some"]}, {}, 422),
        (None, {"dryRun": "true"}, 422),
    ],
)
def test_invalid_delete_options_are_refused(
    body: JSON, query: dict[str, str], status: int
) -> None:
    with pytest.raises(SmpError) as caught:
        DeleteOptions.read(body, query)
    assert caught.value.status == status


def test_preconditions_are_checked() -> None:
    def read(**preconditions: JSON) -> DeleteOptions:
        return DeleteOptions.read({"preconditions": {**preconditions}}, {})

    read().check_preconditions(OLD, 17)
    read(uid="7b0c", resourceVersion="17").check_preconditions(OLD, 17)
    for wanted in (
        read(uid="other"),
        read(resourceVersion="16"),
        read(resourceVersion=""),
    ):
        with pytest.raises(PreconditionError) as caught:
            wanted.check_preconditions(OLD, 17)
        assert caught.value.status == 409


@given(json_values(), json_values())
def test_any_metadata_is_prepared_or_refused_without_being_mutated(
    old: JSON, new: JSON
) -> None:
    before = deepcopy((old, new))
    for act in (
        lambda: create(new),
        lambda: prepare_for_update({"metadata": old}, {"metadata": new}, PODS),
        lambda: begin_deletion({"metadata": new}, DeleteOptions(), PODS, NOW),
        lambda: is_deletion_finished({"metadata": new}),
        lambda: DeleteOptions.read(new, {}).check_preconditions({"metadata": old}, 1),
    ):
        try:
            act()
        except StatusError as error:
            known = (StatusError, InvalidError, ModifiedError, PreconditionError)
            if type(error) not in known:
                raise
    assert same([*before], [old, new])
