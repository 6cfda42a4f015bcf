"""Who owns what a live object has at a path."""

from __future__ import annotations

from smp.errors import SmpError
from smp.managed_fields import Owner, owned_path, owners
from smp.paths import Path, index_of, value_at
from smp.schema.model import Schema
from smp.values import ABSENT, JSON, JSONObject, as_list, as_object


def owners_of(live: JSONObject) -> tuple[Owner, ...]:
    """Return the owners of fields; none where managed fields cannot be read."""
    try:
        return owners(live)
    except SmpError:
        # A server repairs broken managed fields with the next write.
        return ()


def managers_at(
    known: tuple[Owner, ...], live: JSONObject, schema: Schema, path: Path
) -> str:
    """Return who owns what live has at a path, or anything in it."""
    if not known or value_at(live, path) is ABSENT:
        return ""
    owned = owned_path(live, schema, by_index(live, path))
    return ", ".join(
        named(owner)
        for owner in known
        if owner.fields.has(owned) or owner.fields.at(owned)
    )


def by_index(live: JSONObject, path: Path) -> Path:
    """Return a path with the indexes of live, as far as live has a value."""
    value: JSON = live
    found = Path()
    for step in path.steps:
        if isinstance(step, str):
            members = as_object(value)
            if step not in members:
                break
            value = members[step]
            found = found / step
        else:
            elements = as_list(value)
            index = index_of(step, elements)
            if index >= len(elements):
                break
            value = elements[index]
            found = found / index
    return found


def named(owner: Owner) -> str:
    """Name a manager, as ``kubectl-edit Update 2026-01-02T03:04:05Z``."""
    how = f"{owner.manager} {owner.operation}"
    if owner.subresource:
        how += f" {owner.subresource}"
    return f"{how} {owner.time}".rstrip()
