"""Custom resources of many shapes: their definitions, and random applies of them.

Each shape is a kind of its own; ``SHAPES`` has the schema of the ``spec`` of each.
"""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
)

GROUP: Final = "crs.example.com"
_STRING: Final[JSONObject] = {"type": "string"}
_NULLABLE: Final[JSONObject] = {"type": "string", "nullable": True}
_INTEGER: Final[JSONObject] = {"type": "integer"}
_FREE: Final[JSONObject] = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
}


def _object(**properties: JSON) -> JSONObject:
    return {"type": "object", "properties": properties}


def _map(*keys: str, **properties: JSON) -> JSONObject:
    names: JSON = [*keys]
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": names,
        "items": _object(**properties),
    }


def _required(schema: JSONObject, *names: str) -> JSONObject:
    required: JSON = [*names]
    items: JSON = {**as_object(schema["items"]), "required": required}
    return {**schema, "items": items}


def _list(items: JSONObject, list_type: str = "") -> JSONObject:
    stated: JSONObject = {"x-kubernetes-list-type": list_type} if list_type else {}
    return {"type": "array", "items": items, **stated}


_NAMED: Final = _required(
    _map("name", name=_STRING, value=_STRING, size=_INTEGER), "name"
)
_PORTS: Final = _required(
    _map(
        "port",
        "protocol",
        port=_INTEGER,
        protocol={"type": "string", "default": "TCP", "enum": ["TCP", "UDP"]},
        name=_STRING,
        note=_NULLABLE,
    ),
    "port",
)
_UNION: Final[JSONObject] = {
    **_object(
        type={"type": "string", "enum": ["A", "B"]},
        a=_object(x=_STRING),
        b=_object(y=_STRING),
    ),
    "x-kubernetes-unions": [
        {"discriminator": "type", "fields-to-discriminateBy": {"a": "A", "b": "B"}}
    ],
}
# The schema of spec, by the kind of the shape.
SHAPES: Final[dict[str, JSONObject]] = {
    "Plain": _object(
        size=_INTEGER,
        on={"type": "boolean"},
        text=_STRING,
        ratio={"type": "number"},
        inner=_object(a=_STRING, b=_object(c=_INTEGER)),
    ),
    "Lists": _object(
        unstated=_list(_STRING),
        atomic=_list(_object(a=_STRING, b=_INTEGER), "atomic"),
        numbers=_list({"type": "number"}),
        size=_INTEGER,
    ),
    "Sets": _object(
        tags=_list(_STRING, "set"), numbers=_list(_INTEGER, "set"), size=_INTEGER
    ),
    "Named": _object(items=_NAMED, others=_NAMED, size=_INTEGER),
    "Ports": _object(ports=_PORTS, size=_INTEGER),
    "Nested": _object(
        groups=_required(
            _map(
                "name",
                name=_STRING,
                ports=_PORTS,
                tags=_list(_STRING, "set"),
                args=_list(_STRING),
            ),
            "name",
        ),
        size=_INTEGER,
    ),
    "Maps": _object(
        labels={"type": "object", "additionalProperties": _STRING},
        atomic={
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "additionalProperties": _STRING,
        },
        structures={
            "type": "object",
            "additionalProperties": _object(a=_STRING, tags=_list(_STRING, "set")),
        },
        reference={
            **_object(name=_STRING, kind=_STRING),
            "x-kubernetes-map-type": "atomic",
        },
    ),
    "Nullable": _object(
        text=_NULLABLE,
        inner={**_object(a=_NULLABLE, b=_STRING), "nullable": True},
        tags={**_list(_STRING, "set"), "nullable": True},
        items={
            **_required(_map("name", name=_STRING, note=_NULLABLE), "name"),
            "nullable": True,
        },
        plain=_STRING,
    ),
    "Free": {
        **_object(size=_INTEGER, free=_FREE, items=_NAMED),
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "Scalars": _object(
        port={"x-kubernetes-int-or-string": True},
        ports=_list({"x-kubernetes-int-or-string": True}, "set"),
        percentages=_required(
            _map("port", port=_INTEGER, max={"x-kubernetes-int-or-string": True}),
            "port",
        ),
    ),
    "Embedded": _object(
        template={
            **_object(spec=_object(containers=_NAMED)),
            "x-kubernetes-embedded-resource": True,
        },
        size=_INTEGER,
    ),
    "Union": _object(choice=_UNION, size=_INTEGER, tags=_list(_STRING, "set")),
    "Choices": _object(
        rules=_required(
            _map("name", name=_STRING, choice=_UNION, tags=_list(_STRING, "set")),
            "name",
        )
    ),
}


def definition(kind: str, spec: JSONObject | None = None) -> JSONObject:
    """Return the CustomResourceDefinition of a shape, or of the schema of a spec."""
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _object(spec=spec or SHAPES[kind])},
                }
            ],
        },
    }


class Triple(NamedTuple):
    """What was applied last, what others made of it, and what is applied now."""

    kind: str
    last_applied: JSONObject
    changed: JSONObject
    modified: JSONObject


def triple(seed: int, number: int) -> Triple:
    """Return the triple of a number, from a seed."""
    kinds = [*SHAPES]
    kind = kinds[number % len(kinds)]
    maker = _Maker(Random(f"{seed}-{number}"))  # no secrets
    schema = SHAPES[kind]
    base = as_object(maker.value(schema))
    modified = maker.changed(schema, base)
    others = maker.changed(schema, base)
    return Triple(
        kind,
        _resource(kind, number, base),
        _resource(kind, number, as_object(others)),
        _resource(kind, number, as_object(modified)),
    )


def _resource(kind: str, number: int, spec: JSONObject) -> JSONObject:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": f"r{number}", "namespace": "default"},
        "spec": spec,
    }


class _Maker:
    """Random values of a schema, and random changes of them."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def value(self, schema: JSONObject) -> JSON:
        """Make a value of a schema; sometimes null where it is nullable."""
        random = self._random
        if schema.get("nullable") and random.random() < 0.3:
            return None
        if "x-kubernetes-unions" in schema:
            return self._union(schema)
        if schema.get("x-kubernetes-int-or-string"):
            return _one(random, [1, 2, "1", "50%"])
        match schema["type"]:
            case "object":
                return self._object(schema)
            case "array":
                return self._list(schema, [])
            case "integer":
                return random.randrange(4)
            case "number":
                return _one(random, [0.5, 1, 1.5, 0.0000001])
            case "boolean":
                return random.random() < 0.5
        texts = as_list(schema.get("enum")) or ["a", "b", "c", "d", "<é>"]
        return _one(random, texts)

    def changed(self, schema: JSONObject, value: JSON) -> JSON:
        """Change some of a value."""
        if not isinstance(value, (dict, list)) or self._random.random() < 0.05:
            return self.value(schema)
        if "x-kubernetes-unions" in schema:
            return self._union(schema)
        if isinstance(value, list):
            return self._list(schema, value)
        members: JSONObject = {}
        names = {**value, **self._object(schema)}
        for name, own in names.items():
            inner = self._schema_of(schema, name)
            kept = self._changed_member(inner, value.get(name, ABSENT))
            if name in as_list(schema.get("required")) or name in _IDENTITY:
                kept = own
            if not isinstance(kept, Absent):
                members[name] = kept
        return members

    def _changed_member(
        self, schema: JSONObject | None, value: JSON | Absent
    ) -> JSON | Absent:
        chance = self._random.random()
        if isinstance(value, Absent):
            return ABSENT if chance < 0.6 else self._of(schema)
        if chance < 0.45:
            return value
        if chance < 0.65:
            return ABSENT
        return self._of(schema) if schema is None else self.changed(schema, value)

    def _of(self, schema: JSONObject | None) -> JSON:
        return self._free(2) if schema is None else self.value(schema)

    def _schema_of(self, schema: JSONObject, name: str) -> JSONObject | None:
        declared = as_object(schema.get("properties")).get(name)
        if declared is None:
            declared = schema.get("additionalProperties")
        return declared if isinstance(declared, dict) else None

    def _object(self, schema: JSONObject) -> JSONObject:
        random = self._random
        members: JSONObject = {}
        required = as_list(schema.get("required"))
        for name, inner in as_object(schema.get("properties")).items():
            if name in required or random.random() < 0.6:
                members[name] = self.value(as_object(inner))
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            for name in random.sample("klmn", random.randrange(3)):
                members[name] = self.value(others)
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            for name in random.sample("uvwx", random.randrange(3)):
                members[name] = self._free(2)
        if schema.get("x-kubernetes-embedded-resource"):
            members |= {"apiVersion": "v1", "kind": "Pod"}
            labels: JSONObject = dict.fromkeys(random.sample("klm", 1), "1")
            members["metadata"] = {"labels": labels}
        return members

    def _list(self, schema: JSONObject, old: JSONArray) -> JSONArray:
        """Make a list that has some of an old one; no two elements of one identity."""
        random = self._random
        items = as_object(schema["items"])
        elements: JSONArray = []
        for element in old:
            if random.random() < 0.7:
                elements.append(element)
            elif random.random() < 0.5:
                elements.append(self.changed(items, element))
        elements += [self.value(items) for _ in range(random.randrange(3))]
        if random.random() < 0.3:
            random.shuffle(elements)
        list_type = schema.get("x-kubernetes-list-type")
        if list_type not in ("map", "set"):
            return elements
        found: dict[str, JSON] = {}
        for element in elements:
            found.setdefault(_identity(schema, element), element)
        return [*found.values()]

    def _union(self, schema: JSONObject) -> JSONObject:
        properties = as_object(schema["properties"])
        member = self._random.choice("ab")
        content = self._object(as_object(properties[member]))
        return {"type": member.upper(), member: content}

    def _free(self, depth: int) -> JSON:
        """Make any JSON."""
        random = self._random
        chance = random.random()
        if chance < 0.2:
            return None
        if not depth or chance < 0.5:
            return _one(random, [1, "a", True, "b"])
        inner = [self._free(depth - 1) for _ in range(random.randrange(3))]
        if chance < 0.7:
            return inner
        return dict(zip("xyz", inner, strict=False))


def _one(random: Random, values: JSONArray) -> JSON:
    return values[random.randrange(len(values))]


# What an embedded resource has to have.
_IDENTITY: Final = ("apiVersion", "kind", "metadata")


def _identity(schema: JSONObject, element: JSON) -> str:
    """Return what tells an element of a set or a map from the others."""
    keys = as_list(schema.get("x-kubernetes-list-map-keys"))
    if not keys:
        return repr(element)
    members = as_object(element)
    properties = as_object(as_object(schema["items"])["properties"])
    parts = []
    for key in keys:
        default = as_object(properties[str(key)]).get("default")
        parts.append(members.get(str(key), default))
    return repr(parts)
