"""Unions of Go structs: what the markers declare, by profile, and publishing.

A newer generation does not know the older markers and leaves their unions to bespoke
validation (KEP-1027, "Migrating existing unions"). An older one cannot know the newer
markers: there they are misused.
"""

from __future__ import annotations

from typing import Final

from smp._values.values import JSON, JSONObject
from smp.schema.sources.golang._enums import Enums
from smp.schema.sources.golang._json_fields import JSONField
from smp.schema.sources.golang._packages import BasicType, DeclaredType, Packages
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._structs import GoStruct
from smp.schema.sources.golang._syntax import StructType
from smp.schema.sources.golang._union_markers import (
    UNION_MARKERS,
    GoUnion,
    MarkerProfile,
    union_of_fields,
    union_of_struct,
    unions_of_draft,
    unions_of_final_text,
    unions_of_modes,
    unions_of_validation,
)

_FIELD_MARKERS: Final = (
    "unionDeprecated",
    "unionDiscriminatedBy",
    "unionDiscriminator",
    "unionMember",
)


def has_markers_of_2019(struct: GoStruct) -> bool:
    """Tell whether a struct has markers of the generation of 2019."""
    return "union" in struct.markers or bool(struct.fields_with("unionDeprecated"))


class UnionReader:
    """Reads and publishes the unions of structs by one profile."""

    def __init__(
        self,
        profile: MarkerProfile | None,
        packages: Packages,
        enums: Enums,
        problems: Problems,
    ) -> None:
        self._profile = profile
        self._packages = packages
        self._enums = enums
        self._problems = problems

    def published(self, struct: GoStruct) -> tuple[list[JSON], dict[str, JSONObject]]:
        """Return what ``x-kubernetes-unions`` is on the struct and on its fields.

        For the struct it is a list of unions (Go: kube-openapi's union.emit). For the
        property of a discriminator, by JSON name, it is one union (KEP-1027, final
        text): the member of every value, null for a value without a member.
        """
        on_struct: list[JSON] = []
        on_property: dict[str, JSONObject] = {}
        if self._profile is None:
            return on_struct, on_property
        for union in self._unions(struct, self._profile):
            if self._profile.on_property and union.discriminator and union.values:
                by_value: JSONObject = dict.fromkeys(union.values)
                for member in union.members:
                    by_value[member.value] = {
                        "name": member.field.name,
                        "optional": member.optional,
                    }
                on_property[union.discriminator.name] = {"fieldMembers": by_value}
            else:
                by_field: JSONObject = {
                    member.field.name: member.value for member in union.members
                }
                entry: JSONObject = {
                    "fields-to-discriminateBy": dict(sorted(by_field.items()))
                }
                if union.discriminator:
                    entry = {"discriminator": union.discriminator.name, **entry}
                on_struct.append(entry)
        return on_struct, on_property

    def _unions_of_parts(
        self, struct: GoStruct, profile: MarkerProfile, *, has_others: bool
    ) -> list[GoUnion]:
        unions_of_part = [
            (part, self._unions(part.struct, profile)) for part in struct.inlined
        ]
        inlined = [union for _, unions in unions_of_part for union in unions]
        # KEP-1027, draft: next to other unions, members must name their discriminator.
        if len(inlined) > 1 or (inlined and has_others):
            for part, unions in unions_of_part:
                if not all(union.labelled for union in unions):
                    self._problems.misuse(
                        part.field.at,
                        None,
                        f"{part.field.name} cannot be inlined next to another union: "
                        "its members do not name their discriminator",
                        "+unionMember=<discriminator>",
                    )
        return inlined

    def _unions(self, struct: GoStruct, profile: MarkerProfile) -> list[GoUnion]:
        """Read the unions of a struct, in the order of kube-openapi's parseUnions.

        That of the ``+union`` struct itself comes first, then those of the structs that
        it inlines, then those that markers of its fields declare.
        """
        whole: list[GoUnion] = []
        if "union" in struct.markers and profile.of_2019:
            for part in struct.inlined:
                self._problems.misuse(
                    part.field.at, None, "a +union struct inlines no other"
                )
            whole.append(union_of_struct(struct, self._problems))

        of_fields = self._unions_of_fields(struct, profile)
        # A union may have markers of declarative validation as well: it is one union.
        published = {frozenset(union.names) for union in [*whole, *of_fields]}
        declared = [
            *unions_of_validation(struct, self._problems, self._values_of),
            *unions_of_modes(struct, self._problems, self._values_of),
        ]
        for union in declared:
            if frozenset(union.names) not in published:
                of_fields.append(union)

        inlined = self._unions_of_parts(struct, profile, has_others=bool(of_fields))
        self._check_markers(struct, profile)
        for union in [*whole, *of_fields]:
            self._check_union(struct, union)
        return [union for union in [*whole, *inlined, *of_fields] if union.members]

    def _unions_of_fields(
        self, struct: GoStruct, profile: MarkerProfile
    ) -> list[GoUnion]:
        """Read the unions of markers of fields, in the generation that the profile has.

        ``validate-only`` knows two generations: the newer one where a struct has a
        ``+unionMember``, else the one of 2019.
        """
        reads_2019 = profile.member_names == "nothing" or (
            profile.of_2019 and not struct.fields_with("unionMember")
        )
        if reads_2019:
            # In a +union struct the markers of its fields belong to that union.
            if "union" in struct.markers:
                return []
            return list(union_of_fields(struct, self._problems))
        if has_markers_of_2019(struct):
            return []
        if profile.member_names == "value":
            return list(unions_of_final_text(struct, self._problems, self._values_of))
        return list(unions_of_draft(struct, self._problems))

    def _values_of(self, discriminator: JSONField) -> tuple[str, ...]:
        values = self._enums.values(discriminator.field.type, discriminator.markers)
        return tuple(value for value in values if isinstance(value, str))

    def _check_markers(self, struct: GoStruct, profile: MarkerProfile) -> None:
        """Check that markers are where they belong, once, and of this profile."""
        for name in _FIELD_MARKERS:
            if name in struct.markers:
                marker = struct.markers[name][0]
                problem = f"+{name} marks a field, not a struct"
                self._problems.misuse(struct.at, marker, problem)
        for field in struct.own_fields:
            repeated = [
                name for name in _FIELD_MARKERS if len(field.markers.get(name, ())) > 1
            ]
            for name in repeated:
                self._problems.misuse_on(field, name, f"+{name} twice")
            # Also where the discriminator has no members.
            for name in ("unionDiscriminator", "k8s:unionDiscriminator"):
                if name not in field.markers:
                    continue
                if self._packages.value_type(field.field.type) != BasicType("string"):
                    problem = "a discriminator is a string"
                    self._problems.misuse_on(field, name, problem)
            # "can only be used on nilable and primitive types" (Go: validation-gen's
            # processFieldMemberValidations). A struct has no value that means unset.
            for name in ("k8s:unionMember", "k8s:zeroOrOneOfMember"):
                if name not in field.markers:
                    continue
                resolved = self._packages.resolve(field.field.type)
                if isinstance(resolved, DeclaredType | StructType):
                    problem = f"{field.name} cannot be unset, so it is no member"
                    self._problems.misuse_on(field, name, problem, "use a pointer")
            # Go: kube-openapi's parseUnionMembers raises the same error.
            if "union" in field.markers:
                problem = "+union marks a struct, not a field"
                self._problems.misuse_on(field, "union", problem)
            if "unionMember" not in field.markers:
                if "unionDiscriminatedBy" in field.markers:
                    problem = "only a +unionMember is discriminated"
                    self._problems.misuse_on(field, "unionDiscriminatedBy", problem)
            elif profile.member_names == "nothing":
                problem = "the profile does not know this marker"
                hint = "the profiles kep1027 and kep1027-draft read it"
                self._problems.misuse_on(field, "unionMember", problem, hint)
            elif has_markers_of_2019(struct):
                problem = "markers of two generations in one struct"
                self._problems.misuse_on(field, "unionMember", problem)

    def _check_union(self, struct: GoStruct, union: GoUnion) -> None:
        """Check one union and its members.

        Go: kube-openapi's union.isValid.
        """
        discriminator = union.discriminator
        if not union.members:
            problem = "a union without members"
            if discriminator is not None:
                self._problems.misuse_on(discriminator, "unionDiscriminator", problem)
            else:
                self._problems.misuse(struct.at, struct.markers["union"][0], problem)
        values: set[str] = set()
        for member in union.members:
            field, value = member.field, member.value
            marker = next((name for name in UNION_MARKERS if name in field.markers), "")
            # "union members must be optional", in every generation (Go: kube-openapi's
            # parseUnionStruct and parseUnionMembers).
            if not field.optional:
                problem = f"{field.name} is a member of a union, so it must be optional"
                self._problems.misuse_on(field, marker, problem, "+optional")
            if field is discriminator:
                problem = f"{field.name} is both the discriminator and a member"
                self._problems.misuse_on(field, marker, problem)
            if value in values:
                problem = f"the value {value!r} selects two members"
                self._problems.misuse_on(field, marker, problem)
            values.add(value)
            # KEP-2887: only constants of the enum's type are its values.
            if union.values and value not in union.values:
                problem = f"{value!r} is not a value of the discriminator"
                choices = ", ".join(repr(choice) for choice in union.values)
                hint = f"one of {choices}; untyped constants do not count"
                self._problems.misuse_on(field, marker, problem, hint)
