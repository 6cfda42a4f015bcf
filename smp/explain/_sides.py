"""One path in the five objects of an apply, and the paths below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from smp.paths import Element, KeyedElement, Path, SetElement, Step
from smp.schema.model import (
    ANY_FIELD,
    Field,
    ListType,
    ObjectType,
    Type,
    TypeDocument,
    Types,
)
from smp.strategic import identity_of, keys_of_identity
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

# In this order, the index of an element is that of the first object that has it.
NAMES: Final = ("result", "live", "manifest", "last-applied", "default", "former")
# Where what a server sets is beside what users set.
_OF_SEVERAL: Final = ((), ("metadata",), ("metadata", "annotations"))
_NO_DOCUMENTS: Final[dict[str, TypeDocument]] = {}
_NO_TYPES: Final = Types(_NO_DOCUMENTS.get)
# The key of an element, and its number among those of the same key.
_Identity: TypeAlias = tuple[ScalarKey, int]


class Sides:
    """What the objects have at one path; ABSENT where one has nothing.

    ``default`` is what a server makes of the manifest without a live object, ``former``
    what it made of the last-applied configuration.
    ``live_path`` is the path with the indexes of the live object. ``keeps`` says that
    $retainKeys clears this object, ``retains`` that it clears the object above,
    ``pruned`` that one above is removed, ``repeated`` that it is in an element whose
    patch merge key others have, too, ``unknown`` that the schema has no such field,
    ``by_list_types`` that lists are merged by their list types, as in custom resources.
    """

    __slots__ = (
        "by_list_types",
        "default",
        "field",
        "former",
        "keeps",
        "last_applied",
        "live",
        "live_path",
        "manifest",
        "path",
        "pruned",
        "repeated",
        "result",
        "retains",
        "type",
        "unknown",
        "values",
    )

    def __init__(
        self,
        values: dict[str, JSON | Absent],
        type_: Type,
        field: Field | None,
        path: Path,
        live_path: Path,
    ) -> None:
        # What each object has, by its name.
        self.values = values
        self.last_applied = values["last-applied"]
        self.manifest = values["manifest"]
        self.live = values["live"]
        self.result = values["result"]
        self.default = values["default"]
        self.former = values["former"]
        self.type = type_
        self.field = field
        self.path = path
        self.live_path = live_path
        self.keeps = field is not None and field.retain_keys
        self.retains = False
        self.pruned = False
        self.repeated = False
        self.unknown = False
        self.by_list_types = False

    @property
    def key(self) -> str:
        """The key of an element, as ``name=app``; empty for all else."""
        step = self.path.steps[-1] if self.path.steps else ""
        if isinstance(step, (Element, KeyedElement)):
            return str(step)[1:-1]
        return ""

    @property
    def is_unremarkable(self) -> bool:
        """Whether all objects have the same here, or none has anything."""
        return (
            same(self.live, self.result)
            and same(self.manifest, self.result)
            and same(self.last_applied, self.result)
        )

    @property
    def is_one(self) -> bool:
        """Whether there is one thing to say of the whole value, and not of its parts.

        It only is in live, and stays; or only is in the manifest; or all that live has
        was applied, and goes; or it goes although it is in the manifest.
        """
        if self.path.steps in _OF_SEVERAL:
            return False
        if self.manifest is ABSENT and self.last_applied is ABSENT:
            return same(self.live, self.result) or self.result is ABSENT
        if self.live is ABSENT:
            return same(self.manifest, self.result) or self.result is ABSENT
        if self.manifest is not ABSENT and self.result is ABSENT:
            return True
        if self.manifest is ABSENT and self.result is ABSENT:
            # Beside what was applied there are no more than defaults.
            return same(self.live, self.last_applied) or same(self.live, self.former)
        return False

    @property
    def is_merge_list(self) -> bool:
        """Whether the value is a list whose elements are merged."""
        merges = self._list_field.merges
        return merges and self._are(list)

    @property
    def is_merge_object(self) -> bool:
        """Whether the value is an object whose members are merged."""
        replaces = self.field is not None and self.field.replaces
        if self.by_list_types and self.field is not None:
            own = self.type.map_type if isinstance(self.type, ObjectType) else ""
            replaces = replaces or "atomic" in (self.field.map_type or own)
        return not replaces and self._are(dict)

    def _are(self, json_type: type) -> bool:
        """Tell whether all objects that have a value have one of that type."""
        present = [
            value
            for value in (self.last_applied, self.manifest, self.live, self.result)
            if value is not ABSENT and value is not None
        ]
        return bool(present) and all(type(value) is json_type for value in present)

    def below(self) -> Iterator[Sides]:
        """Yield the members of an object, or the elements of a merge list."""
        if self.is_merge_object:
            yield from self._members()
        elif self.is_merge_list:
            yield from self._elements()

    def differing(self) -> Iterator[Sides]:
        """Yield those below at which the objects differ: ``below`` without the rest."""
        if not self.is_merge_object:
            for child in self.below():
                if not child.is_unremarkable:
                    yield child
            return
        # Most members are alike: this is what most of the time goes to.
        live, result = as_object(self.live), as_object(self.result)
        manifest, base = as_object(self.manifest), as_object(self.last_applied)
        for name in self._names():
            value = result.get(name, ABSENT)
            if (
                same(live.get(name, ABSENT), value)
                and same(manifest.get(name, ABSENT), value)
                and same(base.get(name, ABSENT), value)
            ):
                continue
            yield self.member(name)

    def _names(self) -> dict[str, None]:
        names: dict[str, None] = {}
        for side in NAMES:
            value = self.values[side]
            if isinstance(value, dict):
                names.update(dict.fromkeys(value))
        return names

    def _members(self) -> Iterator[Sides]:
        for name in self._names():
            yield self.member(name)

    def member(self, name: str) -> Sides:
        """Return the member of a name of all objects."""
        declared = self.type.field(name)
        field = ANY_FIELD if declared is None else declared
        values: dict[str, JSON | Absent] = {}
        for side, value in self.values.items():
            values[side] = (
                value.get(name, ABSENT) if isinstance(value, dict) else ABSENT
            )
        child = self._child(name, name, values, field.type, field)
        child.unknown = declared is None
        return child

    def _elements(self) -> Iterator[Sides]:
        lists = {name: as_list(value) for name, value in self.values.items()}
        field = self._list_field
        identified = lists
        if self.by_list_types:
            # An element that lacks a key has its default.
            identified = {
                name: [_with_keys(element, self.type) for element in lst]
                for name, lst in lists.items()
            }
        repeated = _repeated_keys(identified.values(), field.merge_key)
        ambiguous = bool(repeated) or self.by_list_types
        found: dict[_Identity, dict[str, tuple[int, JSON]]] = {}
        for name in NAMES:
            identities = _identities(identified[name], field, ambiguous=ambiguous)
            for index, identity in enumerate(identities):
                found.setdefault(identity, {})[name] = (index, lists[name][index])
        for (_key_of_element, number), places in found.items():
            values: dict[str, JSON | Absent] = dict.fromkeys(NAMES, ABSENT)
            for name, (_index, element) in places.items():
                values[name] = element
            index, element = next(iter(places.values()))
            live_index, live_element = places.get("live", (index, element))
            step = _step(index, element, field, ambiguous=ambiguous)
            if number:
                # No key tells the second one of equal keys from the first. An index is
                # that in the result or in the manifest; all others are behind these.
                step = index
                is_old = "result" not in places and "manifest" not in places
                if is_old and isinstance(element, dict):
                    behind = len(lists["result"]) + index
                    key = element.get(field.merge_key)
                    step = Element(behind, field.merge_key, key)
            live_step: Step = live_index
            if isinstance(live_element, dict):
                live_step = _step(live_index, live_element, field, ambiguous=False)
            child = self._child(step, live_step, values, self.type.items, None)
            if not self.by_list_types:
                is_repeated = _key(element, field.merge_key) in repeated
                child.repeated = self.repeated or is_repeated
            child.keeps = field.retain_keys
            yield child

    @property
    def _list_field(self) -> Field:
        type_ = self.type
        if not self.by_list_types or not isinstance(type_, ListType):
            return ANY_FIELD if self.field is None else self.field
        if type_.list_type == "atomic":
            return ANY_FIELD
        return _field_of_keys(type_.map_keys)

    def _child(
        self,
        step: Step,
        live_step: Step,
        values: dict[str, JSON | Absent],
        type_: Type,
        field: Field | None,
    ) -> Sides:
        child = Sides(
            values, type_, field, self.path / step, self.live_path / live_step
        )
        child.retains = (
            self.keeps and isinstance(self.manifest, dict) and isinstance(step, str)
        )
        child.repeated = self.repeated
        child.by_list_types = self.by_list_types
        child.pruned = self.pruned or (
            self.result is ABSENT
            and self.manifest is ABSENT
            and self.last_applied is not ABSENT
        )
        return child

    def order_of(self, side: str) -> list[_Identity]:
        """Return what identifies the elements of a list, in its order."""
        elements = as_list(self.values[side])
        if self.by_list_types:
            elements = [_with_keys(element, self.type) for element in elements]
        return _identities(elements, self._list_field, ambiguous=True)


@lru_cache(maxsize=1024)
def _field_of_keys(keys: tuple[str, ...]) -> Field:
    """Return a field whose elements are identified by map keys, or by their value."""
    names: JSONArray = [*keys]
    document: JSONObject = {"strategy": "merge", "is": {"items": "any"}}
    if names:
        items: JSONObject = {"items": "any", "list_type": "map", "map_keys": names}
        document = {"strategy": "merge", "key": names[0], "is": items}
    return Field("*", document, _NO_TYPES)


def _with_keys(element: JSON, type_: Type) -> JSON:
    """Return an element with the defaults of the map keys that it lacks."""
    if not isinstance(element, dict) or not isinstance(type_, ListType):
        return element
    defaults: JSONObject = {}
    for name in type_.map_keys:
        field = type_.items.field(name)
        if field is not None and not isinstance(field.default, Absent):
            defaults[name] = field.default
    return {**defaults, **element}


def _repeated_keys(lists: Iterable[JSONArray], merge_key: str) -> set[ScalarKey]:
    """Return the patch merge keys that several elements of one list have."""
    found: set[ScalarKey] = set()
    for elements in lists:
        keys: set[ScalarKey] = set()
        for element in elements:
            key = _key(element, merge_key)
            if key in keys:
                found.add(key)
            keys.add(key)
    return found


def _identities(
    elements: JSONArray, field: Field, *, ambiguous: bool
) -> list[_Identity]:
    """Return the identity of each element: its key, and its number of that key.

    Where the patch merge key is ``ambiguous``, all map keys are the key.
    """
    counts: dict[ScalarKey, int] = {}
    found: list[_Identity] = []
    for element in elements:
        key = _key(element, field.merge_key)
        if ambiguous and field.merge_key:
            key = identity_of(element, field)
        number = counts.get(key, 0)
        counts[key] = number + 1
        found.append((key, number))
    return found


def _key(element: JSON, merge_key: str) -> ScalarKey:
    value = as_object(element).get(merge_key) if merge_key else element
    # No merge list has such elements.
    return scalar_key(None if isinstance(value, (dict, list)) else value)


def _step(index: int, element: JSON, field: Field, *, ambiguous: bool) -> Step:
    if not isinstance(element, dict):
        return SetElement(element)
    if not field.merge_key:
        return index
    names = keys_of_identity(field)
    if ambiguous and len(names) > 1:
        keys = [(name, element[name]) for name in sorted(names) if name in element]
        return KeyedElement(tuple(keys))
    return Element(index, field.merge_key, element.get(field.merge_key))
