"""What an apply loses because a patch merge key stands for several elements.

A patch identifies the elements of a merge list by the patch merge key alone. An API
server identifies some of them by more map keys, such as the ports 53/TCP and 53/UDP. A
patch for one then changes or deletes another. kubectl sends that patch, so it stays as
it is; this module finds what is lost by it.

Lost is what live has, what neither the last-applied nor the modified configuration has,
and what the result does not have any more. Only elements are looked at whose merge key
stands for several elements; ``Diff.ambiguous`` tells whether there may be any.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from smp.paths import Element, Path
from smp.schema.model import Field, Schema, Type
from smp.strategic._ordering import (
    Occurrence,
    identities_of,
    keys_of,
    keys_of_identity,
    numbered,
)
from smp.values import (
    ABSENT,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    as_object,
    printed,
    same,
    scalar_key,
)

# What identifies each element of a list, its merge key, and the element.
_Elements: TypeAlias = "dict[Occurrence, tuple[ScalarKey, JSONObject]]"


class Loss(msgspec.Struct, frozen=True):
    """What is lost of one element of the live object.

    ``element`` names the element by the keys that a patch does not go by; ``fields``
    are the paths of what is lost, and empty where all of the element is.
    """

    path: Path
    element: str
    fields: tuple[str, ...]

    @property
    def message(self) -> str:
        """A sentence on what is lost, and why."""
        lost = f"loses {', '.join(self.fields)}" if self.fields else "is lost"
        return (
            "the patch merge key stands for several elements here: the live element "
            f"{self.element} {lost}"
        )


class _Sides(msgspec.Struct, frozen=True):
    """One object as live, the two configurations and the result have it."""

    live: JSONObject
    base: JSONObject
    modified: JSONObject
    result: JSONObject

    def member(self, name: str) -> _Sides:
        """Return a member that is an object on all sides; absent ones are empty."""
        return _Sides(
            as_object(self.live.get(name)),
            as_object(self.base.get(name)),
            as_object(self.modified.get(name)),
            as_object(self.result.get(name)),
        )

    def dropped(self, name: str) -> bool:
        """Tell whether the user removed a member from the configuration.

        What others added to it goes as well, whatever the merge keys.
        """
        return name in self.base and name not in self.modified


def losses(
    last_applied: JSONObject,
    modified: JSONObject,
    live: JSONObject,
    result: JSONObject,
    schema: Schema,
) -> list[Loss]:
    """Return what an apply loses for ambiguous merge keys, in the order of live.

    Raises RecursionError.
    """
    search = _Search()
    search.object(_Sides(live, last_applied, modified, result), schema.type, Path())
    return search.losses


class _Search:
    """The walk along the live object that finds losses."""

    def __init__(self) -> None:
        self.losses: list[Loss] = []

    def object(self, sides: _Sides, type_: Type, path: Path) -> None:
        """Look for ambiguous merge keys in an object that no ambiguous key is above."""
        for name, value in sides.live.items():
            field = type_.field(name)
            if field is None or sides.dropped(name):
                continue
            if isinstance(value, dict):
                if isinstance(sides.result.get(name), dict):
                    self.object(sides.member(name), field.type, path / name)
            elif field.merges and field.merge_key and name in sides.result:
                lists = [
                    as_list(side.get(name))
                    for side in (sides.live, sides.base, sides.modified, sides.result)
                ]
                self.merge_list(lists, field, path / name)

    def merge_list(self, lists: list[JSONArray], field: Field, path: Path) -> None:
        """Look at the elements of a merge list."""
        by_identity = [_by_identity(elements, field) for elements in lists]
        # The merge keys that stand for several elements of one or several lists.
        ambiguous: set[ScalarKey] = set()
        identity_of_key: dict[ScalarKey, Occurrence] = {}
        for side in by_identity:
            for identity, (key, _) in side.items():
                if identity_of_key.setdefault(key, identity) != identity:
                    ambiguous.add(key)
        for index, (identity, (key, element)) in enumerate(by_identity[0].items()):
            here = path / Element(index, field.merge_key, element[field.merge_key])
            sides = _of_element(by_identity, identity, field)
            if sides is None:
                continue
            if key not in ambiguous:
                self.object(sides, field.type.items, here)
            elif sides.result or sides.modified:
                fields = _lost_fields(sides, field.type.items, "")
                if fields:
                    name = _name(element, field)
                    self.losses.append(Loss(here, name, tuple(fields)))
            else:
                self.losses.append(Loss(here, _name(element, field), ()))


def _of_element(
    by_identity: list[_Elements], identity: Occurrence, field: Field
) -> _Sides | None:
    """Return an element of live on all sides; None if the user removed it."""
    live, base, modified, result = (
        elements[identity][1] if identity in elements else {}
        for elements in by_identity
    )
    if base and not modified:
        return None
    # The keys are the same on all sides, but for one that is absent, and so is its
    # default.
    keys = keys_of_identity(field)
    fields = {name: value for name, value in live.items() if name not in keys}
    return _Sides(fields, base, modified, result)


def _by_identity(elements: JSONArray, field: Field) -> _Elements:
    """Map what identifies an element to its merge key and the element.

    Elements of the same merge key and map keys are numbered.
    """
    identities = numbered(identities_of(elements, field))
    keys = keys_of(elements, field.merge_key)
    by_identity: _Elements = {}
    for identity, key, element in zip(identities, keys, elements):
        by_identity[identity] = (key, as_object(element))
    return by_identity


def _lost_fields(sides: _Sides, type_: Type, prefix: str) -> list[str]:
    """Return the paths of what is lost of an object, relative to its element."""
    lost: list[str] = []
    for name, value in sides.live.items():
        if sides.dropped(name):
            continue
        path = f"{prefix}{name}"
        field = type_.field(name)
        if isinstance(value, dict):
            below = type_ if field is None else field.type
            lost += _lost_fields(sides.member(name), below, f"{path}.")
        elif isinstance(value, list) and field is not None and field.merges:
            if _loses_elements(sides, name, field):
                lost.append(path)
        elif name in sides.base or name in sides.modified:
            continue
        elif not same(sides.result.get(name, ABSENT), value):
            # A scalar or an atomic list that others set.
            lost.append(path)
    return lost


def _loses_elements(sides: _Sides, name: str, field: Field) -> bool:
    """Tell whether anything in a merge list of an element is lost."""
    live, base, modified, result = (
        as_list(side.get(name))
        for side in (sides.live, sides.base, sides.modified, sides.result)
    )
    if not field.merge_key:
        known = {scalar_key(value) for value in (*base, *modified, *result)}
        return any(scalar_key(value) not in known for value in live)
    by_identity = [
        _by_identity(elements, field) for elements in (live, base, modified, result)
    ]
    for identity in by_identity[0]:
        inner = _of_element(by_identity, identity, field)
        if inner is None:
            continue
        if not inner.modified and not inner.result:
            return True
        if _lost_fields(inner, field.type.items, ""):
            return True
    return False


def _name(element: JSONObject, field: Field) -> str:
    """Name an element by its map keys and its name: ``protocol=UDP, name=dns``."""
    names = [*keys_of_identity(field), "name"]
    parts: list[str] = []
    for name in dict.fromkeys(names):
        value = element.get(name)
        if value is not None:
            parts.append(f"{name}={printed(value)}")
    return ", ".join(parts)
