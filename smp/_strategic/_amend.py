"""Changing a patch so that it also makes what a server without unions would not.

A patch turns the live object into the *patched* one, and the normalization of unions
that one into the *result*. ``amend_patch`` adds to the patch what the normalization
did.

An example: a Probe whose handler changes from ``exec`` to ``httpGet``, which another
client had set. The patch only adds ``httpGet``, and the normalization clears ``exec``.

    live     {"exec": {"command": ["true"]}, "periodSeconds": 5}
    patch    {"httpGet": {"port": 80}}
    patched  {"exec": {"command": ["true"]}, "periodSeconds": 5,
              "httpGet": {"port": 80}}
    result   {"periodSeconds": 5, "httpGet": {"port": 80}}
    amended  {"httpGet": {"port": 80}, "exec": null}

The walk is by hand, as it builds a patch at each level.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from smp._strategic._directives import (
    MARKER,
    REPLACE,
    RETAIN_KEYS,
    deletions_from,
    is_marked,
    order_of,
)
from smp._strategic._ordering import plain_keys
from smp._values.values import (
    ABSENT,
    MAX_LEVELS,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    same,
)
from smp.schema.model import Field, Type


def amend_patch(
    patch: JSONObject,
    live: JSONObject,
    patched: JSONObject,
    result: JSONObject,
    type_: Type,
) -> JSONObject:
    """Return a patch that leads from the live object to the result.

    It is ``patch``, which leads to ``patched``, with what makes the difference. Raises
    RecursionError.
    """
    stages = Stages(patch, live, patched, result)
    return _object(stages, type_, MAX_LEVELS, retain_keys=False)


class Stages(msgspec.Struct, frozen=True):
    """An object in the patch, in live, after the patch, and after the normalization."""

    patch: JSONObject
    live: JSONObject
    patched: JSONObject
    result: JSONObject


def _object(
    stages: Stages, type_: Type, levels: int, *, retain_keys: bool
) -> JSONObject:
    if not levels:
        raise RecursionError
    result = stages.result
    if stages.patch.get(MARKER, ABSENT) is not ABSENT:
        # The patch has the whole object, or deletes all of it.
        return {MARKER: REPLACE, **result}
    amended = dict(stages.patch)
    for name in {**stages.patched, **result}:
        before, after = stages.patched.get(name, ABSENT), result.get(name, ABSENT)
        if same(before, after):
            continue
        # Whatever the patch says of the field is worded anew.
        part = amended.pop(name, ABSENT)
        order = amended.pop(order_of(name), ABSENT)
        amended.pop(deletions_from(name), None)
        was = stages.live.get(name, ABSENT)
        if after is ABSENT:
            if was is not ABSENT:
                amended[name] = None
            continue
        if same(was, after):
            continue
        field = type_.field(name)
        amended[name] = after
        if field is None or field.replaces:
            continue
        # A value that would merge into the live one replaces it, unless the part of the
        # patch for it can be amended.
        if isinstance(was, dict) and isinstance(after, dict):
            amended[name] = {MARKER: REPLACE, **after}
            if isinstance(before, dict) and (part is ABSENT or isinstance(part, dict)):
                inner = Stages(as_object(part), was, before, after)
                amended[name] = _object(
                    inner, field.type, levels - 1, retain_keys=field.retain_keys
                )
        elif isinstance(was, list) and isinstance(after, list) and field.merges:
            amended[name] = [{MARKER: REPLACE}, *after]
            is_ordered_only = part is ABSENT and order is not ABSENT
            if isinstance(before, list) and not is_ordered_only:
                elements = _elements(
                    as_list(part), was, before, after, field, levels - 1
                )
                if elements is not None:
                    amended[name] = elements
                    if order is not ABSENT:
                        amended[order_of(name)] = order
    if RETAIN_KEYS in amended or retain_keys:
        # A server clears what is not listed. There are nulls as well (Go: diffMaps).
        retained = [name for name, value in result.items() if value is not None]
        amended[RETAIN_KEYS] = [*sorted(retained)]
    return amended


def _elements(
    patch: JSONArray,
    live: JSONArray,
    patched: JSONArray,
    result: JSONArray,
    field: Field,
    levels: int,
) -> JSONArray | None:
    """Return the elements of a patch for a merge list; None to replace all of it.

    A patch names an element by its merge key. That is not enough where several have one
    key. An element that the patch did not have would need a place in its order.
    """
    merge_key = field.merge_key
    live_keys = plain_keys(live, merge_key)
    keys = plain_keys(result, merge_key)
    patch_keys = plain_keys(patch, merge_key)
    if live_keys is None or keys is None or patch_keys is None:
        return None
    if len(patched) != len(result):
        return None
    repeated = {
        key
        for some in (live_keys, keys, patch_keys)
        for key, times in Counter(some).items()
        if times > 1
    }
    live_places = {key: index for index, key in enumerate(live_keys)}
    patch_places = {key: index for index, key in enumerate(patch_keys)}
    amended = patch.copy()
    for index, key in enumerate(keys):
        before, after = patched[index], result[index]
        if same(before, after):
            continue
        if key in repeated or (patch and key not in patch_places):
            return None
        at = patch_places.get(key, len(amended))
        part = as_object(patch[at]) if patch else {}
        if is_marked(part):
            return None
        if key not in live_places:
            amended[at] = after
            continue
        of_live = as_object(live[live_places[key]])
        inner = Stages(part, of_live, as_object(before), as_object(after))
        element = _object(
            inner, field.type.items, levels - 1, retain_keys=field.retain_keys
        )
        amended[at : at + 1] = [{**element, merge_key: as_object(after)[merge_key]}]
    return amended
