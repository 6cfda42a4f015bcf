"""Unions of Go structs: what the markers declare, by profile, and publishing.

A newer generation does not know the older markers and leaves their unions to bespoke
validation (KEP-1027, "Migrating existing unions"). An older one cannot know the newer
markers: there they are misused.
"""

from __future__ import annotations

from smp._values.values import JSON, JSONObject
from smp.schema.sources.golang._enums import Enums
from smp.schema.sources.golang._json_fields import JSONField
from smp.schema.sources.golang._packages import Packages
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._structs import GoStruct
from smp.schema.sources.golang._union_checks import UnionChecks, has_markers_of_2019
from smp.schema.sources.golang._union_markers import (
    GoUnion,
    union_of_fields,
    union_of_struct,
    unions_of_draft,
    unions_of_final_text,
    unions_of_modes,
    unions_of_validation,
)
from smp.schema.sources.golang._union_profiles import MarkerProfile


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
        self._checks = UnionChecks(packages, problems)
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
        self._checks.markers(struct, profile)
        for union in [*whole, *of_fields]:
            self._checks.union(struct, union)
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
