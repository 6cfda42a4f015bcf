"""The ways out of a conflict, each with what it leads to.

A field that another manager owns can be given up (the configuration leaves it out), be
shared (the configuration has its live value), or be taken (the apply is forced).
Kubernetes documentation, Server-Side Apply, Conflicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from smp._values.plain import over_json, require_object
from smp._values.values import Absent, JSONObject, as_object
from smp.managed_fields._conflicts import ApplyConflict
from smp.managed_fields._entries import Owner
from smp.managed_fields._field_set import FieldSet
from smp.managed_fields._items import drop_emptied, removed
from smp.managed_fields._owned_paths import indexed_path, owned_value
from smp.managed_fields._owners import owners_of
from smp.managed_fields._remarks import refusals_of
from smp.managed_fields._simulate import Step, simulate
from smp.managed_fields._versions import SERVING, Serving
from smp.paths import Path, edited
from smp.schema.model import Schema

Escape: TypeAlias = Literal["give up", "share", "take"]


class WayOut(msgspec.Struct, frozen=True):
    """A way out of the conflict at a path, and what a simulation of it led to.

    ``configuration`` is to be applied, with ``force`` where that is set; of several
    conflicts, the other fields are given up in it. ``object`` is what the server has
    then, ``value`` what it has at the path (ABSENT for nothing), and ``owners`` are
    those who own that.
    """

    escape: Escape
    path: Path
    configuration: dict[str, Any]
    force: bool
    object: dict[str, Any]
    value: Any
    owners: tuple[Owner, ...]


@over_json("the object", "configuration")
def give_up(
    configuration: Mapping[str, Any], schema: Schema, paths: Iterable[Path]
) -> dict[str, Any]:
    """Return a configuration without the fields at paths, as managed fields name them.

    What has nothing left goes with them. Raises what ``fieldset_of`` raises.
    """
    configuration = require_object("configuration", configuration)
    left = removed(configuration, schema, FieldSet.of(*paths))
    return as_object(drop_emptied(configuration, left))


@over_json("the object", "live", "applied")
def ways_out(
    live: Mapping[str, Any],
    applied: Mapping[str, Any],
    schema: Schema,
    conflicts: Iterable[ApplyConflict],
    *,
    manager: str,
    serving: Serving = SERVING,
    now: datetime | None = None,
) -> tuple[WayOut, ...]:
    """Return the ways out of conflicts, in their order.

    A way that an API server of today would refuse is left out. The arguments are those
    of the ``server_side_apply`` that raised the conflicts. Raises what ``fieldset_of``
    raises.
    """
    live = require_object("live", live)
    applied = require_object("applied", applied)
    paths = list(dict.fromkeys(conflict.path for conflict in conflicts))
    found: list[WayOut] = []
    for path in paths:
        rest = give_up(applied, schema, [other for other in paths if other != path])
        for escape, configuration in _configurations(live, rest, schema, path):
            step = Step(manager, configuration, force=escape == "take")
            # A server merges, and refuses what its rules do not allow.
            [state] = simulate(
                live, [step], schema, profile="off", serving=serving, now=now
            ).states
            if state.error is not None or state.object is None:
                continue
            if refusals_of(live, state.object, schema):
                continue
            found.append(
                WayOut(
                    escape,
                    path,
                    configuration,
                    step.force,
                    state.object,
                    owned_value(state.object, schema, path),
                    owners_of(state.object, path),
                )
            )
    return tuple(found)


def _configurations(
    live: JSONObject, applied: JSONObject, schema: Schema, path: Path
) -> Iterator[tuple[Escape, JSONObject]]:
    yield "give up", give_up(applied, schema, [path])
    value, place = owned_value(live, schema, path), indexed_path(applied, schema, path)
    if not isinstance(value, Absent) and place is not None:
        yield "share", edited(applied, place, value)
    yield "take", applied
