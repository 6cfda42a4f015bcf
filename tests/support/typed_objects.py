"""Random objects of built-in kinds, and what Go structs make of them.

The objects have what typed storage acts on: zero values, nulls, empty lists and maps,
and quantities, times, numbers and base64 in many spellings. The Go program in
tests/typed_storage/oracle decodes and prints them.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Final

import pytest

import smp
from smp._values.values import JSON, JSONObject
from smp.schema.model import Field, ListType, ObjectType, ScalarType, Schema, Type
from tests.support.paths import ROOT
from tests.support.reference import Reference, reference

GO_MODULE: Final = ROOT / "tests" / "typed_storage" / "oracle"
# That of go.mod in the module.
VERSION: Final = "1.36"
_DEEPEST: Final = 9

_NUMBERS: Final = ("0", "1", "5", "00", "05", "100", "1000", "1024", "2048", "8", "64")
_FRACTIONS: Final = ("", "", "", ".", ".5", ".0", ".500", ".25", ".0001", ".1234567891")
_SUFFIXES: Final = (
    *("", "", "m", "u", "n", "k", "M", "G", "T", "P", "E"),
    *("Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E2", "e-2", "e0", "e-10", "e+4"),
)
_QUANTITIES: Final[tuple[JSON, ...]] = (
    *("123456789012345678901", "9223372036854775807", "9223372036854775808Ki"),
    *("0.000000000001", "-1500m", "-2048Ki", "-0", "+5", " 5Gi ", "1e100", "12E", "E"),
    *("1000E", "9Ei", "0.1Ki", "1.5Gi", "1023Ki", "1536Mi", "12345678901234567Mi"),
    *(0, 1, 1000, 5, -3, 1.5, 0.001),
)
_TIMES: Final = (
    *("2026-11-22T13:26:19Z", "2026-11-22T13:26:19.123456Z", "0001-01-01T00:00:00Z"),
    *("2026-11-22T13:26:19+02:00", "2026-02-28T23:59:59-01:30", "2024-02-29T00:00:00Z"),
    *("2026-11-22T13:26:19,5Z", "2026-11-22T13:26:19.123456-07:00"),
    *("2026-11-22T13:26:19.000000Z", "2026-11-22T00:26:19.100000+05:45"),
)
_BASE64: Final = ("", "YQ==", "YWI=", "YWJj", "YW\nJj", "YR==")
_TEXTS: Final = ("", "", "a", "b", "app.kubernetes.io/name", "<&>", "é")
_INTEGERS: Final = (0, 0, 1, 80, -3)
_DOUBLES: Final = (0, 1, 1.0, 0.5, 1e21, 1e-7, -2.0, 9007199254740993)
# Any JSON, by the name of its type.
_FREE: Final[dict[str, tuple[JSON, ...]]] = {
    "JSON": ("", "a", 0, False, [], {}, {"a": None, "b": ""}, [None, ""]),
    "RawExtension": ({}, {"a": None, "b": {"c": ""}}),
    "FieldsV1": ({}, {"f:spec": {"f:a": {}}}),
}
_SCHEMA_OR: Final = "JSONSchemaPropsOr"


def oracle() -> Reference | None:
    """Return the Go program, or None where it cannot be built."""
    return reference(GO_MODULE)


needs_oracle: Final = pytest.mark.skipif(
    f"__import__('sys').modules[{__name__!r}].oracle() is None",
    reason="tests/typed_storage/oracle was not built (SMP_GO=build), or cannot be",
)


@cache
def kinds() -> tuple[tuple[str, str], ...]:
    """Return the kinds of objects, without those of lists and options."""
    catalog = smp.kubernetes(VERSION)
    found = []
    for api_version, kind in catalog.kinds():
        type_ = catalog.schema(api_version, kind).type
        field = type_.field("metadata")
        if field is not None and field.reference.endswith(".ObjectMeta"):
            found.append((api_version, kind))
    return tuple(found)


@cache
def _schema_type() -> ObjectType:
    definition = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    field = smp.kubernetes(VERSION).schema(*definition).descend("spec", "versions")
    versions = field.type.items.field("schema")
    assert versions is not None
    root = versions.type.field("openAPIV3Schema")
    assert root is not None
    assert isinstance(root.type, ObjectType)
    return root.type


def objects(seed: int, count: int) -> list[JSONObject]:
    """Return random objects."""
    random = Random(f"typed storage {seed}")
    catalog = smp.kubernetes(VERSION)
    made = []
    for _ in range(count):
        kind = random.choice(kinds())
        schema = catalog.schema(*kind)
        made.append(
            {**random_object(random, schema), "apiVersion": kind[0], "kind": kind[1]}
        )
    return made


def random_object(random: Random, schema: Schema) -> JSONObject:
    """Return a random object of a schema, without apiVersion and kind."""
    type_ = schema.type
    assert isinstance(type_, ObjectType)
    return _object(random, type_, 0)


def with_zero_values(random: Random, obj: JSONObject, schema: Schema) -> JSONObject:
    """Return an object with zero values, nulls and empty lists added to it.

    What is in it stays, so that most results are valid where the object is.
    """
    return _with_zero_values(random, obj, schema.type)


def _with_zero_values(random: Random, obj: JSONObject, type_: Type) -> JSONObject:
    if not isinstance(type_, ObjectType) or not type_.structured:
        return obj
    result: JSONObject = {}
    for field in type_:
        value = obj.get(field.name)
        inner = field.type
        if isinstance(value, dict):
            result[field.name] = _with_zero_values(random, value, inner)
        elif isinstance(value, list):
            result[field.name] = [
                _with_zero_values(random, element, inner.items)
                if isinstance(element, dict)
                else element
                for element in value
            ]
        elif field.name in obj:
            result[field.name] = value
        elif random.random() < 0.06:
            result[field.name] = _zero(random, inner)
    return result


def _zero(random: Random, type_: Type) -> JSON:
    if random.random() < 0.4:
        return None
    if isinstance(type_, ListType):
        return []
    if isinstance(type_, ScalarType):
        zeros: dict[str, JSON] = {"boolean": False, "integer": 0, "number": 0}
        return zeros.get(type_.name, "")
    return {}


def _object(random: Random, type_: ObjectType, depth: int) -> JSONObject:
    fields = [field for field in type_ if field.name not in ("apiVersion", "kind")]
    # Few of many, so that an object of a large type has some depth.
    chance = min(0.9, 4 / (1 + len(fields)))
    if depth <= 1:
        chance = max(chance, 0.6)
    made: JSONObject = {}
    for field in fields:
        if random.random() < chance:
            made[field.name] = _field(random, field, depth)
    return made


def _field(random: Random, field: Field, depth: int) -> JSON:
    if random.random() < 0.12:
        return None
    return _value(random, field.type, field.reference, depth + 1)


def _value(random: Random, type_: Type, reference: str, depth: int) -> JSON:
    if isinstance(type_, ScalarType):
        return _scalar(random, type_, reference)
    if isinstance(type_, ListType):
        count = 0 if depth > _DEEPEST else random.choice((0, 1, 1, 2))
        made: list[JSON] = []
        for _ in range(count):
            is_null = random.random() < 0.05
            # What a list of quantities refers to is not known; texts are refused.
            made.append(None if is_null else _value(random, type_.items, "", depth + 1))
        return made
    if not isinstance(type_, ObjectType) or depth > _DEEPEST:
        return {}
    simple_name = type_.name.rpartition(".")[2]
    if simple_name in _FREE:
        return random.choice(_FREE[simple_name])
    if simple_name.startswith(_SCHEMA_OR):
        schema = _object(random, _schema_type(), depth + 1)
        others: dict[str, list[JSON]] = {
            "Bool": [True, False],
            "Array": [[schema], [schema, {}]],
            "StringArray": [["a"], ["a", "b"]],
        }
        return random.choice([schema, *others[simple_name.removeprefix(_SCHEMA_OR)]])
    if not type_.name and type_.others is not None:
        names = random.sample(("a", "b", "cpu", "memory"), random.choice((0, 1, 2)))
        return {name: _field(random, type_.others, depth) for name in names}
    return _object(random, type_, depth)


def _scalar(random: Random, type_: ScalarType, reference: str) -> JSON:
    if reference.endswith(".Quantity"):
        if random.random() < 0.3:
            return random.choice(_QUANTITIES)
        parts = (random.choice(pool) for pool in (_NUMBERS, _FRACTIONS, _SUFFIXES))
        return "".join(parts)
    if reference.endswith("Time"):
        return random.choice(_TIMES)
    if type_.name == "boolean":
        return random.choice((True, False))
    if type_.name == "integer":
        return random.choice(_INTEGERS)
    if type_.name == "number":
        return random.choice(_DOUBLES)
    if type_.name == "int-or-string":
        return random.choice((0, 80, "", "http", "25%"))
    return random.choice((*_TEXTS, *_BASE64))
