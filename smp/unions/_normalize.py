"""Normalizing unions: clear what an update left behind, as a profile decides."""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec

from smp._strategic import REPLACE, PatchObject, read_object
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    same,
)
from smp.errors import ApplyWarning, Option, SchemaError, UnionConflictError, UnionError
from smp.paths import Path, sort_by_path
from smp.schema.model import Field, ListType, ObjectType, Type
from smp.schema.plan import Interest, Plan
from smp.schema.union_groups import UnionGroup
from smp.schema.walk import Key, KeyIndex, Place, Rule, Walk, key_of
from smp.unions._profiles import (
    KEP_1027,
    KEP_1027_DRAFT,
    SMD,
    Action,
    Profile,
    Situation,
    first_rule,
    may_act_unasked,
    never_acts,
    profile_of,
    why,
)
from smp.unions._profiles import Rule as Row
from smp.unions._situation import UnionFacts, discriminator_value


class Change(msgspec.Struct, frozen=True):
    """One field that the normalization wrote or cleared.

    ``rule`` is the row of the profile's table, ``why`` a sentence that stands alone.
    """

    path: Path
    rule: str
    why: str
    old: Any
    new: Any


class Normalization(msgspec.Struct, frozen=True, gc=False):
    """The normalized object, what was changed in it, and what to warn of."""

    object: dict[str, Any]
    changes: tuple[Change, ...] = ()
    warnings: tuple[ApplyWarning, ...] = ()


class Intent(Protocol):
    """What a request asks for an object."""

    def sets(self, name: str) -> bool:
        """Tell whether the request gives a field a value."""

    def removes(self, name: str) -> bool:
        """Tell whether the request removes a field, so that nothing may restore it."""


class UpdateIntent:
    """What an update asks for that is no merge patch: what it makes another value.

    What a client sends back as it was is no wish of its own: it may not know the field.
    """

    def __init__(self, place: Place) -> None:
        self._former = as_object(place.likely)
        self._new = as_object(place.new)

    def sets(self, name: str) -> bool:
        """Tell whether a field has another value than before."""
        value = self._new.get(name)
        return value is not None and not same(value, self._former.get(name))

    def removes(self, name: str) -> bool:  # noqa: ARG002  # the protocol's
        """Tell that nothing is removed on purpose: the client may not know a field."""
        return False


class PatchIntent:
    """The part of a patch for one place.

    ``replaced``: the patch replaces the value or one above it, so what the patch does
    not set there is removed on purpose.
    """

    def __init__(self, patch: JSON | Absent, *, replaced: bool) -> None:
        self.patch = patch
        self.replaced = replaced
        self._object: PatchObject | None = None
        self._elements: ElementIntents | None = None

    @property
    def object(self) -> PatchObject:
        """The fields and the directives of the patch for an object."""
        if self._object is None:
            patch = self.patch
            self._object = (
                read_object(patch) if isinstance(patch, dict) else PatchObject({})
            )
        return self._object

    def member(self, name: str, field: Field | None) -> PatchIntent:
        """Return what the patch asks for a field."""
        here = self.object
        replaced = self.replaced or here.marker is not ABSENT
        if field is not None and field.replaces and name in here.fields:
            replaced = True
        return PatchIntent(here.fields.get(name, ABSENT), replaced=replaced)

    def element(self, element: JSON, keys: tuple[str, ...]) -> PatchIntent:
        """Return what the patch asks for an element of a list, by its key."""
        if self._elements is None:
            self._elements = ElementIntents(as_list(self.patch), keys)
        return self._elements.of(key_of(element, keys), replaced=self.replaced)

    def sets(self, name: str) -> bool:
        """Tell whether the patch gives a field a value.

        A name in ``$retainKeys`` gives none: kubectl lists every field of its object
        there, also those that it did not change (Go: strategicpatch.diffMaps).
        """
        return self.object.fields.get(name) is not None

    def removes(self, name: str) -> bool:
        """Tell whether the patch removes a field, so that nothing may restore it."""
        here = self.object
        if self.replaced or here.marker is not ABSENT:
            return True
        if isinstance(here.retained, list) and name not in here.retained:
            return True
        return here.fields.get(name, ABSENT) is None


class ElementIntents:
    """The elements of a list in a patch, by key."""

    def __init__(self, patch: JSONArray, keys: tuple[str, ...]) -> None:
        merged: JSONArray = []
        self._deleted: set[Key] = set()
        self._replaces_list = False
        for element in patch:
            if not isinstance(element, dict):
                continue
            marker = read_object(element).marker
            if marker is ABSENT:
                merged.append(element)
                continue
            self._deleted.add(key_of(element, keys))
            # ``$patch: replace`` in one element removes the rest of the live list.
            if marker == REPLACE:
                self._replaces_list = True
        self._merged = KeyIndex(merged, keys)

    def of(self, key: Key, *, replaced: bool) -> PatchIntent:
        """Return what the patch asks for the element of a key."""
        removed = replaced or self._replaces_list or key in self._deleted
        return PatchIntent(self._merged.unique.get(key, ABSENT), replaced=removed)


class Intents:
    """What a request asks for, found for a place when a rule wants to know.

    ``patch`` is a merge patch. Without one the update itself tells, where the request
    is ``whole``, and nothing is asked for otherwise.
    """

    def __init__(self, patch: JSON | Absent, *, whole: bool = False) -> None:
        self._root = PatchIntent(patch, replaced=False)
        self._intents: dict[Place, PatchIntent] = {}
        self.whole = whole and patch is ABSENT

    def at(self, place: Place) -> Intent:
        """Return what the request asks for at a place."""
        return UpdateIntent(place) if self.whole else self._find_in_patch(place)

    def _find_in_patch(self, place: Place) -> PatchIntent:
        parent = place.parent
        if parent is None:
            return self._root
        intent = self._intents.get(place)
        if intent is None:
            above = self._find_in_patch(parent)
            if place.index < 0:
                field = parent.node.type.field(place.name)
                intent = above.member(place.name, field)
            else:
                intent = above.element(place.new, parent.node.keys)
            self._intents[place] = intent
        return intent


class UnionsOfType:
    """The unions of a type that a profile may act on."""

    def __init__(self, unions: list[UnionFacts], *, unchanged: bool) -> None:
        self.unions = unions
        self.unchanged = unchanged


class NormalizationInterest(Interest):
    """Object types with unions that a profile normalizes."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(f"normalize {profile.name}")
        self._profile = profile

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:
        """Return the unions that the profile may act on."""
        if isinstance(type_, ListType):
            require_keys_outside_unions(type_, keys)
        if not isinstance(type_, ObjectType):
            return None
        unions: list[UnionFacts] = []
        unchanged = False
        for union in type_.unions:
            if not never_acts(union, self._profile):
                unions.append(UnionFacts(union, profile_of(union, self._profile)))
                unchanged = unchanged or may_act_unasked(union, self._profile)
        return UnionsOfType(unions, unchanged=unchanged) if unions else None

    def acts_unchanged(self, facts: object) -> bool:
        """Tell whether a profile may act though nothing in the object changed."""
        return isinstance(facts, UnionsOfType) and facts.unchanged


def require_keys_outside_unions(type_: ListType, keys: tuple[str, ...]) -> None:
    """Raise SchemaError where the key of a list is a member of a union of its elements.

    Clearing it would make another element of it. A list may be keyed by a
    discriminator: the elements are paired by it, so that it never changes.
    """
    items = type_.items if keys else None
    if isinstance(items, ObjectType):
        for union in items.unions:
            for key in keys:
                if key in union.names:
                    raise SchemaError(
                        f"the key {key!r} of this list is a member of a union of its"
                        " elements",
                        code="invalid-union",
                    )


class UnionOutcome(msgspec.Struct, frozen=True):
    """What the row of a profile wants of the fields of a union: values, or ABSENT."""

    union: UnionGroup
    row: Row
    wanted: dict[str, JSON | Absent]


class NormalizationRule(Rule):
    """Decides on the unions of each object, after those of the objects below it."""

    def __init__(
        self,
        plan: Plan,
        patch: JSON | Absent,
        *,
        clear_conflicts: bool,
        applied: bool = False,
        whole: bool = False,
    ) -> None:
        self.changes: list[Change] = []
        self.warnings: list[ApplyWarning] = []
        self.problems: list[UnionError] = []
        self._plan = plan
        self._intents = Intents(patch, whole=whole)
        self._request = "configuration" if applied else "patch"
        if self._intents.whole:
            self._request = "request"
        self._clear_conflicts = clear_conflicts
        # Whether the patch is a configuration that server-side apply has merged.
        self._applied = applied

    def leave(self, place: Place, value: JSON, facts: object | None) -> JSON:
        """Normalize the unions of an object."""
        if isinstance(facts, UnionsOfType) and isinstance(value, dict):
            for union in facts.unions:
                value = self._union(place, as_object(value), union)
        return value

    def _union(self, place: Place, new: JSONObject, facts: UnionFacts) -> JSONObject:
        profile = facts.profile
        if not profile.into_atomic and place.atomic:
            # Go: structured-merge-diff does not look into atomic lists and maps.
            return new
        # Without a discriminator the overlay's unions follow the draft of KEP-1027.
        by_place = place.guessed and (
            profile.pairs_by_place
            or (profile is KEP_1027_DRAFT and not facts.discriminator)
        )
        old = place.likely if by_place else place.former
        if _is_left_alone(facts, old, new):
            return new
        now = facts.situation(old, new)
        if self._applied and profile is SMD:
            return self._keep_applied(place, new, facts.union)
        row = first_rule(profile, now)
        if row.action is Action.LEAVE:
            return new
        if place.shared and not may_act_unasked(facts.union, profile):
            # The update did not touch it, wherever the walk came through.
            return new
        if row.action is Action.REFUSE:
            names = now.added if len(now.added) > 1 else now.members
            problem = f"{row.reason}: {', '.join(names)}" if names else row.reason
            # An object may have several unions, each with its own discriminator.
            path = place.path / facts.discriminator if row.required else place.path
            self.problems.append(UnionError(problem, path=path))
            return new
        intent = self._intents.at(place)
        wanted = compute_outcome(row.action, now, profile, as_object(old), intent)
        if row.action is Action.RESTORE:
            for name, value in wanted.items():
                if not isinstance(value, Absent):
                    wanted[name] = self._normalize_again(place, name, value)
        if facts.discriminator in wanted and place.is_keyed_by(facts.discriminator):
            # Another key would make another element of it; validation fails.
            return new
        if by_place:
            wanted = _clear_what_was_there(wanted, as_object(old), new)
        return self._put_outcome(place, new, UnionOutcome(facts.union, row, wanted))

    def _keep_applied(
        self, place: Place, new: JSONObject, union: UnionGroup
    ) -> JSONObject:
        """Keep the one member that the applied configuration sets.

        Go: structured-merge-diff v4.3, typed/union.go, NormalizeApply.
        """
        intent = self._intents.at(place)
        chosen = [name for name in union.names if intent.sets(name)]
        if len(chosen) != 1:
            return new
        # Also those that are null.
        wanted: dict[str, JSON | Absent] = {
            name: ABSENT for name in union.names if name in new and name not in chosen
        }
        wanted.update(_discriminator_for(chosen[0], union, SMD))
        return self._put_outcome(place, new, UnionOutcome(union, _APPLIED, wanted))

    def _normalize_again(self, place: Place, name: str, restored: JSON) -> JSON:
        """Normalize a member that comes back from the old object.

        Only its return is recorded as a change, as it came back.
        """
        node = place.node.member(name)
        if node is None:
            return restored
        rule = NormalizationRule(
            self._plan, ABSENT, clear_conflicts=self._clear_conflicts
        )
        here = Place(place, name, -1, node, restored, restored)
        result = Walk(self._plan, [rule]).visit(here)
        self.warnings.extend(rule.warnings)
        self.problems.extend(rule.problems)
        return result

    def _put_outcome(
        self, place: Place, new: JSONObject, outcome: UnionOutcome
    ) -> JSONObject:
        changed = {
            name: value
            for name, value in outcome.wanted.items()
            if not same(new.get(name, ABSENT), value)
        }
        if not changed:
            return new
        union, row, path = outcome.union, outcome.row, place.path
        intent = self._intents.at(place)
        # The request gives a value to a member, and asks for another one.
        conflicting = [
            name
            for name, value in changed.items()
            if value is ABSENT and intent.sets(name)
        ]
        if conflicting and not union.validated:
            # Servers accept both (Go: apps/v1 DaemonSetUpdateStrategy).
            return new
        if conflicting and not self._clear_conflicts:
            here = path / conflicting[0]
            self.problems.append(_conflict(self._request, here, union, intent))
            return new
        for name in conflicting:
            # KEP-1027 of 2019, Future Work: normalizing "will either clear the value
            # sent if the discriminator changes", or the discriminator.
            message = f"the {self._request} sets this field; "
            message += why(row.action, cleared=True)
            self.warnings.append(ApplyWarning("union-conflict", path / name, message))
        result = dict(new)
        for name, value in changed.items():
            sentence = why(row.action, cleared=isinstance(value, Absent))
            former = new.get(name, ABSENT)
            self.changes.append(Change(path / name, row.name, sentence, former, value))
            if isinstance(value, Absent):
                result.pop(name, None)
            else:
                result[name] = value
        return result


def _conflict(
    request: str, path: Path, union: UnionGroup, intent: Intent
) -> UnionConflictError:
    """Make the error of a request that sets a member which it does not select."""
    asked = "asks for another one"
    name = union.discriminator
    if name and not intent.sets(name):
        # First draft of 2022: the discriminator decides, also where it is left.
        asked = f"leaves its discriminator {name!r}, which does not select it"
    return UnionConflictError(
        f"the {request} sets this member of a union and {asked}",
        path=path,
        option=Option(
            name="on_conflict", value="clear", effect="lets the discriminator win"
        ),
    )


def _clear_what_was_there(
    wanted: dict[str, JSON | Absent], old: JSONObject, new: JSONObject
) -> dict[str, JSON | Absent]:
    """Return what is cleared because it stood at this place before.

    The element at this place may have been another one.
    """
    return {
        name: value
        for name, value in wanted.items()
        if value is ABSENT and same(old.get(name, ABSENT), new[name])
    }


_APPLIED: Final = Row("apply", Action.KEEP_ADDED_SET_DISCRIMINATOR)


def _is_left_alone(facts: UnionFacts, old: JSON | Absent, new: JSONObject) -> bool:
    """Tell quickly, for most unions, that no row of any table would change them."""
    if not facts.discriminator:
        # There is no discriminator to set, and nothing to clear beside one member.
        return len(facts.members_set(new)) <= 1
    if facts.profile is KEP_1027:
        # M1: "normalization happens when the discriminator changes" on an update.
        if not isinstance(old, dict):
            return True
        then = discriminator_value(facts.union, facts.profile, old)
        return then == discriminator_value(facts.union, facts.profile, new)
    return False


def compute_outcome(
    action: Action, now: Situation, profile: Profile, old: JSONObject, intent: Intent
) -> dict[str, JSON | Absent]:
    """Return what an action makes of the fields of a union: a value, or ABSENT."""
    keep: list[str] = []
    wanted: dict[str, JSON | Absent] = {}
    if action in _KEEPING_SELECTED:
        keep = [now.selected.name] if now.selected else []
    elif action in _KEEPING_ADDED:
        keep = [*now.added]
    elif action is Action.SET_DISCRIMINATOR:
        keep = [*now.members]
    for name in now.members:
        if name not in keep:
            wanted[name] = ABSENT
    if action is Action.RESTORE and now.selected:
        # Draft of KEP-1027: a client that does not know the selected member drops it.
        name = now.selected.name
        lost = name not in now.members and old.get(name) is not None
        if lost and not intent.removes(name):
            wanted[name] = old[name]
    if action is Action.KEEP_ADDED_SET_DISCRIMINATOR:
        wanted.update(_discriminator_for(now.added[0], now.union, profile))
    elif action is Action.SET_DISCRIMINATOR:
        wanted.update(_discriminator_for(now.members[0], now.union, profile))
    return wanted


_KEEPING_SELECTED: Final = (Action.KEEP_SELECTED, Action.RESTORE)
_KEEPING_ADDED: Final = (Action.KEEP_ADDED, Action.KEEP_ADDED_SET_DISCRIMINATOR)


def _discriminator_for(
    name: str, union: UnionGroup, profile: Profile
) -> dict[str, JSON | Absent]:
    # structured-merge-diff writes a discriminator only with deduceInvalidDiscriminator.
    if not union.discriminator or not (union.deduce or profile.always_deduces):
        return {}
    for member in union.members:
        if member.name == name:
            return {union.discriminator: member.value}
    return {}


def raise_problems(found: list[UnionError]) -> None:
    """Raise one error for all problems, if there are any."""
    if not found:
        return
    problems = sort_by_path(found)
    # A refusal among them counts more than a conflict, as no option helps against it.
    first = problems[0]
    for problem in problems:
        if not isinstance(problem, UnionConflictError):
            first = problem
            break
    if len(problems) == 1:
        raise first
    text = "".join([f"\n  {problem}" for problem in problems])
    raise type(first)(
        f"{len(problems)} unions cannot be normalized{text}",
        path=first.path,
        hint=first.advice,
        option=first.option,
        problems=tuple(problems),
    )
