"""Valid objects of a schema: the right JSON types, unique merge keys, no null."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Final, TypeVar

from smp._values.values import JSON, JSONArray, JSONObject
from smp.schema.model import (
    AnyType,
    Field,
    ListType,
    ObjectType,
    ScalarType,
    Schema,
    Type,
)
from tests.support.makers.subjects import PODS, Subject, subjects

T = TypeVar("T")

DEEPEST: Final = 12
"""Below this depth objects stay empty and free-form data is a scalar."""

# The interesting part of a workload is drawn more often than other fields. Fields with
# a weight above 9 are also added to most objects that could have them.
FIELD_WEIGHTS: Final = {
    "spec": 20,
    "template": 20,
    "jobTemplate": 20,
    "containers": 12,
    "volumes": 8,
    "ports": 6,
    "env": 6,
}
_ALMOST_ALWAYS: Final = 9
NAMES: Final = ("a", "b", "c", "d", "e", "f")
_SCALARS: Final[dict[str, tuple[JSON, ...]]] = {
    "string": ("a", "b", "c", "", "80", "true", "\u00e9"),
    # Most are an int32 in Go.
    "integer": (0, 1, 2, 53, 80, 443, -1, 2**31 - 1),
    "number": (0.5, 1.5, -2.25),
    "boolean": (True, False),
    "int-or-string": (80, 443, "80", "25%"),
}


@cache
def _fields(type_: ObjectType) -> tuple[Field, ...]:
    return tuple(type_)


@cache
def _weights(type_: ObjectType) -> tuple[int, ...]:
    weights = []
    for field in _fields(type_):
        structured = isinstance(field.type, ObjectType | ListType)
        weights.append(FIELD_WEIGHTS.get(field.name, 3 if structured else 2))
    return tuple(weights)


class ObjectMaker:
    """Makes random objects from a seed.

    ``rate`` is how much a change changes, ``size`` about how many values an object has.
    ``keyless`` is how often a merge list of objects has elements although the schema
    declares no merge key for it, which every operation answers with an error.
    """

    def __init__(
        self, seed: int, *, rate: float = 0.25, size: int = 60, keyless: float = 0.1
    ) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.rate = rate
        self.keyless = keyless
        self._size = size
        # How many values may still be made; below zero lists and objects stay small.
        self._left = size

    def __repr__(self) -> str:
        return f"Maker({self.seed}, rate={self.rate}, size={self._size})"

    def subject(self) -> Subject:
        """Choose a schema: kinds with a pod and ``Every`` more often than others."""
        chosen = self.random.choice(subjects())
        if chosen.name in PODS or self._chance(0.7):
            return chosen
        return self.random.choice((*subjects(), subjects()[-1]))

    def object(self, schema: Schema) -> JSONObject:
        """Make a valid object."""
        self._left = self._size if schema.kind else self._size // 3
        result = self._object(schema.type, 0)
        if not schema.kind:
            return result
        metadata = result.get("metadata")
        named: JSONObject = {
            **(metadata if isinstance(metadata, dict) else {}),
            "name": "x",
        }
        return {
            "apiVersion": schema.api_version,
            "kind": schema.kind,
            **result,
            "metadata": named,
        }

    def field(self, field: Field) -> JSON:
        """Make a valid value of a field."""
        self._left = self._size // 6
        return self._field(field, DEEPEST - 4)

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _some(self, values: Sequence[T], most: int) -> list[T]:
        """Choose at most that many of some values."""
        count = min(len(values), self.random.randint(0, most))
        return self.random.sample(values, count)

    def _value(self, type_: Type, depth: int) -> JSON:
        self._left -= 1
        if isinstance(type_, ScalarType):
            return self.random.choice(type_.enum or _SCALARS[type_.name])
        if isinstance(type_, ListType):
            count = self.random.choice((0, 1, 1, 2, 3)) if self._left > 0 else 0
            return [self._value(type_.items, depth + 1) for _ in range(count)]
        if isinstance(type_, ObjectType):
            return self._object(type_, depth)
        return self._free_form(depth)

    def _object(self, type_: Type, depth: int) -> JSONObject:
        if not isinstance(type_, ObjectType):
            value = self._free_form(depth)
            return value if isinstance(value, dict) else {}
        result: JSONObject = {}
        for field in self._chosen_fields(type_, depth):
            result[field.name] = self._field(field, depth + 1)
        # A map, such as labels: members of any name.
        if type_.others is not None and not isinstance(type_.others.type, AnyType):
            for name in self._some(NAMES, 3):
                result[name] = self._value(type_.others.type, depth + 1)
        return result

    def _chosen_fields(self, type_: ObjectType, depth: int) -> list[Field]:
        fields = _fields(type_)
        if not fields or depth > DEEPEST:
            return []
        count = self.random.choice((0, 1, 2, 2, 3, 4)) if self._left > 0 else 1
        chosen = self.random.choices(fields, _weights(type_), k=count)
        for field in fields:
            weight = FIELD_WEIGHTS.get(field.name, 0)
            if weight > _ALMOST_ALWAYS and self._chance(0.75):
                chosen.append(field)
        if self._left <= 0:
            chosen = [field for field in chosen if isinstance(field.type, ScalarType)]
        return list(dict.fromkeys(chosen))

    def _field(self, field: Field, depth: int) -> JSON:
        if isinstance(field.type, ListType) and field.merges:
            return self._merge_list(field, depth)
        return self._value(field.type, depth)

    def _merge_list(self, field: Field, depth: int) -> JSONArray:
        count = self.random.choice((0, 1, 2, 2, 3, 4)) if self._left > 0 else 1
        if field.merge_key:
            keys = self._merge_keys(field, count)
            return [self._element(field, key, depth) for key in keys]
        items = field.type.items
        if not isinstance(items, ScalarType) and not self._chance(self.keyless):
            return []
        # The elements of a merge list of scalars are unique.
        unique: dict[str, JSON] = {}
        for _ in range(count):
            value = self._value(items, depth)
            unique[repr(value)] = value
        return [*unique.values()]

    def _merge_keys(self, field: Field, count: int) -> list[JSON]:
        key = field.type.items.field(field.merge_key)
        key_type = None if key is None else key.type
        pool: tuple[JSON, ...] = NAMES
        if isinstance(key_type, ScalarType) and key_type.name == "integer":
            pool = (53, 80, 443, 8080, 1)
        return self.random.sample(pool, min(count, len(pool)))

    def _element(self, field: Field, key: JSON, depth: int) -> JSONObject:
        return {**self._object(field.type.items, depth + 1), field.merge_key: key}

    def _free_form(self, depth: int) -> JSON:
        """Make a value for a field without a schema."""
        if depth > DEEPEST or self._chance(0.5):
            return self.random.choice(("a", "b", 1, 1.5, True))
        if self._chance(0.4):
            count = self.random.randint(0, 2)
            return [self._free_form(depth + 1) for _ in range(count)]
        names = self._some(NAMES, 2)
        return {name: self._free_form(depth + 1) for name in names}
