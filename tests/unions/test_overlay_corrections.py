"""The bundled overlay corrects union maps that Kubernetes publishes wrongly."""

from __future__ import annotations

import copy

import pytest

from smp._values.values import JSONObject
from smp.errors import SchemaError
from smp.schema.catalog import Catalog, kubernetes
from smp.schema.model import ObjectType, Schema
from smp.unions import PROFILES, normalize_unions, validate_unions
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


@pytest.mark.parametrize("kind", ["SeccompProfile", "AppArmorProfile"])
def test_published_unions_with_impossible_values_are_left_out(kind: str) -> None:
    published = Schema(
        f"#{CORE}{kind}", kubernetes(overlay=None).schema("v1", "Pod").types
    )
    assert isinstance(published.type, ObjectType)
    assert published.type.unions == ()


@pytest.mark.parametrize("document", ["v2", "v3"])
@pytest.mark.parametrize("kind", ["SeccompProfile", "AppArmorProfile"])
def test_a_document_of_a_server_judges_no_object_by_impossible_values(
    document: str, kind: str
) -> None:
    # As a kube-apiserver 1.36.3 publishes it.
    profile: JSONObject = {
        "type": "object",
        "required": ["type"],
        "properties": {
            "localhostProfile": {"type": "string"},
            "type": {
                "default": "",
                "enum": ["Localhost", "RuntimeDefault", "Unconfined"],
                "type": "string",
            },
        },
        "x-kubernetes-unions": [
            {
                "discriminator": "type",
                "fields-to-discriminateBy": {"localhostProfile": "LocalhostProfile"},
            }
        ],
        "x-kubernetes-group-version-kind": [
            {"group": "", "version": "v1", "kind": "P"}
        ],
    }
    named: JSONObject = {CORE + kind: profile, "example.P": profile}
    openapi: JSONObject = {"definitions": named}
    if document == "v3":
        openapi = {"components": {"schemas": named}}
    catalog = Catalog.from_openapi(openapi)
    confined: JSONObject = {"type": "Localhost", "localhostProfile": "a"}
    schema = catalog.schema("v1", "P")
    assert validate_unions(None, confined, schema) == ()
    assert normalize_unions({}, confined, schema).object == confined
    # A type of one's own can be mended.
    own = Schema("#example.P", schema.types)
    with pytest.raises(SchemaError, match="'LocalhostProfile' is not in the enum"):
        normalize_unions({}, confined, own)
