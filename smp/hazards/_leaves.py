"""The leaves of a value of live that no configuration has.

A leaf is a scalar, an empty object or list, or an element of an atomic list.
"""

from __future__ import annotations

from collections.abc import Sequence

from smp.codec import encode
from smp.paths import Element, Path
from smp.schema.model import ANY_FIELD, Field, Type
from smp.strategic import elements_by_identity
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, as_list, same


class Leaf:
    """A leaf of live; ``is_default`` says that a server had filled it in."""

    __slots__ = ("is_default", "path")

    def __init__(self, path: Path, *, is_default: bool) -> None:
        self.path = path
        self.is_default = is_default


class Leaves:
    """Collects the leaves of values of live that others do not have.

    ``others`` are what the configurations have at the same place, and ``filled`` is
    what a server makes of the last-applied configuration there.
    """

    def __init__(self) -> None:
        self.found: list[Leaf] = []

    def value(
        self,
        value: JSON,
        others: Sequence[JSON | Absent],
        filled: JSON | Absent,
        field: Field,
        path: Path,
    ) -> None:
        """Collect the leaves of the value of a field."""
        # What is empty is a leaf itself, see the end.
        if isinstance(value, dict) and value:
            self.object(value, others, filled, field.type, path)
        elif isinstance(value, list) and value:
            if field.merges and field.merge_key:
                self.elements(value, others, filled, field, path)
            else:
                self.atomic(value, others, filled, path)
        elif all(other is ABSENT for other in others):
            self.found.append(Leaf(path, is_default=same(value, filled)))

    def object(
        self,
        value: JSONObject,
        others: Sequence[JSON | Absent],
        filled: JSON | Absent,
        type_: Type,
        path: Path,
    ) -> None:
        """Collect the leaves of an object."""
        for name, member in value.items():
            field = type_.field(name) or ANY_FIELD
            below = [_member(other, name) for other in others]
            self.value(member, below, _member(filled, name), field, path / name)

    def elements(
        self,
        value: JSONArray,
        others: Sequence[JSON | Absent],
        filled: JSON | Absent,
        field: Field,
        path: Path,
    ) -> None:
        """Collect those of a merge list, whose elements are found by all keys."""
        same_elements = [
            elements_by_identity(as_list(other), field) for other in (*others, filled)
        ]
        numbered = elements_by_identity(value, field)
        for index, (identity, element) in enumerate(numbered.items()):
            step = Element(index, field.merge_key, element.get(field.merge_key))
            sides: list[JSON | Absent] = []
            for by_identity in same_elements:
                side = by_identity.get(identity)
                sides.append(ABSENT if side is None else side)
            self.object(element, sides[:-1], sides[-1], field.type.items, path / step)

    def atomic(
        self,
        value: JSONArray,
        others: Sequence[JSON | Absent],
        filled: JSON | Absent,
        path: Path,
    ) -> None:
        """Collect the elements of a list of scalars, or of one that is atomic."""
        # Without a key an element is what it is: its text tells it from others.
        known = {encode(element) for other in others for element in as_list(other)}
        defaults = {encode(element) for element in as_list(filled)}
        for index, element in enumerate(value):
            text = encode(element)
            if text not in known:
                leaf = Leaf(path / index, is_default=text in defaults)
                self.found.append(leaf)


def _member(value: JSON | Absent, name: str) -> JSON | Absent:
    return value.get(name, ABSENT) if isinstance(value, dict) else ABSENT
