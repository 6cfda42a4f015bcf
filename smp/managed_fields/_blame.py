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
from typing import Any

import msgspec

from smp._values.api_objects import drop_managed_fields
from smp._values.plain import over_json, require_object
from smp._values.values import JSON, require_known
from smp.errors import SmpError
from smp.managed_fields._elements import field_element
from smp.managed_fields._entries import Owner, readable_owners
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._list_places import Place, Sets, places_of
from smp.managed_fields._ownership import NEVER_OWNED
from smp.paths import Path


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
