"""Lists and objects in the making, each with the measures that aliases are checked
against.
"""

from __future__ import annotations

from typing import TypeAlias

from smp.documents._scalars import key_text
from smp.errors import DocumentError
from smp.values import JSON


class Scalar:
    """A value without parts, its depth, and its size: characters, every alias written
    out.
    """

    __slots__ = ("complete", "depth", "size", "value")

    def __init__(self, value: JSON, size: int) -> None:
        self.value, self.size, self.depth, self.complete = value, size, 0, True


class List:
    """A list in the making."""

    __slots__ = ("complete", "depth", "size", "value")

    def __init__(self) -> None:
        self.value: list[JSON] = []
        self.size, self.depth, self.complete = 1, 1, False

    def add(self, value: JSON, *, merge: bool) -> None:
        """Take the next element."""
        self.value.append(value)


class Object:
    """An object in the making: keys and values come in turn."""

    __slots__ = ("complete", "depth", "inherited", "key", "merging", "size", "value")

    def __init__(self) -> None:
        self.value: dict[str, JSON] = {}
        self.size, self.depth, self.complete = 1, 1, False
        self.key: str | None = None
        self.merging = False
        self.inherited: set[str] = set()

    def add(self, value: JSON, *, merge: bool) -> None:
        """Take the next key, or the value of the last one. Raises DocumentError,
        without its place.
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
            self.key = self._new_key(value)

    def _new_key(self, value: JSON) -> str:
        try:
            key = key_text(value)
        except ValueError as error:
            raise _key_error(str(error)) from None
        if key in self.value and key not in self.inherited:
            raise DocumentError(f"the key {key!r} is there twice", code="duplicate-key")
        self.inherited.discard(key)
        return key

    def _inherit(self, value: JSON) -> None:
        # As in kubectl, keys before the merge key give way; the YAML proposal would
        # keep them.
        for source in reversed(value if isinstance(value, list) else [value]):
            if not isinstance(source, dict):
                raise _key_error("a merge key << takes an object or a list of objects")
            self.inherited |= source.keys() - self.value.keys()
            self.value.update(source)


Collection: TypeAlias = List | Object
Node: TypeAlias = Scalar | List | Object


def _key_error(problem: str) -> DocumentError:
    return DocumentError(problem, code="invalid-key", hint="keys are strings; quote it")
