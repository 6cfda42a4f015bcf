"""Unions of Go structs: which generation's markers a profile reads, what is checked,
how unions are published.

A newer generation does not know the older markers and leaves their unions to bespoke
validation (KEP-1027, "Migrating existing unions"); an older one cannot know the newer
ones: there they are misused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from smp.schema.sources.golang import _union_markers as read
from smp.schema.sources.golang._enums import Enums
from smp.schema.sources.golang._packages import Basic, Packages
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._structs import Member, Structure
from smp.schema.sources.golang._union_markers import (
    UNION_MARKERS,
    Report,
    Union,
    UnionMember,
    marked,
)
from smp.values import JSON, JSONObject


class Profile(NamedTuple):
    """What a generation reads, and whether it publishes a union on the discriminator's
    property.
    """

    of_2019: bool
    member_names: Literal["nothing", "field", "value"]
    on_property: bool


PROFILES: Final[dict[str, Profile | None]] = {
    "kep2019": Profile(of_2019=True, member_names="nothing", on_property=False),
    "smd": Profile(of_2019=True, member_names="nothing", on_property=False),
    "kep1027-draft": Profile(of_2019=False, member_names="field", on_property=False),
    "kep1027": Profile(of_2019=False, member_names="value", on_property=True),
    "validate-only": Profile(of_2019=True, member_names="value", on_property=True),
    "off": None,
}
_OF_FIELDS: Final = frozenset(
    {"unionDeprecated", "unionDiscriminator", "unionDiscriminatedBy", "unionMember"}
)


class Unions:
    """Reads and publishes the unions of structures by one profile."""

    def __init__(
        self,
        profile: Profile | None,
        packages: Packages,
        enums: Enums,
        problems: Problems,
    ) -> None:
        self._profile = profile
        self._packages = packages
        self._enums = enums
        self._problems = problems
        self._report = Report(self._add)

    def published(
        self, structure: Structure
    ) -> tuple[list[JSON], dict[str, JSONObject]]:
        """Return what to publish: the list for the struct, and an object for each
        discriminator's property.
        """
        on_struct: list[JSON] = []
        on_property: dict[str, JSONObject] = {}
        if self._profile is None:
            return on_struct, on_property
        for union in self._of(structure, self._profile):
            if self._profile.on_property and union.discriminator and union.values:
                on_property[union.discriminator.name] = _on_property(union)
            else:
                on_struct.append(_on_struct(union))
        return on_struct, on_property

    def _of(self, structure: Structure, profile: Profile) -> list[Union]:
        """Read the unions of a struct: its own, those that it inlines, those that its
        fields make.
        """
        whole = [*self._whole(structure, profile)]
        of_inlined = [
            (part, self._of(part.structure, profile)) for part in structure.inlined
        ]
        of_fields = [*self._of_fields(structure, profile)]
        of_validation = read.of_validation(structure, self._report, self._values_of)
        told = {frozenset(union.names) for union in [*whole, *of_fields]}
        own = [
            *of_fields,
            *(union for union in of_validation if frozenset(union.names) not in told),
        ]
        inlined = [union for _, unions in of_inlined for union in unions]
        for part, unions in of_inlined:
            if len(inlined) + len(own) > 1 and not all(
                union.labelled for union in unions
            ):
                problem = f"{part.field.name} cannot be inlined beside another union: its members do not name theirs"
                self._problems.misuse(
                    part.field.at, None, problem, "+unionMember=<discriminator>"
                )
        self._check_markers(structure, profile)
        for union in [*whole, *own]:
            self._check(structure, union)
        return [union for union in [*whole, *inlined, *own] if union.members]

    def _whole(self, structure: Structure, profile: Profile) -> Iterator[Union]:
        if "union" in structure.markers and profile.of_2019:
            for part in structure.inlined:
                self._problems.misuse(
                    part.field.at, None, "a +union struct inlines no other"
                )
            yield read.of_struct(structure, self._report)

    def _of_fields(self, structure: Structure, profile: Profile) -> Iterator[Union]:
        if profile.member_names == "nothing" or (
            profile.of_2019 and not marked(structure, "unionMember")
        ):
            known = "union" in structure.markers
            yield from () if known else read.of_fields(structure, self._report)
        elif not _is_of_2019(structure):
            final = profile.member_names == "value"
            yield from (
                read.of_final(structure, self._report, self._values_of)
                if final
                else read.of_draft(structure, self._report)
            )

    def _values_of(self, discriminator: Member) -> tuple[str, ...]:
        values = self._enums.values(discriminator.field.type, discriminator.markers)
        return tuple(value for value in values if isinstance(value, str))

    def _check_markers(self, structure: Structure, profile: Profile) -> None:
        for name in _OF_FIELDS & structure.markers.keys():
            self._problems.misuse(
                structure.at,
                structure.markers[name][0],
                f"+{name} marks a field, not a struct",
            )
        for member in structure.own:
            for name in _OF_FIELDS & member.markers.keys():
                if len(member.markers[name]) > 1:
                    self._report(member, name, f"+{name} twice")
            if "union" in member.markers:
                self._report(member, "union", "+union marks a struct, not a field")
            if (
                "unionDiscriminatedBy" in member.markers
                and "unionMember" not in member.markers
            ):
                self._report(
                    member,
                    "unionDiscriminatedBy",
                    "only a +unionMember is discriminated",
                )
        for member in marked(structure, "unionMember"):
            if profile.member_names == "nothing":
                hint = "the profiles kep1027 and kep1027-draft read it"
                self._report(
                    member, "unionMember", "not a marker of this profile", hint
                )
            elif _is_of_2019(structure):
                self._report(
                    member, "unionMember", "markers of two generations in one struct"
                )

    def _check(self, structure: Structure, union: Union) -> None:
        one = union.discriminator
        if one is not None and self._packages.value_type(one.field.type) != Basic(
            "string"
        ):
            self._report(one, "unionDiscriminator", "a discriminator is a string")
        if not union.members and one is not None:
            self._report(one, "unionDiscriminator", "a union without members")
        elif not union.members:
            self._problems.misuse(
                structure.at, structure.markers["union"][0], "a union without members"
            )
        values = set[str]()
        for member in union.members:
            self._check_member(union, member, values)
            values.add(member.value)

    def _check_member(
        self, union: Union, member: UnionMember, others: set[str]
    ) -> None:
        field = member.field
        marker = next((name for name in UNION_MARKERS if name in field.markers), "")
        if not field.optional:
            self._report(
                field,
                marker,
                f"{field.name} is a member of a union, so it must be optional",
                "+optional",
            )
        if field is union.discriminator:
            self._report(
                field, marker, f"{field.name} is both the discriminator and a member"
            )
        if member.value in others:
            self._report(
                field, marker, f"the value {member.value!r} selects two members"
            )
        if union.values and member.value not in union.values:
            hint = (
                "one of "
                + ", ".join(map(repr, union.values))
                + "; untyped constants do not count"
            )
            self._report(
                field,
                marker,
                f"{member.value!r} is no value of the discriminator",
                hint,
            )

    def _add(self, field: Member, marker: str, problem: str, hint: str) -> None:
        self._problems.misuse(field.field.at, field.marker(marker), problem, hint)


def _is_of_2019(structure: Structure) -> bool:
    return "union" in structure.markers or bool(marked(structure, "unionDeprecated"))


def _on_struct(union: Union) -> JSONObject:
    """Write a union for the list on its struct (KEP-1027 of 2019)."""
    fields: JSONObject = {member.field.name: member.value for member in union.members}
    head: JSONObject = (
        {"discriminator": union.discriminator.name} if union.discriminator else {}
    )
    return {**head, "fields-to-discriminateBy": dict(sorted(fields.items()))}


def _on_property(union: Union) -> JSONObject:
    """Write a union for the property of its discriminator (final KEP-1027): every
    value, null without a member.
    """
    fields: JSONObject = dict.fromkeys(union.values)
    for member in union.members:
        fields[member.value] = {"name": member.field.name, "optional": member.optional}
    return {"fieldMembers": fields}
