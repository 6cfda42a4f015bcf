"""Normalizing unions: clear what an update left behind, as a profile decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Final, Literal, TypeAlias

from smp.errors import UnionConflictError, UnionError, Warning  # noqa: A004
from smp.paths import Element, Path, Step
from smp.schema.model import Field, ObjectType, Schema, Type
from smp.schema.reach import Reach, reach
from smp.schema.unions import Member, UnionGroup
from smp.strategic import PatchObject, read_object
from smp.unions._pairs import Value, by_key, identity, key_of
from smp.unions._profiles import Action, Choice, Profile, Rule, Situation, first_rule, profile_of
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same

OnConflict: TypeAlias = Literal["error", "clear"]


@dataclass(frozen=True, slots=True)
class Change:
    """One field that the normalization wrote or cleared, and the rule that made it."""

    path: Path
    rule: str
    why: str
    old: JSON | Absent
    new: JSON | Absent


@dataclass(frozen=True, slots=True)
class Normalization:
    """The normalized object, what was changed in it, and what to warn of."""

    object: JSONObject
    changes: tuple[Change, ...] = ()
    warnings: tuple[Warning, ...] = ()


def has_unions(known: Type) -> bool:
    """Tell whether a type is an object with unions of its own."""
    return isinstance(known, ObjectType) and bool(known.unions)


@dataclass(slots=True)
class Walk:
    """One walk over an object and what it was before; children first, then the unions of the object itself."""

    profile: Profile
    on_conflict: OnConflict
    reaches: Reach
    changes: list[Change] = field(default_factory=list)
    warnings: list[Warning] = field(default_factory=list)
    problems: list[UnionError] = field(default_factory=list)

    def value(self, old: Value, new: JSON, patch: Value, known: Field, path: Path) -> JSON:
        """Normalize what a field holds; what needs nothing comes back as it is."""
        if isinstance(new, dict) and self.reaches(known.type):
            return self.object(old, new, patch, known.type, path)
        if isinstance(new, list) and self.reaches(known.type):
            return self.list(old, new, patch, known, path)
        return new

    def object(self, old: Value, new: JSONObject, patch: Value, known: Type, path: Path) -> JSONObject:
        """Normalize an object."""
        if isinstance(known, ObjectType) and known.map_type == "atomic" and not self.profile.into_atomic:
            return new
        before = old if isinstance(old, dict) else {}
        asked = patch if isinstance(patch, dict) else {}
        done: JSONObject = {}
        for name, value in new.items():
            below = known.field(name)
            if below is not None and isinstance(value, dict | list):
                then = self.value(before.get(name, ABSENT), value, asked.get(name, ABSENT), below, path / name)
                done.update({} if then is value else {name: then})
        result = {**new, **done} if done else new
        for union in known.unions if isinstance(known, ObjectType) else ():
            result = self.union(union, old, result, patch, path)
        return result

    def list(self, old: Value, new: JSONArray, patch: Value, known: Field, path: Path) -> JSONArray:
        """Normalize the elements of a list, each with what it was: paired by key, never by index."""
        keys = identity(known)
        if not keys and not self.profile.into_atomic:
            return new
        before, asked = by_key(old, keys), by_key(patch, keys)
        done: JSONArray = []
        for index, element in enumerate(new):
            key = key_of(element, keys)
            step: Step = Element(index, keys[0], element[keys[0]]) if key and isinstance(element, dict) else index
            pair = before.get(key, ABSENT), asked.get(key, ABSENT)
            done.append(self._element(element, pair, known.type.items, path / step))
        return new if all(map(is_, done, new)) else done

    def _element(self, element: JSON, pair: tuple[Value, Value], known: Type, path: Path) -> JSON:
        return self.object(pair[0], element, pair[1], known, path) if isinstance(element, dict) else element

    def union(self, union: UnionGroup, old: Value, new: JSONObject, patch: Value, path: Path) -> JSONObject:
        """Decide on one union of an object, and do it."""
        profile = profile_of(union, self.profile)
        now = situation(union, profile, old, new)
        rule = first_rule(profile, now)
        if rule.action is Action.REFUSE:
            names = ", ".join(now.added if len(now.added) > 1 else now.members)
            self.problems.append(UnionError(f"{rule.reason}: {names}" if names else rule.reason, path=path))
            return new
        case = _Case(profile, now, old if isinstance(old, dict) else {}, new, _Intent.read(patch))
        return self._made(case, _ACTIONS[rule.action](case), rule, path)

    def _made(self, case: _Case, made: Mapping[str, Value], rule: Rule, path: Path) -> JSONObject:
        new, intent = case.new, case.intent
        changed = {name: value for name, value in made.items() if not same(new.get(name, ABSENT), value)}
        hit = [name for name, value in changed.items() if value is ABSENT and intent.wants(name)]
        if hit and self.on_conflict == "error":
            self.problems.append(_conflict(hit[0], path))
            return new
        for name, value in changed.items():
            self.changes.append(Change(path / name, rule.name, rule.action.value, new.get(name, ABSENT), value))
        if changed and rule.reason:
            self.warnings.append(Warning("unlisted-discriminator", path, f"{rule.reason}: {', '.join(changed)}"))
        together = {**new, **changed} if changed else {}
        return {name: value for name, value in together.items() if value is not ABSENT} if changed else new


def _conflict(name: str, path: Path) -> UnionConflictError:
    return UnionConflictError(
        "the patch sets this member of a union and asks for another one",
        path=path / name,
        hint='on_conflict="clear" lets the discriminator win',
    )


@dataclass(frozen=True, slots=True)
class _Intent:
    """What a patch says of an object: which members it wants, and which it wants gone."""

    patch: PatchObject | None

    @classmethod
    def read(cls, patch: Value) -> _Intent:
        return cls(read_object(patch) if isinstance(patch, dict) else None)

    def wants(self, name: str) -> bool:
        """Whether the patch sets or retains the field."""
        if self.patch is None:
            return False
        retained = self.patch.retained
        return self.patch.fields.get(name) is not None or (isinstance(retained, list) and name in retained)

    def drops(self, name: str) -> bool:
        """Whether the patch removed the field, so that nothing may bring it back."""
        if self.patch is None:
            return False
        retained = self.patch.retained
        gone = isinstance(retained, list) and name not in retained
        return gone or self.patch.marker is not ABSENT or self.patch.fields.get(name, ABSENT) is None


@dataclass(frozen=True, slots=True)
class _Case:
    profile: Profile
    now: Situation
    old: JSONObject
    new: JSONObject
    intent: _Intent


def _keep(case: _Case, *kept: str) -> dict[str, Value]:
    return {name: ABSENT for name in case.now.members if name not in kept}


def _keep_selected(case: _Case) -> dict[str, Value]:
    return _keep(case, case.now.selected.name if case.now.selected else "")


def _keep_or_restore(case: _Case) -> dict[str, Value]:
    made = _keep_selected(case)
    selected = case.now.selected.name if case.now.selected else ""
    if selected not in case.now.members and case.old.get(selected) is not None and not case.intent.drops(selected):
        made[selected] = case.old[selected]
    return made


def _keep_added(case: _Case) -> dict[str, Value]:
    return _keep(case, *case.now.added)


def _keep_added_and_say_so(case: _Case) -> dict[str, Value]:
    return {**_keep_added(case), **_said(case, case.now.added[0])}


def _say_so(case: _Case) -> dict[str, Value]:
    return _said(case, case.now.members[0])


def _said(case: _Case, name: str) -> dict[str, Value]:
    union = case.now.union
    if not union.discriminator or not (union.deduce or case.profile.always_deduces):
        return {}
    return {union.discriminator: next(member.value for member in union.members if member.name == name)}


def _clear_carried_over(case: _Case) -> dict[str, Value]:
    return {name: ABSENT for name in case.now.members if same(case.old.get(name, ABSENT), case.new[name])}


_ACTIONS: Final[Mapping[Action, Callable[[_Case], dict[str, Value]]]] = {
    Action.LEAVE: lambda _case: {},
    Action.KEEP_SELECTED: _keep_selected,
    Action.KEEP_OR_RESTORE: _keep_or_restore,
    Action.KEEP_ADDED: _keep_added,
    Action.KEEP_ADDED_AND_SAY_SO: _keep_added_and_say_so,
    Action.SAY_SO: _say_so,
    Action.CLEAR: _keep,
    Action.CLEAR_CARRIED_OVER: _clear_carried_over,
}


def situation(union: UnionGroup, profile: Profile, old: Value, new: JSONObject) -> Situation:
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
    """Return the discriminator's value, defaulted; None where there is none, as distinct from "" as a value."""
    value = obj.get(union.discriminator) if union.discriminator else None
    if isinstance(value, str) and value:
        return value
    if profile.empty_is_a_value and (
        "" in (union.allowed or ()) or (value == "" and union.closed and not union.default)
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
    by_name = next((m for m in union.members if m.name == value), None) if profile.names_select else None
    return union.by_value.get(value, by_name)


def normalize(
    old: JSONObject | None, new: JSONObject, schema: Schema, profile: Profile, patch: Value, on_conflict: OnConflict
) -> Normalization:
    """Normalize a whole object."""
    walk = Walk(profile, on_conflict, reach(schema.types, has_unions))
    if not profile.rules or not walk.reaches(schema.type):
        return Normalization(new)
    result = walk.object(ABSENT if old is None else old, new, patch, schema.type, Path())
    if walk.problems:
        raise _together(walk.problems)
    return Normalization(result, tuple(walk.changes), tuple(walk.warnings))


def _together(problems: list[UnionError]) -> UnionError:
    if len(problems) == 1:
        return problems[0]
    text = "".join(f"\n  {problem}" for problem in problems)
    kind = type(problems[0])
    return kind(f"{len(problems)} unions cannot be normalized{text}", path=problems[0].path, problems=tuple(problems))
