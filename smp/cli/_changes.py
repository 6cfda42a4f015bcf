"""What differs between two objects: fields by path, list elements by their key.

A generic differ pairs list elements by position, or by likeness; the schema knows the
key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from smp.paths import Element, Path
from smp.schema.model import OPAQUE, Field, ListType, Type
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same, scalar_key

_ROOT: Final = Path()


class Change(msgspec.Struct, frozen=True):
    """A value that was added, removed or changed; the missing side is ``ABSENT``.

    With ``is_order`` the sides are the keys of a list, which has another order now.
    """

    path: Path
    old: JSON | Absent
    new: JSON | Absent
    is_order: bool = False


def changes(
    old: JSONObject, new: JSONObject, type_: Type, path: Path = _ROOT
) -> Iterator[Change]:
    """Yield the differences, in the order of the fields of old and then of new."""
    for name in {**old, **new}:
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        if same(before, after):
            continue
        field = type_.field(name)
        field_type = field.type if field else OPAQUE
        if isinstance(before, dict) and isinstance(after, dict):
            yield from changes(before, after, field_type, path / name)
            continue
        if isinstance(before, list) and isinstance(after, list):
            key = _pairing_key(field, before, after)
            if key:
                yield from _element_changes(
                    before, after, key, field_type.items, path / name
                )
                continue
        yield Change(path / name, before, after)


def _element_changes(
    old: JSONArray, new: JSONArray, key: str, type_: Type, path: Path
) -> Iterator[Change]:
    before, after = _by_key(old, key), _by_key(new, key)
    for identity in {**before, **after}:
        # An element that is left has its index in new, one that is gone that in old.
        index, element = after[identity] if identity in after else before[identity]
        element_path = path / Element(index, key, element[key])
        if identity not in before:
            yield Change(element_path, ABSENT, element)
        elif identity not in after:
            yield Change(element_path, element, ABSENT)
        else:
            _old_index, old_element = before[identity]
            yield from changes(old_element, element, type_, element_path)

    # Added and removed elements are reported above; only the others can be reordered.
    old_order = [identity for identity in before if identity in after]
    new_order = [identity for identity in after if identity in before]
    if old_order != new_order:
        old_keys = [element[key] for _, element in before.values()]
        new_keys = [element[key] for _, element in after.values()]
        yield Change(path, old_keys, new_keys, is_order=True)


# Which element of a list is which: by the first key that all elements have and no two
# share, else the list is compared as a whole.


def _pairing_key(field: Field | None, *lists: JSONArray) -> str:
    """Return the key that identifies the elements of all lists, or the empty string."""
    if field is None:
        return ""
    candidates = [field.merge_key] if field.merge_key else []
    if isinstance(field.type, ListType):
        candidates += field.type.map_keys
    for key in candidates:
        if all(_identifies(key, elements) for elements in lists):
            return key
    return ""


def _identifies(key: str, elements: JSONArray) -> bool:
    values = set()
    for element in elements:
        value = element.get(key, ABSENT) if isinstance(element, dict) else ABSENT
        if value is ABSENT or isinstance(value, dict | list):
            return False
        values.add(scalar_key(value))
    return len(values) == len(elements)


def _by_key(elements: JSONArray, key: str) -> dict[object, tuple[int, JSONObject]]:
    """Return index and element by key; every element is an object that has the key."""
    return {
        scalar_key(element[key]): (index, element)
        for index, element in enumerate(elements)
        if isinstance(element, dict)
    }
