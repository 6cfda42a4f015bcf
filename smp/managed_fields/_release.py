"""Giving up what a manager owns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from smp._values.api_objects import keep_names
from smp._values.plain import over_json, require_object
from smp._values.values import JSONObject
from smp.managed_fields._entries import APPLY, ManagedFields
from smp.managed_fields._scale import SCALE, SCALE_SCHEMA
from smp.managed_fields._server_side import server_side_apply
from smp.managed_fields._versions import SERVING, Serving
from smp.schema.model import Schema


@over_json("the object", "obj")
def release(
    obj: Mapping[str, Any],
    schema: Schema,
    manager: str,
    *,
    serving: Serving = SERVING,
    now: datetime | None = None,
) -> dict[str, Any]:
    """Return the object without what a manager owns, the inverse of its applies.

    It is what a server makes of an apply with nothing but the name of the object: what
    the manager applied, and no other manager owns, is removed, and has its default
    again. What the manager wrote by updates stays, without an owner. The object itself
    is returned where the manager owns nothing. ``serving`` says how the kind is served,
    ``now`` is the time of the write. Raises what ``server_side_apply`` raises.
    """
    obj = require_object("obj", obj)
    owned = [
        owner
        for owner in ManagedFields.of(obj).owners.values()
        if owner.manager == manager
    ]
    released = obj
    for owner in owned:
        if owner.operation == APPLY:
            released = server_side_apply(
                released,
                _make_empty_configuration(released, owner.subresource),
                schema,
                manager=manager,
                force=True,
                subresource=owner.subresource,
                profile="off",
                serving=serving,
                now=now,
            ).object
    managed = ManagedFields.of(released)
    left = {
        identity: owner
        for identity, owner in managed.owners.items()
        if owner.manager != manager
    }
    if len(left) == len(managed.owners):
        return released
    managed.owners = left
    return managed.written_to(released)


def _make_empty_configuration(obj: JSONObject, subresource: str) -> JSONObject:
    """Return a configuration that applies nothing to the object."""
    named = keep_names(obj)
    if subresource == SCALE:
        api_version, kind = SCALE_SCHEMA.api_version, SCALE_SCHEMA.kind
        named = {**named, "apiVersion": api_version, "kind": kind}
    return named
