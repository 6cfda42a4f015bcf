"""The unions that the markers of one struct make, generation by generation.

``+union``, ``+unionDeprecated``            2019: a struct, or fields of it; a member's value is its Go name
``+unionMember[=FIELD]``                    the draft of 2022: FIELD is the discriminator, by its JSON name
``+unionMember[=VALUE][,optional]``         KEP-1027: VALUE is the discriminator's; ``+unionDiscriminatedBy`` groups
``+k8s:unionMember(union:, memberName:)``   declarative validation

``+unionDiscriminator`` belongs to the first three, ``+k8s:unionDiscriminator(union:)``
to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from smp.schema.sources.golang._structs import Member, Structure

ValuesOf: TypeAlias = Callable[[Member], tuple[str, ...]]
UNION_MARKERS = (
    "unionDiscriminator",
    "unionMember",
    "unionDeprecated",
    "k8s:unionDiscriminator",
    "k8s:unionMember",
)


@dataclass(frozen=True, slots=True)
class UnionMember:
    """A member: its field, the discriminator's value that selects it, whether it may
    then be unset.
    """

    field: Member
    value: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Union:
    """One union; ``values`` are all that the discriminator may have, empty where nobody
    says.
    """

    discriminator: Member | None
    members: tuple[UnionMember, ...]
    values: tuple[str, ...] = ()
    labelled: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that belong to the union."""
        fields = [member.field.name for member in self.members]
        return (
            (self.discriminator.name, *fields) if self.discriminator else tuple(fields)
        )


class Report:
    """Reports what is wrong with a marker of a field."""

    def __init__(self, add: Callable[[Member, str, str, str], None]) -> None:
        self._add = add

    def __call__(
        self, field: Member, marker: str, problem: str, hint: str = ""
    ) -> None:
        """Report a problem with a marker of a field, or with the field itself where it
        has no such marker.
        """
        self._add(field, marker, problem, hint)


def of_struct(structure: Structure, report: Report) -> Union:
    """Read a ``+union`` struct: every field but the discriminator is a member."""
    for member in marked(structure, "unionDeprecated"):
        report(
            member,
            "unionDeprecated",
            "every field of a +union struct is a member already",
        )
    discriminator = _single(
        marked(structure, "unionDiscriminator"), "unionDiscriminator", report
    )
    fields = (
        field for field in structure.own if "unionDiscriminator" not in field.markers
    )
    return Union(
        discriminator, tuple(UnionMember(field, field.field.name) for field in fields)
    )


def of_fields(structure: Structure, report: Report) -> Iterator[Union]:
    """Read the union of the ``+unionDeprecated`` fields.

    KEP-1027 of 2019 wants them to be pointers with omitempty, and its own examples are
    not: not checked.
    """
    discriminator = _single(
        marked(structure, "unionDiscriminator"), "unionDiscriminator", report
    )
    members = tuple(
        UnionMember(field, field.field.name)
        for field in marked(structure, "unionDeprecated")
    )
    if discriminator or members:
        yield Union(discriminator, members)


def of_draft(structure: Structure, report: Report) -> Iterator[Union]:
    """Read unions whose members name the field that discriminates them."""
    found: list[tuple[str, UnionMember]] = []
    for field in marked(structure, "unionMember"):
        marker = field.markers["unionMember"][0]
        name, _, option = (
            marker.name.removeprefix("unionMember") + marker.value
        ).partition(",")
        if option:
            report(
                field,
                "unionMember",
                "the draft of KEP-1027 has no options",
                "the final text has",
            )
        found.append((name, UnionMember(field, field.field.name)))
    discriminators = {
        field.name: field for field in marked(structure, "unionDiscriminator")
    }
    yield from _grouped(found, discriminators, "unionMember", report)


def of_final(
    structure: Structure, report: Report, values_of: ValuesOf
) -> Iterator[Union]:
    """Read unions whose members name the value that selects them."""
    found: list[tuple[str, UnionMember]] = []
    for field in marked(structure, "unionMember"):
        marker, group = (
            field.markers["unionMember"][0],
            field.marker("unionDiscriminatedBy"),
        )
        value, _, option = (
            marker.name.removeprefix("unionMember") + marker.value
        ).partition(",")
        if option not in ("", "optional"):
            report(
                field,
                "unionMember",
                f"{option!r} is no option",
                "optional is the only one",
            )
        member = UnionMember(
            field, value or field.field.name, optional=option == "optional"
        )
        found.append((group.value if group else "", member))
    discriminators = {
        field.field.name: field for field in marked(structure, "unionDiscriminator")
    }
    for union in _grouped(found, discriminators, "unionDiscriminatedBy", report):
        yield Union(
            union.discriminator, union.members, _values(union, values_of, report)
        )


def of_validation(
    structure: Structure, report: Report, values_of: ValuesOf
) -> Iterator[Union]:
    """Read the unions of declarative validation, which name themselves where there are
    several.
    """
    groups: dict[str, list[UnionMember]] = {}
    discriminators: dict[str, list[Member]] = {}
    for field in structure.own:
        for marker in field.markers.get("k8s:unionDiscriminator", ()):
            discriminators.setdefault(marker.arguments.get("union", ""), []).append(
                field
            )
        for marker in field.markers.get("k8s:unionMember", ()):
            member = UnionMember(
                field, marker.arguments.get("memberName", field.field.name)
            )
            groups.setdefault(marker.arguments.get("union", ""), []).append(member)
    for name in {**discriminators, **groups}:
        one = _single(discriminators.get(name, []), "k8s:unionDiscriminator", report)
        yield Union(one, tuple(groups.get(name, ())), values_of(one) if one else ())


def marked(structure: Structure, marker: str) -> list[Member]:
    """Return the fields of a struct that have a marker."""
    return [member for member in structure.own if marker in member.markers]


def _single(
    discriminators: Sequence[Member], marker: str, report: Report
) -> Member | None:
    for member in discriminators[1:]:
        report(member, marker, "a second discriminator: a union has one")
    return discriminators[0] if discriminators else None


def _grouped(
    found: list[tuple[str, UnionMember]],
    discriminators: dict[str, Member],
    naming: str,
    report: Report,
) -> Iterator[Union]:
    """Group members by the discriminator that they name; one that names none belongs to
    the only one.
    """
    only = next(iter(discriminators), "")
    groups: dict[str, list[UnionMember]] = {name: [] for name in discriminators}
    for name, member in found:
        hint = f"+{naming}=" + (
            " or ".join(discriminators) or "the name of a +unionDiscriminator"
        )
        if name and name not in discriminators:
            report(
                member.field, naming, f"{name} is no discriminator of this struct", hint
            )
        elif not name and len(discriminators) > 1:
            report(
                member.field,
                "unionMember",
                "this struct has several discriminators",
                hint,
            )
        else:
            groups.setdefault(name or only, []).append(member)
    unlabelled = {only for name, _ in found if not name}
    for name, members in groups.items():
        yield Union(
            discriminators.get(name), tuple(members), labelled=name not in unlabelled
        )


def _values(union: Union, values_of: ValuesOf, report: Report) -> tuple[str, ...]:
    """List the values of the discriminator, and check what KEP-1027 asks of it ("Go
    Markers").
    """
    one = union.discriminator
    if one is None:
        for member in union.members:
            report(
                member.field,
                "unionMember",
                "a union of KEP-1027 has a discriminator",
                "+unionDiscriminator",
            )
        return ()
    values = values_of(one)
    if not values:
        report(
            one,
            "unionDiscriminator",
            "a discriminator is an enum of strings",
            "+enum on its type",
        )
    elif "default" in one.markers and not (one.optional and one.json.omitempty):
        report(
            one, "default", "a discriminator with a default is optional and omitempty"
        )
    elif "default" not in one.markers and one.optional and "" not in values:
        report(
            one,
            "unionDiscriminator",
            'without a default or "" among its values it is required',
            "+required",
        )
    return values
