"""Composing two strategic merge patches into one: lists and their directives.

Theory of operation
===================

Both patches say something of one list, each with its value, its ``$setElementOrder``
and its ``$deleteFromPrimitiveList``. An atomic list is easy: the second value wins. A
merge list of scalars is a set with additions and deletions: what the second patch
deletes is no longer added, what it adds is no longer deleted. A merge list of objects
takes more. Let the first patch be

    containers: [{name: app, image: i:1}, {name: old, $patch: delete}]
    $setElementOrder/containers: [{name: app}, {name: log}]

and the second one

    containers: [{name: app, args: [-v]}, {name: new, image: n:1}]

1. Both lists are read into elements to merge and keys to delete
   (``_directives.read_list``).
2. ``_ElementMerger`` starts from the elements of the first patch, less those that the
   second one deletes, and merges the elements of the second one into them by key:
   ``{name: app, image: i:1, args: [-v]}``, and ``new`` as it is.
3. ``_composed_order`` makes one order directive. The second patch asks for no order, so
   it puts new elements where applying it would: in front, then app, log.
4. The elements are put in that order, the deletions of both patches behind them:

    containers: [{name: new, image: n:1}, {name: app, image: i:1, args: [-v]},
                 {name: old, $patch: delete}]
    $setElementOrder/containers: [{name: new}, {name: app}, {name: log}]

An element may be in the live list or not, and a new one is stored as it stands, without
a look at the directives inside. So two patches to one element do not always reduce to
one, and where they do not, they stay in the list one behind the other: applying merges
the second into the first one of its key, whether live had that or the patch brought it.
This needs a live list that is there, which an order directive of the first patch
shows; a list that the patch creates is stored as it stands, duplicates and all.
Elsewhere a patch to an element that the other one may have created is a
CompositionError if the outcome depends on it.
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

# compose_objects, which is passed in: it composes the objects that are elements here,
# and its module imports this one.
ComposeObjects: TypeAlias = Callable[[JSONObject, JSONObject, Type], JSONObject]


def compose_lists(
    first: FieldPatch,
    second: FieldPatch,
    field: Field,
    compose_objects: ComposeObjects,
) -> FieldPatch:
    """Compose what two patches say of a list.

    Raises CompositionError where no single patch has the effect of both, PatchError for
    elements that do not fit together.
    """
    if not field.merges:
        # An atomic list: the last value wins. What the second patch deletes from the
        # value of the first one is left out of that.
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
    """Map scalars by their keys; none for anything but a list."""
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
    # Where the second patch replaces the list, the first one does not matter. Where the
    # first one does, the list is known, and the second can be applied to it.
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
    # Deletions take effect before anything is merged, so they may stand last.
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

    ``deleted`` are the keys that the first patch deletes: an element of it with such a
    key is a new one, so what both patches make of it is known. With
    ``allow_duplicates`` two elements of one key may stand one behind the other; the
    head of this module explains when.
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
        """Put an element behind the others."""
        indexes = self._indexes.setdefault(key, [])
        indexes.append(len(self.elements))
        self.elements.append(element)

    def merge(self, element: JSONObject, key: ScalarKey) -> None:
        """Merge an element of the second patch into the last one of its key.

        Where the two do not reduce to one, put it behind the others.
        """
        indexes = self._indexes.get(key)
        if not indexes:
            self.add(element, key)
            return
        index = indexes[-1]
        present = self.elements[index]
        type_ = self._field.type.items
        if len(indexes) == 1 and key in self._deleted:
            # The element is new when the second patch meets it, so what both make of it
            # is known. But a $patch inside makes something where the list is there (the
            # element is merged) and nothing where it is not (it is stored whole).
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
        # One element has the effect of two only without $patch: live may lack the
        # element, and then it is stored as it stands, and no $patch is carried out.
        if _has_marker(present) or _has_marker(element) or _has_marker(composed):
            self.add(element, key)
        else:
            self.elements[index] = composed


def _depends_on_the_list() -> CompositionError:
    return CompositionError(
        "one patch may create this element and the next deletes part of it: the "
        "outcome depends on the list",
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
    known = [key for key in mentioned if key not in deleted or key in times]
    # The second patch finds the list in the order of the first one, and orders it as
    # ``arranged`` does any live list: by its directive, or by its own elements.
    wanted = later or [key for key in keys if key not in earlier]
    order: JSONArray = []
    for key in arranged(known, known, wanted, earlier):
        value: JSON = key[1] if isinstance(key, tuple) else key
        entry: JSON = {merge_key: value} if merge_key else value
        # Every element has to be in the directive: one for each of two with one key.
        order.extend([entry] * max(1, times[key]))
    return order


def _sorted(values: JSONArray, order: JSONArray | None, merge_key: str) -> JSONArray:
    """Sort values as an order directive has them; those of one key keep their order."""
    if order is None:
        return values
    keys = keys_of(values, merge_key)
    position = first_positions(keys_of(order, merge_key), set(keys))
    positions = [position[key] for key in keys]
    indexes = sorted(range(len(values)), key=positions.__getitem__)
    return [values[index] for index in indexes]
