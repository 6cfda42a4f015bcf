"""What differs between two objects: fields by path, list elements by their key.

A generic differ pairs list elements by position, or by likeness; the schema knows the
key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from smp._values.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same
from smp.cli._renames import alike, leaves_of
from smp.paths import Element, KeyedElement, Path, Step
from smp.schema.model import OPAQUE, Type
from smp.schema.walk import Key, find_identifying_keys, identifies, key_of

_ROOT: Final = Path()


class ValueChange(msgspec.Struct, frozen=True):
    """A value that was added, removed or changed; the missing side is ``ABSENT``.

    With ``is_order`` the sides are the keys of a list, which has another order now;
    with ``is_rename`` they are a key of one element, which had the other before.
    """

    path: Path
    old: JSON | Absent
    new: JSON | Absent
    is_order: bool = False
    is_rename: bool = False


def changes(
    old: JSONObject,
    new: JSONObject,
    type_: Type,
    path: Path = _ROOT,
    *,
    renames: bool = True,
) -> Iterator[ValueChange]:
    """Yield the differences, in the order of their names.

    With ``renames``, an element that is removed and one that is added are one element
    where they are alike but for the key.
    """
    for name in sorted({**old, **new}):
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        if same(before, after):
            continue
        field = type_.field(name)
        field_type = field.type if field else OPAQUE
        if isinstance(before, dict) and isinstance(after, dict):
            yield from changes(before, after, field_type, path / name, renames=renames)
            continue
        if field and isinstance(before, list) and isinstance(after, list):
            keys = find_identifying_keys(field.type, field, before, after)
            if keys:
                yield from _element_changes(
                    before, after, keys, field_type.items, path / name, renames=renames
                )
                continue
        yield ValueChange(path / name, before, after)


def _element_changes(
    old: JSONArray,
    new: JSONArray,
    keys: tuple[str, ...],
    type_: Type,
    path: Path,
    *,
    renames: bool,
) -> Iterator[ValueChange]:
    before, after = _by_key(old, keys), _by_key(new, keys)
    former = _rename_fields(before, after, keys) if renames else {}
    is_former = set(former.values())
    shown = _choose_shown_keys(old, new, keys)
    for key in {**before, **after}:
        # What it is called now is reported instead.
        if key in is_former:
            continue
        # A removed element has its index in old, any other its index in new.
        index, element = after[key] if key in after else before[key]
        element_path = path / _step_to(index, element, shown)
        old_key = former.get(key, key)
        if old_key not in before:
            yield ValueChange(element_path, ABSENT, element)
        elif key not in after:
            yield ValueChange(element_path, element, ABSENT)
        else:
            _old_index, old_element = before[old_key]
            renamed = {element_path / name for name in keys} if key in former else set()
            for change in changes(
                old_element, element, type_, element_path, renames=renames
            ):
                if change.path in renamed:
                    yield msgspec.structs.replace(change, is_rename=True)
                else:
                    yield change

    # Added and removed elements are reported above; only the others can be reordered.
    old_order = [key for key in before if key in after]
    new_order = [key for key in after if key in before]
    if old_order != new_order:
        old_keys, new_keys = (
            [_shown_key(element, shown) for _, element in elements.values()]
            for elements in (before, after)
        )
        yield ValueChange(path, old_keys, new_keys, is_order=True)


def _choose_shown_keys(
    old: JSONArray, new: JSONArray, keys: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the keys by which readers tell the elements: one that is enough alone."""
    for name in keys:
        if identifies(old, (name,)) and identifies(new, (name,)):
            return (name,)
    return keys


def _step_to(index: int, element: JSONObject, names: tuple[str, ...]) -> Step:
    """Return the step into an element that some of its fields tell from the others."""
    if len(names) == 1:
        return Element(index, names[0], element[names[0]])
    keys = [(name, element[name]) for name in sorted(names) if name in element]
    return KeyedElement(tuple(keys))


def _shown_key(element: JSONObject, names: tuple[str, ...]) -> JSON:
    """Return what tells an element from the others: a value, or several by name."""
    if len(names) == 1:
        return element[names[0]]
    return {name: element[name] for name in sorted(names) if name in element}


def _rename_fields(
    before: dict[Key, tuple[int, JSONObject]],
    after: dict[Key, tuple[int, JSONObject]],
    keys: tuple[str, ...],
) -> dict[Key, Key]:
    """Return by the key of an added element that of the removed one that it was."""
    removed = {key: before[key] for key in before if key not in after}
    added = {key: after[key] for key in after if key not in before}
    if not removed or not added:
        return {}
    sides = []
    for elements in (removed, added):
        leaves = {}
        for key, (_index, element) in elements.items():
            rest = {name: element[name] for name in element if name not in keys}
            leaves[key] = leaves_of(rest)
        sides.append(leaves)
    return alike(*sides)


def _by_key(
    elements: JSONArray, keys: tuple[str, ...]
) -> dict[Key, tuple[int, JSONObject]]:
    """Return index and element by key; every element is an object that has the key."""
    return {
        key_of(element, keys): (index, element)
        for index, element in enumerate(elements)
        if isinstance(element, dict)
    }
