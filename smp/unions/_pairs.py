"""Pairing the elements of a list with what they were: by key, never by index."""

from __future__ import annotations

from typing import TypeAlias

from smp.errors import SchemaError
from smp.paths import Path
from smp.schema.model import Field, ListType, ObjectType
from smp.values import JSON, Absent, ScalarKey, scalar_key

Value: TypeAlias = "JSON | Absent"
Key: TypeAlias = tuple[ScalarKey, ...]


def identity(known: Field) -> tuple[str, ...]:
    """Return the fields that identify an element of a list; none for an atomic list.

    Raises SchemaError where one of them belongs to a union: clearing it would make
    another element.
    """
    listed = known.type
    keys = (
        listed.map_keys
        if isinstance(listed, ListType) and listed.list_type == "map"
        else ()
    )
    keys = (known.merge_key,) if known.merges and known.merge_key else keys
    for union in listed.items.unions if isinstance(listed.items, ObjectType) else ():
        for key in {*union.names, union.discriminator}.intersection(keys):
            problem = f"the key {key!r} of this list belongs to a union of its elements"
            raise SchemaError(problem, code="invalid-union", path=Path((known.name,)))
    return keys


def key_of(element: JSON, keys: tuple[str, ...]) -> Key:
    """Return what identifies an element; the empty key where it lacks it."""
    if not isinstance(element, dict) or any(
        isinstance(element.get(key), dict | list | None) for key in keys
    ):
        return ()
    return tuple(scalar_key(element[key]) for key in keys)


def by_key(elements: Value, keys: tuple[str, ...]) -> dict[Key, JSON]:
    """Index elements; what has no key, or shares it, was not there as far as anybody
    can tell.
    """
    found: dict[Key, JSON] = {}
    shared: set[Key] = {()}
    for element in elements if keys and isinstance(elements, list) else []:
        key = key_of(element, keys)
        if key in found:
            shared.add(key)
        found[key] = element
    return {key: element for key, element in found.items() if key not in shared}
