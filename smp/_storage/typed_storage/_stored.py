"""One walk along an object and its type, with what typed storage makes of each field.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from smp._storage.typed_storage._plan import (
    ALWAYS,
    AS_NULL_IF_EMPTY,
    BOOLEAN,
    BYTES,
    EMPTY_TYPES,
    IF_NOT_EMPTY,
    IF_NOT_ZERO,
    INT_OR_STRING,
    INTEGER,
    MAP,
    MICRO_TIME,
    NUMBER,
    QUANTITY,
    STRING,
    TIME,
    UNTYPED,
    GoType,
    PlannedMember,
    Struct,
    storage_plan,
)
from smp._storage.typed_storage._scalars import base64, double
from smp._values.quantities import canonical_quantity
from smp._values.steps import count_steps
from smp._values.times import canonical_micro_time, canonical_time
from smp._values.values import ABSENT, JSON, MAX_LEVELS, Absent, JSONArray, JSONObject
from smp.errors import bounded
from smp.schema.model import Schema

_PRINTED: Final[dict[int, Callable[[JSON], JSON]]] = {
    QUANTITY: canonical_quantity,
    TIME: canonical_time,
    MICRO_TIME: canonical_micro_time,
    BYTES: base64,
    NUMBER: double,
}


@bounded("the object")
def stored(
    obj: JSONObject,
    schema: Schema,
    old: JSONObject | None = None,
    *,
    at_rest: bool = False,
) -> JSONObject:
    """Return an object as a typed API server prints what it decoded.

    Zero values and nulls are dropped, or filled in where they are always printed; times
    and quantities are canonical. What the object shares with ``old``, which was stored
    before, is not visited. Unknown fields and values of wrong types stay, and so does
    all but the metadata of a custom resource. Subtrees without a change are shared, and
    the object itself is returned where nothing changes. ``stored({}, schema)`` is what
    is printed of an empty object.

    With ``at_rest`` it is what the server reads from etcd, where empty lists that are
    always printed become null, but for those of a CustomResourceDefinition: field
    managers compare the object before that. Raises DepthError (Go: encoding/json, the
    marshallers of apimachinery, and gogo/protobuf).
    """
    plan = storage_plan(schema.types, at_rest=at_rest)
    struct = plan.root(schema.type).struct
    if struct is None or obj is old:
        return obj
    return _struct(obj, old, struct, MAX_LEVELS)


def _struct(
    value: JSONObject, old: JSONObject | None, struct: Struct, levels: int
) -> JSONObject:
    if not levels:
        raise RecursionError
    count_steps(len(value))
    changed: dict[str, JSON | Absent] = {}
    was: JSON | Absent = ABSENT
    for name, content in value.items():
        if old is not None:
            was = old.get(name, ABSENT)
            if content is was:
                continue
        member = struct.members.get(name)
        if member is None:
            member = struct.member(name)
            if member is None:
                continue
        after = _member(content, was, member, levels - 1)
        if after is not content:
            changed[name] = after
    for name, zero in struct.always:
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
    value: JSON, old: JSON | Absent, member: PlannedMember, levels: int
) -> JSON | Absent:
    presence = member.presence
    if value is None:
        # Go decodes null to the zero value.
        return member.zero if presence >= ALWAYS else ABSENT
    form = member.type.form
    if not value and presence in (IF_NOT_EMPTY, AS_NULL_IF_EMPTY):
        if type(value) is EMPTY_TYPES[form]:
            return ABSENT if presence == IF_NOT_EMPTY else None
        return value
    if form in (STRING, INTEGER, BOOLEAN, UNTYPED):
        return value
    after = _value(value, old, member.type, levels)
    # The zero time is null. A pointer to it is printed.
    return ABSENT if after is None and presence == IF_NOT_ZERO else after


def _value(value: JSON, old: JSON | Absent, type_: GoType, levels: int) -> JSON:
    inner = type_.inner
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else None
        struct = type_.struct
        if struct is not None:
            return _struct(value, before, struct, levels)
        if inner is not None and type_.form == MAP:
            return _map(value, before, inner, levels)
        return value
    if isinstance(value, list):
        if inner is None or type_.form == MAP:
            return value
        return _list(value, old if isinstance(old, list) else None, inner, levels)
    printed = _PRINTED.get(type_.form)
    return value if printed is None else printed(value)


def _map(
    value: JSONObject, old: JSONObject | None, inner: GoType, levels: int
) -> JSONObject:
    if not levels:
        raise RecursionError
    count_steps(len(value))
    changed: JSONObject = {}
    was: JSON | Absent = ABSENT
    is_plain = STRING <= inner.form <= INT_OR_STRING
    for name, content in value.items():
        if is_plain and content is not None:
            continue
        if old is not None:
            was = old.get(name, ABSENT)
            if content is was:
                continue
        after = inner.zero
        if content is not None:
            after = _value(content, was, inner, levels - 1)
        if after is not content:
            changed[name] = after
    return {**value, **changed} if changed else value


def _list(
    value: JSONArray, old: JSONArray | None, inner: GoType, levels: int
) -> JSONArray:
    if not levels:
        raise RecursionError
    count_steps(len(value))
    changed: JSONArray | None = None
    shared: set[int] | None = None
    is_plain = STRING <= inner.form <= INT_OR_STRING
    for index in range(len(value)):
        content = value[index]
        if is_plain and content is not None:
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
        after = inner.zero
        if content is not None:
            after = _value(content, was, inner, levels - 1)
        if after is not content:
            if changed is None:
                changed = [*value]
            changed[index] = after
    return value if changed is None else changed
