"""The bundled overlay corrects union maps that Kubernetes publishes wrongly."""

from __future__ import annotations

import copy

import pytest

from smp.errors import SchemaError
from smp.schema.catalog import kubernetes
from smp.schema.model import Schema
from smp.unions import PROFILES, normalize_unions, validate_unions
from smp.values import JSONObject
from tests.support.overlay_rows import CLEARING, CORE, schema_of


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", ["SeccompProfile", "AppArmorProfile"])
def test_the_echo_of_a_localhost_profile_is_unchanged(profile: str, kind: str) -> None:
    # The published map says LocalhostProfile, which no server accepts.
    confined: JSONObject = {
        "type": "Localhost",
        "localhostProfile": "profiles/audit.json",
    }
    schema = schema_of(CORE + kind)
    result = normalize_unions(
        confined, copy.deepcopy(confined), schema, profile=profile
    )
    assert (result.object, result.changes, result.warnings) == (confined, (), ())
    assert validate_unions(confined, confined, schema, profile=profile) == ()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_echo_of_a_pod_with_a_seccomp_profile_is_unchanged(profile: str) -> None:
    confined: JSONObject = {
        "seccompProfile": {
            "type": "Localhost",
            "localhostProfile": "profiles/audit.json",
        }
    }
    container: JSONObject = {"name": "app", "securityContext": confined}
    pod: JSONObject = {"spec": {"securityContext": confined, "containers": [container]}}
    schema = kubernetes().schema("v1", "Pod")
    assert (
        normalize_unions(pod, copy.deepcopy(pod), schema, profile=profile).object == pod
    )
    assert validate_unions(pod, pod, schema, profile=profile) == ()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_echo_of_a_queuing_limit_response_is_unchanged(profile: str) -> None:
    queue: JSONObject = {"type": "Queue", "queuing": {"queues": 64}}
    schema = schema_of("io.k8s.api.flowcontrol.v1.LimitResponse")
    assert (
        normalize_unions(queue, copy.deepcopy(queue), schema, profile=profile).object
        == queue
    )
    assert validate_unions(queue, queue, schema, profile=profile) == ()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", ["SeccompProfile", "AppArmorProfile"])
def test_a_profile_that_becomes_local_keeps_its_file(profile: str, kind: str) -> None:
    local: JSONObject = {"type": "Localhost", "localhostProfile": "a"}
    schema = schema_of(CORE + kind)
    assert (
        normalize_unions(
            {"type": "RuntimeDefault"}, local, schema, profile=profile
        ).object
        == local
    )


@pytest.mark.parametrize("profile", CLEARING)
def test_a_profile_that_is_no_longer_local_loses_its_file(profile: str) -> None:
    old: JSONObject = {"type": "Localhost", "localhostProfile": "a"}
    result = normalize_unions(
        old,
        {**old, "type": "RuntimeDefault"},
        schema_of(CORE + "SeccompProfile"),
        profile=profile,
    )
    assert result.object == {"type": "RuntimeDefault"}


def test_without_the_overlay_the_published_map_contradicts_the_enum() -> None:
    # Otherwise the tests above would show nothing.
    published = Schema(
        f"#{CORE}SeccompProfile", kubernetes(overlay=None).schema("v1", "Pod").types
    )
    confined: JSONObject = {"type": "Localhost", "localhostProfile": "a"}
    with pytest.raises(SchemaError, match="'LocalhostProfile' is not in the enum"):
        normalize_unions(confined, confined, published, profile="kep2019")
