"""The unions that the markers of one struct declare, by generation of the markers.

==========================================  ============================================
``+union``, ``+unionDeprecated``            KEP Union types of 2019: marks a struct, or
                                            fields of it. The value that selects a
                                            member is its Go name.
``+unionMember[=FIELD]``                    KEP-1027, draft of 2022: FIELD is the JSON
                                            name of the discriminator.
``+unionMember[=VALUE][,optional]``         KEP-1027, final text: VALUE is the value of
                                            the discriminator that selects the member.
                                            ``+unionDiscriminatedBy`` names the
                                            discriminator.
``+k8s:unionMember(union:, memberName:)``   Declarative validation (code-generator's
``+k8s:zeroOrOneOfMember(union:, ..)``      validation-gen). At most one member of the
                                            second kind is set, exactly one of the first
                                            kind.
``+k8s:ifMode(VALUE)=RULE``                 Declarative validation, modes: what holds
``+k8s:member(VALUE)=RULE``                 for a field while the discriminator has the
                                            value. The second is the spelling of 1.36.
==========================================  ============================================

The markers of a union of list elements, ``+k8s:item(KEY: VALUE)=+k8s:unionMember``, are
told as not published (``_fields``): OpenAPI has no form for it.

``+unionDiscriminator`` belongs to the first three, ``+k8s:unionDiscriminator(union:)``
to the fourth, ``+k8s:modeDiscriminator(modality:)`` to the last, which was
``+k8s:discriminator(name:)`` in 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from smp.schema.sources.golang._json_fields import JSONField
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._structs import GoStruct


class MarkerProfile(msgspec.Struct, frozen=True):
    """Which markers a profile reads, and where it publishes a union.

    ``of_2019``: it reads ``+union``. ``member_names``: what the value of
    ``+unionMember`` names. ``on_property``: a union is published on the property of its
    discriminator, if that is an enum, not on the struct.
    """

    of_2019: bool
    member_names: Literal["nothing", "field", "value"]
    on_property: bool


PROFILES: Final[dict[str, MarkerProfile | None]] = {
    "kep2019": MarkerProfile(of_2019=True, member_names="nothing", on_property=False),
    "smd": MarkerProfile(of_2019=True, member_names="nothing", on_property=False),
    "kep1027-draft": MarkerProfile(
        of_2019=False, member_names="field", on_property=False
    ),
    "kep1027": MarkerProfile(of_2019=False, member_names="value", on_property=True),
    "validate-only": MarkerProfile(
        of_2019=True, member_names="value", on_property=True
    ),
    "off": None,
}


# Lists the values of a field whose type is an enum.
ValuesOf: TypeAlias = Callable[[JSONField], tuple[str, ...]]
UNION_MARKERS = (
    "unionDiscriminator",
    "unionMember",
    "unionDeprecated",
    "k8s:unionDiscriminator",
    "k8s:unionMember",
    "k8s:zeroOrOneOfMember",
    "k8s:ifMode",
    "k8s:member",
)
# Modes: the markers of the discriminator and of the other fields, the argument that
# names one of several groups for each, and the one that has the value of the
# discriminator, if it is named at all (Go: validators/mode.go; in 1.36
# validators/discriminator.go).
_MODES: Final = (
    ("k8s:modeDiscriminator", "modality", "k8s:ifMode", "modality", "mode"),
    ("k8s:discriminator", "name", "k8s:member", "discriminator", "value"),
)


class GoUnionMember(msgspec.Struct, frozen=True):
    """A member of a union: its field, and the discriminator's value that selects it.

    ``optional`` says that it may be unset while it is selected.
    """

    field: JSONField
    value: str
    optional: bool = False


class GoUnion(msgspec.Struct, frozen=True):
    """One union of a struct.

    ``values`` are all values of the discriminator, empty where its type lists none;
    ``labelled`` says that every member names the discriminator.
    """

    discriminator: JSONField | None
    members: tuple[GoUnionMember, ...]
    values: tuple[str, ...] = ()
    labelled: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The JSON names of the discriminator and the members."""
        names = [member.field.name for member in self.members]
        if self.discriminator:
            names.insert(0, self.discriminator.name)
        return tuple(names)


def union_of_struct(struct: GoStruct, problems: Problems) -> GoUnion:
    """Read a ``+union`` struct: every field but the discriminator is a member.

    Go: kube-openapi's parseUnionStruct.
    """
    for field in struct.fields_with("unionDeprecated"):
        problem = "every field of a +union struct is a member already"
        problems.misuse_on(field, "unionDeprecated", problem)
    members = tuple(
        GoUnionMember(field, field.field.name)
        for field in struct.own_fields
        if "unionDiscriminator" not in field.markers
    )
    discriminators = struct.fields_with("unionDiscriminator")
    return GoUnion(_only(discriminators, "unionDiscriminator", problems), members)


def union_of_fields(struct: GoStruct, problems: Problems) -> Iterator[GoUnion]:
    """Read the union of the ``+unionDeprecated`` fields.

    Go: kube-openapi's parseUnionMembers. The KEP of 2019 demands that the members are
    pointers with omitempty. Its own examples are not, so this is not checked.
    """
    discriminators = struct.fields_with("unionDiscriminator")
    discriminator = _only(discriminators, "unionDiscriminator", problems)
    members = tuple(
        GoUnionMember(field, field.field.name)
        for field in struct.fields_with("unionDeprecated")
    )
    # Go: parseUnionMembers returns no union for a discriminator without members.
    if members:
        yield GoUnion(discriminator, members)


def unions_of_draft(struct: GoStruct, problems: Problems) -> Iterator[GoUnion]:
    """Read unions whose members name the field that discriminates them.

    KEP-1027, draft of June 2022.
    """
    members: list[tuple[str, GoUnionMember]] = []
    for field in struct.fields_with("unionMember"):
        name, option = _member_marker(field)
        if option:
            problem = "the draft of KEP-1027 has no options"
            problems.misuse_on(field, "unionMember", problem, "the final text has")
        members.append((name, GoUnionMember(field, field.field.name)))
    discriminators = {
        field.name: field for field in struct.fields_with("unionDiscriminator")
    }
    yield from _group(members, discriminators, "unionMember", problems)


def unions_of_final_text(
    struct: GoStruct, problems: Problems, values_of: ValuesOf
) -> Iterator[GoUnion]:
    """Read unions whose members name the value that selects them.

    KEP-1027, "Go Markers".
    """
    members: list[tuple[str, GoUnionMember]] = []
    for field in struct.fields_with("unionMember"):
        value, option = _member_marker(field)
        if option not in ("", "optional"):
            problem = f"{option!r} is not an option"
            problems.misuse_on(
                field, "unionMember", problem, "optional is the only one"
            )
        # Without a value in the marker it is the Go name of the field.
        member = GoUnionMember(
            field, value or field.field.name, optional=option == "optional"
        )
        discriminated_by = field.marker("unionDiscriminatedBy")
        name = discriminated_by.value if discriminated_by else ""
        members.append((name, member))
    discriminators = {
        field.field.name: field for field in struct.fields_with("unionDiscriminator")
    }
    for union in _group(members, discriminators, "unionDiscriminatedBy", problems):
        values = _check_values(union, values_of, problems)
        yield GoUnion(union.discriminator, union.members, values)


def unions_of_validation(
    struct: GoStruct, problems: Problems, values_of: ValuesOf
) -> Iterator[GoUnion]:
    """Read the unions of declarative validation.

    The argument ``union`` names a union where a struct has several of them.
    """
    members: dict[str, list[GoUnionMember]] = {}
    discriminators: dict[str, list[JSONField]] = {}
    for field in struct.own_fields:
        for marker in field.markers.get("k8s:unionDiscriminator", ()):
            name = marker.arguments.get("union", "")
            discriminators.setdefault(name, []).append(field)
        for marker_name in ("k8s:unionMember", "k8s:zeroOrOneOfMember"):
            for marker in field.markers.get(marker_name, ()):
                name = marker.arguments.get("union", "")
                value = marker.arguments.get("memberName", field.field.name)
                members.setdefault(name, []).append(GoUnionMember(field, value))
    for name in {**discriminators, **members}:
        discriminator = _only(
            discriminators.get(name, ()), "k8s:unionDiscriminator", problems
        )
        values = values_of(discriminator) if discriminator else ()
        yield GoUnion(discriminator, tuple(members.get(name, ())), values)


def unions_of_modes(
    struct: GoStruct, problems: Problems, values_of: ValuesOf
) -> Iterator[GoUnion]:
    """Read the unions that the modes of declarative validation make.

    A field with rules for some values of the discriminator is forbidden for all others
    (Go: validators/mode.go, generateMemberFieldValidation), so it is the member that
    the one value selects for which it is not. It may be left out there unless a rule
    says ``+k8s:required``. A field that several values select, that shares its value
    with another field, or that is always written is no member: a union has one optional
    member for a value.
    """
    for of_discriminator, group_name, of_member, group_of_member, mode in _MODES:
        discriminators: dict[str, JSONField] = {}
        members: dict[str, list[GoUnionMember]] = {}
        for field in struct.fields_with(of_discriminator):
            for marker in field.markers[of_discriminator]:
                group = marker.arguments.get(group_name, "")
                discriminators.setdefault(group, field)
        for field in struct.fields_with(of_member):
            # The rules of the field by the group and the value that they are for.
            rules: dict[str, dict[str, list[str]]] = {}
            for marker in field.markers[of_member]:
                group = marker.arguments.get(group_of_member, "")
                value = marker.arguments.get(mode) or marker.arguments.get("", "")
                rules.setdefault(group, {}).setdefault(value, []).append(marker.value)
            for group, by_value in rules.items():
                allowed = [
                    value
                    for value, rules_of_value in by_value.items()
                    if "+k8s:forbidden" not in rules_of_value
                ]
                if len(allowed) == 1 and field.optional:
                    optional = "+k8s:required" not in by_value[allowed[0]]
                    member = GoUnionMember(field, allowed[0], optional=optional)
                    members.setdefault(group, []).append(member)
                if group not in discriminators:
                    problem = "the struct has no discriminator of these modes"
                    hint = f"+{of_discriminator}"
                    problems.misuse_on(field, of_member, problem, hint)
        for group, found in members.items():
            counts = Counter(member.value for member in found)
            alone = [member for member in found if counts[member.value] == 1]
            discriminator = discriminators.get(group)
            # The discriminator of modes may be a bool as well, that of a union not.
            is_union = discriminator and str(discriminator.field.type) != "bool"
            if discriminator and is_union and alone:
                yield GoUnion(discriminator, tuple(alone), values_of(discriminator))


def _member_marker(field: JSONField) -> tuple[str, str]:
    """Split ``+unionMember=NAME,OPTION`` and ``+unionMember,OPTION``."""
    marker = field.markers["unionMember"][0]
    # Without an equals sign the option is a part of the marker's name.
    text = marker.name.removeprefix("unionMember") + marker.value
    name, _, option = text.partition(",")
    return name, option


def _only(
    discriminators: Sequence[JSONField], marker: str, problems: Problems
) -> JSONField | None:
    """Return the discriminator of a union, None without one; more are misused."""
    for field in discriminators[1:]:
        problems.misuse_on(field, marker, "more than one discriminator for one union")
    return discriminators[0] if discriminators else None


def _group(
    members: list[tuple[str, GoUnionMember]],
    discriminators: dict[str, JSONField],
    marker: str,
    problems: Problems,
) -> Iterator[GoUnion]:
    """Group members by the discriminator that they name with a marker.

    A member that names none belongs to the only one there is.
    """
    only = next(iter(discriminators), "")
    choices = " or ".join(discriminators) or "the name of a +unionDiscriminator"
    hint = f"+{marker}={choices}"
    groups: dict[str, list[GoUnionMember]] = {name: [] for name in discriminators}
    unlabelled: set[str] = set()
    for name, member in members:
        # Such a member is clear about its union only while the struct has no other.
        if not name:
            unlabelled.add(only)
        if name and name not in discriminators:
            problem = f"{name} is not a discriminator of this struct"
            problems.misuse_on(member.field, marker, problem, hint)
        elif not name and len(discriminators) > 1:
            problem = "this struct has several discriminators"
            problems.misuse_on(member.field, "unionMember", problem, hint)
        else:
            groups.setdefault(name or only, []).append(member)
    for name, group in groups.items():
        # k8s.io/api marks discriminators of unions that are described in words only. A
        # discriminator without members is no union (Go: parseUnionMembers).
        if group:
            yield GoUnion(
                discriminators.get(name), tuple(group), labelled=name not in unlabelled
            )


def _check_values(
    union: GoUnion, values_of: ValuesOf, problems: Problems
) -> tuple[str, ...]:
    """List the values of the discriminator, and check it by KEP-1027, "Go Markers".

    It must be an enum of strings. It is required, unless it has a default or the empty
    string among its values.
    """
    discriminator = union.discriminator
    if discriminator is None:
        for member in union.members:
            problem = "a union of KEP-1027 has a discriminator"
            problems.misuse_on(
                member.field, "unionMember", problem, "+unionDiscriminator"
            )
        return ()
    values = values_of(discriminator)
    has_default = "default" in discriminator.markers
    may_be_omitted = discriminator.optional and discriminator.json.omitempty
    if not values:
        problem = "a discriminator is an enum of strings"
        problems.misuse_on(
            discriminator, "unionDiscriminator", problem, "+enum on its type"
        )
    elif has_default and not may_be_omitted:
        problem = "a discriminator with a default is optional and omitempty"
        problems.misuse_on(discriminator, "default", problem)
    elif not has_default and discriminator.optional and "" not in values:
        problem = 'without a default or "" among its values it is required'
        problems.misuse_on(discriminator, "unionDiscriminator", problem, "+required")
    return values
