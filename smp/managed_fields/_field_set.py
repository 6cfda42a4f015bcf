"""Field sets: which fields of an object a manager owns.

A set is a tree. Each of its nodes has ``members``, the path elements that are in the
set, and ``children``, the nodes below path elements. A path element may be in one of
them or in both: ``f:labels`` with ``.`` is a member that has children. No node is
empty but that of the empty set (Go: fieldpath.Set).

Operations go along both trees, look each path element up once, and return a tree that
they were given where it is the result. So the sets of managers that own the same parts
share these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from smp._values import codec
from smp._values.plain import plain
from smp._values.values import JSON, JSONObject
from smp.errors import bounded
from smp.managed_fields._elements import (
    element_of,
    elements_of,
    in_order,
    quote,
    step_of,
)
from smp.managed_fields._set_walks import (
    difference,
    intersection,
    leaves,
    read,
    union,
    write,
)
from smp.paths import Path


class FieldSet(msgspec.Struct, frozen=True):
    """A set of paths, which never changes.

    It comes from ``from_v1``, ``of`` and ``fieldset_of``. ``members`` and ``children``
    have path elements as fieldsV1 writes them, in Go's spelling.
    """

    members: frozenset[str] = frozenset()
    children: dict[str, FieldSet] = {}

    def __repr__(self) -> str:
        # A set has another order in each process.
        return f"FieldSet.from_v1({self.to_v1()!r})"

    @classmethod
    def of(cls, *paths: Path) -> FieldSet:
        """Return the set of these paths; what is above a path is not in it."""
        found = cls()
        for path in paths:
            if not path.steps:
                continue
            *above, last = [element_of(step) for step in path.steps]
            single = cls(frozenset((last,)))
            for element in reversed(above):
                single = cls(frozenset(), {element: single})
            found = found.union(single)
        return found

    @classmethod
    @bounded("the field set")
    def from_v1(cls, document: Mapping[str, Any] | codec.Text | None) -> FieldSet:
        """Read fieldsV1: the JSON object, or its text.

        Path elements of an unknown type are left out. Raises ObjectError (code
        invalid-managed-fields), with the path, for what is no field set; DocumentError
        for a text that is not JSON; DepthError (Go: fieldpath.Set.FromJSON).
        """
        node: JSON
        if document is None or isinstance(document, dict):
            node = document
        elif isinstance(document, Mapping):
            node = plain(document)
        else:
            node = codec.decode(document)
        found, _ = read(node, cls())
        return found

    @bounded("the field set")
    def to_v1(self) -> dict[str, Any]:
        """Return the set as fieldsV1, a JSON object with its members in Go's order."""
        return write(self, is_member=False)

    def to_v1_text(self) -> str:
        """Return the set as the text of fieldsV1, byte for byte as Go prints it.

        Go: fieldpath.Set.ToJSON.
        """
        document = self.to_v1()
        text = codec.encode(document).decode()
        # msgspec prints strings as Go does, but for backspace and form feed: it has
        # short escapes for them. They are rare, so a text that seems to have one is
        # printed again, in a slower way.
        return _text(document) if "\\b" in text or "\\f" in text else text

    def __bool__(self) -> bool:
        return bool(self.members or self.children)

    def has(self, path: Path) -> bool:
        """Tell whether a path is in the set; paths below and above it do not count."""
        elements = elements_of(path)
        # Go: no manager owns the entire object.
        return bool(elements) and elements[-1] in self._node(elements[:-1]).members

    def reaches(self, elements: list[str]) -> bool:
        """Tell whether a path, or one below it, is in the set.

        It is given by its elements (elements_of), to ask several sets.
        """
        if not elements:
            return bool(self)
        node = self._node(elements[:-1])
        return elements[-1] in node.members or elements[-1] in node.children

    def paths(self) -> Iterator[Path]:
        """Yield the paths in the set: those of a node, then those below it.

        Go: fieldpath.Set.Iterate.
        """
        return self._paths(Path())

    def _paths(self, prefix: Path) -> Iterator[Path]:
        for element in in_order(self.members):
            yield prefix / step_of(element)
        for element in in_order(self.children):
            path = prefix / step_of(element)
            yield from self.children[element]._paths(path)  # noqa: SLF001  # a set as well

    def at(self, path: Path) -> FieldSet:
        """Return the set of what is in this set below a path, as seen from there."""
        return self._node(elements_of(path))

    def _node(self, elements: list[str]) -> FieldSet:
        node = self
        for element in elements:
            node = node.children.get(element, EMPTY)
        return node

    @bounded("the field set")
    def union(self, other: FieldSet) -> FieldSet:
        """Return the set of the paths that are in one of the two sets or in both."""
        return union(self, other)

    @bounded("the field set")
    def intersection(self, other: FieldSet) -> FieldSet:
        """Return the set of the paths that are in both sets."""
        return intersection(self, other)

    @bounded("the field set")
    def difference(self, other: FieldSet) -> FieldSet:
        """Return the set of the paths that are in this set and not in the other.

        A path that is in the other set does not take away what is below it.
        """
        return difference(self, other, recursive=False)

    @bounded("the field set")
    def recursive_difference(self, other: FieldSet) -> FieldSet:
        """Return the set without the paths of the other, and without all below these.

        Go: fieldpath.Set.RecursiveDifference.
        """
        return difference(self, other, recursive=True)

    @bounded("the field set")
    def leaves(self) -> FieldSet:
        """Return the set of the paths that have none below them.

        Go: fieldpath.Set.Leaves.
        """
        return leaves(self)


EMPTY: Final = FieldSet()


def _text(node: JSONObject) -> str:
    members = [
        f"{quote(element)}:{_text(content)}"
        for element, content in node.items()
        if isinstance(content, dict)
    ]
    return f"{{{','.join(members)}}}"
