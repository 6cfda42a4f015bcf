"""Valid objects of built-in kinds, each changed in one place.

The valid objects are those of tests/data/validation/bases.yaml and of
tests/data/defaults/bases.yaml. A mutation is a path, and what becomes of the value
there: a new value, or ABSENT.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import smp
from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_object
from smp.documents import read
from smp.schema.model import ListType, ObjectType, ScalarType, Type
from tests.support.defaulted_manifests import BASES as WITH_DEFAULTS
from tests.support.paths import DATA
from tests.support.typed_objects import VERSION

BASES: Final = DATA / "validation" / "bases.yaml"
_LONG: Final = "x" * 300
_TEXTS: Final = ("Bad_Value!", "other", _LONG)
_ABSENT_TEXTS: Final = ("a", "Bad_Value!")
_INTEGERS: Final = (-1, 0, 1, 70000)
# Kinds whose metadata is mutated: what holds for metadata holds for all.
_WITH_METADATA: Final = frozenset({"ConfigMap", "Deployment", "Pod"})
_METADATA: Final[dict[str, tuple[JSON, ...]]] = {
    "labels": (
        {"bad key!": "v"},
        {"a": "bad value!"},
        {"UPPER.example.com/a": "b"},
        {"a": "x" * 64},
        {"x" * 64: "a"},
        {"a/b/c": "a"},
        {"": "a"},
        {"example.com/": "a"},
        {"example.com/a": ""},
    ),
    "annotations": (
        {"bad key!": "v"},
        {"UPPER.example.com/a": "b"},
        {"a": "bad value!"},
        {"a": "x" * 262_143},
        {"a": "x" * 262_144},
        {"a/b/c": "a"},
    ),
    "finalizers": (
        ["example.com/a"],
        ["a"],
        ["bad name!"],
        ["orphan", "foregroundDeletion"],
        ["example.com/a", "example.com/a"],
        ["kubernetes"],
    ),
    "ownerReferences": (
        [{}],
        [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}],
        [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "b"}],
        [{"apiVersion": "a/b/c", "kind": "Pod", "name": "a", "uid": "b"}],
        [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": ""}],
        [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": name,
                "uid": "b",
                "controller": True,
            }
            for name in ("a", "b")
        ],
    ),
    "namespace": ("Bad_Value!",),
}


class Mutation(NamedTuple):
    """What becomes of the value at a path."""

    path: tuple[str | int, ...]
    value: JSON | Absent


def bases() -> list[JSONObject]:
    """Return the valid objects; a server does not serve beta versions by itself."""
    found: list[JSONObject] = []
    for file in (BASES, WITH_DEFAULTS):
        for document in read(file.read_bytes(), source=str(file)):
            obj = as_object(document.value)
            if "beta" not in str(obj["apiVersion"]):
                found.append(obj)
    return found


def mutations(obj: JSONObject) -> list[Mutation]:
    """Return the mutations of a valid object."""
    schema = smp.kubernetes(VERSION).schema_of(obj)
    found = [*_mutated(obj, schema.type, (), top=True)]
    found.append(Mutation(("metadata", "finalizers"), ["a"]))
    found.append(Mutation(("metadata", "labels"), {"bad key!": "v"}))
    if obj["kind"] in _WITH_METADATA:
        for name, values in _METADATA.items():
            found += [Mutation(("metadata", name), value) for value in values]
    return found


def mutated(obj: JSONObject, mutation: Mutation) -> JSONObject:
    """Return an object with a mutation."""
    return as_object(_with(obj, list(mutation.path), mutation.value))


def _with(value: JSON, path: list[str | int], new: JSON | Absent) -> JSON | Absent:
    if not path:
        return new
    step, below = path[0], path[1:]
    if isinstance(value, list):
        at = int(step)
        after = _with(value[at] if at < len(value) else None, below, new)
        kept = [] if isinstance(after, Absent) else [after]
        return [*value[:at], *kept, *value[at + 1 :]]
    members = as_object(value)
    name = str(step)
    after = _with(members.get(name), below, new)
    others = {key: member for key, member in members.items() if key != name}
    if isinstance(after, Absent):
        return others
    return {**members, name: after}


def _mutated(
    value: JSON, type_: Type, path: tuple[str | int, ...], *, top: bool = False
) -> Iterator[Mutation]:
    """Yield the mutations of what an object or a list holds."""
    if isinstance(value, list):
        if value:
            yield Mutation((*path, len(value)), value[-1])
        for index, element in enumerate(value):
            yield from _of_value(element, type_.items, (*path, index))
    if not isinstance(value, dict) or not isinstance(type_, ObjectType):
        return
    if type_.others is not None and not type_.structured:
        yield Mutation((*path, "bad key!"), _like(value))
        yield Mutation((*path, "added"), _like(value))
        for name, member in value.items():
            yield Mutation((*path, name), ABSENT)
            yield from _of_value(member, type_.others.type, (*path, name))
        return
    for field in type_:
        if top and field.name in ("apiVersion", "kind", "metadata", "status"):
            continue
        at = (*path, field.name)
        if field.name in value:
            yield Mutation(at, ABSENT)
            yield from _of_value(value[field.name], field.type, at)
        elif isinstance(field.type, ScalarType):
            scalar = field.type.name
            if scalar == "integer":
                yield from (Mutation(at, number) for number in (-1, 0, 5))
            elif scalar == "boolean":
                yield Mutation(at, value=True)
            else:
                yield from (Mutation(at, text) for text in _ABSENT_TEXTS)
        elif isinstance(field.type, ListType):
            yield Mutation(at, [{}])
            yield Mutation(at, ["a"])
        else:
            yield Mutation(at, {})


def _like(members: JSONObject) -> JSON:
    for member in members.values():
        return member
    return "a"


def _of_value(
    value: JSON, type_: Type, path: tuple[str | int, ...]
) -> Iterator[Mutation]:
    """Yield the mutations of a value, and of what it holds."""
    if isinstance(value, bool):
        yield Mutation(path, not value)
    elif isinstance(value, int):
        yield from (Mutation(path, number) for number in _INTEGERS if number != value)
    elif isinstance(value, str):
        texts = ["", *_TEXTS]
        if value[:1].isdigit():
            texts += ["-1", "0", "1000Ti"]
        yield from (Mutation(path, text) for text in texts)
    elif isinstance(value, list):
        if value:
            yield Mutation(path, [])
        yield from _mutated(value, type_, path)
    elif isinstance(value, dict):
        if value:
            yield Mutation(path, {})
        yield from _mutated(value, type_, path)
