"""Chains of patches with what the patches of ``makers`` lack.

These are scalars that a list repeats, ``$patch`` inside elements and lists, elements
without their merge key, several elements with one key, and directives in objects that
the live object lacks.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from smp._strategic import apply_patch
from smp._values.values import ABSENT, JSON, Absent, JSONArray, JSONObject
from smp.errors import SmpError
from smp.schema.model import Field, ObjectType, Schema, Type
from tests.support.makers import Maker

_RATE = 0.3


class WideChain(NamedTuple):
    """Two to five patches, and the objects to try them on."""

    schema: Schema
    objects: tuple[JSONObject, ...]
    patches: tuple[JSONObject, ...]


def wide_chain(seed: int) -> WideChain:
    """Make a chain of patches for an object, or for what became of it."""
    maker = Maker(seed, size=24, keyless=0)
    schema = maker.subject().schema
    random = maker.random
    live = maker.object(schema)
    current = live
    patches: list[JSONObject] = []
    for _ in range(random.choice((2, 2, 2, 3, 3, 4, 5))):
        target = random.choice((live, current, maker.changed(live, schema)))
        patch = maker.patch(target, schema)
        if patches and random.random() < _RATE:
            patch = _mixed(patches[-1], patch, random)
        if random.random() < 0.8:
            patch = _widened(patch, schema.type, random)
        patches.append(patch)
        try:
            current = apply_patch(current, patch, schema)
        except SmpError:
            continue
    empty: JSONObject = {}
    objects = (
        live,
        maker.changed(live, schema),
        maker.object(schema),
        _pruned(live, random),
        empty,
    )
    return WideChain(schema, objects, tuple(patches))


def _mixed(first: JSONObject, second: JSONObject, random: Random) -> JSONObject:
    """Return a patch with something of two patches, so that it meets the first."""
    mixed: JSONObject = {}
    for name in {**first, **second}:
        a, b = first.get(name, ABSENT), second.get(name, ABSENT)
        if isinstance(a, dict) and isinstance(b, dict):
            mixed[name] = _mixed(a, b, random)
        else:
            candidates = [value for value in (a, b) if not isinstance(value, Absent)]
            mixed[name] = random.choice(candidates)
    return mixed


def _widened(patch: JSONObject, type_: Type, random: Random) -> JSONObject:
    result: JSONObject = {}
    for name, value in patch.items():
        field = type_.field(name)
        if name.startswith("$") or field is None:
            result.setdefault(name, value)
        elif isinstance(value, dict):
            result[name] = _widened(value, field.type, random)
        elif isinstance(value, list):
            ordered = f"$setElementOrder/{name}"
            elements = _widened_list(value, field, random, ordered=ordered in patch)
            result[name] = elements
            if ordered in patch and not field.merge_key:
                result[ordered] = elements
        elif value is None and random.random() < _RATE:
            result[name] = {"$patch": random.choice(("replace", "delete"))}
        else:
            result[name] = value
    if random.random() < _RATE / 3:
        result["$patch"] = random.choice(("replace", "delete"))
    if random.random() < _RATE / 4 and isinstance(type_, ObjectType):
        scalars = [field for field in type_ if field.merges and not field.merge_key]
        if scalars:
            name = random.choice(scalars).name
            result[f"$deleteFromPrimitiveList/{name}"] = ["a", "x"]
            if random.random() < _RATE:
                result.setdefault(name, ["a", "a", "b"])
    return result


def _widened_list(
    elements: JSONArray, field: Field, random: Random, *, ordered: bool
) -> JSONArray:
    items = field.type.items
    wide: JSONArray = [
        _widened(element, items, random) if isinstance(element, dict) else element
        for element in elements
    ]
    draw = random.random()
    place = random.randint(0, len(wide))
    if not field.merge_key:
        if wide and draw < _RATE:
            wide.insert(place, random.choice(wide))
    elif draw < _RATE / 3:
        wide.insert(place, {"$patch": "replace"})
    elif wide and draw < _RATE / 2:
        wide.append(_deletion_of(random.choice(wide), field.merge_key))
    elif wide and draw < _RATE * 0.6 and not ordered:
        wide.append(random.choice(wide))
    elif draw < _RATE * 0.65:
        wide.append({"$retainKeys": []})
    return wide


def _deletion_of(element: JSON, merge_key: str) -> JSONObject:
    key = element.get(merge_key) if isinstance(element, dict) else None
    return {"$patch": "delete", merge_key: "a" if key is None else key}


def _pruned(value: JSONObject, random: Random, depth: int = 0) -> JSONObject:
    """Drop members, mostly deep ones: parents of what patches name are absent."""
    result: JSONObject = {}
    for name, member in value.items():
        if random.random() < 0.05 + 0.07 * depth:
            continue
        if isinstance(member, dict):
            result[name] = _pruned(member, random, depth + 1)
        else:
            result[name] = member
    return result


def is_granted(patch: JSONObject, live: JSON | Absent, type_: Type) -> bool:
    """Tell whether what composing takes for granted holds for a patch of an object.

    The lists that the patch orders exist, and so do the elements that it names
    (docs/deviations.md, "What composing takes for granted").
    """
    members = live if isinstance(live, dict) else {}
    if patch.get("$patch") is not None:
        return True
    for name, value in patch.items():
        if name.startswith("$"):
            directive, _, target = name.partition("/")
            is_order = directive == "$setElementOrder"
            if is_order and not isinstance(members.get(target), list):
                return False
            continue
        field = type_.field(name)
        if field is None or field.replaces:
            continue
        member = members.get(name, ABSENT)
        if isinstance(value, dict):
            if not is_granted(value, member, field.type):
                return False
        elif isinstance(value, list) and not _elements_are_granted(
            value, member, field
        ):
            return False
    return True


def _elements_are_granted(
    elements: JSONArray, live: JSON | Absent, field: Field
) -> bool:
    if not field.merges or not field.merge_key:
        return True
    by_key: dict[str, JSON] = {}
    for element in live if isinstance(live, list) else []:
        if isinstance(element, dict):
            by_key.setdefault(repr(element.get(field.merge_key)), element)
    patches = [element for element in elements if isinstance(element, dict)]
    if any(patch.get("$patch") == "replace" for patch in patches):
        return True
    for patch in patches:
        if "$patch" in patch:
            continue
        key = repr(patch.get(field.merge_key))
        if key not in by_key or not is_granted(patch, by_key[key], field.type.items):
            return False
    return True
