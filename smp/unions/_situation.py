"""How a union stands in an object, as a profile reads it."""

from __future__ import annotations

from smp._values.values import JSON, Absent, JSONObject, as_object
from smp.schema.union_groups import Member, UnionGroup
from smp.unions._profiles import Choice, Profile, Situation


class UnionFacts:
    """One union of a type, with the profile that it follows.

    It knows what a walk asks for at every object: which members are set.
    """

    def __init__(self, union: UnionGroup, profile: Profile) -> None:
        self.union = union
        self.profile = profile
        self.discriminator = union.discriminator
        self.required = union.required
        self.names = list(union.names)
        self._order = {name: at for at, name in enumerate(self.names)}
        self._empty_is_unset = {
            member.name for member in union.members if member.empty_is_unset
        }

    def members_set(self, obj: JSONObject) -> list[str]:
        """Return the names of the members that an object sets, in the union's order."""
        if self.union.within:
            obj = as_object(obj.get(self.union.within))
        members: list[str] = []
        # The fields of an object are mostly fewer than the members of its union.
        for name, value in obj.items():
            if value is None or name not in self._order:
                continue
            # An empty string or a zero may be what Go writes for an unset field.
            if value or name not in self._empty_is_unset:
                members.append(name)
        if len(members) > 1:
            return [name for name in self.names if name in members]
        return members

    def situation(self, old: JSON | Absent, new: JSONObject) -> Situation:
        """Return how the union stands after an update of an object."""
        before: JSONObject = old if isinstance(old, dict) else {}
        then = discriminator_value(self.union, self.profile, before)
        now = discriminator_value(self.union, self.profile, new)
        asked = now
        if self.profile.before_defaults:
            asked = _write_value(self.union, self.profile, new)
        members = self.members_set(new)
        members_before = self.members_set(before)
        return Situation(
            union=self.union,
            fresh=not isinstance(old, dict),
            choice=choice(self.union, now, self.profile),
            changed=then != now,
            # What was not said was nothing, too.
            chosen=asked is not None and asked != (then or ""),
            selected=select(self.union, now, self.profile),
            members=tuple(members),
            added=tuple([name for name in members if name not in members_before]),
        )


def discriminator_value(
    union: UnionGroup, profile: Profile, obj: JSONObject
) -> str | None:
    """Return the discriminator's value, defaulted.

    None says that there is none, as distinct from the empty string as a value.
    """
    value = _write_value(union, profile, obj)
    # An API server sets the default where the discriminator is absent, or null.
    return union.default or None if value is None else value


def _write_value(union: UnionGroup, profile: Profile, obj: JSONObject) -> str | None:
    """Return what an object itself says of the discriminator's value, if it does."""
    value = obj.get(union.discriminator) if union.discriminator else None
    if isinstance(value, str) and value:
        return value
    if not profile.empty_is_a_value or (value is None and union.default):
        return None
    # KEP-1027: "" counts only where it is one of the discriminator's values.
    if "" in (union.allowed or ()):
        return "" if value == "" or profile.absent_is_empty else None
    # A server whose types are of Go takes "" for a value that is absent.
    is_refused = union.closed and not union.default and not union.answers
    return "" if value == "" and is_refused and profile.absent_is_empty else None


def choice(union: UnionGroup, value: str | None, profile: Profile) -> Choice:
    """Return what a value of the discriminator stands for."""
    if value is None:
        return Choice.MISSING
    if select(union, value, profile) is not None:
        return Choice.MEMBER
    if value in union.none:
        # By convention the empty string; an author may choose another value.
        return Choice.NONE
    if value in union.empty:
        return Choice.EMPTY
    return Choice.UNKNOWN if union.closed else Choice.UNMAPPED


def select(union: UnionGroup, value: str | None, profile: Profile) -> Member | None:
    """Return the member that a value of the discriminator selects."""
    if value is None:
        return None
    if value in union.by_value:
        return union.by_value[value]
    if profile.names_select:
        # Go: structured-merge-diff, a value without a mapping is a field's name.
        for member in union.members:
            if member.name == value:
                return member
    return None
