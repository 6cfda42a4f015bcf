"""A program of a user: what type checkers say of the public API.

mypy and pyright check each ``assert_type`` with their strictest settings;
test_user_code.py runs it.
"""

from __future__ import annotations

from typing import Any, assert_type

import smp
from smp import handler, json_patch, merge_patch, wire
from smp.reports import ObjectReport, Place, printed
from smp.values import JSON, JSONObject


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
    # What comes out can go in.
    assert_type(patch, JSONObject)
    value: JSON = stored
    assert value == new
    three_way = smp.three_way_patch(old, new, old, schema)
    both = smp.compose_patches([patch, three_way], schema)
    assert smp.apply_patch(old, both, schema) == new
    conflicts = smp.find_conflicts(patch, three_way, schema)
    assert_type([conflict.path for conflict in conflicts], list[smp.Path])
    assert merge_patch.apply(old, {"spec": None}) == {}
    operations = json_patch.diff(old, new)
    assert json_patch.apply(old, operations) == new


def applies() -> None:
    """Apply a configuration, and ask why a field changed."""
    schema = smp.kubernetes().schema("apps/v1", "StatefulSet")
    live: JSONObject = {"spec": {"updateStrategy": {"type": "RollingUpdate"}}}
    modified: JSONObject = {"spec": {"updateStrategy": {"type": "OnDelete"}}}
    result = smp.three_way_apply({}, modified, live, schema)
    assert_type(result, smp.ApplyResult)
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


def documents() -> None:
    """Work on bytes, answer a PATCH, print a report."""
    schema = smp.kubernetes().schema("v1", "ConfigMap")
    live = b'{"data": {"a": "1"}}'
    assert_type(wire.apply_patch(live, b'{"data": {"a": "2"}}', schema), bytes)
    outcome = handler.patch(live, b'{"data": {"a": "2"}}', handler.MERGE, schema)
    assert_type(outcome, handler.Accepted | handler.Refused)
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
