"""Profiles: what to do with a union, as one decision table each.

A rule has a name (that of its row in the documents), the conditions under which it
holds, and an action. The first rule that holds decides; where none holds nothing is
done. Conditions that are left out do not matter.

    discriminated   the union has a discriminator
    fresh           there was no such object before (create)
    changed         the discriminator is another one than before
    chosen          the discriminator has been set to another value than before
    selects         what the discriminator's value stands for (see ``Choice``)
    members         how many members are set now
    added           how many of them were not set before (on create: all of them)
    mismatch        the only added member is not the one that the discriminator selects
    selected_is_set the member that the discriminator selects is set
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias

import msgspec

from smp._values.values import show
from smp.errors import UnionError
from smp.schema.union_groups import Member, UnionGroup

Range: TypeAlias = tuple[int, int]
MANY: Final = 1_000_000


class Choice(Enum):
    """What the value of a discriminator stands for."""

    MISSING = "missing"  # absent, null, or no string, where no value says "none"
    NONE = "none"  # nothing is chosen
    EMPTY = "empty"  # a member that needs no field
    MEMBER = "member"
    # no member; perhaps an empty one, as the values are not listed
    UNMAPPED = "unmapped"
    UNKNOWN = "unknown"  # none of the listed values


class Action(Enum):
    """What becomes of a union."""

    LEAVE = "leave"
    KEEP_SELECTED = "keep-selected"
    # as KEEP_SELECTED, and the selected member comes back if the update lost it
    RESTORE = "restore"
    KEEP_ADDED = "keep-added"
    KEEP_ADDED_SET_DISCRIMINATOR = "keep-added-set-discriminator"
    SET_DISCRIMINATOR = "set-discriminator"
    CLEAR = "clear"
    REFUSE = "refuse"


# Why an action cleared a member.
_WHY_CLEARED: Final[Mapping[Action, str]] = {
    Action.KEEP_SELECTED: "cleared: the discriminator selects another member",
    Action.RESTORE: "cleared: the discriminator selects another member",
    Action.KEEP_ADDED: "cleared: another member was added",
    Action.KEEP_ADDED_SET_DISCRIMINATOR: "cleared: another member was added",
    Action.CLEAR: "cleared: the discriminator selects no member",
}
# Why an action set a field: the discriminator, or a member that it restored.
_WHY_SET: Final[Mapping[Action, str]] = {
    Action.RESTORE: "restored: the discriminator selects this member",
    Action.KEEP_ADDED_SET_DISCRIMINATOR: "discriminator set to the added member",
    Action.SET_DISCRIMINATOR: "discriminator set to the only member that is set",
}


def why(action: Action, *, cleared: bool) -> str:
    """Return why an action cleared or set a field, as a sentence for a user."""
    return (_WHY_CLEARED if cleared else _WHY_SET)[action]


class Situation(msgspec.Struct, frozen=True):
    """What there is to know about a union before a decision."""

    union: UnionGroup
    fresh: bool
    choice: Choice
    changed: bool
    chosen: bool
    selected: Member | None
    members: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def mismatch(self) -> bool:
        """Whether the only added member is not the selected one."""
        return len(self.added) == 1 and (
            self.selected is None or self.added[0] != self.selected.name
        )


class Rule(msgspec.Struct, frozen=True):
    """One row of a decision table."""

    name: str
    action: Action
    reason: str = ""
    discriminated: bool | None = None
    required: bool | None = None
    fresh: bool | None = None
    changed: bool | None = None
    chosen: bool | None = None
    selects: frozenset[Choice] | None = None
    members: Range = (0, MANY)
    added: Range = (0, MANY)
    mismatch: bool | None = None
    selected_is_set: bool | None = None

    def holds(self, now: Situation) -> bool:
        """Tell whether all conditions hold."""
        selected_is_set = now.selected is not None and now.selected.name in now.members
        conditions = (
            (self.discriminated, bool(now.union.discriminator)),
            (self.required, now.union.required),
            (self.fresh, now.fresh),
            (self.changed, now.changed),
            (self.chosen, now.chosen),
            (self.mismatch, now.mismatch),
            (self.selected_is_set, selected_is_set),
        )
        for wanted, fact in conditions:
            if wanted is not None and wanted is not fact:
                return False
        if self.selects is not None and now.choice not in self.selects:
            return False
        fewest, most = self.members
        if not fewest <= len(now.members) <= most:
            return False
        fewest, most = self.added
        return fewest <= len(now.added) <= most


class Profile(msgspec.Struct, frozen=True):
    """A generation of the union rules: its table, and how it reads a discriminator."""

    name: str
    rules: tuple[Rule, ...] = ()
    # "" counts as a value of its own where it is an allowed one
    empty_is_a_value: bool = True
    # where it is, a discriminator that is absent has this value
    absent_is_empty: bool = True
    # unions are normalized before a server fills in defaults, of which none is a choice
    before_defaults: bool = False
    # a value that is mapped to nothing selects the member of that name
    names_select: bool = False
    # the elements of atomic lists are looked at
    into_atomic: bool = True
    # where an atomic list keeps its length, an element was the one at its place;
    # otherwise each of its elements is new
    pairs_by_place: bool = False
    # a discriminated union that did not change is left alone
    only_on_change: bool = False
    # the discriminator may be written even where the union does not ask for it
    always_deduces: bool = True


A: Final = Action
C: Final = Choice
_NOTHING: Final = frozenset({C.MISSING})

# KEP-1027 of 2019, Normalizing on Update: the discriminator decides where it changed,
# else the only member that was added.
KEP_2019: Final = Profile(
    "kep2019",
    (
        # The discriminator changed: its value selects the member that stays. A value
        # that is mapped to no member clears all of them.
        Rule("K1", A.KEEP_SELECTED, discriminated=True, chosen=True),
        # No member is set: a discriminator that is left is not looked at.
        Rule("K2", A.LEAVE, members=(0, 0)),
        # One member is set: the discriminator is set to it.
        Rule("K3", A.SET_DISCRIMINATOR, members=(1, 1)),
        # One member was added to others: a client that does not know the others.
        Rule("K4", A.KEEP_ADDED_SET_DISCRIMINATOR, members=(2, MANY), added=(1, 1)),
        # Several were added, or none: there is no way to tell; validation fails.
        Rule("K5", A.LEAVE, members=(2, MANY), added=(2, MANY)),
        Rule("K6", A.LEAVE, members=(2, MANY), added=(0, 0)),
    ),
    # "" is a choice where an API declares it: each may have a "Nothing" of its own.
    absent_is_empty=False,
    before_defaults=True,
)
# The first draft of KEP-1027 of 2022: the discriminator always decides.
KEP_1027_DRAFT: Final = Profile(
    "kep1027-draft",
    (
        # Where the discriminator is required, exactly one member is.
        Rule(
            "L2",
            A.REFUSE,
            "the discriminator is required",
            discriminated=True,
            required=True,
            selects=_NOTHING,
        ),
        # An empty discriminator means that nothing is set.
        Rule("L1", A.CLEAR, discriminated=True, selects=_NOTHING),
        # A client that does not know the selected member dropped it: it comes back.
        Rule("L4", A.RESTORE, selects=frozenset({C.MEMBER}), selected_is_set=False),
        # The others go, whether or not the discriminator changed.
        Rule("L3", A.KEEP_SELECTED, selects=frozenset({C.MEMBER})),
        # A value without a member selects no member.
        Rule("L5", A.CLEAR, discriminated=True),
        # A create adds nothing to what was there; validation fails.
        Rule("L7", A.LEAVE, fresh=True),
        # Without a discriminator the only member that was added stays.
        Rule("L6", A.KEEP_ADDED, members=(2, MANY), added=(1, 1)),
        Rule(
            "L7",
            A.REFUSE,
            "more than one member is newly set",
            members=(2, MANY),
            added=(2, MANY),
        ),
        Rule("L9", A.LEAVE, members=(2, MANY), added=(0, 0)),
        Rule("L10", A.LEAVE),
    ),
    empty_is_a_value=False,
)
# KEP-1027 as it was merged: only a change of the discriminator normalizes.
KEP_1027: Final = Profile(
    "kep1027",
    (
        # Undiscriminated unions are left to validation.
        Rule("M6", A.LEAVE, discriminated=False),
        # "Normalization" is defined for updates and patches, not for creates.
        Rule("M1", A.LEAVE, fresh=True),
        # Two members under an unchanged discriminator are an error of validation.
        Rule("M1", A.LEAVE, changed=False),
        # The discriminator changed: the members that it does not select go.
        Rule("M2", A.KEEP_SELECTED, selects=frozenset({C.MEMBER})),
        # It selects nothing, or a member without a field, such as Recreate.
        Rule("M3", A.CLEAR, selects=frozenset({C.EMPTY, C.NONE})),
        # Not in the enum, or selecting no known member where the values are not listed,
        # or missing: nothing is touched, and validation fails (cases 34 and 39).
        Rule("M4", A.LEAVE, selects=frozenset({C.UNKNOWN, C.UNMAPPED})),
        Rule("M5", A.LEAVE, selects=frozenset({C.MISSING})),
    ),
    pairs_by_place=True,
    only_on_change=True,
)
# Go: structured-merge-diff up to v4.3, typed/union.go, NormalizeUnions.
SMD: Final = Profile(
    "smd",
    (
        # It does not guess: a new discriminator and a new member have to agree.
        Rule(
            "1",
            A.REFUSE,
            "the discriminator does not select the member that is set",
            chosen=True,
            added=(1, 1),
            mismatch=True,
        ),
        Rule(
            "2",
            A.REFUSE,
            "more than one member is set",
            fresh=True,
            chosen=True,
            added=(2, MANY),
        ),
        Rule(
            "2",
            A.REFUSE,
            "more than one member is newly set",
            chosen=True,
            added=(2, MANY),
        ),
        # A new value of the discriminator clears the other members.
        Rule("3", A.KEEP_SELECTED, chosen=True),
        Rule("4", A.REFUSE, "more than one member is set", members=(2, MANY)),
        # deduceInvalidDiscriminator: the member that is set names the value.
        Rule("5", A.SET_DISCRIMINATOR, members=(1, 1)),
        Rule("6", A.LEAVE),
    ),
    empty_is_a_value=False,
    names_select=True,
    into_atomic=False,
    always_deduces=False,
)
# Kubernetes' declarative validation (1.34 and later) clears nothing.
VALIDATE_ONLY: Final = Profile("validate-only")
OFF: Final = Profile("off")

PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile
    for profile in (KEP_1027, KEP_1027_DRAFT, KEP_2019, SMD, VALIDATE_ONLY, OFF)
}


def profile_named(name: object) -> Profile:
    """Return a profile by its name. Raises UnionError for a name that there is not."""
    if not isinstance(name, str) or name not in PROFILES:
        raise unknown_profile(name)
    return PROFILES[name]


def unknown_profile(name: object) -> UnionError:
    """Make the error for a profile that there is not."""
    return UnionError(
        f"unknown union profile {show(name)}",
        code="unknown-profile",
        hint=", ".join(PROFILES),
    )


def profile_of(union: UnionGroup, asked: Profile) -> Profile:
    """Return the profile that a union follows.

    That is its own, then the one asked for, then what its shape suggests.

    ``validate-only`` and ``off`` are gates: where they are asked for, no union is
    normalized.
    """
    if asked in (VALIDATE_ONLY, OFF):
        return asked
    if union.profile:
        return profile_named(union.profile)
    return SMD if asked is KEP_1027 and union.generation == "fields" else asked


def may_act_unasked(union: UnionGroup, asked: Profile) -> bool:
    """Tell whether a union may be normalized though nothing in its object changed."""
    profile = profile_of(union, asked)
    if not profile.rules or profile.only_on_change:
        return False
    # Without a discriminator, rules L6 to L10: cleared only where a member was added.
    return profile is not KEP_1027_DRAFT or bool(union.discriminator)


def never_acts(union: UnionGroup, asked: Profile) -> bool:
    """Tell whether a profile leaves a union alone after every update."""
    if union.at_least_one or union.within:
        # Its members do not exclude each other, or exclude one another only where a
        # type above says so: that is left to validation.
        return True
    profile = profile_of(union, asked)
    if not profile.rules:
        return True
    # Rule M6: a union without a discriminator is validated, not normalized.
    return profile is KEP_1027 and not union.discriminator


def first_rule(profile: Profile, now: Situation) -> Rule:
    """Return the rule that decides."""
    for rule in profile.rules:
        if rule.holds(now):
            return rule
    return _NO_RULE


_NO_RULE: Final = Rule("", Action.LEAVE)
