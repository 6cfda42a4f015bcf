"""The leaves of a value of live that no other object has.

A leaf is a scalar, an empty object or list, or an element of an atomic list.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from smp._values.values import (
    ABSENT,
    MAX_LEVELS,
    JSONArray,
    same,
    value_key,
    value_keys,
)
from smp.paths import Path
from smp.schema.sides import Sides


class Leaf:
    """A leaf of live; ``is_default`` says that a server had filled it in."""

    __slots__ = ("is_default", "path")

    def __init__(self, path: Path, *, is_default: bool) -> None:
        self.path = path
        self.is_default = is_default


def find_leaves(sides: Sides, found: list[Leaf], levels: int = MAX_LEVELS) -> None:
    """Find the leaves of the first value that none of the others has.

    The last value is none of those: it is what a server makes of the last-applied
    configuration there. Raises RecursionError.
    """
    if not levels:
        raise RecursionError
    live = sides.values[0]
    # What is empty is a leaf itself, see the end.
    if isinstance(live, dict) and live:
        for name in live:
            find_leaves(sides.member(name), found, levels - 1)
    elif isinstance(live, list) and live:
        field = sides.field
        if field.merges and field.merge_key:
            for element in sides.elements(sides.pair()):
                if element.values[0] is not ABSENT:
                    find_leaves(element, found, levels - 1)
        else:
            _find_elements(sides, live, found)
    elif live is not ABSENT and all(value is ABSENT for value in sides.values[1:-1]):
        found.append(Leaf(sides.path_in(0), is_default=same(live, sides.values[-1])))


def _find_elements(sides: Sides, live: JSONArray, found: list[Leaf]) -> None:
    """Find those of a list of scalars, or of one that is atomic."""
    # Without a key an element is what it is: its value tells it from others.
    known = value_keys(sides.values[1:-1])
    defaults = value_keys(sides.values[-1:])
    path = sides.path_in(0)
    for index, element in enumerate(live):
        key = value_key(element)
        if key not in known:
            found.append(Leaf(path / index, is_default=key in defaults))
