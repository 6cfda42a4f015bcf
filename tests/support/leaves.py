"""Leaves of objects, each with its place: by what identifies elements, and by indices.

A leaf is a scalar, an empty value, or an element of an atomic list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from smp._strategic import elements_by_identity
from smp._values.values import JSON, JSONObject, as_object, printed
from smp.paths import Element, Path
from smp.schema.model import ANY_FIELD, Field, Type
from smp.schema.sides import identity_names


class Place(NamedTuple):
    """Where a leaf is: by what identifies its elements, and by their indices.

    It is vague below an element that lacks one of its keys, which a server refuses.
    ``keys`` identify the elements by their patch merge keys alone. That is open below
    an element that leaves out one of the other keys, and is the only one of its patch
    merge key: to a patch it is any element of this key.
    """

    identity: tuple[str, ...]
    steps: tuple[str | int, ...]
    keys: tuple[str, ...]
    is_null: bool = False
    is_empty: bool = False
    is_vague: bool = False
    is_open: bool = False

    def step(self, name: str, index: str | int, key: str = "") -> Place:
        """Return the place of a member, or of an element of an identity."""
        return self._replace(
            identity=(*self.identity, name),
            steps=(*self.steps, index),
            keys=(*self.keys, key or name),
        )


ROOT: Final = Place((), (), ())


def leaves(value: JSON, field: Field, at: Place = ROOT) -> Iterator[Place]:
    """Yield the place of each scalar, and of each element of an atomic list."""
    if not value and isinstance(value, dict | list):
        yield at._replace(is_empty=True)
    elif isinstance(value, dict):
        yield from leaves_of_object(value, field.type, at)
    elif isinstance(value, list) and field.merges and field.merge_key:
        by_identity = elements_by_identity(value, field)
        names = identity_names(field.type, field.merge_key)
        merge_keys = Counter(printed(as_object(each).get(names[0])) for each in value)
        for index, (identity, member) in enumerate(by_identity.items()):
            merge_key = printed(member.get(names[0]))
            below = at.step(f"[{identity}]", index, f"[{merge_key}]")
            is_partial = any(name not in member for name in names)
            below = below._replace(
                is_vague=at.is_vague or "NoneType" in str(identity),
                is_open=at.is_open or (is_partial and merge_keys[merge_key] == 1),
            )
            # A key may be left out, for its default.
            if not below.is_vague:
                for name in names:
                    yield below.step(name, name)
            yield from leaves_of_object(member, field.type.items, below)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            text = msgspec.json.encode(element, order="sorted").decode()
            # A patch has no nulls in new elements.
            has_null = "null" in text
            yield at.step(text, index)._replace(is_null=has_null)
    else:
        yield at._replace(is_null=value is None)


def leaves_of_object(
    value: JSONObject, type_: Type, at: Place = ROOT
) -> Iterator[Place]:
    """Yield the places of the leaves of an object."""
    for name, member in value.items():
        field = type_.field(name) or ANY_FIELD
        yield from leaves(member, field, at.step(name, name))


def lost_leaves(
    configurations: Iterable[JSONObject | None],
    live: JSONObject,
    result: JSONObject,
    type_: Type,
) -> list[Place]:
    """Return the leaves that only live has, and that the result does not have.

    What a configuration has in another form is replaced, and no such leaf.
    """
    known: set[tuple[str, ...]] = set()
    for obj in (*configurations, result):
        for place in leaves_of_object(obj or {}, type_):
            steps = place.identity
            known |= {steps[:n] for n in range(len(steps) + 1)}
    places = leaves_of_object(live, type_)
    return [
        place for place in places if place.identity not in known and not place.is_null
    ]


def indices(path: Path) -> tuple[str | int, ...]:
    """Return the steps of a path with elements by their indices."""
    steps: list[str | int] = []
    for step in path.steps:
        if isinstance(step, Element):
            steps.append(step.index)
        elif isinstance(step, (str, int)):
            steps.append(step)
    return tuple(steps)


def keys_of_path(path: Path) -> tuple[str, ...]:
    """Return the steps of a path with elements by their patch merge keys."""
    return tuple(
        f"[{printed(step.value)}]" if isinstance(step, Element) else str(step)
        for step in path.steps
    )


def under(place: Place, paths: set[tuple[str | int, ...]]) -> bool:
    """Tell whether a place is at or below one of the paths."""
    return any(place.steps[:n] in paths for n in range(len(place.steps) + 1))
