"""Random values of JSON and of anything else, for calls that no caller means.

The same number makes the same values.
"""

from __future__ import annotations

import copy
import enum
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Callable
from random import Random
from types import MappingProxyType
from typing import Any, Final

import msgspec

import smp
from tests.support.makers import Maker


class Number(enum.IntEnum):
    """An integer of another type."""

    ONE = 1
    HTTP = 80


class Word(str, enum.Enum):  # noqa: UP042  # its str() is not its text
    """A string of another type."""

    NAME = "name"
    SPEC = "spec"


# fmt: off
NAMES: Final = (
    "", "a", "b", "name", "port", "key", "type", "value", "apiVersion", "kind",
    "metadata", "labels", "annotations", "finalizers", "ownerReferences", "spec",
    "template", "containers", "env", "ports", "volumes", "emptyDir", "hostPath",
    "strategy", "rollingUpdate", "data", "status", "conditions", "$patch",
    "$retainKeys", "$setElementOrder/containers", "$setElementOrder/ports",
    "$setElementOrder", "$deleteFromPrimitiveList/finalizers",
    "$deleteFromPrimitiveList/", "kubectl.kubernetes.io/last-applied-configuration",
)
TEXTS: Final = (
    *NAMES, "replace", "delete", "merge", "Recreate", "RollingUpdate", "v1", "Pod",
    "apps/v1", "Deployment", "\ud800", "\x00", "é", "x" * 5000, "{}", "[", "null",
)
SCHEMA_NAMES: Final = (
    "definitions", "components", "schemas", "properties", "items", "type", "$ref",
    "additionalProperties", "allOf", "oneOf", "anyOf", "enum", "default", "required",
    "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key", "nullable",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
    "x-kubernetes-unions", "x-kubernetes-group-version-kind",
    "x-kubernetes-int-or-string", "fields", "values", "any", "is", "strategy", "key",
    "list_type", "map_keys",
    "unions", "discriminator", "members", "empty", "profile", "fieldMembers", "types",
    "kinds", "spec", "versions", "schema", "openAPIV3Schema", "names", "group", "a",
)
SCHEMA_TEXTS: Final = (
    *SCHEMA_NAMES, "object", "array", "string", "integer", "int-or-string", "#", "#a",
    "#/definitions/a", "#/components/schemas/a", "merge,retainKeys", "map", "set",
    "kep1027", "smd", "1.31+", "1.26-1.30",
)
# fmt: on
SCALARS: Final = (None, True, False, 0, 1, 80, -1, 1 << 63, 10**30, 0.5, -0.0, 1e308)
STRANGE: Final = (
    10**5_000,
    float("nan"),
    float("inf"),
    b"bytes",
    {"set"},
    object(),
    Number.HTTP,
    Word.NAME,
    msgspec.Raw(b'{"name":"a"}'),
    msgspec.Raw(b"[1"),
    1j,
    smp.ABSENT,
)
MAPPINGS: Final[tuple[Callable[[Any], Any], ...]] = (
    OrderedDict,
    UserDict,
    MappingProxyType,
    lambda members: defaultdict(dict, members),
)
DEPTHS: Final = (30, 99, 101, 149, 298, 301, 400, 999, 3_000)


class Hostile:
    """Makes the arguments of one call."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        self.maker = Maker(number)
        # Half of the calls have JSON only: they come further.
        self.strange = self.random.random() < 0.5

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def value(
        self,
        depth: int = 0,
        names: tuple[str, ...] = NAMES,
        texts: tuple[str, ...] = TEXTS,
    ) -> Any:
        """Make any value."""
        if self.chance(0.004):
            return self.deep()
        if depth > 5 or self.chance(0.3):
            if self.strange and self.chance(0.15):
                return self.random.choice(STRANGE)
            return self.random.choice((*SCALARS, *self.random.choices(texts, k=12)))
        count = self.random.choice((0, 1, 1, 2, 3))
        if self.chance(0.35):
            elements = [self.value(depth + 1, names, texts) for _ in range(count)]
            if self.strange and self.chance(0.2):
                return tuple(elements)
            return elements
        members: dict[Any, Any] = {}
        for _ in range(count):
            name: Any = self.random.choice(names)
            if self.strange and self.chance(0.03):
                name = self.random.choice((1, None, Word.SPEC, ("a",), b"a", True))
            members[name] = self.value(depth + 1, names, texts)
        if self.strange and self.chance(0.2):
            return self.random.choice(MAPPINGS)(members)
        return members

    def deep(self) -> Any:
        """Make a value that is deep, or contains itself."""
        name = self.random.choice(("a", "spec", "template", "containers", "items"))
        value: Any = self.random.choice(SCALARS)
        form = self.random.randrange(4)
        for _ in range(self.random.choice(DEPTHS)):
            if form == 0:
                value = {name: value}
            elif form == 1:
                value = [value]
            else:
                value = {name: [{"name": "a", "type": "array", "k": value}]}
        if form == 3:
            circle: dict[str, Any] = {"name": "a"}
            circle[name] = [circle] if self.chance(0.5) else circle
            return circle
        return value

    def schema(self) -> smp.Schema:
        """Choose the schema of a kind, or make one of a random type document."""
        if self.chance(0.85):
            schema = self.maker.subject().schema
        else:
            schema = smp.Schema.inline(self.type(), {"a": self.type(), "b": "#a"})
        return schema.with_unknown_fields("merge") if self.chance(0.2) else schema

    def type(self, depth: int = 0) -> Any:
        """Make a type document, mostly of the right form."""
        if depth > 3 or self.chance(0.2):
            return self.random.choice(
                ("string", "any", "#a", "#b", "integer", "#", "x")
            )
        if self.chance(0.05):
            return self.value(0, SCHEMA_NAMES, SCHEMA_TEXTS)
        if self.chance(0.3):
            keys = ["name"] if self.chance(0.5) else self.value(4)
            return {"items": self.type(depth + 1), "list_type": "map", "map_keys": keys}
        fields = {}
        for name in self.random.choices(NAMES, k=4):
            facets = {"is": self.type(depth + 1), "strategy": "merge", "key": "name"}
            fields[name] = facets if self.chance(0.5) else self.type(depth + 1)
        document = {"fields": fields}
        if self.chance(0.3):
            document[self.random.choice(SCHEMA_NAMES)] = self.value(4)
        return document

    def objects(self, schema: smp.Schema) -> tuple[Any, Any, Any]:
        """Make three objects of a schema, or a patch among them, and spoil some."""
        if self.chance(0.15):
            return self.value(), self.value(), self.value()
        if schema.kind or self.chance(0.5):
            live = self.maker.object(schema)
            made = [
                live,
                self.maker.extended(live, schema),
                self.maker.patch(live, schema),
            ]
        else:
            made = [self.value(), self.value(), self.value()]
        self.random.shuffle(made)
        first, second, third = (self.spoiled(each) for each in made)
        return first, second, third

    def spoiled(self, value: Any) -> Any:
        """Replace a part of a value by any other value, or by one of another type."""
        if not self.chance(0.6):
            return value
        steps = _steps(value)
        if not steps:
            return self.other(value)
        # Only the way to the place is copied.
        value = copy.copy(value)
        place = value
        while True:
            step = self.random.choice(steps)
            below = place[step]
            steps = _steps(below)
            if not steps or self.chance(0.25):
                place[step] = self.other(below)
                return value
            place[step] = copy.copy(below)
            place = place[step]

    def other(self, value: Any) -> Any:
        """Return a value as one of another type, or any other value."""
        if self.strange and isinstance(value, dict) and self.chance(0.5):
            return self.random.choice(MAPPINGS)(value)
        if self.strange and isinstance(value, list) and self.chance(0.5):
            return tuple(value)
        return self.value(3)

    def text(self, value: Any) -> Any:
        """Print a value as JSON, and break the text sometimes."""
        try:
            data = msgspec.json.encode(value)
        except (TypeError, ValueError, RecursionError):
            data = self.random.choice(
                (b"", b"{", b"[" * 100_000, b'{"a":' * 900, b"\xff", b"1e999", b"NaN")
            )
        if self.chance(0.1):
            at = self.random.randrange(len(data) + 1)
            data = data[:at] + self.random.choice((b"", b",", b"{", b"\xff", b'"'))
        if self.chance(0.1):
            return self.random.choice((bytearray, memoryview, _decoded))(data)
        if self.chance(0.02):
            return self.random.choice((*SCALARS, [], {}, "\ud800"))
        return data

    def options(self, **choices: tuple[Any, ...]) -> dict[str, Any]:
        """Choose options, sometimes of a wrong value or type."""
        chosen: dict[str, Any] = {}
        for name, values in choices.items():
            if self.chance(0.5):
                chosen[name] = self.random.choice(values)
            if self.chance(0.03):
                chosen[name] = self.random.choice(("zzz", [], {}, None, 1))
        return chosen

    def operations(self) -> Any:
        """Make the operations of a JSON Patch."""
        if self.chance(0.2):
            return self.value()
        made = []
        for _ in range(self.random.randrange(4)):
            steps = self.random.choices((*NAMES, "0", "-", "~0", "01"), k=2)
            made.append(
                {
                    "op": self.random.choice(
                        ("add", "remove", "replace", "move", "copy", "test", "x")
                    ),
                    "path": "/" + "/".join(steps),
                    "from": "/" + self.random.choice(NAMES),
                    "value": self.value(3),
                }
            )
        return self.spoiled(made)


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace")


def _steps(value: Any) -> list[Any]:
    if type(value) is dict:
        return [*value]
    return [*range(len(value))] if type(value) is list else []


PROFILES: Final = ("kep1027", "kep1027-draft", "kep2019", "smd", "validate-only", "off")
BOTH: Final = (True, False)
