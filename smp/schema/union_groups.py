"""Unions (oneOf) as one model, read from every shape in which they are published.

Kubernetes designed the schema extension ``x-kubernetes-unions`` several times. Each
shape is one member of the extension's object, and all are read into ``UnionGroup``.

The KEP-1027 text of 2019, on a struct::

    {"discriminator": FIELD, "fields-to-discriminateBy": {FIELD: VALUE}}

Its first draft of 2022, on a struct::

    {"discriminator": FIELD,
     "fields-to-discriminateBy":
         {FIELD: {"discriminatorValue": VALUE, "optional": BOOL}}}

Its final text, on the property that is the discriminator, alone or in a list::

    {"fieldMembers": {VALUE: {"name": FIELD, "optional": BOOL} | null}}

structured-merge-diff::

    {"discriminator": FIELD, "deduceInvalidDiscriminator": BOOL,
     "fields": [{"fieldName": FIELD, "discriminatorValue": VALUE}]}

An overlay (smp.schema.overlay)::

    {"discriminator": FIELD,
     "members": {FIELD: VALUE | {"value": VALUE, "optional": BOOL,
                                 "empty_is_unset": BOOL, "not_empty": BOOL,
                                 "uncounted": BOOL}},
     "empty": [VALUE], "none": [VALUE], "default": VALUE,
     "exactly_one": BOOL, "at_least_one": BOOL, "validated": BOOL, "within": FIELD,
     "answers": {FAILURE: [ANSWER]}, "profile": PROFILE, "source": TEXT}

``fields-to-discriminator-value``, ``deduce-discriminator`` and
``deduce-invalid-discriminator`` are read as aliases. In every shape, ``default`` is the
value of a discriminator that is absent: a schema publishes it on the property, and
smp.schema.sources.openapi adds it to the union.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Literal, TypeAlias

import msgspec

from smp._values.values import JSON, JSONObject, as_list, as_object, type_name
from smp.errors import SchemaError
from smp.paths import Path

_EXTENSION: Final = "x-kubernetes-unions"
_DEDUCE: Final = (
    "deduceInvalidDiscriminator",
    "deduce-invalid-discriminator",
    "deduce-discriminator",
    "deduce",
)


class Member(msgspec.Struct, frozen=True):
    """A field of a union, and the discriminator value that selects it.

    An ``optional`` member may be unset while it is selected. ``empty_is_unset`` says
    that an empty string, 0, false or {} in the field is what Go writes or reads for an
    unset field; one that is selected and ``not_empty`` may not be the empty string. A
    server accepts an ``uncounted`` one beside another that stands before it.
    """

    name: str
    value: str
    optional: bool = False
    empty_is_unset: bool = False
    not_empty: bool = False
    uncounted: bool = False

    def is_set(self, obj: JSONObject) -> bool:
        """Tell whether an object sets the member; an empty object is a value, too."""
        value = obj.get(self.name)
        return value is not None and (bool(value) or not self.empty_is_unset)


class Answer(
    msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One error in which an API server words that a union is wrong (Go: field.Error).

    ``at`` leads from the object with the union to the field that the server names: "."
    is the object, ".." what is above it, another step a field. ``value`` is what stands
    after "Invalid value". Both, and ``detail``, may hold ``{name}``, ``{selecting}``
    and ``{member}``, a member, the value that selects it and its own value, ``{value}``
    for the discriminator, ``{members}`` for the names of all members that are set, and
    ``{object}``. With ``always`` a member is reported where the discriminator is
    missing or unknown, too; otherwise not then. An answer may be about one ``member``.
    ``struct`` is the Go type in which a server prints ``{object}``.
    """

    at: str
    reason: Literal["Forbidden", "Invalid", "NotSupported", "Required"]
    detail: str = ""
    value: str = ""
    always: bool = False
    struct: str = ""
    member: str = ""


Failure: TypeAlias = Literal[
    "discriminator", "none", "required", "several", "unselected"
]
"""What may be wrong: the discriminator is missing, no member is set, the selected one
is not set, several are, one is set that the discriminator does not select."""


class UnionGroup(msgspec.Struct, frozen=True, dict=True):
    """One union of an object.

    ``empty`` holds the discriminator values that select no member, ``none`` those that
    mean that nothing is chosen; a ``closed`` union allows no values beside these and
    those of its members. ``default`` is the value that a server sets where the
    discriminator is absent. ``required`` asks for exactly one member, otherwise at most
    one may be set. Members ``at_least_one`` of which is required may be set together. A
    union that is not ``validated`` is normalized only: servers accept its members
    beside each other. ``deduce`` asks for the discriminator to be set from the members
    (structured-merge-diff). ``answers`` are the errors of an API server that validates
    the union by code of its own. The members may be fields of the object in a field
    that they are ``within``, where their rule depends on the type above; such a union
    is only validated. ``generation`` names the shape that the union was
    published in, ``source`` the document.
    """

    members: tuple[Member, ...]
    discriminator: str = ""
    empty: frozenset[str] = frozenset()
    none: frozenset[str] = frozenset()
    closed: bool = False
    required: bool = False
    at_least_one: bool = False
    validated: bool = True
    deduce: bool = False
    default: str = ""
    answers: Mapping[Failure, tuple[Answer, ...]] = {}
    profile: str = ""
    generation: str = ""
    source: str = ""
    within: str = ""

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
    def fields(self) -> tuple[str, ...]:
        """The names of the members and, where there is one, of the discriminator."""
        if not self.discriminator:
            return self.names
        return (self.discriminator, *self.names)

    @property
    def allowed(self) -> frozenset[str] | None:
        """Every value that the discriminator may have; None where any is allowed."""
        return self.empty.union(self.none, self.by_value) if self.closed else None


def read_unions(
    published: JSON,
    fields: Mapping[str, JSON] | None = None,
    required: Sequence[JSON] = (),
) -> tuple[UnionGroup, ...]:
    """Read the unions of one object type.

    ``published`` is the list of unions in any of the shapes above, ``fields`` has the
    documents of all fields by their names (smp.schema.model), or is None to skip the
    checks against them, and ``required`` names the fields that have to be set. Raises
    SchemaError (code invalid-union), whose message names every problem at once.
    """
    if not isinstance(published, list):
        raise _invalid(f"unions must be a list, not {type_name(published)}")
    groups = tuple(_read_union(union, fields or {}) for union in published)
    problems = [*_contradictions(groups)]
    for group in groups:
        field = group.discriminator
        if group.default and group.default not in (group.allowed or [group.default]):
            problems.append(
                f"the default {group.default!r} is not a value of {field!r}"
            )
        if fields is None:
            continue
        expected = [group.within] if group.within else group.fields
        unknown = [name for name in expected if name not in fields]
        problems += [f"field {name!r} not found" for name in dict.fromkeys(unknown)]
        # KEP-1027, Go Markers: "This field MUST be an enum defined as a string". A
        # field that refers to a named type is not followed: reading links no types.
        type_ = _type_of(fields, field)
        scalar = type_.get("type")
        if scalar in ("boolean", "int-or-string", "integer", "number"):
            problems.append(
                f"the discriminator {field!r} is of type {scalar}, not string"
            )
        # A value that the discriminator can never have would never select its member.
        enum = as_list(type_.get("enum"))
        never = [value for value in group.by_value if enum and value not in enum]
        problems += [f"the value {v!r} is not in the enum of {field!r}" for v in never]
        # No other member could be chosen. KEP-1027 of 2019: "fields must be optional
        # (beside the discriminator)".
        names = [name for name in group.names if name in required]
        problems += [f"the member {name!r} is a required field" for name in names]
    if problems:
        raise _invalid("; ".join(problems))
    return groups


def _type_of(fields: Mapping[str, JSON], name: str) -> JSONObject:
    """Return the type document of a scalar field as an object; empty for others."""
    document = fields.get(name)
    # A field with facets of its own has its type under "is".
    if isinstance(document, dict):
        document = document.get("is", document)
    return as_object({"type": document} if isinstance(document, str) else document)


def _discriminator_values(
    union: JSONObject, enum: Iterable[JSON]
) -> tuple[set[str], frozenset[str]]:
    """Return the values that a discriminator may have, and those that mean nothing.

    They come from its enum, from the keys of fieldMembers (KEP-1027: a key whose value
    is null selects no member), and from an overlay, which lists the values that select
    no member.
    """
    allowed = {str(value) for value in enum}
    allowed.update(as_object(union.get("fieldMembers")))
    allowed.update(_texts(union.get("empty", [])))
    none = frozenset(_texts(union.get("none", [])))
    allowed.update(none)
    if not none and "" in allowed:
        # An empty string selects nothing unless the overlay declares otherwise.
        none = frozenset({""})
    return allowed, none


def _read_union(union: JSON, fields: Mapping[str, JSON]) -> UnionGroup:
    if not isinstance(union, dict):
        raise _invalid(f"a union must be an object, not {type_name(union)}")
    shapes = [shape for shape in _SHAPES if shape in union]
    if not shapes:
        raise _invalid("a union names its members", hint=", ".join(_SHAPES))
    shape = shapes[0]
    members = _SHAPES[shape](union[shape], shape)
    discriminator = _text(union.get("discriminator", ""))
    enum = as_list(_type_of(fields, discriminator).get("enum"))

    allowed, none = _discriminator_values(union, enum)
    selecting = {member.value for member in members}

    # A closed union has all its values listed.
    closed = bool(enum) or shape == "fieldMembers" or "empty" in union
    required = union.get("exactly_one", union.get("required"))
    if not isinstance(required, bool):
        # A closed set of values without one for "nothing chosen": one has to be chosen.
        required = bool(discriminator) and closed and not none
    at_least_one = union.get("at_least_one") is True

    return UnionGroup(
        members=members,
        discriminator=discriminator,
        empty=frozenset(allowed - selecting - none),
        none=none,
        closed=closed,
        required=required or at_least_one,
        at_least_one=at_least_one,
        validated=union.get("validated") is not False,
        deduce=any(union.get(alias) is True for alias in _DEDUCE),
        default=_text(union.get("default", "")),
        answers=_answers(union.get("answers", {})),
        profile=_text(union.get("profile", "")),
        generation=shape,
        source=_text(union.get("source", "")) or _EXTENSION,
        within=_text(union.get("within", "")),
    )


MEMBER_FACETS: Final = (
    *("value", "discriminatorValue", "optional"),
    *("empty_is_unset", "not_empty", "uncounted"),
)


def _answers(document: JSON) -> Mapping[Failure, tuple[Answer, ...]]:
    try:
        return msgspec.convert(document, dict[Failure, tuple[Answer, ...]])
    except msgspec.ValidationError as error:
        raise _invalid(f"the answers of a server: {error}") from None


def _require_known(facets: JSONObject, names: Sequence[str]) -> None:
    """Raise SchemaError for a facet of a member that no shape has."""
    for name in facets:
        if name not in names:
            raise _invalid(
                f"{name!r} is not known of a member", f"known are {', '.join(names)}"
            )


def _flag(facets: JSONObject, name: str) -> bool:
    value = facets.get(name)
    if value is None or isinstance(value, bool):
        return value is True
    raise _invalid(f"{name} of a member is true or false, not {type_name(value)}")


def _members_by_field(published: JSON, shape: str) -> tuple[Member, ...]:
    """Read ``{FIELD: VALUE}`` or ``{FIELD: FACETS}``; the value defaults to FIELD."""
    members = []
    for name, value in _object(published, shape).items():
        facets: JSONObject = value if isinstance(value, dict) else {"value": value}
        _require_known(facets, MEMBER_FACETS)
        selecting = facets.get("value", facets.get("discriminatorValue", name))
        members.append(
            Member(
                name,
                _text(selecting),
                optional=_flag(facets, "optional"),
                empty_is_unset=_flag(facets, "empty_is_unset"),
                not_empty=_flag(facets, "not_empty"),
                uncounted=_flag(facets, "uncounted"),
            )
        )
    return tuple(members)


def _members_by_value(published: JSON, shape: str) -> tuple[Member, ...]:
    """Read ``{VALUE: {"name": FIELD}}``; a value with null selects no member."""
    members = []
    for value, facets in _object(published, shape).items():
        if isinstance(facets, dict):
            _require_known(facets, ("name", "optional"))
            optional = _flag(facets, "optional")
            members.append(Member(_text(facets.get("name")), value, optional))
        elif facets is not None:
            raise _invalid(
                f"{shape}: the member of {value!r} is an object with a name, or null,"
                f" not {type_name(facets)}"
            )
    return tuple(members)


def _members_in_list(published: JSON, shape: str) -> tuple[Member, ...]:
    """Read ``[{"fieldName": FIELD, "discriminatorValue": VALUE}]``."""
    if not isinstance(published, list):
        raise _invalid(f"{shape} are a list, not {type_name(published)}")
    members = []
    for entry in published:
        facets = _object(entry, "a field of a union")
        name = facets.get("fieldName")
        value = facets.get("discriminatorValue", name)
        members.append(Member(_text(name), _text(value)))
    return tuple(members)


# In the order of precedence, for a union that is written in two shapes at once.
_SHAPES: Final[dict[str, Callable[[JSON, str], tuple[Member, ...]]]] = {
    "fieldMembers": _members_by_value,
    "fields": _members_in_list,
    "members": _members_by_field,
    "fields-to-discriminateBy": _members_by_field,
    "fields-to-discriminator-value": _members_by_field,
}


def _contradictions(groups: tuple[UnionGroup, ...]) -> Iterator[str]:
    for group in groups:
        union = f"the union of {', '.join(group.names) or 'no fields'}"
        for name in _duplicates(group.names):
            yield f"{union}: {name!r} is a member twice"
        if group.discriminator:
            for value in _duplicates(member.value for member in group.members):
                yield f"{union}: the value {value!r} selects two members"
        if group.discriminator in group.names:
            yield f"{union}: the discriminator {group.discriminator!r} is a member"

    # A field in two unions is a contradiction if a discriminator selects it. Two unions
    # without discriminators may share a field, which then excludes the others of both
    # (NetworkPolicyPeer: ipBlock excludes podSelector and namespaceSelector, which do
    # not exclude each other).
    selected: set[str] = set()
    in_groups: list[str] = []
    for group in groups:
        if group.discriminator:
            selected.update(group.fields)
        # A field that one union names twice is another problem.
        in_groups += dict.fromkeys(group.fields)
    for name in _duplicates(in_groups):
        if name and name in selected:
            yield f"{name!r} belongs to two unions"


def _duplicates(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


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
        problem, code="invalid-union", path=Path((_EXTENSION,)), hint=hint
    )
