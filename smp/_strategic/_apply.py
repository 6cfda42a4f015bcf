"""Applying a strategic merge patch (Go: strategicpatch.StrategicMergeMapPatch).

``live`` is what the server has, ``patch`` what the client sent. Neither is mutated.
Each merged object starts as a shallow copy of the live one, and everything that the
patch does not touch is shared with ``live``.

The steps for one object are those of Go's mergeMap, in its order: ``$patch``,
``$retainKeys``, lists with ``$setElementOrder``, all other fields. Go visits the last
group in random order; here ``$deleteFromPrimitiveList`` is last
(docs/deviations.md, 2). The walk is by hand, as it builds an object at each level, and
as most of what it passes by is not decoded.
"""

from __future__ import annotations

from typing import cast

from smp._strategic._directives import (
    DELETE,
    MARKER,
    REPLACE,
    PatchObject,
    check_order,
    check_retained,
    clean,
    has_directives,
    is_marked,
    order_of,
    read_directives,
    read_list,
    retain_keys,
    unknown_marker,
)
from smp._strategic._ordering import arrange, element_type, first_positions, keys_of
from smp._values.raw import RawJSON
from smp._values.steps import count_steps
from smp._values.values import (
    ABSENT,
    JSON,
    SCALAR_TYPES,
    Absent,
    JSONArray,
    JSONObject,
    NotPlainError,
    ScalarKey,
    as_list,
    as_object,
    require_plain,
    scalar_key,
    type_name,
)
from smp.errors import ObjectError, PatchError, SmpError
from smp.paths import Element, Path
from smp.schema.model import ANY_FIELD, OPAQUE, Field, Type, unknown_field


def apply_object(live: JSONObject, patch: JSONObject, type_: Type) -> JSONObject:
    """Apply one object of a patch to the live object.

    Raises PatchError for a malformed patch, ObjectError for a live object that cannot
    be merged into, UnknownFieldError for a field to be merged that the type lacks. Go:
    strategicpatch.mergeMap.
    """
    count_steps(len(patch))
    if not has_directives(patch):
        result = live.copy()
        for name, value in patch.items():
            _apply_field(result, name, value, type_)
        return result
    parts = read_directives(patch)
    # Go: handleDirectiveInMergeMap.
    if parts.marker is not ABSENT:
        if parts.marker == DELETE:
            # "don't merge it, just return an empty map": the object is not removed.
            check_retained(patch, type_)
            return {}
        if parts.marker == REPLACE:
            # Go: handleDirectiveInMergeMap deletes the marker from the patch.
            whole = {name: patch[name] for name in patch if name != MARKER}
            return as_object(clean(whole, type_))
        raise unknown_marker(parts.marker)
    result = live.copy()
    # Go: applyRetainKeysDirective, "clear not present fields".
    if parts.retained is not ABSENT:
        names = retain_keys(parts)
        for name in live:
            if name not in names:
                del result[name]
    # Go: mergePatchIntoOriginal. Lists with an order directive are merged here, and
    # left out below.
    for name, order in parts.orders.items():
        try:
            _apply_ordered_list(result, parts, order, name, type_)
        except SmpError as error:
            raise error.within(name) from None
    for name, value in parts.fields.items():
        if name not in parts.orders:
            _apply_field(result, name, value, type_)
    for name, values in parts.deletions.items():
        _delete_values(result, name, values, type_)
    return result


def _find_known_field(type_: Type, name: str) -> Field:
    field = type_.field(name)
    if field is None:
        raise unknown_field()
    return field


def _apply_field(result: JSONObject, name: str, value: JSON, type_: Type) -> None:
    """Apply one field of a patch to the result. Go: the loop of mergeMap."""
    if not isinstance(value, (dict, list)):
        # Go: "If the value of this key is null, delete the key".
        if value is None:
            result.pop(name, None)
        else:
            if type(value) is not str:
                _require_scalar(value, result.get(name, ABSENT))
            result[name] = value
        return
    live = result.get(name, ABSENT)
    try:
        if type(live) is not type(value):
            require_plain(live)
            require_plain(value)
            # Go: "If it's not in the original document, just take the patch value",
            # also if the types differ. removeDirectives drops an object with a $patch.
            added = type_.field(name)
            added_type = OPAQUE if added is None else added.type
            if is_marked(value):
                check_retained(value, added_type)
                result.pop(name, None)
            else:
                result[name] = clean(value, added_type, drop_marked=True)
            return
        field = _find_known_field(type_, name)
        if isinstance(live, dict) and isinstance(value, dict) and not field.replaces:
            # Go: mergeMapHandler.
            result[name] = apply_object(live, value, field.type)
        elif isinstance(live, list) and isinstance(value, list) and field.merges:
            # Go: mergeSliceHandler.
            result[name] = _merge_list(live, value, field)
        else:
            # The strategy replace, or an atomic list: the value of the patch replaces.
            result[name] = clean(value, field.type)
    except SmpError as error:
        raise error.within(name) from None


def _require_scalar(value: JSON, live: JSON | Absent) -> None:
    """Raise NotPlainError for a value of a patch that is no plain scalar.

    A value that ``smp.wire`` left undecoded is one only where live lacks the field.
    """
    if type(value) not in SCALAR_TYPES and (
        type(value) is not RawJSON or live is not ABSENT
    ):
        raise NotPlainError


def _delete_values(result: JSONObject, name: str, values: JSON, type_: Type) -> None:
    """Carry out ``$deleteFromPrimitiveList`` for one list."""
    live = result.get(name, ABSENT)
    if not isinstance(live, list) or not isinstance(values, list):
        # Go strips the prefix from the key and continues as for the field itself
        # (preprocessDeletionListForMerging): null removes the field, and a value of the
        # type that live has is applied to it. Anything else is skipped.
        require_plain(live)
        require_plain(values)
        if values is None or type(values) is type(live):
            _apply_field(result, name, values, type_)
        return
    try:
        field = _find_known_field(type_, name)
        if element_type(live, values, error=PatchError) is dict:
            # Go: mergeSlice looks at isDeleteList for scalars only.
            result[name] = _merge_list(live, values, field)
            return
    except SmpError as error:
        raise error.within(name) from None
    # Go: deleteFromSlice.
    deleted = {scalar_key(value) for value in values}
    result[name] = [value for value in live if scalar_key(value) not in deleted]


class _MergedList:
    """A merged list before it is put in order, with what determines the order.

    ``elements`` have the ``keys``, ``patch_keys`` are those of the patch in its order.
    ``live_keys`` are those of the live elements that were not deleted; these elements
    are the first ones in ``elements``. ``deleted`` is the number of deleted elements.
    ``replaced``: the patch dropped the live list. ``in_place``: the patch changed live
    elements in their live order, and added none.
    """

    __slots__ = (
        "deleted",
        "elements",
        "in_place",
        "keys",
        "live_keys",
        "patch_keys",
        "replaced",
    )

    def __init__(
        self,
        elements: JSONArray,
        keys: list[ScalarKey],
        patch_keys: list[ScalarKey],
        live_keys: list[ScalarKey],
    ) -> None:
        self.elements = elements
        self.keys = keys
        self.patch_keys = patch_keys
        self.live_keys = live_keys
        self.deleted = 0
        self.replaced = False
        self.in_place = False


def _merge_list(live: JSONArray, patch: JSONArray, field: Field) -> JSONArray:
    """Merge a list of a patch without an order directive. Go: mergeSlice."""
    merged = _merge(live, patch, field)
    # The order stays, unless several elements have one key: those become neighbours.
    if merged.in_place and len(set(merged.keys)) == len(merged.keys):
        return merged.elements
    return arrange(merged.elements, merged.keys, merged.patch_keys, merged.live_keys)


def _merge(live: JSONArray, patch: JSONArray, field: Field) -> _MergedList:
    json_type = element_type(live, patch, error=PatchError)
    if json_type is dict:
        return _merge_objects(live, patch, field)
    if json_type is not None and field.merge_key:
        raise PatchError(
            "scalars have no merge key",
            code="not-an-object",
            hint="the schema declares a list of objects",
        )
    # Go: append(original, patch...), then deduplicateScalars.
    values: dict[ScalarKey, JSON] = {}
    for value in live:
        values[scalar_key(value)] = value
    for value in patch:
        values[scalar_key(value)] = value
    return _MergedList(
        list(values.values()),
        list(values),
        [scalar_key(value) for value in patch],
        [scalar_key(value) for value in live],
    )


def _merge_objects(live: JSONArray, patch: JSONArray, field: Field) -> _MergedList:
    merge_key = field.merge_key
    parts = read_list(patch, field)
    type_ = field.type.items
    if parts.replaces:
        # Go: mergeSliceWithSpecialElements. The elements of the patch become the live
        # list, so their order counts as the live order.
        whole: JSONArray = []
        for index, element in enumerate(parts.elements):
            try:
                whole.append(clean(element, type_))
            except SmpError as error:
                step = Element(index, merge_key, element[merge_key])
                raise error.within(step) from None
        merged = _MergedList(whole, parts.keys, [], parts.keys)
        merged.replaced = True
        return merged
    live_keys = keys_of(live, merge_key)
    elements = live.copy()
    # Go: deleteMatchingEntries deletes every element with such a key.
    if parts.deleted:
        kept = [
            index for index, key in enumerate(live_keys) if key not in parts.deleted
        ]
        elements = [live[index] for index in kept]
        live_keys = [live_keys[index] for index in kept]
    # Go: mergeSliceWithoutSpecialElements. An element merges into the first one with
    # its key, which may be one that was appended before, or else is appended.
    keys = live_keys.copy()
    positions = first_positions(keys, set(parts.keys))
    last = -1
    in_place = True
    for element, key in zip(parts.elements, parts.keys):
        position = positions.setdefault(key, len(keys))
        if not last < position < len(live_keys):
            in_place = False
        last = position
        try:
            if position == len(keys):
                elements.append(clean(element, type_))
                keys.append(key)
                continue
            target = cast("JSONObject", elements[position])
            changed = apply_object(target, element, type_)
            if merge_key not in changed:
                raise PatchError(
                    "a null cannot be a merge key",
                    code="invalid-merge-key",
                    path=Path((merge_key,)),
                )
        except SmpError as error:
            step = Element(position, merge_key, element[merge_key])
            raise error.within(step) from None
        elements[position] = changed
    merged = _MergedList(elements, keys, parts.keys, live_keys)
    merged.deleted = len(live) - len(live_keys)
    merged.in_place = in_place
    return merged


def _apply_ordered_list(
    result: JSONObject, patch: PatchObject, order: JSON, name: str, type_: Type
) -> None:
    """Merge a list that has an order directive. Go: mergePatchIntoOriginal."""
    field = _find_known_field(type_, name)
    if field is type_.others and field is not ANY_FIELD:
        raise PatchError(
            "the values of a map have no order directives", code="invalid-element-order"
        )
    merge_key = field.merge_key
    live = _list_at(result, name, ObjectError)
    added = _list_at(patch.fields, name, PatchError)
    if not isinstance(order, list):
        require_plain(order)
        raise PatchError(
            f"the order directive is a list, not {type_name(order)}",
            code="invalid-element-order",
            hint=order_of(name),
        )
    check_order(added or [], order, merge_key)
    if live is None and added is None:
        return
    live_elements, added_elements = live or [], added or []
    if live is not None and added is not None and field.merges:
        merged = _merge(live, added, field)
    else:
        if added is None:
            elements = live_elements
        else:
            # Go: "list was added" and removeDirectives; or an atomic list, which is
            # replaced.
            elements = as_list(clean(added, field.type, drop_marked=live is None))
        keys = keys_of(elements, merge_key)
        merged = _MergedList(elements, keys, [], keys_of(live_elements, merge_key))
    if merged.replaced:
        # Go orders by the elements of the live list even if the patch replaced it, so
        # that one without its merge key is an error (validateMergeKeyInLists).
        keys_of(live_elements, merge_key)
    json_type = element_type(live_elements, added_elements, error=PatchError)
    wanted: list[ScalarKey] = []
    if json_type is not None:
        wanted = keys_of(order, merge_key if json_type is dict else "", PatchError)
    # Go takes the live order from the slice of the live object, at its old length. By
    # then deleteMatchingEntries has moved the remaining elements to its front, and
    # append has filled the freed slots with new elements: those count as live elements.
    appended = merged.keys[len(merged.live_keys) :]
    live_keys = merged.live_keys + appended[: merged.deleted]
    result[name] = arrange(merged.elements, merged.keys, wanted, live_keys)


def _list_at(
    members: JSONObject, name: str, error: type[ObjectError | PatchError]
) -> JSONArray | None:
    value = members.get(name, ABSENT)
    if value is ABSENT:
        return None
    if not isinstance(value, list):
        require_plain(value)
        raise error(
            f"a list is expected with {order_of(name)}, not {type_name(value)}",
            code="not-a-list",
        )
    return value
