"""The merge of an applied configuration into an object (Go: typed.TypedValue.Merge).

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from operator import is_

from smp._values.sharing import share
from smp._values.steps import count_steps
from smp._values.values import JSON, JSONArray, JSONObject, as_object, check_depth
from smp.errors import SmpError, bounded
from smp.managed_fields._elements import step_of
from smp.managed_fields._shapes import LIST, MAP, Shape, path_elements, root_shape
from smp.schema.model import Schema


@bounded("the object")
def merge(live: JSONObject, applied: JSONObject, schema: Schema) -> JSONObject:
    """Return the object with all that the applied configuration has.

    Nothing is removed here. What does not change is shared with the live object, which
    is returned itself where nothing does. Raises UnknownFieldError and ObjectError
    (code no-path-element), with the path.
    """
    check_depth(applied)
    return as_object(_merge(live, applied, root_shape(schema, applied)))


def _merge(live: JSON, applied: JSON, shape: Shape) -> JSON:
    """Merge two values that both exist; either may be null. Go: mergingWalker.merge."""
    if live is applied:
        return live
    if shape.form == MAP and isinstance(live, dict) and live:
        # A null removes nothing: no item of the map is merged with anything.
        if applied is None:
            return live
        if isinstance(applied, dict):
            return _merge_maps(live, applied, shape)
    elif shape.form == LIST and isinstance(live, list) and live:
        if applied is None:
            return live
        if isinstance(applied, list):
            return _merge_lists(live, applied, shape)
    # What is replaced as a whole still shares what did not change.
    return share(applied, live)


def _merge_maps(live: JSONObject, applied: JSONObject, shape: Shape) -> JSONObject:
    changed: JSONObject = {}
    for name, value in applied.items():
        count_steps(1)
        if name not in live:
            changed[name] = value
            continue
        inner = shape.of_name(name, value)
        try:
            content = _merge(live[name], value, inner)
        except SmpError as error:
            raise error.within(name) from None
        if content is not live[name]:
            changed[name] = content
    return {**live, **changed} if changed else live


def _merge_lists(live: JSONArray, applied: JSONArray, shape: Shape) -> JSONArray:
    """Merge two lists of type set or map. Go: mergingWalker.visitListItems."""
    live_elements = path_elements(shape, live)
    applied_elements = path_elements(shape, applied)
    live_values: dict[str, JSON] = {}
    for element, value in zip(live_elements, live, strict=True):
        # Duplicates are not merged with the one element that replaces them.
        live_values[element] = None if element in live_values else value
    applied_values = dict(zip(applied_elements, applied, strict=True))

    def item(element: str) -> JSON:
        value = applied_values[element]
        if element not in live_values:
            return value
        try:
            return _merge(live_values[element], value, shape.of_element(value))
        except SmpError as error:
            raise error.within(step_of(element)) from None

    result: JSONArray = []
    for is_applied, index in merge_order(live_elements, applied_elements):
        if is_applied:
            result.append(item(applied_elements[index]))
        else:
            result.append(live[index])
    return live if len(result) == len(live) and all(map(is_, result, live)) else result


def merge_order(live: list[str], applied: list[str]) -> list[tuple[bool, int]]:
    """Return the order of a merged list: whether an element is applied, and its index.

    The lists have the path elements of both lists. Those of the applied one are in its
    order; those of live alone stay behind what they were behind, and those of the
    applied list come where it has them. Go: mergingWalker.visitListItems.
    """
    in_live, in_applied = set(live), set(applied)
    shared = iter([element for element in applied if element in in_live])
    next_shared = next(shared, None)
    order: list[tuple[bool, int]] = []
    done: set[str] = set()
    here = there = 0
    while here < len(live) or there < len(applied):
        if here < len(live):
            element = live[here]
            if element not in in_applied:
                order.append((False, here))
                here += 1
                continue
            if there < len(applied):
                if element == applied[there]:
                    here += 1
                elif next_shared is not None and element != next_shared:
                    # The applied list has it at another place.
                    here += 1
                    continue
                elif element in done:
                    here += 1
            else:
                # All that the applied list has is in the result.
                here += 1
        if there < len(applied):
            element = applied[there]
            done.add(element)
            order.append((True, there))
            there += 1
            if element == next_shared:
                next_shared = next(shared, None)
    return order
