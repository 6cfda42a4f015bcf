"""Members of unions that come from the defaults of a schema.

A default is not a choice: it sets a member only where no other one was chosen. Without
this rule a server that adds defaults to each object could not store any change of an
object after another member than the defaulted one was chosen.
"""

from __future__ import annotations

from smp._values.values import JSON, JSONObject, as_object
from smp.schema.model import ObjectType, Type
from smp.schema.plan import Interest
from smp.schema.walk import Place, Rule
from smp.unions._profiles import Choice, Profile, profile_of
from smp.unions._situation import UnionFacts, choice, discriminator_value, select


class DefaultedUnions:
    """The unions of a type."""

    def __init__(self, unions: list[UnionFacts]) -> None:
        self.unions = unions


class MemberDefaultsInterest(Interest):
    """Object types with unions."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(f"defaults {profile.name}")
        self._profile = profile

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002  # the interface's
        """Return the unions of an object type."""
        if not isinstance(type_, ObjectType) or not type_.unions:
            return None
        return DefaultedUnions(
            [
                UnionFacts(union, profile_of(union, self._profile))
                for union in type_.unions
            ]
        )


class MemberDefaultsRule(Rule):
    """Removes the members that defaults added beside another choice."""

    def leave(self, place: Place, value: JSON, facts: object | None) -> JSON:
        """Look at the unions of an object."""
        # An object that a default added as a whole stays as the schema has it.
        if isinstance(facts, DefaultedUnions) and isinstance(place.old, dict):
            for union in facts.unions:
                value = _drop_unchosen(union, place.old, as_object(value))
        return value


def _drop_unchosen(
    facts: UnionFacts, undefaulted: JSONObject, defaulted: JSONObject
) -> JSONObject:
    union, profile = facts.union, facts.profile
    members_before = facts.members_set(undefaulted)
    value = discriminator_value(union, profile, defaulted)
    meaning = choice(union, value, profile)
    chosen = select(union, value, profile)
    unchosen: list[str] = []
    for name in facts.members_set(defaulted):
        if name in members_before:
            continue
        if meaning in (Choice.MEMBER, Choice.EMPTY, Choice.NONE):
            if chosen is None or chosen.name != name:
                unchosen.append(name)
        elif members_before:
            # Nothing is selected; the object had another member before its defaults.
            unchosen.append(name)
    if not unchosen:
        return defaulted
    return {name: value for name, value in defaulted.items() if name not in unchosen}
