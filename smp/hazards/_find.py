"""The hazards of all inputs of an apply."""

from __future__ import annotations

from smp.hazards._hazard import Hazard, Input
from smp.hazards._objects import hazards_in
from smp.plain import over_json, require_objects
from smp.schema.model import Schema
from smp.values import JSONObject


@over_json("the object", "last_applied", "modified", "live")
def find_hazards(
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject | None,
    schema: Schema,
) -> tuple[Hazard, ...]:
    """Return what is dangerous in the inputs of a three-way apply.

    The manifest (``modified``) may be looked at alone, without a last-applied
    configuration and a live object (None). Raises SchemaError and DepthError.
    """
    require_objects(modified=modified)
    hazards: list[Hazard] = []
    inputs: list[tuple[Input, JSONObject | None]] = [
        ("manifest", modified),
        ("last-applied", last_applied),
        ("live", live),
    ]
    for source, obj in inputs:
        if obj is not None:
            hazards += hazards_in(obj, schema, source)
    return tuple(hazards)
