"""Server-side apply: what an apply makes of an object and of its managedFields."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import smp
from smp._values.last_applied import LAST_APPLIED
from smp._values.plain import over_json
from smp._values.values import JSON, JSONObject, as_object
from smp.managed_fields import ApplyConflict, Step, owners, simulate
from smp.paths import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = smp.kubernetes().schema("v1", "ConfigMap")


def config_map(**data: str) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web"},
        "data": {**data},
    }


def test_an_apply_creates_the_object_and_owns_what_it_has() -> None:
    result = smp.server_side_apply(
        None, config_map(a="1"), SCHEMA, manager="first", now=NOW
    )
    assert result.changed
    assert result.object == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "web",
            "managedFields": [
                {
                    "manager": "first",
                    "operation": "Apply",
                    "apiVersion": "v1",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:data": {"f:a": {}}},
                }
            ],
        },
        "data": {"a": "1"},
    }


def test_an_apply_that_changes_nothing_returns_the_live_object() -> None:
    live = smp.server_side_apply(
        None, config_map(a="1"), SCHEMA, manager="first", now=NOW
    ).object
    again = smp.server_side_apply(live, config_map(a="1"), SCHEMA, manager="first")
    assert not again.changed
    assert again.object is live


def test_what_another_manager_owns_is_a_conflict_unless_it_is_forced() -> None:
    live = smp.server_side_apply(
        None, config_map(a="1"), SCHEMA, manager="first", now=NOW
    ).object
    with pytest.raises(smp.ApplyConflictError) as raised:
        smp.server_side_apply(live, config_map(a="2"), SCHEMA, manager="second")
    assert raised.value.problem == (
        'Apply failed with 1 conflict: conflict with "first": .data.a'
    )
    forced = smp.server_side_apply(
        live, config_map(a="2"), SCHEMA, manager="second", force=True
    )
    assert forced.object["data"] == {"a": "2"}
    owned = [owner.manager for owner in smp.managed_fields.owners(forced.object)]
    assert owned == ["second"]


def test_conflicts_are_not_looked_for_again_in_another_order() -> None:
    conflict = ApplyConflict("b", "Apply", "v1", "", "", Path(("data", "a")))
    runs: list[JSON] = []

    @over_json("the object", "applied", deciding=("applied",))
    def apply(applied: JSON) -> None:
        runs.append(applied)
        raise smp.ApplyConflictError((conflict,))

    with pytest.raises(smp.ApplyConflictError):
        apply({"b": 1, "a": 2})
    assert runs == [{"b": 1, "a": 2}]


def test_what_the_manager_no_longer_applies_is_removed() -> None:
    live = smp.server_side_apply(
        None, config_map(a="1", b="2"), SCHEMA, manager="first", now=NOW
    ).object
    result = smp.server_side_apply(live, config_map(b="2"), SCHEMA, manager="first")
    assert result.object["data"] == {"b": "2"}


@pytest.mark.parametrize(("size", "kept"), [(262_000, True), (262_200, False)])
def test_a_long_configuration_is_not_kept_in_the_annotation(
    size: int, *, kept: bool
) -> None:
    # kube-apiserver 1.36.3, whose annotations have 256 KiB in all; it still lists the
    # annotation as owned (Go: TestLargeLastApplied of lastappliedupdater_test.go).
    client_side = smp.with_last_applied(config_map(a="1"))
    manager = "kubectl-client-side-apply"
    live = smp.managed_fields.track(None, client_side, SCHEMA, manager=manager)
    applied = config_map(a="x" * size)
    new = smp.server_side_apply(live, applied, SCHEMA, manager="kubectl").object
    metadata = as_object(new["metadata"])
    assert ("annotations" in metadata) == kept
    annotation = Path(("metadata", "annotations", LAST_APPLIED))
    (owner,) = smp.managed_fields.owners_of(new, annotation)
    assert owner.manager == manager


def test_a_field_that_may_not_change_may_be_set_on_create() -> None:
    schema = smp.kubernetes().schema("apps/v1", "Deployment")
    selector: JSONObject = {"matchLabels": {"app": "web"}}
    applied: JSONObject = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"selector": selector},
    }
    created = smp.server_side_apply(None, applied, schema, manager="first")
    assert created.violations == ()
    other: JSONObject = {**applied, "spec": {"selector": {"matchLabels": {"app": "x"}}}}
    changed = smp.server_side_apply(created.object, other, schema, manager="first")
    assert [str(violation.path) for violation in changed.violations] == [
        "spec.selector"
    ]


def test_an_empty_list_has_no_path() -> None:
    """So kube-apiserver 1.36.3 did it, twice in tests/data/managed_fields."""
    texts: JSONObject = {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-list-type": "set",
    }
    fields: JSONObject = {"texts": texts, "text": {"type": "string"}}
    every: JSONObject = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": fields}},
    }
    definition: JSONObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com",
            "names": {"kind": "Note", "plural": "notes"},
            "versions": [
                {"name": "v1", "served": True, "schema": {"openAPIV3Schema": every}}
            ],
        },
    }
    schema = smp.Catalog.from_crd(definition).schema("example.com/v1", "Note")

    def applied(live: JSONObject | None, spec: JSONObject) -> JSONObject:
        configuration: JSONObject = {
            "apiVersion": "example.com/v1",
            "kind": "Note",
            "metadata": {"name": "a"},
            "spec": spec,
        }
        return smp.server_side_apply(
            live, configuration, schema, manager="first", now=NOW
        ).object

    live = applied(None, {"texts": [], "text": "a"})
    # It has no owner, so it is not removed ...
    assert applied(live, {"texts": ["b"], "text": "a"})["spec"] == {
        "texts": ["b"],
        "text": "a",
    }
    # ... but the object goes of which nothing else is left.
    assert "spec" not in applied(live, {})


def test_an_element_of_a_built_in_kind_has_the_zero_value_of_a_key_that_it_lacks() -> (
    None
):
    # As kube-apiserver 1.36.3 answers it.
    schema = smp.kubernetes().schema("apps/v1", "Deployment")
    deployment: JSONObject = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
    }
    live = smp.server_side_apply(None, deployment, schema, manager="first").object
    condition: JSONObject = {"conditions": [{"status": "True"}]}
    result = smp.server_side_apply(
        live,
        {**deployment, "status": condition},
        schema,
        manager="second",
        subresource="status",
    )
    [owner] = smp.managed_fields.owners(result.object)
    assert owner.fields.to_v1() == {
        "f:status": {
            "f:conditions": {'k:{"type":""}': {".": {}, "f:status": {}}},
        }
    }


def test_a_configuration_expects_the_state_that_it_was_made_from() -> None:
    # The messages are those of kube-apiserver 1.36.3, behind what names the resource.
    configuration: JSONObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x"},
        "data": {"a": "1"},
    }
    schema = smp.kubernetes().schema("v1", "ConfigMap")
    live: JSONObject = {
        **configuration,
        "metadata": {"name": "x", "resourceVersion": "7", "uid": "u"},
    }

    def expecting(**metadata: JSON) -> JSONObject:
        return {**configuration, "metadata": {"name": "x", **metadata}}

    for version in ("7", "", "0", None):
        sent = expecting(resourceVersion=version, uid="u")
        smp.server_side_apply(live, sent, schema, manager="a")
    # Without a version of its own, the object is in any state.
    sent = expecting(resourceVersion="6")
    smp.server_side_apply(configuration, sent, schema, manager="a")
    modified = (
        "the object has been modified; please apply your changes to the latest version"
        " and try again"
    )
    mismatch = (
        "uid mismatch: the provided object specified uid u, and no existing object was"
        " found"
    )
    refused: tuple[tuple[JSONObject | None, JSONObject, str], ...] = (
        (live, expecting(resourceVersion="6"), modified),
        (expecting(resourceVersion="0"), expecting(resourceVersion="6"), modified),
        (None, expecting(uid="u"), mismatch),
    )
    for stored, sent, problem in refused:
        with pytest.raises(smp.ObjectError) as caught:
            smp.server_side_apply(stored, sent, schema, manager="a")
        assert (caught.value.code, caught.value.problem) == ("modified", problem)
    # Conflicts come first.
    owned = smp.server_side_apply(None, configuration, schema, manager="b").object
    owned["metadata"] = {**as_object(owned["metadata"]), "resourceVersion": "7"}
    with pytest.raises(smp.ApplyConflictError):
        smp.server_side_apply(owned, {**sent, "data": {"a": "2"}}, schema, manager="a")


def test_a_subresource_of_a_pod_gives_only_what_it_writes() -> None:
    # Go: podEphemeralContainersStrategy.GetResetFieldsFilter.
    schema = smp.kubernetes().schema("v1", "Pod")
    pod: JSONObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    containers: JSONObject = {"containers": [{"name": "c", "image": "i"}]}
    live = smp.server_side_apply(None, {**pod, "spec": containers}, schema, manager="a")
    added: JSONObject = {"ephemeralContainers": [{"name": "e", "image": "x"}]}
    result = smp.server_side_apply(
        live.object,
        {
            **pod,
            "metadata": {"name": "p", "labels": {"l": "1"}},
            "spec": {**added, "hostNetwork": True},
        },
        schema,
        manager="b",
        subresource="ephemeralcontainers",
    )
    fields = [owner.fields for owner in owners(result.object) if owner.manager == "b"]
    element = 'k:{"name":"e"}'
    content: JSONObject = {".": {}, "f:image": {}, "f:name": {}}
    [owned] = [each.to_v1() for each in fields]
    assert owned == {"f:spec": {"f:ephemeralContainers": {element: content}}}
    assert "hostNetwork" not in as_object(result.object["spec"])
    assert "labels" not in as_object(result.object["metadata"])


def test_a_service_account_stores_the_names_of_secrets_only() -> None:
    # Measured: kube-apiserver 1.36.3 drops what else is sent.
    schema = smp.kubernetes("1.36").schema("v1", "ServiceAccount")
    account: JSONObject = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "s"},
        "secrets": [{"name": "a", "namespace": "n"}, {"name": "b"}],
    }
    applied = smp.server_side_apply(None, account, schema, manager="m").object
    steps = [Step("m", account, "update")]
    updated = simulate(None, steps, schema).object
    assert updated is not None
    for obj in (applied, updated):
        assert obj["secrets"] == [{"name": "a"}, {"name": "b"}]


def test_an_integer_that_python_does_not_print_is_refused() -> None:
    # Python refuses to write more than 4,300 digits in decimals.
    applied = config_map()
    metadata: JSONObject = {"name": "web", "finalizers": [10**5000]}
    with pytest.raises(smp.SmpError):
        smp.server_side_apply(
            config_map(), {**applied, "metadata": metadata}, SCHEMA, manager="first"
        )
