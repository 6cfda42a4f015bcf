"""Composing two strategic merge patches into one: objects and their fields.

Theory of operation
===================

For any object, applying the composition of two patches has the same result as applying
the first patch and then the second. Go's
MergeStrategicMergeMapPatchUsingLookupPatchMeta merges the second patch into the first
as if the first were an object, and loses part of it (docs/deviations.md, 14). The rules
here are derived from the result instead.

A field in only one of the patches is taken from that patch. For a field in both:

    the second patch has               the composition has
    a scalar or null                   the value of the second patch
    an object, and the first as well   the composition of both, field by field
    a list, and the first as well      the composition of ``_compose_lists``
    an object or a list where the      an *exact* value: one with the same result,
    first has null or another type     no matter what the live object has

The last row is the difficult one. Let the first patch be ``{"spec": null}`` and the
second ``{"spec": {"a": 1}}``. One after the other they set spec to ``{"a": 1}``. The
patch ``{"spec": {"a": 1}}`` is not their composition: it keeps other fields of a live
spec. So an exact object lists the keys to retain, and an exact merge list replaces the
live list (``exact``):

    {"spec": {"$retainKeys": ["a"], "a": 1}}

An object with ``$patch`` is the second difficulty. If live has the field, it empties or
replaces the value; if live lacks the field, it does not create one. If these two cases
have different results after the second patch, no single patch has both results, and
composing raises CompositionError.

``$retainKeys`` in the second patch removes every field that it does not list, so the
part of the first patch for such a field is left out. Fields that ``$retainKeys`` in the
first patch does not list are composed as if the first patch had null for them. The
composition retains the keys that both patches retain, and those that the second sets.
"""

from __future__ import annotations

from smp._strategic._apply import apply_object
from smp._strategic._compose_lists import (
    FieldPatch,
    apply_part,
    compose_lists,
    drop_deleted,
)
from smp._strategic._directives import (
    MARKER,
    REPLACE,
    RETAIN_KEYS,
    PatchObject,
    clean,
    field_of,
    is_marked,
    read_object,
    retain_keys,
)
from smp._values.values import ABSENT, JSON, Absent, JSONObject, same
from smp.errors import CompositionError, SmpError
from smp.schema.model import Field, Type, unknown_field


def compose_all(
    composed: JSONObject, patches: list[JSONObject], type_: Type
) -> JSONObject:
    """Compose a patch with all the patches of the same object that follow it.

    Composing takes as long as both patches are, so each half of the patches is composed
    by itself: n patches one by one would take n times as long as the composition.
    Raises what compose_objects raises.
    """
    if len(patches) <= 1:
        for patch in patches:
            composed = compose_objects(composed, patch, type_)
        return composed
    half = (len(patches) + 1) // 2
    composed = compose_all(composed, patches[:half], type_)
    rest = patches[half:]
    if len(rest) > 1:
        try:
            second_half = compose_all(rest[0], rest[1:], type_)
            return compose_objects(composed, second_half, type_)
        except SmpError:
            # Patches that do not compose with each other may do so with what those
            # before them set. If not, the error is to name the patch that fails.
            pass
    return compose_all(composed, rest, type_)


def drop_overwritten(patches: list[JSONObject]) -> list[JSONObject]:
    """Return the patches without what a later one sets to null or to a scalar.

    It has no effect on the result, and may be what no single patch does.
    """
    kept: list[JSONObject] = []
    overwritten: JSONObject = {}
    for patch in reversed(patches):
        kept.append(_drop_fields(patch, overwritten))
        overwritten = _add_overwritten(overwritten, patch)
    return kept[::-1]


def _drop_fields(patch: JSONObject, overwritten: JSONObject) -> JSONObject:
    """Leave out the fields that are null in ``overwritten``, and in objects below."""
    kept: JSONObject = {}
    for name, value in patch.items():
        below = overwritten.get(field_of(name), {})
        if isinstance(below, dict):
            kept[name] = (
                _drop_fields(value, below) if isinstance(value, dict) else value
            )
    return kept


def _add_overwritten(overwritten: JSONObject, patch: JSONObject) -> JSONObject:
    if is_marked(patch):
        return overwritten
    added = {**overwritten}
    for name, value in patch.items():
        known = added.get(name, {})
        if isinstance(value, dict) and isinstance(known, dict):
            added[name] = _add_overwritten(known, value)
        elif not isinstance(value, (dict, list)):
            added[name] = None
    return added


def compose_objects(first: JSONObject, second: JSONObject, type_: Type) -> JSONObject:
    """Compose two patches of one object.

    Raises CompositionError where no single patch has the effect of both, PatchError and
    ObjectError as applying the patches does, UnknownFieldError for a field to be merged
    that the type lacks.
    """
    first_parts, second_parts = read_object(first), read_object(second)
    # With $patch, the result of the second patch does not depend on the first.
    if second_parts.marker is not ABSENT:
        return second
    # With $patch, the result of the first patch does not depend on the live object.
    if first_parts.marker is not ABSENT:
        result = apply_object(apply_object({}, first, type_), second, type_)
        return {MARKER: REPLACE, **result}
    first_keeps = _retain(first_parts)
    second_keeps = _retain(second_parts)
    composed: JSONObject = {}
    names: dict[str, None] = {}  # an ordered set
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
        # The second patch can set what the first one removed, but cannot retain it.
        keeps = first_keeps if second_keeps is None else first_keeps & second_keeps
        keeps = keeps.union(
            name for name, value in second_parts.fields.items() if value is not None
        )
    return composed if keeps is None else {RETAIN_KEYS: [*sorted(keeps)], **composed}


def _retain(patch: PatchObject) -> set[str] | None:
    return None if patch.retained is ABSENT else retain_keys(patch)


def _compose_field(
    first: FieldPatch, second: FieldPatch, field: Field | None
) -> FieldPatch:
    if second.value is None:
        return FieldPatch(None)
    if first.is_empty:
        # After the first patch the object exists.
        return drop_deleted(second)
    if second.is_empty:
        return first
    if field is None:
        # As in applying: a scalar needs no schema, an object or a list does.
        if isinstance(second.value, str | int | float):
            return second
        raise unknown_field()
    if isinstance(second.value, dict):
        return FieldPatch(_compose_values(first.value, second.value, field))
    if not second.is_list:
        return FieldPatch(second.value)
    if first.is_list:
        return compose_lists(first, second, field, compose_all)
    # The first patch removes the list, or sets a value of another type.
    recreated = apply_part(ABSENT, second, field)
    return FieldPatch(None if recreated is ABSENT else exact(recreated, field))


def _compose_values(first: JSON | Absent, second: JSONObject, field: Field) -> JSON:
    if not isinstance(first, dict):
        # The first patch leaves no object; one with $patch does not create any.
        if is_marked(second):
            return None
        return exact(clean(second, field.type, drop_marked=True), field)
    if field.replaces:
        # An object with a $patch replaces one that exists, and does not create any.
        return second if is_marked(first) else clean(second, field.type)
    if is_marked(second):
        if is_marked(first):
            return second
        # After the first patch the object exists in any case.
        return exact(apply_object({}, second, field.type), field)
    if not is_marked(first):
        return compose_objects(first, second, field.type)
    # If live has the object, the first patch empties or replaces it, and the second one
    # merges into the result. If live lacks it, only the second patch creates it.
    if_present = apply_object(apply_object({}, first, field.type), second, field.type)
    if_absent = clean(second, field.type, drop_marked=True)
    if not same(if_present, if_absent):
        raise CompositionError(
            "one patch replaces this object and the next changes it: the result "
            "depends on whether the live object has it",
            hint="apply the patches one after the other",
        )
    return exact(if_present, field)


def exact(value: JSON, field: Field | None) -> JSON:
    """Return a patch value with the result ``value`` for any live object.

    Raises CompositionError for a merge list of scalars, as every patch of one keeps
    live values that it does not name, and for elements without their merge key.
    """
    if field is None and isinstance(value, (dict, list)):
        # A live value of this type would have to be merged, and has no schema.
        raise CompositionError(
            "one patch removes this value and the next sets it, which no single patch "
            "can do with an object or a list that the schema does not know",
            hint="apply the patches one after the other",
        )
    # Scalars and values that replace are exact themselves.
    if field is None or field.replaces:
        return value
    if isinstance(value, dict):
        members: JSONObject = {RETAIN_KEYS: [*sorted(value)]}
        for name, member in value.items():
            try:
                members[name] = exact(member, field.type.field(name))
            except SmpError as error:
                raise error.within(name) from None
        return members
    if not isinstance(value, list) or not field.merges:
        return value
    if not field.merge_key:
        raise CompositionError(
            "one patch removes this list and the next sets it, which no single patch "
            "can do with a merge list of scalars",
            hint="apply the patches one after the other",
        )
    for index, element in enumerate(value):
        # It is stored, but no patch can set it: that needs its merge key.
        if not isinstance(element, dict) or field.merge_key not in element:
            raise CompositionError(
                "the patches in turn store an element without its merge key "
                f"{field.merge_key!r}, which no single patch can do here",
                hint="apply the patches one after the other",
            ).within(index)
    return [{MARKER: REPLACE}, *value]
