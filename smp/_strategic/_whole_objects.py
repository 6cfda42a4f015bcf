"""Objects that kubectl sends as a whole, also where they do not change."""

from __future__ import annotations

from typing import Final

from smp._values.values import JSONObject, as_object
from smp.schema.model import ObjectType, Schema, Type
from smp.schema.plan import Interest, Interests, Node, plan_of


class _ReplacedObjects(Interest):
    """Object types with fields that have the patch strategy replace."""

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002  # the interface's
        if not isinstance(type_, ObjectType):
            return None
        return [field.name for field in type_ if field.replaces] or None


_REPLACED: Final = Interests(_ReplacedObjects("objects that are replaced"))


def add_whole_objects(
    patch: JSONObject, modified: JSONObject, live: JSONObject, schema: Schema
) -> JSONObject:
    """Return the patch with all objects that have the patch strategy replace.

    The reference sends those that do not change as well, such as the selector of a
    PodDisruptionBudget (Go: strategicpatch.handleMapDiff; docs/deviations.md, 5). Those
    in elements of lists are left out: no published type has any.
    """
    plan = plan_of(schema.types, _REPLACED)
    node = plan.node(schema.type, None) if plan.leads(schema.type) else None
    return patch if node is None else _add_objects(patch, modified, live, node)


def _add_objects(
    patch: JSONObject, modified: JSONObject, live: JSONObject, node: Node
) -> JSONObject:
    for name, value in modified.items():
        field = node.type.field(name)
        current = live.get(name)
        if field is None or not isinstance(value, dict):
            continue
        if not isinstance(current, dict):
            continue
        if field.replaces:
            patch = {**patch, name: value}
            continue
        below = node.member(name)
        if below is not None:
            before = as_object(patch.get(name))
            after = _add_objects(before, value, current, below)
            if after is not before:
                patch = {**patch, name: after}
    return patch
