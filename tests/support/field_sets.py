"""Random questions about field sets, and what structured-merge-diff answers to them.

The Go program in tests/managed_fields/oracle answers; its first comment describes the
requests. ``ours`` answers the same requests with ``smp.managed_fields``.
"""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any, Final

import pytest

import smp
from smp._values.values import ABSENT, JSON, JSONArray, JSONObject, as_list
from smp.errors import SmpError
from smp.managed_fields import FieldSet, extracted, fieldset_of, removed
from smp.schema.model import ListType, ObjectType, ScalarType, Schema, Type
from smp.schema.openapi_writer import write_schemas
from smp.schema.sources.openapi import compile_documents
from tests.support.makers.subjects import KINDS
from tests.support.paths import ROOT
from tests.support.reference import Reference, as_go_prints, reference

GO_MODULE: Final = ROOT / "tests" / "managed_fields" / "oracle"
ALGEBRA: Final = (
    "round",
    "leaves",
    "has",
    "union",
    "intersection",
    "difference",
    "recursiveDifference",
)
ITEMS: Final = ("fields", "remove", "extract")

# They have a RawExtension, types that refer to themselves, and lists of several keys.
_MORE_KINDS: Final = (
    ("apps/v1", "ControllerRevision"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("resource.k8s.io/v1", "ResourceClaim"),
)
_STRING: Final[JSONObject] = {"type": "string"}
_INTEGER: Final[JSONObject] = {"type": "integer"}
_PORT: Final[JSONObject] = {
    "type": "object",
    "required": ["port"],
    "properties": {
        "port": _INTEGER,
        "protocol": {"type": "string", "default": "TCP"},
        "tags": {
            "type": "array",
            "items": _STRING,
            "x-kubernetes-list-type": "set",
        },
        "note": _STRING,
    },
}
_NAMED: Final[JSONObject] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": _STRING,
        "value": _INTEGER,
        "labels": {"type": "object", "additionalProperties": _STRING},
        "ports": {
            "type": "array",
            "items": _PORT,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
        },
    },
}
_PAIR: Final[JSONObject] = {
    "type": "object",
    "properties": {"a": _STRING, "b": _INTEGER},
}
EVERY: Final[JSONObject] = {
    "type": "object",
    "properties": {
        "text": _STRING,
        "number": {"type": "number"},
        "flag": {"type": "boolean"},
        "either": {"x-kubernetes-int-or-string": True},
        "plainList": {"type": "array", "items": _NAMED},
        "atomicList": {
            "type": "array",
            "items": _STRING,
            "x-kubernetes-list-type": "atomic",
        },
        "texts": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
        "numbers": {
            "type": "array",
            "items": {"type": "number"},
            "x-kubernetes-list-type": "set",
        },
        "named": {
            "type": "array",
            "items": _NAMED,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "ports": {
            "type": "array",
            "items": _PORT,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
        },
        "struct": _PAIR,
        "nullable": {**_PAIR, "nullable": True},
        "atomicStruct": {**_PAIR, "x-kubernetes-map-type": "atomic"},
        "granularMap": {
            "type": "object",
            "additionalProperties": _PAIR,
            "x-kubernetes-map-type": "granular",
        },
        "atomicMap": {
            "type": "object",
            "additionalProperties": _STRING,
            "x-kubernetes-map-type": "atomic",
        },
        "preserved": {
            "type": "object",
            "properties": {"known": _PAIR, "list": {"type": "array", "items": _PAIR}},
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "free": {"x-kubernetes-preserve-unknown-fields": True},
    },
}
"""A structural schema that has every type of list and of map."""

REFUSED: Final[tuple[JSONObject, ...]] = (
    {"texts": ["a", None]},
    {"texts": [["a"]]},
    {"texts": [{"a": "b"}]},
    {"named": [{"value": 1}]},
    {"named": [{"name": "a"}, None]},
    {"named": ["a"]},
    {"named": [{"name": "a", "unknownField": 1}]},
    {"struct": {"unknownField": None}},
    {"unknownField": {}},
)
"""Objects of that schema that have no field set."""

_TEXTS: Final = (
    "a",
    "b",
    "app.kubernetes.io/name",
    "",
    "<&>",
    'q"\\',
    "\n\b\x1b",
    "é\u2028",
)
_NUMBERS: Final[tuple[JSON, ...]] = (0, 1, 80, -3, 1.0, 0.5, 1e-7, 1e21, 123456.75)
_WRONG: Final = (
    '{"f:a":1}',
    '{"f:a":[]}',
    "[]",
    '{"f":{}}',
    '{"k:{":{}}',
    '{"i:x":{}}',
)


@cache
def oracle() -> Reference | None:
    """Return the Go program with all schemas, or None where it cannot be built."""
    program = reference(GO_MODULE)
    if program is None:
        return None
    definitions: list[JSONObject] = [
        {"op": "define", "name": name, "definitions": {**openapi}}
        for name, (openapi, _, _) in subjects().items()
    ]
    assert program.run(definitions) == [{}] * len(definitions)
    return program


needs_oracle: Final = pytest.mark.skipif(
    f"__import__('sys').modules[{__name__!r}].oracle() is None",
    reason="tests/managed_fields/oracle was not built (SMP_GO=build), or cannot be",
)


@cache
def subjects() -> dict[str, tuple[dict[str, JSONObject], str, Schema]]:
    """Return by name the OpenAPI definitions, the name of the type, and the schema."""
    catalog = smp.kubernetes()
    found = {}
    for api_version, kind in (*KINDS, *_MORE_KINDS):
        schema = catalog.schema(api_version, kind)
        name = str(schema.document).removeprefix("#")
        found[kind] = (write_schemas([name], catalog.load), name, schema)
    types = compile_documents({"definitions": {"Every": EVERY}}).types
    every = Schema.inline("#Every", types)
    found["Every"] = ({"Every": EVERY}, "Every", every)
    return found


def requests(seed: int, count: int) -> list[JSONObject]:
    """Return random requests: half of them on sets alone, half on objects."""
    random = Random(f"field sets {seed}")
    made: list[JSONObject] = []
    while len(made) < count:
        op = random.choice((*ALGEBRA, *ITEMS, *ITEMS))
        if op in ALGEBRA:
            first = random_set(random)
            request: JSONObject = {"op": op, "set": first}
            if op not in ("round", "leaves"):
                other = random_set(random) if random.random() < 0.5 else first
                request["other"] = _thinned(random, other)
        else:
            name = random.choice((*subjects(), *["Every"] * 8))
            _, type_name, schema = subjects()[name]
            value = random_value(random, schema.type, 0)
            if name == "Every" and random.random() < 0.02:
                value = random.choice(REFUSED)
            request = {"op": op, "schema": name, "type": type_name, "object": value}
            if op != "fields":
                request["set"] = _set_for(random, value, schema)
        made.append(request)
    return made


def ours(request: JSONObject) -> JSONObject:
    """Answer a request as the Go program does; any error is ``{"error": true}``."""
    try:
        return _answer(request)
    except SmpError:
        return {"error": True}


def comparable(answer: JSONObject) -> JSONObject:
    """Return an answer of the Go program as ``ours`` would write it."""
    if "error" in answer:
        return {"error": True}
    if "has" in answer:
        # Go has all members of a node first, then what is below them.
        return {"has": [*sorted(map(bool, as_list(answer["has"])))]}
    return answer


def _answer(request: JSONObject) -> JSONObject:
    op = str(request["op"])
    if op in ITEMS:
        _, _, schema = subjects()[str(request["schema"])]
        value: Any = request["object"]
        # Go validates an object before anything else.
        whole = fieldset_of(value, schema)
        if op == "fields":
            return {"set": whole.to_v1_text()}
        fields = FieldSet.from_v1(str(request["set"]))
        if op == "remove":
            return {"object": as_go_prints(removed(value, schema, fields))}
        return {"object": as_go_prints(extracted(value, schema, fields))}
    first = FieldSet.from_v1(str(request["set"]))
    if op == "round":
        return {"set": first.to_v1_text()}
    if op == "leaves":
        return {"set": first.leaves().to_v1_text()}
    other = FieldSet.from_v1(str(request["other"]))
    if op == "has":
        return {"has": [*sorted(first.has(path) for path in other.paths())]}
    operations = {
        "union": first.union,
        "intersection": first.intersection,
        "difference": first.difference,
        "recursiveDifference": first.recursive_difference,
    }
    return {"set": operations[op](other).to_v1_text()}


def random_set(random: Random) -> str:
    """Return the text of a random fieldsV1, sometimes of one that is none."""
    if random.random() < 0.02:
        return random.choice(_WRONG)
    return json.dumps(_random_node(random, 0), ensure_ascii=random.random() < 0.5)


def _random_node(random: Random, depth: int) -> JSONObject:
    node: JSONObject = {}
    if depth and random.random() < 0.3:
        node["."] = {}
    if random.random() < 0.02:
        node["x:later"] = {"f:a": {}}
    for _ in range(random.randint(0, 4 if depth < 4 else 0)):
        node[_random_element(random)] = _random_node(random, depth + 1)
    return node


def _random_element(random: Random) -> str:
    kind = random.choice("fffffkkvvi")
    if kind == "f":
        return "f:" + random.choice((*_TEXTS, "a", "b", "c", "spec"))
    if kind == "i":
        return random.choice(("i:0", "i:12", "i:3", "i:-1", "i:+3", "i:007"))
    value = random.choice((*_TEXTS, *_NUMBERS, True, False, None))
    separators = random.choice(((",", ":"), (", ", ": ")))
    if kind == "v":
        return "v:" + json.dumps(value, separators=separators)
    names = random.sample(("name", "port", "protocol", "<"), random.randint(0, 3))
    keys = {name: random.choice((value, "a", 80)) for name in names}
    return "k:" + json.dumps(keys, separators=separators)


def _thinned(random: Random, text: str) -> str:
    """Return a set that has much in common with another."""
    try:
        node = json.loads(text)
    except ValueError:
        return text
    if not isinstance(node, dict):
        return text
    return json.dumps(_thinned_node(random, node))


def _thinned_node(random: Random, node: JSONObject) -> JSONObject:
    return {
        name: _thinned_node(random, content) if isinstance(content, dict) else content
        for name, content in node.items()
        if random.random() < 0.75
    }


def _set_for(random: Random, value: JSONObject, schema: Schema) -> str:
    try:
        fields = fieldset_of(value, schema)
    except SmpError:
        return "{}"
    if random.random() < 0.5:
        fields = fields.leaves()
    return _thinned(random, fields.to_v1_text())


def random_value(random: Random, type_: Type, depth: int) -> Any:
    """Return a random value of a type, now and then with what no schema allows."""
    if depth and random.random() < 0.04:
        return None
    if isinstance(type_, ScalarType):
        return _scalar(random, type_.name)
    if isinstance(type_, ListType):
        return _list(random, type_, depth)
    if isinstance(type_, ObjectType):
        return _object(random, type_, depth)
    return _anything(random, depth)


def _scalar(random: Random, name: str) -> JSON:
    if name == "boolean":
        return random.choice((True, False))
    if name == "integer":
        return random.choice((0, 1, 80, 443, -1, 2**53))
    if name == "number":
        return random.choice(_NUMBERS)
    if name == "int-or-string":
        return random.choice((80, "80", "25%"))
    return random.choice(_TEXTS)


def _object(random: Random, type_: ObjectType, depth: int) -> JSONObject:
    found: JSONObject = {}
    most = 0 if depth > 6 else 5
    fields = [*type_]
    for field in random.sample(fields, min(len(fields), random.randint(0, most))):
        found[field.name] = random_value(random, field.type, depth + 1)
    others = type_.others
    if others is not None:
        for name in random.sample(_TEXTS, random.randint(0, 2)):
            if not type_.declares(name):
                found[name] = random_value(random, others.type, depth + 1)
    elif not type_.structured:
        found["a"] = _anything(random, depth + 1)
    return found


def _list(random: Random, type_: ListType, depth: int) -> JSONArray:
    elements: JSONArray = []
    for _ in range(random.randint(0, 0 if depth > 6 else 3)):
        element = random_value(random, type_.items, depth + 1)
        if type_.list_type == "map":
            if not isinstance(element, dict):
                element = {}
            for name in type_.map_keys:
                field = type_.items.field(name)
                assert field is not None
                if field.default is ABSENT or random.random() < 0.5:
                    element[name] = random_value(random, field.type, 0)
        if type_.list_type == "set" and element is None:
            continue
        elements.append(element)
    return elements


def _anything(random: Random, depth: int) -> JSON:
    kind = random.choice("stlmm" if depth < 5 else "s")
    if kind == "l":
        return [_anything(random, depth + 1) for _ in range(random.randint(0, 2))]
    if kind == "m":
        names = random.sample(_TEXTS, random.randint(0, 3))
        return {name: _anything(random, depth + 1) for name in names}
    return random.choice((*_TEXTS, *_NUMBERS, True, False, None))
