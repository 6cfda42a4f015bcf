"""Merging two computed patches into one, exactly as Go's three-way patch does.

Go computes deletions and additions in two passes, and merges the additions into the
deletions: mergeMap with MergeParallelList and IgnoreUnmatchedNulls both false. Where
merge keys are unique the one walk of ``Diff`` writes the same patch directly. Where a
list repeats a key the merge shows: all additions to elements of one key go into the
first element of that key among the deletions, be it one that deletes.

Not for patches in general, which ``compose_patches`` composes. The walk is by hand, as
it builds a patch at each level.
"""

from __future__ import annotations

from smp._strategic._directives import (
    DELETE,
    MARKER,
    RETAIN_KEYS,
    deletions_from,
    is_in_order,
    order_of,
    read_directives,
    retain_keys,
)
from smp._strategic._ordering import arrange, first_positions, keys_of
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    as_object,
    same,
)
from smp.errors import PatchError
from smp.schema.model import Field, Type


class UnmergeableError(Exception):
    """Go fails to merge the two patches, as they contradict each other."""


def merge_list(
    first: JSONArray, second: JSONArray, wanted: list[ScalarKey], field: Field
) -> JSONArray:
    """Merge the second list of a patch into the first one, and put both in order.

    ``wanted`` are the keys of the order directive. Raises UnmergeableError. Go:
    mergeSlice, mergePatchIntoOriginal.
    """
    merge_key = field.merge_key
    first_keys = keys_of(first, merge_key)
    elements, keys = first.copy(), first_keys.copy()
    positions = first_positions(keys, set(keys))
    second_keys = keys_of(second, merge_key)
    for element, key in zip(second, second_keys):
        position = positions.setdefault(key, len(keys))
        if position == len(keys):
            elements.append(element)
            keys.append(key)
        elif merge_key:
            elements[position] = merge_patch(
                as_object(elements[position]), as_object(element), field.type.items
            )
    deletions: set[int] = set()
    for index, element in enumerate(elements):
        if isinstance(element, dict) and element.get(MARKER) == DELETE:
            deletions.add(index)
    # Go orders what it merges twice, and the places of elements that delete depend on
    # both.
    order = list(range(len(elements)))
    for patched in (second_keys, wanted) if second else (wanted,):
        order = arrange(
            order,
            [keys[index] for index in order],
            patched,
            first_keys,
            frozenset(
                [place for place, index in enumerate(order) if index in deletions]
            ),
        )
    return [elements[index] for index in order]


def merge_patch(first: JSONObject, second: JSONObject, type_: Type) -> JSONObject:
    """Merge the second patch into the first one.

    Raises UnmergeableError. Go: mergeMap.
    """
    if MARKER in second:
        raise UnmergeableError
    merged = first.copy()
    parts = read_directives(second)
    # Go: applyRetainKeysDirective, "make sure the retainKeys directives are the same in
    # both patches if present in both".
    retained = parts.retained
    if not isinstance(retained, Absent):
        merged.setdefault(RETAIN_KEYS, retained)
        if not same(merged[RETAIN_KEYS], retained):
            raise UnmergeableError
    # Go: mergePatchIntoOriginal, "checks they are equal".
    for name, order in parts.orders.items():
        directive = order_of(name)
        merged.setdefault(directive, order)
        if not same(merged[directive], order):
            raise UnmergeableError
        field = type_.field(name)
        if field is None:
            raise UnmergeableError
        wanted = keys_of(as_list(order), field.merge_key)
        added = as_list(parts.fields.get(name, ABSENT))
        # Go: validatePatchWithSetOrderList.
        if not is_in_order(added, wanted, field.merge_key):
            raise UnmergeableError
        if name in first:
            merged[name] = merge_list(as_list(first[name]), added, wanted, field)
        elif name in second:
            merged[name] = added
    for name, value in parts.fields.items():
        if name not in parts.orders:
            present = first.get(name, ABSENT)
            merged[name] = _merge_field(present, value, type_.field(name))
    # Go: preprocessDeletionListForMerging.
    for name, values in parts.deletions.items():
        merged[deletions_from(name)] = values
    check_directives(merged, type_)
    return merged


def check_directives(merged: JSONObject, type_: Type) -> None:
    """Raise UnmergeableError for an object whose directives contradict its fields.

    Go makes such a patch of two elements of one key, and a server rejects it.
    """
    parts = read_directives(merged)
    for name, order in parts.orders.items():
        field = type_.field(name)
        if field is not None:
            wanted = keys_of(as_list(order), field.merge_key)
            elements = as_list(parts.fields.get(name, ABSENT))
            if not is_in_order(elements, wanted, field.merge_key):
                raise UnmergeableError
    if parts.retained is not ABSENT:
        try:
            retain_keys(parts)
        except PatchError:
            raise UnmergeableError from None


def _merge_field(first: JSON | Absent, second: JSON, field: Field | None) -> JSON:
    if not isinstance(second, (dict, list)) or type(first) is not type(second):
        return second
    if field is None:
        raise UnmergeableError
    if isinstance(first, dict) and isinstance(second, dict) and not field.replaces:
        # Go: mergeMapHandler.
        return merge_patch(first, second, field.type)
    if isinstance(first, list) and isinstance(second, list) and field.merges:
        # Go: mergeSliceHandler; without an order directive the second list is in order.
        return merge_list(first, second, keys_of(second, field.merge_key), field)
    return second
