"""The owners of every value of an object, from its managedFields alone.

Theory of operation. The object and the field sets of all entries are walked together,
without a schema. At each value the walk has the sets that go on below it. The path
elements of a member of an object are its name. For an element of a list, the sets
themselves tell what may be meant: ``k:{"name":"app"}`` that the key is ``name``, so the
element with the name ``app`` is meant; ``v:"a"`` that the list is a set; ``i:0`` the
index. A set that has a path and nothing below it owns the value there as a whole.

For example, with ``f:spec: {f:containers: {k:{"name":"app"}: {".": {}, "f:image":
{}}}}`` the manager owns the element and its image; ``spec`` and ``containers`` have no
owner, only owners of what is in them; the rest of the element has none at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from smp._values.api_objects import drop_managed_fields
from smp._values.plain import over_json, require_object
from smp._values.values import JSON, JSONArray, as_object, require_known
from smp.errors import SmpError
from smp.managed_fields._elements import (
    element_of,
    field_element,
    key_element,
    step_of,
    value_element,
)
from smp.managed_fields._entries import Owner, readable_owners
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._ownership import NEVER_OWNED
from smp.paths import KeyedElement, Path, SetElement, Step

# The set below a value of each owner that has one.
Sets: TypeAlias = "list[tuple[Owner, FieldSet]]"
# A step to a member or an element, and all path elements that mean it.
Place: TypeAlias = "tuple[Step, list[str]]"


def places_of(values: JSONArray, sets: Sets) -> list[Place]:
    """Return the steps to the elements of a list, and their path elements in sets."""
    if not sets:
        return [(index, []) for index in range(len(values))]
    known = {
        element for _, fields in sets for element in (*fields.members, *fields.children)
    }
    keyed: dict[str, KeyedElement] = {}
    is_set = False
    for element in known:
        owned = step_of(element)
        if isinstance(owned, KeyedElement):
            keyed[element] = owned
        is_set = is_set or isinstance(owned, SetElement)

    all_keys = _key_names(keyed.values())
    meant = _key_elements(values, keyed)
    places: list[Place] = []
    for index, value in enumerate(values):
        elements = [*meant[index], element_of(index)]
        if is_set and not isinstance(value, (dict, list)):
            elements.insert(0, value_element(value))
        elements = [element for element in elements if element in known]
        step: Step = index
        if elements:
            step = step_of(elements[0])
        elif is_set and not isinstance(value, (dict, list)):
            step = SetElement(value)
        elif isinstance(value, dict):
            # The keys of the list are known where managers own other elements.
            for names in all_keys:
                present = tuple((name, value[name]) for name in names if name in value)
                if present:
                    step = KeyedElement(present)
                    break
        places.append((step, elements))
    return places


def _key_names(keyed: Iterable[KeyedElement]) -> list[tuple[str, ...]]:
    """Return the keys that elements are named by, the most keys first."""
    all_names = {tuple(name for name, _ in step.keys) for step in keyed}
    return sorted(all_names, key=lambda names: (-len(names), names))


def _key_elements(values: JSONArray, keyed: dict[str, KeyedElement]) -> list[list[str]]:
    meant: list[list[str]] = [[] for _ in values]
    if not keyed:
        return meant
    key_names = _key_names(keyed.values())
    candidates: list[list[str]] = []
    for value in values:
        texts: list[str] = []
        # Any other value than an object has no keys.
        obj = as_object(value)
        for names in key_names:
            keys = {name: obj[name] for name in names if name in obj}
            text = key_element(keys)
            if keys and len(keys) == len(names) and text in keyed:
                texts.append(text)
        candidates.append(texts)

    # Path elements have different keys where a key is optional, and where a version of
    # the API added one. The one with the most keys means the element. One with fewer
    # keys means it as well, unless it means another element that has no more keys.
    best = {texts[0] for texts in candidates if texts}
    for index, texts in enumerate(candidates):
        meant[index] = texts[:1] + [text for text in texts[1:] if text not in best]

    found = {text for texts in meant for text in texts}
    _find_defaulted(values, keyed, found, meant)
    return meant


def _find_defaulted(
    values: JSONArray,
    keyed: dict[str, KeyedElement],
    found: set[str],
    meant: list[list[str]],
) -> None:
    """Find the elements that lack a key, which managed fields have with its default.

    Defaults are in the schema; here, one path element and one element that can only be
    each other belong together.
    """
    # The elements that no path element means yet, by the keys that they have.
    names = {name for step in keyed.values() for name, _ in step.keys}
    lacking: dict[tuple[str, ...], dict[str, list[int]]] = {}
    for index, value in enumerate(values):
        if isinstance(value, dict) and not meant[index]:
            present = {name: value[name] for name in sorted(names) if name in value}
            same_keys = lacking.setdefault(tuple(present), {})
            same_keys.setdefault(key_element(present), []).append(index)

    fitting: dict[int, list[str]] = {}
    for text, step in keyed.items():
        if text in found:
            continue
        keys = dict(step.keys)
        fits: list[int] = []
        for present_names, indexes in lacking.items():
            if keys.keys() >= set(present_names):
                shared = {name: keys[name] for name in present_names}
                fits += indexes.get(key_element(shared), [])
        if len(fits) == 1:
            fitting.setdefault(fits[0], []).append(text)
    for index, texts in fitting.items():
        if len(texts) == 1:
            meant[index] = texts


class Ownership(Enum):
    """How a value is owned."""

    # Managers own the path itself.
    FIELD = "field"
    # Managers own a value above it as a whole: an atomic list, map or struct.
    WHOLE = "whole"
    # Managers own only what is in it.
    INNER = "inner"
    # No manager owns the value, nor anything in it.
    NONE = "none"
    # As NONE, but a server never keeps owners of such a value: a name, a uid.
    UNTRACKED = "untracked"


class BlamedValue(msgspec.Struct, frozen=True):
    """A value of an object, and its owners: none for INNER, NONE and UNTRACKED."""

    path: Path
    value: Any
    ownership: Ownership
    owners: tuple[Owner, ...] = ()


class AbsentField(msgspec.Struct, frozen=True):
    """A path that managers own and the object does not have."""

    path: Path
    owners: tuple[Owner, ...]


class Blame(msgspec.Struct, frozen=True):
    """The owners of the values of an object: ``obj``, without its managedFields.

    ``values`` has every value, each before those in it, in the order of the object.
    ``absent`` are the fields that are owned and that the object lacks: a server that
    stores Go types drops zero values, and keeps their owners. ``problems`` are the
    entries of managedFields that cannot be read.
    """

    obj: dict[str, Any]
    values: tuple[BlamedValue, ...]
    absent: tuple[AbsentField, ...]
    owners: tuple[Owner, ...]
    problems: tuple[SmpError, ...]


@over_json("the object", "obj")
def blame(obj: Mapping[str, Any], *, show_managed_fields: bool = False) -> Blame:
    """Return the owners of every value of an object, as its managedFields name them.

    No schema is needed. metadata.managedFields themselves are left out, unless they are
    to be shown. An entry that cannot be read is a problem of the result, and owns
    nothing. Raises DepthError.
    """
    obj = require_object("obj", obj)
    owners, problems = readable_owners(obj)
    if not show_managed_fields:
        obj = drop_managed_fields(obj)
    walk = _Walk()
    walk.below(Path(), obj, [(owner, owner.fields) for owner in owners], ())
    return Blame(obj, tuple(walk.values), tuple(walk.absent), owners, problems)


class _Owning(msgspec.Struct, frozen=True):
    """Who owns a value, who of them as a whole, and who owns what is ``below`` it."""

    owners: list[Owner]
    of_whole: list[Owner]
    below: Sets

    @classmethod
    def of(cls, elements: list[str], sets: Sets) -> _Owning:
        """Look for the path elements of a value in what owners have around it."""
        owning = cls([], [], [])
        for owner, fields in sets:
            below = [
                fields.children[element]
                for element in elements
                if element in fields.children
            ]
            owning.below.extend((owner, subset) for subset in below)
            if any(element in fields.members for element in elements):
                owning.owners.append(owner)
                # As for owners_of: what has fields of its own is not owned as a whole.
                if not below:
                    owning.of_whole.append(owner)
        return owning


class _Walk:
    """One walk along an object, which collects its values."""

    def __init__(self) -> None:
        self.values: list[BlamedValue] = []
        self.absent: list[AbsentField] = []

    def below(
        self, path: Path, value: JSON, sets: Sets, whole: tuple[Owner, ...]
    ) -> None:
        """Walk along what is in a value; ``whole`` own it as a whole, or one above."""
        places: Sequence[Place] = ()
        children: Iterable[JSON] = ()
        if isinstance(value, dict):
            places = [(name, [field_element(name)]) for name in value]
            children = value.values()
        elif isinstance(value, list):
            places = places_of(value, sets)
            children = value
        else:
            require_known(value)
        for (step, elements), child in zip(places, children, strict=True):
            self._value(path / step, child, _Owning.of(elements, sets), whole)

        if not sets:
            return
        # What is left of the sets is owned, and the object does not have it.
        seen = {element for _, elements in places for element in elements}
        rests: Sets = []
        absent = EMPTY
        for owner, fields in sets:
            rest_below = {
                element: fields.children[element]
                for element in fields.children
                if element not in seen
            }
            rest = FieldSet(fields.members - seen, rest_below)
            if rest:
                rests.append((owner, rest))
                absent = absent.union(rest)
        for inner in absent.paths():
            owners = tuple(owner for owner, rest in rests if rest.has(inner))
            self.absent.append(AbsentField(Path((*path.steps, *inner.steps)), owners))

    def _value(
        self, path: Path, value: JSON, owning: _Owning, whole: tuple[Owner, ...]
    ) -> None:
        if owning.owners:
            blamed = BlamedValue(path, value, Ownership.FIELD, tuple(owning.owners))
        elif whole:
            blamed = BlamedValue(path, value, Ownership.WHOLE, whole)
        elif owning.below:
            blamed = BlamedValue(path, value, Ownership.INNER)
        elif NEVER_OWNED.has(Path(path.steps[:2])):
            blamed = BlamedValue(path, value, Ownership.UNTRACKED)
        else:
            blamed = BlamedValue(path, value, Ownership.NONE)
        self.values.append(blamed)
        if owning.below or not isinstance(value, str):
            self.below(path, value, owning.below, tuple(owning.of_whole) or whole)
