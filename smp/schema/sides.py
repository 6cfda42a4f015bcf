"""One walk along several objects and their type: what each of them has at a place.

Theory of operation
===================

``smp.schema.walk`` goes along one value beside an older one. An apply has more sides:
what was applied before, what the manifest asks for, what is live, what comes of it, and
what a server makes of these. A comparison, a hazard and a cause each look at several of
them at one place. This module answers once, for all of them:

*What does each object have here?* ``Sides`` has the values of all objects at one place,
in the order in which they were given; ABSENT where an object has nothing. ``member``
goes on to a member of all of them, ``elements`` to the elements of lists.

*Which element is which?* ``pair_elements`` answers for lists that are compared with one
another. Elements are told apart by the first of these that is there and unique in every
list: the patch merge key, the map keys of a list of type map. Where none is, the last
choice counts with the defaults of missing keys (Go: typed,
keyedAssociativeListItemToPathElement), and elements of equal keys are numbered.

*Where are we?* A place points to its parent. ``path`` is built when something is to be
said; an element has its index in the first object that has it, or in a given one.

A rule is a function that looks at a ``Sides`` and goes on where it has something to do:

    hazards     where the result is not the live object: what is lost, what stays behind
    causes      where any of the objects differ: which rule made the result what it is
    comparison  where two objects differ: what a rule or a normalizer sets aside

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp._values.steps import count_steps
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    ScalarKey,
    as_list,
    as_object,
    same,
    scalar_key,
)
from smp.paths import Element, KeyedElement, Path, SetElement, Step
from smp.schema.model import ANY_FIELD, Field, ListType, ObjectType, Type

# The objects of an apply, by their number among the values. DEFAULT is what a server
# makes of the manifest without a live object. Who compares other objects has numbers of
# its own.
LIVE: Final = 0
MANIFEST: Final = 1
BASE: Final = 2
RESULT: Final = 3
DEFAULT: Final = 4

# k8s.io/api/core/v1, ContainerPort.Protocol and ServicePort.Protocol: +default="TCP".
_DEFAULTS: Final[dict[str, JSON]] = {"protocol": "TCP"}
_NO_INDEX: Final = -1


class Pairing:
    """How the elements of several lists are told from one another.

    ``names`` are the keys that do so; there are none for scalars. ``keys`` has for each
    list what identifies its elements. ``is_unique`` says that no two elements of a list
    have equal keys, and ``repeated`` are the patch merge keys that several of one have.
    """

    __slots__ = ("is_unique", "keys", "names", "repeated")

    def __init__(
        self,
        names: tuple[str, ...],
        keys: list[list[ScalarKey]],
        *,
        is_unique: bool,
        repeated: set[ScalarKey],
    ) -> None:
        self.names: tuple[str, ...] = names
        self.keys: list[list[ScalarKey]] = keys
        self.is_unique: bool = is_unique
        self.repeated: set[ScalarKey] = repeated

    @property
    def is_aligned(self) -> bool:
        """Whether all lists have the same elements in the same order."""
        return self.keys.count(self.keys[0]) == len(self.keys)


def pair_elements(
    lists: list[JSONArray], type_: Type, merge_key: str, *, by_map_keys: bool = False
) -> Pairing:
    """Tell the elements of several lists from one another.

    ``by_map_keys`` says that all map keys count, as for custom resources; otherwise
    the patch merge key does where it is unique.
    """
    names = identity_names(type_, merge_key)
    if by_map_keys or len(names) < 2:  # noqa: PLR2004  # there is no other choice
        found = _pair_by(lists, names, type_.items)
        if by_map_keys:
            found.repeated = set()
        return found
    first = _pair_by(lists, names[:1], type_.items)
    if first.is_unique:
        return first
    found = _pair_by(lists, names, type_.items)
    found.repeated = first.repeated
    return found


class Keys:
    """The fields that tell the elements of a list from one another, with defaults.

    Without names, an element is a scalar, which tells itself from others.
    """

    __slots__ = ("defaults", "names")

    def __init__(self, names: tuple[str, ...], items: Type) -> None:
        self.names: tuple[str, ...] = names
        self.defaults: list[JSON] = [_default_key(name, items) for name in names]

    def of(self, element: JSON) -> ScalarKey:
        """Return what tells an element from others."""
        if not self.names:
            return _key_part(element)
        members = as_object(element)
        parts: list[ScalarKey] = []
        for at in range(len(self.names)):
            value = members.get(self.names[at])
            parts.append(_key_part(self.defaults[at] if value is None else value))
        return parts[0] if len(parts) == 1 else tuple(parts)

    def are_in(self, element: JSON) -> bool:
        """Tell whether an element has all of the keys, or a default of each."""
        members = as_object(element)
        for at in range(len(self.names)):
            if members.get(self.names[at]) is None and self.defaults[at] is None:
                return False
        return True

    def tell(self, element: JSON, other: JSON) -> bool:
        """Tell whether two elements are others to a server.

        It refuses one that lacks a key without a default, so that is not told.
        """
        members, others = as_object(element), as_object(other)
        is_other = False
        for at in range(len(self.names)):
            value, against = members.get(self.names[at]), others.get(self.names[at])
            value = self.defaults[at] if value is None else value
            against = self.defaults[at] if against is None else against
            if value is None or against is None:
                return False
            if type(value) is type(against) and value == against:
                continue
            if _key_part(value) != _key_part(against):
                is_other = True
        return is_other

    def plain(self, elements: JSONArray) -> list[ScalarKey] | None:
        """Return the keys of elements whose keys are texts and integers, each another.

        None where others are among them.
        """
        count_steps(len(elements))
        names, defaults = self.names, self.defaults
        keys: list[ScalarKey] = []
        for element in elements:
            if not isinstance(element, dict):
                return None
            parts: list[ScalarKey] = []
            for at in range(len(names)):
                part = element.get(names[at], defaults[at])
                if type(part) is not str and type(part) is not int:
                    return None
                parts.append(part)
            keys.append(parts[0] if len(parts) == 1 else tuple(parts))
        return keys if len(set(keys)) == len(keys) else None

    def are_aligned(self, elements: JSONArray, others: JSONArray) -> bool:
        """Tell whether two lists have the same plain keys in the same order."""
        if len(elements) != len(others):
            return False
        names, defaults = self.names, self.defaults
        for index in range(len(elements)):
            element, other = elements[index], others[index]
            if element is other:
                continue
            if not isinstance(element, dict) or not isinstance(other, dict):
                return False
            for at in range(len(names)):
                part = element.get(names[at], defaults[at])
                against = other.get(names[at], defaults[at])
                if type(part) is not type(against) or part != against:
                    return False
        return True


def identity_keys(type_: Type, merge_key: str) -> Keys:
    """Return all keys of the elements of a list, the patch merge key first."""
    return Keys(identity_names(type_, merge_key), type_.items)


def identity_names(type_: Type, merge_key: str) -> tuple[str, ...]:
    """Return the names of all keys of the elements of a list."""
    map_keys = type_.map_keys if isinstance(type_, ListType) else ()
    if not merge_key:
        return map_keys
    return (merge_key, *[name for name in map_keys if name != merge_key])


def _pair_by(lists: list[JSONArray], names: tuple[str, ...], items: Type) -> Pairing:
    identity = Keys(names, items)
    keys: list[list[ScalarKey]] = []
    # Almost all elements have keys of their own, texts or numbers, and most lists have
    # the same ones.
    if names:
        for elements in lists:
            is_first = not keys or not identity.are_aligned(lists[0], elements)
            plain = identity.plain(elements) if is_first else keys[0]
            if plain is None:
                break
            keys.append(plain)
        if len(keys) == len(lists):
            return Pairing(names, keys, is_unique=True, repeated=set())
    keys = []
    repeated: set[ScalarKey] = set()
    for elements in lists:
        count_steps(len(elements))
        counts: dict[ScalarKey, int] = {}
        of_list: list[ScalarKey] = []
        for element in elements:
            key = identity.of(element)
            number = counts.get(key, 0)
            counts[key] = number + 1
            if number:
                repeated.add(key)
            of_list.append((key, number))
        keys.append(of_list)
    return Pairing(names, keys, is_unique=not repeated, repeated=repeated)


def _default_key(name: str, items: Type) -> JSON:
    """Return the default of a key (Go: typed.keyedAssociativeListItemToPathElement)."""
    field = items.field(name) if isinstance(items, ObjectType) else None
    if field is None or isinstance(field.default, Absent):
        return _DEFAULTS.get(name)
    return field.default


def _key_part(value: JSON) -> ScalarKey:
    # What is no scalar identifies nothing.
    return scalar_key(None if isinstance(value, (dict, list)) else value)


class Roles:
    """What the objects of a walk are to it.

    Elements come in the ``order`` of objects, and have the index of the first one that
    has them; those of objects that are not in it are left out. Where no key tells an
    element from another one, it is named by its index in one of the ``indexed``
    objects. ``by_map_keys`` as in pair_elements.
    """

    __slots__ = ("by_map_keys", "indexed", "order")

    def __init__(
        self,
        order: tuple[int, ...],
        indexed: tuple[int, ...] = (),
        *,
        by_map_keys: bool = False,
    ) -> None:
        self.order: tuple[int, ...] = order
        self.indexed: tuple[int, ...] = indexed
        self.by_map_keys: bool = by_map_keys


class Sides:
    """What several objects have at one place; ABSENT where one has nothing.

    ``values`` are in the order of the objects, ``type`` is that of the values. A member
    has a ``name`` and a ``field``; an element has ``indexes``, one for each list,
    -1 where one does not have it.
    """

    __slots__ = (
        "_path",
        "field",
        "indexes",
        "is_known",
        "name",
        "pairing",
        "parent",
        "roles",
        "type",
        "values",
    )

    def __init__(self, values: list[JSON | Absent], type_: Type, roles: Roles) -> None:
        """Start at the root of objects."""
        self.values: list[JSON | Absent] = values
        self.type: Type = type_
        self.roles: Roles = roles
        self.field: Field = ANY_FIELD
        # Whether the schema has such a field.
        self.is_known: bool = True
        self.parent: Sides | None = None
        self.indexes: list[int] = []
        # How an element was told from others.
        self.pairing: Pairing | None = None
        self.name: str = ""
        self._path: Path | None = None

    @property
    def live(self) -> JSON | Absent:
        """What the live object has."""
        return self.values[LIVE]

    @property
    def manifest(self) -> JSON | Absent:
        """What the manifest has."""
        return self.values[MANIFEST]

    @property
    def last_applied(self) -> JSON | Absent:
        """What the last-applied configuration has."""
        return self.values[BASE]

    @property
    def result(self) -> JSON | Absent:
        """What the result of the apply has."""
        return self.values[RESULT]

    @property
    def default(self) -> JSON | Absent:
        """What a server makes of the manifest without a live object."""
        return self.values[DEFAULT]

    def member(self, name: str) -> Sides:
        """Return the place of a member of all objects."""
        values = [
            value.get(name, ABSENT) if isinstance(value, dict) else ABSENT
            for value in self.values
        ]
        declared = self.type.field(name)
        field = ANY_FIELD if declared is None else declared
        below = Sides(values, field.type, self.roles)
        below.field = field
        below.is_known = declared is not None
        below.parent = self
        below.name = name
        return below

    def differs(self, name: str, sides: tuple[int, ...]) -> bool:
        """Tell whether some of the objects have another value in a member."""
        first: JSON | Absent = ABSENT
        is_first = True
        for side in sides:
            members = self.values[side]
            value: JSON | Absent = ABSENT
            if isinstance(members, dict):
                value = members.get(name, ABSENT)
            if is_first:
                first, is_first = value, False
            elif value is not first and not same(value, first):
                return True
        return False

    def is_at(self, names: tuple[str, ...]) -> bool:
        """Tell whether this is the place of members of members, from the root."""
        place: Sides | None = self
        for name in reversed(names):
            if place is None or place.indexes or place.name != name:
                return False
            place = place.parent
        return place is not None and place.parent is None

    def names(self) -> list[str]:
        """Return the names of the members of all objects, in order."""
        names: dict[str, JSON] = {}
        for side in self.roles.order:
            value = self.values[side]
            if isinstance(value, dict):
                names.update(value)
        return [*names]

    def pair(self) -> Pairing:
        """Tell the elements of the lists from one another."""
        lists = [as_list(value) for value in self.values]
        merge_key = self.field.merge_key
        by_map_keys = self.roles.by_map_keys
        return pair_elements(lists, self.type, merge_key, by_map_keys=by_map_keys)

    def find_changed_elements(self) -> list[Sides] | None:
        """Return the elements that the result has others of than live.

        For lists without repeated keys. None where elements came, went or moved, or
        are at another index in a configuration: there all of them have to be paired.
        """
        live, result = as_list(self.live), as_list(self.result)
        identity = identity_keys(self.type, self.field.merge_key)
        if not identity.are_aligned(live, result):
            return None
        pairing = Pairing(identity.names, [], is_unique=True, repeated=set())
        changed: list[Sides] = []
        for index in range(len(live)):
            if live[index] is result[index]:
                continue
            key = identity.of(live[index])
            for side in (MANIFEST, BASE):
                elements = as_list(self.values[side])
                if index >= len(elements) or identity.of(elements[index]) != key:
                    return None
            changed.append(self.element([index] * len(self.values), pairing))
        return changed

    def elements(self, pairing: Pairing) -> list[Sides]:
        """Return the places of the elements of all lists, paired by their keys."""
        found: dict[ScalarKey, list[int]] = {}
        count = len(self.values)
        for side in self.roles.order:
            for key in pairing.keys[side]:
                if key not in found:
                    found[key] = [_NO_INDEX] * count
        for side in range(count):
            for index, key in enumerate(pairing.keys[side]):
                indexes = found.get(key)
                if indexes is not None:
                    indexes[side] = index
        return [self.element(indexes, pairing) for indexes in found.values()]

    def element(self, indexes: list[int], pairing: Pairing | None = None) -> Sides:
        """Return the place of an element by its index in each list; -1 for none."""
        values: list[JSON | Absent] = []
        for side in range(len(indexes)):
            elements, index = as_list(self.values[side]), indexes[side]
            is_there = 0 <= index < len(elements)
            values.append(elements[index] if is_there else ABSENT)
        below = Sides(values, self.type.items, self.roles)
        below.parent = self
        below.indexes = indexes
        below.pairing = pairing
        return below

    @property
    def is_repeated(self) -> bool:
        """Whether this is in an element whose patch merge key others have as well."""
        place: Sides | None = self
        while place is not None:
            pairing, element = place.pairing, place.values[place.first_side]
            if pairing is not None and not isinstance(element, Absent):
                key = Keys(pairing.names[:1], place.type).of(element)
                if key in pairing.repeated:
                    return True
            place = place.parent
        return False

    @property
    def first_side(self) -> int:
        """The number of the first object that has something here."""
        for side in self.roles.order:
            if self.values[side] is not ABSENT:
                return side
        return self.roles.order[0]

    @property
    def path(self) -> Path:
        """The path from the root; elements by all keys that tell them apart."""
        path = self._path
        if path is None:
            parent = self.parent
            path = Path() if parent is None else parent.path / self._step(parent)
            self._path = path
        return path

    def path_in(self, side: int) -> Path:
        """Return the path with the indexes and patch merge keys of one object.

        An element that it does not have is shown as in the first object that has it.
        """
        steps: list[Step] = []
        place = self
        while place.parent is not None:
            if place.indexes:
                has_it = place.indexes[side] != _NO_INDEX
                steps.append(place._step_in(side if has_it else place.first_side))
            else:
                steps.append(place.name)
            place = place.parent
        steps.reverse()
        return Path(tuple(steps))

    def _step_in(self, side: int) -> Step:
        index, element = self.indexes[side], self.values[side]
        pairing = self.pairing
        if pairing is None:
            return index
        if not isinstance(element, dict):
            return SetElement(None if isinstance(element, Absent) else element)
        if not pairing.names:
            return index
        return Element(index, pairing.names[0], element.get(pairing.names[0]))

    def _step(self, parent: Sides) -> Step:
        if not self.indexes:
            return self.name
        side = self.first_side
        element, pairing = self.values[side], self.pairing
        if pairing is None or pairing.is_unique or not self._is_second(pairing, side):
            return self._make_step(side)
        # No key tells it from the first element of its keys.
        index = self.indexes[side]
        is_indexed = any(self.indexes[each] >= 0 for each in self.roles.indexed)
        if is_indexed or not pairing.names or not isinstance(element, dict):
            return index
        behind = len(as_list(parent.values[self.roles.order[0]]))
        key = element.get(pairing.names[0])
        return Element(behind + index, pairing.names[0], key)

    def _make_step(self, side: int) -> Step:
        """Return the step of an element by the keys that tell it from others."""
        element, pairing = self.values[side], self.pairing
        names = () if pairing is None else pairing.names
        if len(names) < 2 or not isinstance(element, dict):  # noqa: PLR2004  # see below
            return self._step_in(side)
        # Only several keys are a KeyedElement.
        present = [name for name in sorted(names) if name in element]
        return KeyedElement(tuple([(name, element[name]) for name in present]))

    def _is_second(self, pairing: Pairing, side: int) -> bool:
        key = pairing.keys[side][self.indexes[side]]
        return isinstance(key, tuple) and key[1] != 0
