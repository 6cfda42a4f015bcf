"""A program of a user: what type checkers say of the public API.

mypy and pyright check each ``assert_type`` with their strictest settings;
test_user_code.py runs it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypedDict, assert_type

import smp
from smp import custom_resources, documents, handler, json_patch, merge_patch, wire
from smp.managed_fields import Step, extract, owners, simulate, track
from smp.reports import ObjectReport, Place, printed


class Metadata(TypedDict):
    """The metadata of an object, as a program declares it."""

    name: str


class ConfigMap(TypedDict):
    """A ConfigMap, as a program declares it."""

    apiVersion: str
    kind: str
    metadata: Metadata
    data: dict[str, str]


def patches() -> None:
    """Compute and apply patches of values."""
    catalog = smp.kubernetes()
    assert_type(catalog, smp.Catalog)
    schema = catalog.schema("v1", "Service")
    assert_type(schema, smp.Schema)

    # As json.load and yaml.safe_load return them.
    old: dict[str, Any] = {"spec": {"ports": [{"port": 53}, {"port": 80}]}}
    new: dict[str, Any] = {"spec": {"ports": [{"port": 53}]}}
    patch = smp.two_way_patch(old, new, schema)
    stored = smp.apply_patch(old, patch, schema)
    assert_type(patch, dict[str, Any])
    assert_type(stored, dict[str, Any])
    assert stored == new
    assert [port["port"] for port in stored["spec"]["ports"]] == [53]
    # What comes out can go in.
    three_way = smp.three_way_patch(old, new, old, schema)
    both = smp.compose_patches([patch, three_way], schema)
    assert smp.apply_patch(old, both, schema) == new
    conflicts = smp.find_conflicts(patch, three_way, schema)
    assert_type([conflict.path for conflict in conflicts], list[smp.Path])
    assert merge_patch.apply(old, {"spec": None}) == {}
    assert merge_patch.apply(old, new)["spec"]["ports"][0]["port"] == 53
    operations = json_patch.diff(old, new)
    assert_type(operations, list[dict[str, Any]])
    assert [operation["op"] for operation in operations] == ["remove"]
    assert json_patch.apply(old, operations)["spec"] == new["spec"]


def arguments() -> None:
    """Give mappings of all kinds."""
    schema = smp.kubernetes().schema("v1", "ConfigMap")
    literal = {"data": {"a": "1"}}
    inferred: dict[str, dict[str, str]] = {"data": {"a": "2"}}
    unknown: dict[str, object] = {"data": {"a": "3"}}
    typed: ConfigMap = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"a": "5"},
    }
    frozen: Mapping[str, object] = MappingProxyType({**typed, "data": {"a": "4"}})
    for patch in (
        smp.two_way_patch(literal, inferred, schema),
        smp.two_way_patch(literal, unknown, schema),
        smp.two_way_patch(literal, frozen, schema),
        smp.two_way_patch(literal, typed, schema),
        smp.two_way_patch(literal, json.loads('{"data": {"a": "6"}}'), schema),
    ):
        assert_type(patch, dict[str, Any])
        assert patch["data"]["a"] in {*"23456"}
    made = smp.server_side_apply(None, typed, schema, manager="me").object
    assert extract(made, schema, "me") == typed
    assert smp.three_way_apply(typed, typed, typed, schema).object == typed
    assert smp.explain_apply(typed, typed, frozen, schema)
    assert smp.compare(typed, typed, schema).differences == ()
    assert smp.with_defaults(typed, schema) == typed
    assert smp.normalize_unions(None, typed, schema).object == typed
    assert smp.validate_unions(typed, typed, schema) == ()
    assert smp.validate_enums(typed, schema) == ()
    (hazard,) = smp.find_hazards(None, typed, frozen, schema)
    assert hazard.code == "no-last-applied"
    assert smp.last_applied_configuration(smp.with_last_applied(typed)) is not None
    assert track(None, typed, schema, manager="me")["data"] == typed["data"]
    assert owners(typed) == ()
    assert merge_patch.apply(typed, {"data": None})["kind"] == "ConfigMap"
    assert json_patch.diff(typed, typed) == []
    outcome = handler.patch(typed, b"{}", handler.MERGE, schema)
    assert_type(outcome, handler.Accepted | handler.Refused)
    assert smp.kubernetes().schema_of(typed).kind == "ConfigMap"
    openapi = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "schema": openapi}
    definition: dict[str, object] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget"},
            "versions": [version],
        },
    }
    catalog = smp.Catalog.from_crd([definition])
    assert catalog.kinds() == (("example.com/v1", "Widget"),)


def applies() -> None:
    """Apply a configuration, and ask why a field changed."""
    schema = smp.kubernetes().schema("apps/v1", "StatefulSet")
    live: dict[str, object] = {"spec": {"updateStrategy": {"type": "RollingUpdate"}}}
    modified = {"spec": {"updateStrategy": {"type": "OnDelete"}}}
    result = smp.three_way_apply({}, modified, live, schema)
    assert_type(result, smp.ApplyResult)
    assert result.object["spec"]["updateStrategy"]["type"] == "OnDelete"
    assert result.patch["spec"]["updateStrategy"]["type"] == "OnDelete"
    assert result.kubectl_patch["spec"]["updateStrategy"]["type"] == "OnDelete"
    assert_type(result.converged, bool)
    assert_type(result.changes, tuple[smp.Change, ...])
    assert_type(result.violations, tuple[smp.Violation, ...])
    assert_type(result.warnings, tuple[smp.ApplyWarning, ...])
    assert_type(result.hazards, tuple[smp.Hazard, ...])
    causes = smp.explain_apply({}, modified, live, schema)
    for cause in causes:
        assert_type(cause, smp.Cause)
        assert_type(cause.path, smp.Path)
        assert_type(cause.code, str)
    comparison = smp.compare(live, modified, schema)
    assert_type(comparison, smp.Comparison)
    (difference,) = comparison.differences
    assert difference.desired == "RollingUpdate"
    assert comparison.aligned["spec"]["updateStrategy"]["type"] == "RollingUpdate"


def server_side() -> None:
    """Apply as field managers do, and ask who owns what."""
    schema = smp.kubernetes().schema("v1", "ConfigMap")
    mine: dict[str, object] = {"apiVersion": "v1", "kind": "ConfigMap"}
    mine |= {"metadata": {"name": "a"}, "data": {"a": "1"}}
    created = smp.server_side_apply(None, mine, schema, manager="me")
    assert_type(created.object, dict[str, Any])
    assert created.object["metadata"]["name"] == "a"
    for entry in created.object["metadata"]["managedFields"]:
        assert entry["manager"] == "me"
    run = simulate(None, [Step("me", mine), Step("you", mine)], schema)
    assert run.object is not None
    assert run.object["metadata"]["name"] == "a"
    assert [state.error for state in run.states] == [None, None]


def documents_and_bytes() -> None:
    """Work on bytes, answer a PATCH, print a report."""
    schema = smp.kubernetes().schema("v1", "ConfigMap")
    live = b'{"data": {"a": "1"}}'
    assert_type(wire.apply_patch(live, b'{"data": {"a": "2"}}', schema), bytes)
    assert wire.decode(live)["data"]["a"] == "1"
    assert [each.value["data"]["a"] for each in documents.read(live)] == ["1"]
    outcome = handler.patch(live, b'{"data": {"a": "2"}}', handler.MERGE, schema)
    assert_type(outcome, handler.Accepted | handler.Refused)
    if isinstance(outcome, handler.Accepted):
        assert outcome.object["data"]["a"] == "2"
    refused = handler.patch(live, b"[]", handler.MERGE, schema)
    if isinstance(refused, handler.Refused):
        assert refused.status["reason"] == "BadRequest"
    assert documents.dump_yaml([{"data": {"a": "2"}}]) == "data:\n  a: '2'\n"
    form = custom_resources.form_of({}, {"spec": None}, schema)
    assert [operation["op"] for operation in form.patch] == ["add"]
    report = ObjectReport(
        "v1", "ConfigMap", "shop", "web", Place("web.yaml", 1), "unchanged"
    )
    assert_type("".join(printed([report], "gitlab")), str)


def errors() -> None:
    """Take errors as data."""
    schema = smp.kubernetes().schema("v1", "Service")
    try:
        smp.apply_patch({}, {"spec": {"ports": [{"name": "dns"}]}}, schema)
    except smp.PatchError as error:
        assert_type(error.code, str)
        assert_type(error.path, smp.Path)
        assert_type(error.hint, str)
