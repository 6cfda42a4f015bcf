"""Computing a strategic merge patch from three objects in one walk.

``base`` is the last-applied configuration, ``live`` the live object, ``modified`` the
desired one. Additions and changes are what modified has and live has not; deletions are
what base had and modified has no longer. A two-way patch is the case in which base and
live are one object. (Go: strategicpatch.diffMaps, run twice and merged by
CreateThreeWayMergePatch.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, TypeVar

from smp.errors import SmpError
from smp.paths import Element
from smp.schema.model import Field, Type, unknown_field
from smp.strategic._directives import (
    RETAIN_KEYS,
    delete_element,
    deletions_from,
    order_of,
)
from smp.strategic._ordering import aligned, element_type, keys_of, numbered, plain_keys
from smp.values import (
    ABSENT,
    JSON,
    LEVELS,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    printed,
    same,
    scalar_key,
    share_equal,
)

T = TypeVar("T")
Value: TypeAlias = "JSON | Absent"
Three: TypeAlias = tuple[T, T, T]  # of the last-applied, the live and the modified side


class Diff:
    """The walk; ``orders=False`` leaves out order directives, as the detection of
    conflicts wants it.

    Of three values that meet, those that equal the modified one are replaced by it, so
    that identity tells all the way down what there is nothing to do about: equal values
    are compared once and not looked into. An object of declared fields is not compared:
    to walk it comes to the same, and what differs is within.
    """

    def __init__(self, *, orders: bool = True) -> None:
        self._orders = orders
        self._levels = LEVELS

    def objects(
        self,
        base: JSONObject,
        live: JSONObject,
        modified: JSONObject,
        schema: Type,
        *,
        retain: bool = False,
    ) -> JSONObject:
        """Return the patch for one object; empty where there is nothing to do.

        ``retain`` says that the object's own field has the retainKeys strategy.
        """
        self._levels -= 1
        if not self._levels:
            raise RecursionError
        patch: JSONObject = {}
        kept = 0  # names that live has as well
        for name, value in modified.items():
            now = live.get(name, ABSENT)
            kept += now is not ABSENT
            kind = type(value)
            if kind is dict or kind is list:
                try:
                    self._container(
                        patch,
                        name,
                        (base.get(name, ABSENT), now, value),
                        schema.field(name),
                    )
                except SmpError as error:
                    raise error.within(name) from None
            elif now is not value and (type(now) is not kind or now != value):
                patch[name] = value
        if base is not modified and (base is not live or len(live) > kept):
            for name in base:
                if name not in modified:
                    patch[name] = None
        if retain and (patch or (len(live) > kept and _has_more(live, modified))):
            retained = sorted(
                name for name, value in modified.items() if value is not None
            )
            patch.update({RETAIN_KEYS: [*retained]} if retained else {})
        self._levels += 1
        return patch

    def _container(
        self,
        patch: JSONObject,
        name: str,
        values: tuple[Value, Value, JSON],
        field: Field | None,
    ) -> None:
        before, now, value = values
        kind = type(value)
        if kind is list or field is None or field.replaces or not field.type.structured:
            before, now = _share_equal(before, now, value)
        if now is value and (before is value or not before or type(before) is not kind):
            return
        if type(now) is not kind and type(before) is not kind:
            patch[name] = value
        elif field is None:
            if type(now) is kind or before is not value:
                raise unknown_field()
            patch[name] = value
        elif isinstance(value, dict) and not field.replaces:
            child = self._members(
                before, now, value, field.type, retain=field.retain_keys
            )
            if child is not ABSENT:
                patch[name] = child
        elif isinstance(value, list) and field.merges:
            patch.update(self._lists(name, as_list(before), now, value, field))
        elif now is not value:
            patch[name] = value

    def _members(
        self,
        before: Value,
        now: Value,
        value: JSONObject,
        schema: Type,
        *,
        retain: bool,
    ) -> JSONObject | Absent:
        """Return the patch for an object that is there, the whole of one that is not,
        or ABSENT.
        """
        base = before if isinstance(before, dict) else {}
        if isinstance(now, dict):
            return self.objects(base, now, value, schema, retain=retain) or ABSENT
        # nothing was deleted
        if not self.objects(base, value, value, schema, retain=retain):
            return value
        return self.objects(base, {}, value, schema, retain=retain)

    def _lists(
        self, name: str, base: JSONArray, now: Value, value: JSONArray, field: Field
    ) -> JSONObject:
        """Return the patch for a merge list: the list itself and the directives that
        stand beside it.
        """
        live = as_list(now)
        kept = base is value and not isinstance(now, list)
        known = live or (
            not kept and base and self._elements(name, base, value, value, field)
        )
        patch = self._elements(name, base, live, value, field) if known else {}
        if not isinstance(now, list):
            return {name: value, **patch}
        return patch if known or not value else {name: value}

    def _elements(
        self,
        name: str,
        base: JSONArray,
        live: JSONArray,
        value: JSONArray,
        field: Field,
    ) -> JSONObject:
        merge_key = field.merge_key
        keys = plain_keys(value, merge_key)
        base_keys = keys if base is value else plain_keys(base, merge_key)
        live_keys = (
            keys
            if live is value
            else base_keys
            if live is base
            else plain_keys(live, merge_key)
        )
        # then all are objects
        if keys is not None and base_keys is not None and live_keys is not None:
            return self._by_key(
                name, (base, live, value), (base_keys, live_keys, keys), field
            )
        kind = element_type(base or live, value)
        if live and live is not value and element_type(live, value) is not kind:
            live = _of_no_account(live, merge_key)
        if kind is not dict:
            return self._scalars(name, base, live, value)
        lists = base, live, value
        found = [keys_of(elements, merge_key) for elements in (value, base, live)]
        return self._by_key(name, lists, (found[1], found[2], found[0]), field)

    def _by_key(
        self,
        name: str,
        lists: Three[JSONArray],
        keys_of_each: Three[list[ScalarKey]],
        field: Field,
    ) -> JSONObject:
        base, live, value = lists
        base_keys, live_keys, keys = keys_of_each
        merge_key, known = field.merge_key, field.type.items
        befores, gone = aligned(base, base_keys, keys)
        befores = share_equal(befores, value)
        nows = (
            befores
            if live is base
            else share_equal(aligned(live, live_keys, keys)[0], value)
        )
        merged: JSONArray = []
        for index, element in enumerate(value):
            before, now = befores[index], nows[index]
            if now is not element or (before is not element and before is not ABSENT):
                try:
                    self._element(merged, (before, now, element), field, known)
                except SmpError as error:
                    raise error.within(
                        Element(index, merge_key, _at(element, merge_key))
                    ) from None
        merged += _deletions(gone, merge_key)
        order: JSONArray = []
        if merged or live_keys != keys:
            order = [{merge_key: _at(element, merge_key)} for element in value]
        return self._parallel(name, merged, order)

    def _element(
        self, merged: JSONArray, values: Three[Value], field: Field, known: Type
    ) -> None:
        before, now, element = values
        if not isinstance(element, dict):
            return
        patch = self._members(before, now, element, known, retain=field.retain_keys)
        if isinstance(patch, dict):
            if patch is not element:
                patch[field.merge_key] = element[field.merge_key]
            merged.append(patch)

    def _scalars(
        self, name: str, base: JSONArray, live: JSONArray, value: JSONArray
    ) -> JSONObject:
        added, removed = (
            _surplus(value, live),
            {scalar_key(gone): gone for gone in _surplus(base, value)},
        )
        changed = removed or (live and not same(live, value))
        patch = self._parallel(name, added, value if changed else [])
        deletions = sorted(removed.values(), key=printed)
        return {deletions_from(name): [*deletions], **patch} if deletions else patch

    def _parallel(self, name: str, elements: JSONArray, order: JSONArray) -> JSONObject:
        patch: JSONObject = {order_of(name): order} if order and self._orders else {}
        return {**patch, name: elements} if elements else patch


def _share_equal(before: Value, now: Value, value: JSON) -> tuple[Value, Value]:
    """Return the value itself in place of what equals it."""
    if now is value or same(now, value):
        return value if before is now or same(before, value) else before, value
    return value if before is not now and (
        before is value or same(before, value)
    ) else before, now


def _of_no_account(live: JSONArray, merge_key: str) -> JSONArray:
    """Check a live list of another type: modified is empty, so there is nothing to add,
    whatever stands there.
    """
    if isinstance(live[0], dict):
        keys_of(live, merge_key)
    return []


def _has_more(live: JSONObject, modified: JSONObject) -> bool:
    for name, value in live.items():
        if value is not None and name not in modified:
            return True
    return False


def _deletions(left: Iterable[JSON], merge_key: str) -> JSONArray:
    values = sorted((_at(element, merge_key) for element in left), key=printed)
    return [delete_element(merge_key, value) for value in values]


def _at(element: JSON, merge_key: str) -> JSON:
    return element[merge_key] if isinstance(element, dict) else None


def _surplus(elements: JSONArray, others: JSONArray) -> JSONArray:
    """Return the scalars that one list has more often than another, in their order."""
    left = set(numbered(keys_of(others, "")))
    return [
        value
        for value, key in zip(elements, numbered(keys_of(elements, "")), strict=True)
        if key not in left
    ]
