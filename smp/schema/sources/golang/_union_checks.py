"""Checks of the markers of unions: of structs, of their fields, of whole unions."""

from __future__ import annotations

from typing import Final

from smp.schema.sources.golang._packages import BasicType, DeclaredType, Packages
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._structs import GoStruct
from smp.schema.sources.golang._syntax import StructType
from smp.schema.sources.golang._union_markers import UNION_MARKERS, GoUnion
from smp.schema.sources.golang._union_profiles import MarkerProfile

_FIELD_MARKERS: Final = (
    "unionDeprecated",
    "unionDiscriminatedBy",
    "unionDiscriminator",
    "unionMember",
)


def has_markers_of_2019(struct: GoStruct) -> bool:
    """Tell whether a struct has markers of the generation of 2019."""
    return "union" in struct.markers or bool(struct.fields_with("unionDeprecated"))


class UnionChecks:
    """Finds the misuse of markers."""

    def __init__(self, packages: Packages, problems: Problems) -> None:
        self._packages = packages
        self._problems = problems

    def markers(self, struct: GoStruct, profile: MarkerProfile) -> None:
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

    def union(self, struct: GoStruct, union: GoUnion) -> None:
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
