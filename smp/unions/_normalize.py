"""Normalizing unions: clear what an update left behind, as a profile decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import is_
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from smp.errors import ApplyWarning, Option, UnionConflictError, UnionError
from smp.paths import Element, Path, Step
from smp.schema.model import Field, ObjectType, Schema, Type
from smp.schema.reach import Reach, reach
from smp.schema.union_groups import UnionGroup
from smp.unions._asked import Asked
from smp.unions._decide import ACTIONS, Case, situation
from smp.unions._pairs import Value, by_key, identity, key_of
from smp.unions._profiles import (
    Action,
    Profile,
    Rule,
    first_rule,
    may_act_unasked,
    profile_of,
)
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same

OnConflict: TypeAlias = Literal["error", "clear"]


class Change(msgspec.Struct, frozen=True):
    """One field that the normalization wrote or cleared, and the rule that made it."""

    path: Path
    rule: str
    why: str
    old: JSON | Absent
    new: JSON | Absent


class Normalization(msgspec.Struct, frozen=True):
    """The normalized object, what was changed in it, and what to warn of."""

    object: JSONObject
    changes: tuple[Change, ...] = ()
    warnings: tuple[ApplyWarning, ...] = ()


def has_unions(known: Type) -> bool:
    """Tell whether a type is an object with unions of its own."""
    return isinstance(known, ObjectType) and bool(known.unions)


@cache
def _restless(profile: Profile) -> Callable[[Type], bool]:
    """Make the question whether a type has unions that a profile normalizes even where
    nothing changed.
    """

    def asks(known: Type) -> bool:
        return isinstance(known, ObjectType) and any(
            may_act_unasked(union, profile) for union in known.unions
        )

    return asks


class Place(msgspec.Struct, frozen=True):
    """Where the walk is: what was there before, what the patch asks for, and whether a
    list or map there is atomic.
    """

    old: Value
    asked: Asked
    path: Path
    atomic: bool = False

    @property
    def before(self) -> JSONObject:
        """The object that was there; empty where there was none."""
        return self.old if isinstance(self.old, dict) else {}

    def member(self, name: str, known: Field) -> Place:
        """Go on to a field."""
        return Place(
            self.before.get(name, ABSENT),
            self.asked.member(name, known),
            self.path / name,
            self.atomic,
        )


class Walk(msgspec.Struct):
    """One walk over an object and what it was before; children first, then the unions
    of the object itself.
    """

    profile: Profile
    on_conflict: OnConflict
    reaches: Reach
    restless: Reach
    changes: list[Change] = []
    warnings: list[ApplyWarning] = []
    problems: list[UnionError] = []

    def value(self, place: Place, new: JSON, known: Field) -> JSON:
        """Normalize what a field holds; what needs nothing comes back as it is."""
        if isinstance(new, dict):
            return self.object(place, new, known.type)
        return self.list(place, new, known) if isinstance(new, list) else new

    def needs(self, old: Value, new: JSON, known: Type) -> bool:
        """Tell whether there may be anything to do: not in what an update shares with
        the old object.
        """
        return (
            isinstance(new, dict | list)
            and self.reaches(known)
            and (old is not new or self.restless(known))
        )

    def object(self, place: Place, new: JSONObject, known: Type) -> JSONObject:
        """Normalize an object."""
        if isinstance(known, ObjectType) and known.map_type == "atomic":
            place = replace(place, atomic=True)
        done: JSONObject = {}
        for name, value in new.items():
            below = known.field(name) if isinstance(value, dict | list) else None
            if below is not None and self.needs(
                place.before.get(name, ABSENT), value, below.type
            ):
                then = self.value(place.member(name, below), value, below)
                done.update({} if then is value else {name: then})
        result = {**new, **done} if done else new
        for union in known.unions if isinstance(known, ObjectType) else ():
            result = self.union(union, place, result, known)
        return result

    def list(self, place: Place, new: JSONArray, known: Field) -> JSONArray:
        """Normalize the elements of a list, each with what it was: paired by key, never
        by index.
        """
        keys = identity(known)
        before, asked = by_key(place.old, keys), place.asked.elements(keys)
        done: JSONArray = []
        for index, element in enumerate(new):
            key = key_of(element, keys)
            if not self.needs(before.get(key, ABSENT), element, known.type.items):
                done.append(element)
                continue
            step: Step = (
                Element(index, keys[0], element[keys[0]])
                if key and isinstance(element, dict)
                else index
            )
            here = Place(
                before.get(key, ABSENT),
                asked(key),
                place.path / step,
                place.atomic or not keys,
            )
            done.append(
                self.object(here, element, known.type.items)
                if isinstance(element, dict)
                else element
            )
        return new if all(map(is_, done, new)) else done

    def union(
        self, union: UnionGroup, place: Place, new: JSONObject, known: Type
    ) -> JSONObject:
        """Decide on one union of an object, and do it."""
        profile = profile_of(union, self.profile)
        if place.atomic and not profile.into_atomic:
            return new
        now = situation(union, profile, place.old, new)
        rule = first_rule(profile, now)
        if rule.action is Action.REFUSE:
            names = ", ".join(now.added if len(now.added) > 1 else now.members)
            self.problems.append(
                UnionError(
                    f"{rule.reason}: {names}" if names else rule.reason, path=place.path
                )
            )
            return new
        made = ACTIONS[rule.action](Case(profile, now, place.before, new, place.asked))
        if rule.action is Action.RESTORE:
            made = {
                name: self._restored(name, value, place, known)
                for name, value in made.items()
            }
        return self._made(place, new, made, rule)

    def _restored(self, name: str, value: Value, place: Place, known: Type) -> Value:
        below = known.field(name)
        if value is ABSENT or below is None:
            return value
        # One change says it all: what came back, as it came back.
        apart = replace(self, changes=[])
        return apart.value(
            Place(value, Asked(), place.path / name, place.atomic), value, below
        )

    def _made(
        self, place: Place, new: JSONObject, made: Mapping[str, Value], rule: Rule
    ) -> JSONObject:
        changed = {
            name: value
            for name, value in made.items()
            if not same(new.get(name, ABSENT), value)
        }
        hit = [
            name
            for name, value in changed.items()
            if value is ABSENT and place.asked.wants(name)
        ]
        if hit and self.on_conflict == "error":
            self.problems.append(_conflict(hit[0], place.path))
            return new
        for name, value in changed.items():
            self.changes.append(
                Change(
                    place.path / name,
                    rule.name,
                    rule.action.value,
                    new.get(name, ABSENT),
                    value,
                )
            )
        if changed and rule.reason:
            self.warnings.append(
                ApplyWarning(
                    "unlisted-discriminator",
                    place.path,
                    f"{rule.reason}: {', '.join(changed)}",
                )
            )
        together = {**new, **changed} if changed else {}
        return (
            {name: value for name, value in together.items() if value is not ABSENT}
            if changed
            else new
        )


def _conflict(name: str, path: Path) -> UnionConflictError:
    return UnionConflictError(
        "the patch sets this member of a union and asks for another one",
        path=path / name,
        option=Option(
            name="on_conflict", value="clear", effect="lets the discriminator win"
        ),
    )


def normalize(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    profile: Profile,
    patch: Value,
    on_conflict: OnConflict,
) -> Normalization:
    """Normalize a whole object."""
    walk = Walk(
        profile,
        on_conflict,
        reach(schema.types, has_unions),
        reach(schema.types, _restless(profile)),
    )
    if not profile.rules or not walk.needs(
        ABSENT if old is None else old, new, schema.type
    ):
        return Normalization(new)
    result = walk.object(
        Place(ABSENT if old is None else old, Asked(patch), Path()), new, schema.type
    )
    if walk.problems:
        raise _together(walk.problems)
    return Normalization(result, tuple(walk.changes), tuple(walk.warnings))


def _together(problems: list[UnionError]) -> UnionError:
    # A refusal among them counts more than a conflict, for no option helps against it.
    first = min(problems, key=lambda problem: isinstance(problem, UnionConflictError))
    if len(problems) == 1:
        return first
    text = "".join(f"\n  {problem}" for problem in problems)
    return type(first)(
        f"{len(problems)} unions cannot be normalized{text}",
        path=first.path,
        hint=first.advice,
        option=first.option,
        problems=tuple(problems),
    )
