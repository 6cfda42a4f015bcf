"""The comparison of two objects: equality first, then a walk along what differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from smp._storage.update import as_stored
from smp._values.plain import over_json, require_object
from smp._values.values import JSON, Absent, JSONObject, as_object, check_depth, same
from smp.comparison._comparison import Comparison
from smp.comparison._meanings import TypeNormalizer
from smp.comparison._rules import Rules, reach_of
from smp.comparison._walk import (
    NAMESPACE_RULE,
    ROLES,
    SERVER_RULE,
    ComparedPlace,
    ComparisonWalk,
)
from smp.paths import sort_by_path
from smp.schema.model import Schema
from smp.schema.sides import Sides

NO_RULES: Final = Rules()

# What only a stored object has.
_STORED: Final = ("uid", "resourceVersion", "creationTimestamp")


def compare(
    desired: Mapping[str, Any],
    live: Mapping[str, Any],
    schema: Schema,
    *,
    rules: Rules = NO_RULES,
    profile: str = "kep1027",
) -> Comparison:
    """Compare two objects, and set aside what does not matter.

    The schema says what is a quantity, a default, a set; ``rules`` say what else does
    not matter. Where one of the objects alone was stored by a server, what only a
    server sets is set aside as well. ``profile`` is the one of unions (see
    ``three_way_apply``); the result of that as the desired object shows the drift of
    what a manifest asks for. Raises ObjectError and DepthError.
    """
    return compared(desired, live, schema, rules=rules, profile=profile)


@over_json("the object", "desired", "live")
def compared(  # noqa: PLR0913  # two objects, and what is to be set aside
    desired: Mapping[str, Any],
    live: Mapping[str, Any],
    schema: Schema,
    *,
    rules: Rules = NO_RULES,
    profile: str = "kep1027",
    leaves_out_server_fields: bool = True,
    reads: bool = True,
    normalizes: bool = True,
    live_is_stored: bool = False,
) -> Comparison:
    """Compare two objects in some of the ways that ``compare`` does.

    ``reads`` sets aside what a server would make the same of, ``normalizes`` what a
    normalizer takes for equal, ``leaves_out_server_fields`` what only the stored one of
    the objects has. The rules always count. ``live_is_stored`` says that a server reads
    the live object as it is, and that what both objects share is in it.
    """
    desired = require_object("desired", desired)
    live = require_object("live", live)
    check_depth(desired)
    check_depth(live)
    if same(desired, live):
        return Comparison((), (), desired)
    found = rules.concerning((desired, live))
    if leaves_out_server_fields and is_stored(desired) != is_stored(live):
        own = [SERVER_RULE]
        if not _namespace(desired) or not _namespace(live):
            own.append(NAMESPACE_RULE)
        found = (*own, *found)
    walk = ComparisonWalk(desired, live, schema, normalizes=normalizes)
    values: list[JSON | Absent] = [desired, live]
    if reads and live_is_stored:
        values += [as_stored(desired, live, schema, profile=profile), live]
    elif reads:
        values += [
            as_stored(each, None, schema, profile=profile) for each in (desired, live)
        ]
    sides = Sides(values, schema.type, ROLES)
    meaning = TypeNormalizer.of(schema)
    aligned = walk.aligned(ComparedPlace(sides, meaning, reach_of(found)))
    return Comparison(
        sort_by_path(walk.differences), sort_by_path(walk.set_aside), as_object(aligned)
    )


@over_json("the object", "obj")
def is_stored(obj: dict[str, Any]) -> bool:
    """Tell whether an object was stored by a server.

    Raises ObjectError for what is no object.
    """
    obj = require_object("obj", obj)
    metadata = as_object(obj.get("metadata"))
    return any(metadata.get(name) is not None for name in _STORED)


def _namespace(obj: JSONObject) -> JSON:
    return as_object(obj.get("metadata")).get("namespace")
