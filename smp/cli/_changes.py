"""What differs between two objects, as a reader would say it: fields by path, list
elements by their key.

A generic differ pairs list elements by position, or by likeness; the schema knows
better.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from smp.paths import Element, Path
from smp.schema.model import OPAQUE, Field, ListType, Type
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same, scalar_key


class Change(msgspec.Struct, frozen=True):
    """A value that appeared, went (``ABSENT``) or changed; or the keys of a list in
    another order.
    """

    path: Path
    old: JSON | Absent
    new: JSON | Absent
    is_order: bool = False


def changes(
    old: JSONObject, new: JSONObject, known: Type, path: Path = Path()
) -> Iterator[Change]:
    """Yield the differences, in the order of the fields of old and then of new."""
    for name in {**old, **new}:
        yield from _of_value(
            old.get(name, ABSENT), new.get(name, ABSENT), known.field(name), path / name
        )


def _of_value(
    old: JSON | Absent, new: JSON | Absent, field: Field | None, path: Path
) -> Iterator[Change]:
    known = field.type if field else OPAQUE
    if same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from changes(old, new, known, path)
    elif (
        isinstance(old, list)
        and isinstance(new, list)
        and (key := _key(field, old, new))
    ):
        yield from _of_elements(old, new, key, known.items, path)
    else:
        yield Change(path, old, new)


def _of_elements(
    old: JSONArray, new: JSONArray, key: str, known: Type, path: Path
) -> Iterator[Change]:
    before, after = _by_key(old, key), _by_key(new, key)
    for identity in {**before, **after}:
        left, right = before.get(identity, ABSENT), after.get(identity, ABSENT)
        index, element = (before if right is ABSENT else after)[identity]
        step = path / Element(index, key, element[key])
        if left is ABSENT or right is ABSENT:
            yield Change(
                step,
                left if left is ABSENT else element,
                right if right is ABSENT else element,
            )
        else:
            yield from changes(left[1], element, known, step)
    stayed = [identity for identity in before if identity in after]
    if stayed != [identity for identity in after if identity in before]:
        yield Change(
            path,
            [e[key] for _, e in before.values()],
            [e[key] for _, e in after.values()],
            is_order=True,
        )


def _by_key(elements: JSONArray, key: str) -> dict[object, tuple[int, JSONObject]]:
    return {
        scalar_key(e[key]): (index, e)
        for index, e in enumerate(elements)
        if isinstance(e, dict)
    }


def _key(field: Field | None, *lists: JSONArray) -> str:
    """Return what names the elements of both lists without doubt, or the empty string."""
    for key in _candidates(field):
        if all(_identifies(key, elements) for elements in lists):
            return key
    return ""


def _candidates(field: Field | None) -> Iterator[str]:
    if field is not None and field.merge_key:
        yield field.merge_key
    if field is not None and isinstance(field.type, ListType):
        yield from field.type.map_keys


def _identifies(key: str, elements: JSONArray) -> bool:
    values = [e.get(key, ABSENT) if isinstance(e, dict) else ABSENT for e in elements]
    scalars = [
        scalar_key(value)
        for value in values
        if value is not ABSENT and not isinstance(value, dict | list)
    ]
    return len(set(scalars)) == len(elements)
