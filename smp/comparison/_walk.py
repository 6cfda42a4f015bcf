"""The walk of a comparison: along both objects, and along what a server makes of them.

Theory of operation
===================

The walk goes along the desired and the live object side by side, along their type, and
along what a server would make of each of them (``smp.update.as_stored``). At each place
the first of these that holds decides:

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

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from smp.comparison import _normalizers as normalizers
from smp.comparison._comparison import (
    REASONS,
    RULE,
    Difference,
    SetAside,
)
from smp.comparison._meanings import Meaning
from smp.comparison._normalizers import key_of_value
from smp.comparison._reach import Reach
from smp.comparison._rules import Rule
from smp.errors import SmpError
from smp.last_applied import LAST_APPLIED
from smp.path_patterns import pattern_of
from smp.paths import Element, KeyedElement, Path, SetElement, Step, index_of, value_at
from smp.schema.model import Schema
from smp.schema.walk import Key, identifying_keys, key_of
from smp.values import (
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

if TYPE_CHECKING:
    from smp.managed_fields import Owner

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
# What identifies an element of a list.
_Identity: TypeAlias = "Key | ScalarKey"


class Place:
    """A place in both objects.

    ``reading`` is what a server would make of both values there; None where that is not
    known. ``reach`` is what the rules say about it.
    """

    __slots__ = ("desired", "live", "meaning", "path", "reach", "reading")

    def __init__(
        self,
        values: tuple[JSON | Absent, JSON | Absent],
        reading: tuple[JSON | Absent, JSON | Absent] | None,
        meaning: Meaning,
        reach: Reach,
        path: Path,
    ) -> None:
        self.desired, self.live = values
        self.reading = reading
        self.meaning = meaning
        self.reach = reach
        self.path = path

    def member(self, name: str) -> Place:
        """Return the place of a member of both objects."""
        desired, live = as_object(self.desired), as_object(self.live)
        reading = self.reading
        if reading is not None:
            reading = (
                as_object(reading[0]).get(name, ABSENT),
                as_object(reading[1]).get(name, ABSENT),
            )
        return Place(
            (desired.get(name, ABSENT), live.get(name, ABSENT)),
            reading,
            self.meaning.member(name),
            self.reach.member(name),
            self.path / name,
        )

    def element(self, desired_at: int | None, live_at: int | None, step: Step) -> Place:
        """Return the place of an element, by its index in both lists."""
        values = (_at(self.desired, desired_at), _at(self.live, live_at))
        reading = self.reading
        if reading is not None:
            # A server leaves the elements of a list in their order.
            is_aligned = _is_as_long(reading[0], self.desired)
            is_aligned = is_aligned and _is_as_long(reading[1], self.live)
            reading = (_at(reading[0], desired_at), _at(reading[1], live_at))
            if not is_aligned:
                reading = None
        # An element that is gone is found by its index in the live list.
        index, element = desired_at, values[0]
        if isinstance(element, Absent):
            index, element = live_at, values[1]
        reach = self.reach
        if index is not None and not isinstance(element, Absent):
            reach = reach.element(index, element)
        return Place(values, reading, self.meaning.element, reach, self.path / step)


def _at(value: JSON | Absent, index: int | None) -> JSON | Absent:
    elements = as_list(value)
    if index is None or index >= len(elements):
        return ABSENT
    return elements[index]


def _is_as_long(value: JSON | Absent, other: JSON | Absent) -> bool:
    return len(as_list(value)) == len(as_list(other))


class Walk:
    """One comparison: what was found so far."""

    def __init__(
        self,
        desired: JSONObject,
        live: JSONObject,
        schema: Schema,
        *,
        normalizes: bool,
    ) -> None:
        self.differences: list[Difference] = []
        self.set_aside: list[SetAside] = []
        self._versions = (live, desired)
        self._schema = schema
        self._normalizes = normalizes
        self._is_secret = schema.kind == "Secret" and schema.api_version == "v1"
        self._owners: list[tuple[JSONObject, tuple[Owner, ...]]] | None = None

    def aligned(self, place: Place) -> JSON | Absent:
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

    def _put_aside(self, place: Place, by: str, reason: str = "") -> JSON | Absent:
        self.set_aside.append(
            SetAside(place.path, place.desired, place.live, by, reason or REASONS[by])
        )
        return place.live

    def _normalizer(self, place: Place) -> str:
        """Return the normalizer that takes both values for equal, or ""."""
        desired, live, reach = place.desired, place.live, place.reach
        switches = reach.switches
        # Whether an empty value of a custom resource means the same as none, only the
        # author of a rule knows.
        if switches.get(normalizers.EMPTY) and _is_empty(desired) and _is_empty(live):
            return normalizers.EMPTY
        if isinstance(desired, Absent) or isinstance(live, Absent):
            return ""
        candidates = [place.meaning.normalizer]
        # Go: structured-merge-diff compares sets without the order.
        if place.meaning.is_set:
            candidates.append(normalizers.SET_ORDER)
        candidates += [name for name, is_on in switches.items() if is_on]
        for name in candidates:
            if not name or not reach.has(name):
                continue
            key = key_of_value(name, desired)
            if key is not None and key == key_of_value(name, live):
                return name
        return ""

    def _one_sided(self, place: Place) -> JSON | Absent:
        """Compare two values that are not both objects, nor both lists."""
        normalizer = self._of_reading(place)
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
        rule, manager = self._trusted(place)
        if rule is not None:
            reason = f"owned by {manager}"
            if rule.reason:
                reason = f"{rule.reason} ({reason})"
            return self._put_aside(place, RULE, reason)
        self.differences.append(Difference(place.path, desired, live))
        return desired

    def _of_reading(self, place: Place) -> str:
        """Return the normalizer for what a server would make the same of, or ""."""
        if place.reading is None or not same(*place.reading):
            return ""
        read = place.reading[0]
        desired, live = place.desired, place.live
        missing = (ABSENT, None)
        # Go: Convert_v1_Secret_To_core_Secret.
        if self._is_secret and place.path.steps[0] in ("data", "stringData"):
            name = normalizers.STRING_DATA
        elif desired not in missing and live not in missing:
            name = place.meaning.normalizer or normalizers.DEFAULT
        else:
            # Go: json tags with omitempty drop zero values, others print them.
            written = live if desired in missing else desired
            is_zero = read in missing or written in missing or not written
            name = normalizers.EMPTY if is_zero else normalizers.DEFAULT
        return name if place.reach.has(name) else ""

    def _object(self, place: Place) -> JSON | Absent:
        desired, live = as_object(place.desired), as_object(place.live)
        result: JSONObject = {}
        for name in {**desired, **live}:
            value = desired.get(name, ABSENT)
            if not same(value, live.get(name, ABSENT)):
                below = place.member(name)
                if self._is_secret and name == "stringData" and not place.path.steps:
                    # What a server makes of it is in data.
                    below.reading = place.member("data").reading
                value = self.aligned(below)
            if not isinstance(value, Absent):
                result[name] = value
        return result

    def _list(self, place: Place) -> JSON | Absent:
        desired, live = as_list(place.desired), as_list(place.live)
        meaning = place.meaning
        before, at = len(self.set_aside), len(self.differences)
        keys = identifying_keys(meaning.type, meaning.field, live, desired)
        if keys:
            result = self._paired(
                place,
                [key_of(element, keys) for element in desired],
                [key_of(element, keys) for element in live],
                _steps_by_key(keys, desired, live),
                normalizers.LIST_ORDER,
            )
        elif meaning.is_set and _are_unique_scalars(desired, live):
            result = self._paired(
                place,
                [scalar_key(element) for element in desired],
                [scalar_key(element) for element in live],
                lambda _index, element: SetElement(element),
                normalizers.SET_ORDER,
            )
        else:
            result = []
            for index in range(max(len(desired), len(live))):
                value = self.aligned(place.element(index, index, index))
                if not isinstance(value, Absent):
                    result.append(value)
        if len(self.differences) == at:
            return result
        # Elements may be the same to a server and not be paired: null and "". A rule
        # about some of them, or against a normalizer, is not to be passed over.
        reach = place.reach
        if not reach.rests and all(reach.switches.values()):
            normalizer = self._of_reading(place)
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

    def _paired(
        self,
        place: Place,
        desired_ids: list[_Identity],
        live_ids: list[_Identity],
        step_of: Callable[[int, JSON], Step],
        order: str,
    ) -> JSONArray:
        """Compare the elements of two lists that have one identity each."""
        desired, live = as_list(place.desired), as_list(place.live)
        desired_at = {identity: at for at, identity in enumerate(desired_ids)}
        live_at = {identity: at for at, identity in enumerate(live_ids)}
        # What is kept of the elements that only the live list has, by the element that
        # both have before it.
        kept: dict[_Identity | None, JSONArray] = {}
        previous: _Identity | None = None
        for at, identity in enumerate(live_ids):
            if identity in desired_at:
                previous = identity
                continue
            value = self.aligned(place.element(None, at, step_of(at, live[at])))
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
                steps = [str(step_of(at, live[at])) for at in range(len(live))]
                new = [str(step_of(at, desired[at])) for at in range(len(desired))]
                self.differences.append(
                    Difference(place.path, [*new], [*steps], is_order=True)
                )
        result = kept.get(None, [])
        for identity in in_order:
            at = desired_at[identity]
            step = step_of(at, desired[at])
            value = self.aligned(place.element(at, live_at.get(identity), step))
            if not isinstance(value, Absent):
                result.append(value)
            result += kept.get(identity, [])
        return result

    def _trusted(self, place: Place) -> tuple[Rule | None, str]:
        """Return the rule that trusts an owner of the field, and the owner's name."""
        if not place.reach.trusting:
            return None, ""
        # Few comparisons have such rules.
        from smp.managed_fields import owned_path  # noqa: PLC0415  # see above

        for rule in place.reach.trusting:
            for version, version_owners in self._owners_of_versions():
                if value_at(version, place.path) is ABSENT:
                    continue
                # An atomic list or map is owned as a whole, wherever it differs.
                path = _by_index(version, place.path)
                owned = owned_path(version, self._schema, path)
                for owner in version_owners:
                    if rule.trusts(owner.manager) and owner.fields.has(owned):
                        return rule, owner.manager
        return None, ""

    def _owners_of_versions(self) -> list[tuple[JSONObject, tuple[Owner, ...]]]:
        if self._owners is None:
            from smp.managed_fields import owners  # noqa: PLC0415  # as above

            self._owners = []
            for version in self._versions:
                # Managed fields that no server could read own nothing.
                with suppress(SmpError):
                    self._owners.append((version, owners(version)))
        return self._owners


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


def _steps_by_key(
    keys: tuple[str, ...], *lists: JSONArray
) -> Callable[[int, JSON], Step]:
    """Return what makes the step of a path of an element, by the keys of its list.

    One key is enough if it tells all elements apart.
    """
    elements = [element for each in lists for element in each]
    count = len({key_of(element, keys) for element in elements})
    for name in keys:
        if len({key_of(element, (name,)) for element in elements}) == count:
            return lambda index, element: Element(index, name, as_object(element)[name])
    ordered = sorted(keys)
    return lambda _index, element: KeyedElement(
        tuple((name, as_object(element)[name]) for name in ordered)
    )


def _by_index(obj: JSONObject, path: Path) -> Path:
    """Return the path to a value of an object with the indexes of elements there."""
    steps: list[Step] = []
    value: JSON = obj
    for step in path.steps:
        if isinstance(step, str):
            steps.append(step)
            value = as_object(value)[step]
        else:
            index = index_of(step, as_list(value))
            steps.append(index)
            value = as_list(value)[index]
    return Path(tuple(steps))
