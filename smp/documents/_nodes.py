"""YAML nodes under construction, with the measures that limits are checked against.

``size`` counts characters with every alias written out, ``depth`` levels of nesting.
``complete`` is false until the end of a list or object: an alias to it before that
would make it contain itself.
"""

from __future__ import annotations

from typing import TypeAlias

from smp._values.values import JSON
from smp.documents._scalars import key_text
from smp.errors import QUOTE_BOOLEANS, DocumentError

# Of a key that YAML reads as a boolean.


class ScalarNode:
    """A value without parts."""

    __slots__ = ("complete", "depth", "size", "value")

    def __init__(self, value: JSON, size: int) -> None:
        self.value = value
        self.size = size
        self.depth = 0
        self.complete = True


class ListNode:
    """A list under construction."""

    __slots__ = ("complete", "depth", "size", "value")

    def __init__(self) -> None:
        self.value: list[JSON] = []
        self.size = 1
        self.depth = 1
        self.complete = False

    def add(self, value: JSON, *, merge: bool) -> None:  # noqa: ARG002  # in a list << is a string like any other
        """Append the next element."""
        self.value.append(value)


class ObjectNode:
    """An object under construction: keys and values are added in turn.

    ``key`` is the key whose value comes next; ``merging`` is true between a merge key
    (``<<``) and its value; ``inherited`` are the keys that came from merge keys.
    """

    __slots__ = ("complete", "depth", "inherited", "key", "merging", "size", "value")

    def __init__(self) -> None:
        self.value: dict[str, JSON] = {}
        self.size = 1
        self.depth = 1
        self.complete = False
        self.key: str | None = None
        self.merging = False
        self.inherited: set[str] = set()

    def add(self, value: JSON, *, merge: bool) -> None:
        """Take the next key, or the value of the last one.

        ``merge`` tells that the value, if it is a key, is the merge key. Raises
        DocumentError, without its place.
        """
        if self.key is not None:
            self.value[self.key] = value
            self.key = None
        elif self.merging:
            self.merging = False
            self._inherit(value)
        elif merge:
            self.merging = True
        else:
            try:
                self.key = key_text(value)
            except ValueError as error:
                raise _key_error(str(error)) from None
            # YAML 1.2, section 3.2.1.1: the keys of a mapping are unique. kubectl keeps
            # the last one. A key of the object itself overrides an inherited one.
            if self.key in self.value and self.key not in self.inherited:
                problem = f"duplicate key {self.key!r}"
                hint = QUOTE_BOOLEANS if self.key in ("true", "false") else ""
                raise DocumentError(problem, code="duplicate-key", hint=hint)
            self.inherited.discard(self.key)

    def _inherit(self, value: JSON) -> None:
        """Copy the members of the objects that a merge key refers to.

        https://yaml.org/type/merge.html: of a list of objects, earlier ones override
        later ones. It also says that keys of the object itself override inherited ones,
        in any order; go-yaml, and so kubectl, assigns keys in their order, so
        that keys before the merge key are overridden (Go: decoder.merge).
        """
        for source in reversed(value if isinstance(value, list) else [value]):
            if not isinstance(source, dict):
                raise _key_error("a merge key << takes an object or a list of objects")
            self.inherited |= source.keys() - self.value.keys()
            self.value.update(source)


CollectionNode: TypeAlias = ListNode | ObjectNode
Node: TypeAlias = ScalarNode | ListNode | ObjectNode


def _key_error(problem: str) -> DocumentError:
    return DocumentError(
        problem, code="invalid-key", hint="keys must be strings; quote it"
    )
