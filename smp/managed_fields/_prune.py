"""What an apply removes: what its manager applied before, and no longer does.

Go: merge.Updater.prune. It removes all that the manager applied before, adds back what
is owned (addBackOwnedItems), and then what it never applied (addBackDanglingItems).
Here the same is found in one walk along the former set of the manager.

A value is *unowned* if it is not owned, but lies in something that the manager applied
before. It is removed if the manager applied it before and if it, or something it lies
in, is unowned. So, if the manager has applied an element of a list, does not any more,
and no other does, then the element goes with all that is in it, even with what others
own there. And if another manager owns the element, then that stays, and loses only what
the manager alone has applied in it.

This module is compiled with mypyc (hatch_build.py).

Where a type declares a field, it also counts as applied, or as owned, if something in
it is (Go: fieldpath.Set.EnsureNamedFieldsAreMembers).
"""

from __future__ import annotations

from collections.abc import Sequence

from smp.errors import SmpError, bounded
from smp.managed_fields._elements import field_element, step_of
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._shapes import LIST, MAP, Shape, path_elements, root_shape
from smp.schema.model import Schema
from smp.steps import count_steps
from smp.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_object,
    check_depth,
    require_known,
)


@bounded("the object")
def pruned(
    merged: JSONObject,
    schema: Schema,
    former: FieldSet,
    applied: FieldSet,
    others: Sequence[FieldSet],
    *,
    keeps_emptied: bool = False,
) -> JSONObject:
    """Return the merged object without what its manager no longer applies.

    ``former`` and ``applied`` are the sets of the manager, before and now, ``others``
    those of all other managers. An object or a list that is empty afterwards is null,
    unless ``keeps_emptied``. What does not change is shared.
    """
    candidates = former.difference(applied)
    if not candidates:
        return merged
    check_depth(merged)
    walk = _Place(candidates, former, (applied, *others), keeps_emptied=keeps_emptied)
    return as_object(_without(merged, root_shape(schema, merged), walk))


class _Place:
    """The sets below a value, and what holds for the value itself."""

    __slots__ = (
        "candidates",
        "former",
        "in_former",
        "in_unowned",
        "keeps_emptied",
        "owned",
    )

    def __init__(
        self,
        candidates: FieldSet,
        former: FieldSet,
        owned: Sequence[FieldSet],
        *,
        in_former: bool = False,
        in_unowned: bool = False,
        keeps_emptied: bool = False,
    ) -> None:
        # What was applied before and is not any more: only this can be removed.
        self.candidates = candidates
        self.former = former
        self.owned = owned
        # Whether the value, or something it is in, was applied before, or is unowned.
        self.in_former = in_former
        self.in_unowned = in_unowned
        # Whether what loses all that it has is empty, and not null.
        self.keeps_emptied = keeps_emptied


def _without(value: JSON, shape: Shape, place: _Place) -> JSON:
    contents: list[tuple[str, str, JSON]]
    if shape.form == MAP and isinstance(value, dict):
        contents = [(field_element(name), name, value[name]) for name in value]
    elif shape.form == LIST and isinstance(value, list):
        elements = path_elements(shape, value)
        contents = [
            (element, "", item) for element, item in zip(elements, value, strict=True)
        ]
    else:
        require_known(value)
        return value
    changed = False
    kept: list[tuple[str, JSON]] = []
    for element, name, content in contents:
        count_steps(1)
        item: JSON | Absent = content
        candidates = place.candidates
        if element in candidates.members or element in candidates.children:
            if isinstance(value, dict):
                named = shape.declares(name)
                inner = shape.of_name(name, content)
            else:
                named = False
                inner = shape.of_element(content)
            item = _item(element, content, inner, place, named=named)
            changed = changed or item is not content
        if not isinstance(item, Absent):
            kept.append((name, item))
    if not changed:
        return value
    if not kept and not place.keeps_emptied:
        return None
    return dict(kept) if isinstance(value, dict) else [item for _, item in kept]


def _item(
    element: str, value: JSON, shape: Shape, place: _Place, *, named: bool
) -> JSON | Absent:
    """Return a value without what is removed in it; ABSENT where it is removed."""
    if _is_empty_list(value, shape):
        # It has no path, and is removed with what it lies in only.
        return value
    was_applied = element in place.former.members or (
        named and element in place.former.children
    )
    in_former = place.in_former or was_applied
    in_unowned = place.in_unowned
    if in_former and not in_unowned:
        in_unowned = not any(
            element in fields.members or (named and element in fields.children)
            for fields in place.owned
        )
    if was_applied and in_unowned:
        return ABSENT
    below = place.candidates.children.get(element)
    if below is None:
        return value
    owned = [
        fields.children[element] for fields in place.owned if element in fields.children
    ]
    if named and was_applied and not owned and _has_empty_list(value, shape):
        # Of what is added back only lists without a path are left in it, so that to Go
        # it is not there itself (addBackDanglingItems).
        return ABSENT
    inner = _Place(
        below,
        place.former.children.get(element, EMPTY),
        owned,
        in_former=in_former,
        in_unowned=in_unowned,
        keeps_emptied=place.keeps_emptied,
    )
    try:
        return _without(value, shape, inner)
    except SmpError as error:
        raise error.within(step_of(element)) from None


def _is_empty_list(value: JSON, shape: Shape) -> bool:
    """Tell whether a value is an empty list of type set or map.

    A field set does not have it (Go: typed.toFieldSetWalker.visitMapItems).
    """
    return shape.form == LIST and isinstance(value, list) and not value


def _has_empty_list(value: JSON, shape: Shape) -> bool:
    """Tell whether a field of an object is such a list, or has nothing but those."""
    if shape.form != MAP or not isinstance(value, dict):
        return False
    for name, content in value.items():
        if shape.declares(name):
            inner = shape.of_name(name, content)
            if _is_empty_list(content, inner) or _has_no_path(content, inner):
                return True
    return False


def _has_no_path(value: JSON, shape: Shape) -> bool:
    """Tell whether there are only such lists in an object."""
    if shape.form != MAP or not isinstance(value, dict) or not value:
        return False
    for name, content in value.items():
        if not shape.declares(name):
            return False
        inner = shape.of_name(name, content)
        if not _is_empty_list(content, inner) and not _has_no_path(content, inner):
            return False
    return True
