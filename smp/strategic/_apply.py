"""Applying a strategic merge patch (Go: strategicpatch.StrategicMergeMapPatch).

``live`` is what the server has, ``patch`` what the client sent. Nothing is mutated;
what the patch does not touch is shared with ``live``.
"""

from __future__ import annotations

from typing import cast

import msgspec

from smp.errors import ObjectError, PatchError, SmpError
from smp.paths import Element, Path
from smp.schema.model import ANY_FIELD, Field, Type, unknown_field
from smp.strategic._directives import (
    DELETE,
    MARKER,
    REPLACE,
    PatchObject,
    check_order,
    cleaned,
    has_directives,
    is_marked,
    order_of,
    read_directives,
    read_list,
    retained_keys,
    unknown_marker,
)
from smp.strategic._ordering import (
    arranged,
    element_type,
    first_positions,
    keys_of,
)
from smp.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    scalar_key,
    type_name,
)


def apply_object(live: JSONObject, patch: JSONObject, schema: Type) -> JSONObject:
    """Apply one object of a patch to the live object."""
    if has_directives(patch):
        return _directed(live, read_directives(patch), patch, schema)
    result = live.copy()
    for name, value in patch.items():
        _apply_field(result, name, value, schema)
    return result


def _directed(
    live: JSONObject, asked: PatchObject, patch: JSONObject, schema: Type
) -> JSONObject:
    if asked.marker is not ABSENT:
        return _replaced(patch, asked.marker)
    result = _retained(live, asked)
    for name, order in asked.orders.items():
        try:
            _apply_ordered(result, asked, order, name, _declared(schema, name))
        except SmpError as error:
            raise error.within(name) from None
    for name, value in asked.fields.items():
        if not asked.orders or name not in asked.orders:  # mostly there are none
            _apply_field(result, name, value, schema)
    for name, values in asked.deletions.items():
        _delete_values(result, name, values, schema)
    return result


def _known(schema: Type, name: str) -> Field:
    field = schema.field(name)
    if field is None:
        raise unknown_field()
    return field


def _declared(schema: Type, name: str) -> Field:
    field = _known(schema, name)
    if field is schema.others and field is not ANY_FIELD:
        raise PatchError(
            "the values of a map have no order directives", code="invalid-element-order"
        )
    return field


def _replaced(patch: JSONObject, marker: JSON | Absent) -> JSONObject:
    if marker == DELETE:
        return {}
    if marker == REPLACE:
        whole = cleaned(patch)
        return whole if isinstance(whole, dict) else {}
    raise unknown_marker(marker)


def _retained(live: JSONObject, patch: PatchObject) -> JSONObject:
    result = live.copy()
    if patch.retained is not ABSENT:
        names = retained_keys(patch)
        for name in live:
            if name not in names:
                del result[name]
    return result


def _apply_field(result: JSONObject, name: str, value: JSON, schema: Type) -> None:
    if isinstance(value, (dict, list)):
        _apply_container(result, name, value, schema)
    elif value is None:
        result.pop(name, None)
    else:
        result[name] = value


def _apply_container(
    result: JSONObject, name: str, value: JSONObject | JSONArray, schema: Type
) -> None:
    live = result.get(name, ABSENT)
    if type(live) is type(value):
        try:
            result[name] = _merged(live, value, _known(schema, name))
        except SmpError as error:
            raise error.within(name) from None
    elif is_marked(value):
        result.pop(name, None)
    else:
        result[name] = cleaned(value, drop_marked=True)


def _merged(live: JSON | Absent, patch: JSONObject | JSONArray, field: Field) -> JSON:
    if isinstance(patch, dict) and isinstance(live, dict) and not field.replaces:
        return apply_object(live, patch, field.type)
    if isinstance(patch, list) and isinstance(live, list) and field.merges:
        return _merged_list(live, patch, field)
    return cleaned(patch)


def _delete_values(result: JSONObject, name: str, values: JSON, schema: Type) -> None:
    live = result.get(name, ABSENT)
    if isinstance(live, list) and isinstance(values, list):
        try:
            result[name] = _without_values(live, values, _known(schema, name))
        except SmpError as error:
            raise error.within(name) from None
    # the reference takes it for the field itself
    elif values is None or type(values) is type(live):
        _apply_field(result, name, values, schema)


def _without_values(live: JSONArray, values: JSONArray, field: Field) -> JSONArray:
    if element_type(live, values, error=PatchError) is dict:
        return _merged_list(live, values, field)
    gone = set(map(scalar_key, values))
    return [value for value in live if scalar_key(value) not in gone]


class _Merge(msgspec.Struct):
    """A merged list, not yet in order: its elements, and what the order is found from."""

    elements: JSONArray
    keys: list[ScalarKey]
    patched: list[ScalarKey]
    live: list[ScalarKey]  # what deletions left of the live list
    freed: int = 0  # how many elements were deleted
    replaced: bool = False  # whether the patch dropped what was there
    in_place: bool = False  # whether elements only changed, in their live order

    @property
    def slots(self) -> list[ScalarKey]:
        """The live list as an order directive sees it: new elements stand in the slots
        that deletions freed.
        """
        appended = self.keys[len(self.live) :]
        return self.live + appended[: self.freed]


def _merged_list(live: JSONArray, patch: JSONArray, field: Field) -> JSONArray:
    merge = _merge(live, patch, field)
    # twins are brought together
    if merge.in_place and len(set(merge.keys)) == len(merge.keys):
        return merge.elements
    return arranged(merge.elements, merge.keys, merge.patched, merge.live)


def _merge(live: JSONArray, patch: JSONArray, field: Field) -> _Merge:
    kind = element_type(live, patch, error=PatchError)
    if kind is dict:
        return _merge_objects(live, patch, field)
    if kind is not None and field.merge_key:
        raise PatchError(
            "scalars have no merge key",
            code="not-an-object",
            hint="the schema declares a list of objects",
        )
    return _merge_scalars(live, patch)


def _merge_scalars(live: JSONArray, patch: JSONArray) -> _Merge:
    values = {scalar_key(value): value for value in (*live, *patch)}
    return _Merge(
        list(values.values()),
        list(values),
        list(map(scalar_key, patch)),
        list(map(scalar_key, live)),
    )


def _merge_objects(live: JSONArray, patch: JSONArray, field: Field) -> _Merge:
    asked = read_list(patch, field.merge_key)
    if asked.replaces:
        whole = [cleaned(element) for element in asked.elements]
        return _Merge(whole, asked.keys, [], asked.keys, replaced=True)
    elements, keys = _without(live, keys_of(live, field.merge_key), asked.deleted)
    left = len(keys)
    places = first_positions(keys, set(asked.keys))
    last, in_place = -1, True
    merge_key, known = field.merge_key, field.type.items
    for element, key in zip(asked.elements, asked.keys):
        at = places.setdefault(key, len(keys))
        in_place = in_place and last < at < left
        last = at
        if at == len(keys):
            elements.append(cleaned(element))
            keys.append(key)
            continue
        try:
            elements[at] = merged = apply_object(
                cast("JSONObject", elements[at]), element, known
            )
            if merge_key not in merged:
                raise _keyless(merge_key)
        except SmpError as error:
            raise error.within(Element(at, merge_key, element[merge_key])) from None
    return _Merge(
        elements, keys, asked.keys, keys[:left], len(live) - left, in_place=in_place
    )


def _keyless(merge_key: str) -> PatchError:
    return PatchError(
        "a null cannot be a merge key",
        code="invalid-merge-key",
        path=Path((merge_key,)),
    )


def _without(
    elements: JSONArray, keys: list[ScalarKey], deleted: set[ScalarKey]
) -> tuple[JSONArray, list[ScalarKey]]:
    if not deleted:
        return list(elements), keys
    kept = [at for at, key in enumerate(keys) if key not in deleted]
    return [elements[at] for at in kept], [keys[at] for at in kept]


def _apply_ordered(
    result: JSONObject, patch: PatchObject, order: JSON, name: str, field: Field
) -> None:
    live, added = (
        _list_at(result, name, ObjectError),
        _list_at(patch.fields, name, PatchError),
    )
    if not isinstance(order, list):
        raise PatchError(
            f"the order directive is a list, not {type_name(order)}",
            code="invalid-element-order",
            hint=order_of(name),
        )
    check_order(added or [], order, field.merge_key)
    if live is None and added is None:
        return
    merge = _merge_ordered(live, added, field)
    if merge.replaced:  # and still the reference orders by every live element
        keys_of(live or [], field.merge_key)
    kind = element_type(live or [], added or [], error=PatchError)
    wanted = (
        keys_of(order, field.merge_key if kind is dict else "", PatchError)
        if kind is not None
        else []
    )
    result[name] = arranged(merge.elements, merge.keys, wanted, merge.slots)


def _merge_ordered(
    live: JSONArray | None, added: JSONArray | None, field: Field
) -> _Merge:
    if live is not None and added is not None and field.merges:
        return _merge(live, added, field)
    whole = cleaned(added, drop_marked=live is None) if added is not None else live
    elements = whole if isinstance(whole, list) else []
    return _Merge(
        elements,
        keys_of(elements, field.merge_key),
        [],
        keys_of(live or [], field.merge_key),
    )


def _list_at(
    members: JSONObject, name: str, error: type[ObjectError | PatchError]
) -> JSONArray | None:
    value = members.get(name, ABSENT)
    if value is ABSENT:
        return None
    if not isinstance(value, list):
        raise error(
            f"a list is expected beside {order_of(name)}, not {type_name(value)}",
            code="not-a-list",
        )
    return value
