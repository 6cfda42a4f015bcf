"""How a union stands, and what an action makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from smp.schema.union_groups import Member, UnionGroup
from smp.unions._asked import Asked
from smp.unions._pairs import Value
from smp.unions._profiles import Action, Choice, Profile, Situation
from smp.values import ABSENT, JSONObject, same


class Case(msgspec.Struct, frozen=True):
    profile: Profile
    now: Situation
    old: JSONObject
    new: JSONObject
    asked: Asked


def _keep(case: Case, *kept: str) -> dict[str, Value]:
    return {name: ABSENT for name in case.now.members if name not in kept}


def _keep_selected(case: Case) -> dict[str, Value]:
    return _keep(case, case.now.selected.name if case.now.selected else "")


def _restore(case: Case) -> dict[str, Value]:
    made = _keep_selected(case)
    selected = case.now.selected.name if case.now.selected else ""
    if (
        selected not in case.now.members
        and case.old.get(selected) is not None
        and not case.asked.drops(selected)
    ):
        made[selected] = case.old[selected]
    return made


def _keep_added(case: Case) -> dict[str, Value]:
    return _keep(case, *case.now.added)


def _keep_added_and_say_so(case: Case) -> dict[str, Value]:
    return {**_keep_added(case), **_said(case, case.now.added[0])}


def _say_so(case: Case) -> dict[str, Value]:
    return _said(case, case.now.members[0])


def _said(case: Case, name: str) -> dict[str, Value]:
    union = case.now.union
    if not union.discriminator or not (union.deduce or case.profile.always_deduces):
        return {}
    return {
        union.discriminator: next(
            member.value for member in union.members if member.name == name
        )
    }


def _clear_carried_over(case: Case) -> dict[str, Value]:
    return {
        name: ABSENT
        for name in case.now.members
        if same(case.old.get(name, ABSENT), case.new[name])
    }


ACTIONS: Final[Mapping[Action, Callable[[Case], dict[str, Value]]]] = {
    Action.LEAVE: lambda _case: {},
    Action.KEEP_SELECTED: _keep_selected,
    Action.RESTORE: _restore,
    Action.KEEP_ADDED: _keep_added,
    Action.KEEP_ADDED_AND_SAY_SO: _keep_added_and_say_so,
    Action.SAY_SO: _say_so,
    Action.CLEAR: _keep,
    Action.CLEAR_CARRIED_OVER: _clear_carried_over,
}


def situation(
    union: UnionGroup, profile: Profile, old: Value, new: JSONObject
) -> Situation:
    """Say how a union stands, as a profile reads it."""
    before = old if isinstance(old, dict) else {}
    then, now = (discriminator(union, profile, value) for value in (before, new))
    members = union.members_set(new)
    return Situation(
        union=union,
        fresh=not isinstance(old, dict),
        choice=choice(union, now, profile),
        changed=then != now,
        chosen=then != now and bool(now),
        selected=selected(union, now, profile),
        members=members,
        added=tuple(name for name in members if name not in union.members_set(before)),
    )


def discriminator(union: UnionGroup, profile: Profile, obj: JSONObject) -> str | None:
    """Return the discriminator's value, defaulted; None where there is none, as
    distinct from "" as a value.
    """
    value = obj.get(union.discriminator) if union.discriminator else None
    if isinstance(value, str) and value:
        return value
    if profile.empty_is_a_value and (
        "" in (union.allowed or ())
        or (value == "" and union.closed and not union.default)
    ):
        return ""
    return union.default or None


def choice(union: UnionGroup, value: str | None, profile: Profile) -> Choice:
    """Say what a value stands for."""
    if value is None:
        return Choice.MISSING
    if selected(union, value, profile) is not None:
        return Choice.MEMBER
    if value in union.none:
        return Choice.NONE
    if value in union.empty:
        return Choice.EMPTY
    return Choice.UNKNOWN if union.closed else Choice.UNMAPPED


def selected(union: UnionGroup, value: str | None, profile: Profile) -> Member | None:
    """Return the member that a value selects."""
    if value is None:
        return None
    by_name = (
        next((m for m in union.members if m.name == value), None)
        if profile.names_select
        else None
    )
    return union.by_value.get(value, by_name)
