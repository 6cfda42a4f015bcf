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
3. ``_composed_order`` creates the order directive. The second patch has none, so new
   elements get the place where applying it puts them: before ``app`` and ``log``.
4. The elements are put in this order, followed by the deletions of both patches:

    containers: [{name: new, image: n:1}, {name: app, image: i:1, args: [-v]},
                 {name: old, $patch: delete}]
    $setElementOrder/containers: [{name: new}, {name: app}, {name: log}]

Two changes to one element cannot always be merged. The live list may have the element
or not; if not, applying stores the element of the patch, and ignores directives in it.
So elements with directives are not merged but kept as *duplicates*, two elements with
one key: applying merges the second one into the result of the first, which is right in
both cases. It is right only if the live object has the list, as applying stores a new
list with all duplicates in it. An order directive in the first patch shows that the
list exists. Without one, the elements are merged, or CompositionError is raised if the
result depends on the live list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from smp.errors import CompositionError, PatchError
from smp.schema.model import Field, Type
from smp.strategic._apply import apply_object
from smp.strategic._directives import (
    MARKER,
    REPLACE,
    delete_element,
    is_marked,
    read_list,
)
from smp.strategic._field_patch import FieldPatch
from smp.strategic._ordering import arranged, element_type, first_positions, keys_of
from smp.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    scalar_key,
)

# The type of ``_compose.compose_objects``, which composes the elements of a list. It is
# passed as an argument, as its module imports this one.
ComposeObjects: TypeAlias = Callable[[JSONObject, JSONObject, Type], JSONObject]


def compose_lists(
    first: FieldPatch,
    second: FieldPatch,
    field: Field,
    compose_objects: ComposeObjects,
) -> FieldPatch:
    """Compose the parts of two patches for a list.

    Raises CompositionError where no single patch has the effect of both, PatchError for
    elements of different types and elements without their merge key.
    """
    if not field.merges:
        # An atomic list. The last value wins, without the values that a
        # $deleteFromPrimitiveList after it deletes.
        if isinstance(second.value, list):
            return second
        if isinstance(first.value, list):
            deleted_keys = _by_key(second.deleted)
            values = _by_key(first.value)
            kept = [value for key, value in values.items() if key not in deleted_keys]
            return FieldPatch(kept, first.order)
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
        return _compose_elements(first, second, field, compose_objects)
    return _compose_scalars(first, second)


def _by_key(values: JSON | Absent) -> dict[ScalarKey, JSON]:
    """Return the scalars of a list by their keys; ``{}`` for any other value."""
    scalars = as_list(values)
    return dict(zip(keys_of(scalars, "", PatchError), scalars))


def _compose_scalars(first: FieldPatch, second: FieldPatch) -> FieldPatch:
    """Compose two patches of a merge list of scalars.

    Additions are applied before deletions.
    """
    second_added = _by_key(second.value)
    first_deleted = _by_key(first.deleted)
    deleted = {k: value for k, value in first_deleted.items() if k not in second_added}
    deleted.update(_by_key(second.deleted))
    all_added = _by_key(first.value) | second_added
    added = {key: value for key, value in all_added.items() if key not in deleted}
    if len({type(value) for value in (*deleted.values(), *added.values())}) > 1:
        raise CompositionError(
            "one patch may not add and delete values of different types, as these two "
            "do in turn"
        )
    order = _composed_order(first, second, list(added), "", deleted.keys())
    values = _sorted([*added.values()], order, "")
    return FieldPatch(
        values if _has_value(first, second) else ABSENT,
        ABSENT if order is None else order,
        [*deleted.values()] or ABSENT,
    )


def _compose_elements(
    first: FieldPatch,
    second: FieldPatch,
    field: Field,
    compose_objects: ComposeObjects,
) -> FieldPatch:
    """Compose two patches of a merge list of objects."""
    merge_key = field.merge_key
    before = read_list(as_list(first.value), merge_key)
    after = read_list(as_list(second.value), merge_key)
    # If the second patch replaces the list, the result does not depend on the first. If
    # the first one does, the second one can be applied to its elements.
    if after.replaces:
        return second
    if before.replaces:
        fields = apply_object(
            {field.name: [*before.elements]},
            second.to_fields(field.name),
            Type.of(field),
        )
        return FieldPatch([{MARKER: REPLACE}, *as_list(fields.get(field.name))])
    merger = _ElementMerger(
        field,
        compose_objects,
        before.deleted,
        allow_duplicates=first.order is not ABSENT,
    )
    for element, key in zip(before.elements, before.keys):
        if key not in after.deleted:
            merger.add(element, key)
    for element, key in zip(after.elements, after.keys):
        merger.merge(element, key)
    elements: JSONArray = [*merger.elements]
    keys = keys_of(elements, merge_key)
    order = _composed_order(first, second, keys, merge_key, after.deleted)
    values = _sorted(elements, order, merge_key)
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


def _has_value(first: FieldPatch, second: FieldPatch) -> bool:
    return first.value is not ABSENT or second.value is not ABSENT


class _ElementMerger:
    """Merges the elements of the second patch into those of the first one, by key.

    ``deleted`` are the keys that the first patch deletes: if it also has an element
    with such a key, the element is a new one. ``allow_duplicates`` permits several
    elements with one key; the docstring of this module explains when.
    """

    def __init__(
        self,
        field: Field,
        compose_objects: ComposeObjects,
        deleted: AbstractSet[ScalarKey],
        *,
        allow_duplicates: bool,
    ) -> None:
        self.elements: list[JSONObject] = []
        self._field = field
        self._compose_objects = compose_objects
        self._deleted = deleted
        self._allow_duplicates = allow_duplicates
        self._indexes: dict[ScalarKey, list[int]] = {}

    def add(self, element: JSONObject, key: ScalarKey) -> None:
        """Append an element."""
        indexes = self._indexes.setdefault(key, [])
        indexes.append(len(self.elements))
        self.elements.append(element)

    def merge(self, element: JSONObject, key: ScalarKey) -> None:
        """Merge an element of the second patch into the last one with its key.

        Append it if there is none, or if the two cannot be merged.
        """
        indexes = self._indexes.get(key)
        if not indexes:
            self.add(element, key)
            return
        index = indexes[-1]
        present = self.elements[index]
        type_ = self._field.type.items
        if len(indexes) == 1 and key in self._deleted:
            # The element is a new one, so the result of both patches is known. Not so
            # with a $patch inside: in a list that live has, the object with the $patch
            # is stored without it; in a new list it is dropped.
            if _has_marker(present):
                raise _depends_on_the_list()
            result = apply_object({}, present, type_)
            self.elements[index] = apply_object(result, element, type_)
            return
        if not self._allow_duplicates:
            if _takes_back(present, element, type_):
                raise _depends_on_the_list()
            self.elements[index] = self._compose_objects(present, element, type_)
            return
        if len(indexes) > 1:
            self.add(element, key)
            return
        try:
            composed = self._compose_objects(present, element, type_)
        except CompositionError:
            self.add(element, key)
            return
        # If live lacks the element, applying stores it and ignores a $patch inside. So
        # one element has the effect of both only without $patch.
        if _has_marker(present) or _has_marker(element) or _has_marker(composed):
            self.add(element, key)
        else:
            self.elements[index] = composed


def _depends_on_the_list() -> CompositionError:
    return CompositionError(
        "one patch may create this element and the next deletes part of it: the "
        "result depends on the live list",
        hint="apply the patches one after the other",
    )


def _takes_back(first: JSONObject, second: JSONObject, type_: Type) -> bool:
    """Tell whether the second patch deletes a list element that the first one sets."""
    for name, value in second.items():
        earlier, field = first.get(name), type_.field(name)
        if field is None:
            continue
        if isinstance(earlier, dict) and isinstance(value, dict):
            if _takes_back(earlier, value, field.type):
                return True
            continue
        if not isinstance(earlier, list) or not isinstance(value, list):
            continue
        if not field.merges or not field.merge_key:
            continue
        before = read_list(earlier, field.merge_key)
        after = read_list(value, field.merge_key)
        by_key = dict(zip(before.keys, before.elements))
        if not after.deleted.isdisjoint(by_key):
            return True
        for key, element in zip(after.keys, after.elements):
            if key in by_key and _takes_back(by_key[key], element, field.type.items):
                return True
    return False


def _has_marker(value: JSON) -> bool:
    """Tell whether there is a ``$patch`` anywhere in a value."""
    if isinstance(value, dict):
        return MARKER in value or any(_has_marker(child) for child in value.values())
    if isinstance(value, list):
        return any(_has_marker(element) for element in value)
    return False


def _composed_order(
    first: FieldPatch,
    second: FieldPatch,
    keys: list[ScalarKey],
    merge_key: str,
    deleted: AbstractSet[ScalarKey],
) -> JSONArray | None:
    """Return one order directive for two patches; None where neither has one.

    ``keys`` are those of the composed elements, ``deleted`` those that the second patch
    deletes.
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
    wanted = later or [key for key in keys if key not in earlier]
    order: JSONArray = []
    for key in arranged(kept, kept, wanted, earlier):
        value: JSON = key[1] if isinstance(key, tuple) else key
        entry: JSON = {merge_key: value} if merge_key else value
        # The directive has an entry for each element, duplicates included.
        order.extend([entry] * max(1, times[key]))
    return order


def _sorted(values: JSONArray, order: JSONArray | None, merge_key: str) -> JSONArray:
    """Sort values by an order directive; duplicates keep their order."""
    if order is None:
        return values
    keys = keys_of(values, merge_key)
    position = first_positions(keys_of(order, merge_key), set(keys))
    positions = [position[key] for key in keys]
    indexes = sorted(range(len(values)), key=positions.__getitem__)
    return [values[index] for index in indexes]
