"""Unions (oneOf) as one model, read from every shape in which they are published.

KEP-1027 of 2019, on a struct:
    {"discriminator": F, "fields-to-discriminateBy": {FIELD: VALUE}}
its first draft of 2022, on a struct:
    {"discriminator": F, "fields-to-discriminateBy": {FIELD: {"discriminatorValue": VALUE, "optional": B}}}
its final text, on the discriminator:
    {"fieldMembers": {VALUE: {"name": FIELD, "optional": B} | null}}
structured-merge-diff:
    {"discriminator": F, "deduceInvalidDiscriminator": B, "fields": [{"fieldName": FIELD, "discriminatorValue": VALUE}]}
an overlay of ours:
    {"discriminator": F, "members": {FIELD: VALUE | {"value": VALUE, "optional": B, "empty_is_unset": B}},
     "empty": [VALUE], "none": [VALUE], "default": VALUE, "exactly_one": B, "profile": P, "source": TEXT}

``fields-to-discriminator-value``, ``deduce-discriminator`` and
``deduce-invalid-discriminator`` are read as aliases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec

from smp.errors import SchemaError
from smp.paths import Path
from smp.values import JSON, JSONObject, type_name

_MAPS: Final = ("fields-to-discriminateBy", "fields-to-discriminator-value")
_DEDUCE: Final = (
    "deduceInvalidDiscriminator",
    "deduce-invalid-discriminator",
    "deduce-discriminator",
    "deduce",
)


class Member(msgspec.Struct, frozen=True):
    """A field of a union, and the discriminator value that selects it, maybe while it
    is unset.

    ``empty_is_unset``: an empty string or a zero there is what Go writes for an unset
    field.
    """

    name: str
    value: str
    optional: bool = False
    empty_is_unset: bool = False

    def is_set(self, obj: JSONObject) -> bool:
        """Tell whether an object sets the member; an empty object or list is a value."""
        value = obj.get(self.name)
        return value is not None and not (
            self.empty_is_unset and isinstance(value, str | int | float) and not value
        )


class UnionGroup(msgspec.Struct, frozen=True, dict=True):
    """One union of an object.

    ``empty`` are the values that select no member, ``none`` those that mean that
    nothing is chosen; ``closed`` says that no other values exist. ``default`` is what a
    server puts where the discriminator is absent. ``required``: exactly one member, not
    at most one. ``generation`` names the shape.
    """

    members: tuple[Member, ...]
    discriminator: str = ""
    empty: frozenset[str] = frozenset()
    none: frozenset[str] = frozenset()
    closed: bool = False
    required: bool = False
    deduce: bool = False
    default: str = ""
    profile: str = ""
    generation: str = ""
    source: str = ""

    @cached_property
    def by_value(self) -> Mapping[str, Member]:
        """The members by the discriminator values that select them."""
        return {member.value: member for member in self.members}

    def members_set(self, obj: JSONObject) -> tuple[str, ...]:
        """Return the names of the members that an object sets."""
        return tuple(member.name for member in self.members if member.is_set(obj))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members."""
        return tuple(member.name for member in self.members)

    @property
    def allowed(self) -> frozenset[str] | None:
        """Every value that the discriminator may have; None where nobody said."""
        return self.empty | self.none | self.by_value.keys() if self.closed else None


def read_unions(
    published: JSON,
    enums: Mapping[str, Sequence[JSON]],
    fields: Collection[str] | None = None,
) -> tuple[UnionGroup, ...]:
    """Read the unions of one object, given the enums of its fields and, where they are
    known, the fields themselves.

    Raises SchemaError that names every problem at once.
    """
    if not isinstance(published, list):
        raise SchemaError(
            f"unions are a list, not {type_name(published)}", code="invalid-union"
        )
    if not published:
        return ()
    groups = tuple(_read(union, enums) for union in published)
    problems = [
        *_problems(groups),
        *_outside(groups, enums),
        *_strangers(groups, fields),
    ]
    if problems:
        raise SchemaError(
            "; ".join(problems),
            code="invalid-union",
            path=Path(("x-kubernetes-unions",)),
        )
    return groups


def _read(union: JSON, enums: Mapping[str, Sequence[JSON]]) -> UnionGroup:
    if not isinstance(union, dict):
        raise _invalid(f"a union is an object, not {type_name(union)}")
    generation, members = next(
        ((name, read(union)) for name, read in _SHAPES if name in union), ("", None)
    )
    if members is None:
        raise _invalid(
            "a union names its members", hint=", ".join(name for name, _ in _SHAPES)
        )
    discriminator = _text(union.get("discriminator", ""))
    listed = enums.get(discriminator) if discriminator else None
    keys = _keys(union.get("fieldMembers"))
    stated = [*_texts(union.get("empty", [])), *_texts(union.get("none", []))]
    allowed = {str(value) for value in listed or ()} | set(keys) | set(stated)
    none = frozenset(_texts(union.get("none", []))) or frozenset({""} & allowed)
    empty = frozenset(allowed - {member.value for member in members}) - none
    closed = bool(listed) or generation == "fieldMembers" or "empty" in union
    return UnionGroup(
        members=members,
        discriminator=discriminator,
        empty=empty,
        none=none,
        closed=closed,
        required=_required(union, closed=closed, none=none),
        deduce=any(union.get(word) is True for word in _DEDUCE),
        default=_text(union.get("default", "")),
        profile=_text(union.get("profile", "")),
        generation=generation,
        source=_text(union.get("source", "")) or "x-kubernetes-unions",
    )


def _required(union: JSONObject, *, closed: bool, none: frozenset[str]) -> bool:
    stated = union.get("exactly_one", union.get("required"))
    return (
        stated
        if isinstance(stated, bool)
        else bool(union.get("discriminator")) and closed and not none
    )


def _from_map(union: JSONObject, word: str) -> tuple[Member, ...]:
    return tuple(
        _member(name, value) for name, value in _object(union[word], word).items()
    )


def _member(name: str, value: JSON) -> Member:
    facets = value if isinstance(value, dict) else {"value": value}
    selector = facets.get("value", facets.get("discriminatorValue", name))
    return Member(
        name,
        _text(selector),
        facets.get("optional") is True,
        facets.get("empty_is_unset") is True,
    )


def _from_field_members(union: JSONObject) -> tuple[Member, ...]:
    members = _object(union["fieldMembers"], "fieldMembers").items()
    return tuple(
        Member(_text(facets.get("name")), value, facets.get("optional") is True)
        for value, facets in members
        if isinstance(facets, dict)
    )


def _from_fields(union: JSONObject) -> tuple[Member, ...]:
    fields = union["fields"]
    if not isinstance(fields, list):
        raise _invalid(f"fields are a list, not {type_name(fields)}")
    entries = [_object(entry, "a field of a union") for entry in fields]
    return tuple(
        Member(
            _text(entry.get("fieldName")),
            _text(entry.get("discriminatorValue", entry.get("fieldName"))),
        )
        for entry in entries
    )


_SHAPES: Final = (
    ("fieldMembers", _from_field_members),
    ("fields", _from_fields),
    ("members", lambda union: _from_map(union, "members")),
    *((word, lambda union, word=word: _from_map(union, word)) for word in _MAPS),
)


def _problems(groups: tuple[UnionGroup, ...]) -> Iterator[str]:
    fields = Counter(
        name for group in groups for name in {*group.names, group.discriminator} - {""}
    )
    selective = {
        name
        for group in groups
        if group.discriminator
        for name in (*group.names, group.discriminator)
    }
    for group in groups:
        where = f"the union of {', '.join(group.names) or 'nothing'}"
        values = (
            Counter(member.value for member in group.members)
            if group.discriminator
            else Counter[str]()
        )
        yield from (
            f"{where}: {name!r} is a member twice"
            for name, n in Counter(group.names).items()
            if n > 1
        )
        yield from (
            f"{where}: the value {value!r} selects two members"
            for value, n in values.items()
            if n > 1
        )
        if group.discriminator in group.names:
            yield f"{where}: the discriminator {group.discriminator!r} is a member"
    # Two unions without discriminators may share a field: it excludes the others of
    # both.
    yield from (
        f"{name!r} belongs to two unions"
        for name, n in fields.items()
        if n > 1 and name in selective
    )


def _outside(
    groups: tuple[UnionGroup, ...], enums: Mapping[str, Sequence[JSON]]
) -> Iterator[str]:
    for group in groups:
        listed = enums.get(group.discriminator) or group.by_value
        for value in group.by_value:
            if value not in listed:
                yield f"the value {value!r} is not in the enum of {group.discriminator!r}"


def _strangers(
    groups: tuple[UnionGroup, ...], fields: Collection[str] | None
) -> Iterator[str]:
    for group in groups if fields is not None else ():
        named = dict.fromkeys(
            (group.discriminator, *group.names) if group.discriminator else group.names
        )
        yield from (
            f"{name!r} is no field" for name in named if name not in (fields or ())
        )


def _keys(value: JSON) -> list[str]:
    return [*value] if isinstance(value, dict) else []


def _object(value: JSON, what: str) -> JSONObject:
    if not isinstance(value, dict):
        raise _invalid(f"{what}: an object is expected, not {type_name(value)}")
    return value


def _text(value: JSON) -> str:
    if not isinstance(value, str):
        raise _invalid(f"a name is expected, not {type_name(value)}")
    return value


def _texts(value: JSON) -> list[str]:
    if not isinstance(value, list):
        raise _invalid(f"a list of values is expected, not {type_name(value)}")
    return [_text(item) for item in value]


def _invalid(problem: str, hint: str = "") -> SchemaError:
    return SchemaError(
        problem, code="invalid-union", path=Path(("x-kubernetes-unions",)), hint=hint
    )
