"""What a server makes of an apply: what it ignores of a manifest, and what it stores.

A drift is what the next apply would change. So what a server takes from no apply is
set aside before the apply is computed. What that leads to is taken through the steps of
a server (smp._storage.update), which tells whether it changes or heals anything.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp._storage.update import (
    STOCK_PROFILE,
    decode_object,
    fill_in,
    predict_refusals,
    put_at_rest,
)
from smp._values.api_objects import SERVER_METADATA
from smp._values.values import JSONObject, as_object, drop_nulls
from smp.comparison import is_stored
from smp.managed_fields import reset_fields
from smp.schema.model import AnyType, Schema
from smp.three_way import ApplyResult
from smp.violations import Violation

# A value of these names another object, or another state of it: it is refused.
_IDENTIFYING: Final = ("uid", "resourceVersion")
_AGGREGATED: Final = ("rbac.authorization.k8s.io", "ClusterRole")


def drop_ignored(
    configuration: JSONObject, manifest: JSONObject, live: JSONObject, schema: Schema
) -> JSONObject:
    """Return a configuration without what a server takes from no apply.

    It is the manifest, or the last-applied one.
    """
    dropped: set[str] = set()
    if schema.kind and "status" in configuration:
        dropped = {str(path.steps[0]) for path in reset_fields(schema).paths()}
    # Go: clusterroleaggregation, ClusterRoleAggregationController.syncClusterRole.
    group = schema.api_version.rpartition("/")[0]
    if (group, schema.kind) == _AGGREGATED and manifest.get("aggregationRule"):
        dropped.add("rules")
    kept = {name: value for name, value in configuration.items() if name not in dropped}
    metadata = as_object(configuration.get("metadata"))
    ignored = [name for name in metadata if _is_ignored(name, metadata, live)]
    if ignored:
        rest = {name: metadata[name] for name in metadata if name not in ignored}
        kept["metadata"] = rest
    return kept if ignored or len(kept) < len(configuration) else configuration


def _is_ignored(name: str, metadata: JSONObject, live: JSONObject) -> bool:
    if name in SERVER_METADATA:
        # Go: rest.BeforeUpdate fills these in where they are empty.
        return name not in _IDENTIFYING or metadata[name] in (None, "", "0")
    # Go: rest.EnsureObjectNamespaceMatchesRequestNamespace; the kind has no namespace.
    return name == "namespace" and (
        is_stored(live) and "namespace" not in as_object(live.get("metadata"))
    )


class Served(msgspec.Struct, frozen=True):
    """What a server stores, None where it refuses; and why, or what is not known."""

    object: JSONObject | None
    refusals: tuple[Violation, ...] = ()


def serve_apply(result: ApplyResult, live: JSONObject, schema: Schema) -> Served:
    """Return what a server makes of an apply.

    The object of the result is what the patch leads to, with unions as they are.
    """
    after = result.object
    metadata, before = as_object(after.get("metadata")), as_object(live.get("metadata"))
    if any(metadata.get(name) != before.get(name) for name in _IDENTIFYING):
        return Served(None)
    # Nothing is known of a server without a schema.
    if isinstance(schema.type, AnyType):
        return Served(None if result.violations else after, result.violations)
    # A change of what is dropped is judged by none.
    found = tuple(
        each
        for each in result.violations
        if not each.warning and each.code != "field-immutable"
    )
    return _serve(after, live, schema, found)


def serve_create(manifest: JSONObject, schema: Schema) -> Served:
    """Return what a server makes of a new object."""
    if isinstance(schema.type, AnyType):
        return Served(manifest)
    return _serve(as_object(drop_nulls(manifest)), None, schema, ())


def _serve(
    after: JSONObject,
    live: JSONObject | None,
    schema: Schema,
    found: tuple[Violation, ...],
) -> Served:
    # Fields that are not known are dropped (Go: the decoders of apimachinery).
    strict = schema.with_unknown_fields("error")
    is_custom = schema.is_custom
    decoded = decode_object(after, live, strict, typed=not is_custom, custom=is_custom)
    if decoded.misfits or decoded.problem:
        return Served(None, decoded.violations)
    served = fill_in(decoded.object, live, strict, profile=STOCK_PROFILE)
    if not is_custom:
        served = put_at_rest(served, strict, live)
    refusals = predict_refusals(
        live, served, strict, profile=STOCK_PROFILE, found=found
    )
    is_refused = any(not each.warning for each in refusals)
    return Served(None if is_refused else served, refusals)
