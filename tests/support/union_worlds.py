"""Random types with unions, an object of each, and what became of the object."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple, TypeAlias

from hypothesis import strategies as st

from smp._values.values import JSON, JSONArray, JSONObject, as_object
from smp.schema.model import Schema

Steps: TypeAlias = tuple[str | int, ...]
"""A path as plain steps: names of fields, and indices of elements."""

MEMBERS: Final = {"a": "A", "b": "B", "c": "C"}
"""The members of each union, and the values of the discriminator that select them.

The unions of an object are numbered: their members are a0, b0 and c0, then a1, b1, c1.
"""
SELECTS_NOTHING: Final = "E"
UNLISTED: Final = "Z"
SHAPES: Final = ("2019", "draft", "final", "smd", "overlay")
"""The shapes in which unions are published, one for each proposal or tool."""

_DEEPEST: Final = 2
_KEYS: Final = ("x", "y", "z")


class World(NamedTuple):
    """A random type document, an object of it, and what became of that object."""

    document: JSONObject
    old: JSONObject | None
    new: JSONObject

    @property
    def schema(self) -> Schema:
        return Schema.inline(self.document)


def worlds(*shapes: str) -> st.SearchStrategy[World]:
    """Draw worlds whose unions are published in these shapes, by default in all."""
    seeds = st.integers(min_value=0, max_value=2**64 - 1)
    return seeds.map(lambda seed: WorldMaker(seed, shapes or SHAPES).world())


class WorldMaker:
    """Makes a world from one integer: first the type, then objects of it."""

    def __init__(self, seed: int, shapes: tuple[str, ...] = SHAPES) -> None:
        self._random = Random(seed)
        self._shapes = shapes

    def world(self) -> World:
        document = self._struct(0)
        old = self._object(document)
        new = self._changed(old, document)
        return World(document, None if self._chance(0.1) else old, new)

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _struct(self, depth: int, *keys: str) -> JSONObject:
        """Make an object type: up to two unions and other fields, some with structs."""
        fields: JSONObject = dict.fromkeys((*keys, "plain"), "string")
        unions: JSONArray = []
        for index in range(self._random.choice((0, 1, 1, 1, 2))):
            union, fields_of_union = self._union(f"{index}", depth)
            fields |= fields_of_union
            unions.append(union)
        if depth < _DEEPEST:
            for number in range(5):
                if self._chance(0.25):
                    fields[f"child{number}"] = self._child(number, depth)
        document: JSONObject = {"fields": fields, "unions": unions}
        if self._chance(0.05):
            document["map_type"] = "atomic"
        return document

    def _child(self, number: int, depth: int) -> JSON:
        struct = self._struct(depth + 1, "name", "port")
        nodes: tuple[JSON, ...] = (
            struct,
            {"values": struct},
            {"items": struct},
            {"items": struct, "list_type": "map", "map_keys": ["name", "port"]},
            {"is": {"items": struct}, "strategy": "merge", "key": "name"},
        )
        return nodes[number]

    def _union(self, suffix: str, depth: int) -> tuple[JSONObject, JSONObject]:
        """Make a union, and the fields that it is about."""
        members = {name + suffix: value for name, value in MEMBERS.items()}
        has_structs = depth < _DEEPEST and self._chance(0.3)
        fields: JSONObject = {}
        for name in members:
            fields[name] = self._struct(depth + 1) if has_structs else "string"
        none: JSONArray = [""] if self._chance(0.5) else []
        discriminator = f"d{suffix}" if self._chance(0.85) else ""
        if discriminator:
            enum: JSONArray = [*MEMBERS.values(), SELECTS_NOTHING, *none]
            closed = self._chance(0.6)
            fields[discriminator] = (
                {"type": "string", "enum": enum} if closed else "string"
            )
        return self._published(members, discriminator, none), fields

    def _published(
        self, members: dict[str, str], discriminator: str, none: JSONArray
    ) -> JSONObject:
        """Write a union in one of the shapes in which unions are published."""
        optional = self._chance(0.3)
        shape = self._random.choice(self._shapes) if discriminator else "2019"
        facets_by_name: JSONObject = {}
        fields_by_value: JSONObject = {}
        list_of_fields: JSONArray = []
        for name, value in members.items():
            facets_by_name[name] = {"discriminatorValue": value, "optional": optional}
            fields_by_value[value] = {"name": name, "optional": optional}
            list_of_fields.append({"fieldName": name, "discriminatorValue": value})
        shapes: dict[str, JSONObject] = {
            "2019": {"fields-to-discriminateBy": {**members}},
            "draft": {"fields-to-discriminateBy": facets_by_name},
            "final": {"fieldMembers": {**fields_by_value, SELECTS_NOTHING: None}},
            "smd": {"fields": list_of_fields},
            "overlay": {
                "members": {**members},
                "empty": [SELECTS_NOTHING],
                "none": none,
            },
        }
        union: JSONObject = {}
        if discriminator:
            union["discriminator"] = discriminator
        union |= shapes[shape]
        if self._chance(0.2):
            union["exactly_one"] = True
        if self._chance(0.5):
            union["deduceInvalidDiscriminator"] = True
        return union

    def _object(self, document: JSONObject) -> JSONObject:
        result: JSONObject = {}
        for name, node in fields_of(document).items():
            if self._chance(0.5):
                result[name] = self._value(name, node)
        return result

    def _value(self, name: str, node: JSON) -> JSON:
        node = _type_of_field(node)
        if self._chance(0.04):
            # Null, or a value of a type that the schema does not expect.
            return self._random.choice((None, 0, [], {}, "odd"))
        if not isinstance(node, dict) or "type" in node:
            if name.startswith("d"):
                values = (*MEMBERS.values(), SELECTS_NOTHING, UNLISTED, "")
                return self._random.choice(values)
            return self._random.choice(("x", "y", "z"))
        if "items" in node:
            count = self._random.choice((0, 1, 2, 3))
            return [self._object(_element_type(node)) for _ in range(count)]
        if "values" in node:
            element_type = _element_type(node)
            return {
                key: self._object(element_type) for key in _KEYS if self._chance(0.4)
            }
        return self._object(node)

    def _changed(self, value: JSONObject, document: JSONObject) -> JSONObject:
        """Change some fields; what stays is the same object, as after a patch."""
        result: JSONObject = {}
        for name, node in fields_of(document).items():
            if self._chance(0.6) and name in value:
                result[name] = self._changed_inside(value[name], node)
            elif self._chance(0.4):
                result[name] = self._value(name, node)
        return result

    def _changed_inside(self, value: JSON, node: JSON) -> JSON:
        node = _type_of_field(node)
        if not isinstance(node, dict) or self._chance(0.3):
            return value
        if isinstance(value, list) and "items" in node:
            result = [self._changed_element(e, _element_type(node)) for e in value]
            self._random.shuffle(result)
            return result
        if isinstance(value, dict) and "values" in node:
            element_type = _element_type(node)
            return {k: self._changed_element(e, element_type) for k, e in value.items()}
        if isinstance(value, dict) and "fields" in node:
            return self._changed(value, node)
        return value

    def _changed_element(self, element: JSON, element_type: JSONObject) -> JSON:
        if isinstance(element, dict):
            return self._changed(element, element_type)
        return element


def fields_of(document: JSONObject) -> JSONObject:
    """Return the fields of an object type, by name."""
    return as_object(document.get("fields"))


def unions_of(document: JSONObject) -> list[JSONObject]:
    """Return the unions of an object type, as they are published."""
    unions = document["unions"]
    assert isinstance(unions, list)
    return [union for union in unions if isinstance(union, dict)]


def members_of(union: JSONObject) -> list[str]:
    """Return the names of the members, for every shape of the union."""
    names: list[str] = []
    for shape in ("fields-to-discriminateBy", "members"):
        names += as_object(union.get(shape))
    for facets in as_object(union.get("fieldMembers")).values():
        if isinstance(facets, dict):
            names.append(str(facets["name"]))
    listed = union.get("fields")
    for facets in listed if isinstance(listed, list) else []:
        if isinstance(facets, dict):
            names.append(str(facets["fieldName"]))
    # All members of a union end in its number.
    (suffix,) = {name[-1] for name in names}
    return [name + suffix for name in MEMBERS]


class Struct(NamedTuple):
    """One object inside an object: where it is, its value, and its type document."""

    path: Steps
    value: JSONObject
    document: JSONObject


def structs(value: JSON, node: JSON, path: Steps = ()) -> Iterator[Struct]:
    """Walk over all objects that have a type; not by the walk of the engine."""
    node = _type_of_field(node)
    if not isinstance(node, dict):
        return
    if isinstance(value, list) and "items" in node:
        for index, element in enumerate(value):
            yield from structs(element, node["items"], (*path, index))
    elif isinstance(value, dict) and "values" in node:
        for key, element in value.items():
            yield from structs(element, node["values"], (*path, key))
    elif isinstance(value, dict) and "fields" in node:
        yield Struct(path, value, node)
        for name, field in fields_of(node).items():
            if name in value:
                yield from structs(value[name], field, (*path, name))


def _type_of_field(node: JSON) -> JSON:
    """Return the type of a field; the form with ``is`` also has a patch strategy."""
    return node["is"] if isinstance(node, dict) and "is" in node else node


def _element_type(node: JSONObject) -> JSONObject:
    return as_object(node.get("items", node.get("values")))
