"""One walk along an object and its type, with what typed storage makes of each field.

A plan keeps, beside each type, which of its fields are always there, and what happens
to those that an object has. It is not one of ``smp.schema.walk``: almost every field
counts, and values are replaced, so that a walk by hand takes a fraction of the time.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, TypeAlias

import msgspec

import smp.schema
from smp.errors import bounded
from smp.schema.model import (
    Field,
    ListType,
    ObjectType,
    ScalarType,
    Schema,
    Type,
    Types,
)
from smp.typed_storage._scalars import base64, double, micro_time, quantity, time
from smp.values import (
    ABSENT,
    JSON,
    MAX_LEVELS,
    Absent,
    JSONArray,
    JSONObject,
    as_object,
)

_FILE: Final = f"{smp.schema.__path__[0]}/bundled/typed_storage.json"
_PLAN: Final = "typed storage"
# A custom resource has no Go type; its metadata has (Go: apiextensions-apiserver,
# pkg/apiserver, unstructuredSchemaCoercer).
_METADATA: Final = "metadata"

# The names of fields by what happens to them, separated by spaces.
_Facts: TypeAlias = "dict[str, str]"

# What a value is.
_UNTYPED: Final = 0
_STRUCT: Final = 1
_LIST: Final = 2
_MAP: Final = 3
_EITHER: Final = 4
_STRING: Final = 5
_INTEGER: Final = 6
_BOOLEAN: Final = 7
_INT_OR_STRING: Final = 8
_QUANTITY: Final = 9
_TIME: Final = 10
_MICRO_TIME: Final = 11
_BYTES: Final = 12
_NUMBER: Final = 13

# What the values of a form are that may be empty.
_JSON_TYPES: Final[dict[int, type]] = {
    _STRING: str,
    _BYTES: str,
    _INTEGER: int,
    _BOOLEAN: bool,
    _LIST: list,
    _MAP: dict,
}
_PRINTED: Final[dict[int, Callable[[JSON], JSON]]] = {
    _QUANTITY: quantity,
    _TIME: time,
    _MICRO_TIME: micro_time,
    _BYTES: base64,
    _NUMBER: double,
}

# What is printed of a zero value; null for all other forms but a struct.
_ZEROS: Final[dict[int, JSON]] = {
    _STRING: "",
    _INTEGER: 0,
    _BOOLEAN: False,
    _INT_OR_STRING: 0,
    _QUANTITY: "0",
    _NUMBER: 0,
}

# When a field is printed.
_IF_NOT_EMPTY: Final = 0
_IF_NOT_NULL: Final = 1
_IF_NOT_ZERO: Final = 2
_ALWAYS: Final = 3
_AS_NULL: Final = 4

_CONTENTS: Final = {
    "quantity": _QUANTITY,
    "time": _TIME,
    "microTime": _MICRO_TIME,
    "bytes": _BYTES,
    "number": _NUMBER,
    "intOrString": _INT_OR_STRING,
}
_SCALARS: Final = {
    "string": _STRING,
    "integer": _INTEGER,
    "boolean": _BOOLEAN,
    "number": _NUMBER,
    "int-or-string": _INT_OR_STRING,
}


@cache
def _table() -> Mapping[str, Mapping[str, _Facts]]:
    with open(_FILE, "rb") as file:  # noqa: PTH123  # without loading pathlib
        document = msgspec.json.decode(file.read())
    packages: dict[str, dict[str, _Facts]] = document["types"]
    return packages


class _GoType:
    """What typed storage makes of the values of one type."""

    __slots__ = (
        "_facts",
        "_type",
        "always",
        "form",
        "inner",
        "members",
        "plan",
        "zero",
    )

    def __init__(self, plan: _Plan, form: int) -> None:
        self.plan = plan
        self.form = form
        # That of the elements of a list, or of the entries of a map.
        self.inner: _GoType | None = None
        # What is printed where Go has the zero value.
        self.zero: JSON = _ZEROS.get(form)
        # Of a struct: its fields, and what is printed of those that are always there.
        self.members: dict[str, _Member] = {}
        self.always: list[tuple[str, JSON]] = []
        self._type: Type | None = None
        self._facts: dict[str, list[str]] = {}

    def declare(self, type_: ObjectType, facts: _Facts) -> None:
        """Take the fields of a struct."""
        self._type = type_
        for happens, names in facts.items():
            for name in names.split(" "):
                self._facts.setdefault(name, []).append(happens)
        zero: JSONObject = {}
        # Structs in structs end somewhere: Go has no type that contains itself.
        for name in self._facts:
            if type_.declares(name):
                member = self.member(name)
                if member is not None and member.presence >= _ALWAYS:
                    zero[name] = member.zero
                    self.always.append((name, member.zero))
        self.zero = zero

    def member(self, name: str) -> _Member | None:
        """Return a field of a struct; None where typed storage does not know it."""
        member = self.members.get(name)
        if member is not None:
            return member
        type_ = self._type
        if not isinstance(type_, ObjectType) or not type_.declares(name):
            return None
        field = type_.field(name)
        if field is None:
            return None
        member = _Member(self.plan, field, self._facts.get(name, []))
        self.members[name] = member
        return member


class _Member:
    """What typed storage makes of one field."""

    __slots__ = ("presence", "type", "zero")

    def __init__(self, plan: _Plan, field: Field, facts: list[str]) -> None:
        content = _UNTYPED
        for fact in facts:
            content = _CONTENTS.get(fact, content)
        self.type = plan.of(field.type, content)
        form = self.type.form
        if "always" in facts:
            self.presence = _ALWAYS
        elif "null" in facts:
            self.presence = _AS_NULL
        elif "omitZero" in facts:
            self.presence = _IF_NOT_ZERO
        elif form in _JSON_TYPES:
            self.presence = _IF_NOT_NULL if "pointer" in facts else _IF_NOT_EMPTY
        else:
            self.presence = _IF_NOT_NULL
        self.zero: JSON = self.type.zero if self.presence == _ALWAYS else None


class _Plan:
    """What typed storage makes of the types of a catalog, which are linked lazily."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._structs: dict[Type, _GoType] = {}

    def of(self, type_: Type, content: int) -> _GoType:
        """Return what happens to a type; ``content`` is the form of its scalars."""
        if isinstance(type_, ScalarType):
            return _GoType(self, content or _SCALARS[type_.name])
        if isinstance(type_, ListType):
            found = _GoType(self, _LIST)
            found.inner = self.of(type_.items, content)
            return found
        if not isinstance(type_, ObjectType):
            return _GoType(self, _UNTYPED)
        others = type_.others
        if not type_.name and not type_.structured and others is not None:
            found = _GoType(self, _MAP)
            found.inner = self.of(others.type, content)
            return found
        return self.struct(type_)

    def struct(self, type_: ObjectType) -> _GoType:
        """Return what happens to an object of a type, which has a name."""
        if type_ in self._structs:
            return self._structs[type_]
        package, _, name = type_.name.rpartition(".")
        facts = _table().get(package, {}).get(name)
        if facts is None:
            found = _GoType(self, _UNTYPED)
        elif "either" in facts:
            found = _GoType(self, _EITHER)
            inner = self._types.named(facts["either"])
            if isinstance(inner, ObjectType):
                found.inner = self.struct(inner)
        else:
            found = _GoType(self, _STRUCT)
        self._structs[type_] = found
        if found.form == _STRUCT and facts is not None:
            found.inner = found
            found.declare(type_, facts)
        return found


@bounded("the object")
def stored(
    obj: JSONObject, schema: Schema, old: JSONObject | None = None
) -> JSONObject:
    """Return an object as a typed API server prints what it decoded.

    Zero values and nulls are dropped, or filled in where they are always printed; times
    and quantities are canonical. What the object shares with ``old``, which was stored
    before, is not visited. Unknown fields and values of wrong types stay, and so does
    all but the metadata of a custom resource. Subtrees without a change are shared, and
    the object itself is returned where nothing changes. ``stored({}, schema)`` is what
    is printed of an empty object. Raises DepthError (Go: encoding/json, and the
    marshallers of apimachinery).
    """
    if obj is old:
        return obj
    type_ = schema.type
    if not isinstance(type_, ObjectType):
        return obj
    plan = schema.types.plans.get(_PLAN)
    if not isinstance(plan, _Plan):
        plan = _Plan(schema.types)
        schema.types.plans[_PLAN] = plan
    struct = plan.struct(type_)
    if struct.form == _STRUCT:
        return _struct(obj, old, struct, MAX_LEVELS)
    return _with_metadata(obj, old, type_, plan)


def _with_metadata(
    obj: JSONObject, old: JSONObject | None, type_: ObjectType, plan: _Plan
) -> JSONObject:
    metadata = obj.get(_METADATA)
    field = type_.field(_METADATA) if type_.declares(_METADATA) else None
    if field is None or not isinstance(metadata, dict):
        return obj
    struct = plan.of(field.type, _UNTYPED)
    if struct.form != _STRUCT:
        return obj
    before = None if old is None else as_object(old.get(_METADATA))
    after = _struct(metadata, before, struct, MAX_LEVELS)
    return obj if after is metadata else {**obj, _METADATA: after}


def _struct(
    value: JSONObject, old: JSONObject | None, type_: _GoType, levels: int
) -> JSONObject:
    if not levels:
        raise RecursionError
    changed: dict[str, JSON | Absent] = {}
    was: JSON | Absent = ABSENT
    for name, content in value.items():
        if old is not None:
            was = old.get(name, ABSENT)
            if content is was:
                continue
        member = type_.members.get(name)
        if member is None:
            member = type_.member(name)
            if member is None:
                continue
        after = _member(content, was, member, levels - 1)
        if after is not content:
            changed[name] = after
    for name, zero in type_.always:
        if name not in value:
            changed[name] = zero  # noqa: PERF403  # an update costs more, most add none
    if not changed:
        return value
    result: JSONObject = {}
    for name, after in {**value, **changed}.items():
        if not isinstance(after, Absent):
            result[name] = after
    return result


def _member(
    value: JSON, old: JSON | Absent, member: _Member, levels: int
) -> JSON | Absent:
    presence = member.presence
    if value is None:
        # Go decodes null to the zero value.
        return member.zero if presence >= _ALWAYS else ABSENT
    form = member.type.form
    if presence == _IF_NOT_EMPTY and not value and type(value) is _JSON_TYPES[form]:
        return ABSENT
    if form in (_STRING, _INTEGER, _BOOLEAN, _UNTYPED):
        return value
    after = _value(value, old, member.type, levels)
    # The zero time is null. A pointer to it is printed.
    return ABSENT if after is None and presence == _IF_NOT_ZERO else after


def _value(value: JSON, old: JSON | Absent, type_: _GoType, levels: int) -> JSON:
    form = type_.form
    inner = type_.inner
    if inner is None:
        printed = _PRINTED.get(form)
        return value if printed is None else printed(value)
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else None
        if form == _MAP:
            return _map(value, before, inner, levels)
        if form in (_STRUCT, _EITHER):
            return _struct(value, before, inner, levels)
    elif isinstance(value, list) and form in (_LIST, _EITHER):
        return _list(value, old if isinstance(old, list) else None, inner, levels)
    return value


def _map(
    value: JSONObject, old: JSONObject | None, inner: _GoType, levels: int
) -> JSONObject:
    if not levels:
        raise RecursionError
    changed: JSONObject | None = None
    was: JSON | Absent = ABSENT
    is_plain = inner.form <= _INT_OR_STRING and inner.form >= _STRING
    for name, content in value.items():
        if content is not None and is_plain:
            continue
        if old is not None:
            was = old.get(name, ABSENT)
            if content is was:
                continue
        after = (
            inner.zero if content is None else _value(content, was, inner, levels - 1)
        )
        if after is not content:
            if changed is None:
                changed = {**value}
            changed[name] = after
    return value if changed is None else changed


def _list(
    value: JSONArray, old: JSONArray | None, inner: _GoType, levels: int
) -> JSONArray:
    if not levels:
        raise RecursionError
    changed: JSONArray | None = None
    is_plain = inner.form <= _INT_OR_STRING and inner.form >= _STRING
    shared: set[int] | None = None
    for index in range(len(value)):
        content = value[index]
        if content is not None and is_plain:
            continue
        was: JSON | Absent = ABSENT
        if old is not None:
            if index < len(old):
                was = old[index]
                if content is was:
                    continue
            # An element that moved is shared as well.
            if shared is None:
                shared = {id(element) for element in old}
            if id(content) in shared:
                continue
        after = (
            inner.zero if content is None else _value(content, was, inner, levels - 1)
        )
        if after is not content:
            if changed is None:
                changed = [*value]
            changed[index] = after
    return value if changed is None else changed
