"""Random Kubernetes objects, what happens to them, and patches for them, made from the
real schemas.

``Maker`` makes everything from one integer, a thousand times faster than composed
Hypothesis strategies; the strategies at the end seed one. Values come from small pools,
so that what is made twice meets: equal names, equal ports, equal strings."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Final, NamedTuple, TypeAlias, TypeVar

from hypothesis import strategies as st

from smp.schema.catalog import kubernetes
from smp.schema.model import (
    AnyType,
    Field,
    ListType,
    ObjectType,
    ScalarType,
    Schema,
    Type,
)
from smp.schema.sources.openapi import inline
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same

T = TypeVar("T")
Value: TypeAlias = "JSON | Absent"

KINDS: Final = (
    *(
        ("apps/v1", kind)
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
    ),
    *(("batch/v1", kind) for kind in ("Job", "CronJob")),
    *(
        ("v1", kind)
        for kind in (
            "Pod",
            "Service",
            "Node",
            "ConfigMap",
            "Secret",
            "PersistentVolume",
            "ServiceAccount",
        )
    ),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("networking.k8s.io/v1", "Ingress"),
    ("certificates.k8s.io/v1", "CertificateSigningRequest"),
)
PODS: Final = {
    "Pod",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Job",
    "CronJob",
}

# Where the interesting part of a workload is: it is made more often than anything else.
_HOT: Final = {
    "spec": 20,
    "template": 20,
    "jobTemplate": 20,
    "containers": 12,
    "volumes": 8,
    "ports": 6,
    "env": 6,
}
_NAMES: Final = ("a", "b", "c", "d", "e", "f")
_POOLS: Final[dict[str, tuple[JSON, ...]]] = {
    "string": ("a", "b", "c", "", "80", "true", "\u00e9"),
    "integer": (0, 1, 2, 53, 80, 443, -1, 2**53 + 1),
    "number": (0.5, 1.5, -2.25),
    "boolean": (True, False),
    "int-or-string": (80, 443, "80", "25%"),
}
_ODD: Final[tuple[JSON, ...]] = (
    None,
    True,
    0,
    1,
    1.0,
    1.5,
    "",
    "a",
    [],
    {},
    [[]],
    [None],
    {"a": None},
    {"$patch": "x"},
)
_DEEPEST: Final = 12


def _every_strategy() -> JSONObject:
    """Describe a type with a field for every strategy of every shape, each of them
    again of this type.
    """
    itself: JSONObject = {"$ref": "#/components/schemas/Every"}
    scalar: JSONObject = {"type": "string"}

    def field(shape: JSON, strategy: str = "", key: str = "") -> JSON:
        node: JSONObject = (
            {"allOf": [itself]}
            if shape is itself
            else {"type": "array", "items": shape}
        )
        facets = {
            "x-kubernetes-patch-strategy": strategy,
            "x-kubernetes-patch-merge-key": key,
        }
        return {**node, **{name: value for name, value in facets.items() if value}}

    properties: JSONObject = {
        "name": scalar,
        "port": {"type": "integer"},
        "value": scalar,
        "labels": {"type": "object", "additionalProperties": scalar},
        "kept": field(itself, "retainKeys"),
        "whole": field(itself, "replace"),
        "wholeKept": field(itself, "replace,retainKeys"),
        "child": field(itself),
        "named": field({"allOf": [itself]}, "merge", "name"),
        "numbered": field({"allOf": [itself]}, "merge", "port"),
        "namedKept": field({"allOf": [itself]}, "merge,retainKeys", "name"),
        "replaced": field({"allOf": [itself]}, "replace", "name"),
        "atomic": field({"allOf": [itself]}),
        "tags": field(scalar, "merge"),
        "counts": field({"type": "integer"}, "merge"),
        "words": field(scalar),
        "newWords": field(scalar, "replace"),
        "keyless": field({"allOf": [itself]}, "merge"),
    }
    return {"Every": {"type": "object", "properties": properties}}


EVERY: Final = _every_strategy()


class Subject(NamedTuple):
    """A schema and what the reference calls it."""

    name: str
    schema: Schema
    reference: JSONObject


@cache
def subjects() -> tuple[Subject, ...]:
    """Return the kinds under test, and one made-up type with all strategies."""
    catalog = kubernetes()
    real = [
        Subject(kind, catalog.schema(api, kind), {"kind": f"{api} {kind}"})
        for api, kind in KINDS
    ]
    every = inline(
        {"$ref": "#/components/schemas/Every", "components": {"schemas": EVERY}}
    )
    lookup: JSONObject = {
        "lookup": "openapi",
        "definitions_name": "every",
        "root": "Every",
    }
    return (*real, Subject("Every", every, lookup))


class Triple(NamedTuple):
    """The three objects of ``kubectl apply``."""

    last_applied: JSONObject | None
    modified: JSONObject
    live: JSONObject


@cache
def _fields(schema: ObjectType) -> tuple[Field, ...]:
    return tuple(schema)


@cache
def _weights(schema: ObjectType) -> tuple[int, ...]:
    structured = (ObjectType, ListType)
    return tuple(
        _HOT.get(f.name, 3 if isinstance(f.type, structured) else 2)
        for f in _fields(schema)
    )


def _fields_named(schema: Type, names: Sequence[str]) -> list[Field]:
    return [field for field in map(schema.field, names) if field is not None]


class Maker:
    """Makes random values.

    ``rate`` is how much a change changes, ``size`` how many values an object has,
    ``keyless`` how often a merge list of objects has elements although the schema gives
    them no key, which is always an error."""

    def __init__(
        self, seed: int, *, rate: float = 0.25, size: int = 60, keyless: float = 0.1
    ) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.rate = rate
        self.keyless = keyless
        self._size = size
        self._left = size

    def __repr__(self) -> str:
        return f"Maker({self.seed}, rate={self.rate}, size={self._size})"

    # Valid objects

    def subject(self) -> Subject:
        """Choose a schema; those with a pod, and the one with all strategies, more
        often.
        """
        chosen = self.random.choice(subjects())
        return (
            chosen
            if chosen.name in PODS or self._chance(0.7)
            else self.random.choice((*subjects(), subjects()[-1]))
        )

    def object(self, schema: Schema) -> JSONObject:
        """Make a valid object: the right JSON types, unique merge keys, no null."""
        self._left = self._size if schema.kind else self._size // 3
        made = self._object(schema.type, 0)
        if not schema.kind:
            return made
        metadata = made.get("metadata")
        named: JSONObject = {
            **(metadata if isinstance(metadata, dict) else {}),
            "name": "x",
        }
        return {
            "apiVersion": schema.api_version,
            "kind": schema.kind,
            **made,
            "metadata": named,
        }

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _some(self, values: Sequence[T], most: int) -> list[T]:
        return self.random.sample(
            values, min(len(values), self.random.randint(0, most))
        )

    def _value(self, schema: Type, depth: int) -> JSON:
        self._left -= 1
        if isinstance(schema, ScalarType):
            return self.random.choice(schema.enum or _POOLS[schema.name])
        if isinstance(schema, ListType):
            count = self.random.choice((0, 1, 1, 2, 3)) if self._left > 0 else 0
            return [self._value(schema.items, depth + 1) for _ in range(count)]
        return (
            self._object(schema, depth)
            if isinstance(schema, ObjectType)
            else self._free(depth)
        )

    def _object(self, schema: Type, depth: int) -> JSONObject:
        if not isinstance(schema, ObjectType):
            free = self._free(depth)
            return free if isinstance(free, dict) else {}
        made = {
            field.name: self._field(field, depth + 1)
            for field in self._chosen(schema, depth)
        }
        if schema.others is not None and not isinstance(schema.others.type, AnyType):
            names = self._some(_NAMES, 3)
            made.update(
                (name, self._value(schema.others.type, depth + 1)) for name in names
            )
        return made

    def _chosen(self, schema: ObjectType, depth: int) -> list[Field]:
        fields = _fields(schema)
        if not fields or depth > _DEEPEST:
            return []
        count = self.random.choice((0, 1, 2, 2, 3, 4)) if self._left > 0 else 1
        chosen = self.random.choices(fields, _weights(schema), k=count)
        chosen += [
            field
            for field in fields
            if _HOT.get(field.name, 0) > 9 and self._chance(0.75)
        ]
        if self._left <= 0:
            chosen = [field for field in chosen if isinstance(field.type, ScalarType)]
        return list(dict.fromkeys(chosen))

    def _field(self, field: Field, depth: int) -> JSON:
        if isinstance(field.type, ListType) and field.merges:
            return self._merge_list(field, depth)
        return self._value(field.type, depth)

    def _merge_list(self, field: Field, depth: int) -> JSONArray:
        count = self.random.choice((0, 1, 2, 2, 3, 4)) if self._left > 0 else 1
        if not field.merge_key:
            if not isinstance(field.type.items, ScalarType) and not self._chance(
                self.keyless
            ):
                return []
            values = {
                repr(value): value
                for value in (
                    self._value(field.type.items, depth) for _ in range(count)
                )
            }
            return [*values.values()]
        return [self._element(field, key, depth) for key in self._keys(field, count)]

    def _keys(self, field: Field, count: int) -> list[JSON]:
        key = field.type.items.field(field.merge_key)
        numbers = (
            key is not None
            and isinstance(key.type, ScalarType)
            and key.type.name == "integer"
        )
        pool: tuple[JSON, ...] = (53, 80, 443, 8080, 1) if numbers else _NAMES
        return self.random.sample(pool, min(count, len(pool)))

    def _element(self, field: Field, key: JSON, depth: int) -> JSONObject:
        return {**self._object(field.type.items, depth + 1), field.merge_key: key}

    def _free(self, depth: int) -> JSON:
        """Make free-form data without nulls."""
        if depth > _DEEPEST or self._chance(0.5):
            return self.random.choice(("a", "b", 1, 1.5, True))
        if self._chance(0.4):
            return [self._free(depth + 1) for _ in range(self.random.randint(0, 2))]
        return {name: self._free(depth + 1) for name in self._some(_NAMES, 2)}

    # Changes

    def changed(self, value: JSONObject, schema: Schema) -> JSONObject:
        """Change an object here and there; it stays valid, and keeps its identity
        almost always.
        """
        self._left = self._size // 2
        made = self._changed_object(value, schema.type, 0)
        return (
            made if not schema.kind or self._chance(0.02) else _identified(made, value)
        )

    def _changed(
        self, value: JSON, field: Field | None, schema: Type, depth: int
    ) -> JSON:
        if self._chance(self.rate * 0.2):
            return (
                self._field(field, depth)
                if field is not None
                else self._value(schema, depth)
            )
        if isinstance(value, dict):
            return self._changed_object(value, schema, depth)
        if isinstance(value, list):
            merges = field is not None and field.merges
            return (
                self._changed_merge_list(value, field, depth)
                if merges and field
                else self._changed_list(value, schema)
            )
        return self._value(schema, depth) if self._chance(self.rate) else value

    def _changed_object(
        self, value: JSONObject, schema: Type, depth: int
    ) -> JSONObject:
        made: JSONObject = {}
        for name, member in value.items():
            field = schema.field(name)
            if field is not None and not self._chance(self.rate * 0.3):
                made[name] = self._changed(member, field, field.type, depth + 1)
        if self._chance(self.rate) and isinstance(schema, ObjectType):
            added = self._object(schema, depth)
            made.update(
                (name, member) for name, member in added.items() if name not in made
            )
        return made

    def _changed_list(self, value: JSONArray, schema: Type) -> JSONArray:
        made = [element for element in value if not self._chance(self.rate * 0.3)]
        made = [
            self._changed(element, None, schema.items, _DEEPEST - 2) for element in made
        ]
        if self._chance(self.rate):
            made.insert(
                self.random.randint(0, len(made)),
                self._value(schema.items, _DEEPEST - 2),
            )
        return made

    def _changed_merge_list(
        self, value: JSONArray, field: Field, depth: int
    ) -> JSONArray:
        made = [element for element in value if not self._chance(self.rate * 0.4)]
        if field.merge_key:
            made = [self._changed_element(element, field, depth) for element in made]
        if self._chance(self.rate):
            made += self._missing(made, field, depth)
        if self._chance(self.rate * 0.7):
            self.random.shuffle(made)
        return made

    def _changed_element(self, element: JSON, field: Field, depth: int) -> JSON:
        if not isinstance(element, dict) or field.merge_key not in element:
            return element
        made = self._changed_object(element, field.type.items, depth + 1)
        return {**made, field.merge_key: element[field.merge_key]}

    def _missing(self, value: JSONArray, field: Field, depth: int) -> JSONArray:
        """Make elements that a merge list has not got yet."""
        if not field.merge_key:
            return [
                new
                for new in self._merge_list(field, depth)
                if not any(same(new, old) for old in value)
            ]
        taken = [
            element.get(field.merge_key)
            for element in value
            if isinstance(element, dict)
        ]
        keys = [key for key in self._keys(field, 2) if key not in taken]
        return [self._element(field, key, depth) for key in keys]

    def extended(self, value: JSONObject, schema: Schema) -> JSONObject:
        """Add what a server and other controllers add: defaults, sidecars, annotations."""
        self._left = self._size // 2
        return _joined(value, self.object(schema), schema.type)

    def triple(self, schema: Schema) -> Triple:
        """Make the objects of an apply as they come in life: a base, what became of it
        here and there.
        """
        base = self.object(schema)
        modified = self.random.choice(
            (self.changed, self.changed, self.changed, _unchanged)
        )(base, schema)
        live = self.random.choice(
            (self.changed, self.extended, self._drifted, _unchanged)
        )(base, schema)
        last_applied = self.random.choice(
            (base, base, base, base, base, None, {}, live, self.object(schema))
        )
        return Triple(last_applied, modified, live)

    def _drifted(self, value: JSONObject, schema: Schema) -> JSONObject:
        return self.changed(self.extended(value, schema), schema)

    # Patches

    def patch(self, live: JSONObject, schema: Schema) -> JSONObject:
        """Make a patch as people and controllers write them, for this object."""
        self._left = self._size
        made = self._patched_object(live, schema.type, 0, retain=self._chance(0.02))
        if schema.kind and self._chance(0.9):
            for name in ("apiVersion", "kind"):
                made.pop(name, None)
        return made

    def _patched_object(
        self, live: Value, schema: Type, depth: int, *, retain: bool = False
    ) -> JSONObject:
        known = live if isinstance(live, dict) else {}
        made: JSONObject = {}
        if isinstance(schema, ObjectType):
            there = sorted(
                known,
                key=lambda name: _HOT.get(name, 1) * self.random.random(),
                reverse=True,
            )
            fields = _fields_named(
                schema, there[: self.random.choice((0, 1, 1, 1, 2, 3))]
            )
            fields += (
                self._chosen(schema, depth) if not fields or self._chance(0.3) else []
            )
            for field in dict.fromkeys(fields):
                self._patch_field(made, known.get(field.name, ABSENT), field, depth + 1)
            if schema.others is not None:
                made.update(
                    (name, self.random.choice(("a", "b", None)))
                    for name in self._some(_NAMES, 2)
                )
        if self._chance(0.03):
            made["$patch"] = self.random.choice(("replace", "delete"))
        if retain or self._chance(0.02):
            made["$retainKeys"] = self._retained(made, known)
        return made

    def _retained(self, made: JSONObject, known: JSONObject) -> JSONArray:
        names = [
            name
            for name, value in made.items()
            if value is not None and not name.startswith("$")
        ]
        return [*sorted({*names, *self._some(list(known), 2)})]

    def _patch_field(
        self, made: JSONObject, live: Value, field: Field, depth: int
    ) -> None:
        if self._chance(0.1):
            made[field.name] = None
        elif isinstance(field.type, ListType) and field.merges:
            self._patch_list(made, live if isinstance(live, list) else [], field, depth)
        elif isinstance(field.type, ObjectType) and self._chance(0.9):
            made[field.name] = self._patched_object(
                live, field.type, depth, retain=field.retain_keys and self._chance(0.6)
            )
        else:
            made[field.name] = self._field(field, depth)

    def _patch_list(
        self, made: JSONObject, live: JSONArray, field: Field, depth: int
    ) -> None:
        if field.merge_key:
            merged, gone = self._patched_elements(live, field, depth)
        else:
            merged, gone = self._missing(live, field, depth) + self._some(live, 1), []
            if self._chance(0.4):
                made[f"$deleteFromPrimitiveList/{field.name}"] = self._some(
                    [*live, *merged[:1], "zz"], 2
                )
        if self._chance(0.35):
            order = self._order(live, merged, gone, field)
            made[f"$setElementOrder/{field.name}"] = [
                _named(element, field) for element in order
            ]
            merged = [
                element for element in order if any(element is new for new in merged)
            ]
        if merged or gone or self._chance(0.3):
            made[field.name] = self._mixed(merged, gone)

    def _patched_elements(
        self, live: JSONArray, field: Field, depth: int
    ) -> tuple[JSONArray, JSONArray]:
        key = field.merge_key
        merged = self._missing(live, field, depth) if self._chance(0.4) else []
        gone: JSONArray = []
        for element in self._some(live, 2):
            if not isinstance(element, dict) or key not in element:
                continue
            if self._chance(0.25):
                gone.append({key: element[key], "$patch": "delete"})
            else:
                patch = self._patched_object(
                    element,
                    field.type.items,
                    depth,
                    retain=field.retain_keys and self._chance(0.5),
                )
                merged.append(_retaining({**patch, key: element[key]}, key))
        if self._chance(0.15):
            fresh = self._patched_object({}, field.type.items, depth)
            merged += [
                _retaining({**fresh, key: name}, key) for name in self._keys(field, 1)
            ]
        if self._chance(0.04):
            gone += (
                [{"$patch": "replace"}]
                if self._chance(0.5)
                else [{key: "zz", "$patch": "delete"}]
            )
        return merged, gone

    def _order(
        self, live: JSONArray, merged: JSONArray, gone: JSONArray, field: Field
    ) -> JSONArray:
        names = [_named(element, field) for element in (*merged, *gone)]
        others = [
            old
            for old in live
            if not any(same(_named(old, field), name) for name in names)
        ]
        order = [*merged, *self._some(others, 4)]
        if self._chance(0.5):
            self.random.shuffle(order)
        return order

    def _mixed(self, merged: JSONArray, gone: JSONArray) -> JSONArray:
        made = [*merged]
        for element in gone:
            made.insert(
                len(made) if self._chance(0.7) else self.random.randint(0, len(made)),
                element,
            )
        return made

    # What nobody should send, and somebody does

    def spoiled(self, value: JSONObject, schema: Schema, *, patch: bool) -> JSONObject:
        """Break an object or a patch in one to three places; a patch in its directives
        too.
        """
        made = copy.deepcopy(value)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            places = list(_places(made, schema.type))
            self.random.choice(_PATCH_FAULTS if patch else _FAULTS)(
                self, *self.random.choice(places)
            )
        return made if patch else _without_words(made)

    def arbitrary(self, depth: int = 0) -> JSON:
        """Make any JSON at all."""
        if depth > 5 or self._chance(0.4):
            return copy.deepcopy(self.random.choice(_ODD))
        if self._chance(0.5):
            return [self.arbitrary(depth + 1) for _ in range(self.random.randint(0, 3))]
        names = self.random.choices(
            (*_WORDS, "a", "b", "spec", "metadata", "name", "containers", "env"), k=3
        )
        return {name: self.arbitrary(depth + 1) for name in names}


_WORDS: Final = (
    "$patch",
    "$retainKeys",
    "$setElementOrder",
    "$setElementOrder/a",
    "$setElementOrder/containers",
    "$setElementOrder/b/a",
    "$setElementOrderX/a",
    "$deleteFromPrimitiveList/a",
    "$deleteFromPrimitiveList/finalizers",
    "$other",
    "$",
)


def _places(value: JSONObject, schema: Type) -> list[tuple[JSONObject, Type]]:
    """Return every object inside a value, with its type."""
    found = [(value, schema)]
    for name, member in value.items():
        field = schema.field(name)
        if field is None:
            continue
        if isinstance(member, dict):
            found += _places(member, field.type)
        elif isinstance(member, list):
            for element in member:
                if isinstance(element, dict):
                    found += _places(element, field.type.items)
    return found


def _any_member(maker: Maker, place: JSONObject, _schema: Type) -> None:
    if place:
        place[maker.random.choice(list(place))] = maker.arbitrary(4)


def _any_word(maker: Maker, place: JSONObject, _schema: Type) -> None:
    place[maker.random.choice(_WORDS)] = maker.arbitrary(4)


def _bad_marker(maker: Maker, place: JSONObject, _schema: Type) -> None:
    place["$patch"] = maker.random.choice(
        ("merge", "bogus", "replace", "delete", None, 1, [], {})
    )


def _bad_retained(maker: Maker, place: JSONObject, _schema: Type) -> None:
    keys: JSONArray = [*[*place][:2]]
    choices: tuple[JSON, ...] = (
        "x",
        None,
        [],
        {},
        [1],
        [None],
        ["zz"],
        keys,
        [*keys, *keys, 1],
    )
    place["$retainKeys"] = maker.random.choice(choices)


def _bad_directive(maker: Maker, place: JSONObject, schema: Type) -> None:
    names = (
        [*place, *(field.name for field in schema)]
        if isinstance(schema, ObjectType)
        else [*place]
    )
    name = maker.random.choice(
        [name for name in names if not name.startswith("$")] or ["zz"]
    )
    word = maker.random.choice(("$setElementOrder", "$deleteFromPrimitiveList"))
    value = place.get(name)
    choices: tuple[JSON, ...] = (
        "x",
        None,
        [],
        {},
        ["a"],
        [1],
        [{"name": "a"}],
        [{"x": 1}],
        [None],
        value,
    )
    place[f"{word}/{name}"] = copy.deepcopy(maker.random.choice(choices))


def _unknown_field(maker: Maker, place: JSONObject, _schema: Type) -> None:
    choices: tuple[JSON, ...] = (
        1,
        "a",
        {},
        [],
        {"a": 1},
        ["a"],
        [{"a": 1}],
        None,
        {"$patch": "delete"},
    )
    place["unknown"] = copy.deepcopy(maker.random.choice(choices))


def _null_field(maker: Maker, place: JSONObject, _schema: Type) -> None:
    if place:
        place[maker.random.choice(list(place))] = None


def _lists_in(place: JSONObject) -> list[JSONArray]:
    return [member for member in place.values() if isinstance(member, list)]


def _odd_element(maker: Maker, place: JSONObject, _schema: Type) -> None:
    for member in _lists_in(place):
        member.insert(
            maker.random.randint(0, len(member)),
            copy.deepcopy(maker.random.choice(_ODD)),
        )


def _twin_element(maker: Maker, place: JSONObject, _schema: Type) -> None:
    for member in _lists_in(place):
        if member:
            twin = copy.deepcopy(maker.random.choice(member))
            member.insert(maker.random.randint(0, len(member)), twin)


def _lost_key(maker: Maker, place: JSONObject, _schema: Type) -> None:
    for member in _lists_in(place):
        for element in member:
            if isinstance(element, dict) and element and maker.random.random() < 0.5:
                del element[maker.random.choice(list(element))]


Fault: TypeAlias = Callable[[Maker, JSONObject, Type], None]
_FAULTS: Final[tuple[Fault, ...]] = (
    _any_member,
    _unknown_field,
    _null_field,
    _odd_element,
    _twin_element,
    _lost_key,
)
_PATCH_FAULTS: Final[tuple[Fault, ...]] = (
    *_FAULTS,
    _any_word,
    _bad_marker,
    _bad_retained,
    _bad_directive,
    _bad_directive,
)


def _without_words(value: JSONObject) -> JSONObject:
    kept = {name: member for name, member in value.items() if not name.startswith("$")}
    return {name: _inner_without_words(member) for name, member in kept.items()}


def _inner_without_words(value: JSON) -> JSON:
    if isinstance(value, dict):
        return _without_words(value)
    return [*map(_inner_without_words, value)] if isinstance(value, list) else value


def _identified(made: JSONObject, original: JSONObject) -> JSONObject:
    metadata = made.get("metadata")
    named: JSONObject = {
        **(metadata if isinstance(metadata, dict) else {}),
        "name": "x",
    }
    identity: JSONObject = {
        name: original[name] for name in ("apiVersion", "kind") if name in original
    }
    return {**identity, **made, **identity, "metadata": named}


def _unchanged(value: JSONObject, _schema: Schema) -> JSONObject:
    return value


def _named(element: JSON, field: Field) -> JSON:
    return (
        {field.merge_key: element.get(field.merge_key)}
        if isinstance(element, dict)
        else element
    )


def _retaining(element: JSONObject, key: str) -> JSONObject:
    """Let an element's ``$retainKeys`` list its merge key, as it must."""
    listed = element.get("$retainKeys")
    return (
        {**element, "$retainKeys": [*listed, key]}
        if isinstance(listed, list) and key not in listed
        else element
    )


def _joined(value: JSONObject, extra: JSONObject, schema: Type) -> JSONObject:
    made = {**extra, **value}
    for name in value.keys() & extra.keys():
        field, one, other = schema.field(name), value[name], extra[name]
        if field is None:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            made[name] = _joined(one, other, field.type)
        elif isinstance(one, list) and isinstance(other, list) and field.merges:
            known = [_named(element, field) for element in one]
            added = [
                element
                for element in other
                if not any(same(_named(element, field), k) for k in known)
            ]
            made[name] = [*added, *one] if len(added) == 1 else [*one, *added]
    return made


# Hypothesis

seeds = st.integers(min_value=0, max_value=2**64 - 1)


@st.composite
def makers(draw: st.DrawFn, *, keyless: float = 0.1) -> Maker:
    """Draw a maker: from then on everything follows from one integer."""
    return Maker(draw(seeds), keyless=keyless)


def json_values() -> st.SearchStrategy[JSON]:
    """Draw any JSON value, integers beyond 64 bit and all kinds of strings included."""
    scalars = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text()
    )
    names = st.sampled_from(
        [*_WORDS, "a", "name", "spec", "metadata", "finalizers", "data"]
    ) | st.text(max_size=3)
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4)
        ),
    )
