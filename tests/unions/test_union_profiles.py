"""Which profile a union follows, and how the profiles differ."""

from __future__ import annotations

import pytest

from smp import (
    UnionError,
    normalize_unions,
    validate_unions,
)
from smp._values.values import JSON, JSONObject
from smp.schema.catalog import kubernetes
from smp.schema.model import Schema
from smp.unions import PROFILES
from tests.support.union_schemas import (
    AS_SMD,
    D2019,
    PLAIN,
    schema_with,
    struct,
)


def outcome(schema: Schema, profile: str) -> JSON:
    old: JSONObject = {"d": "A", "a": "1"}
    try:
        return normalize_unions(
            old, {"d": "A", "a": "1", "b": "1"}, schema, profile=profile
        ).object
    except UnionError as error:
        return error.code


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("kep1027", {"d": "A", "a": "1", "b": "1"}),
        ("kep1027-draft", {"d": "A", "a": "1"}),
        ("kep2019", {"d": "B", "b": "1"}),
        ("smd", "union-refused"),
        ("validate-only", {"d": "A", "a": "1", "b": "1"}),
        ("off", {"d": "A", "a": "1", "b": "1"}),
    ],
)
def test_profiles_differ(profile: str, expected: JSON) -> None:
    assert outcome(Schema.inline(struct()), profile) == expected


def test_the_profile_of_a_union_precedes_the_argument() -> None:
    schema = Schema.inline(struct({**D2019, "profile": "kep2019"}))
    assert (
        outcome(schema, "kep1027")
        == outcome(schema, "kep1027-draft")
        == {"d": "B", "b": "1"}
    )


@pytest.mark.parametrize("gate", ["validate-only", "off"])
def test_validate_only_and_off_normalize_no_union(gate: str) -> None:
    assert outcome(Schema.inline(struct({**D2019, "profile": "kep2019"})), gate) == {
        "d": "A",
        "a": "1",
        "b": "1",
    }


def test_a_union_in_the_form_of_structured_merge_diff_follows_its_rules() -> None:
    schema = Schema.inline(struct(AS_SMD))
    assert outcome(schema, "kep1027") == "union-refused"
    assert outcome(schema, "kep2019") == {"d": "B", "b": "1"}
    assert outcome(
        Schema.inline(struct({**AS_SMD, "profile": "kep1027"})), "kep1027"
    ) == outcome(schema, "off")


def test_an_unknown_profile_is_an_error() -> None:
    for operation in (normalize_unions, validate_unions):
        with pytest.raises(UnionError, match="'kep9'") as caught:
            operation(None, {}, schema_with(), profile="kep9")
        assert caught.value.code == "unknown-profile"
        assert all(profile in caught.value.hint for profile in PROFILES)


def test_off_reports_no_violation() -> None:
    schema = Schema.inline(struct(PLAIN))
    assert validate_unions(None, {"a": "1", "b": "1"}, schema, profile="off") == ()
    assert (
        len(
            validate_unions(None, {"a": "1", "b": "1"}, schema, profile="validate-only")
        )
        == 1
    )


def test_a_profile_of_the_type_counts_for_unions_without_their_own() -> None:
    catalog = kubernetes().with_overlay(
        {"types": {"io.k8s.api.apps.v1.DeploymentStrategy": {"profile": "kep2019"}}}
    )
    old: JSONObject = {"spec": {"strategy": {"type": "Recreate"}}}
    new: JSONObject = {
        "spec": {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}
    }
    typed = normalize_unions(old, new, catalog.schema("apps/v1", "Deployment"))
    assert [
        (str(change.path), change.new, change.rule) for change in typed.changes
    ] == [("spec.strategy.type", "RollingUpdate", "K3")]
    assert (
        normalize_unions(old, new, kubernetes().schema("apps/v1", "Deployment")).changes
        == ()
    )
