"""Composing two strategic merge patches into one: lists and their directives.

Theory of operation
===================

Each patch has a value for the list, a ``$setElementOrder``, a
``$deleteFromPrimitiveList``, or several of these. For an atomic list the last value
wins. For a merge list of scalars the patches add and delete values: what the second one
deletes is not added any more, and what it adds is not deleted any more. A merge list of
objects is harder. Let the first patch be

    containers: [{name: app, image: i:1}, {name: old, $patch: delete}]
    $setElementOrder/containers: [{name: app}, {name: log}]

and the second one

    containers: [{name: app, args: [-v]}, {name: new, image: n:1}]

1. ``_directives.read_list`` splits both lists into elements to merge and keys to
   delete.
2. ``_ElementMerger`` takes the elements of the first patch, except those that the
   second one deletes, and merges the elements of the second patch into them by key.
   The result is ``{name: app, image: i:1, args: [-v]}`` and ``new``.
3. ``_compose_order`` creates the order directive. The second patch has none, so new
   elements get the place where applying it puts them: after ``app``, before ``log``.
4. The elements are put in this order, followed by the deletions of both patches:

    containers: [{name: app, image: i:1, args: [-v]}, {name: new, image: n:1},
                 {name: old, $patch: delete}]
    $setElementOrder/containers: [{name: app}, {name: new}, {name: log}]

The live list may have the element or not, and the live object may have no list at all.
If not, applying stores the element of the patch, and ignores directives in it. So a
change that deletes what the earlier change to the element sets has no single patch, and
CompositionError is raised. It has one where the earlier change orders the list in the
element: then the list and the element exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import TypeAlias, cast

import msgspec

from smp._strategic._apply import apply_object
from smp._strategic._directives import (
    MARKER,
    REPLACE,
    PatchList,
    PatchObject,
    clean,
    delete_element,
    deletions_from,
    is_directive,
    is_marked,
    order_of,
    read_list,
)
from smp._strategic._ordering import (
    arrange,
    element_type,
    first_positions,
    group_by_key,
    keys_of,
)
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    same,
    scalar_key,
)
from smp.errors import CompositionError, PatchError, SmpError
from smp.paths import Element, Path
from smp.schema.model import Field, Type


class FieldPatch(msgspec.Struct, frozen=True):
    """The part of a patch for one field.

    ``order`` is the field's ``$setElementOrder``, ``deleted`` its
    ``$deleteFromPrimitiveList``.
    """

    value: JSON | Absent = ABSENT
    order: JSON | Absent = ABSENT
    deleted: JSON | Absent = ABSENT

    @classmethod
    def read(cls, patch: PatchObject, name: str) -> FieldPatch:
        """Return the part of a patch for the field of that name."""
        return cls(
            patch.fields.get(name, ABSENT),
            patch.orders.get(name, ABSENT),
            patch.deletions.get(name, ABSENT),
        )

    @property
    def is_empty(self) -> bool:
        """Whether the patch does not mention the field."""
        return self.value is ABSENT and self.order is ABSENT and self.deleted is ABSENT

    @property
    def is_list(self) -> bool:
        """Whether the field is a list, by its value or by a directive for lists."""
        if self.value is ABSENT:
            return not self.is_empty
        return isinstance(self.value, list)

    def to_fields(self, name: str) -> JSONObject:
        """Return the members of a patch object that this part consists of."""
        fields: JSONObject = {}
        if self.order is not ABSENT:
            fields[order_of(name)] = self.order
        if self.deleted is not ABSENT:
            fields[deletions_from(name)] = self.deleted
        if self.value is not ABSENT:
            fields[name] = self.value
        return fields


# The type of ``_compose.compose_all``, which composes the elements of a list. It is
# passed as an argument, as its module imports this one.
ComposeAll: TypeAlias = Callable[[JSONObject, list[JSONObject], Type], JSONObject]


def compose_lists(
    first: FieldPatch, second: FieldPatch, field: Field, compose_all: ComposeAll
) -> FieldPatch:
    """Compose the parts of two patches for a list.

    Raises CompositionError where no single patch has the effect of both, PatchError for
    elements of different types and elements without their merge key.
    """
    if not field.merges:
        # An atomic list. The last value wins, without the values that a
        # $deleteFromPrimitiveList after it deletes.
        if isinstance(second.value, list):
            if not isinstance(first.value, list):
                return drop_deleted(second)
            # In a list that exists, elements with a $patch are stored without it. In a
            # new list they are dropped.
            kept = FieldPatch(
                clean(second.value, field.type), second.order, second.deleted
            )
            return drop_deleted(kept)
        if isinstance(first.value, list):
            values = _drop_keys(first.value, _index_by_key(second.deleted).keys())
            return FieldPatch(values, first.order)
        deleted = [*as_list(first.deleted), *as_list(second.deleted)]
        return FieldPatch(ABSENT, second.order, deleted)
    json_type = element_type(
        as_list(first.value),
        as_list(first.order),
        as_list(second.value),
        as_list(second.order),
        error=PatchError,
    )
    if json_type is dict:
        return _compose_elements(first, second, field, compose_all)
    return _compose_scalars(first, second)


def apply_part(live: JSON | Absent, patch: FieldPatch, field: Field) -> JSON | Absent:
    """Return what the part of a patch for a field makes of a live value.

    Raises what apply_object raises, with paths below the field.
    """
    fields: JSONObject = {} if live is ABSENT else {field.name: live}
    try:
        fields = apply_object(fields, patch.to_fields(field.name), Type.of(field))
    except SmpError as error:
        error.path = Path(error.path.steps[1:])
        raise
    return fields.get(field.name, ABSENT)


def _index_by_key(values: JSON | Absent) -> dict[ScalarKey, JSON]:
    """Return the scalars of a list by their keys; ``{}`` for any other value."""
    scalars = as_list(values)
    return dict(zip(keys_of(scalars, "", PatchError), scalars))


def _drop_keys(values: JSON | Absent, deleted: AbstractSet[ScalarKey]) -> JSONArray:
    scalars = as_list(values)
    keys = keys_of(scalars, "", PatchError)
    return [value for value, key in zip(scalars, keys) if key not in deleted]


def drop_deleted(patch: FieldPatch) -> FieldPatch:
    """Return the part of a patch for a list without the scalars that it deletes itself.

    It has the same effect on an object that exists. In an object that is new a
    ``$deleteFromPrimitiveList`` has none.
    """
    values = as_list(patch.value)
    if not values or not isinstance(patch.deleted, list):
        return patch
    if any(isinstance(value, (dict, list)) for value in (*values, *patch.deleted)):
        return patch
    kept = _drop_keys(values, _index_by_key(patch.deleted).keys())
    return FieldPatch(kept, patch.order, patch.deleted)


def _compose_scalars(first: FieldPatch, second: FieldPatch) -> FieldPatch:
    """Compose two patches of a merge list of scalars.

    Additions are applied before deletions.
    """
    second_added, second_deleted = (
        _index_by_key(second.value),
        _index_by_key(second.deleted),
    )
    first_deleted = _index_by_key(first.deleted)
    deleted = {k: value for k, value in first_deleted.items() if k not in second_added}
    deleted.update(second_deleted)
    added = _drop_keys(first.value, second_deleted.keys())
    added += _drop_keys(second.value, second_deleted.keys())
    if first.value is not ABSENT and second.value is not ABSENT:
        # The second list is merged into a list in any case, so without repeats. One
        # list alone is stored as it is where live lacks the list.
        added = [*dict(zip(keys_of(added, ""), added)).values()]
    if len({type(value) for value in (*deleted.values(), *added)}) > 1:
        raise CompositionError(
            "one patch may not add and delete values of different types, as these two "
            "do in turn"
        )
    earlier = keys_of(as_list(first.value), "")
    later = keys_of(as_list(second.value), "")
    keys = keys_of(added, "")
    order = _compose_order(first, second, keys, later, "", deleted.keys())
    values = _sort_by_order(added, order, "")
    if order is None:
        # As merging the second list into the first one puts them.
        values = arrange(added, keys, later, earlier)
    return FieldPatch(
        values if _has_value(first, second) else ABSENT,
        ABSENT if order is None else order,
        [*deleted.values()] or ABSENT,
    )


def _compose_elements(
    first: FieldPatch, second: FieldPatch, field: Field, compose_all: ComposeAll
) -> FieldPatch:
    """Compose two patches of a merge list of objects."""
    merge_key = field.merge_key
    before = read_list(as_list(first.value), field)
    after = read_list(as_list(second.value), field)
    if after.replaces or before.replaces:
        return _compose_replacing(first, second, before, after, field)
    merger = _ElementMerger(field, compose_all, first, before)
    for element, key in zip(before.elements, before.keys):
        if key not in after.deleted:
            merger.add(element, key)
    for key, changes in group_by_key(after.elements, after.keys).items():
        try:
            merger.merge(changes, key)
        except SmpError as error:
            value = changes[-1][merge_key]
            places = enumerate(as_list(second.value))
            index = next(at for at, element in places if element is changes[-1])
            raise error.within(Element(index, merge_key, value)) from None
    merged: JSONArray = [*merger.elements]
    keys = keys_of(merged, merge_key)
    order = _compose_order(first, second, keys, after.keys, merge_key, after.deleted)
    values = _sort_by_order(merged, order, merge_key)
    if order is None:
        # As merging the second list into the first one puts them.
        values = arrange(merged, keys, after.keys, before.keys)
    # Applying deletes before it merges, so the place of deletions has no effect.
    deletions: dict[ScalarKey, JSON] = {}
    for entry in (*as_list(first.value), *as_list(second.value)):
        if isinstance(entry, dict) and is_marked(entry):
            deletions[scalar_key(entry[merge_key])] = entry[merge_key]
    for value in deletions.values():
        values.append(delete_element(merge_key, value))
    return FieldPatch(
        values if _has_value(first, second) else ABSENT,
        ABSENT if order is None else order,
    )


def _compose_replacing(
    first: FieldPatch,
    second: FieldPatch,
    before: PatchList,
    after: PatchList,
    field: Field,
) -> FieldPatch:
    """Compose two patches of a merge list, one of which replaces the list.

    If the second one does, the result does not depend on the first. If the first one
    does, the second one can be applied to its elements.
    """
    if after.replaces:
        if first.value is ABSENT:
            return second
        # After the first patch the list exists, so the elements are stored without any
        # directives. In a new list objects with a $patch would be dropped.
        stored = as_list(clean([*after.elements], field.type))
        return FieldPatch([{MARKER: REPLACE}, *stored], second.order)
    # A list that live has is replaced by the elements without any directives; in a new
    # list objects with a $patch are dropped.
    replaced: JSONArray = [*before.elements]
    if_present = apply_part(clean(replaced, field.type), second, field)
    created = clean(replaced, field.type, drop_marked=True)
    if not same(if_present, apply_part(created, second, field)):
        raise _depends_on_the_list()
    return FieldPatch([{MARKER: REPLACE}, *as_list(if_present)])


def _has_value(first: FieldPatch, second: FieldPatch) -> bool:
    return first.value is not ABSENT or second.value is not ABSENT


class _ElementMerger:
    """Merges the elements of the second patch into those of the first one, by key."""

    def __init__(
        self,
        field: Field,
        compose_all: ComposeAll,
        first: FieldPatch,
        before: PatchList,
    ) -> None:
        self.elements: list[JSONObject] = []
        self._field = field
        self._compose_all = compose_all
        self._first = first
        # If the first patch deletes a key and also has an element with it, the element
        # is a new one.
        self._deleted = before.deleted
        self._indexes: dict[ScalarKey, list[int]] = {}

    def add(self, element: JSONObject, key: ScalarKey) -> None:
        self._indexes.setdefault(key, []).append(len(self.elements))
        self.elements.append(element)

    def merge(self, changes: list[JSONObject], key: ScalarKey) -> None:
        """Merge elements of the second patch, all with one key, into that of the first.

        Append them if there is none.
        """
        type_ = self._field.type.items
        indexes = self._indexes.get(key)
        if not indexes:
            self._append(changes, key)
            return
        if len(indexes) == 1 and key in self._deleted:
            # The element is a new one, so the result of both patches is known. Not so
            # with a $patch inside: in a list that live has, the object with the $patch
            # is stored without it; in a new list it is dropped.
            present = self.elements[indexes[-1]]
            if _has_marker(present):
                raise _depends_on_the_list()
            result = apply_object({}, present, type_)
            change = self._compose_all(changes[0], changes[1:], type_)
            self.elements[indexes[-1]] = apply_object(result, change, type_)
            return
        if len(indexes) > 1 and self._first.order is ABSENT:
            # In a list that live has, the elements of the first patch become one.
            raise _depends_on_the_list()
        if len(changes) == 1 or not self._compose_at_once(indexes[-1], changes, type_):
            self._merge_in_turn(changes, key, indexes)

    def _append(self, changes: list[JSONObject], key: ScalarKey) -> None:
        """Append elements that the first patch has none for."""
        is_new = self._first.value is not ABSENT and self._first.order is ABSENT
        if len(changes) > 1 and is_new:
            # The first patch leaves a list, into which the elements are merged. In one
            # that live has, as the patch orders it, they are merged anyway.
            merged = self._compose_all(changes[0], changes[1:], self._field.type.items)
            if _has_marker(merged) and not _has_directive(changes[0]):
                raise _depends_on_the_list()
            changes = [merged]
        for element in changes:
            self.add(element, key)

    def _merge_in_turn(
        self, changes: list[JSONObject], key: ScalarKey, indexes: list[int]
    ) -> None:
        type_ = self._field.type.items
        for change in changes:
            present = self.elements[indexes[-1]]
            try:
                composed = self._compose_all(present, [change], type_)
                _check_deletions(present, change, type_)
            except CompositionError:
                if self._first.order is ABSENT:
                    raise
                self.add(change, key)
                continue
            # The list exists, as a patch that orders it was computed from one. The
            # element may be new, and is stored as it is then. So what has directives is
            # an element of its own: it merges into the one before it, whoever created
            # that (Go: mergeSliceWithoutSpecialElements).
            if _has_directive(present) or not _has_directive(composed):
                self.elements[indexes[-1]] = composed
            elif self._first.order is not ABSENT:
                self.add(change, key)
            elif _has_marker(composed) and not _has_directive(change):
                # Neither patch says that the element exists.
                raise _depends_on_the_list()
            else:
                self.elements[indexes[-1]] = composed

    def _compose_at_once(
        self, index: int, changes: list[JSONObject], type_: Type
    ) -> bool:
        """Compose all changes with the element at an index; False: do it one by one.

        Without directives the result is the same, in time that grows with the changes.
        """
        present = self.elements[index]
        try:
            composed = self._compose_all(present, changes, type_)
            for change in changes:
                _check_deletions(present, change, type_)
        except CompositionError:
            return False
        if _has_directive(composed):
            return False
        self.elements[index] = composed
        return True


def _depends_on_the_list() -> CompositionError:
    return CompositionError(
        "what these patches do in turn depends on whether the live object has this "
        "list, and this element in it",
        hint="apply the patches one after the other",
    )


def _check_deletions(first: JSONObject, second: JSONObject, type_: Type) -> None:
    """Check that the second patch deletes no list element that the first one sets.

    The patches are of one element. If the first one creates it, a deletion inside is
    stored as an element without anything but its key. Where the first patch has an
    order directive for the list, the list exists, so the element does. Raises
    CompositionError.
    """
    for name, value in second.items():
        earlier, field = first.get(name), type_.field(name)
        if field is None:
            continue
        keyed = field.merges and bool(field.merge_key)
        try:
            if isinstance(earlier, dict) and isinstance(value, dict):
                _check_deletions(earlier, value, field.type)
            elif isinstance(earlier, list) and isinstance(value, list) and keyed:
                exists = order_of(name) in first
                _check_deleted_elements(earlier, value, field, exists=exists)
        except SmpError as error:
            raise error.within(name) from None


def _check_deleted_elements(
    first: JSONArray, second: JSONArray, field: Field, *, exists: bool
) -> None:
    before = read_list(first, field)
    after = read_list(second, field)
    by_key = dict(zip(before.keys, before.elements))
    for index, element in enumerate(second):
        if not isinstance(element, dict) or field.merge_key not in element:
            continue
        value = element[field.merge_key]
        key = scalar_key(value)
        if key not in by_key:
            continue
        try:
            if not is_marked(element):
                _check_deletions(by_key[key], element, field.type.items)
            elif key in after.deleted and not exists:
                raise CompositionError(
                    "one patch sets this element, in one that it may create, and the "
                    "next deletes it, which no single patch can do",
                    hint="apply the patches one after the other",
                )
        except SmpError as error:
            raise error.within(Element(index, field.merge_key, value)) from None


def _has_directive(value: JSON) -> bool:
    if isinstance(value, dict):
        for name, member in value.items():
            if is_directive(name) or _has_directive(member):
                return True
        return False
    if isinstance(value, list):
        return any(_has_directive(element) for element in value)
    return False


def _has_marker(value: JSON) -> bool:
    if isinstance(value, dict):
        return MARKER in value or any(_has_marker(child) for child in value.values())
    if isinstance(value, list):
        return any(_has_marker(element) for element in value)
    return False


def _compose_order(
    first: FieldPatch,
    second: FieldPatch,
    keys: list[ScalarKey],
    second_keys: list[ScalarKey],
    merge_key: str,
    deleted: AbstractSet[ScalarKey],
) -> JSONArray | None:
    """Return one order directive for two patches; None where neither has one.

    ``keys`` are those of the composed elements, ``second_keys`` those of the second
    patch, ``deleted`` those that it deletes.
    """
    if first.order is ABSENT and second.order is ABSENT:
        return None
    earlier = keys_of(as_list(first.order), merge_key, PatchError)
    later = keys_of(as_list(second.order), merge_key, PatchError)
    times = Counter(keys)
    mentioned = dict.fromkeys([*earlier, *keys, *later])
    kept = [key for key in mentioned if key not in deleted or key in times]
    # After the first patch the list has the order of its directive. The second one
    # orders that list like any live list: by its directive, or by its own elements.
    wanted = later or second_keys
    order: JSONArray = []
    for key in arrange(kept, kept, wanted, earlier):
        value = cast("JSON", key[1]) if isinstance(key, tuple) else key
        entry: JSON = {merge_key: value} if merge_key else value
        # The directive has an entry for each element, duplicates included.
        order.extend([entry] * max(1, times[key]))
    return order


def _sort_by_order(
    values: JSONArray, order: JSONArray | None, merge_key: str
) -> JSONArray:
    """Sort values by an order directive; duplicates keep their order."""
    if order is None:
        return values
    keys = keys_of(values, merge_key)
    position = first_positions(keys_of(order, merge_key), set(keys))
    positions = [position[key] for key in keys]
    indexes = sorted(range(len(values)), key=positions.__getitem__)
    return [values[index] for index in indexes]
