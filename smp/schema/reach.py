"""Which types lead to a type of interest: so that a walk over an object goes only where
it must.

Types refer to each other in circles and are linked when somebody asks for them; a
search links what it passes, once for each catalog and question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias

from smp.errors import SchemaError
from smp.schema.model import ListType, ObjectType, Type, Types

Predicate: TypeAlias = Callable[[Type], bool]


class Reach:
    """Whether a type is wanted, or leads to one that is, through fields, elements and
    map values.

    A type that is broken, or refers to something undefined, counts as wanted: whoever
    gets there shall hear of it.
    """

    __slots__ = ("_known", "_wanted")

    def __init__(self, wanted: Predicate) -> None:
        self._wanted = wanted
        self._known: dict[Type, bool] = {}

    def __call__(self, start: Type) -> bool:
        """Tell whether the type is wanted or leads to one that is; the answer is kept."""
        known = self._known.get(start)
        return self._search(start) if known is None else known

    def _search(self, start: Type) -> bool:
        """Search in breadth, which circles cannot trap; keep what became certain on the
        way.
        """
        reached_from: dict[Type, Type | None] = {start: None}
        queue = [start]
        for current in queue:
            below = [] if self._known.get(current) is False else self._below(current)
            if below is None:
                self._keep_way(current, reached_from)
                return True
            for following in below:
                if following not in reached_from:
                    reached_from[following] = current
                    queue.append(following)
        self._known.update(dict.fromkeys(reached_from, False))
        return False

    def _below(self, current: Type) -> list[Type] | None:
        """Return the types next to search, or None where the search is over."""
        try:
            ends = self._known.get(current) or self._wanted(current)
            return None if ends else list(_following(current))
        except SchemaError:
            return None

    def _keep_way(self, end: Type, reached_from: dict[Type, Type | None]) -> None:
        current: Type | None = end
        while current is not None:
            self._known[current] = True
            current = reached_from[current]


@lru_cache(maxsize=16)
def reach(types: Types, wanted: Predicate) -> Reach:
    """Return the shared answers to one question about the types of one catalog; a few
    are remembered.
    """
    # it is the key: the answers hold linked types, which must not outlive their catalog
    # for long
    del types
    return Reach(wanted)


def _following(current: Type) -> Iterator[Type]:
    if isinstance(current, ListType):
        yield current.items
    elif isinstance(current, ObjectType):
        for field in current:
            yield field.type
        if current.others is not None:
            yield current.others.type
