"""What differs between two objects, as field sets (Go: typed.TypedValue.Compare).

Objects that come from one another share what did not change: of two values that are
the same Python object nothing is visited.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp._values.steps import count_steps
from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    check_depth,
    equal,
)
from smp.errors import SmpError, bounded
from smp.managed_fields._elements import field_element, step_of
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._fields_below import fields_at
from smp.managed_fields._shapes import LIST, MAP, Shape, path_elements, root_shape
from smp.schema.model import Schema


class FieldSetComparison(msgspec.Struct, frozen=True):
    """The paths that the second of two objects adds, modifies and removes.

    Where a value is added or removed, all paths in it are, with those of its objects
    and lists. No path is in two of the sets.
    """

    added: FieldSet = EMPTY
    modified: FieldSet = EMPTY
    removed: FieldSet = EMPTY

    def __bool__(self) -> bool:
        return bool(self.added or self.modified or self.removed)

    @property
    def changed(self) -> FieldSet:
        """The paths that were added or modified."""
        return self.modified.union(self.added)

    def without(self, fields: FieldSet) -> FieldSetComparison:
        """Return the comparison without these paths and without all below them."""
        if not fields:
            return self
        return FieldSetComparison(
            self.added.recursive_difference(fields),
            self.modified.recursive_difference(fields),
            self.removed.recursive_difference(fields),
        )


SAME: Final = FieldSetComparison()


@bounded("the object")
def compare(old: JSONObject, new: JSONObject, schema: Schema) -> FieldSetComparison:
    """Return what differs between two objects of a schema.

    Raises UnknownFieldError and ObjectError (code no-path-element), with the path.
    """
    check_depth(old)
    check_depth(new)
    found = _Changes()
    _compare(old, new, root_shape(schema, old), root_shape(schema, new), found)
    return found.comparison()


class _Changes:
    """The changes of a value, and of what is below it, while they are collected."""

    __slots__ = ("added", "below", "is_modified", "modified", "removed")

    def __init__(self) -> None:
        # Whether the value itself is modified; what adds or removes it knows that.
        self.is_modified = False
        # By path element, what is added or removed as a whole, with all below it.
        self.added: dict[str, FieldSet] = {}
        self.removed: dict[str, FieldSet] = {}
        self.modified: set[str] = set()
        self.below: dict[str, _Changes] = {}

    def add_below(self, element: str, inner: _Changes) -> None:
        if inner.is_modified:
            self.modified.add(element)
        if inner.below or inner.added or inner.removed or inner.modified:
            self.below[element] = inner

    def comparison(self) -> FieldSetComparison:
        added = {name: fields for name, fields in self.added.items() if fields}
        removed = {name: fields for name, fields in self.removed.items() if fields}
        modified: dict[str, FieldSet] = {}
        for element, changes in self.below.items():
            inner = changes.comparison()
            # Of duplicates, a path can be removed and what is below it added.
            if inner.added:
                added[element] = inner.added.union(added.get(element, EMPTY))
            if inner.removed:
                removed[element] = inner.removed.union(removed.get(element, EMPTY))
            if inner.modified:
                modified[element] = inner.modified
        return FieldSetComparison(
            _field_set(frozenset(self.added), added),
            _field_set(frozenset(self.modified), modified),
            _field_set(frozenset(self.removed), removed),
        )


def _field_set(members: frozenset[str], children: dict[str, FieldSet]) -> FieldSet:
    return FieldSet(members, children) if members or children else EMPTY


def _compare(
    old: JSON, new: JSON, old_shape: Shape, new_shape: Shape, found: _Changes
) -> None:
    """Compare two values that both exist; either may be null.

    Go: compareWalker.compare. A value of unknown type can have another shape than it
    had before: both shapes are compared then.
    """
    if old is new:
        return
    if old_shape.form != new_shape.form:
        _compare_as(old, new, old_shape, found)
    _compare_as(old, new, new_shape, found)


def _compare_as(old: JSON, new: JSON, shape: Shape, found: _Changes) -> None:
    if shape.form == MAP:
        old_map = as_object(old)
        new_map = as_object(new)
        # Two empty ones are a leaf: null and empty differ.
        if old_map or new_map:
            _compare_maps(old_map, new_map, shape, found)
            return
    elif shape.form == LIST:
        old_list = as_list(old)
        new_list = as_list(new)
        if old_list or new_list:
            _compare_lists(old_list, new_list, shape, found)
            return
    if not equal(old, new):
        found.is_modified = True


def _compare_maps(
    old: JSONObject, new: JSONObject, shape: Shape, found: _Changes
) -> None:
    for name, new_value in new.items():
        count_steps(1)
        if name not in old:
            inner = shape.of_name(name, new_value)
            element = field_element(name)
            found.added[element] = fields_at(element, new_value, inner, structs=True)
            continue
        old_value = old[name]
        if old_value is not new_value:
            element = field_element(name)
            old_shape = shape.of_name(name, old_value)
            new_shape = shape.of_name(name, new_value)
            changes = _find_changes(element, old_value, new_value, old_shape, new_shape)
            found.add_below(element, changes)
    for name, old_value in old.items():
        count_steps(1)
        if name not in new:
            inner = shape.of_name(name, old_value)
            element = field_element(name)
            found.removed[element] = fields_at(element, old_value, inner, structs=True)


def _find_changes(
    element: str, old: JSON, new: JSON, old_shape: Shape, new_shape: Shape
) -> _Changes:
    """Return what differs between two values at a path element."""
    found = _Changes()
    try:
        _compare(old, new, old_shape, new_shape, found)
    except SmpError as error:
        raise error.within(step_of(element)) from None
    return found


def _compare_lists(
    old: JSONArray, new: JSONArray, shape: Shape, found: _Changes
) -> None:
    """Go: compareWalker.visitListItems."""
    old_values = _index_by_element(old, shape)
    new_values = _index_by_element(new, shape)
    for element, after in new_values.items():
        count_steps(1)
        before = old_values.get(element, [])
        if len(before) <= 1 and len(after) <= 1:
            value = after[0]
            if not before:
                found.added[element] = _collect_at_element(element, value, shape)
            elif before[0] is not value:
                old_shape = shape.of_element(before[0])
                new_shape = shape.of_element(value)
                changes = _find_changes(element, before[0], value, old_shape, new_shape)
                found.add_below(element, changes)
        elif len(before) > 1 and len(after) > 1:
            # Duplicates are compared as a whole.
            if not equal(before, after):
                found.modified.add(element)
        elif len(before) > 1:
            # No duplicates any more: they are removed, and what is left is added.
            found.removed[element] = EMPTY
            found.added[element] = _collect_at_element(element, after[0], shape)
        else:
            # Duplicates are new: what they were before is removed.
            found.added[element] = EMPTY
            if before:
                gone = _collect_at_element(element, before[0], shape)
                found.removed[element] = gone
    for element, before in old_values.items():
        if element not in new_values:
            gone = EMPTY
            if len(before) == 1:
                gone = _collect_at_element(element, before[0], shape)
            found.removed[element] = gone


def _index_by_element(values: JSONArray, shape: Shape) -> dict[str, JSONArray]:
    found: dict[str, JSONArray] = {}
    for element, value in zip(path_elements(shape, values), values, strict=True):
        count_steps(1)
        found.setdefault(element, []).append(value)
    return found


def _collect_at_element(element: str, value: JSON, shape: Shape) -> FieldSet:
    return fields_at(element, value, shape.of_element(value), structs=True)
