"""The walk of a comparison: along both objects, and along what a server makes of them.

Theory of operation
===================

The walk goes along four ``Sides``: the desired and the live object, and what a server
would make of each of them (``smp._storage.update.as_stored``). At each place the first
of these that holds decides:

1. The values are the same: nothing to say.
2. A rule sets aside all that differs here.
3. A normalizer that the type, or a rule, asks for takes both values for equal.
4. Both are objects, or lists: what is in them is compared. Elements of lists are paired
   by the keys of the schema, those of a set by their values, all others by their place.
5. A server would make the same of both: a default, a zero value that it drops.
6. A rule trusts a manager that owns the field.
7. It is a difference.

Where only one side has an object or a list, what is in it is compared with nothing: a
rule may be about a part of it. If none of it is set aside, it is one difference.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from smp._values.last_applied import LAST_APPLIED
from smp._values.path_patterns import pattern_of
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    as_object,
    same,
    scalar_key,
)
from smp.comparison import _normalizers as normalizers
from smp.comparison._comparison import RULE, Difference, SetAside
from smp.comparison._meanings import TypeNormalizer
from smp.comparison._normalizers import REASONS, key_of_value
from smp.comparison._rules import Reach, Rule
from smp.paths import Path
from smp.schema.model import ListType, Schema, Type
from smp.schema.sides import Pairing, Roles, Sides
from smp.schema.walk import find_identifying_keys, key_of

if TYPE_CHECKING:
    from smp.comparison._trust import FieldTrust

# What a server, or kubectl apply, sets in each object that it stores.
SERVER_RULE: Final = Rule(
    paths=tuple(
        pattern_of(path)
        for path in (
            "metadata.uid",
            "metadata.resourceVersion",
            "metadata.generation",
            "metadata.creationTimestamp",
            "metadata.managedFields",
            "metadata.selfLink",
            f"metadata.annotations[{LAST_APPLIED}]",
            "status",
        )
    )
)
# kubectl gives an object without a namespace that of its context.
NAMESPACE_RULE: Final = Rule(paths=(pattern_of("metadata.namespace"),))


# The objects of a comparison, by their number among the values of Sides. Behind them is
# what a server would make of each, where that is known.
DESIRED: Final = 0
LIVE: Final = 1
_OBJECTS: Final = 2
ROLES: Final = Roles((DESIRED, LIVE))


class ComparedPlace:
    """A place in both objects.

    ``meaning`` is what their type says beside the schema, ``reach`` what the rules say.
    """

    __slots__ = ("_known", "desired", "live", "meaning", "reach", "sides")

    def __init__(self, sides: Sides, meaning: TypeNormalizer, reach: Reach) -> None:
        self.sides = sides
        self.desired: JSON | Absent = sides.values[DESIRED]
        self.live: JSON | Absent = sides.values[LIVE]
        self.meaning = meaning
        self.reach = reach
        # How many of the values have elements that can be told; 0: not looked at yet.
        self._known: int = 0

    @property
    def path(self) -> Path:
        """The path of the place."""
        return self.sides.path

    @property
    def reading(self) -> list[JSON | Absent]:
        """What a server would make of both values; empty where that is not known."""
        return self.sides.values[_OBJECTS:]

    def member(self, name: str) -> ComparedPlace:
        """Return the place of a member of both objects."""
        return ComparedPlace(
            self.sides.member(name), self.meaning.member(name), self.reach.member(name)
        )

    def element(
        self, desired_at: int, live_at: int, pairing: Pairing | None = None
    ) -> ComparedPlace:
        """Return the place of an element, by its index in both lists; -1 for none."""
        if not self._known:
            # A server leaves the elements of a list in their order.
            counts = [len(as_list(value)) for value in self.sides.values]
            is_aligned = counts[:_OBJECTS] == counts[_OBJECTS:]
            self._known = len(counts) if is_aligned else _OBJECTS
        indexes = [desired_at, live_at, desired_at, live_at][: self._known]
        sides = self.sides.element(indexes, pairing)
        # An element that is gone is found by its index in the live list.
        reach, side = self.reach, sides.first_side
        element = sides.values[side]
        if not isinstance(element, Absent):
            reach = reach.element(indexes[side], element)
        return ComparedPlace(sides, self.meaning.element, reach)


class ComparisonWalk:
    """One comparison: what was found so far."""

    def __init__(
        self, desired: JSONObject, live: JSONObject, schema: Schema, *, normalizes: bool
    ) -> None:
        self.differences: list[Difference] = []
        self.set_aside: list[SetAside] = []
        self._objects = (desired, live)
        self._schema = schema
        self._normalizes = normalizes
        self._is_secret = schema.kind == "Secret" and schema.api_version == "v1"
        self._trust: FieldTrust | None = None

    def aligned(self, place: ComparedPlace) -> JSON | Absent:
        """Return the desired value; the live one where the difference is set aside."""
        desired, live = place.desired, place.live
        if same(desired, live):
            return desired
        rule = place.reach.ignoring
        if rule is None and (isinstance(desired, list) or isinstance(live, list)):
            rule = place.reach.whole_list
        # These two rules are a normalizer to users, who may switch it off.
        if rule is SERVER_RULE or rule is NAMESPACE_RULE:
            if place.reach.has(normalizers.SERVER_FIELD):
                return self._put_aside(place, normalizers.SERVER_FIELD)
        elif rule is not None:
            return self._put_aside(place, RULE, rule.label)
        normalizer = self._normalizer(place) if self._normalizes else ""
        if normalizer:
            return self._put_aside(place, normalizer)
        if isinstance(desired, dict) and isinstance(live, dict):
            return self._object(place)
        if isinstance(desired, list) and isinstance(live, list):
            return self._list(place)
        return self._one_sided(place)

    def _put_aside(
        self, place: ComparedPlace, by: str, reason: str = ""
    ) -> JSON | Absent:
        self.set_aside.append(
            SetAside(place.path, place.desired, place.live, by, reason or REASONS[by])
        )
        return place.live

    def _normalizer(self, place: ComparedPlace) -> str:
        """Return the normalizer that takes both values for equal, or ""."""
        desired, live, reach = place.desired, place.live, place.reach
        switches = reach.switches
        # Whether an empty value of a custom resource means the same as none, only the
        # author of a rule knows.
        if switches.get(normalizers.EMPTY) and _is_empty(desired) and _is_empty(live):
            return normalizers.EMPTY
        if isinstance(desired, Absent) or isinstance(live, Absent):
            return ""
        candidates = [place.meaning.normalizer(place.sides.type)]
        # Go: structured-merge-diff compares sets without the order.
        if _is_set(place.sides.type):
            candidates.append(normalizers.SET_ORDER)
        candidates += [name for name, is_on in switches.items() if is_on]
        for name in candidates:
            if not name or not reach.has(name):
                continue
            key = key_of_value(name, desired)
            if key is not None and key == key_of_value(name, live):
                return name
        return ""

    def _one_sided(self, place: ComparedPlace) -> JSON | Absent:
        """Compare two values that are not both objects, nor both lists."""
        normalizer = self._find_reading(place)
        if normalizer:
            return self._put_aside(place, normalizer)
        desired, live = place.desired, place.live
        before, at = len(self.set_aside), len(self.differences)
        is_missing = desired in (ABSENT, None) or live in (ABSENT, None)
        whole = live if desired in (ABSENT, None) else desired
        result: JSON | Absent = ABSENT
        if is_missing and isinstance(whole, dict):
            result = self._object(place)
        elif is_missing and isinstance(whole, list):
            result = self._list(place)
        if len(self.set_aside) > before:
            # Nothing is left of what only the desired object has.
            return result if result or isinstance(live, type(whole)) else live
        # One difference for the whole value says more than one for each part.
        del self.differences[at:]
        rule, manager = self._find_trust(place)
        if rule is not None:
            reason = f"owned by {manager}"
            if rule.reason:
                reason = f"{rule.reason} ({reason})"
            return self._put_aside(place, RULE, reason)
        self.differences.append(Difference(place.path, desired, live))
        return desired

    def _find_reading(self, place: ComparedPlace) -> str:
        """Return the normalizer for what a server would make the same of, or ""."""
        reading = place.reading
        if not reading or not same(*reading):
            return ""
        read = reading[0]
        desired, live = place.desired, place.live
        missing = (ABSENT, None)
        # Go: Convert_v1_Secret_To_core_Secret.
        if self._is_secret and place.path.steps[0] in ("data", "stringData"):
            name = normalizers.STRING_DATA
        elif desired not in missing and live not in missing:
            own = place.meaning.normalizer(place.sides.type)
            name = own or normalizers.DEFAULT
        else:
            # Go: json tags with omitempty drop zero values, others print them.
            written = live if desired in missing else desired
            is_zero = read in missing or written in missing or not written
            name = normalizers.EMPTY if is_zero else normalizers.DEFAULT
        return name if place.reach.has(name) else ""

    def _object(self, place: ComparedPlace) -> JSON | Absent:
        desired, live = as_object(place.desired), as_object(place.live)
        result: JSONObject = {}
        for name in {**desired, **live}:
            value = desired.get(name, ABSENT)
            if not same(value, live.get(name, ABSENT)):
                below = place.member(name)
                if self._is_secret and name == "stringData" and not place.path.steps:
                    # What a server makes of it is in data.
                    below.sides.values[_OBJECTS:] = place.member("data").reading
                value = self.aligned(below)
            if not isinstance(value, Absent):
                result[name] = value
        return result

    def _list(self, place: ComparedPlace) -> JSON | Absent:
        desired, live = as_list(place.desired), as_list(place.live)
        type_ = place.sides.type
        before, at = len(self.set_aside), len(self.differences)
        keys = find_identifying_keys(type_, place.sides.field, live, desired)
        if keys:
            pairing = _pair_by_keys(keys, desired, live)
            result = self._compare_pairs(place, pairing, normalizers.LIST_ORDER)
        elif _is_set(type_) and _are_unique_scalars(desired, live):
            values = [[scalar_key(each) for each in every] for every in (desired, live)]
            pairing = Pairing((), values, is_unique=True, repeated=set())
            result = self._compare_pairs(place, pairing, normalizers.SET_ORDER)
        else:
            result = []
            for index in range(max(len(desired), len(live))):
                value = self.aligned(place.element(index, index))
                if not isinstance(value, Absent):
                    result.append(value)
        if len(self.differences) == at:
            return result
        # Elements may be the same to a server and not be paired: null and "". A rule
        # about some of them, or against a normalizer, is not to be passed over.
        reach = place.reach
        if not reach.rests and all(reach.switches.values()):
            normalizer = self._find_reading(place)
            if normalizer:
                del self.set_aside[before:]
                del self.differences[at:]
                return self._put_aside(place, normalizer)
        if keys:
            return result
        # A list without keys is one value, whatever of it was set aside.
        del self.differences[at:]
        self.differences.append(Difference(place.path, place.desired, place.live))
        # That some elements are equal does not matter to a list that differs.
        by_rules = [e for e in self.set_aside[before:] if e.by == RULE]
        self.set_aside[before:] = by_rules
        return result if by_rules else place.desired

    def _compare_pairs(
        self, place: ComparedPlace, pairing: Pairing, order: str
    ) -> JSONArray:
        """Compare the elements of two lists that have one identity each."""
        desired_ids, live_ids = pairing.keys
        desired_at = {identity: at for at, identity in enumerate(desired_ids)}
        live_at = {identity: at for at, identity in enumerate(live_ids)}
        # What is kept of the elements that only the live list has, by the element that
        # both have before it.
        kept: dict[ScalarKey | None, JSONArray] = {}
        previous: ScalarKey | None = None
        for at, identity in enumerate(live_ids):
            if identity in desired_at:
                previous = identity
                continue
            value = self.aligned(place.element(-1, at, pairing))
            if not isinstance(value, Absent):
                kept.setdefault(previous, []).append(value)

        shared = [identity for identity in live_ids if identity in desired_at]
        wanted = [identity for identity in desired_ids if identity in live_at]
        in_order = desired_ids
        # Only the elements of both lists can be in another order.
        if shared != wanted:
            if place.reach.has(order):
                self._put_aside(place, order)
                in_order = shared + [i for i in desired_ids if i not in live_at]
            else:
                self.differences.append(_difference_of_order(place, pairing))
        result = kept.get(None, [])
        for identity in in_order:
            live_index = live_at.get(identity, -1)
            below = place.element(desired_at[identity], live_index, pairing)
            value = self.aligned(below)
            if not isinstance(value, Absent):
                result.append(value)
            result += kept.get(identity, [])
        return result

    def _find_trust(self, place: ComparedPlace) -> tuple[Rule | None, str]:
        """Return the rule that trusts an owner of the field, and the owner's name."""
        if not place.reach.trusting:
            return None, ""
        if self._trust is None:
            # Few comparisons have such rules.
            from smp.comparison._trust import FieldTrust  # noqa: PLC0415  # see above

            self._trust = FieldTrust(self._objects, self._schema)
        return self._trust.find(place.reach.trusting, place.sides)


def _is_empty(value: JSON | Absent) -> bool:
    """Tell whether a value is absent, null or empty, or has nothing but such values."""
    if isinstance(value, dict):
        return all(_is_empty(content) for content in value.values())
    return value in (ABSENT, None, "") or (isinstance(value, list) and not value)


def _are_unique_scalars(*lists: Iterable[JSON]) -> bool:
    for elements in lists:
        found: set[ScalarKey] = set()
        for element in elements:
            if isinstance(element, (dict, list)) or scalar_key(element) in found:
                return False
            found.add(scalar_key(element))
    return True


def _is_set(type_: Type) -> bool:
    """Tell whether the elements are a set, of which the order says nothing."""
    return isinstance(type_, ListType) and type_.list_type == "set"


def _pair_by_keys(
    keys: tuple[str, ...], desired: JSONArray, live: JSONArray
) -> Pairing:
    """Pair elements by the keys of their list.

    Their paths have one of the keys if that is enough to tell all elements apart.
    """
    lists: list[list[ScalarKey]] = [
        [key_of(element, keys) for element in each] for each in (desired, live)
    ]
    together = [*desired, *live]
    count = len({*lists[0], *lists[1]})
    names = keys
    for name in keys:
        if len({key_of(element, (name,)) for element in together}) == count:
            names = (name,)
            break
    return Pairing(names, lists, is_unique=True, repeated=set())


def _difference_of_order(place: ComparedPlace, pairing: Pairing) -> Difference:
    desired, live = as_list(place.desired), as_list(place.live)
    wanted = [place.element(at, -1, pairing).path for at in range(len(desired))]
    there = [place.element(-1, at, pairing).path for at in range(len(live))]
    return Difference(
        place.path,
        [str(path.steps[-1]) for path in wanted],
        [str(path.steps[-1]) for path in there],
        is_order=True,
    )
