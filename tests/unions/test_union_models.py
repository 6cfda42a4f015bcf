"""Normalization and validation against small models, over every state of a union with
three members.

The models are written from the documents, once more and in another way than the engine:
no table, no action, one plain function for each document. What they and the engine have
in common is the question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

import pytest

from smp import UnionError, normalize_unions, validate_unions
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline
from smp.values import JSON, JSONObject, same

MEMBERS: Final = {"a": "A", "b": "B", "c": "C"}
VALUES: Final = {value: name for name, value in MEMBERS.items()}
NO_FIELD: Final = "E"  # a value for which no field is needed
# in no enum; but the name of a member, to which structured-merge-diff resorts
STRANGE: Final = "a"
Outcome: TypeAlias = "JSONObject | None"  # None: refused


@dataclass(frozen=True)
class Kind:
    """A kind of union: what the schema says of it. ``enum`` is None where nobody listed
    the values.
    """

    name: str
    discriminated: bool
    required: bool
    enum: tuple[str, ...] | None = None
    deduce: bool = False

    @property
    def schema(self) -> Schema:
        union: JSONObject = {
            "fields-to-discriminateBy": {**MEMBERS},
            "exactly_one": self.required,
        }
        properties: JSONObject = {name: {"type": "integer"} for name in MEMBERS}
        properties["d"] = {
            "type": "string",
            **({"enum": [*self.enum]} if self.enum else {}),
        }
        if self.discriminated:
            union |= {"discriminator": "d", "deduceInvalidDiscriminator": self.deduce}
        return inline(
            {"type": "object", "properties": properties, "x-kubernetes-unions": [union]}
        )

    @property
    def discriminators(self) -> tuple[JSONObject, ...]:
        if not self.discriminated:
            return ({},)
        values: tuple[JSON, ...] = (None, "", *VALUES, NO_FIELD, STRANGE)
        return ({}, *({"d": value} for value in values))

    def states(self, *values: int) -> list[JSONObject]:
        """Return every state: the discriminator, and each member absent (0) or one of
        the values.
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


LISTED: Final = (*VALUES, NO_FIELD)
KINDS: Final = (
    Kind("plain", discriminated=False, required=False),
    Kind("plain-required", discriminated=False, required=True),
    Kind("open", discriminated=True, required=False),
    Kind("open-required", discriminated=True, required=True),
    Kind("enum-with-none", discriminated=True, required=False, enum=("", *LISTED)),
    Kind("enum-without-none", discriminated=True, required=True, enum=LISTED),
    Kind("enum-without-none-optional", discriminated=True, required=False, enum=LISTED),
)
DEDUCING: Final = Kind("deducing", discriminated=True, required=False, deduce=True)


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


# One function for each document


def kep2019(kind: Kind, old: JSONObject, new: JSONObject, *, created: bool) -> Outcome:
    """Normalize as the KEP of 2019 says: a changed discriminator wins, else the one
    member, else the one new member.
    """
    del created
    if kind.discriminated and text(new) != "" and text(new) != text(old):
        return only(new, VALUES.get(text(new)))
    winners = members_of(new)
    if len(winners) > 1:
        winners = [name for name in winners if old.get(name) is None]
    if len(winners) != 1:
        return new
    kept = only(new, winners[0])
    return {**kept, "d": MEMBERS[winners[0]]} if kind.discriminated else kept


def draft(kind: Kind, old: JSONObject, new: JSONObject, *, created: bool) -> Outcome:
    """Normalize as the draft of 2022 says: always respect the discriminator, and bring
    its member back.
    """
    del created
    if kind.discriminated:
        if text(new) == "":
            return None if kind.required else only(new)
        selected = VALUES.get(text(new))
        kept = only(new, selected)
        if selected and selected not in kept and old.get(selected) is not None:
            kept[selected] = old[selected]
        return kept
    if len(members_of(new)) < 2:
        return new
    fresh = [name for name in members_of(new) if old.get(name) is None]
    if len(fresh) > 1:
        return None
    return only(new, *fresh) if fresh else new


def meaning(kind: Kind, obj: JSONObject) -> str | None:
    """Return what the discriminator says for KEP-1027; None where it is missing."""
    if text(obj):
        return text(obj)
    if kind.enum and ("" in kind.enum or obj.get("d") == ""):
        return ""
    return None


def kep1027(kind: Kind, old: JSONObject, new: JSONObject, *, created: bool) -> Outcome:
    """Normalize as KEP-1027 says: clear all other members if and only if the
    discriminator was modified.
    """
    says = meaning(kind, new)
    if created or not kind.discriminated or says == meaning(kind, old) or says is None:
        return new
    if says in VALUES:
        return only(new, VALUES[says])
    # it may be a value that needs no field, or one that only others know
    if kind.enum is None:
        return only(
            new, *(name for name in MEMBERS if not same(new.get(name), old.get(name)))
        )
    return only(new) if says in kind.enum else new


def smd(kind: Kind, old: JSONObject, new: JSONObject, *, created: bool) -> Outcome:
    """Normalize as structured-merge-diff does: refuse rather than guess."""
    del created
    fresh = [name for name in members_of(new) if old.get(name) is None]
    if kind.discriminated and text(new) not in ("", text(old)):
        selected = VALUES.get(text(new), text(new))
        return only(new, selected) if fresh in ([], [selected]) else None
    there = members_of(new)
    if len(there) > 1:
        return None
    return (
        {**new, "d": MEMBERS[there[0]]}
        if there and kind.discriminated and kind.deduce
        else new
    )


def untouched(
    kind: Kind, old: JSONObject, new: JSONObject, *, created: bool
) -> Outcome:
    """Normalize nothing: what validation-only and switched-off unions have in common."""
    del kind, old, created
    return new


NORMALIZE: Final[Mapping[str, Callable[..., Outcome]]] = {
    "kep2019": kep2019,
    "kep1027-draft": draft,
    "kep1027": kep1027,
    "smd": smd,
    "validate-only": untouched,
    "off": untouched,
}

# Validation: (path, code) for whatever is wrong


Found: TypeAlias = "set[tuple[str, str]]"


def at_most_one(kind: Kind, obj: JSONObject) -> Found:
    """Validate what the earlier documents ask for: no two members, and one where one is
    required.
    """
    there = members_of(obj)
    if len(there) > 1:
        return {("", "union-several")}
    # A value that needs no field, or of which nobody knows whether it does, is a
    # choice, too.
    missing = (
        not there
        and kind.required
        and (not kind.discriminated or text(obj) in {"", *VALUES})
    )
    return {("", "union-none")} if missing else set()


def validate_kep1027(kind: Kind, obj: JSONObject) -> Found:
    if not kind.discriminated:
        return validate_declared(kind, obj)
    there, says = members_of(obj), meaning(kind, obj)
    found: Found = set()
    if says is None and (kind.required or there):
        found.add(("d", "discriminator-required"))
    if kind.enum and says is not None and says not in kind.enum:
        found.add(("d", "unsupported-value"))
    if len(there) > 1:
        found.add(("", "union-several"))
    selected = VALUES.get(says or "")
    if selected and selected not in there:
        found.add((selected, "member-required"))
    known = says in VALUES or says in (kind.enum or ())
    if len(there) == 1 and known and there[0] != selected:
        found.add((there[0], "member-forbidden"))
    return found


def validate_declared(kind: Kind, obj: JSONObject) -> Found:
    there = members_of(obj)
    if kind.discriminated:
        wrong = {
            name
            for name, value in MEMBERS.items()
            if (name in there) != (value == text(obj))
        }
        return {
            (name, "member-forbidden" if name in there else "member-required")
            for name in wrong
        }
    if len(there) > 1:
        return {("", "union-several")}
    return {("", "union-none")} if kind.required and not there else set()


def nothing_wrong(kind: Kind, obj: JSONObject) -> Found:
    del kind, obj
    return set()


VALIDATE: Final[Mapping[str, Callable[[Kind, JSONObject], Found]]] = {
    "kep2019": at_most_one,
    "kep1027-draft": at_most_one,
    "kep1027": validate_kep1027,
    "smd": at_most_one,
    "validate-only": validate_declared,
    "off": nothing_wrong,
}

# The engine against them. Each member has one of two values; which of them is the old
# one does not matter.


def normalized(
    old: JSONObject | None, new: JSONObject, schema: Schema, profile: str
) -> Outcome:
    try:
        return normalize_unions(old, new, schema, profile=profile).object
    except UnionError:
        return None


def found(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    profile: str,
    *,
    ratchet: bool = False,
) -> Found:
    return {
        (str(v.path), v.code)
        for v in validate_unions(old, new, schema, profile=profile, ratchet=ratchet)
    }


def pairs(kind: Kind) -> Iterator[tuple[JSONObject | None, JSONObject]]:
    return (
        (old, new) for new in kind.states(0, 1, 2) for old in (None, *kind.states(0, 1))
    )


def alike(left: Outcome, right: Outcome) -> bool:
    return left is right or (
        left is not None and right is not None and same(left, right)
    )


def first(problems: Iterator[JSON], count: int = 5) -> list[JSON]:
    return [problem for problem, _ in zip(problems, range(count), strict=False)]


in_each_kind = pytest.mark.parametrize(
    "kind", [*KINDS, DEDUCING], ids=lambda kind: kind.name
)


@in_each_kind
@pytest.mark.parametrize("profile", NORMALIZE)
def test_normalization_is_that_of_the_model(kind: Kind, profile: str) -> None:
    model, schema = NORMALIZE[profile], kind.schema

    def differing() -> Iterator[JSON]:
        for old, new in pairs(kind):
            expected = model(kind, old or {}, new, created=old is None)
            actual = normalized(old, new, schema, profile)
            if not alike(expected, actual):
                yield {"old": old, "new": new, "expected": expected, "actual": actual}

    assert first(differing()) == []


@in_each_kind
@pytest.mark.parametrize("profile", VALIDATE)
def test_validation_is_that_of_the_model(kind: Kind, profile: str) -> None:
    model, schema = VALIDATE[profile], kind.schema
    for new in kind.states(0, 1):
        assert (new, found(None, new, schema, profile)) == (new, model(kind, new))


@in_each_kind
def test_ratcheting_tolerates_what_failed_before_for_the_same_reason(
    kind: Kind,
) -> None:
    schema = kind.schema
    wrong = [(state, validate_kep1027(kind, state)) for state in kind.states(0, 1)]
    for (old, was), (new, now) in product(wrong, repeat=2):
        assert (old, new, found(old, new, schema, "kep1027", ratchet=True)) == (
            old,
            new,
            now - was,
        )


@in_each_kind
def test_declarative_ratcheting_tolerates_the_same_members_and_discriminator(
    kind: Kind,
) -> None:
    schema = kind.schema
    for old, new in product(kind.states(0, 1), kind.states(0, 1, 2)):
        stays = members_of(old) == members_of(new) and text(old) == text(new)
        expected: Found = set() if old and stays else validate_declared(kind, new)
        assert (old, new, found(old, new, schema, "validate-only", ratchet=True)) == (
            old,
            new,
            expected,
        )
