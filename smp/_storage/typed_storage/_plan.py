"""What typed storage makes of each type, worked out once and kept beside the types.

A plan has a ``GoType`` for each type that objects have come to. It is not a plan of
``smp.schema.plan``: almost every field counts here, and values are replaced.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Final, TypeAlias

import msgspec

from smp._values.values import ABSENT, JSON, MAX_LEVELS, Absent, JSONObject
from smp.paths import Step
from smp.schema.bundle import read_bundled_table
from smp.schema.model import ListType, ObjectType, ScalarType, Schema, Type, Types
from smp.schema.plan import Interest, Interests, plan_of

_METADATA: Final = "metadata"
# A server writes CustomResourceDefinitions as JSON.
_STORED_AS_JSON: Final = "io.k8s.apiextensions-apiserver."

# The names of fields by what happens to them, separated by spaces.
_Facts: TypeAlias = "dict[str, str]"

# What a value is.
UNTYPED: Final = 0
STRUCT: Final = 1
LIST: Final = 2
MAP: Final = 3
EITHER: Final = 4
STRING: Final = 5
INTEGER: Final = 6
BOOLEAN: Final = 7
INT_OR_STRING: Final = 8
QUANTITY: Final = 9
TIME: Final = 10
MICRO_TIME: Final = 11
BYTES: Final = 12
NUMBER: Final = 13

# When a field is printed.
IF_NOT_EMPTY: Final = 0
IF_NOT_NULL: Final = 1
IF_NOT_ZERO: Final = 2
ALWAYS: Final = 3
AS_NULL: Final = 4
AS_NULL_IF_EMPTY: Final = 5

_CONTENTS: Final = {
    "quantity": QUANTITY,
    "time": TIME,
    "microTime": MICRO_TIME,
    "bytes": BYTES,
    "number": NUMBER,
    "intOrString": INT_OR_STRING,
}
_SCALARS: Final = {
    "string": STRING,
    "integer": INTEGER,
    "boolean": BOOLEAN,
    "number": NUMBER,
    "int-or-string": INT_OR_STRING,
}
# The JSON types of what may be empty, by form.
EMPTY_TYPES: Final[dict[int, type]] = {
    STRING: str,
    BYTES: str,
    INTEGER: int,
    BOOLEAN: bool,
    LIST: list,
    MAP: dict,
    EITHER: list,
}
# What is printed of a zero value; null for all other forms but a struct.
_ZEROS: Final[dict[int, JSON]] = {
    STRING: "",
    INTEGER: 0,
    BOOLEAN: False,
    INT_OR_STRING: 0,
    QUANTITY: "0",
    NUMBER: 0,
}


class _StorageTable(msgspec.Struct, frozen=True):
    types: dict[str, dict[str, dict[str, str]]]


def go_types() -> Mapping[str, Mapping[str, _Facts]]:
    """Return the table: packages with types with what happens to their fields."""
    return read_bundled_table("typed_storage.json", _StorageTable).types


def zero_key(type_: Type, name: str) -> JSON | Absent:
    """Return the zero value of a scalar that Go always prints; ABSENT for all others.

    The schemas of a server have it as the default of the field, so that an element of a
    list may lack its key. Published schemas lack it.
    """
    if not isinstance(type_, ObjectType):
        return ABSENT
    package, _, short = type_.name.rpartition(".")
    facts = go_types().get(package, {}).get(short, {})
    field = type_.field(name)
    if field is None or name not in facts.get("always", "").split(" "):
        return ABSENT
    scalar = field.type
    return _ZEROS[_SCALARS[scalar.name]] if isinstance(scalar, ScalarType) else ABSENT


def is_pointer(type_: Type, step: Step) -> bool:
    """Tell whether a field is a pointer to a scalar in Go, so that zero is a value."""
    package, _, short = getattr(type_, "name", "").rpartition(".")
    facts = go_types().get(package, {}).get(short, {})
    return step in facts.get("pointer", "").split(" ")


class _EmbeddedInterest(Interest):
    """Objects in a custom resource that have metadata of their own."""

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002
        return type_ if isinstance(type_, ObjectType) and type_.embedded else None


_EMBEDDED: Final = Interests(_EmbeddedInterest("embedded objects"))


class GoType:
    """What typed storage makes of the values of one type.

    ``zero`` is what is printed where Go has the zero value. ``inner`` is the type of
    the elements of a list and of the entries of a map, ``struct`` has the fields of an
    object.
    """

    def __init__(self, form: int) -> None:
        self.form = form
        self.zero: JSON = _ZEROS.get(form)
        self.inner: GoType | None = None
        self.struct: Struct | None = None


class PlannedMember:
    """What typed storage makes of one field."""

    def __init__(self, type_: GoType, presence: int) -> None:
        self.type = type_
        self.presence = presence
        self.zero: JSON = type_.zero if presence == ALWAYS else None


class Struct:
    """The fields of a Go struct."""

    def __init__(self, plan: StoragePlan, type_: ObjectType, facts: _Facts) -> None:
        self.members: dict[str, PlannedMember] = {}
        # What is printed of the fields that are always there.
        self.always: list[tuple[str, JSON]] = []
        self.plan = plan
        self.type = type_
        self._facts: dict[str, list[str]] = {}
        for happens, names in facts.items():
            for name in names.split(" "):
                self._facts.setdefault(name, []).append(happens)

    def zero(self) -> JSONObject:
        """Return what is printed of the zero value; called once."""
        # Structs in structs end somewhere: Go has no type that contains itself.
        for name, facts in self._facts.items():
            if "always" in facts or "null" in facts:
                member = self.member(name)
                if member is not None:
                    self.always.append((name, member.zero))
        return dict(self.always)

    def member(self, name: str) -> PlannedMember | None:
        """Return a field; None where nothing happens to it, and where it is unknown."""
        field = self.type.field(name) if self.type.declares(name) else None
        if field is None:
            return None
        facts = self._facts.get(name, [])
        content = UNTYPED
        for fact in facts:
            content = _CONTENTS.get(fact, content)
        type_ = self.plan.of(field.type, content)
        presence = IF_NOT_NULL
        if "always" in facts:
            presence = ALWAYS
        elif "null" in facts:
            presence = AS_NULL
            is_protobuf = not self.type.name.startswith(_STORED_AS_JSON)
            if self.plan.at_rest and is_protobuf and type_.form in (LIST, MAP):
                # Protobuf does not tell an empty list from none.
                presence = AS_NULL_IF_EMPTY
        elif "omitZero" in facts:
            presence = IF_NOT_ZERO
        elif type_.form in EMPTY_TYPES and "pointer" not in facts:
            presence = IF_NOT_EMPTY
        self.members[name] = PlannedMember(type_, presence)
        return self.members[name]


class CustomObject(Struct):
    """The fields of an object in a custom resource, which has no Go type.

    Its metadata has one, where it is the root or an embedded object (Go:
    apiextensions-apiserver, pkg/apiserver, unstructuredSchemaCoercer).
    """

    def __init__(self, plan: StoragePlan, type_: ObjectType) -> None:
        super().__init__(plan, type_, {})
        self._nowhere: set[str] = set()

    def member(self, name: str) -> PlannedMember | None:
        """Return a field below which there is metadata."""
        if name in self._nowhere or not self.type.declares(name):
            return None
        field = self.type.field(name)
        if field is None:
            return None
        if name == _METADATA and field.reference:
            found = self.plan.of(field.type, UNTYPED)
        else:
            found = self.plan.custom(field.type)
        if found.form == UNTYPED:
            self._nowhere.add(name)
            return None
        self.members[name] = PlannedMember(found, AS_NULL)
        return self.members[name]


class StoragePlan:
    """What typed storage makes of the types of a catalog, which are linked lazily.

    ``at_rest``: what it makes of them after they were written to etcd.
    """

    def __init__(self, types: Types, *, at_rest: bool) -> None:
        self.at_rest = at_rest
        self._types = types
        self._embedded = plan_of(types, _EMBEDDED)
        self._objects: dict[Type, GoType] = {}
        # Those that are not complete yet. Only what holds the lock sees them.
        self._begun: dict[Type, GoType] = {}
        self._lock = RLock()

    def root(self, type_: Type) -> GoType:
        """Return what happens to a whole object."""
        found = self.of(type_, UNTYPED)
        if found.form == UNTYPED and isinstance(type_, ObjectType):
            found.form = STRUCT
            found.struct = CustomObject(self, type_)
        return found

    def of(self, type_: Type, content: int, levels: int = MAX_LEVELS) -> GoType:
        """Return what happens to a type; ``content`` is the form of its scalars.

        Raises RecursionError for a list, or a map, of nothing but itself.
        """
        if not levels:
            raise RecursionError
        if isinstance(type_, ScalarType):
            return GoType(content or _SCALARS[type_.name])
        if isinstance(type_, ListType):
            found = GoType(LIST)
            found.inner = self.of(type_.items, content, levels - 1)
            return found
        if not isinstance(type_, ObjectType):
            return GoType(UNTYPED)
        if type_ in self._objects:
            return self._objects[type_]
        others = type_.others
        if not type_.name and not type_.structured and others is not None:
            found = GoType(MAP)
            inner = self.of(others.type, content, levels - 1)
            if self.at_rest and inner.form == BYTES:
                # Protobuf has a value for each name of a map.
                inner.zero = ""
            elif self.at_rest and inner.form == LIST:
                inner.zero = []
            found.inner = inner
            return found
        return self._find_named_type(type_)

    def _find_named_type(self, type_: ObjectType) -> GoType:
        """Return what happens to an object of a type, which is kept."""
        with self._lock:
            found = self._objects.get(type_) or self._begun.get(type_)
            if found is not None:
                return found
            is_outermost = not self._begun
            try:
                found = self._make_type(type_)
                if is_outermost:
                    self._objects.update(self._begun)
                return found
            finally:
                # Also where the thread is ended: no type is ever kept in part.
                if is_outermost:
                    self._begun.clear()

    def _make_type(self, type_: ObjectType) -> GoType:
        package, _, name = type_.name.rpartition(".")
        facts = go_types().get(package, {}).get(name)
        if facts is None:
            found = GoType(UNTYPED)
        elif "either" in facts:
            found = GoType(EITHER)
        else:
            found = GoType(STRUCT)
        # Known before it is complete, because it may contain a list of itself.
        self._begun[type_] = found
        if facts is not None and found.form == EITHER:
            found.inner = self.of(self._types.named(facts["either"]), UNTYPED)
            found.struct = found.inner.struct
        elif facts is not None:
            found.struct = Struct(self, type_, facts)
            found.zero = found.struct.zero()
        return found

    def custom(self, type_: Type, levels: int = MAX_LEVELS) -> GoType:
        """Return what happens to a value in a custom resource. Raises as ``of``."""
        if not levels:
            raise RecursionError
        if not self._embedded.leads(type_):
            return GoType(UNTYPED)
        if isinstance(type_, ListType):
            found = GoType(LIST)
            found.inner = self.custom(type_.items, levels - 1)
            return found
        if not isinstance(type_, ObjectType):
            return GoType(UNTYPED)
        others = type_.others
        if not type_.structured and others is not None:
            found = GoType(MAP)
            found.inner = self.custom(others.type, levels - 1)
            return found
        found = GoType(STRUCT)
        found.struct = CustomObject(self, type_)
        return found


def storage_plan(types: Types, *, at_rest: bool = False) -> StoragePlan:
    """Return the plan of a catalog, which is kept beside its types."""
    name = "typed storage at rest" if at_rest else "typed storage"
    plan = types.plans.get(name)
    if not isinstance(plan, StoragePlan):
        plan = StoragePlan(types, at_rest=at_rest)
        types.plans[name] = plan
    return plan


def is_typed(schema: Schema) -> bool:
    """Tell whether a server has Go structs for a kind, as for all built-in ones.

    All of them print something of an empty object. It prints nothing of an empty
    custom resource.
    """
    struct = storage_plan(schema.types).root(schema.type).struct
    return struct is not None and bool(struct.always)
