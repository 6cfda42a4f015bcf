"""Normalization and validation against small models, over all states of a union.

The union has three members. The models are written from the documents a second time,
and in another way than the engine: no decision table, but one plain function for each
document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Final, TypeAlias

import pytest

from smp import UnionError, normalize_unions, validate_unions
from smp._values.values import JSON, JSONObject, same
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline

MEMBERS: Final = {"a": "A", "b": "B", "c": "C"}
VALUES: Final = {value: name for name, value in MEMBERS.items()}
SELECTS_NOTHING: Final = "E"
# A value of no enum. It is the name of a member: structured-merge-diff takes a value
# that it does not know for the name of a field.
UNLISTED: Final = "a"
Normalized: TypeAlias = "JSONObject | None"
"""The normalized object; None if the union is refused."""


@dataclass(frozen=True)
class UnionType:
    """What the schema says of a union.

    ``enum`` is None where the schema does not list the values of the discriminator.
    """

    name: str
    discriminated: bool
    required: bool
    enum: tuple[str, ...] | None = None
    deduce: bool = False

    @property
    def schema(self) -> Schema:
        published: JSONObject = {
            "fields-to-discriminateBy": {**MEMBERS},
            "exactly_one": self.required,
        }
        properties: JSONObject = {name: {"type": "integer"} for name in MEMBERS}
        properties["d"] = {
            "type": "string",
            **({"enum": [*self.enum]} if self.enum else {}),
        }
        if self.discriminated:
            published |= {
                "discriminator": "d",
                "deduceInvalidDiscriminator": self.deduce,
            }
        return inline(
            {
                "type": "object",
                "properties": properties,
                "x-kubernetes-unions": [published],
            }
        )

    @property
    def discriminators(self) -> tuple[JSONObject, ...]:
        if not self.discriminated:
            return ({},)
        values: tuple[JSON, ...] = (None, "", *VALUES, SELECTS_NOTHING, UNLISTED)
        return ({}, *({"d": value} for value in values))

    @property
    def memberless(self) -> set[str]:
        """The listed values of the discriminator that select no member."""
        return {*(self.enum or ())} - {*VALUES} - {""}

    def states(self, *values: int) -> list[JSONObject]:
        """Return all states of the discriminator and the members.

        A member is absent (0) or has one of the values.
        """
        members: list[JSONObject] = [
            {name: value for name, value in zip(MEMBERS, chosen, strict=True) if value}
            for chosen in product(values, repeat=len(MEMBERS))
        ]
        return [
            {**discriminator, **chosen}
            for discriminator in self.discriminators
            for chosen in members
        ]


LISTED: Final = (*VALUES, SELECTS_NOTHING)
UNION_TYPES: Final = (
    UnionType("plain", discriminated=False, required=False),
    UnionType("plain-required", discriminated=False, required=True),
    UnionType("open", discriminated=True, required=False),
    UnionType("open-required", discriminated=True, required=True),
    UnionType("enum-with-none", discriminated=True, required=False, enum=("", *LISTED)),
    UnionType("enum-without-none", discriminated=True, required=True, enum=LISTED),
    UnionType(
        "enum-without-none-optional", discriminated=True, required=False, enum=LISTED
    ),
)
DEDUCING: Final = UnionType("deducing", discriminated=True, required=False, deduce=True)


def members_of(obj: JSONObject) -> list[str]:
    return [name for name in MEMBERS if obj.get(name) is not None]


def text(obj: JSONObject) -> str:
    value = obj.get("d")
    return value if isinstance(value, str) else ""


def only(obj: JSONObject, *kept: str | None) -> JSONObject:
    return {
        name: value
        for name, value in obj.items()
        if name not in MEMBERS or name in kept
    }


def kep2019(
    union: UnionType, old: JSONObject, new: JSONObject, *, created: bool
) -> Normalized:
    """Normalize as the KEP of 2019 says.

    A changed discriminator wins, otherwise the only member, otherwise the only new one.
    Each API may have a "Nothing" of its own: "" is one where the enum has it.
    """
    del created
    chosen = text(new) != "" or (new.get("d") == "" and "" in (union.enum or ()))
    if union.discriminated and chosen and text(new) != text(old):
        return only(new, VALUES.get(text(new)))
    winners = members_of(new)
    if len(winners) > 1:
        winners = [name for name in winners if old.get(name) is None]
    if len(winners) != 1:
        return new
    kept = only(new, winners[0])
    return {**kept, "d": MEMBERS[winners[0]]} if union.discriminated else kept


def draft(
    union: UnionType, old: JSONObject, new: JSONObject, *, created: bool
) -> Normalized:
    """Normalize as the draft of 2022 says.

    The discriminator always wins, and the member that it selects is restored. A create
    adds nothing to what was there: two members are left to validation.
    """
    if union.discriminated:
        if text(new) == "":
            return None if union.required else only(new)
        selected = VALUES.get(text(new))
        kept = only(new, selected)
        if selected and selected not in kept and old.get(selected) is not None:
            kept[selected] = old[selected]
        return kept
    if created or len(members_of(new)) < 2:
        return new
    fresh = [name for name in members_of(new) if old.get(name) is None]
    if len(fresh) > 1:
        return None
    return only(new, *fresh) if fresh else new


def selected_value(union: UnionType, obj: JSONObject) -> str | None:
    """Return the value of the discriminator under KEP-1027, or None if it has none."""
    if text(obj):
        return text(obj)
    if union.enum and ("" in union.enum or obj.get("d") == ""):
        return ""
    return None


def kep1027(
    union: UnionType, old: JSONObject, new: JSONObject, *, created: bool
) -> Normalized:
    """Normalize as KEP-1027 says.

    All other members are cleared if and only if the discriminator was modified.
    """
    selected = selected_value(union, new)
    if created or not union.discriminated or selected is None:
        return new
    if selected == selected_value(union, old):
        return new
    if selected in VALUES:
        return only(new, VALUES[selected])
    # Else it is a value of the enum that selects nothing, or one that is not known.
    return only(new) if union.enum and selected in union.enum else new


def smd(
    union: UnionType, old: JSONObject, new: JSONObject, *, created: bool
) -> Normalized:
    """Normalize as structured-merge-diff does: refuse rather than guess."""
    del created
    fresh = [name for name in members_of(new) if old.get(name) is None]
    if union.discriminated and text(new) not in ("", text(old)):
        selected = VALUES.get(text(new), text(new))
        return only(new, selected) if fresh in ([], [selected]) else None
    members = members_of(new)
    if len(members) > 1:
        return None
    if members and union.discriminated and union.deduce:
        return {**new, "d": MEMBERS[members[0]]}
    return new


def untouched(
    union: UnionType, old: JSONObject, new: JSONObject, *, created: bool
) -> Normalized:
    """Normalize nothing, as validate-only and off do."""
    del union, old, created
    return new


NORMALIZE: Final[Mapping[str, Callable[..., Normalized]]] = {
    "kep2019": kep2019,
    "kep1027-draft": draft,
    "kep1027": kep1027,
    "smd": smd,
    "validate-only": untouched,
    "off": untouched,
}

Violations: TypeAlias = "set[tuple[str, str]]"
"""The path and the code of each violation."""


def at_most_one(union: UnionType, obj: JSONObject) -> Violations:
    """Validate what the earlier documents ask for.

    That is at most one member, and at least one where one is required. A listed value
    of the discriminator that selects nothing needs no member.
    """
    members = members_of(obj)
    if len(members) > 1:
        # The empty string is no value in the draft, and to structured-merge-diff.
        return surplus(union, obj, text(obj) or None)
    if members or not union.required or text(obj) in union.memberless:
        return set()
    return {("", "union-none")}


def at_most_one_of_2019(union: UnionType, obj: JSONObject) -> Violations:
    """Validate as ``at_most_one``; a declared empty string is a value."""
    if "" in (union.enum or ()) and obj.get("d") == "" and len(members_of(obj)) > 1:
        return surplus(union, obj, "")
    return at_most_one(union, obj)


def surplus(union: UnionType, obj: JSONObject, value: str | None) -> Violations:
    """Report each member but the one that counts.

    That is the first one where the value of the discriminator does not tell.
    """
    members = members_of(obj)
    if union.discriminated and (value in VALUES or value in (union.enum or ())):
        counting = VALUES.get(value or "")
    else:
        counting = members[0]
    return {(name, "union-several") for name in members if name != counting}


def validate_kep1027(
    union: UnionType, obj: JSONObject, old: JSONObject | None = None
) -> Violations:
    if not union.discriminated:
        return validate_declared(union, obj)
    members, value = members_of(obj), selected_value(union, obj)
    violations: Violations = set()
    if value is None and (union.required or members):
        violations.add(("d", "discriminator-required"))
    if union.enum and value is not None and value not in union.enum:
        violations.add(("d", "unsupported-value"))
    if len(members) > 1:
        violations |= surplus(union, obj, value)
    selected = VALUES.get(value or "")
    if selected and selected not in members:
        violations.add((selected, "member-required"))
    known = value in VALUES or value in (union.enum or ())
    if len(members) == 1 and known and members[0] != selected:
        violations.add((members[0], "member-forbidden"))
    # Cases 34 and 39: another value, which may be one that is not known, beside what
    # was there before.
    if old is not None and union.enum is None and value is not None and not known:
        modified = value != selected_value(union, old)
        if (
            modified
            and len(members) == 1
            and same(old.get(members[0]), obj[members[0]])
        ):
            violations.add((members[0], "member-forbidden"))
    return violations


def validate_declared(union: UnionType, obj: JSONObject) -> Violations:
    members = members_of(obj)
    if union.discriminated:
        names = {
            name
            for name, value in MEMBERS.items()
            if (name in members) != (value == text(obj))
        }
        return {
            (name, "member-forbidden" if name in members else "member-required")
            for name in names
        }
    if len(members) > 1:
        return {("", "union-several")}
    return {("", "union-none")} if union.required and not members else set()


def validate_smd(union: UnionType, obj: JSONObject) -> Violations:
    """Validate as structured-merge-diff: a value without a mapping is a field's."""
    value = text(obj)
    if len(members_of(obj)) > 1:
        return surplus(union, obj, MEMBERS.get(value, value) or None)
    return at_most_one(union, obj)


def no_violations(union: UnionType, obj: JSONObject) -> Violations:
    del union, obj
    return set()


VALIDATE: Final[Mapping[str, Callable[[UnionType, JSONObject], Violations]]] = {
    "kep2019": at_most_one_of_2019,
    "kep1027-draft": at_most_one,
    "kep1027": validate_kep1027,
    "smd": validate_smd,
    "validate-only": validate_declared,
    "off": no_violations,
}


def normalized(
    old: JSONObject | None, new: JSONObject, schema: Schema, profile: str
) -> Normalized:
    try:
        return normalize_unions(old, new, schema, profile=profile).object
    except UnionError:
        return None


def violations_of(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    profile: str,
    *,
    ratchet: bool = False,
) -> Violations:
    return {
        (str(v.path), v.code)
        for v in validate_unions(old, new, schema, profile=profile, ratchet=ratchet)
    }


def pairs(union: UnionType) -> Iterator[tuple[JSONObject | None, JSONObject]]:
    """Yield all pairs of an old and a new state; an old state None is a creation.

    A new member has one of two values; which of them is the old one does not matter.
    """
    return product((None, *union.states(0, 1)), union.states(0, 1, 2))


def alike(left: Normalized, right: Normalized) -> bool:
    if left is None or right is None:
        return left is right
    return same(left, right)


for_each_union_type = pytest.mark.parametrize(
    "union", [*UNION_TYPES, DEDUCING], ids=lambda union: union.name
)


@for_each_union_type
@pytest.mark.parametrize("profile", NORMALIZE)
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.slow
def test_normalization_is_that_of_the_model(
    union: UnionType, profile: str, every: int
) -> None:
    model, schema = NORMALIZE[profile], union.schema

    def differing() -> Iterator[JSON]:
        for old, new in islice(pairs(union), 0, None, every):
            expected = model(union, old or {}, new, created=old is None)
            actual = normalized(old, new, schema, profile)
            if not alike(expected, actual):
                yield {"old": old, "new": new, "expected": expected, "actual": actual}

    assert [*islice(differing(), 5)] == []


@for_each_union_type
@pytest.mark.parametrize("profile", VALIDATE)
def test_validation_is_that_of_the_model(union: UnionType, profile: str) -> None:
    model, schema = VALIDATE[profile], union.schema
    for new in union.states(0, 1):
        assert (new, violations_of(None, new, schema, profile)) == (
            new,
            model(union, new),
        )


@for_each_union_type
def test_ratcheting_tolerates_what_failed_before_for_the_same_reason(
    union: UnionType,
) -> None:
    schema = union.schema
    for old, new in product(union.states(0, 1), union.states(0, 1, 2)):
        stays = all(same(old.get(name), new.get(name)) for name in ("d", *MEMBERS))
        expected = set() if stays else validate_kep1027(union, new, old)
        assert (old, new, violations_of(old, new, schema, "kep1027", ratchet=True)) == (
            old,
            new,
            expected,
        )


@for_each_union_type
def test_declarative_ratcheting_tolerates_the_same_members_and_discriminator(
    union: UnionType,
) -> None:
    schema = union.schema
    for old, new in product(union.states(0, 1), union.states(0, 1, 2)):
        stays = members_of(old) == members_of(new) and text(old) == text(new)
        expected: Violations = set() if old and stays else validate_declared(union, new)
        assert (
            old,
            new,
            violations_of(old, new, schema, "validate-only", ratchet=True),
        ) == (
            old,
            new,
            expected,
        )
