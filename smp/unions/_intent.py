"""What a request asks for at a place: which members it sets, and which it removes."""

from __future__ import annotations

from typing import Protocol

from smp._strategic import REPLACE, PatchObject, read_object
from smp._values.values import ABSENT, JSON, Absent, JSONArray, as_list, as_object, same
from smp.schema.model import Field
from smp.schema.walk import Key, KeyIndex, Place, key_of


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
