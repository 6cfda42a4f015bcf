"""Composing two strategic merge patches into one: objects and their fields.

Theory of operation
===================

``compose(first, second)`` has the effect of applying ``first`` and then ``second``, on
whatever object it is applied to. Go's MergeStrategicMergeMapPatchUsingLookupPatchMeta
merges the second patch into the first as if it were a document, and loses part of it
(docs/deviations.md, 14). The rules here follow from the effect instead.

A field that only one patch mentions is taken from it. Where both mention it:

    second sets a scalar or null     second: it does not matter what was there
    both are objects                 compose them, field by field
    both are lists                   ``_compose_lists``
    first removed the field, or      an *exact* value: what second makes of a field that
    made it something else           is not there, whatever the live object has

The last row is the difficult one. Take the first patch ``{"spec": null}`` and the
second ``{"spec": {"a": 1}}``. In turn they leave ``{"a": 1}`` in spec, and nothing
else. The patch ``{"spec": {"a": 1}}`` would not do: it merges into what live has. So
the composition says of each object which keys stay, and of each merge list that it
replaces the live one (``exact``):

    {"spec": {"$retainKeys": ["a"], "a": 1}}

Objects with ``$patch`` make a second difficulty: applied to a live object without the
field they make nothing at all, applied to one with it they empty or replace it. Where
the two readings would come out differently after the second patch, no single patch
has the effect of both: a CompositionError.

``$retainKeys`` of the second patch drops whatever the first one says of other fields.
``$retainKeys`` of the first makes those fields removed ones (the last row), and the
composition retains what both retain and what the second sets.
"""

from __future__ import annotations

from smp.errors import CompositionError, SmpError
from smp.schema.model import Field, Type, unknown_field
from smp.strategic._apply import apply_object
from smp.strategic._compose_lists import compose_lists
from smp.strategic._directives import (
    MARKER,
    REPLACE,
    RETAIN_KEYS,
    PatchObject,
    cleaned,
    is_marked,
    read_object,
    retained_keys,
)
from smp.strategic._field_patch import FieldPatch
from smp.values import ABSENT, JSON, Absent, JSONObject, same


def compose_objects(first: JSONObject, second: JSONObject, type_: Type) -> JSONObject:
    """Compose two patches of one object that is there.

    Raises CompositionError where no single patch has the effect of both, PatchError and
    ObjectError as applying the patches does, UnknownFieldError for a field to be merged
    that the type lacks.
    """
    first_parts, second_parts = read_object(first), read_object(second)
    # $patch in the second one: what the first one leads to does not matter.
    if second_parts.marker is not ABSENT:
        return second
    # $patch in the first one: it leads to one known object, whatever is there.
    if first_parts.marker is not ABSENT:
        result = apply_object(apply_object({}, first, type_), second, type_)
        return {MARKER: REPLACE, **result}
    first_keeps = _retained(first_parts)
    second_keeps = _retained(second_parts)
    composed: JSONObject = {}
    names: dict[str, None] = {}  # each once, in their order
    for parts in (first_parts, second_parts):
        for mentioned in (parts.fields, parts.orders, parts.deletions):
            names.update(dict.fromkeys(mentioned))
    for name in names:
        if second_keeps is not None and name not in second_keeps:
            continue
        before = FieldPatch.read(first_parts, name)
        after = FieldPatch.read(second_parts, name)
        if first_keeps is not None and name not in first_keeps:
            before = FieldPatch(None)
        try:
            field_patch = _compose_field(before, after, type_.field(name))
        except SmpError as error:
            raise error.within(name) from None
        composed.update(field_patch.to_fields(name))
    keeps = second_keeps
    if first_keeps is not None:
        # What the first one cleared the second one may set again, but it retains
        # nothing that is gone.
        keeps = first_keeps if second_keeps is None else first_keeps & second_keeps
        keeps = keeps.union(
            name for name, value in second_parts.fields.items() if value is not None
        )
    if keeps is None:
        return composed
    return {RETAIN_KEYS: [*sorted(keeps)], **composed}


def _retained(patch: PatchObject) -> set[str] | None:
    return None if patch.retained is ABSENT else retained_keys(patch)


def _compose_field(
    first: FieldPatch, second: FieldPatch, field: Field | None
) -> FieldPatch:
    if second.value is None:
        return FieldPatch(None)
    if first.is_empty:
        return second
    if second.is_empty:
        return first
    if field is None:
        # Applying would take a scalar without the schema, but nothing else.
        if isinstance(second.value, str | int | float):
            return second
        raise unknown_field()
    if isinstance(second.value, dict):
        return FieldPatch(_compose_values(first.value, second.value, field))
    if not second.is_list:
        return FieldPatch(second.value)
    if first.is_list:
        return compose_lists(first, second, field, compose_objects)
    # The first patch removed the list, or made it something else.
    fields = apply_object({}, second.to_fields(field.name), Type.of(field))
    recreated = fields.get(field.name, ABSENT)
    return FieldPatch(None if recreated is ABSENT else exact(recreated, field))


def _compose_values(first: JSON | Absent, second: JSONObject, field: Field) -> JSON:
    """Return the value of a field that the second patch takes for an object."""
    if not isinstance(first, dict):
        # There is no object by then: one with a $patch makes none.
        if is_marked(second):
            return None
        return exact(cleaned(second, drop_marked=True), field)
    if field.replaces:
        return cleaned(second)
    if is_marked(second):
        if is_marked(first):
            return second
        # The first patch made sure that the object is there.
        return exact(apply_object({}, second, field.type), field)
    if not is_marked(first):
        return compose_objects(first, second, field.type)
    # The first patch empties or replaces an object that is there, and makes nothing of
    # one that is not; the second one merges into the former and creates the latter.
    if_there = apply_object(apply_object({}, first, field.type), second, field.type)
    if_absent = cleaned(second, drop_marked=True)
    if not same(if_there, if_absent):
        raise CompositionError(
            "one patch replaces this object and the next changes it: the outcome "
            "depends on whether it was there",
            hint="apply the patches one after the other",
        )
    return exact(if_there, field)


def exact(value: JSON, field: Field | None) -> JSON:
    """Return a patch value that leads to ``value`` whatever the live object has there.

    Raises CompositionError for a merge list of scalars, which no patch can set
    regardless of what is there.
    """
    # A value that replaces, and any scalar, is exact by itself.
    if field is None or field.replaces:
        return value
    if isinstance(value, dict):
        members: JSONObject = {RETAIN_KEYS: [*sorted(value)]}
        for name, member in value.items():
            members[name] = exact(member, field.type.field(name))
        return members
    if not isinstance(value, list) or not field.merges:
        return value
    if not field.merge_key:
        raise CompositionError(
            "one patch removes this list and the next sets it, which no single patch "
            "says of a merge list of scalars",
            hint="apply the patches one after the other",
        )
    return [{MARKER: REPLACE}, *value]
