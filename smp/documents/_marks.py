"""Where a value and the values in it begin; the scanners of both formats make them."""

from __future__ import annotations


class Mark:
    """Where a value stands: line and column count from zero, columns in characters.

    That of a member of an object is where its key stands. ``members`` is None unless
    the value is an object, ``elements`` unless it is a list.
    """

    __slots__ = ("column", "elements", "line", "members")

    def __init__(self, line: int, column: int) -> None:
        self.line: int = line
        self.column: int = column
        self.members: dict[str, Mark] | None = None
        self.elements: list[Mark] | None = None

    def at(self, other: Mark) -> Mark:
        """Return this mark with the place of another one, and the same parts."""
        moved = Mark(other.line, other.column)
        moved.members = self.members
        moved.elements = self.elements
        return moved
